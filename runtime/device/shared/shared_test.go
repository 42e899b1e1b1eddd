package shared_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/device"
	"tlruntime/runtime/device/devicetest"
	"tlruntime/runtime/device/shared"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

func TestConformShared(t *testing.T) { devicetest.Conform(t, shared.New()) }

func descriptors(t *testing.T) int {
	all, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(all)
}

// allocate returns a block that goes back at the end of the test, with a number in each byte.
func allocate(t *testing.T, d *shared.Device, n uintptr) uintptr {
	block, err := d.Allocate(n)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Deallocate(block, n)) })
	for i := range n {
		*layout.At[byte](block + i) = byte(i / 7)
	}
	return block
}

// A part of a block is mapped a second time, from the page on that has its first byte.
func TestPartsAreOpened(t *testing.T) {
	before := descriptors(t)
	t.Cleanup(func() { require.Equal(t, before, descriptors(t)) })
	d, other := shared.New(), shared.New()
	block := allocate(t, d, 100_000)
	for _, at := range []uintptr{0, 1, 4095, 4096, 70_000} {
		part, err := d.Share(block+at, false)
		require.NoError(t, err)
		require.Equal(t, uint64(at), part.Offset)
		m, err := other.Open(part, 20_000)
		require.NoError(t, err)
		memory.CloseFile(part.File)
		require.Equal(t, layout.Bytes(block+at, 20_000), layout.Bytes(m.At, 20_000))
		onward, err := other.Share(m.At+5, false)
		require.NoError(t, err)
		require.Equal(t, uint64(at+5), onward.Offset)
		memory.CloseFile(onward.File)
		require.Equal(t, uint64(at+5), other.Where(m.At+5).Offset)
		*layout.At[byte](m.At)++
		require.Equal(t, *layout.At[byte](block + at), *layout.At[byte](m.At))
		require.NoError(t, other.Deallocate(m.Block, m.Bytes))
	}
	blocks, bytes := other.Outstanding()
	require.Zero(t, blocks)
	require.Zero(t, bytes)
}

func TestReadOnlyIsForGood(t *testing.T) {
	d := shared.New()
	block := allocate(t, d, 8192)
	for _, readOnly := range []bool{false, true, false} {
		part, err := d.Share(block, readOnly)
		require.NoError(t, err)
		m, err := d.Open(device.Part{File: part.File}, 8192)
		require.NoError(t, err)
		require.Equal(t, part.ReadOnly, m.ReadOnly)
		memory.CloseFile(part.File)
		require.NoError(t, d.Deallocate(m.Block, m.Bytes))
	}
	part, err := d.Share(block, false)
	require.NoError(t, err)
	require.True(t, part.ReadOnly)
	memory.CloseFile(part.File)
}

func TestForeignDescriptorsAreRefused(t *testing.T) {
	d := shared.New()
	file, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, file.Truncate(4096))
	for _, n := range []int{-1, 1 << 20, int(file.Fd())} {
		_, err := d.Open(device.Part{File: n}, 1)
		require.Equal(t, status.InvalidArgument, device.StatusOf(err))
	}
	part, err := d.Share(allocate(t, d, 100), false)
	require.NoError(t, err)
	defer memory.CloseFile(part.File)
	page := uint64(memory.SharedPages(1))
	for _, wrong := range []struct {
		offset uint64
		n      uintptr
	}{{0, uintptr(page) + 1}, {page, 1}, {page + 1, 0}, {1 << 63, 1}, {^uint64(0), 2}, {0, ^uintptr(0)}} {
		_, err := d.Open(device.Part{File: part.File, Offset: wrong.offset}, wrong.n)
		require.Equal(t, status.InvalidArgument, device.StatusOf(err), "%+v", wrong)
	}
	_, err = d.Share(12345678, false)
	require.Equal(t, status.UnknownPointer, device.StatusOf(err))
}

// Every call to the system is refused once; nothing stays behind.
func TestTheSystemRefuses(t *testing.T) {
	d := shared.New()
	part, err := d.Share(allocate(t, d, 100), false)
	require.NoError(t, err)
	defer memory.CloseFile(part.File)
	before, held := descriptors(t), memory.Purposes()["shared blocks"]
	for calls := range int64(2) {
		memory.FailAfter(calls)
		_, inAllocate := d.Allocate(100)
		memory.FailAfter(calls)
		_, inOpen := d.Open(part, 100)
		memory.FailAfter(0)
		_, inShare := d.ShareNothing()
		memory.FailAfter(-1)
		require.Equal(t, status.OutOfMemory, device.StatusOf(inAllocate))
		require.Contains(t, []status.Status{status.OutOfMemory, status.Limit}, device.StatusOf(inOpen))
		require.Equal(t, status.OutOfMemory, device.StatusOf(inShare))
	}
	require.Equal(t, before, descriptors(t))
	require.Equal(t, held, memory.Purposes()["shared blocks"])
	_, err = d.Allocate(uintptr(memory.Physical()) + 1)
	require.ErrorContains(t, err, "the machine has")
}
