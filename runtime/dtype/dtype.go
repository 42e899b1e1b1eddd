// Package dtype is the table of element types, and of what each form and format calls them. tools/gen writes from it
// what C and Python need.
package dtype

import "strconv"

// Type is an element type. The numbers are those of enum tl_dtype, which tools/gen compares with the table.
type Type int32

// The element types.
const (
	F32  Type = 0
	F64  Type = 1
	I32  Type = 2
	I64  Type = 3
	U8   Type = 4
	F16  Type = 5
	BF16 Type = 6
	Bool Type = 16
	I8   Type = 17
	I16  Type = 18
	U16  Type = 19
	U32  Type = 20
	U64  Type = 21
	C64  Type = 22
	C128 Type = 23
)

// The kinds of elements: with the bits behind it a kind is a name of NumPy's, such as float32.
const (
	Float    = "float"
	BFloat   = "bfloat"
	Signed   = "int"
	Unsigned = "uint"
	Boolean  = "bool"
	Complex  = "complex"
)

// Info is what is known of an element type.
type Info struct {
	Name   string // in graphs and reports; in C without the prefix TL_DTYPE_
	Bytes  uint8
	Kind   string
	Buffer string // the format of a buffer of Python
	Arrow  string // the format of an array of Arrow, "" where Arrow has no such elements
	ONNX   int32  // the number of ONNX's TensorProto.DataType, 0 for what graphs do not have
	Data   string // its name
}

// For NumPy "q" is another type of eight bytes than int64, and bfloat16 is two opaque bytes.
var table = [...]Info{
	F32:  {"f32", 4, Float, "f", "f", 1, "FLOAT"},
	F64:  {"f64", 8, Float, "d", "g", 11, "DOUBLE"},
	I32:  {"i32", 4, Signed, "i", "i", 6, "INT32"},
	I64:  {"i64", 8, Signed, "l", "l", 7, "INT64"},
	U8:   {"u8", 1, Unsigned, "B", "C", 2, "UINT8"},
	F16:  {"f16", 2, Float, "e", "e", 10, "FLOAT16"},
	BF16: {"bf16", 2, BFloat, "2x", "", 16, "BFLOAT16"},
	Bool: {"bool", 1, Boolean, "?", "b", 9, "BOOL"},
	I8:   {"i8", 1, Signed, "b", "c", 3, "INT8"},
	I16:  {"i16", 2, Signed, "h", "s", 5, "INT16"},
	U16:  {"u16", 2, Unsigned, "H", "S", 4, "UINT16"},
	U32:  {"u32", 4, Unsigned, "I", "I", 12, "UINT32"},
	U64:  {"u64", 8, Unsigned, "L", "L", 13, "UINT64"},
	C64:  {"c64", 8, Complex, "Zf", "", 0, ""},
	C128: {"c128", 16, Complex, "Zd", "", 0, ""},
}

var none Info

// Info returns what is known of the type; nothing, zero, when there is no such dtype.
func (t Type) Info() *Info {
	if t < 0 || int(t) >= len(table) {
		return &none
	}
	return &table[t]
}

// Size returns the bytes of an element, 0 when there is no such dtype.
func (t Type) Size() uint64 { return uint64(t.Info().Bytes) }

func (t Type) String() string { return t.Info().Name }

// Find returns the type whose row fits.
func Find(fits func(*Info) bool) (Type, bool) {
	for t := range table {
		if info := &table[t]; info.Bytes != 0 && fits(info) {
			return Type(t), true
		}
	}
	return 0, false
}

// Typestr returns what NumPy's array interface calls the type, such as <f4.
func (i *Info) Typestr() string {
	order, letter := "<", i.Kind[:1]
	if i.Bytes == 1 {
		order = "|"
	}
	if i.Kind == BFloat {
		letter = "V"
	}
	return order + letter + strconv.Itoa(int(i.Bytes))
}
