package timeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/cmd/tl/viz/headless"
)

// made is a trace with a site for each line: function, line, the line in main that calls
// it, and bytes. What begins with a minus is released at the end.
func made(sites ...string) *script {
	s := &script{}
	for i, text := range sites {
		var function string
		var line, caller int
		var bytes int64
		if _, err := fmt.Sscan(text, &function, &line, &caller, &bytes); err != nil {
			panic(err)
		}
		id := i + 1
		s.frames = append(s.frames,
			fmt.Sprintf(`"%d":{"name":%q,"file":"/s/net.c","line":%d,"parent":"%d"}`, id, function, line, 1000+id),
			fmt.Sprintf(`"%d":{"name":"main","file":"/s/main.c","line":%d}`, 1000+id, caller))
		s.alloc(float64(i), heapAt+mib*uint64(i), uint64(max(bytes, -bytes)), "object", "", id)
		if bytes < 0 {
			s.free(100, heapAt+mib*uint64(i))
		}
	}
	return s
}

// said lists the changes: name, difference at the peak and at the end, remark.
func (c *Comparison) said() (all []string) {
	for i := range c.Sites {
		d := &c.Sites[i]
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %+d %+d %s", d.Name, d.Is.Peak-d.Was.Peak, d.Is.End-d.Was.End,
			d.remark())))
	}
	return all
}

func TestCompare(t *testing.T) {
	before := made("conv 5 20 1000", "relu 9 20 300", "log 30 21 40", "norm 12 22 500").trace(t)
	after := made("conv 5 20 4000", "relu 9 20 100", "norm 12 22 500", "cache 40 23 70").trace(t)
	c := Compare(before, after)
	assert.Equal(t, []string{"net.c:5 conv +3000 +3000", "net.c:9 relu -200 -200", "net.c:40 cache +70 +70 new",
		"net.c:30 log -40 -40 gone"}, c.said())
	assert.Equal(t, 1, c.Same)
	assert.Equal(t, Figures{1840, 1840, 4, 1840}, c.Was)
	assert.Equal(t, Figures{4670, 4670, 4, 4670}, c.Is)
	grew, shrank := c.split()
	assert.Len(t, grew, 2)
	assert.Len(t, shrank, 2)
	assert.Equal(t, []string{
		"everything 4670 4670 4670 4 / 1840 1840 1840 4",
		"  main.c main 4670 4670 4670 4 / 1840 1840 1840 4",
		"    net.c:5 conv 4000 4000 4000 1 / 1000 1000 1000 1",
		"    net.c:12 norm 500 500 500 1 / 500 500 500 1",
		"    net.c:9 relu 100 100 100 1 / 300 300 300 1",
		"    net.c:40 cache 70 70 70 1 / 0 0 0 0",
		"    net.c:30 log 0 0 0 0 / 40 40 40 1",
	}, c.tree.lines())
}

// TestCompareWhatIsLive has equal peaks, and a difference at the end.
func TestCompareWhatIsLive(t *testing.T) {
	c := Compare(made("conv 5 20 -1000").trace(t), made("conv 5 20 1000").trace(t))
	assert.Equal(t, []string{"net.c:5 conv +0 +1000"}, c.said())
	assert.True(t, c.Sites[0].Grew())
}

// TestCompareMovedLines has a file with lines put in above: functions tell sites, and
// within one function the order of the lines.
func TestCompareMovedLines(t *testing.T) {
	before := made("conv 5 20 1000", "relu 9 21 10", "relu 11 21 300").trace(t)
	after := made("conv 8 24 1500", "relu 14 25 400", "relu 12 25 20").trace(t)
	c := Compare(before, after)
	assert.Equal(t, []string{"net.c:8 conv +500 +500 was net.c:5", "net.c:14 relu +100 +100 was net.c:11",
		"net.c:12 relu +10 +10 was net.c:9"}, c.said())

	// One line that both have says that the file was not edited: the others are other sites.
	c = Compare(made("relu 9 21 10", "relu 11 21 300").trace(t), made("relu 9 21 10", "relu 13 21 300").trace(t))
	assert.Equal(t, []string{"net.c:11 relu -300 -300 gone", "net.c:13 relu +300 +300 new"}, c.said())
	assert.Equal(t, 1, c.Same)
}

