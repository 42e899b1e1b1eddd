// Package layout is the Go view of the memory that the two paths share: object
// records, span words, contexts, scope entries, tables. Headers of cshim
// declare it, base/layout.h most; tools/gen writes generated_*.go from them. By hand stands what follows from
// the layout: size classes and the arithmetic of the packed words.
//
// All of it lives outside the Go heap. Addresses are uintptr and become
// pointers only in At.
package layout

// Values of SparseHeader.Format: tl_sparse_format of the public header.
const (
	SparseCSR = 0
	SparseCSC = 1
)
