package llvm

import (
	"fmt"
	"strconv"
)

// maxPacked bounds the stack that a convolution takes.
const maxPacked = 64 << 10

// packing gathers what a tile reads into a piece of stack in which neighbours lie
// side by side, with zeros for the pads. It pays where they do not lie so in the
// argument, such as one with its channels last, and many rows read them.
type packing struct {
	*convolution
	buffer string
	span   int64 // inputs on the inner axis, of the widest tile
	taps   int64 // of all outer axes
}

// packing returns nil where packing does not pay, or takes too much.
func (c *convolution) packing(tiles []tile) *packing {
	p := &packing{convolution: c, taps: 1}
	for _, t := range tiles {
		p.span = max(p.span, c.spanOf(t))
	}
	for _, w := range c.outer {
		p.taps *= w.taps
	}
	n := c.channels * p.taps * p.span
	if c.xs[len(c.outer)] == 1 || c.inner.out == 1 || c.rows <= int64(c.block) || n*c.x.bytes > maxPacked {
		return nil
	}
	typ := fmt.Sprintf("[%d x %s]", n, c.x.memory)
	p.buffer = c.let("alloca %s, align 64", typ)
	if c.module.typed() {
		p.buffer = c.let("bitcast %s* %s to i8*", typ, p.buffer)
	}
	return p
}

// spanOf is how many neighbouring inputs a tile reaches.
func (c *convolution) spanOf(t tile) int64 {
	return (t.width()-1)*c.inner.stride + (c.inner.taps-1)*c.inner.dilation + 1
}

// fill copies what a tile reads and returns the copy as its source.
func (p *packing) fill(from source) source {
	t := from.tile
	l := p.scalar(p.x.elem.opaque())
	if !t.inside || !p.neverClipped() {
		p.loop(p.channels*p.taps*p.span, func(i string) { l.store(l.number(0), p.code.at(p.buffer, l.memory, i)) })
	}
	first := p.shifted(p.scaled(t.base, t.w.stride), -t.w.before)
	low, high := "0", strconv.FormatInt(p.spanOf(t.tile), 10)
	if !t.inside {
		low = p.higher(p.scaled(first, -1), "0")
		high = p.lower(high, p.plus(strconv.FormatInt(t.w.in, 10), p.scaled(first, -1)))
	}
	p.loop(p.channels, func(i string) {
		x := p.code.at(from.x, l.memory, p.scaled(i, from.channel))
		p.copyTaps(0, from, x, p.scaled(i, p.taps), func(x, row string) {
			p.between(low, high, nil, func(k string, _ []string) []string {
				v := l.load(p.code.at(x, l.memory, p.scaled(p.plus(first, k), from.strides[len(p.outer)])))
				l.store(v, p.code.at(p.buffer, l.memory, p.plus(p.scaled(row, p.span), k)))
				return nil
			})
		})
	})
	return p.packed(t)
}

// neverClipped reports whether all taps of the outer axes are inputs everywhere.
func (p *packing) neverClipped() bool {
	for _, w := range p.outer {
		if !w.inside(0, w.out-1) {
			return false
		}
	}
	return true
}

// copyTaps goes over the taps of the outer axes that are inputs. body gets where
// their inputs begin and which row of the copy they are.
func (p *packing) copyTaps(axis int, from source, x, row string, body func(x, row string)) {
	if axis == len(p.outer) {
		body(x, row)
		return
	}
	behind := int64(1)
	for _, w := range p.outer[axis+1:] {
		behind *= w.taps
	}
	p.overAxis(p.outer[axis], from.at[axis], nil, func(tap, position string, _ []string) []string {
		at := p.code.at(x, p.x.memory, p.scaled(position, from.strides[axis]))
		p.copyTaps(axis+1, from, at, p.plus(row, p.scaled(tap, behind)), body)
		return nil
	})
}

// packed is the copy as a source: a place of its own, all of whose taps are inputs.
func (p *packing) packed(t placedTile) source {
	s := source{x: p.buffer, channel: p.taps * p.span, strides: make([]int64, len(p.outer)+1)}
	stride := p.span
	for i := len(p.outer) - 1; i >= 0; i-- {
		s.strides[i] = stride
		stride *= p.outer[i].taps
	}
	s.strides[len(p.outer)] = 1
	for _, w := range p.outer {
		s.outer, s.at = append(s.outer, window{w.taps, 1, w.taps, 1, 1, 0, 0}), append(s.at, "0")
	}
	inner := window{p.span, t.width(), p.inner.taps, p.inner.stride, p.inner.dilation, 0, 0}
	t.inside, t.edge, t.w, t.base, t.first, t.turns = true, false, inner, "0", 0, 1
	s.tile = t
	return s
}
