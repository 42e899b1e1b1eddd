//go:build !linux

package memory

import (
	"sync/atomic"
	"time"
)

// WaitWhileZero returns when the word is not zero: nobody wakes it here.
func WaitWhileZero(word *uint32) {
	for atomic.LoadUint32(word) == 0 {
		time.Sleep(200 * time.Millisecond)
	}
}

// Wake does nothing: who waits looks again.
func Wake(*uint32) {}
