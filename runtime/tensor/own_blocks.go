package tensor

import (
	"sync"

	"tlruntime/runtime/device"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// A tensor of a device whose memory processes share has a block of its own, made and mapped for it alone: what another
// process may still have mapped must never become another tensor's. No pool has such a block, so its bytes are charged
// here, in whole pages, by the process that made it and by each that has opened it.
//
//	bytes == sum of room over the own blocks in the table    live == their number
//	used(account) == bytes + chunks of memory pools over the device
type ownBlocks struct {
	mu               sync.Mutex // guards all
	bytes, peak      uint64
	live             uint64
	allocated, count uint64 // ever
}

// owned are the own blocks of device number sharedDevice, the only one that has such.
var owned ownBlocks

// sharedDevice is device 1 of backends.New, TL_DEVICE_SHARED of the C interface.
const sharedDevice = 1

func init() {
	limit.Describe(describeOwn)
	limit.OnResetPeaks(func() {
		owned.mu.Lock()
		defer owned.mu.Unlock()
		owned.peak = owned.bytes
	})
}

func describeOwn(of limit.Need) (part limit.Part) {
	if !of.Covers(sharedDevice) {
		return part
	}
	owned.mu.Lock()
	defer owned.mu.Unlock()
	return limit.Part{InUse: owned.bytes, PeakInUse: owned.peak, Allocated: owned.allocated,
		Allocations: owned.count, Live: owned.live}
}

// sharedMemory is a device whose memory processes share.
type sharedMemory interface {
	device.Device
	device.Sharer
}

// sharer returns the device with a number if processes share its memory.
func sharer(number uint8) sharedMemory {
	if number != sharedDevice {
		return nil
	}
	d, err := deviceAt(number)
	if err != nil {
		return nil
	}
	s, _ := d.(sharedMemory)
	return s
}

// newOwn obtains a block and a header for a tensor. Object 0: no memory, the error is recorded.
func newOwn(c *object.Context, s *spec, d sharedMemory) layout.Entry {
	b := block{device: s.device, own: true, bytes: uintptr(s.nbytes)}
	b.room = uint64(memory.SharedPages(b.bytes))
	if s.nbytes > 0 && !b.obtain(c, d.Name(), func() (err error) {
		b.address, err = d.Allocate(b.bytes)
		return err
	}) {
		return layout.Entry{}
	}
	return headFor(c, b)
}

// obtain charges the room of an own block and runs what makes it; false when there is none, with the error recorded.
// Caches are emptied while memory is short, but not for want of descriptors, which the device calls a Limit.
func (b *block) obtain(c *object.Context, name string, make func() error) bool {
	account := int32(b.device)
	limit.Open(account, name)
	try := func() error {
		if limit.Charge(account, b.room) != status.OK {
			return device.Errorf(status.OutOfMemory, "more than a limit allows")
		}
		err := make()
		if err != nil {
			limit.Credit(account, b.room)
		}
		return err
	}
	err := try()
	for r := limit.NewReclaim(account, b.room); statusOf(err) == status.OutOfMemory && r.Step(); {
		err = try()
	}
	if statusOf(err) == status.OutOfMemory {
		err = device.Errorf(status.OutOfMemory, "%s", limit.Sentence(account, b.room, err.Error()))
		c.Short(account, b.room)
	}
	if err != nil {
		noBlock(c, err)
		return false
	}
	limit.Settle(account)
	owned.add(b.room)
	return true
}

func (o *ownBlocks) add(room uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes += room
	o.peak = max(o.peak, o.bytes)
	o.live++
	o.allocated += room
	o.count++
}

// giveBackOwn gives an own block back to its device.
func (b block) giveBackOwn() error {
	d, err := deviceAt(b.device)
	if err != nil {
		return err
	}
	if err := d.Deallocate(b.address, b.bytes); err != nil {
		return err
	}
	limit.Credit(int32(b.device), b.room)
	owned.mu.Lock()
	defer owned.mu.Unlock()
	owned.bytes -= b.room
	owned.live--
	return nil
}

// AddOwnBlocks adds to the bytes that are held by device those of own blocks.
func AddOwnBlocks(held map[int32]uint64) {
	owned.mu.Lock()
	defer owned.mu.Unlock()
	if owned.bytes != 0 {
		held[sharedDevice] += owned.bytes
	}
}
