package object

import (
	"math/bits"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/registry"
	"tlruntime/runtime/status"
)

// ForeignBlock is memory that the runtime did not allocate, and how it is freed.
type ForeignBlock = registry.Block

// RegisterForeign registers a block that is freed by its kind. The caller holds the
// reference.
func (c *Context) RegisterForeign(p, bytes uintptr, kind int32) status.Status {
	_, st := c.registerBlock(p, bytes, kind)
	return st
}

func (c *Context) registerBlock(p, bytes uintptr, kind int32) (made registry.Entered, st status.Status) {
	if p == 0 {
		return made, status.OK
	}
	block := ForeignBlock{Real: p, Bytes: max(bytes, 1), Kind: uint8(kind)}
	if st = c.checkBlock(block, kind); st != status.OK {
		return made, st
	}
	made, res := process.registry.Insert(p, block.Bytes, block.Kind, 0)
	if res == registry.OK {
		c.ForeignAdopted++
		c.spendForeign(p, block.Bytes)
	}
	return made, c.registered(p, block.Bytes, res)
}

// checkBlock refuses what cannot be a foreign block, and kinds that could not be freed.
func (c *Context) checkBlock(b ForeignBlock, kind int32) status.Status {
	end := uintptr(1) << layout.ProgramBits
	if kind == layout.ForeignCustom { // a deleter may know addresses of a device
		end = 1 << layout.ForeignAddressBits
	}
	switch at := c.locate(b.Real); {
	case at.where != elsewhere:
		return c.Fail(status.Unsupported, textOurMemory, b.Real)
	case b.Real < layout.LowestAddress || b.Real >= end || b.Bytes > layout.ForeignBytes || b.Bytes > end-b.Real:
		return c.Fail(status.InvalidArgument, textForeignBytes, b.Real, uint64(b.Bytes))
	}
	switch kind {
	case layout.ForeignMalloc, layout.ForeignAligned:
		return status.OK
	case layout.ForeignNewArray, layout.ForeignNewScalar:
		if process.cfg.Deleter == nil || process.cfg.Deleter(b.Kind) == 0 {
			return c.Fail(status.Unsupported, textNoDeleter, b.Real)
		}
		return status.OK
	case layout.ForeignCustom:
		if b.Deleter == 0 {
			return c.Fail(status.InvalidArgument, textNoFunctionGiven, b.Real)
		}
		return status.OK
	}
	return c.Fail(status.InvalidArgument, textForeignKind, 0, uint64(int64(kind)))
}

// registered maps the answer to a registration of p.
func (c *Context) registered(p, bytes uintptr, res registry.Result) status.Status {
	switch res {
	case registry.OK:
		return status.OK
	case registry.Present:
		return c.Fail(status.AlreadyRegistered, textRegistered, p)
	case registry.Refused:
		return c.Fail(status.AlreadyRegistered, textBlockOverlaps, p, uint64(bytes))
	case registry.Outside:
		return c.Fail(status.InvalidArgument, textAliasOutside, p)
	}
	return c.foreign(p, res)
}

// RegisterCustom registers a block that deleter(p, ctx) frees.
func (c *Context) RegisterCustom(b ForeignBlock) status.Status {
	if b.Real == 0 {
		return status.OK
	}
	b.Kind, b.Bytes = layout.ForeignCustom, max(b.Bytes, 1)
	if st := c.checkBlock(b, layout.ForeignCustom); st != status.OK {
		return st
	}
	res := process.registry.InsertCustom(b)
	if res == registry.OK {
		c.ForeignAdopted++
		c.spendForeign(b.Real, b.Bytes)
	}
	return c.registered(b.Real, b.Bytes, res)
}

// RegisterBuffer registers a block under its address and the aliases, and returns
// the id by which it gets more. All or nothing. A block of kind layout.ForeignCustom has a deleter.
func (c *Context) RegisterBuffer(b ForeignBlock, aliases []uintptr, kind int32) (id uint64, st status.Status) {
	if b.Real == 0 {
		return 0, c.Fail(status.InvalidArgument, textNoBlock, 0)
	}
	b.Bytes = max(b.Bytes, 1)
	b.Kind = uint8(kind)
	if st = c.checkBlock(b, kind); st != status.OK {
		return 0, st
	}
	for _, alias := range aliases {
		if alias-b.Real >= b.Bytes {
			return 0, c.Fail(status.InvalidArgument, textAliasOutside, alias)
		}
	}
	id, names, ended, res := process.registry.InsertShared(b, aliases)
	c.freeForeign(ended)
	c.ForeignAdopted += names
	if res == registry.OK {
		c.spendForeign(b.Real, b.Bytes)
	}
	if res == registry.Present {
		return 0, c.registered(taken(b.Real, aliases), b.Bytes, res)
	}
	return id, c.registered(b.Real, b.Bytes, res)
}

// taken returns the first address of a shared block that somebody else has, for the message.
func taken(real uintptr, aliases []uintptr) uintptr {
	for _, alias := range aliases {
		if process.registry.Count(real) < 0 && process.registry.Count(alias) >= 0 {
			return alias
		}
	}
	return real
}

