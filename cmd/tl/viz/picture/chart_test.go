package picture

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
)

func htmlOf(t require.TestingT, c *Chart) string {
	var b bytes.Buffer
	require.NoError(t, WriteHTML(&b, c))
	return b.String()
}

func svgOf(t require.TestingT, c *Chart) string {
	var b bytes.Buffer
	require.NoError(t, WriteSVG(&b, c))
	return b.String()
}

// anyChart draws charts that can be drawn, with names and words of any kind.
func anyChart(t *rapid.T) *Chart {
	c := &Chart{
		Title: rapid.String().Draw(t, "title"), Steps: rapid.IntRange(0, 40).Draw(t, "steps"),
		FrameBytes: rapid.Int64Range(0, maxExact).Draw(t, "frame"), LowerBound: rapid.Int64Range(0, maxExact).Draw(t,
			"bound"),
		Optimal: rapid.Bool().Draw(t, "optimal"), NaiveBytes: rapid.Int64Range(0, maxExact).Draw(t, "naive"),
		Notes: rapid.SliceOfN(rapid.String(), 0, 2).Draw(t, "notes"),
	}
	if rapid.Bool().Draw(t, "named") {
		c.StepNames = rapid.SliceOfN(rapid.String(), c.Steps, c.Steps).Draw(t, "names")
	}
	for range rapid.IntRange(0, 20).Draw(t, "buffers") {
		r := Rect{
			Name: rapid.String().Draw(t, "name"), Kind: rapid.SampledFrom([]string{"activation", "input", "", "pet",
				"<b>"}).Draw(t, "kind"),
			First: rapid.IntRange(-1, c.Steps).Draw(t, "first"), Bytes: rapid.Int64Range(0, c.FrameBytes).Draw(t,
				"bytes"),
			Detail: rapid.String().Draw(t, "detail"),
		}
		r.End = rapid.IntRange(r.First+1, c.Steps+1).Draw(t, "end")
		r.Offset = rapid.Int64Range(0, c.FrameBytes-r.Bytes).Draw(t, "offset")
		c.Buffers = append(c.Buffers, r)
	}
	return c
}

var dataText = regexp.MustCompile(`(?s)<script id="data" type="application/json">(.*?)</script>`)

// TestAnyChart holds both pictures to what every chart has to give: well-formed,
// complete, the same each time, and free of anything from outside.
func TestAnyChart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyChart(t)
		page, picture := htmlOf(t, c), svgOf(t, c)
		require.Equal(t, page, htmlOf(t, c))
		require.Equal(t, picture, svgOf(t, c))
		require.NotContains(t, page+picture, "ZgotmplZ")

		var data pageData
		require.NoError(t, json.Unmarshal([]byte(dataText.FindStringSubmatch(page)[1]), &data))
		require.Len(t, data.First, len(c.Buffers))
		for i, r := range c.Buffers {
			require.Equal(t, printable(r.Name), data.Names[data.Group[i]])
			require.Equal(t, []int64{int64(r.First), int64(r.End), r.Offset, r.Bytes},
				[]int64{int64(data.First[i]), int64(data.Stop[i]), data.Offset[i], data.Bytes[i]})
			require.Equal(t, printable(r.Detail), data.Details[data.Detail[i]])
		}
		require.Equal(t, len(c.Buffers)+len(c.StepNames), rectangles(t, picture))
	})
}

// rectangles parses a picture and counts the rectangles that have details.
func rectangles(t require.TestingT, picture string) int {
	found, inRect := 0, false
	for decoder := xml.NewDecoder(strings.NewReader(picture)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return found
		}
		require.NoError(t, err)
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if start.Name.Local == "title" && inRect {
			found++
		}
		inRect = start.Name.Local == "rect"
		for _, a := range start.Attr {
			require.NotContains(t, a.Value, "NaN")
			require.NotContains(t, a.Value, "Inf")
		}
	}
}

func TestNothingFromOutside(t *testing.T) {
	c := synthetic(12)
	outside := regexp.MustCompile(`(?i)https?:|//[a-z]|\b(src|href)\s*=|@import|url\([^#]`)
	for _, text := range []string{htmlOf(t, c), strings.Replace(svgOf(t, c), `xmlns="http://www.w3.org/2000/svg"`, "",
		1)} {
		text = strings.Replace(text, "'http://www.w3.org/2000/svg'", "", 1) // a name, not an address
		assert.Empty(t, outside.FindString(text))
	}
	assert.Less(t, len(htmlOf(t, &Chart{})), 64<<10, "a page without data stays small")
}

