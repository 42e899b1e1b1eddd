package picture

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"tlruntime/compiler/export"
	"tlruntime/compiler/plan"
)

// FromPlan returns the chart of a plan's frame. Buffers outside the frame are left
// out and counted in a note. The plan stays the caller's; nil gives an empty chart.
func FromPlan(p *plan.ExecutionPlan) *Chart {
	if p == nil {
		return &Chart{}
	}
	c := &Chart{
		Title: p.Name, Steps: len(p.Instructions), FrameBytes: p.Frame.Bytes, LowerBound: p.Frame.LowerBound,
		Optimal: p.Frame.Optimal, NaiveBytes: p.Frame.NaiveBytes,
	}
	for i := range p.Instructions {
		c.StepNames = append(c.StepNames, stepName(&p.Instructions[i]))
	}
	outside, bytes := 0, int64(0)
	for i := range p.Buffers {
		b := &p.Buffers[i]
		if b.Offset < 0 {
			outside++
			bytes += b.Bytes
			continue
		}
		c.Buffers = append(c.Buffers, Rect{
			Name: b.Name, Kind: export.KindName(b.Kind), First: b.First, End: b.Last + 1, Offset: b.Offset,
			Bytes: b.Bytes, Detail: detail(b),
		})
	}
	if outside > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%s outside the frame not shown (%s)", Plural(outside, "buffer"),
			size(bytes)))
	}
	return c
}

func stepName(in *plan.Instruction) string {
	if in.Node == in.Op || in.Node == "" {
		return in.Op
	}
	return in.Node + " (" + in.Op + ")"
}

// detail is the element type and the shape, such as "f32 1×64×56×56".
func detail(b *plan.Buffer) string {
	if len(b.Shape) == 0 {
		return b.DType.String() + " scalar"
	}
	extents := make([]string, len(b.Shape))
	for i, d := range b.Shape {
		extents[i] = strconv.FormatInt(d, 10)
	}
	return b.DType.String() + " " + strings.Join(extents, "×")
}

// Plural is a number of things, for people.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return humanize.Comma(int64(n)) + " " + noun + "s"
}

func size(bytes int64) string { return humanize.IBytes(uint64(max(bytes, 0))) }
