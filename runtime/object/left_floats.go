package object

import (
	"sync"
	"sync/atomic"

	"tlruntime/runtime/layout"
)

// Under TL_DEBUG a release that leaves a float without a reference is told of (dropShared
// says when that happens). Such a float is taken by a registration in place of a count.

// settling is held while an owner settles claims, under TL_DEBUG: between its two writes
// the words look as if a float had been left.
var settling sync.Mutex

// tellLeftFloat looks at an object of which a reference was dropped. While the object is
// queued, the owner's merge is to come, which drops such floats; a merged word has none.
func (c *Context) tellLeftFloat(r *layout.Record, e layout.Entry) {
	settling.Lock()
	sh, loc := atomic.LoadUint32(&r.Sh), atomic.LoadUint32(&r.Loc)
	same := sh == atomic.LoadUint32(&r.Sh) && atomic.LoadUint32(&r.Gen) == e.Gen
	settling.Unlock()
	s := layout.UnpackSh(sh)
	const settled = layout.ShMerged | layout.ShQueued | layout.ShImmortal
	if !same || !s.Has(layout.ShAlive) || s.Flags&settled != 0 || layout.LocOwner(loc) == 0 || excess(loc, s) <= 0 {
		return
	}
	references, _ := sums(loc, s)
	process.debug.LeftFloat(c, e, references+excess(loc, s), references)
}
