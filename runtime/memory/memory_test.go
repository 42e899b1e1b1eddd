package memory

import "testing"

func TestOwnsWhatIsMapped(t *testing.T) {
	const bytes = 64 << 10
	var all [5]uintptr
	for i := range all {
		var err error
		if all[i], err = Map(bytes, "test"); err != nil {
			t.Fatal(err)
		}
	}
	for _, of := range []int{1, 3} {
		Unmap(all[of], bytes, "test")
	}
	for i, addr := range all {
		owned := i != 1 && i != 3
		for _, at := range []uintptr{addr, addr + 1, addr + bytes - 1} {
			if Owns(at) != owned {
				t.Errorf("Owns says %v of byte %d of piece %d", !owned, at-addr, i)
			}
		}
	}
	for _, of := range []int{0, 2, 4} {
		Unmap(all[of], bytes, "test")
		if Owns(all[of]) {
			t.Errorf("Owns says that piece %d is still there", of)
		}
	}
	if Owns(0) || Owns(^uintptr(0)) {
		t.Error("Owns says that it has the ends of the address space")
	}
	if Purposes()["test"] != 0 {
		t.Errorf("%d bytes are accounted for", Purposes()["test"])
	}
}
