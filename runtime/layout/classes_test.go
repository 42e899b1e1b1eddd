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
		if s.Stride*s.BlockRecords != s.Size*s.Slots || s.Stride*s.Step() != s.Size {
			t.Fatal(k, s)
		}
		for off := uint64(0); off <= uint64(s.Mask); off++ {
			record, rest := bits.Mul64(off, s.Reciprocal)
			if record != off/uint64(s.Stride) || (rest < s.Reciprocal) != (off%uint64(s.Stride) == 0) {
				t.Fatal(k, off)
			}
		}
	}
	t.Log(c)
}
