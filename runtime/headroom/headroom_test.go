package headroom

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

// A stack that has the room is not moved while as much of it is used.
func TestTheStackStaysWhereItIs(t *testing.T) {
	done := make(chan bool)
	go func() {
		Reserve()
		var here byte
		before := uintptr(unsafe.Pointer(&here))
		use(Bytes - 8<<10)
		done <- before == uintptr(unsafe.Pointer(&here))
	}()
	assert.True(t, <-done)
}

// Without it, the same use moves the stack: else the test above says nothing.
func TestAFreshStackIsMoved(t *testing.T) {
	done := make(chan bool)
	go func() {
		var here byte
		before := uintptr(unsafe.Pointer(&here))
		use(Bytes - 8<<10)
		done <- before != uintptr(unsafe.Pointer(&here))
	}()
	assert.True(t, <-done)
}

// use takes bytes of stack.
//
//go:noinline
func use(bytes int) byte {
	var part [1024]byte
	part[bytes%len(part)] = 1
	if bytes <= 2*len(part) {
		runtime.KeepAlive(&part)
		return part[0]
	}
	return use(bytes-len(part)-128) + part[1]
}
