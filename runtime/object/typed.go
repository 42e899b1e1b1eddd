package object

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/registry"
	"tlruntime/runtime/status"
)

// A block with a type is memory of malloc's that the program laid out as an object: it is counted in
// the registry, as any registered block, and ends as a typed object does. It waits in the context's
// list of pending calls (deleters.go) until its destructor was called and its references are
// released, so that a chain of any length needs no stack. It is never handed back to the host:
// what it refers to is counted, and the host's free() would not release that.

// RegisterTyped registers memory of malloc's with a type. What is known with that type already, an
// object or a block, is registered as Register does it.
func (c *Context) RegisterTyped(p uintptr, typ uint32) status.Status {
	t := process.types.defined(typ)
	switch {
	case t == nil:
		return c.Fail(status.InvalidArgument, textTypeUnknown, 0, uint64(typ))
	case p == 0:
		return status.OK
	case !c.hasRoomFor(p):
		return status.ArenaExhausted
	}
	at := c.locate(p)
	switch at.where {
	case elsewhere:
		return c.registerTypedBlock(p, typ, t)
	case inHeap:
		if o, live := at.object(p); live && o.typ() != typ {
			return c.Fail(status.Unsupported, textOtherObject, p)
		}
	case inLiveStack, inOtherStack, inRuntime:
		return c.Fail(status.Unsupported, textOtherObject, p)
	}
	return c.register(p, false)
}

func (c *Context) registerTypedBlock(p uintptr, typ uint32, t *Type) status.Status {
	if block, live := process.registry.TypedAt(p); live {
		if block.Type != typ {
			return c.Fail(status.AlreadyRegistered, textOtherType, p, uint64(block.Type))
		}
		return c.register(p, false)
	}
	usable, st := c.measureTyped(p, t)
	if st != status.OK {
		return st
	}
	gen, res := process.registry.InsertTyped(p, usable, typ, c.Owner)
	if res != registry.OK {
		return c.registered(p, usable, res)
	}
	c.ForeignAdopted++
	c.push(layout.Entry{Object: p, Record: layout.Foreign, Gen: gen})
	c.spendForeign(p, usable)
	return status.OK
}

// measureTyped returns the size of a block of malloc's that can become one of type t.
func (c *Context) measureTyped(p uintptr, t *Type) (usable uintptr, st status.Status) {
	if st = c.adoptable(p); st != status.OK {
		return 0, st
	}
	switch info, known := process.registry.Info(p); {
	case known && info.Count != 0 && !info.HandedBack:
		return 0, c.Fail(status.AlreadyRegistered, textRegistered, p)
	case known && info.Count == 0 && info.Link != 0:
		return 0, c.Fail(status.NotLive, textZero, p)
	case process.registry.Covered(p): // the size of its inside would be read from a block's contents
		return 0, c.Fail(status.AlreadyRegistered, textInsideBlock, p)
	}
	usable, why := measure(p, t.Size)
	switch {
	case usable == 0:
		return 0, c.Fail(status.InvalidArgument, why, p)
	case usable < t.Size:
		return 0, c.Fail(status.InvalidArgument, textTypedSmall, p, uint64(usable), uint64(t.Size))
	}
	if t.Vec != nil {
		if _, sound := contentsOf(t, p, usable); !sound {
			return 0, c.failContents(t, p)
		}
	}
	return usable, status.OK
}

// SetVecType sets the type that RegisterVec gives to an address that the runtime does not know; 0 for
// none.
func (c *Context) SetVecType(typ uint32) status.Status {
	t := process.types.defined(typ)
	switch {
	case typ == 0:
	case t == nil:
		return c.Fail(status.InvalidArgument, textTypeUnknown, 0, uint64(typ))
	case t.Vec == nil:
		return c.Fail(status.InvalidArgument, textNotVecType, 0, uint64(typ))
	}
	atomic.StoreUint32(&process.g.VecType, typ)
	return status.OK
}

// RegisterVec is RegisterKnown; with a type for Vecs an address that is not known becomes one of those.
func (c *Context) RegisterVec(p uintptr) status.Status {
	typ := atomic.LoadUint32(&process.g.VecType)
	if typ == 0 || p == 0 || c.locate(p).where != elsewhere {
		return c.RegisterKnown(p)
	}
	if info, known := process.registry.Info(p); known && !info.HandedBack {
		return c.RegisterKnown(p)
	}
	return c.RegisterTyped(p, typ)
}

// touch notes that c counts the references of a registered block. It comes before c counts: while c
// does, it holds a reference or was given one, so that the block is there.
func (c *Context) touch(p uintptr) { process.registry.Touch(p, c.Owner, 0) }

// touchEntry is touch for an entry of a scope, which may mean an earlier block.
func (c *Context) touchEntry(e layout.Entry) { process.registry.Touch(e.Object, c.Owner, e.Gen) }

// nextTyped goes on with the oldest block of the list, which has a type: its destructor is called
// first, then what it refers to is released.
func (c *Context) nextTyped(number, typ uint32) {
	r := waiting(number)
	p := uintptr(atomic.LoadUint64(&r.Real))
	if !registry.Destroyed(r) && c.wantsCall(typ, p) {
		return
	}
	c.Draining.DeleterFirst = r.Next
	c.dismantle(typ, p)
	process.registry.SettleTyped(number)
	c.freeMalloc(p)
}

func (c *Context) freeMalloc(p uintptr) {
	if process.cfg.Free != nil {
		process.cfg.Free(p)
	}
}

// BlockTypeName says what a registered block is: the name of its type, or "memory of malloc".
func BlockTypeName(info registry.Info) string {
	if t := process.types.get(info.Type); t != nil && info.Link != 0 {
		return t.Name
	}
	return info.TypeName()
}

// FieldsOfBlock calls visit with every reference that a registered block with a type holds, as ReferencesOf. Nothing
// may run beside it.
func FieldsOfBlock(info registry.Info, visit func(p, slot uintptr)) {
	if process.types.get(info.Type) == nil || info.Link == 0 || info.Count == 0 {
		return
	}
	fieldsOfType(info.Type, info.Pointer, func(slot *uintptr) { visit(*slot, layout.Address(slot)) })
}

// TypedBlocks counts the live blocks of a type and their bytes.
type TypedBlocks struct{ Live, Bytes uint64 }

// ReadBlocks returns what is registered of each type.
func ReadBlocks() map[uint32]TypedBlocks {
	types := map[uint32]TypedBlocks{}
	process.registry.EachTyped(func(b registry.Typed) {
		n := types[b.Type]
		types[b.Type] = TypedBlocks{n.Live + 1, n.Bytes + uint64(b.Bytes)}
	})
	return types
}

// shareForeign keeps a block with a type away from the cycle collector; others are shared anyway.
func (c *Context) shareForeign(p uintptr) status.Status {
	process.registry.Touch(p, layout.OwnerNever, 0)
	return c.Check(p)
}
