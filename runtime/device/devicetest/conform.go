package devicetest

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/device"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/status"
)

// counter is an allocator that tells what is given out, as every one with a Ledger
// does.
type counter interface {
	Outstanding() (blocks int, bytes uintptr)
}

// Conform runs the suite that every allocator passes; what it offers beyond
// device.Allocator is tested too. Nobody else may use it meanwhile.
func Conform(t *testing.T, a device.Allocator) {
	if c, ok := a.(counter); ok {
		blocks, bytes := c.Outstanding()
		defer func() {
			nowBlocks, nowBytes := c.Outstanding()
			require.Equal(t, blocks, nowBlocks, "blocks outstanding at the end")
			require.Equal(t, bytes, nowBytes, "bytes outstanding at the end")
		}()
	}
	t.Run("Names", func(t *testing.T) { names(t, a) })
	t.Run("Sizes", func(t *testing.T) { sizes(t, a) })
	t.Run("Refusals", func(t *testing.T) { refusals(t, a) })
	t.Run("WrongReturns", func(t *testing.T) { wrongReturns(t, a) })
	t.Run("Threads", func(t *testing.T) { threads(t, a) })
	if d, ok := a.(device.Device); ok {
		t.Run("Info", func(t *testing.T) { info(t, d) })
		t.Run("Copies", func(t *testing.T) { copies(t, d) })
		t.Run("HostAccess", func(t *testing.T) { hostAccess(t, d) })
	}
	if p, ok := a.(device.Pinner); ok {
		t.Run("Pinned", func(t *testing.T) { pinned(t, p) })
	}
	if s, ok := a.(device.Streams); ok {
		t.Run("Streams", func(t *testing.T) { streams(t, s, a.(device.Device)) })
	}
}

// take allocates or ends the test.
func take(t *testing.T, a device.Allocator, n uintptr) uintptr {
	t.Helper()
	block, err := a.Allocate(n)
	require.NoError(t, err)
	require.NotZero(t, block)
	return block
}

// refused holds an error to a status, and to a text that says something.
func refused(t *testing.T, err error, st status.Status) {
	t.Helper()
	var e *device.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, st, e.Status, e.Text)
	require.Greater(t, len(e.Text), 10)
}

func names(t *testing.T, a device.Allocator) {
	require.NotEmpty(t, a.Name())
	require.Equal(t, a.Name(), a.Name())
	alignment := a.Alignment()
	require.NotZero(t, alignment)
	require.Zero(t, alignment&(alignment-1), "alignment %d is a power of two", alignment)
	require.GreaterOrEqual(t, alignment, uintptr(64))
}

// sizes holds blocks to their alignment and apart from each other, and returns them
// in another order than they came.
func sizes(t *testing.T, a device.Allocator) {
	type block struct{ start, n uintptr }
	var all []block
	for _, n := range []uintptr{1, 63, 64, 65, 4095, 4096, 4097, 100_000, 1<<20 + 1, 3 << 20} {
		start := take(t, a, n)
		require.Zero(t, start%a.Alignment(), "a block of %d bytes at %#x", n, start)
		all = append(all, block{start, n})
	}
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(x, y block) int { return int(int64(x.start) - int64(y.start)) })
	for i := 1; i < len(sorted); i++ {
		require.LessOrEqual(t, sorted[i-1].start+sorted[i-1].n, sorted[i].start, "blocks overlap")
	}
	for _, i := range []int{3, 0, 9, 1, 7, 5, 8, 2, 6, 4} {
		require.NoError(t, a.Deallocate(all[i].start, all[i].n))
	}
}

func refusals(t *testing.T, a device.Allocator) {
	_, err := a.Allocate(0)
	refused(t, err, status.InvalidArgument)
	for _, n := range []uintptr{1 << 55, 1 << 62, ^uintptr(0)} {
		_, err = a.Allocate(n)
		refused(t, err, status.OutOfMemory)
	}
	block := take(t, a, 128) // a refusal leaves it usable
	require.NoError(t, a.Deallocate(block, 128))
}

func wrongReturns(t *testing.T, a device.Allocator) {
	block, twice := take(t, a, 4096), take(t, a, 4096)
	local := 0
	for _, p := range []uintptr{0, 1, 4096, layout.Address(&local), ^uintptr(0)} {
		refused(t, a.Deallocate(p, 4096), status.UnknownPointer)
	}
	refused(t, a.Deallocate(block+64, 4096), status.InteriorPointer)
	refused(t, a.Deallocate(block, 4095), status.InvalidArgument)
	require.NoError(t, a.Deallocate(twice, 4096))
	refused(t, a.Deallocate(twice, 4096), status.UnknownPointer)
	require.NoError(t, a.Deallocate(block, 4096)) // still there, still whole
}

// threads has many threads allocate at once and holds their blocks apart.
func threads(t *testing.T, a device.Allocator) {
	const workers, rounds = 8, 20
	var mu sync.Mutex // guards owner
	owner := map[uintptr]int{}
	var group sync.WaitGroup
	failures := make(chan error, workers)
	for w := range workers {
		group.Go(func() {
			for i := range rounds {
				n := uintptr(1 + (w*7919+i*104729)%20000)
				block, err := a.Allocate(n)
				if err != nil {
					failures <- err
					return
				}
				mu.Lock()
				other, taken := owner[block]
				owner[block] = w
				mu.Unlock()
				if taken {
					failures <- device.Errorf(status.Internal, "%#x was given to %d and %d", block, other, w)
				}
				mu.Lock()
				delete(owner, block)
				mu.Unlock()
				if err := a.Deallocate(block, n); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
}
