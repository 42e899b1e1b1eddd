package object

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

func needBarriers(t *testing.T) {
	if memory.Instrumented || !process.heap.MayPassBarriers() {
		t.Skip("no barrier that all threads pass")
	}
}

// A context allocates and frees while its magazines are emptied again and again. newContext's checks find a slot
// that is lost or in two places.
func TestMagazinesAreTakenWhileTheyAreUsed(t *testing.T) {
	c := newContext(t)
	needBarriers(t)
	const live, steps = 300, 100000
	var over sync.WaitGroup
	over.Go(func() {
		random := rand.New(rand.NewPCG(1, 2))
		var objects [live]uintptr
		for range steps {
			i := random.IntN(live)
			if p := objects[i]; p != 0 {
				require.EqualValues(t, p, *layout.At[uintptr](p))
				require.Equal(t, status.OK, c.Release(p))
				objects[i] = 0
				continue
			}
			objects[i] = c.Alloc(uintptr(8 << random.IntN(8)))
			*layout.At[uintptr](objects[i]) = objects[i]
		}
		for _, p := range objects {
			if p != 0 {
				require.Equal(t, status.OK, c.Release(p))
			}
		}
	})
	used := make(chan struct{})
	go func() { over.Wait(); close(used) }()
	for taken := 0; ; taken++ {
		process.resting.mu.Lock()
		process.heap.TakeMagazines(&c.Context)
		process.resting.mu.Unlock()
		select {
		case <-used:
			require.NotZero(t, taken)
			return
		default:
		}
	}
}

// sleeper is a thread with a context, whose objects another one releases while it sleeps.
type sleeper struct {
	c       *Context
	objects []uintptr
	pipe    [2]int
	ended   chan struct{}
}

func newSleeper(t *testing.T, objects int) *sleeper {
	s := &sleeper{c: newContext(t), ended: make(chan struct{})}
	require.NoError(t, unix.Pipe2(s.pipe[:], unix.O_CLOEXEC))
	ready := make(chan struct{})
	go func() {
		defer close(s.ended)
		runtime.LockOSThread()
		s.c.ThreadNumber = uint32(unix.Gettid())
		for range objects {
			p := s.c.Alloc(96)
			s.objects = append(s.objects, p)
		}
		close(ready)
		_, _ = unix.Read(s.pipe[0], make([]byte, 1))
	}()
	<-ready
	return s
}

func (s *sleeper) wake() {
	_, _ = unix.Write(s.pipe[1], []byte{1})
	<-s.ended
	unix.Close(s.pipe[0])
	unix.Close(s.pipe[1])
	s.c.Poll()
}

func endWhatWaitsOf(c *Context) {
	process.resting.mu.Lock()
	defer process.resting.mu.Unlock()
	endWhatWaits([]*Context{c})
}

// What the sleeper refers to itself stays, and what has a type.
func TestWhatWaitsForASleeperIsFreed(t *testing.T) {
	const objects = 10000
	other := newContext(t)
	needBarriers(t)
	s := newSleeper(t, objects)
	kept := s.objects[1]
	require.Equal(t, status.OK, other.Acquire(kept))
	for _, p := range s.objects {
		require.Equal(t, status.OK, other.Release(p))
	}
	require.EqualValues(t, objects-1, ReadStats().WaitingObjects)
	for ReadStats().WaitingObjects != 0 { // it may not sleep yet
		endWhatWaitsOf(s.c)
	}
	require.EqualValues(t, 1, ReadStats().LiveObjects)
	require.NoError(t, Check(nil))
	require.Equal(t, status.OK, other.Release(kept))
	s.wake()
	require.Zero(t, ReadStats().LiveObjects)
}

// Nodes that are spare serve again, those on pages of their own and the others.
func TestNodesAreTrimmed(t *testing.T) {
	if memory.Instrumented {
		t.Skip("there are fewer nodes")
	}
	c, other := newContext(t), newContext(t)
	for range 3 {
		var objects []uintptr
		for range 50000 {
			p := c.Alloc(32)
			objects = append(objects, p)
		}
		for _, p := range objects {
			require.Equal(t, status.OK, other.Release(p))
		}
		require.Greater(t, process.nodes.bytes(), uint64(nodesKept))
		c.Poll()
		process.nodes.trim()
		require.Less(t, process.nodes.bytes(), uint64(nodesKept))
		require.NoError(t, Check(nil))
	}
}
