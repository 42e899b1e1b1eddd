package timeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// script puts a trace together.
type script struct {
	events []string
	frames []string
}

func (s *script) event(name, phase string, micros float64, rest string) {
	s.events = append(s.events, fmt.Sprintf(`{"name":%q,"ph":%q,"pid":1,"tid":7,"ts":%.3f%s}`, name, phase, micros,
		rest))
}

func (s *script) alloc(at float64, address, bytes uint64, kind, typ string, site int) {
	s.event("alloc", "i", at, fmt.Sprintf(`,"s":"t","sf":%d,"args":{"address":"%#x","bytes":%d,"kind":%q,"type":%q}`,
		site, address, bytes, kind, typ))
}

func (s *script) free(at float64, address uint64) {
	s.event("free", "i", at, fmt.Sprintf(`,"s":"t","args":{"address":"%#x","bytes":1,"kind":"object"}`, address))
}

func (s *script) chunk(at float64, name string, address, bytes uint64) {
	s.event(name, "i", at, fmt.Sprintf(`,"s":"p","args":{"address":"%#x","bytes":%d,"pool":3,"device":0}`, address,
		bytes))
}

func (s *script) trace(t require.TestingT) *Trace {
	trace, err := Read(strings.NewReader(s.text()))
	require.NoError(t, err)
	return trace
}

func (s *script) text() string {
	return `{"traceEvents":[` + strings.Join(s.events, ",\n") + `],"stackFrames":{` + strings.Join(s.frames, ",") +
		`},"otherData":{"writer":"TL Runtime","complete":true,"dropped":0,"began":"2026-01-02T03:04:05.678Z"}}`
}

const (
	heapAt   = 0x7f0000000000
	chunkAt  = 0x7e0000000000
	mallocAt = 0x550000001230
	mib      = 1 << 20
)

// training is a trace as a training program leaves one.
func training() *script {
	s := &script{frames: []string{
		`"1":{"name":"weights.py:3","file":"weights.py","line":3,"parent":"9"}`,
		`"2":{"name":"forward.py:14","parent":"9"}`,
		`"3":{"name":"void conv2d_same_padding<float, long>(tensor&, tensor const&)","parent":"9"}`,
		`"9":{"name":"main"}`,
	}}
	s.events = append(s.events, `{"name":"process_name","ph":"M","pid":1,"tid":0,"args":{"name":"train"}}`,
		`{"name":"thread_name","ph":"M","pid":1,"tid":7,"args":{"name":"main"}}`)
	s.alloc(0, heapAt, mib, "object", "tensor", 1)
	s.alloc(0, mallocAt, mib/2, "registered", "memory of malloc", 1)
	s.chunk(50, "chunk obtained", chunkAt, 4*mib)
	at := 100.0
	for n := range uint64(12) {
		s.event("scope", "B", at, "")
		for i := range uint64(4) {
			s.alloc(at+float64(10*i), heapAt+(2+i)*mib, mib-4096, "object", "tensor", 2)
		}
		s.alloc(at+50, chunkAt+n%3*mib, mib, "pool block", "", 3)
		s.alloc(at+60, heapAt+mib+4096*n, 100+n, "object", "", 2)
		for i := range uint64(4) {
			s.free(at+float64(100+10*i), heapAt+(2+i)*mib)
		}
		s.free(at+150, chunkAt+n%3*mib)
		s.event("scope", "E", at+160, "")
		s.event(fmt.Sprintf("step %d", n), "i", at+165, `,"s":"p","cat":"mark"`)
		s.event("pool reserved bytes", "C", at+170, fmt.Sprintf(`,"args":{"value":%d}`, 4*mib))
		at += 200
	}
	s.event("limit refuses", "i", 1900, `,"s":"g","args":{"device":0,"bytes":99}`)
	s.event("live bytes", "C", at, `,"args":{"value":5}`)
	return s
}

