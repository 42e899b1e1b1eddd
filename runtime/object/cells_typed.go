package object

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/status"
)

// Cells with a type. Their slots have a type of their own, which is that of the cells with a head in front, so that
// whatever reads the fields of an object by its record reads theirs. A program never gets its number. The fast path is
// cshim/object/cells_typed.c.

// NewTypedCell returns a zeroed cell of a type.
func (c *Context) NewTypedCell(typ uint32) uintptr {
	t := process.types.defined(typ)
	if t == nil {
		c.Fail(status.InvalidArgument, textTypeUnknown, 0, uint64(typ))
		return 0
	}
	slots, st := c.typeOfCells(typ, t)
	if st != status.OK {
		return 0
	}
	return c.newCell(t.Size, slots)
}

// typeOfCells returns the type of the slots of cells of a type. The fast path finds it if contexts count it.
func (c *Context) typeOfCells(typ uint32, t *Type) (uint32, status.Status) {
	info := process.types.info(typ - layout.TypeFirstUser)
	if info.Ends != layout.EndsSimply {
		return 0, c.Fail(status.Unsupported, textCellType, 0, uint64(typ), layout.MostFields)
	}
	if slots := atomic.LoadUintptr(&info.Context); slots != 0 {
		return uint32(slots), status.OK
	}
	name := "cell"
	if t.Name != "" {
		name += " of " + t.Name
	}
	of := Type{Name: name, Size: t.Size + layout.CellOffset, OfCells: true}
	for _, offset := range t.Offsets {
		of.Offsets = append(of.Offsets, offset+layout.CellOffset)
	}
	slots, st := c.addType(&of)
	if st == status.OK {
		atomic.StoreUintptr(&info.Context, uintptr(slots))
	}
	return slots, st
}

// dropCellField drops the reference at an offset of a cell that ends, to a cell or to an object.
func (c *Context) dropCellField(cell, offset uintptr, typ string, p uintptr) {
	o, ok := c.cellAt(p)
	if !ok {
		c.dropFieldOf(cell, offset, typ, p)
		return
	}
	if n := o.changeCount(dropped); n == 1 || n == -1 {
		c.endCell(o)
	}
}

// ShareCell has the count changed by compare and swap from now on, and the counts of the cells that one with a type
// leads to. What is shared already leads to shared ones.
func (c *Context) ShareCell(p uintptr) status.Status {
	first, ok, st := c.cell(p)
	if !ok {
		return st
	}
	for reached := []cell{first}; len(reached) > 0; {
		o := reached[len(reached)-1]
		reached = reached[:len(reached)-1]
		if n := o.changeCount(func(n int32) (int32, bool) { return -n, n > 0 }); n <= 0 {
			continue
		}
		if o.class != 0 {
			continue
		}
		c.ReferencesOf(o.Entry, func(p, _ uintptr) {
			if child, ok := c.cellAt(p); ok {
				reached = append(reached, child)
			}
		})
	}
	return status.OK
}
