package graph

import (
	"fmt"
	"math/bits"
	"strings"
)

// Error is what Check found wrong with a graph.
type Error struct {
	Node   string // name of the node; "" when it is not about one
	Op     string // the node's operator
	Found  string
	Remedy string // what to do about it

	Dynamic bool // the operator can do it, but not before it runs
}

// Error returns the whole sentence.
func (e *Error) Error() string { return e.Where() + e.Found + "; " + e.Remedy }

func (e *Error) Where() string {
	if e.Op == "" && e.Node == "" {
		return ""
	}
	return fmt.Sprintf("node %q (%s): ", e.Node, e.Op)
}

func Problem(found, remedy string) *Error { return &Error{Found: found, Remedy: remedy} }

// ShapeText writes a shape as "(2, 3)".
func ShapeText(shape []int64) string {
	parts := make([]string, len(shape))
	for i, d := range shape {
		parts[i] = fmt.Sprint(d)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

func DimsText(shape []Dim) string {
	parts := make([]string, len(shape))
	for i, d := range shape {
		parts[i] = fmt.Sprint(d.Size)
		if d.Symbol != "" {
			parts[i] = d.Symbol
		}
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// SizeOf returns how many bytes a tensor takes, row by row without gaps, and false when
// an extent is negative or when the tensor would take more than most even without its
// extents of 0.
func SizeOf(shape []int64, t DType, most int64) (int64, bool) {
	n := uint64(t.Bytes())
	for _, d := range shape {
		high, low := bits.Mul64(n, uint64(max(d, 1)))
		if d < 0 || high != 0 || low > uint64(most) {
			return 0, false
		}
		n = low
	}
	return Elements(shape) * t.Bytes(), true
}

// MaxBytes bounds a tensor, so that no sum or product of sizes overflows.
const MaxBytes = 1 << 56

// Fits reports whether a tensor has a size, of MaxBytes at the most.
func Fits(shape []int64, t DType) bool {
	_, ok := SizeOf(shape, t, MaxBytes)
	return ok
}

// TensorFault says what is wrong with a tensor, "" when nothing is.
func TensorFault(t *Tensor) string {
	if t.DType.Bytes() == 0 {
		return fmt.Sprintf("has the element type %d, which does not exist", t.DType)
	}
	if !Fits(t.Shape, t.DType) {
		return fmt.Sprintf("has the shape %s, which is negative or takes more than 2^56 bytes", ShapeText(t.Shape))
	}
	if want := Elements(t.Shape) * t.DType.Bytes(); int64(len(t.Data)) != want {
		return fmt.Sprintf("is %s %s, which takes %d bytes, and has %d", t.DType, ShapeText(t.Shape), want, len(t.Data))
	}
	return ""
}
