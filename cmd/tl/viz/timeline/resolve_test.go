package timeline

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/runtime/observe/source"
)

// compiled is a program of C++, and where its function pool::grow() is.
func compiled(t *testing.T) (path string, address uint64) {
	if _, err := exec.LookPath("c++"); err != nil {
		t.Skip("skip: no C++ compiler")
	}
	from, path := filepath.Join(t.TempDir(), "net.cpp"), filepath.Join(t.TempDir(), "net")
	require.NoError(t, os.WriteFile(from, []byte("struct pool { int grow(); };\nint pool::grow() { return 1; }\n"+
		"int main() { return pool().grow(); }\n"), 0o600))
	out, err := exec.Command("c++", "-g", "-O0", "-o", path, from).CombinedOutput()
	require.NoError(t, err, "%s", out)
	file, err := elf.Open(path)
	require.NoError(t, err)
	defer file.Close()
	symbols, err := file.Symbols()
	require.NoError(t, err)
	for _, s := range symbols {
		if s.Name == "_ZN4pool4growEv" {
			return path, s.Value
		}
	}
	t.Fatal("no symbol")
	return "", 0
}

func TestPlacesOfAKilledProcessAreResolved(t *testing.T) {
	program, pc := compiled(t)
	text := func(module, stamp string) string {
		s := &script{}
		s.event("stack", "M", 0, fmt.Sprintf(`,"args":{"site":3,"frames":[{"name":"net.py:7","file":"/u/net.py",`+
			`"line":7},{"module":%q,"offset":"%#x","stamp":%q},{"name":"0x7f00"}]}`, module, pc, stamp))
		s.alloc(1, heapAt, 100, "object", "tensor", 3)
		return `{"writer":"TL Runtime","version":1,"traceEvents":[` + strings.Join(s.events, ",") +
			`],"otherData":{"writer":"TL Runtime","complete":false,"dropped":0,"began":"2026-01-02T03:04:05Z"}}`
	}
	stack := func(module, stamp string) []string {
		trace, err := Read(strings.NewReader(text(module, stamp)))
		require.NoError(t, err)
		require.Len(t, trace.Stack(3), 3)
		return trace.Stack(3)
	}
	stamp := source.Stamp(program)
	named := stack(program, stamp)
	assert.Equal(t, []string{"/u/net.py:7", "0x7f00"}, []string{named[0], named[2]})
	assert.Regexp(t, `/net.cpp:2 pool::grow\(\)$`, named[1])
	place := fmt.Sprintf("+%#x", pc)
	assert.Equal(t, "net"+place, stack(program, "")[1], "it is not known which")
	assert.Equal(t, "gone.so"+place, stack("/nowhere/gone.so", stamp)[1])
	old := time.Unix(1577836800, 0)
	require.NoError(t, os.WriteFile(program, make([]byte, 100), 0o700))
	require.NoError(t, os.Chtimes(program, old, old))
	assert.Equal(t, "net"+place, stack(program, stamp)[1], "another file, which is older")
}
