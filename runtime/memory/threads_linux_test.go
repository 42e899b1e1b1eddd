package memory

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A thread that is woken while somebody looks, and sleeps again, has not stood still.
func TestStandsStill(t *testing.T) {
	if Instrumented {
		t.Skip("the clock does nothing")
	}
	var pipe [2]int
	require.NoError(t, unix.Pipe2(pipe[:], unix.O_CLOEXEC))
	number, awake := make(chan uint32), make(chan bool)
	go func() {
		runtime.LockOSThread()
		number <- uint32(unix.Gettid())
		for one := make([]byte, 1); ; {
			if n, _ := unix.Read(pipe[0], one); n != 1 {
				close(awake)
				return
			}
			awake <- true
		}
	}()
	thread := <-number
	if switchesOf(thread) == nil {
		t.Skip("/proc does not tell")
	}
	for !StandsStill(thread, func() {}) { // it may not sleep yet
	}
	for range 100 {
		require.False(t, StandsStill(thread, func() {
			_, _ = unix.Write(pipe[1], []byte{1})
			<-awake
		}))
	}
	unix.Close(pipe[1])
	<-awake
	require.False(t, StandsStill(1<<31, func() {}))
	unix.Close(pipe[0])
}
