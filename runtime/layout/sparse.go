package layout

// SparseMark makes SparseHeader.Mark of the matrix at p: p ^ SparseMark.
const SparseMark = 0x51A25E0B10C4D3E7

// SparseHeader.Format.
const (
	SparseCSR = 0
	SparseCSC = 1
)

// SparseHeader starts a sparse matrix; Blocks of SparsePart follow it in the same
// object, or in that of Parent. It is written before anybody else has the matrix. A line is a row of a
// CSR matrix and a column of a CSC matrix; Minor is what its indices stay below.
type SparseHeader struct {
	Mark                           uint64
	Lines, Minor, Nonzeros, Blocks uint64
	Bytes                          uint64 // of the object and of the blocks as a whole
	Format, ValueDtype, IndexDtype uint8
	Spare                          uint8
	Flags                          uint32
	Parent                         uintptr // the matrix whose table this one shows, held by count; 0: it has its own
}

// SparsePart is what a matrix uses of a block.
//
//	FirstLine and FirstElement ascend, from 0
//	line i of the matrix has the elements Offsets[i - FirstLine] to Offsets[i - FirstLine + 1] of the block
//	the part has the elements Begin to Begin + (FirstElement of the next part, or Nonzeros) - FirstElement
//
// The last equation was checked when the part was made. The one before it is of memory
// that a program may write: a line that leaves the elements of its part is refused.
type SparsePart struct {
	FirstLine, FirstElement, Begin, Bytes uint64
	Holder                                uintptr // the tensor that has the memory, held by count
	Values, Indices                       uintptr // of the block as a whole
	Offsets                               uintptr // of FirstLine and on
}

// Sizes of the two.
const (
	SparseHeaderBytes = 64
	SparsePartBytes   = 64
)
