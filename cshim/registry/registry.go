// Package registry is what is done with the table of foreign memory: see operations.h, where each function is
// explained. runtime/registry calls it with the memory that it has mapped; the fast path of package cshim inlines what
// is common of it. It refers to no other C. The newest table that was attached is the process's only one.
package registry

// #cgo CFLAGS: -std=gnu11 -Wall -Wextra -fvisibility=hidden -fexceptions -fno-plt
import "C"
