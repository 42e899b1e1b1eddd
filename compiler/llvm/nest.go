package llvm

import (
	"cmp"
	"slices"

	"tlruntime/compiler/view"
)

// axis is one loop over several views at once: how many turns it has and how many
// elements each view goes on with every turn.
type axis struct {
	n       int64
	strides []int64
}

// aligned returns the strides of v over shape, to which it is broadcast: axes are
// matched from the last, and those that v has not, or has with extent 1, repeat.
func aligned(v view.View, shape []int64) ([]int64, bool) {
	e, ok := v.Expand(shape)
	return e.Strides, ok
}

// axesOf returns the loops over shape. The views must be broadcastable to it.
func axesOf(shape []int64, views ...view.View) ([]axis, bool) {
	axes := make([]axis, len(shape))
	for i, n := range shape {
		axes[i] = axis{n, make([]int64, len(views))}
	}
	for k, v := range views {
		strides, ok := aligned(v, shape)
		if !ok {
			return nil, false
		}
		for i := range axes {
			axes[i].strides[k] = strides[i]
		}
	}
	return axes, true
}

// merged drops axes of extent 1, orders the others so that view first walks
// through its buffer with steps that get smaller, and joins neighbours that all
// views walk through as one. No axis is left of a single element.
func merged(axes []axis, first int) []axis {
	axes = slices.DeleteFunc(slices.Clone(axes), func(a axis) bool { return a.n == 1 })
	slices.SortStableFunc(axes, func(a, b axis) int {
		return cmp.Compare(magnitude(b.strides[first]), magnitude(a.strides[first]))
	})
	return joinedAxes(axes)
}

// joinedAxes joins neighbours without changing the order.
func joinedAxes(axes []axis) []axis {
	var list []axis
	for _, a := range axes {
		if last := len(list) - 1; last >= 0 && continues(list[last], a) {
			list[last] = axis{list[last].n * a.n, a.strides}
			continue
		}
		list = append(list, a)
	}
	return list
}

func continues(outer, inner axis) bool {
	for k, s := range inner.strides {
		if outer.strides[k] != s*inner.n {
			return false
		}
	}
	return true
}

func magnitude(n int64) int64 { return max(n, -n) }

// walk emits the loops over axes and calls body with the address of each view's
// element.
func (c *code) walk(axes []axis, elems []elem, ptrs []string, body func(ptrs []string)) {
	if len(axes) == 0 {
		body(ptrs)
		return
	}
	c.loop(axes[0].n, func(i string) {
		c.walk(axes[1:], elems, c.advanced(axes[0], elems, ptrs, i), body)
	})
}

// advanced returns the addresses after i turns of a loop.
func (c *code) advanced(a axis, elems []elem, ptrs []string, i string) []string {
	to := make([]string, len(ptrs))
	for k, p := range ptrs {
		to[k] = p
		if a.strides[k] != 0 {
			to[k] = c.at(p, elems[k].memory, c.scaled(i, a.strides[k]))
		}
	}
	return to
}

// strips covers n elements with as few vectors of at most width lanes as there can
// be: a loop over the widest ones, then one for each power of two of the rest.
func (c *code) strips(n int64, width int, body func(first string, lanes int)) {
	at := int64(0)
	for ; width > 0; width /= 2 {
		lanes, from := int64(width), at
		turns := (n - at) / lanes
		c.loop(turns, func(i string) { body(c.shifted(c.scaled(i, lanes), from), width) })
		at += turns * lanes
	}
}

func all(list []operand) (elems []elem, ptrs []string, views []view.View) {
	for _, o := range list {
		elems, ptrs, views = append(elems, o.elem), append(ptrs, o.ptr), append(views, o.View)
	}
	return elems, ptrs, views
}

// Blocks of a transposition: as many elements of both axes as have their lines in
// the cache together.
const (
	leastBlock = 4
	mostBlock  = 32
)

// blocked splits the innermost axis, and the one along which some other view has
// its elements side by side, into blocks, so that the lines of both stay in the
// cache while they are used. Without such a view the axes stay as they are.
func blocked(axes []axis) []axis {
	last := len(axes) - 1
	for i := range max(last, 0) {
		for k, s := range axes[i].strides {
			a, b := blockSize(axes[i].n), blockSize(axes[last].n)
			if s != 1 || magnitude(axes[last].strides[k]) <= 1 || a < leastBlock || b < leastBlock {
				continue
			}
			list := slices.Delete(slices.Clone(axes[:last]), i, i+1)
			return append(list, axes[i].every(a), axes[last].every(b), axis{a, axes[i].strides},
				axis{b, axes[last].strides})
		}
	}
	return axes
}

// blockSize is the largest block that n is a multiple of.
func blockSize(n int64) int64 {
	size := min(n, mostBlock)
	for n%max(size, 1) != 0 {
		size--
	}
	return size
}

// every is the loop over the beginnings of blocks.
func (a axis) every(block int64) axis {
	strides := make([]int64, len(a.strides))
	for i, s := range a.strides {
		strides[i] = s * block
	}
	return axis{a.n / block, strides}
}
