package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheEnvironmentIsReadAndComplainedAbout(t *testing.T) {
	o := New()
	o.Expect("TL_DEVICE", "cuda:1")
	o.Expect("TL_MEM_LIMIT", "1GiB")
	complaints := o.ReadEnvironment([]string{
		"PATH=/bin", "TL_ON_ERROR=log", "TL_ON_ERROR=abort", "TL_DEVICE=opencl:1", "TL_MEM_LIMIT=much",
		"TL_HUGE_PAGES=perhaps", "TL_FASTPAHT=0", "TL_MEM_LIMITS=1GiB", "TL_heap_reserve=1GiB",
		"TL_SOMETHING_ELSE=1", "TL_RUNTIME_LIBRARY=/x", "TL_TEST_DATA=/y", "TL_", "TLX=1",
	})
	require.Equal(t, []string{
		`TL_HUGE_PAGES="perhaps": not one of 0, 1, auto; it stays "auto"`,
		"TL_FASTPAHT is no option; did you mean TL_FASTPATH?",
		"TL_MEM_LIMITS is no option; did you mean TL_MEM_LIMIT?",
		"TL_heap_reserve is no option; did you mean TL_HEAP_RESERVE?",
	}, complaints)
	require.Equal(t, complaints, o.Complaints())
	dump := string(o.Dump())
	for _, line := range []string{"TL_ON_ERROR=log (environment)", "TL_DEVICE=cuda:1 (tl_configure)",
		"TL_MEM_LIMIT=1GiB (tl_configure)", "TL_HUGE_PAGES=auto (default)", "# " + complaints[0]} {
		require.Contains(t, dump, line+"\n")
	}
	require.Equal(t, len(o.Names())+len(complaints), strings.Count(dump, "\n"))
}

func TestAnEnvironmentThatIsReadAgainIsTheOnlyOne(t *testing.T) {
	o := New()
	o.ReadEnvironment([]string{"TL_FAIL_MEMORY=2", "TL_MEM_LOG=1", "TL_HUGE_PAGES=perhaps"})
	complaints := o.ReadEnvironment([]string{"TL_MEM_LOG=1", "TL_HUGE_PAGES=perhaps", "TL_FASTPATH=maybe"})
	require.Equal(t, []string{`TL_FASTPATH="maybe": not 0 or 1; it stays "1"`}, complaints,
		"what was told is not told again")
	require.Len(t, o.Complaints(), 2)
	o.Expect("TL_FAIL_MEMORY", "3")
	o.Expect("TL_FAIL_MEMORY", "-1") // the newest counts
	o.ReadEnvironment([]string{"TL_MEM_LOG=1", "TL_FAIL_MEMORY=2"})
	require.Equal(t, FromCall, o.Source("TL_FAIL_MEMORY"))
	require.EqualValues(t, -1, o.Count("TL_FAIL_MEMORY"))
	require.True(t, o.Flag("TL_MEM_LOG"))
}

func TestADumpHasALineForEachOption(t *testing.T) {
	o := New()
	o.ReadEnvironment([]string{"TL_\nFASTPATH=1"})
	require.NoError(t, o.Set("TL_CUDA_LIBRARY", "/a b\nTL_TRACK=1 (x)", FromCall))
	dump := string(o.Dump())
	require.Contains(t, dump, `TL_CUDA_LIBRARY="/a b\nTL_TRACK=1 (x)" (tl_configure)`+"\n")
	require.Equal(t, len(o.Names())+len(o.Complaints()), strings.Count(dump, "\n"))
}

func TestEveryOptionRefusesWhatDoesNotSuit(t *testing.T) {
	o := New()
	for _, name := range o.Names() {
		kept := o.Word(name)
		require.NoError(t, o.Set(name, kept, FromCall), "the default of %s", name)
		if o.all[name].kind == text {
			continue
		}
		err := o.Set(name, "\x01 no value of any kind", FromCall)
		require.ErrorContains(t, err, name)
		require.Equal(t, kept, o.Word(name))
	}
	_, err := o.Check("TL_MEM_LIMITS", "1")
	require.ErrorContains(t, err, "did you mean TL_MEM_LIMIT?")
	_, err = o.Check("TL_NO_SUCH_THING", "1")
	require.ErrorContains(t, err, "the options are TL_ARENA_BYTES, ")
}

// A comparison takes time that grows with both lengths.
func TestNamesOfOtherLengthsAreNotCompared(t *testing.T) {
	o := New()
	for _, c := range []struct {
		length int
		want   []string
	}{
		{len("TL_TRACK"), []string{"TL_DEBUG", "TL_DEVICE", "TL_START", "TL_TRACE", "TL_TRACK"}},
		{len("TL_REGISTRY_SHARDS"), []string{"TL_MEM_SOFT_LIMIT", "TL_OPENCL_LIBRARY", "TL_REGISTRY_SHARDS"}},
		{21, nil}, {1024, nil}, {1 << 20, nil}, {0, nil},
	} {
		var names []string
		for name := range o.candidates(c.length) {
			names = append(names, name)
		}
		require.Equal(t, c.want, names, "%d", c.length)
	}
	require.Equal(t, "TL_TRACK", o.like("TL_TRAK"))
	require.Equal(t, "TL_REGISTRY_SHARDS", o.like("TL_REGISTRYSHARD"))
	require.Equal(t, "", o.like("TL_"+strings.Repeat("A", 1<<20)))
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "abc", 0}, {"abc", "", 3}, {"abc", "acb", 1}, {"abc", "abcd", 1}, {"kitten", "sitting", 3}} {
		require.Equal(t, c.want, distance(c.a, c.b), "%s %s", c.a, c.b)
		require.Equal(t, c.want, distance(c.b, c.a), "%s %s", c.b, c.a)
	}
}

func TestALevelCanBeAFlag(t *testing.T) {
	o := New()
	for value, word := range map[string]string{"1": "report", "on": "report", "0": "off", "": "off", "fail": "fail"} {
		require.NoError(t, o.Set("TL_LEAK_CHECK", value, FromCall), value)
		require.Equal(t, word, o.Word("TL_LEAK_CHECK"), value)
	}
	require.EqualError(t, o.Set("TL_LEAK_CHECK", "FAIL", FromCall),
		`TL_LEAK_CHECK="FAIL": not one of off, report, fail`)
	require.Error(t, o.Set("TL_ON_ERROR", "1", FromCall), "a list of words is none")
}
