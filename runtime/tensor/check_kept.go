package tensor

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
)

// The checker's part about what threads keep (kept.go).

// cells checks what contexts keep that are quiet.
func (c *checker) cells(quiet func(*object.Context) bool) {
	object.EachContext(func(of *object.Context) {
		if !quiet(of) {
			c.skipped = true
			return
		}
		places, count, bytes := uint64(0), uint64(0), uint64(0)
		cells := of.Cells()
		for i := range cells {
			if cell := &cells[i]; *cell != (layout.TensorCell{}) {
				c.cell(of, uint64(i), cell)
				places += cell.Room
				count += cell.Count
				bytes += cell.Count * cell.Bytes
			}
		}
		c.Want(places == uint64(of.Places), "context %d has %d places, counted %d", of.Id, places, of.Places)
		c.Want(of.KeptPuts-of.KeptHits == count && of.KeptPutBytes-of.KeptHitBytes == bytes,
			"context %d keeps %d tensors, %d bytes; counted %d, %d", of.Id, count, bytes, of.KeptPuts-of.KeptHits,
			of.KeptPutBytes-of.KeptHitBytes)
		state := atomic.LoadUint64(&of.Word) & layout.CtxState
		c.Want(places == 0 || state == layout.CtxActive || of.IsRecalled(), "context %d is parked with %d places", of.Id,
			places)
	})
}

func (c *checker) cell(of *object.Context, number uint64, cell *layout.TensorCell) {
	k := keyOfCell(cell)
	d := ElementType(uint8(cell.Kind))
	s := spec{nbytes: cell.Numel * d.Size()}
	c.Want(cell.Room >= 1 && cell.Count <= cell.Room && cell.Room <= layout.TensorCellRoom,
		"context %d, %+v: %d tensors in %d places", of.Id, k, cell.Count, cell.Room)
	c.Want(number^cellHome(k) < layout.TensorCellSet && cellOf(of, k) == cell, "context %d, %+v: its cell %d is another's",
		of.Id, k, number)
	c.Want(d.Size() != 0 && cell.Nbytes == s.nbytes && cell.Asked == s.total() && cell.Asked <= cell.Bytes,
		"context %d, %+v: %d bytes, %d asked, of %d", of.Id, k, cell.Nbytes, cell.Asked, cell.Bytes)
	c.Want(cell.Kind&kindKey == uint64(d)|layout.TensorContiguous<<32, "context %d, %+v: kind %#x", of.Id, k, cell.Kind)
	c.shape(of, cell)
	for i := range min(cell.Count, cell.Room, layout.TensorCellRoom) {
		e := cell.Entries[i]
		c.kept(e, cell.Bytes)
		c.Want(e.Gen&0xFF == cell.Class, "context %d, %+v: slots of class %d, one of %d", of.Id, k, cell.Class, e.Gen&0xFF)
	}
	c.places[k] += cell.Room
}

// shape checks that the shape of a cell is one of its elements, without gaps.
func (c *checker) shape(of *object.Context, cell *layout.TensorCell) {
	rank := int(uint16(cell.Kind >> 16))
	if rank > layout.TensorCellRank {
		c.Want(false, "context %d: a cell with a shape of rank %d", of.Id, rank)
		return
	}
	numel, stride := int64(1), int64(1)
	for i := rank - 1; i >= 0; i-- {
		c.Want(cell.Strides[i] == stride, "context %d: strides %v of the shape %v", of.Id, cell.Strides, cell.Shape)
		numel *= cell.Shape[i]
		stride *= max(cell.Shape[i], 1)
	}
	c.Want(uint64(numel) == cell.Numel, "context %d: the shape %v for %d elements", of.Id, cell.Shape[:rank], cell.Numel)
}

// lent compares the places that a key has lent with those that contexts have.
func (c *checker) lent(k key, lent uint64) {
	found := c.places[k]
	c.Want(lent == found || c.skipped && lent > found, "%+v has lent %d places, %d are found", k, lent, found)
	delete(c.places, k)
}

// allPlaces is asked when all keys were visited.
func (c *checker) allPlaces() {
	for k, places := range c.places {
		c.Want(false, "%+v has lent nothing, %d places are found", k, places)
	}
}
