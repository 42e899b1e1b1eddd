package offsets

import (
	"fmt"
	"math"
	"math/bits"
)

// maxIntervals keeps in 31 bits the indices of buffers, and of both ends of the intervals in which they are alive.
const maxIntervals = math.MaxInt32 / 2

// maxSum keeps every sum of offsets, sizes and alignments in 63 bits, above it the
// offset none included.
const maxSum = 1 << 61

// validate reports the first thing in p that means nothing.
func validate(p *Problem, w watch) error {
	if len(p.Buffers) > maxIntervals {
		return &InputError{Buffer: -1, Reason: fmt.Sprintf("%d buffers; split the problem, at most %d are taken",
			len(p.Buffers), maxIntervals)}
	}
	intervals := len(p.Buffers)
	for i := range p.Buffers {
		if intervals += len(p.Buffers[i].Gaps); intervals > maxIntervals {
			return &InputError{Buffer: i, Name: p.Buffers[i].Name, Reason: fmt.Sprintf(
				"buffers and gaps up to this one are more than %d; split the problem, or leave short gaps out", maxIntervals)}
		}
	}
	for i, s := range p.Spaces {
		if s.Capacity < 0 {
			return &InputError{Buffer: -1, Name: s.Name,
				Reason: fmt.Sprintf("space %d%s: its capacity is %d; it is a number of bytes, 0 is unlimited", i,
					quoted(s.Name), s.Capacity)}
		}
		if s.Alignment < 0 || bits.OnesCount64(uint64(s.Alignment)) > 1 {
			return &InputError{Buffer: -1, Name: s.Name,
				Reason: fmt.Sprintf("space %d%s: its alignment is %d; an alignment is a power of two, or 0 for none", i,
					quoted(s.Name), s.Alignment)}
		}
	}
	named := make([]int, max(1, len(p.Spaces))) // by space: one more than the last buffer that names it
	sum := int64(0)
	for i := range p.Buffers {
		b := &p.Buffers[i]
		w.visit(i, len(p.Buffers))
		if more := 4*len(b.Gaps) + len(b.Spaces); more > 0 {
			w(int64(more))
		}
		if reason := b.fault(i, len(p.Buffers), named); reason != "" {
			return &InputError{Buffer: i, Name: b.Name, Reason: reason}
		}
		// Each buffer takes at most its size, what aligns it, and what lies below its pin.
		for _, more := range [...]int64{b.Bytes, p.alignment(b) - 1, b.Offset, b.BaseOffset} {
			if sum += more; sum < 0 || sum > maxSum {
				return &InputError{Buffer: i, Name: b.Name,
					Reason: "the sizes, alignments and offsets up to this one add up to more than 2^61; look for a size " +
						"that overflowed"}
			}
		}
	}
	return nil
}

// fault says what is wrong with b alone, "" when nothing is.
func (b *Buffer) fault(index, buffers int, named []int) string {
	switch {
	case b.Bytes < 0:
		return fmt.Sprintf("its size is %d; a size is 0 or more bytes", b.Bytes)
	case b.Alignment < 0 || bits.OnesCount64(uint64(b.Alignment)) > 1:
		return fmt.Sprintf("its alignment is %d; an alignment is a power of two, or 0 for none", b.Alignment)
	case b.First >= b.End:
		return fmt.Sprintf("its lifetime [%d, %d) is empty; End is the step after the last one that uses it", b.First,
			b.End)
	case !b.Pinned && b.Offset != 0:
		return fmt.Sprintf("it has the offset %d and is not pinned; set Pinned, or leave Offset 0", b.Offset)
	case b.Offset < 0:
		return fmt.Sprintf("it is pinned at offset %d; offsets start at 0", b.Offset)
	}
	if reason := b.gapFault(); reason != "" {
		return reason
	}
	if reason := b.aliasFault(index, buffers); reason != "" {
		return reason
	}
	for _, s := range b.Spaces {
		if s < 0 || s >= len(named) {
			return fmt.Sprintf("it names space %d; there are %d, counted from 0", s, len(named))
		}
		if named[s] == index+1 {
			return fmt.Sprintf("it names space %d twice; name each space once", s)
		}
		named[s] = index + 1
	}
	return ""
}

func (b *Buffer) gapFault() string {
	for _, g := range b.Gaps {
		if g.First >= g.End {
			return fmt.Sprintf("its gap [%d, %d) is empty; End is the step after the last one of the gap", g.First,
				g.End)
		}
		if g.First < b.First || g.End > b.End {
			return fmt.Sprintf("its gap [%d, %d) is not inside its lifetime [%d, %d); shorten one of them", g.First,
				g.End, b.First, b.End)
		}
	}
	if room := [2]Interval{}; len(b.Gaps) > 0 && len(b.alive(room[:0])) == 0 {
		return "its gaps leave no step in which it is alive; leave the buffer out, or shorten a gap"
	}
	return ""
}

func (b *Buffer) aliasFault(index, buffers int) string {
	switch {
	case !b.Alias && b.BaseOffset != 0:
		return fmt.Sprintf("it has the base offset %d and is no alias; set Alias and Base, or leave BaseOffset 0",
			b.BaseOffset)
	case !b.Alias && b.Base != 0 && b.Base != -1:
		return fmt.Sprintf("it names buffer %d as its base and is no alias; set Alias, or leave Base 0", b.Base)
	case !b.Alias:
		return ""
	case b.Base < 0 || b.Base >= buffers:
		return fmt.Sprintf("it is an alias of buffer %d; there are %d, counted from 0", b.Base, buffers)
	case b.Base == index:
		return "it is an alias of itself; name the buffer that holds it"
	case b.BaseOffset < 0:
		return fmt.Sprintf("it lies at %d in its base; the offset in a base is 0 or more", b.BaseOffset)
	case len(b.Spaces) > 0:
		return "it is an alias and names spaces; it lies where its base does, name them there"
	}
	return ""
}
