package onnx

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"

	"google.golang.org/protobuf/proto"

	"tlruntime/compiler/content"
	"tlruntime/compiler/graph"
	"tlruntime/compiler/onnx/onnxpb"
	"tlruntime/runtime/dtype"
)

func dtypeOf(number int32) (graph.DType, error) {
	if d, ok := graph.FindDType(func(i *dtype.Info) bool { return i.ONNX == number }); ok {
		return d, nil
	}
	return 0, fmt.Errorf("elements of type %v are not supported", onnxpb.TensorProto_DataType(number))
}

// ReadTensor returns an encoded tensor, such as the files beside ONNX's own tests hold.
func ReadTensor(r io.Reader) (graph.Tensor, error) {
	content, err := io.ReadAll(r)
	if err != nil {
		return graph.Tensor{}, err
	}
	var t onnxpb.TensorProto
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(content, &t); err != nil {
		return graph.Tensor{}, fmt.Errorf("this is no ONNX tensor: %w", err)
	}
	return (&reader{}).tensor(&t)
}

func (r *reader) tensor(t *onnxpb.TensorProto) (graph.Tensor, error) {
	d, err := dtypeOf(t.GetDataType())
	if err != nil {
		return graph.Tensor{}, err
	}
	elements, err := size(t.Dims, d)
	if err != nil {
		return graph.Tensor{}, err
	}
	bytes := (elements + d.Packed() - 1) / d.Packed()
	data := t.RawData
	switch {
	case t.DataLocation == onnxpb.TensorProto_EXTERNAL:
		data, err = r.external(t, bytes)
	case len(data) == 0:
		data = typed(t, d)
	}
	if err != nil {
		return graph.Tensor{}, err
	}
	if int64(len(data)) != bytes {
		return graph.Tensor{}, fmt.Errorf("%d bytes of content where %s of shape %v has %d", len(data), d, t.Dims,
			bytes)
	}
	return graph.Tensor{DType: d, Shape: append([]int64{}, t.Dims...), Data: unpacked(data, d, elements)}, nil
}

// unpacked gives each element of a byte that several share one of its own, the lowest bits first.
func unpacked(data []byte, d graph.DType, elements int64) []byte {
	share := d.Packed()
	if share == 1 {
		return data
	}
	out, width := make([]byte, elements), uint(8/share)
	for i := range out {
		x := data[int64(i)/share] >> (uint(int64(i)%share) * width) << (8 - width)
		if out[i] = x >> (8 - width); d == graph.I4 || d == graph.I2 {
			out[i] = byte(int8(x) >> (8 - width))
		}
	}
	return out
}

// packed is the inverse of unpacked.
func packed(data []byte, d graph.DType) []byte {
	share := int(d.Packed())
	if share == 1 {
		return data
	}
	out, width := make([]byte, (len(data)+share-1)/share), uint(8/share)
	for i, x := range data {
		out[i/share] |= x << (8 - width) >> (8 - width) << (uint(i%share) * width)
	}
	return out
}

func size(shape []int64, d graph.DType) (int64, error) {
	bytes := d.Bytes()
	for _, n := range shape {
		if n < 0 || (n > 0 && bytes > math.MaxInt64/n) {
			return 0, fmt.Errorf("shape %v is no shape of a tensor", shape)
		}
		bytes *= n
	}
	return bytes, nil
}

// typed returns the content of a tensor that stands in one of the repeated fields.
// Types narrower than 32 bits are stored as int32, f16 and bf16 by their bits.
func typed(t *onnxpb.TensorProto, d graph.DType) (data []byte) {
	switch d {
	case graph.F32:
		for _, v := range t.FloatData {
			data = appendLow(data, uint64(math.Float32bits(v)), 4)
		}
	case graph.F64:
		for _, v := range t.DoubleData {
			data = appendLow(data, math.Float64bits(v), 8)
		}
	case graph.I64:
		for _, v := range t.Int64Data {
			data = appendLow(data, uint64(v), 8)
		}
	case graph.Text:
		for _, v := range t.StringData {
			sum := sha256.Sum256(v)
			data = append(data, sum[:d.Bytes()]...)
		}
	case graph.U32, graph.U64:
		for _, v := range t.Uint64Data {
			data = appendLow(data, v, d.Bytes())
		}
	default:
		for _, v := range t.Int32Data {
			data = appendLow(data, uint64(v), d.Bytes())
		}
	}
	return data
}

// appendLow appends the low bytes of a number.
func appendLow(data []byte, v uint64, bytes int64) []byte {
	for ; bytes > 0; bytes-- {
		data = append(data, byte(v))
		v >>= 8
	}
	return data
}

// external reads content that the model keeps in another file.
func (r *reader) external(t *onnxpb.TensorProto, bytes int64) ([]byte, error) {
	where := map[string]string{}
	for _, e := range t.ExternalData {
		where[e.Key] = e.Value
	}
	name := where["location"]
	file, err := r.beside(name)
	if err != nil {
		return nil, err
	}
	if text := where["length"]; text != "" {
		if length, err := strconv.ParseInt(text, 10, 64); err != nil || length != bytes {
			return nil, fmt.Errorf("its content is said to be %q bytes of %q; the tensor has %d", text, name, bytes)
		}
	}
	var offset int64
	if text := where["offset"]; text != "" {
		if offset, err = strconv.ParseInt(text, 10, 64); err != nil || offset < 0 {
			return nil, fmt.Errorf("its content is said to begin at byte %q of %q", text, name)
		}
	}
	s := section{file, offset, bytes}
	if known, ok := r.read[s]; ok {
		return known, nil
	}
	data, err := s.content(r.room)
	if err != nil {
		return nil, err
	}
	if r.read == nil {
		r.read = map[section][]byte{}
	}
	r.read[s] = data
	return data, nil
}

// beside returns the file of a name that a model gives. A link may lead on, as those of caches of models do, but not
// out of the folder of the model's name or of its file: a model of strangers would read any file.
func (r *reader) beside(name string) (string, error) {
	if r.path == "" || !filepath.IsLocal(name) {
		return "", fmt.Errorf("its content is in the file %q, which is not beside the model", name)
	}
	file, err := filepath.EvalSymlinks(filepath.Join(filepath.Dir(r.path), name))
	if err != nil {
		return "", fmt.Errorf("its content is in the file %q: %w", name, err)
	}
	model, err := filepath.EvalSymlinks(r.path)
	if err != nil {
		return "", err
	}
	named, err := filepath.EvalSymlinks(filepath.Dir(r.path))
	if err != nil {
		return "", err
	}
	for _, folder := range []string{named, filepath.Dir(model)} {
		if below, err := filepath.Rel(folder, file); err == nil && filepath.IsLocal(below) {
			return file, nil
		}
	}
	return "", fmt.Errorf("its content is in the file %q, a link to %q, which is not beside the model", name, file)
}

// section is a part of a file.
type section struct {
	path          string
	offset, bytes int64
}

func (s section) content(room content.Room) ([]byte, error) {
	f, size, err := content.Open(s.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if s.offset > size || s.bytes > size-s.offset {
		return nil, fmt.Errorf("its content is said to be %d bytes at byte %d of %q, which has %d", s.bytes, s.offset,
			s.path, size)
	}
	if err := room.Take("a tensor", s.bytes, uint64(s.bytes)); err != nil {
		return nil, err
	}
	data := make([]byte, s.bytes)
	_, err = io.ReadFull(io.NewSectionReader(f, s.offset, s.bytes), data)
	return data, err
}
