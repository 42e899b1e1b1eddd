package tensor

import (
	"sync"
	"sync/atomic"

	"tlruntime/runtime/device"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
)

// A tensor on a device is a header in the heap and a block of the device's default memory pool, or one that the
// device has made for it alone (own_blocks.go). A tensor of the CPU that has grown has data apart from its header,
// too (grow.go). Which block stands here, by the tensor's address, and not only in the header, which lies in a
// program's reach: what is given back is what was obtained.

// block is the memory of a tensor that does not stand behind its header. Without elements it has no address.
type block struct {
	device         uint8
	own            bool // no pool has it
	address, bytes uintptr
	room           uint64          // bytes that the pool has given out for it, or that its account is charged
	streams        []device.Stream // where the tensor was used
	grown          *grown          // of the CPU; then there is nothing else
}

// blocks are those of tensors that are live or kept.
var blocks = blockTable{of: map[uintptr]block{}}

type blockTable struct {
	count atomic.Int64
	mu    sync.Mutex // guards of
	of    map[uintptr]block
}

func (t *blockTable) find(tensor uintptr) (b block, found bool) {
	if t.count.Load() == 0 {
		return b, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	b, found = t.of[tensor]
	return b, found
}

// enter gives a new tensor its block. What was there belonged to a tensor whose header
// was overwritten, so that its end went unnoticed.
func (t *blockTable) enter(c *object.Context, tensor uintptr, b block) {
	t.mu.Lock()
	old, found := t.of[tensor]
	t.of[tensor] = b
	t.count.Store(int64(len(t.of)))
	t.mu.Unlock()
	if found {
		old.end(c)
	}
}

func (t *blockTable) remove(tensor uintptr) (b block, found bool) {
	if t.count.Load() == 0 {
		return b, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	b, found = t.of[tensor]
	delete(t.of, tensor)
	t.count.Store(int64(len(t.of)))
	return b, found
}

// use notes that a tensor is used in a stream; false: it has no block.
func (t *blockTable) use(tensor uintptr, s device.Stream) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, found := t.of[tensor]
	if !found {
		return false
	}
	for _, known := range b.streams {
		if known == s {
			return true
		}
	}
	b.streams = append(b.streams[:len(b.streams):len(b.streams)], s)
	t.of[tensor] = b
	return true
}

// end gives a block back.
func (b block) end(c *object.Context) {
	if b.grown != nil {
		b.grown.end(c)
		return
	}
	failed(c, b.giveBack())
}

// giveBack returns a block to the device's pool, in the order of the streams where it
// was used. A driver that cannot mark that order is waited for; if it cannot even do
// that, the block stays out of use for ever, and the error tells.
func (b block) giveBack() error {
	switch {
	case b.address == 0:
		return nil
	case b.own:
		return b.giveBackOwn()
	}
	h := cacheOf(b.device).handle()
	if len(b.streams) > 0 {
		if mempool.DeallocateAsync(h, b.address, b.streams...) == nil {
			return nil
		}
		if err := synchronize(b.device, b.streams); err != nil {
			return err
		}
	}
	return mempool.Deallocate(h, b.address)
}

func synchronize(number uint8, streams []device.Stream) error {
	d, err := deviceAt(number)
	if err != nil {
		return err
	}
	of, ok := d.(device.Streams)
	for i := 0; ok && i < len(streams); i++ {
		if err := of.Synchronize(streams[i]); err != nil {
			return err
		}
	}
	return nil
}

// Blocks returns the addresses of the blocks that tensors on devices have, kept ones
// included.
func Blocks() map[uintptr]bool {
	blocks.mu.Lock()
	defer blocks.mu.Unlock()
	all := make(map[uintptr]bool, len(blocks.of))
	for _, b := range blocks.of {
		if b.grown == nil {
			all[b.address] = true
		}
	}
	return all
}
