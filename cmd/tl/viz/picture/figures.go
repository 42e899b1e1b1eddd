package picture

import (
	"fmt"
	"math"
	"strconv"

	"github.com/dustin/go-humanize"
)

// Figure is one of the numbers at the head of a picture.
type Figure struct {
	Label  string
	Value  string
	Exact  string // in bytes
	Remark string
}

// figures returns the frame's first; what is not known is left out.
func (c *Chart) figures() []Figure {
	list := []Figure{newFigure("Frame", c.FrameBytes, c.quality())}
	if c.LowerBound > 0 {
		list = append(list, newFigure("Lower bound", c.LowerBound, ""))
	}
	if c.NaiveBytes > 0 {
		list = append(list, newFigure("Without reuse", c.NaiveBytes, c.saving()))
	}
	return list
}

// Size makes a figure of a number of bytes.
func Size(label string, bytes int64, remark string) Figure { return newFigure(label, bytes, remark) }

func newFigure(label string, bytes int64, remark string) Figure {
	return Figure{Label: label, Value: size(bytes), Exact: humanize.Comma(bytes) + " bytes", Remark: remark}
}

// quality tells how good the frame is: proved, or at most how far from the best.
func (c *Chart) quality() string {
	switch {
	case c.Optimal:
		return "optimal (proved)"
	case c.LowerBound <= 0:
		return "no lower bound known"
	case c.FrameBytes <= c.LowerBound:
		return "equal to the lower bound"
	}
	return fmt.Sprintf("%s above the lower bound", percent(c.FrameBytes-c.LowerBound, c.LowerBound))
}

func (c *Chart) saving() string {
	if c.FrameBytes <= 0 || c.NaiveBytes < c.FrameBytes {
		return ""
	}
	ratio := float64(c.NaiveBytes) / float64(c.FrameBytes)
	if ratio >= 100 {
		return humanize.Comma(int64(math.Round(ratio))) + " times the frame"
	}
	return fmt.Sprintf("%.1f times the frame", ratio)
}

// percent never calls a gap nothing.
func percent(part, whole int64) string {
	switch p := 100 * float64(part) / float64(whole); {
	case p < 0.01:
		return "less than 0.01 %"
	case p < 10:
		return strconv.FormatFloat(p, 'g', 3, 64) + " %"
	default:
		return humanize.Comma(int64(math.Round(p))) + " %"
	}
}

// remarks is the line under the title.
func (c *Chart) remarks(buffers int) []string {
	list := []string{Plural(c.Steps, "step"), Plural(buffers, "buffer")}
	for _, note := range c.Notes {
		list = append(list, printable(note))
	}
	return list
}