// TestCompareOtherBuilds has functions without lines, which another build has elsewhere.
func TestCompareOtherBuilds(t *testing.T) {
	build := func(offset string, bytes uint64) *Trace {
		s := (&script{}).stack("make (net+0x"+offset+")", "main (net+0x99)")
		s.alloc(1, heapAt, bytes, "object", "", 1)
		return s.trace(t)
	}
	assert.Equal(t, []string{"make (net+0x1300) +10 +10"}, Compare(build("1200", 10), build("1300", 20)).said())
}

// TestCompareWithoutStacks has traces that nobody completed: figures are compared, and
// all that has no stack is one site.
func TestCompareWithoutStacks(t *testing.T) {
	c := Compare(network().trace(t), (&script{}).trace(t))
	assert.Equal(t, 4, c.Was.Count)
	s := &script{}
	s.alloc(1, heapAt, 10, "object", "", 4)
	s.alloc(1, heapAt+mib, 10, "object", "", 5)
	c = Compare(s.trace(t), s.trace(t))
	assert.Empty(t, c.Sites)
	assert.Equal(t, "Nothing differs: 1 site with the same bytes and numbers.", c.same())
}

// TestAnyCompare holds comparisons to their sums, and to opposite results the other way.
func TestAnyCompare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		site := rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf("f%d %d %d %d", rapid.IntRange(0, 2).Draw(t, "function"), rapid.IntRange(1, 3).Draw(t, "line"),
				rapid.IntRange(1, 2).Draw(t, "caller"), rapid.Int64Range(-50, 50).Draw(t, "bytes"))
		})
		before := made(rapid.SliceOfN(site, 0, 8).Draw(t, "before")...).trace(t)
		after := made(rapid.SliceOfN(site, 0, 8).Draw(t, "after")...).trace(t)
		c, back := Compare(before, after), Compare(after, before)
		require.Equal(t, len(before.Blocks), c.Was.Count)
		require.Equal(t, len(after.Blocks), c.Is.Count)
		require.Equal(t, c.Was, back.Is)
		require.Equal(t, len(c.Sites), len(back.Sites))
		require.Equal(t, c.Same, back.Same)
		peak := int64(0)
		for _, d := range c.Sites {
			peak += d.Is.Peak - d.Was.Peak
		}
		require.Equal(t, c.Is.Peak-c.Was.Peak, peak)
		require.Empty(t, Compare(before, before).Sites)
	})
}

const comparedText = `before  a.json: 2026-01-02 03:04:05 UTC, 100 µs, 0 threads, 0 scopes
after   b.json: 2026-01-02 03:04:05 UTC, 1 µs, 0 threads, 0 scopes

                before     after    change
at the peak    1.3 KiB   2.0 KiB    +741 B (+56.8 %)
at the end        40 B   2.0 KiB  +2.0 KiB (+5012.5 %)
allocations          3         2        −1 (−33.3 %)
in all         1.3 KiB   2.0 KiB    +741 B (+56.8 %)

What grew
  at the peak  at the end  allocations   in all  site
      +1000 B    +2.0 KiB           ±0  +1000 B  net.c:5 conv
         +5 B        +5 B           ±0     +5 B  net.c:30 log

What shrank
  at the peak  at the end  allocations  in all  site
       −264 B          ±0           −1  −264 B  net.c:9 relu (gone)
`

// What is not printed cannot write to the terminal, and breaks no table.
func TestTextHasNoControlCharacters(t *testing.T) {
	s := (&script{}).stack("evil\u0085\u202e[2J\nname\ttab", "main")
	s.alloc(1, heapAt, 10, "object", "", 1)
	var b strings.Builder
	require.NoError(t, s.trace(t).Text(&b, "a\x07.json"))
	assert.Contains(t, b.String(), `evil\u0085\u202e[2J\nname\ttab`)
	assert.Contains(t, b.String(), `a\a.json`)
	assert.NotContains(t, b.String(), "\u202e")
	assert.Equal(t, "ünïcode <b>", printed("ünïcode <b>"))
}

