package openmetrics

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/observe/figures"
)

func written(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/stats.json")
	require.NoError(t, err)
	var s figures.Snapshot
	require.NoError(t, json.Unmarshal(text, &s))
	return string(Text(&s))
}

func TestTheTextIsTheKnownOne(t *testing.T) {
	want, err := os.ReadFile("testdata/metrics.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), written(t))
}

var (
	typeLine   = regexp.MustCompile(`^# TYPE ([a-z_]+) (gauge|counter)$`)
	unitLine   = regexp.MustCompile(`^# UNIT ([a-z_]+) bytes$`)
	helpLine   = regexp.MustCompile(`^# HELP ([a-z_]+) [^\\"]+\.$`)
	sampleLine = regexp.MustCompile(`^([a-z_]+)(\{[a-z_]+="(?:[^"\\\n]|\\["\\n])*"(?:,[a-z_]+="(?:[^"\\\n]|\\["\\n])*")*\})? ([0-9]+)$`)
)

// TestTheTextKeepsTheRules reads the text by the grammar of the specification: each
// family once, with its type, its unit and its help before its samples, those of counters
// ending in _total, no two samples alike, and EOF.
func TestTheTextKeepsTheRules(t *testing.T) {
	text := written(t)
	require.True(t, strings.HasSuffix(text, "\n# EOF\n"))
	seen := map[string]bool{}
	family, kind := "", ""
	for line := range strings.Lines(strings.TrimSuffix(text, "# EOF\n")) {
		line = strings.TrimSuffix(line, "\n")
		require.False(t, seen[line], "twice: %s", line)
		if m := typeLine.FindStringSubmatch(line); m != nil {
			family, kind = m[1], m[2]
			require.False(t, seen["family "+family])
			seen["family "+family] = true
			continue
		}
		if strings.HasPrefix(line, "#") {
			m := append(unitLine.FindStringSubmatch(line), helpLine.FindStringSubmatch(line)...)
			require.Len(t, m, 2, line)
			require.Equal(t, family, m[1])
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		require.NotNil(t, m, line)
		want := family
		if kind == "counter" {
			want += "_total"
		}
		require.Equal(t, want, m[1])
		require.False(t, seen[m[1]+m[2]], "twice: %s", line)
		seen[m[1]+m[2]] = true
	}
	require.Greater(t, len(seen), 60)
}

func TestLabelsAreUTF8(t *testing.T) {
	for value, want := range map[string]string{
		"plain": `{name="plain"}`, "Mat\xffrix\n": `{name="Mat\\xffrix\n"}`, "\xfe": `{name="\\xfe"}`,
		"é\xc3": `{name="é\\xc3"}`, "\xed\xa0\x80": `{name="\\xed\\xa0\\x80"}`, `"\`: `{name="\"\\"}`, "\uFFFD": "{name=\"\uFFFD\"}",
	} {
		if got := braces([]string{"name", value}); got != want || !utf8.ValidString(got) {
			t.Errorf("%q became %s, not %s", value, got, want)
		}
	}
}
