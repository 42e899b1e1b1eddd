package tensor

import (
	"sync"
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/usdt"
)

// pool is the process's tensor pool. Its shards stand beside the globals, where C
// finds them; what only Go needs stands here.
var pool = newPool()

func newPool() *tensorPool {
	p := &tensorPool{perKey: defaultLimit}
	p.limit.Store(byteLimit)
	return p
}

type tensorPool struct {
	mu     sync.Mutex // guards the next four: limits change under it
	perKey uint32     // tensors of a key
	keys   uint32     // of a shard
	room   uint32     // of a stack; 0 = there are no tables
	stacks uintptr    // one for each key of each shard

	limit   atomic.Uint64 // bytes of all kept tensors
	opened  atomic.Bool   // there are tables
	granted budget        // to shards
	clock   clock         // over the shards
}

const (
	defaultLimit = 32 // tensors of a key
	byteLimit    = 256 << 20
	grantStep    = 1 << 20 // a shard gets room for this many bytes at once
	poolPurpose  = "tensor pool"
)

// take returns a dead tensor that has the key, to be made live: one that c keeps, else one of
// the pool; Object 0 is a miss.
func (p *tensorPool) take(c *object.Context, elements uint64, kind uint32) (e layout.Entry) {
	k := key{elements, kind}
	if Debug {
		defer func() { logTake(k, e) }()
	}
	if e = takeKept(c, k); e.Object != 0 {
		return e
	}
	s := shardOf(k)
	s.lock()
	defer s.unlock()
	if at := s.find(k); at != nil && at.Kind != 0 && at.Count > 0 {
		at.Referenced = 1
		s.Hits++
		s.HitBytes += at.Bytes
		return s.pop(at)
	}
	atomic.AddUint64(&s.Misses, 1)
	usdt.PoolMiss(k.elements, uint8(k.kind))
	return e
}

// keep puts a tensor of the CPU without references to rest, under the next generation.
// False: it was not taken and is to be taken apart.
func keep(me *object.Context, r *layout.Record, e layout.Entry) bool {
	k, bytes, ok := keyOf(e)
	if !ok {
		return false
	}
	if keepHere(me, r, e, k, bytes) {
		return true
	}
	if !pool.opened.Load() {
		pool.open()
	}
	s := shardOf(k)
	for {
		switch s.keep(r, e, k, bytes) {
		case kept:
			me.TensorsGone++
			logKeep(k, e, "kept")
			return true
		case full:
			logKeep(k, e, "no room")
			return false
		}
		if limit.Near(deviceOf(k.kind)) || !pool.grow(me, s, bytes) {
			logKeep(k, e, "no room")
			return false
		}
	}
}

// keyOf returns the key of a tensor that may be pooled and the heap bytes that it
// occupies. The header lies in the program's reach: what it says must fit the
// slot, or the next tensor of that key would not.
func keyOf(e layout.Entry) (k key, bytes uint64, ok bool) {
	h := header(e.Object)
	d := ElementType(h.Dtype)
	_, left := layout.NextGen(e.Gen)
	if h.Flags != layout.TensorContiguous || d.Size() == 0 || h.Device != CPU || h.Numel > maxElements || !left {
		return k, 0, false
	}
	s := spec{nbytes: h.Numel * d.Size()}
	if bytes = object.Heap().Size(e.Object); s.total() > bytes {
		return k, 0, false
	}
	return key{h.Numel, layout.TensorPoolKind(h.Dtype, h.Device)}, bytes, true
}

// renewed gives a dead tensor, whose life was not its last, the generation of its next one.
func renewed(r *layout.Record, e layout.Entry) layout.Entry {
	e.Gen, _ = layout.NextGen(e.Gen)
	atomic.StoreUint32(&r.Loc, 0)
	atomic.StoreUint32(&r.Gen, e.Gen)
	return e
}

// maxElements keeps sums and products of sizes far from overflow.
const maxElements = 1 << 47

// answer is what became of a tensor that was to be kept.
type answer int

const (
	kept answer = iota
	full        // for this key, or for keys
	poor        // the shard may not keep so many bytes more
)

// keep pushes a tensor if there is room for it.
func (s *shard) keep(r *layout.Record, e layout.Entry, k key, bytes uint64) answer {
	s.lock()
	defer s.unlock()
	at := s.find(k)
	if at == nil {
		return full
	}
	if s.Bytes+bytes > s.Grant {
		return poor
	}
	if at.Kind == 0 {
		if at = s.insert(k, bytes); at == nil {
			return full
		}
	}
	if uint32(at.Count)+uint32(at.Lent) >= s.Limit || at.Bytes != bytes {
		return full
	}
	if !atomic.CompareAndSwapUint32(&r.Sh, layout.ShAlive|layout.ShMerged, 0) {
		return kept // by tl_mem_free, which took it for one that dec_ref brought to zero
	}
	s.push(at, renewed(r, e))
	return kept
}

// PoolAcquire takes a tensor of a key out of the pool, floating and with one
// dimension; 0 on a miss.
func PoolAcquire(c *object.Context, elements uintptr, dtype, device uint8) uintptr {
	s := spec{dtype: ElementType(dtype), rank: 1, shape: [layout.MaxRank]int64{int64(elements)},
		strides: [layout.MaxRank]int64{1}, numel: uint64(elements)}
	s.nbytes = s.numel * s.dtype.Size()
	if s.dtype.Size() == 0 {
		c.Fail(status.InvalidArgument, object.TextDtype, 0, uint64(dtype))
		return 0
	}
	if device != CPU {
		return acquireOn(c, &s, int32(device))
	}
	e := pool.take(c, uint64(elements), layout.TensorPoolKind(dtype, device))
	if e.Object == 0 {
		return c.Null()
	}
	usdt.Allocate(e.Object, uintptr(s.total()))
	c.SpendObject(e, s.total())
	s.describe(e.Object, layout.TensorContiguous)
	c.Revive(e, true)
	return e.Object
}

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
	return c.ReleaseOnly(e)
}
