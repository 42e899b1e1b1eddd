package tensor

import (
	"cmp"
	"slices"
	"sync/atomic"

	"tlruntime/runtime/config"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/usdt"
)

// limits bound each cache.
var limits struct{ perKey, bytes atomic.Uint64 }

const (
	defaultLimit = 32 // tensors of a key
	byteLimit    = 256 << 20
)

func init() { ConfigurePool(defaultLimit, byteLimit) }

// SetPoolLimits replaces how many tensors a cache keeps of a key and how many bytes of
// all; 0 of either keeps none. What is above goes at once.
func SetPoolLimits(c *object.Context, perKey, bytes uint64) (st status.Status) {
	if perKey > config.MaxPerKey {
		return c.Failf(status.InvalidArgument, "%d tensors of a key are more than %d", perKey, config.MaxPerKey)
	}
	ConfigurePool(perKey, bytes)
	eachCache(limit.Need{Device: limit.Total}, func(_ int, s *cache) {
		_, err := s.evict((*cache).excess)
		st = cmp.Or(st, failed(c, err))
	})
	return st
}

// ConfigurePool is SetPoolLimits before the first context.
func ConfigurePool(perKey, bytes uint64) {
	limits.perKey.Store(min(perKey, config.MaxPerKey))
	limits.bytes.Store(bytes)
}

// PoolAcquire takes a tensor of a key out of the pool, floating and with one
// dimension; 0 on a miss.
func PoolAcquire(c *object.Context, elements uintptr, dtype, device uint8) uintptr {
	s := vector(ElementType(dtype), uint64(elements))
	if s.dtype.Size() == 0 {
		c.Fail(status.InvalidArgument, object.TextDtype, 0, uint64(dtype))
		return 0
	}
	var st status.Status
	if s.device, st = place(c, int32(device)); st != status.OK {
		return 0
	}
	e := cacheOf(s.device).take(s.key()).Entry
	switch {
	case e.Object == 0:
		return c.Null()
	case s.device != CPU:
		return s.reviveOn(c, e, true).Object
	}
	usdt.Allocate(e.Object, uintptr(s.total()))
	c.SpendObject(e, s.total())
	s.describe(e.Object, layout.TensorContiguous)
	c.Revive(e, true)
	return e.Object
}

func (s *spec) key() key { return key{s.numel, s.dtype, s.device} }

// PoolRelease gives a tensor that nobody else holds to the pool.
func PoolRelease(c *object.Context, p, elements uintptr, dtype, device uint8) status.Status {
	if p == 0 {
		return status.OK
	}
	e, st := c.FindTensor(p)
	if st != status.OK {
		return st
	}
	if e.Object == 0 {
		return c.Fail(status.Unsupported, object.TextNotTensor, p)
	}
	h := header(p)
	if h.Numel != uint64(elements) || h.Dtype != dtype || h.Device != device {
		return c.Fail(status.InvalidArgument, object.TextPoolKey, p, h.Numel, uint64(h.Dtype))
	}
	return c.ReleaseOnly(e, keepGiven)
}

// keepGiven keeps a tensor that PoolRelease was given. The header lies in the program's reach: what it says must fit
// the slot, or the next tensor of that key would not.
func keepGiven(r *layout.Record, e layout.Entry) bool {
	if b, found := blocks.find(e.Object); found {
		return keepOn(r, e, b)
	}
	h := header(e.Object)
	size, bytes := ElementType(h.Dtype).Size(), object.Heap().Size(e.Object)
	if h.Flags != layout.TensorContiguous || h.Device != CPU || size == 0 ||
		h.Numel > (bytes-layout.TensorHeaderBytes)/size {
		return false
	}
	return cacheOf(CPU).keep(r, e, bytes)
}

// PoolKeyStats is what is kept under one key.
type PoolKeyStats struct {
	Elements, Tensors, Bytes uint64
	Dtype, Device            uint32
}

// ReadPoolKey returns the key with the most bytes for rank 0, the next one for 1, and
// zeros beyond the last one.
func ReadPoolKey(rank uintptr) (k PoolKeyStats) {
	if keys := keptKeys(limit.Total); rank < uintptr(len(keys)) {
		return keys[rank]
	}
	return k
}

// keptKeys returns the keys of which tensors of a device are kept, that with most bytes first.
func keptKeys(device int32) (keys []PoolKeyStats) {
	eachCache(limit.Need{Device: device}, func(_ int, s *cache) { keys = s.keys(keys) })
	slices.SortFunc(keys, func(a, b PoolKeyStats) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Elements, b.Elements), cmp.Compare(a.Dtype, b.Dtype),
			cmp.Compare(a.Device, b.Device))
	})
	return keys
}
