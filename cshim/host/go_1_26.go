//go:build go1.26 && !go1.27

package host

// #cgo CFLAGS: -DTLC_GO_1_26
import "C"
