package source

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCodeOfAJITCompilerHasNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perf.map")
	text := "7f0000001000 20 grow\n0x7f0000001020 10 pool::shrink(int) const\nnonsense\n7f0000003000 zz bad size\n" +
		"7f0000001000 18 grow again\n7f0000005000 8 \nffffffffffffff00 40 at the end\n"
	for i := range 1000 {
		text += fmt.Sprintf("%x 10 f%d\n", 0x10000+i*16, i)
	}
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	m := PerfMap{Path: path}
	for address, name := range map[uint64]string{
		0x7f0000001000: "grow again", 0x7f0000001017: "grow again", 0x7f0000001018: "grow", 0x7f000000101f: "grow",
		0x7f0000001020: "pool::shrink(int) const", 0x7f000000102f: "pool::shrink(int) const", 0x7f0000001030: "",
		0x7f0000000fff: "", 0x7f0000003000: "", 0x7f0000005000: "", 0x10000: "f0", 0x10000 + 999*16 + 15: "f999",
		0x10000 + 1000*16: "", 0: "", 0xffffffffffffff3f: "at the end", ^uint64(0): "",
	} {
		assert.Equal(t, name, m.Function(address), "%#x", address)
	}
	require.NoError(t, os.WriteFile(path, []byte(text+"10 10 made later\n"), 0o600))
	assert.Equal(t, "made later", m.Function(0x18))
	m.Forget()
	assert.Equal(t, "made later", m.Function(0x18))
}

// TestPerfMapsOfOthersAreNotRead: anybody may make a file, a link or a pipe of that name.
func TestPerfMapsOfOthersAreNotRead(t *testing.T) {
	folder := t.TempDir()
	file, link, pipe := filepath.Join(folder, "file"), filepath.Join(folder, "link"), filepath.Join(folder, "pipe")
	require.NoError(t, os.WriteFile(file, []byte(strings.Repeat("10 10 f\n", 3)), 0o600))
	require.NoError(t, os.Symlink(file, link))
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for path, want := range map[string]string{file: "f", link: "", pipe: "", folder: "", filepath.Join(folder, "none"): ""} {
		m := PerfMap{Path: path}
		assert.Equal(t, want, m.Function(0x18), path)
	}
	late := PerfMap{Path: file, Until: time.Now().Add(-time.Hour)}
	assert.Empty(t, late.Function(0x18), "it was changed after the process had ended")
	own := PerfMapOf(1)
	assert.Equal(t, "/tmp/perf-1.map", own.Path)
}