func TestFigures(t *testing.T) {
	trace := training().trace(t)
	live, peak, when := trace.live()
	assert.EqualValues(t, mib+mib/2+4*(mib-4096)+mib+12*100+66, peak) // 66 = 0 + 1 + ... + 11
	assert.EqualValues(t, 2360, when)
	assert.EqualValues(t, 0, live.Bytes[len(live.Bytes)-1])
	sites, number := trace.sites(when)
	require.Len(t, sites, 3)
	assert.Equal(t, "forward.py:14", sites[number[2]].Name)
	assert.Equal(t, 0, number[2], "most at the peak")
	assert.Equal(t, []string{"forward.py:14", "main"}, sites[0].Stack)
	assert.Equal(t, 12*5, sites[0].Count)
	assert.EqualValues(t, mib+mib/2, sites[number[1]].Peak)
	assert.Equal(t, []string{"weights.py:3", "main"}, sites[number[1]].Stack)
	bins := trace.sizes()
	assert.EqualValues(t, 64, bins[0].Low)
	assert.Equal(t, 12, bins[0].Count)
	total := 0
	for _, b := range bins {
		total += b.Count
	}
	assert.Equal(t, len(trace.Blocks), total)
	assert.Equal(t, 12, trace.Scopes)
	assert.Len(t, trace.Marks, 12)
	pools, most := trace.pools()
	assert.Equal(t, curve{Steps: []float64{0, 50}, Bytes: []int64{0, 4 * mib}}, pools)
	assert.EqualValues(t, 4*mib, most)
	assert.Len(t, trace.Alerts, 1)
	assert.Equal(t, 1, trace.Threads)
}

func TestACurveKeepsItsPeaks(t *testing.T) {
	s := &script{}
	for n := range uint64(3 * mostPoints) {
		s.alloc(float64(n), heapAt, 10+n%7, "object", "", 0)
		s.free(float64(n)+0.5, heapAt)
	}
	live, peak, _ := s.trace(t).live()
	assert.LessOrEqual(t, len(live.Steps), 2*mostPoints+4)
	assert.EqualValues(t, 16, peak)
	highest := int64(0)
	for i, b := range live.Bytes {
		highest = max(highest, b)
		if i > 0 {
			require.GreaterOrEqual(t, live.Steps[i], live.Steps[i-1])
		}
	}
	assert.EqualValues(t, 16, highest)
}