func TestText(t *testing.T) {
	before := made("conv 5 20 -1000", "relu 9 20 -264", "log 30 21 40").trace(t)
	after := made("conv 5 20 2000", "log 30 21 45").trace(t)
	var b strings.Builder
	require.NoError(t, Compare(before, after).Text(&b, "a.json", "b.json"))
	assert.Equal(t, comparedText, b.String())
	b.Reset()
	require.NoError(t, before.Text(&b, "a.json"))
	for _, want := range []string{"a.json: 2026-01-02", "at the peak    1.3 KiB", "the peak is at 2 µs",
		"264 B         0 B            1   264 B  net.c:9 relu\n"} {
		assert.Contains(t, b.String(), want)
	}
	b.Reset()
	require.NoError(t, (&script{}).trace(t).Text(&b, "empty.json"))
	assert.NotContains(t, b.String(), "peak is at")
}

// TestComparedPage looks at the page of two traces, wide and on a phone.
func TestComparedPage(t *testing.T) {
	b := headless.New(t)
	var many, more []string
	for n := range 60 {
		many = append(many, fmt.Sprintf("function_with_a_long_name_%d %d 20 %d", n, n+1, 1000+n))
		more = append(more, fmt.Sprintf("function_with_a_long_name_%d %d 20 %d", n, n+1, 3000-40*n))
	}
	for name, c := range map[string]*Comparison{
		"small":   Compare(made("conv 5 20 1000", "relu 9 20 300").trace(t), made("conv 5 20 4000", "log 3 20 5").trace(t)),
		"many":    Compare(made(many...).trace(t), made(more...).trace(t)),
		"nothing": Compare((&script{}).trace(t), (&script{}).trace(t)),
	} {
		var text strings.Builder
		require.NoError(t, c.Write(&text, "", "a.json", "b.json"))
		assert.NotContains(t, text.String(), "NaN")
		page := headless.File(t, "page.html", text.String())
		for _, width := range headless.Some(800, 1280) {
			found := b.Dump(t, page+"#check", width, 3600)
			assert.Equal(t, "0", found["overlaps"], name+found["examples"])
			assert.Equal(t, "0", found["clipped"], name+found["examples"])
			assert.Greater(t, found.Numbers(t, "checked")[0], 10)
		}
		found := b.DumpNarrow(t, text.String(), 390, 6000)
		assert.Equal(t, "0", found["clipped"], name+found["examples"])
	}
}

func TestComparedFlameAnswers(t *testing.T) {
	var text strings.Builder
	c := Compare(made("conv 5 20 1000", "relu 9 20 500").trace(t), made("conv 5 20 3000", "log 3 20 500").trace(t))
	require.NoError(t, c.Write(&text, "", "a.json", "b.json"))
	saw := told(t, headless.New(t), text.String(), `
	say('shares', ['conv', 'relu', 'log'].map(share).join(' '));
	say('looks', ['conv', 'relu', 'log'].map((name) => box(name).className).join(' '));
	say('texts', boxes().map((b) => b.textContent).join('|'));
	say('about', box('relu').title);
	const search = document.getElementById('search'); search.value = 'relu'; search.dispatchEvent(new Event('input'));
	say('rows', Array.from(document.querySelectorAll('.below tbody tr')).filter((r) => !r.hidden).length);
	say('found', document.getElementById('found').textContent);`)
	assert.Equal(t, "750 125 125", saw["shares"], "3000, 500 and 500 of 4000: the larger of both")
	assert.Equal(t, "d6 d0 d6", saw["looks"])
	assert.Equal(t, "+2.0 KiB everything|+2.0 KiB main.c:20 main|+2.0 KiB net.c:5 conv|+500 B net.c:3 log|"+
		"−500 B net.c:9 relu", saw["texts"])
	assert.Equal(t, "net.c:9 relu: −500 B, from 500 B to 0 B", saw["about"])
	assert.Equal(t, "1", saw["rows"])
	assert.Equal(t, "1 of 3", saw["found"])
}
