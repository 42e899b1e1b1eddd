package tensor

import (
	"strings"

	"tlruntime/cshim/shapes"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// noView has what is said of a view that there cannot be: cshim/shapes/views.h has the numbers.
var noView = [...]string{
	layout.NoViewHeader: "the header of the tensor at %#x was overwritten: element type %d, %d dimensions; " +
		"write to the tensor's data only",
	layout.NoViewRank:     "rank %d is not between 0 and %d",
	layout.NoViewShape:    "shape is NULL, and the rank is not 0",
	layout.NoViewAxes:     "axes is NULL, and the rank is not 0",
	layout.NoViewStarts:   "starts is NULL, and the rank is not 0",
	layout.NoViewStops:    "stops is NULL, and the rank is not 0",
	layout.NoViewSteps:    "steps is NULL, and the rank is not 0",
	layout.NoViewAxis:     "there is no axis %d in a tensor of %d dimensions",
	layout.NoViewStep:     "a slice cannot go on by 0 elements",
	layout.NoViewNumber:   "%d axes are given for a tensor of %d dimensions",
	layout.NoViewElement:  "there is no element %d in axis %d, which has %d",
	layout.NoViewTwice:    "axis %d is given twice",
	layout.NoViewLong:     "axis %d has %d elements; only one of 1 can be left out",
	layout.NoViewFull:     "the tensor has %d dimensions, as many as there can be",
	layout.NoViewFewer:    "a tensor of %d dimensions cannot be broadcast to %d",
	layout.NoViewRepeated: "axis %d has %d elements and cannot be broadcast to %d",
	layout.NoViewExtent:   "extent %d of axis %d is negative, or the product of the shape overflows",
	layout.NoViewOpen:     "axes %d and %d are both -1; only one extent can be left open",
	layout.NoViewOverflow: "extent %d of axis %d: the product of the shape overflows",
	layout.NoViewScattered: "the elements do not lie so that strides could give them this shape; " +
		"clone the tensor first",
	layout.NoViewDivided:  "%d elements cannot be divided among %d",
	layout.NoViewElements: "%d elements cannot take a shape of %d",
}

// refuse says why there is no such view.
func refuse(c *object.Context, why uint32, numbers *[4]int64) uintptr {
	st, args := status.InvalidArgument, []any{numbers[0], numbers[1], numbers[2]}
	if why == layout.NoViewScattered {
		st = status.Unsupported
	}
	if why >= layout.NoViewDivided {
		args = []any{uint64(numbers[0]), uint64(numbers[1])}
	}
	c.Failf(st, noView[why], args[:strings.Count(noView[why], "%")]...)
	return 0
}

// View returns a view of the tensor at p, registered in the current scope, by one of the operations layout.ViewReshape
// to ViewExpandDims, with the numbers that its public function takes: arrays by their address.
func View(c *object.Context, p uintptr, operation uint32, given ...int64) uintptr {
	if p == 0 {
		return c.Null()
	}
	e, st := c.FindTensor(p)
	if st != status.OK {
		return 0
	}
	if e.Object == 0 {
		c.Failf(status.Unsupported, "%#x stands in a slot of a frame, which ends without asking who shares it; "+
			"clone it, or have the view first", p)
		return 0
	}
	var to layout.TensorHeader
	var numbers [4]int64
	copy(numbers[:], given)
	if why := shapes.View(&to, header(p), operation, &numbers); why != layout.ViewGranted {
		return refuse(c, why, &numbers)
	}
	if !c.HasRoom() {
		return 0
	}
	return over(c, &to)
}

// over makes the tensor with header to, which holds a reference to the one that has the memory.
func over(c *object.Context, to *layout.TensorHeader) uintptr {
	e, _ := c.TakeTensor(layout.TensorHeaderBytes)
	if e.Object == 0 {
		return 0
	}
	if found, st := c.FindTensor(to.Base); st != status.OK || found.Object == 0 || !c.Hold(found) {
		c.Recycle(e)
		return 0
	}
	*header(e.Object) = *to
	c.Revive(e, false)
	c.Push(e)
	return e.Object
}

// Base returns the tensor whose memory a view shares, NULL for one that is no view.
func Base(c *object.Context, p uintptr) uintptr {
	return address(c, p, func(h *layout.TensorHeader) uintptr {
		if h.Flags&layout.TensorView == 0 {
			return c.Null()
		}
		return h.Base
	})
}
