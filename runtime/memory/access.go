package memory

// Range is memory that somebody else names, and what is to be done with it. Start +
// Bytes does not overflow.
type Range struct {
	Start, Bytes uintptr
	Write        bool // false: it is read
}

func (r Range) end() uintptr { return r.Start + r.Bytes }

// Usable tells whether ranges can be read, or written, from end to end; where one cannot,
// at is in a page that is not usable. The kernel is asked and no byte changes, so that
// nothing faults. The answer is true until another thread unmaps or protects the memory.
func Usable(ranges ...Range) (at uintptr, ok bool) {
	var m mappings
	defer m.close()
	for _, r := range ranges {
		if at := m.usable(r); at < r.end() {
			return at, false
		}
	}
	return 0, true
}