func TestRefusals(t *testing.T) {
	for text, want := range map[string]string{
		"": "the file is empty", "hello": "not a trace in JSON", "{}": "not a trace of TL Runtime",
		"[]": "not a trace of TL Runtime", `[{"name":"a","ph":"X","ts":1}]`: "not a trace of TL Runtime",
		`{"traceEvents":{}}`: "not a trace of TL Runtime", `{"traceEvents":[`: "breaks off",
		`{"traceEvents":[{"name":"a","ph":"X","ts":1,"tid":"main"}]}`:          "not a trace of TL Runtime",
		`{"traceEvents":[{"name":"a","ph":"i","args":{"bytes":"much"}}]}`:      "not a trace of TL Runtime",
		`{"writer":"TL Runtime","traceEvents":[{"name":"a","tid":"main"}]}`:    "event 0",
		`{"otherData":{"writer":"TL Runtime"},"traceEvents":[{"name":"a"} 5]}`: "event 1",
		strings.Replace(training().text(), `"0x7f0000000000"`, `"zz"`, 1):      "no address",
	} {
		_, err := Read(strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
}

func TestNothingWasAllocated(t *testing.T) {
	var b strings.Builder
	require.NoError(t, (&script{}).trace(t).Write(&b, "empty"))
	assert.Contains(t, b.String(), "Nothing was allocated")
	assert.NotContains(t, b.String(), "NaN")
}

// TestNamesStayText has names that would end the page's script or begin another.
func TestNamesStayText(t *testing.T) {
	s := training()
	s.frames[0] = `"1":{"name":"</script><script>alert(1)</script><img src=x>"}`
	s.event("</script><img>", "i", 5, `,"s":"p","cat":"mark"`)
	var b strings.Builder
	require.NoError(t, s.trace(t).Write(&b, "<b>"))
	assert.Equal(t, 2, strings.Count(b.String(), "<script"))
	assert.NotContains(t, b.String(), "<img")
	assert.NotContains(t, b.String(), "<b>&lt;")
	table, flames := strings.Index(b.String(), "<table"), strings.Index(b.String(), `id="flame"`)
	assert.True(t, 0 < table && table < flames, "the table of sites comes first: %d, %d", table, flames)
}

// TestFilesThatBreakOff has every beginning of a trace: what is there is shown.
func TestFilesThatBreakOff(t *testing.T) {
	text := `{"writer":"TL Runtime",` + training().text()[1:]
	first := strings.Index(text, "[")
	for n := first + 1; n < len(text); n += 97 {
		trace, err := Read(strings.NewReader(text[:n]))
		require.NoError(t, err, "%d bytes", n)
		require.Positive(t, trace.Broken)
		require.LessOrEqual(t, trace.Broken, int64(n))
		var b strings.Builder
		require.NoError(t, trace.Write(&b, ""))
		require.Contains(t, b.String(), "the file breaks off")
	}
	trace, err := Read(strings.NewReader(text))
	require.NoError(t, err)
	require.Zero(t, trace.Broken)
	half, err := Read(strings.NewReader(text[:len(text)/2]))
	require.NoError(t, err)
	require.Equal(t, trace.Blocks[0].Address, half.Blocks[0].Address)
	require.Greater(t, len(half.Blocks), len(trace.Blocks)/4)
}

// TestSitesAreToldApart has three sites in one function that others call, of which two
// share a caller, and two that nothing tells apart.
func TestSitesAreToldApart(t *testing.T) {
	s := &script{frames: []string{
		`"1":{"name":"new","file":"/a/new.h","line":7,"parent":"11"}`,
		`"2":{"name":"new","file":"/a/new.h","line":7,"parent":"12"}`,
		`"3":{"name":"new","file":"/a/new.h","line":7,"parent":"13"}`, `"4":{"name":"twice","parent":"20"}`,
		`"5":{"name":"twice","parent":"20"}`,
		`"11":{"name":"linear","file":"/a/b.c","line":3,"parent":"14"}`,
		`"12":{"name":"linear","file":"/a/b.c","line":3,"parent":"20"}`,
		`"13":{"name":"relu","parent":"20"}`, `"14":{"name":"train","parent":"20"}`, `"20":{"name":"main"}`,
	}}
	for site := range 5 {
		s.alloc(1, heapAt+mib*uint64(site), 100-uint64(site), "object", "", site+1)
	}
	sites, _ := s.trace(t).sites(1)
	var names []string
	for _, site := range sites {
		names = append(names, site.Name)
	}
	assert.Equal(t, []string{"twice", "new.h:7 new ← b.c:3 linear ← train", "new.h:7 new ← b.c:3 linear ← main",
		"new.h:7 new ← relu"}, names, "two numbers for one stack are one site")
	assert.Equal(t, "new.h:7", sites[1].Place)
	assert.Equal(t, " new ← b.c:3 linear ← train", sites[1].Rest)
}

// TestLeaksAfterThePeakAreShown has more sites at the peak than the table has lines.
func TestLeaksAfterThePeakAreShown(t *testing.T) {
	s := &script{}
	for site := range uint64(40) {
		s.alloc(float64(site), heapAt+mib*site, 1000+site, "object", "", int(site)+1)
	}
	for site := range uint64(40) {
		s.free(50, heapAt+mib*site)
	}
	s.alloc(60, heapAt, 77, "object", "", 41)
	sites, _ := s.trace(t).sites(40)
	table := shown(sites)
	assert.Len(t, table, 17)
	assert.EqualValues(t, 77, table[16].End)
	assert.Zero(t, table[16].Peak)
}

// TestPagesStaySmall has a long run: many sites, tags, marks, chunks and blocks.
func TestPagesStaySmall(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: many seconds")
	}
	s := &script{}
	for n := range uint64(60000) {
		at := float64(10 * n)
		s.frames = append(s.frames,
			fmt.Sprintf(`"%d":{"name":"function_%d_with_a_name","file":"/folder/of/sources/file.c","line":%d}`, n+1, n,
				n+1))
		s.alloc(at, heapAt+64*n, 1+n%4096, "object", "", int(n)+1)
		s.free(at+5, heapAt+64*n)
		s.event(fmt.Sprintf("step %d", n), "i", at, `,"s":"p","cat":"mark"`)
		s.chunk(at+1, "chunk obtained", chunkAt, mib)
		s.chunk(at+2, "chunk returned", chunkAt, mib)
	}
	trace := s.trace(t)
	live, peak, when := trace.live()
	sites, number := trace.sites(when)
	d := trace.data(live, peak, when, sites, number)
	assert.Len(t, d.First, mostRects)
	assert.Len(t, d.Chunks, mostChunks)
	assert.Len(t, d.Marks, mostMarks)
	assert.InDelta(t, trace.End, d.Marks[mostMarks-1].Time, trace.End/mostMarks+1)
	assert.Len(t, d.Names, mostRects, "each block has a site of its own")
	var b strings.Builder
	require.NoError(t, trace.Write(&b, ""))
	assert.Less(t, b.Len(), 8<<20)
	assert.Contains(t, b.String(), "of 60,000 marks some are drawn")
}
