package cpu_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/device"
	"tlruntime/runtime/device/cpu"
	"tlruntime/runtime/device/devicetest"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

func always() bool { return true }
func never() bool  { return false }

func TestConformCPU(t *testing.T) { devicetest.Conform(t, cpu.New(never)) }

func TestConformHugePages(t *testing.T) { devicetest.Conform(t, cpu.New(always)) }

func TestBlocksAreZeroAtFirst(t *testing.T) {
	d := cpu.New(never)
	block, err := d.Allocate(100_000)
	require.NoError(t, err)
	require.Equal(t, make([]byte, 100_000), layout.Bytes(block, 100_000))
	require.NoError(t, d.Deallocate(block, 100_000))
}

func TestMoreThanTheMachineHas(t *testing.T) {
	_, err := cpu.New(never).Allocate(uintptr(memory.Physical()) + 1)
	require.Equal(t, status.OutOfMemory, device.StatusOf(err))
	require.ErrorContains(t, err, "the machine has")
}

// Every call to the system is refused once; nothing stays behind.
func TestSystemRefusesMemory(t *testing.T) {
	for _, huge := range []func() bool{always, never} {
		d := cpu.New(huge)
		memory.FailAfter(0)
		_, err := d.Allocate(4 << 20)
		memory.FailAfter(-1)
		require.Equal(t, status.OutOfMemory, device.StatusOf(err))
		blocks, _ := d.Outstanding()
		require.Zero(t, blocks)
	}
}

// hugeAdvice returns whether the mapping around p is marked for huge pages (hg).
func hugeAdvice(t *testing.T, p uintptr) bool {
	text, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	inside := false
	for line := range strings.Lines(string(text)) {
		from, rest, _ := strings.Cut(line, "-")
		if low, err := strconv.ParseUint(from, 16, 64); err == nil {
			high, _ := strconv.ParseUint(strings.Fields(rest)[0], 16, 64)
			inside = uint64(p) >= low && uint64(p) < high
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && inside {
			return strings.Contains(flags, " hg")
		}
	}
	return false
}

func TestHugePages(t *testing.T) {
	if memory.Instrumented {
		t.Skip("skip: under the race detector memory comes from one slab")
	}
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("skip: this kernel has no transparent huge pages")
	}
	for _, c := range []struct {
		huge   func() bool
		bytes  uintptr
		marked bool
	}{{always, 6<<20 + 4097, true}, {always, memory.HugePageBytes, true}, {always, 1 << 20, false},
		{never, 8 << 20, false}} {
		d := cpu.New(c.huge)
		block, err := d.Allocate(c.bytes)
		require.NoError(t, err)
		require.Equal(t, c.marked, hugeAdvice(t, block), "%d bytes", c.bytes)
		if c.marked {
			require.Zero(t, block%memory.HugePageBytes)
		}
		layout.Bytes(block, uint64(c.bytes))[c.bytes-1] = 1
		require.NoError(t, d.Deallocate(block, c.bytes))
	}
}

// mapped returns the address space of the process.
func mapped(t *testing.T) uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	pages, err := strconv.ParseUint(strings.Fields(string(text))[0], 10, 64)
	require.NoError(t, err)
	return pages * uint64(os.Getpagesize())
}

// What lies around a block on huge pages goes back as well: about 2 MiB each time.
func TestHugePagesReturnTheirSurroundings(t *testing.T) {
	if memory.Instrumented {
		t.Skip("skip: under the race detector memory comes from one slab")
	}
	d := cpu.New(always)
	before, purposes := mapped(t), memory.Purposes()
	for i := range uintptr(400) {
		n := 2<<20 + i*4096*7 + i
		block, err := d.Allocate(n)
		require.NoError(t, err)
		require.NoError(t, d.Deallocate(block, n))
	}
	require.Equal(t, purposes, memory.Purposes())
	require.Less(t, mapped(t), before+200<<20)
}

func TestCopyOfNoMemory(t *testing.T) {
	d := cpu.New(never)
	block, err := d.Allocate(8192)
	require.NoError(t, err)
	page := uintptr(1 << 20) // below every mapping of a Go program
	for _, wrong := range [][3]uintptr{{block, page, 64}, {page, block, 64}, {block, 0xFF00_0000_0000_0000, 64},
		{block, block, 1 << 44}} {
		err := device.Copy(d, wrong[0], d, wrong[1], wrong[2])
		require.Equal(t, status.InvalidArgument, device.StatusOf(err), "%v", err)
	}
	require.Equal(t, status.InvalidArgument, device.StatusOf(device.Fill(d, page, 1, 64)))
	require.NoError(t, d.Deallocate(block, 8192))
}

func BenchmarkAllocateDeallocate(b *testing.B) {
	devicetest.Benchmark(b, cpu.New(never))
}
