package layout

import "testing"

func TestNextGen(t *testing.T) {
	for gen, want := range map[uint32]uint32{0: GenOne, 72: GenOne | 72, GenLast - GenOne | 72: GenLast | 72} {
		if next, left := NextGen(gen); next != want || !left {
			t.Errorf("after %#x comes %#x, %v", gen, next, left)
		}
	}
	for _, gen := range []uint32{GenLast, GenLast | 72, GenLast | ClassLarge} {
		if _, left := NextGen(gen); left {
			t.Errorf("%#x is not the last generation", gen)
		}
	}
}
