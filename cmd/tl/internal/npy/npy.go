// Package npy reads and writes arrays in NumPy's file format (NEP 1, 2007).
package npy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"tlruntime/compiler/graph"
	"tlruntime/runtime/dtype"
)

// mostElements keeps products of extents and sizes from overflowing.
const mostElements = 1 << 56

const magic = "\x93NUMPY"

var (
	descrPattern   = regexp.MustCompile(`'descr': '([<>|=])(\w+)'`)
	fortranPattern = regexp.MustCompile(`'fortran_order': (True|False)`)
	shapePattern   = regexp.MustCompile(`'shape': \(([0-9, ]*)\)`)
)

// Read returns the array that r holds.
func Read(r io.Reader) (graph.Tensor, error) {
	header, err := readHeader(r)
	if err != nil {
		return graph.Tensor{}, err
	}
	t, err := parseHeader(header)
	if err != nil {
		return graph.Tensor{}, err
	}
	if t.Data, err = io.ReadAll(r); err != nil {
		return graph.Tensor{}, err
	}
	if want := graph.Elements(t.Shape) * t.DType.Bytes(); int64(len(t.Data)) != want {
		return graph.Tensor{}, fmt.Errorf("the array has %d bytes of content; %s of shape %v has %d", len(t.Data),
			t.DType, t.Shape, want)
	}
	return t, nil
}

// readHeader reads up to the content. Version 1 of the format has 16 bits for the
// length of the header, later ones 32.
func readHeader(r io.Reader) (string, error) {
	start := make([]byte, len(magic)+2)
	if _, err := io.ReadFull(r, start); err != nil || string(start[:len(magic)]) != magic {
		return "", fmt.Errorf("this is no array in NumPy's file format")
	}
	size := make([]byte, 2)
	if start[len(magic)] > 1 {
		size = make([]byte, 4)
	}
	if _, err := io.ReadFull(r, size); err != nil {
		return "", fmt.Errorf("the array's header is cut off: %w", err)
	}
	var header bytes.Buffer
	n := int64(binary.LittleEndian.Uint32(append(size, 0, 0)))
	if got, err := io.CopyN(&header, r, n); err != nil {
		return "", fmt.Errorf("the array's header is cut off after %d of %d bytes: %w", got, n, err)
	}
	return header.String(), nil
}

func parseHeader(header string) (t graph.Tensor, err error) {
	descr := descrPattern.FindStringSubmatch(header)
	fortran := fortranPattern.FindStringSubmatch(header)
	shape := shapePattern.FindStringSubmatch(header)
	if descr == nil || fortran == nil || shape == nil {
		return t, fmt.Errorf("the array's header %q is not understood; save a plain array with numpy.save", header)
	}
	known := false
	t.DType, known = graph.FindDType(func(i *dtype.Info) bool { return i.Typestr()[1:] == descr[2] })
	if !known || t.DType == graph.BF16 || (descr[1] == ">" && t.DType.Bytes() > 1) {
		return t,
			fmt.Errorf("elements of type %s%s are not supported; convert the array to a little-endian number type",
				descr[1], descr[2])
	}
	t.Shape, err = parseShape(shape[1])
	if err == nil && fortran[1] == "True" && len(t.Shape) > 1 {
		err = fmt.Errorf("the array is stored column by column; save numpy.ascontiguousarray of it")
	}
	return t, err
}

func parseShape(text string) ([]int64, error) {
	shape := []int64{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("(%s) is no shape of an array", text)
		}
		shape = append(shape, n)
	}
	if _, ok := graph.SizeOf(shape, graph.U8, mostElements); !ok {
		return nil, fmt.Errorf("(%s) is no shape of an array", text)
	}
	return shape, nil
}

// Write writes an array to w.
func Write(w io.Writer, t graph.Tensor) error {
	descr, err := description(t.DType)
	if err != nil {
		return err
	}
	var shape strings.Builder
	for _, n := range t.Shape {
		fmt.Fprintf(&shape, "%d,", n)
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape.String())
	const before, alignment = len(magic) + 4, 64
	padding := (alignment - (before+len(header)+1)%alignment) % alignment
	header += strings.Repeat(" ", padding) + "\n"
	out := append([]byte(magic), 1, 0)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(header)))
	if _, err := w.Write(append(out, header...)); err != nil {
		return err
	}
	_, err = w.Write(t.Data)
	return err
}

func description(d graph.DType) (string, error) {
	if d.Bytes() > 0 && d != graph.BF16 {
		return d.Info().Typestr(), nil
	}
	return "", fmt.Errorf("NumPy has no elements of type %s; let the model end with a Cast to f32", d)
}