// TestNamesStayText has names that would end the page's script or begin another.
func TestNamesStayText(t *testing.T) {
	c := synthetic(12)
	evil := `</script><script>alert(1)</script><img onerror="x">]]>` + "\u2028-->"
	c.Title, c.Notes, c.Buffers[0].Name, c.Buffers[1].Detail, c.Buffers[2].Kind = evil, []string{evil}, evil, evil, evil
	page, picture := htmlOf(t, c), svgOf(t, c)
	assert.Equal(t, 2, strings.Count(page, "<script"))
	assert.Equal(t, 2, strings.Count(page, "</script"))
	assert.NotContains(t, page+picture, "<img")
	assert.NotContains(t, picture, "<script")
	assert.Equal(t, 12, rectangles(t, picture))
}

func TestRefusals(t *testing.T) {
	good := func() *Chart {
		return &Chart{Steps: 3, FrameBytes: 100, Buffers: []Rect{{Name: "b", First: 0, End: 3, Bytes: 100}}}
	}
	require.NoError(t, WriteHTML(io.Discard, good()))
	for message, spoil := range map[string]func(*Chart){
		"-1 steps":             func(c *Chart) { c.Steps = -1 },
		"2 names for 3 steps":  func(c *Chart) { c.StepNames = []string{"a", "b"} },
		"LowerBound is -1":     func(c *Chart) { c.LowerBound = -1 },
		"FrameBytes is 922337": func(c *Chart) { c.FrameBytes = math.MaxInt64 },
		`buffer 0, "b": alive from step 3 to before 3`:                func(c *Chart) { c.Buffers[0].First = 3 },
		"alive from step -2":                                          func(c *Chart) { c.Buffers[0].First = -2 },
		"-1 <= First < End <= 4 (Steps+1)":                            func(c *Chart) { c.Buffers[0].End = 5 },
		"100 bytes at offset 1 do not lie in the frame of 100 bytes":  func(c *Chart) { c.Buffers[0].Offset = 1 },
		"-5 bytes at offset 0":                                        func(c *Chart) { c.Buffers[0].Bytes = -5 },
		"100 bytes at offset -1 do not lie in the frame of 100 bytes": func(c *Chart) { c.Buffers[0].Offset = -1 },
	} {
		c := good()
		spoil(c)
		assert.ErrorContains(t, WriteHTML(io.Discard, c), message)
		assert.ErrorContains(t, WriteSVG(io.Discard, c), message)
	}
	assert.ErrorContains(t, WriteHTML(io.Discard, nil), "no chart")
	assert.ErrorContains(t, WriteSVG(io.Discard, nil), "no chart")
	assert.ErrorContains(t, WriteHTML(full{}, good()), "disk full")
	assert.ErrorContains(t, WriteSVG(full{}, good()), "disk full")
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// TestLive compares the curve with a sum over all rectangles at each step.
func TestLive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyChart(t)
		live := c.live()
		first, end := c.span()
		require.Equal(t, first, live.Steps[0])
		at := 0
		for step := first; step < end; step++ {
			for at+1 < len(live.Steps) && live.Steps[at+1] <= step {
				at++
			}
			sum := int64(0)
			for _, r := range c.Buffers {
				if r.First <= step && step < r.End {
					sum += r.Bytes
				}
			}
			require.Equal(t, sum, live.Bytes[at], "step %d", step)
		}
	})
}

func TestFigures(t *testing.T) {
	remark := func(c Chart) string { return c.figures()[0].Remark }
	assert.Equal(t, "optimal (proved)", remark(Chart{FrameBytes: 10, LowerBound: 10, Optimal: true}))
	assert.Equal(t, "optimal (proved)", remark(Chart{FrameBytes: 12, LowerBound: 10, Optimal: true}))
	assert.Equal(t, "equal to the lower bound", remark(Chart{FrameBytes: 10, LowerBound: 10}))
	assert.Equal(t, "no lower bound known", remark(Chart{FrameBytes: 10}))
	assert.Equal(t, "2.5 % above the lower bound", remark(Chart{FrameBytes: 1025, LowerBound: 1000}))
	assert.Equal(t, "1,150 % above the lower bound", remark(Chart{FrameBytes: 125, LowerBound: 10}))
	assert.Equal(t, "less than 0.01 % above the lower bound", remark(Chart{FrameBytes: 1e9 + 1, LowerBound: 1e9}))
	assert.Equal(t, []Figure{
		{"Frame", "1.5 KiB", "1,536 bytes", "50 % above the lower bound"},
		{"Lower bound", "1.0 KiB", "1,024 bytes", ""},
		{"Without reuse", "2.5 KiB", "2,560 bytes", "1.7 times the frame"},
	}, (&Chart{FrameBytes: 1536, LowerBound: 1024, NaiveBytes: 2560}).figures())
}

