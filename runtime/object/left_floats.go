package object

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
)

// tellLeftFloat looks, under TL_DEBUG, at an object of which a reference was dropped: the owner's release, which
// does not look at the floats of the shared word, may have left one without a reference. A registration takes such
// a float in place of a count. While the object is queued, the owner's merge is to come, which drops such floats; a
// merged word has none.
func (c *Context) tellLeftFloat(r *layout.Record, e layout.Entry) {
	sh, loc := atomic.LoadUint32(&r.Sh), atomic.LoadUint32(&r.Loc)
	same := sh == atomic.LoadUint32(&r.Sh) && atomic.LoadUint32(&r.Gen) == e.Gen
	s := layout.UnpackSh(sh)
	const settled = layout.ShMerged | layout.ShQueued | layout.ShImmortal
	if !same || !s.Has(layout.ShAlive) || s.Flags&settled != 0 || layout.LocOwner(loc) == 0 {
		return
	}
	references, _ := sums(loc, s)
	if floats := int32(layout.LocFloatsOf(loc)) + s.Floats - claimed(loc, s); floats > references {
		process.debug.LeftFloat(c, e, floats, references)
	}
}
