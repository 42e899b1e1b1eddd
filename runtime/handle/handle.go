// Package handle makes the numbers by which callers know pools and plans. Each is used
// once, whatever it names, and none is an address that memory could have or near another
// one: a stale or invented handle names nothing.
//
//	handle = generation << layout.MempoolSlotBits | slot
package handle

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
)

// first is where generations begin: beyond every address.
const first = 1 << (layout.ProgramBits - layout.MempoolSlotBits)

// generations counts those that were given out.
var generations atomic.Uint64

// New returns a handle whose lowest bits are a number below layout.MempoolSlots. Those of
// pools have their slot there, which is not 0; those of plans have 0.
func New(slot uint64) uint64 {
	return (first+generations.Add(1)-1)<<layout.MempoolSlotBits | slot
}
