package opencl

import (
	"sync"

	"tlruntime/runtime/device"
	"tlruntime/runtime/status"
)

// Addresses of buffers. A pool wants to split a block and to hand out the middle of
// it, so that a buffer needs addresses although it has none. They come from a range
// that no processor of ours can reach (bits 62 and 55 differ from bit 63), so that
// they are never those of real memory, and using one as such is a fault. Each device
// has a part of the range for itself; a page between two blocks belongs to neither.
const (
	placesBase  = 0x4080_0000_0000_0000
	placesBytes = 1 << 46 // for each device
	granule     = 4096
)

// places hands out addresses of one device.
type places struct {
	mu    sync.Mutex // guards next, and choosing a place until its block is in the ledger
	first uintptr
	next  uintptr // where the search begins
}

func newPlaces(ordinal int) places {
	first := placesBase + uintptr(ordinal)*placesBytes
	return places{first: first, next: first}
}

// take finds a place for b and enters it into the ledger. It goes upwards and only
// then begins anew, so that an address that was used comes back late.
func (p *places) take(ledger *device.Ledger, b device.Block) (uintptr, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	room := b.Bytes + granule
	if at, ok := gap(ledger, p.next, p.first+placesBytes, room); ok {
		b.Start = at
	} else if at, ok := gap(ledger, p.first, p.first+placesBytes, room); ok {
		b.Start = at
	} else {
		return 0, device.Errorf(status.OutOfMemory, "no room for %d bytes in the addresses of buffers", b.Bytes)
	}
	p.next = end(b)
	ledger.Add(b)
	return b.Start, nil
}

// gap returns the lowest place from at on that has room before limit.
func gap(ledger *device.Ledger, at, limit, room uintptr) (uintptr, bool) {
	for at+room <= limit {
		b, found := ledger.After(at)
		if !found || at+room <= b.Start {
			return at, true
		}
		at = end(b)
	}
	return 0, false
}

// end is where the next block may begin.
func end(b device.Block) uintptr {
	return (b.Start + b.Bytes + 2*granule - 1) &^ (granule - 1)
}
