// Package include is the folder of the public headers, for Go that reads one of them.
package include

import _ "embed"

// LLVM declares the library for LLVM.
//
//go:embed tl_runtime.ll
var LLVM string
