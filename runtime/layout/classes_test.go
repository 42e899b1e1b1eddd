package layout

import (
	"math/bits"
	"testing"
)

func TestClasses(t *testing.T) {
	var c [Classes]ClassInfo
	FillClasses(&c)
	prev := uint32(0)
	for n := uintptr(1); n <= MaxSmall; n++ {
		k := ClassOf(n)
		if k == 0 || k > ClassSmall || uintptr(c[k].Size) < n || (k > 1 && uintptr(c[k-1].Size) >= n) {
			t.Fatal(n, k, c[k])
		}
		if n%64 == 0 && c[k].Size%64 != 0 {
			t.Fatal("align", n)
		}
		_ = prev
	}
	for k := uint32(1); k <= ClassSmall; k++ {
		s := c[k]
		for off := uint64(0); off <= uint64(s.Mask); off++ {
			slot, rest := bits.Mul64(off, s.Reciprocal)
			if slot != off/uint64(s.Size) || (rest < s.Reciprocal) != (off%uint64(s.Size) == 0) {
				t.Fatal(k, off)
			}
		}
	}
	t.Log(c)
}
