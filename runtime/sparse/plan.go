package sparse

import (
	"math/bits"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

// Options are how lines are put into blocks; 0 is the default.
type Options struct {
	TargetRows, MinElements, MaxElements int64
}

// Defaults of Options, and what each stays below.
const (
	targetRows  = 8
	minElements = 4096
	maxElements = 262144
	largest     = 1 << 30
)

// check fills in defaults and refuses what contradicts itself.
func (o *Options) check(c *object.Context) status.Status {
	for _, given := range []int64{o.TargetRows, o.MinElements, o.MaxElements} {
		if given < 0 || given > largest {
			return tensor.Refuse(c, status.InvalidArgument, "block option %d is not between 0 and %d", given, largest)
		}
	}
	if o.TargetRows == 0 {
		o.TargetRows = targetRows
	}
	if o.MaxElements == 0 {
		o.MaxElements = max(maxElements, o.MinElements)
	}
	if o.MinElements == 0 {
		o.MinElements = min(minElements, o.MaxElements)
	}
	if o.MinElements > o.MaxElements {
		return tensor.Refuse(c, status.InvalidArgument,
			"blocks of at least %d and at most %d elements contradict each other",
			o.MinElements, o.MaxElements)
	}
	return status.OK
}

// source tells the lengths of the lines that a caller gives.
type source struct {
	at       uintptr
	isOffset bool
	dtype    uint8 // of the offsets
}

func (s *source) length(i uint64) int64 {
	if !s.isOffset {
		return load[int64](s.at + uintptr(i)*8)
	}
	return offset(s.at, s.dtype, i+1) - offset(s.at, s.dtype, i)
}

// planner cuts the lines of a matrix into blocks, first to last.
//
// A block takes lines until it has the target of lines and the least elements, and
// then as many as it needs to fill the heap's slot for it to 15/16: slots come in
// steps of an eighth, and large ones of 64 KiB. It never has more than the most
// elements, but for a line that is longer by itself and has the block to itself.
// As many lines as elements close it too, for matrices of empty lines.
type planner struct {
	from          source
	options       Options
	lines         uint64
	value, index  uint64 // bytes of one
	next          uint64 // the first line of the next cut
	cutLines, cut uint64 // lines and elements of the last
}

// advance makes the next cut; false when no line is left.
func (p *planner) advance() bool {
	p.cutLines, p.cut = 0, 0
	for p.next < p.lines && !p.full() {
		n := uint64(p.from.length(p.next))
		if p.cutLines > 0 && p.cut+n > uint64(p.options.MaxElements) {
			break
		}
		p.cutLines, p.cut, p.next = p.cutLines+1, p.cut+n, p.next+1
	}
	return p.cutLines > 0
}

func (p *planner) full() bool {
	most := uint64(p.options.MaxElements)
	if p.cut >= most || p.cutLines >= most {
		return true
	}
	if p.cutLines < uint64(p.options.TargetRows) || p.cut < uint64(p.options.MinElements) {
		return false
	}
	used := tensor.BlockHeaderBytes + p.bytes().total
	return used >= slotFor(used)/16*15
}

// parts is where the arrays of a block lie in its memory.
type parts struct{ indices, offsets, total uint64 }

func (p *planner) bytes() parts {
	indices := aligned(p.cut * p.value)
	offsets := indices + aligned(p.cut*p.index)
	return parts{indices, offsets, offsets + (p.cutLines+1)*p.index}
}

func aligned(n uint64) uint64 { return (n + layout.TensorAlign - 1) &^ (layout.TensorAlign - 1) }

// slotFor returns what the heap gives for n bytes, n above the smallest classes.
func slotFor(n uint64) uint64 {
	step := uint64(layout.SpanBytes)
	if n <= 512 {
		step = 32
	} else if n <= layout.MaxSmall {
		step = 1 << (bits.Len64(n-1) - 4)
	}
	return (n + step - 1) / step * step
}

// survey reads all lengths and returns how many nonzeros and blocks they make.
func (p *planner) survey(c *object.Context, s *Shape) (nonzeros, blocks uint64, st status.Status) {
	if nonzeros, st = p.sum(c, s); st != status.OK {
		return 0, 0, st
	}
	for p.advance() {
		blocks++
	}
	p.next = 0
	return nonzeros, blocks, status.OK
}

// sum adds up the lengths and refuses those that no line can have.
func (p *planner) sum(c *object.Context, s *Shape) (total uint64, st status.Status) {
	_, minor := s.lines()
	for i := range p.lines {
		n := p.from.length(i)
		if n < 0 && p.from.isOffset {
			return 0, tensor.Refuse(c, status.InvalidArgument, "the offsets of %s %d decrease by %d",
				lineName(uint8(s.Format)), i, -n)
		}
		if n < 0 || n > minor {
			return 0, tensor.Refuse(c, status.InvalidArgument, "%s %d has the length %d, which is not between 0 and %d",
				lineName(uint8(s.Format)), i, n, minor)
		}
		if total += uint64(n); total > maxNonzeros {
			break
		}
	}
	return total, s.checkNonzeros(c, total)
}
