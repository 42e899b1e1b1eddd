//go:build full

package cshim

// The full library has more functions.

// #cgo CFLAGS: -DTL_FULL
import "C"
