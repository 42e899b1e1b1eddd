package graph

// DType is the type of a tensor's elements. The numbers are those of enum tl_dtype.
type DType uint8

// The element types.
const (
	F32  DType = 0
	F64  DType = 1
	I32  DType = 2
	I64  DType = 3
	U8   DType = 4
	F16  DType = 5
	BF16 DType = 6
	Bool DType = 16
	I8   DType = 17
	I16  DType = 18
	U16  DType = 19
	U32  DType = 20
	U64  DType = 21
)

type dtypeInfo struct {
	name  string
	bytes int64
}

var dtypes = map[DType]dtypeInfo{
	F32: {"f32", 4}, F64: {"f64", 8}, I32: {"i32", 4}, I64: {"i64", 8}, U8: {"u8", 1}, F16: {"f16", 2},
	BF16: {"bf16", 2}, Bool: {"bool", 1}, I8: {"i8", 1}, I16: {"i16", 2}, U16: {"u16", 2}, U32: {"u32", 4},
	U64: {"u64", 8},
}

// Bytes returns the size of one element, 0 when there is no such type.
func (d DType) Bytes() int64 { return dtypes[d].bytes }

// String returns the name that the JSON form uses, such as "f32".
func (d DType) String() string {
	if info, ok := dtypes[d]; ok {
		return info.name
	}
	return "?"
}

// ParseDType returns the type with this name.
func ParseDType(name string) (DType, bool) {
	for d, info := range dtypes {
		if info.name == name {
			return d, true
		}
	}
	return 0, false
}