// AddAlias adds a reference at an address inside a live shared block.
func (c *Context) AddAlias(id uint64, alias uintptr) status.Status {
	fresh, res := process.registry.AddAlias(id, alias)
	if fresh {
		c.ForeignAdopted++
	}
	if res == registry.NoShared {
		return c.Fail(status.InvalidArgument, textNoBuffer, 0, id)
	}
	return c.registered(alias, 0, res)
}

// ReleaseForeign drops one reference of a registered pointer; the last one of its
// block frees that.
func (c *Context) ReleaseForeign(p uintptr) status.Status {
	if p == 0 {
		return status.OK
	}
	if c.locate(p).where != elsewhere {
		return c.Fail(status.UnknownPointer, textOurMemory, p)
	}
	return c.releaseForeign(p)
}

// RegisterMany registers n blocks of one kind, or none of them.
func (c *Context) RegisterMany(n uint64, block func(uint64) (p, bytes uintptr), kind int32) status.Status {
	entered := make([]registry.Entered, 0, min(n, 1<<16))
	for i := range n {
		p, bytes := block(i)
		made, st := c.registerBlock(p, bytes, kind)
		if st != status.OK {
			c.retract(entered, block)
			return st
		}
		entered = append(entered, made)
	}
	return status.OK
}

// retract takes the first blocks of a list out again; nobody knows of them yet.
func (c *Context) retract(entered []registry.Entered, block func(uint64) (p, bytes uintptr)) {
	for i, made := range entered {
		if p, _ := block(uint64(i)); p != 0 {
			process.registry.Retract(p, made)
			if isRecording() {
				recorder.Retracted(p, made.Gen)
			}
			c.ForeignAdopted--
		}
	}
}

// NewForeignArray allocates and registers an array, aligned to 64 bytes.
func (c *Context) NewForeignArray(count, bytesEach uintptr) uintptr {
	const alignment = 64
	high, bytes := bits.Mul64(uint64(count), uint64(bytesEach))
	if high != 0 || bytes > layout.ForeignBytes {
		c.Fail(status.InvalidArgument, textProduct, 0, uint64(count), uint64(bytesEach))
		return 0
	}
	if bytes == 0 {
		return c.null()
	}
	return c.allocForeign(uintptr(bytes), alignment, inserted(0))
}

// inserted registers a block with a type.
func inserted(typ uint32) func(p, bytes uintptr, kind uint8) registry.Result {
	return func(p, bytes uintptr, kind uint8) registry.Result {
		_, res := process.registry.Insert(p, bytes, kind, typ)
		return res
	}
}

// allocForeign allocates a block and registers it; 0 with the error recorded.
func (c *Context) allocForeign(
	bytes, alignment uintptr, insert func(p, bytes uintptr, kind uint8) registry.Result,
) uintptr {
	p := uintptr(0)
	if process.cfg.AlignedAlloc != nil {
		p = process.cfg.AlignedAlloc(bytes, alignment)
	}
	if p == 0 {
		return c.failAlloc(status.OutOfMemory, uint64(bytes))
	}
	if res := insert(p, bytes, layout.ForeignAligned); res != registry.OK {
		process.cfg.AlignedFree(p)
		c.registered(p, bytes, res)
		return 0
	}
	c.ForeignAdopted++
	c.spendForeign(p, bytes)
	return p
}

// AlignedAlloc returns memory that is known but that nobody holds a reference to: a
// dead entry, so that AlignedFree can tell it from any other address.
func (c *Context) AlignedAlloc(bytes, alignment uintptr) uintptr {
	if alignment == 0 || alignment&(alignment-1) != 0 || alignment > layout.ForeignBytes {
		c.Fail(status.InvalidArgument, textAlignment, 0, uint64(alignment))
		return 0
	}
	if bytes > layout.ForeignBytes {
		return c.failAlloc(status.OutOfMemory, uint64(bytes))
	}
	if bytes == 0 {
		return c.null()
	}
	return c.allocForeign(bytes, alignment, process.registry.InsertAtZero)
}

// AlignedFree frees memory of AlignedAlloc that was not registered, or is not any more.
func (c *Context) AlignedFree(p uintptr) status.Status {
	if p == 0 {
		return status.OK
	}
	if ended, res := process.registry.FreeAligned(p); res == registry.Gone {
		c.freeForeign(ended)
		return status.OK
	}
	return c.Fail(status.UnknownPointer, textNotAligned, p)
}

// Describe tells what the registry knows of a pointer.
func (c *Context) Describe(p uintptr) (d registry.Described, st status.Status) {
	d, known := process.registry.Describe(p)
	if known || p == 0 {
		return d, status.OK
	}
	if c.locate(p).where != elsewhere {
		return d, c.Fail(status.Unsupported, textOurMemory, p)
	}
	if process.registry.Count(p) == 0 {
		return d, c.Fail(status.NotLive, textZero, p)
	}
	return d, c.failPlace(p, place{where: elsewhere}) // never known, or back with the host
}