func TestKinds(t *testing.T) {
	c := &Chart{}
	for _, r := range []Rect{{Name: "a", Kind: "pet"}, {Name: "b", Kind: "output"}, {Name: "a", Kind: "pet"},
		{Name: "c"}} {
		c.Buffers = append(c.Buffers, r)
	}
	names, groups := c.groups()
	assert.Equal(t, []string{"a", "b", "c"}, names)
	assert.Equal(t, []int{0, 1, 0, 2}, groups)
	legend, of := c.kinds(groups)
	assert.Equal(t, []Kind{{"pet", 0, 1}, {"output", 2, 1}, {"buffer", 1, 1}}, legend, "two parts are one buffer")
	assert.Equal(t, []int{0, 1, 0, 2}, of)
}

func TestTicks(t *testing.T) {
	words := func(ticks []tick) (list []string) {
		for _, t := range ticks {
			list = append(list, t.text)
		}
		return list
	}
	assert.Equal(t, []string{"0", "1 MiB", "2 MiB", "3 MiB"}, words(byteTicks(3<<20+5, 4)))
	assert.Equal(t, []string{"0", "0.25 KiB", "0.5 KiB", "0.75 KiB"}, words(byteTicks(800, 4)))
	assert.Equal(t, []string{"0", "64 B", "128 B"}, words(byteTicks(130, 3)))
	assert.Equal(t, []string{"0", "5", "10", "15", "20"}, words(stepTicks(0, 21, 21, 5)))
	assert.Equal(t, []string{"0", "1", "before", "after"}, words(stepTicks(-1, 3, 2, 5)))
	assert.Equal(t, []string{"0", "500", "1,000"}, words(stepTicks(0, 1200, 1200, 3)))
}

// TestMergedAreaIsKept compares what merging fills with what it was given: dust of
// a known density.
func TestMergedAreaIsKept(t *testing.T) {
	var boxes []box
	for i := range 400 {
		for j := range 100 {
			boxes = append(boxes, box{panelLeft + float64(i)/2, panelTop + float64(j)/2, 0.25, 0.5})
		}
	}
	large, small := split(boxes)
	require.Len(t, large, mostElements)
	require.Len(t, small, len(boxes)-mostElements)
	sum := 0.0
	pixels := regexp.MustCompile(`v(\d+)h1`)
	for _, a := range merge(boxes, small, func(int) int { return 3 }) {
		assert.Equal(t, 3, a.Slot)
		for _, m := range pixels.FindAllStringSubmatch(a.Path, -1) {
			n := json.Number(m[1])
			height, err := n.Float64()
			require.NoError(t, err)
			sum += height * a.Opacity()
		}
	}
	assert.InDelta(t, float64(len(small))*0.125, sum, 100)
}

func TestFromPlan(t *testing.T) {
	p := &plan.ExecutionPlan{
		Name: "net", Instructions: []plan.Instruction{{Node: "conv1", Op: "Conv"}, {Op: "Relu"}},
		Buffers: []plan.Buffer{
			{Name: "x", Kind: plan.Input, First: -1, Last: 0, Offset: -1, Bytes: 4096},
			{Name: "h", DType: graph.F32, Shape: []int64{1, 64}, First: 0, Last: 1, Offset: 64, Bytes: 256},
			{Name: "s", Kind: plan.Output, DType: graph.I64, First: 1, Last: 2, Offset: 0, Bytes: 8},
		},
		Frame: plan.Frame{Bytes: 320, Alignment: 64, LowerBound: 264, NaiveBytes: 400},
	}
	assert.Equal(t, &Chart{
		Title: "net", Steps: 2, StepNames: []string{"conv1 (Conv)", "Relu"}, FrameBytes: 320, LowerBound: 264,
		NaiveBytes: 400, Notes: []string{"1 buffer outside the frame not shown (4.0 KiB)"},
		Buffers: []Rect{
			{Name: "h", Kind: "activation", First: 0, End: 2, Offset: 64, Bytes: 256, Detail: "f32 1×64"},
			{Name: "s", Kind: "output", First: 1, End: 3, Offset: 0, Bytes: 8, Detail: "i64 scalar"},
		},
	}, FromPlan(p))
	assert.NotEmpty(t, htmlOf(t, FromPlan(p)))
	svg := svgOf(t, FromPlan(p))
	assert.Contains(t, svg, "<title>step 0: conv1 (Conv)</title>")
	assert.Contains(t, svg, ">conv1 (Conv)</text>")
	assert.Contains(t, svg, "<title>step 1: Relu</title>")
	assert.Equal(t, &Chart{}, FromPlan(nil))
}
