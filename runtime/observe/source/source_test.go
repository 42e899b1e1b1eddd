package source

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// program is C++ with what compilers do to names: a member that is declared in its class,
// a function inlined twice deep, and one that is both inlined and called.
const program = `struct Layer { int w; int grow(int n); };
int sink;
static inline __attribute__((always_inline)) int innermost(int n) {
	sink += n;
	return sink;
}
static inline __attribute__((always_inline)) int middle(int n) {
	return innermost(n) + 1;
}
__attribute__((noinline)) int Layer::grow(int n) {
	return w = middle(n) * 3;
}
int main(int argc, char **argv) {
	Layer l;
	return l.grow(argc);
}
`

// compiled builds the program and returns its path.
func compiled(t *testing.T, options ...string) string {
	for _, name := range []string{"c++", "addr2line", "nm"} {
		if _, err := exec.LookPath(name); err != nil {
			fmt.Printf("skip: %s: no %s\n", t.Name(), name)
			t.Skip("no " + name)
		}
	}
	folder := t.TempDir()
	from, to := filepath.Join(folder, "program.cpp"), filepath.Join(folder, "program")
	require.NoError(t, os.WriteFile(from, []byte(program), 0o600))
	out, err := exec.Command("c++", append(options, "-o", to, from)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return to
}

// symbol returns the addresses of a function by nm.
func symbol(t *testing.T, path, name string) (low, high uint64) {
	out, err := exec.Command("nm", "-S", path).Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) == 4 && f[3] == name {
			low, err = strconv.ParseUint(f[0], 16, 64)
			require.NoError(t, err)
			bytes, err := strconv.ParseUint(f[1], 16, 64)
			require.NoError(t, err)
			return low, low + bytes
		}
	}
	t.Fatalf("nm does not list %s:\n%s", name, out)
	return 0, 0
}

// byAddr2line is what binutils tell of an address.
func byAddr2line(t *testing.T, path string, address uint64) (all []Frame) {
	out, err := exec.Command("addr2line", "-f", "-i", "-e", path, fmt.Sprintf("%#x", address)).Output()
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		place, _, _ := strings.Cut(lines[i+1], " (")
		file, line, _ := strings.Cut(place, ":")
		n, _ := strconv.Atoi(line)
		all = append(all, Frame{lines[i], file, n})
	}
	return all
}

// TestAsAddr2line compares lines of every address of two functions, with several versions
// of the format. Names are those of the source: addr2line takes some from symbols.
func TestAsAddr2line(t *testing.T) {
	for _, format := range []string{"-gdwarf-3", "-gdwarf-4", "-gdwarf-5"} {
		t.Run(format, func(t *testing.T) {
			path := compiled(t, "-O2", format)
			var files Files
			deepest := 0
			for _, name := range []string{"_ZN5Layer4growEi", "main"} {
				low, high := symbol(t, path, name)
				for address := low; address < high; address++ {
					got := files.Frames(path, address, name)
					want := byAddr2line(t, path, address)
					require.Equal(t, len(want), len(got), "%#x: %v, want %v", address, got, want)
					for i := range want {
						assert.Equal(t, want[i].File, got[i].File)
						assert.Equal(t, want[i].Line, got[i].Line, "%#x", address)
						inlined := []string{"innermost", "middle", name}[i+3-len(want)]
						assert.Contains(t, got[i].Function, inlined, "%#x", address)
					}
					deepest = max(deepest, len(got))
				}
			}
			assert.Equal(t, 3, deepest, "innermost in middle in grow")
			assert.NotNil(t, files.tables[path])
			files.Forget()
			assert.Nil(t, files.tables[path])
		})
	}
}

func TestFilesWithoutLines(t *testing.T) {
	var files Files
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte("no program"), 0o600))
	for _, path := range []string{"", text, filepath.Join(t.TempDir(), "none"), t.TempDir(), compiled(t, "-O2"),
		compiled(t, "-g", "-s")} {
		assert.Empty(t, files.Frames(path, 0x1000, ""), "%s", path)
		assert.Nil(t, files.tables[path])
	}
	path := compiled(t, "-g")
	for _, address := range []uint64{0, 1, 1 << 40, ^uint64(0)} {
		assert.Empty(t, files.Frames(path, address, ""), "%#x", address)
	}
}
