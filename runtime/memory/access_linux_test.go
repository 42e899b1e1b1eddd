package memory

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// ways are the kernels and machines that the list of mappings is asked on.
var ways = map[string]func(){
	"queries": func() {},
	"list":    func() { queryMapping = 0 },
	"hidden":  func() { mappingsFile = "/nonexistent-folder/maps" },
}

// everyWay runs a test with and without queries, and without a list.
func everyWay(t *testing.T, body func(t *testing.T)) {
	for name, set := range ways {
		t.Run(name, func(t *testing.T) {
			request, file := queryMapping, mappingsFile
			defer func() { queryMapping, mappingsFile = request, file }()
			set()
			body(t)
		})
	}
}

const testPages = 2 * manyPages

// mapPages returns pages that each begin with a byte of their own.
func mapPages(t *testing.T) (start uintptr, bytes []byte) {
	bytes, err := unix.Mmap(-1, 0, testPages*PageBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(bytes)) })
	for i := range testPages {
		bytes[i*PageBytes] = byte(i)
	}
	return uintptr(unsafe.Pointer(&bytes[0])), bytes
}

func protect(t *testing.T, bytes []byte, page, count, protection int) {
	require.NoError(t, unix.Mprotect(bytes[page*PageBytes:(page+count)*PageBytes], protection))
}

// requireUsable holds Usable to what it is for reading and for writing.
func requireUsable(t *testing.T, start, bytes uintptr, read, write bool) {
	t.Helper()
	for _, r := range []Range{{start, bytes, false}, {start, bytes, true}} {
		at, ok := Usable(r)
		require.Equal(t, map[bool]bool{false: read, true: write}[r.Write], ok, "%+v: %#x", r, at)
		if !ok {
			require.GreaterOrEqual(t, at, start)
			require.Less(t, at, start+bytes)
		}
	}
}

func TestMemoryIsUsable(t *testing.T) {
	everyWay(t, func(t *testing.T) {
		start, bytes := mapPages(t)
		before := slices.Clone(bytes)
		for _, n := range []uintptr{1, 7, PageBytes, 5*PageBytes + 1, testPages * PageBytes} {
			requireUsable(t, start, n, true, true)
			requireUsable(t, start+testPages*PageBytes-n, n, true, true)
		}
		require.Equal(t, before, bytes)
		_, ok := Usable(Range{start, 64, false}, Range{start + 64, testPages*PageBytes - 64, true})
		require.True(t, ok)
	})
}

// TestProtectedPagesInTheMiddle has one page that cannot be written, then not read either,
// in ranges of every size around it.
func TestProtectedPagesInTheMiddle(t *testing.T) {
	everyWay(t, func(t *testing.T) {
		start, bytes := mapPages(t)
		for _, page := range []int{0, 3, testPages / 2, testPages - 1} {
			for protection, readable := range map[int]bool{unix.PROT_READ: true, unix.PROT_NONE: false} {
				protect(t, bytes, page, 1, protection)
				for _, around := range []int{0, 1, 3, testPages} {
					first, last := max(page-around, 0), min(page+around+1, testPages)
					requireUsable(t, start+uintptr(first)*PageBytes, uintptr(last-first)*PageBytes, readable, false)
				}
				if page > 0 {
					requireUsable(t, start, uintptr(page)*PageBytes, true, true)
					requireUsable(t, start, uintptr(page)*PageBytes+1, readable, false)
				}
				protect(t, bytes, page, 1, unix.PROT_READ|unix.PROT_WRITE)
			}
		}
		at, _ := Usable(Range{start, 64, true}, Range{start, uintptr(1) << 45, false})
		require.GreaterOrEqual(t, at, start+testPages*PageBytes)
	})
}

