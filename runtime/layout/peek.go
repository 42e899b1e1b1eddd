//go:build !race

package layout

import "sync/atomic"

// Peek reads a word that another thread may be writing with a plain store; what it
// returns was there at some moment. For statistics.
func Peek(word *uint64) uint64 { return atomic.LoadUint64(word) }

// PeekAddress is Peek of an address.
func PeekAddress(word *uintptr) uintptr { return atomic.LoadUintptr(word) }
