package sparse

import "testing"

// BenchmarkCheckIndices looks at 1e6 indices in lines of 100.
func BenchmarkCheckIndices(b *testing.B) {
	k := newKeeper(b.Cleanup)
	indices := make([]int32, 1_000_000)
	for i := range indices {
		indices[i] = int32(i % 100)
	}
	at := address(k, indices)
	b.SetBytes(int64(len(indices)) * 4)
	for b.Loop() {
		for line := range uintptr(10_000) {
			if firstFault[int32](at+line*400, 100, 100) != 100 {
				b.Fatal("a fault where there is none")
			}
		}
	}
}