// TestNoMemory has holes, lengths that reach far beyond what is mapped, and addresses
// that no process has.
func TestNoMemory(t *testing.T) {
	everyWay(t, func(t *testing.T) {
		start, bytes := mapPages(t)
		protect(t, bytes, testPages-1, 1, unix.PROT_NONE) // what lies behind it may be mapped
		requireUsable(t, start, 1<<45, false, false)
		requireUsable(t, start, 1<<56, false, false)
		hole, err := unix.MmapPtr(-1, 0, nil, 64*PageBytes, unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_PRIVATE|unix.MAP_ANON)
		require.NoError(t, err)
		from := uintptr(hole)
		require.NoError(t, unix.MunmapPtr(unsafe.Add(hole, 40*PageBytes), PageBytes))
		requireUsable(t, from, 64*PageBytes, false, false)
		requireUsable(t, from+39*PageBytes, 2*PageBytes, false, false)
		requireUsable(t, from, 40*PageBytes, true, true)
		at, _ := Usable(Range{from, 64 * PageBytes, true})
		require.Equal(t, from+40*PageBytes, at)
		require.NoError(t, unix.MunmapPtr(hole, 64*PageBytes))
		for _, nowhere := range []uintptr{1 << 16, 1 << 20, 0x4080_0000_0000_0000, 0xFF00_0000_0000_0000,
			^uintptr(0) - 1<<20} {
			requireUsable(t, nowhere, 8, false, false)
			requireUsable(t, nowhere, 1<<19, false, false)
		}
	})
}

// TestBehindTheEndOfAFile has a mapping whose pages behind the file's end are no memory.
func TestBehindTheEndOfAFile(t *testing.T) {
	everyWay(t, func(t *testing.T) {
		f, err := os.Create(filepath.Join(t.TempDir(), "file"))
		require.NoError(t, err)
		defer f.Close()
		require.NoError(t, f.Truncate(100*PageBytes-5))
		bytes, err := unix.Mmap(int(f.Fd()), 0, testPages*PageBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		require.NoError(t, err)
		defer func() { require.NoError(t, unix.Munmap(bytes)) }()
		start := uintptr(unsafe.Pointer(&bytes[0]))
		requireUsable(t, start, 100*PageBytes, true, true)
		requireUsable(t, start, 100*PageBytes+1, false, false)
		requireUsable(t, start, testPages*PageBytes, false, false)
		requireUsable(t, start+99*PageBytes, 2*PageBytes, false, false)
	})
}

// TestUsableIsWhatEveryPageSays compares ranges over random protections with their pages.
func TestUsableIsWhatEveryPageSays(t *testing.T) {
	everyWay(t, func(t *testing.T) {
		start, bytes := mapPages(t)
		random := rand.New(rand.NewPCG(1, 2))
		protections := []int{unix.PROT_NONE, unix.PROT_READ, unix.PROT_READ | unix.PROT_WRITE}
		of := slices.Repeat(protections[2:], testPages)
		for range 1000 {
			page, protection := random.IntN(testPages), protections[min(random.IntN(6), 2)]
			count := 1 + random.IntN(min(40, testPages-page))
			protect(t, bytes, page, count, protection)
			for i := range count {
				of[page+i] = protection
			}
			first := random.IntN(testPages)
			last := first + random.IntN(min(60, testPages-first))
			covered := of[first : last+1]
			read, write := !slices.Contains(covered, unix.PROT_NONE), !slices.ContainsFunc(covered, func(p int) bool {
				return p&unix.PROT_WRITE == 0
			})
			requireUsable(t, start+uintptr(first)*PageBytes+9, uintptr(last-first)*PageBytes+1, read, write)
		}
	})
}

// BenchmarkUsable is what a copy pays for the question, from one block to another.
func BenchmarkUsable(b *testing.B) {
	for name, n := range map[string]uintptr{"4KiB": 4 << 10, "1MiB": 1 << 20, "100MiB": 100 << 20} {
		for way, set := range ways {
			b.Run(name+"/"+way, func(b *testing.B) {
				request, file := queryMapping, mappingsFile
				defer func() { queryMapping, mappingsFile = request, file }()
				set()
				bytes, err := unix.Mmap(-1, 0, int(2*n), unix.PROT_READ|unix.PROT_WRITE,
					unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_POPULATE)
				require.NoError(b, err)
				defer unix.Munmap(bytes)
				start := uintptr(unsafe.Pointer(&bytes[0]))
				for b.Loop() {
					if _, ok := Usable(Range{start, n, true}, Range{start + n, n, false}); !ok {
						b.Fatal("not usable")
					}
				}
			})
		}
	}
}
