//go:build race

package layout

// Peek reads a word that another thread may be writing with a plain store: a race that
// is meant, and hidden from the detector.
//
//go:norace
//go:noinline
func Peek(word *uint64) uint64 { return *word }

// PeekAddress is Peek of an address.
//
//go:norace
//go:noinline
func PeekAddress(word *uintptr) uintptr { return *word }
