package export

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/compiler/plan"
)

func header(t require.TestingT, p *plan.ExecutionPlan, prefix string) string {
	var b bytes.Buffer
	require.NoError(t, WriteHeader(&b, p, prefix))
	return b.String()
}

var define = regexp.MustCompile(`(?m)^#define (\S+) (\d+)$`)

// macros are the definitions in a header; a name that stands there twice fails.
func macros(t require.TestingT, text string) map[string]int64 {
	found := map[string]int64{}
	for _, m := range define.FindAllStringSubmatch(text, -1) {
		_, twice := found[m[1]]
		require.False(t, twice, "%s is defined twice", m[1])
		value, err := strconv.ParseInt(m[2], 10, 64)
		require.NoError(t, err)
		found[m[1]] = value
	}
	return found
}

func TestHeader(t *testing.T) {
	text := header(t, small(), "")
	assert.Equal(t, map[string]int64{
		"SMALL_NET_FRAME_BYTES": 128, "SMALL_NET_FRAME_ALIGNMENT": 64, "SMALL_NET_X_BYTES": 24,
		"SMALL_NET_H_0_OFFSET": 0, "SMALL_NET_H_0_BYTES": 24, "SMALL_NET_H_0_2_OFFSET": 64,
		"SMALL_NET_H_0_2_BYTES": 24, "SMALL_NET_Y_BYTES": 24, "SMALL_NET_W_BYTES": 24,
	}, macros(t, text))
	assert.Contains(t, text, `/* "h/0": activation, f32 [2 3], steps 0 to 1 */`)
	assert.Contains(t, text, "Frame: 128 B (no placement is smaller). A buffer for each value: 192 B.")
	assert.Contains(t, header(t, small(), "3 nets"), "#define MODEL_3_NETS_FRAME_BYTES 128")
	assert.ErrorContains(t, WriteHeader(&bytes.Buffer{}, nil, ""), "no plan")
	assert.ErrorContains(t, WriteHeader(broken{}, small(), ""), "disk full")
}

// hostile names collide with each other, with the frame, and with the names that a
// collision yields; others would end the comment, splice lines or open trigraphs.
var hostile = []string{
	"a", "A", "a_2", "a.2", "a_2_2", "frame", "FRAME", "frame_bytes", "frame bytes_", "", "_", "__", "é", "0", "00",
	"int",
	"bytes", "a_bytes", "a_offset", "x */ int", "/* y", `z\`, "q??/", "line\nbreak", "\x00", "\u202e", "bad\xff",
	strings.Repeat("long", 500), strings.Repeat("long", 501),
}

func hostilePlan(names []string) *plan.ExecutionPlan {
	p := small()
	p.Name = "*/ ??/ \\"
	kind := p.Buffers[1]
	p.Buffers = nil
	for i, name := range names {
		kind.Name, kind.Offset = name, int64(i)<<40
		p.Buffers = append(p.Buffers, kind)
	}
	return p
}

func TestHostileNamesHaveMacrosOfTheirOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.SampledFrom(hostile), rapid.String(), rapid.StringMatching(`[aA_2]{0,6}`))
		names := rapid.SliceOfN(name, 0, 60).Draw(t, "names")
		text := header(t, hostilePlan(names), "")
		found := macros(t, text)
		require.Len(t, found, 2+2*len(names))
		for macro := range found {
			require.Regexp(t, `^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$`, macro, "reserved, or no identifier")
		}
		require.Equal(t, strings.Count(text, "/*"), strings.Count(text, "*/"))
	})
}

// TestHeaderCompiles asks the compilers for the values too.
func TestHeaderCompiles(t *testing.T) {
	p := hostilePlan(append(hostile, hostile...))
	folder := t.TempDir()
	text := header(t, p, "")
	var program strings.Builder
	program.WriteString("#include \"frame.h\"\n#include \"frame.h\"\n")
	for macro, value := range macros(t, text) {
		fmt.Fprintf(&program, "#if %s != %d\n#error %s\n#endif\n", macro, value, macro)
	}
	program.WriteString("extern const long long frame_bytes;\nconst long long frame_bytes = MODEL_FRAME_BYTES;\n")
	source := filepath.Join(folder, "use.c")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "frame.h"), []byte(text), 0o600))
	require.NoError(t, os.WriteFile(source, []byte(program.String()), 0o600))
	for _, compiler := range [][]string{
		{"cc", "-x", "c", "-std=c99"}, {"cc", "-x", "c", "-std=c11"},
		{"c++", "-x", "c++", "-std=c++11"}, {"c++", "-x", "c++", "-std=c++17"},
	} {
		t.Run(strings.Join(compiler, " "), func(t *testing.T) {
			if _, err := exec.LookPath(compiler[0]); err != nil {
				fmt.Println("skip: the plan's C header: no", compiler[0])
				t.Skip("no", compiler[0])
			}
			arguments := append(compiler[1:], "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", source)
			output, err := exec.Command(compiler[0], arguments...).CombinedOutput()
			require.NoError(t, err, "%s", output)
		})
	}
}
