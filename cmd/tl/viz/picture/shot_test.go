package picture

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/cmd/tl/viz/headless"
)

// palette returns the colours of the light or the dark theme by their names.
func palette(t *testing.T, dark bool) map[string]color.RGBA {
	text, err := assets.ReadFile("assets/palette.css")
	require.NoError(t, err)
	light, night, found := strings.Cut(string(text), "@media")
	require.True(t, found)
	if dark {
		light = night
	}
	colours := map[string]color.RGBA{}
	for _, m := range regexp.MustCompile(`--(\w+): #(\w{6});`).FindAllStringSubmatch(light, -1) {
		n, err := strconv.ParseUint(m[2], 16, 32)
		require.NoError(t, err)
		colours[m[1]] = color.RGBA{uint8(n >> 16), uint8(n >> 8), uint8(n), 255}
	}
	return colours
}

// comparison counts how the pixels of a picture agree with a chart.
type comparison struct{ rects, wrongRects, free, wrongFree int }

// scene is what a picture shows: the steps from start to end in the panel, all of
// the frame above each other.
type scene struct {
	chart      *Chart
	start, end int
	panel      []int // left, top, width, height
	dark       bool
}

func wholeScene(c *Chart, panel []int) scene {
	start, end := c.span()
	return scene{chart: c, start: start, end: end, panel: panel}
}

func (s *scene) x(step int) float64 {
	return float64(s.panel[0]) + float64(step-s.start)/float64(s.end-s.start)*float64(s.panel[2])
}

func (s *scene) y(address int64) float64 {
	return float64(s.panel[1]+s.panel[3]) - float64(address)/float64(s.chart.FrameBytes)*float64(s.panel[3])
}

// compare looks into each rectangle of some pixels, near a corner of the larger ones
// as names stand in the middle, and at places that no rectangle is near.
func (s *scene) compare(t *testing.T, shot image.Image) comparison {
	colours, result := palette(t, s.dark), comparison{}
	names, groups := s.chart.groups()
	looks := s.chart.colours(groups, len(names))
	near := image.NewAlpha(shot.Bounds())
	for i, r := range s.chart.Buffers {
		left, right, top, bottom := s.x(r.First), s.x(r.End), s.y(r.Offset+r.Bytes), s.y(r.Offset)
		for px := int(left) - 2; float64(px) < right+2; px++ {
			for py := int(top) - 2; float64(py) < bottom+2; py++ {
				near.SetAlpha(px, py, color.Alpha{1})
			}
		}
		if right-left < 2 || bottom-top < 5 || r.First < s.start || r.End > s.end {
			continue
		}
		result.rects++
		px := int(left + (right-left)/2)
		if right-left >= 5 {
			px = int(math.Round(left)) + 1
		}
		want := colours[strings.ReplaceAll(looks[groups[i]].class(), " ", "")]
		if !alike(shot.At(px, int(math.Round(top))+1), want) {
			result.wrongRects++
		}
	}
	for px := s.panel[0] + 3; px < s.panel[0]+s.panel[2]-3; px += 7 {
		for py := s.panel[1] + 3; py < s.panel[1]+s.panel[3]-3; py += 7 {
			if near.AlphaAt(px, py).A > 0 {
				continue
			}
			result.free++
			if p := shot.At(px, py); !alike(p, colours["page"]) && !alike(p, colours["grid"]) {
				result.wrongFree++
			}
		}
	}
	return result
}

func alike(a color.Color, b color.RGBA) bool {
	r, g, bl, _ := a.RGBA()
	near := func(x uint32, y uint8) bool { return math.Abs(float64(x>>8)-float64(y)) <= 2 }
	return near(r, b.R) && near(g, b.G) && near(bl, b.B)
}

// TestPage looks at pages as a person does: every rectangle where it belongs, in its
// colour, and labels that do not overlap.
func TestPage(t *testing.T) {
	b := headless.New(t)
	small, usual, large := [2]int{800, 600}, [2]int{1280, 800}, [2]int{2560, 1440}
	for _, look := range []struct {
		chart   *Chart
		windows [][2]int
	}{
		{synthetic(669), [][2]int{small, usual, large}},
		{synthetic(12), [][2]int{small}},
		{crowded(), [][2]int{small, usual}},
		{fromFile(t, "light_densenet121.csv"), [][2]int{small, usual, large}},
	} {
		if look.chart == nil {
			continue
		}
		page := headless.File(t, "page.html", htmlOf(t, look.chart))
		for _, window := range headless.Some(look.windows[0], look.windows[1:]...) {
			t.Run(fmt.Sprintf("%.20s at %dx%d", look.chart.Title, window[0], window[1]), func(t *testing.T) {
				found := b.Dump(t, page+"#check", window[0], window[1])
				tidy(t, found, window)
				assert.Equal(t, []int{len(look.chart.Buffers)}, found.Numbers(t, "rectangles"))
				s := wholeScene(look.chart, found.Numbers(t, "panel"))
				s.agrees(t, b.Shot(t, page, window[0], window[1]))
			})
		}
	}
}

// tidy holds what the page measured on itself.
func tidy(t *testing.T, found headless.Attributes, window [2]int) {
	assert.Equal(t, window[:], found.Numbers(t, "window"))
	assert.Equal(t, "0", found["overlaps"], found["examples"])
	assert.LessOrEqual(t, found.Numbers(t, "misjudged")[0], 1, "labels are as long as they were taken for")
	assert.Equal(t, "0", found["clipped"], found["examples"])
	assert.Greater(t, found.Numbers(t, "checked")[0], 25, "labels of axes and head")
}

func (s *scene) agrees(t *testing.T, shot image.Image) {
	result := s.compare(t, shot)
	assert.GreaterOrEqual(t, result.rects, min(len(s.chart.Buffers)/5, 40),
		"too few rectangles are large enough to look at")
	assert.Greater(t, result.free, 100)
	assert.Zero(t, result.wrongRects, "of %d rectangles", result.rects)
	assert.Zero(t, result.wrongFree, "of %d free places", result.free)

	// The comparison can fail: a chart upside down has other pixels.
	other, c := *s, *s.chart
	other.chart = &c
	c.Buffers = append([]Rect{}, c.Buffers...)
	for i := range c.Buffers {
		c.Buffers[i].Offset = c.FrameBytes - c.Buffers[i].Offset - c.Buffers[i].Bytes
	}
	wrong := other.compare(t, shot)
	assert.Greater(t, wrong.wrongRects+wrong.wrongFree, (result.rects+result.free)/20)
}

func TestDarkPage(t *testing.T) {
	b := headless.New(t)
	c := synthetic(669)
	page := headless.File(t, "page.html", htmlOf(t, c))
	s := wholeScene(c, b.Dump(t, page+"#check", 1280, 800).Numbers(t, "panel"))
	s.dark = true
	s.agrees(t, b.Shot(t, page, 1280, 800, "--blink-settings=preferredColorScheme=0"))
}

// TestManyRectangles draws on the canvas, whole and a part of it.
func TestManyRectangles(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: many seconds")
	}
	b := headless.New(t)
	c := synthetic(20000)
	page := headless.File(t, "page.html", htmlOf(t, c))
	found := b.Dump(t, page+"#check", 1280, 800)
	tidy(t, found, [2]int{1280, 800})
	assert.Equal(t, []int{0}, found.Numbers(t, "rectangles"), "none is an element")
	coloured := colouredPart(t, b.Shot(t, page, 1280, 800), found.Numbers(t, "panel"))
	covered := 0.0
	for _, r := range c.Buffers {
		covered += float64(r.End-r.First) * float64(r.Bytes)
	}
	covered /= float64(c.Steps) * float64(c.FrameBytes)
	assert.InDelta(t, covered, coloured, 0.05, "the picture is as full as the frame")

	found = b.Dump(t, page+"#check&steps=500-600", 1280, 800)
	tidy(t, found, [2]int{1280, 800})
	assert.Greater(t, found.Numbers(t, "names")[0], 3)
	s := scene{chart: c, start: 500, end: 600, panel: found.Numbers(t, "panel")}
	s.agrees(t, b.Shot(t, page+"#steps=500-600", 1280, 800))
}

// colouredPart is how much of the panel has a buffer's colour, faint ones in part: how far
// a pixel is on the way from the page to the colour that it is nearest to.
func colouredPart(t *testing.T, shot image.Image, panel []int) float64 {
	colours := palette(t, false)
	vector := func(c color.Color) [3]float64 {
		r, g, b, _ := c.RGBA()
		return [3]float64{float64(r >> 8), float64(g >> 8), float64(b >> 8)}
	}
	page := vector(colours["page"])
	sum := 0.0
	for x := panel[0]; x < panel[0]+panel[2]; x++ {
		for y := panel[1]; y < panel[1]+panel[3]; y++ {
			p, nearest, part := vector(shot.At(x, y)), math.Inf(1), 0.0
			for slot := range slots {
				full := vector(colours[fmt.Sprintf("k%dt1", slot)])
				along, length := 0.0, 0.0
				for i := range p {
					along += (p[i] - page[i]) * (full[i] - page[i])
					length += (full[i] - page[i]) * (full[i] - page[i])
				}
				way, off := min(1, max(0, along/length)), 0.0
				for i := range p {
					d := p[i] - page[i] - way*(full[i]-page[i])
					off += d * d
				}
				if off < nearest {
					nearest, part = off, way
				}
			}
			sum += part
		}
	}
	return sum / float64(panel[2]*panel[3])
}

// TestCheckFindsFaults spoils a page: a check that finds nothing proves nothing.
func TestCheckFindsFaults(t *testing.T) {
	b := headless.New(t)
	page := htmlOf(t, synthetic(12))
	spoilt := strings.Replace(page, "</style>",
		"svg text { transform: none !important } #names text { font-size: 60px } </style>", 1)
	found := b.Dump(t, headless.File(t, "page.html", spoilt)+"#check", 1280, 800)
	assert.NotEqual(t, "0", found["overlaps"])
	spoilt = strings.Replace(page, "</style>", ".figures { margin-right: -100px } </style>", 1)
	found = b.Dump(t, headless.File(t, "page.html", spoilt)+"#check", 1280, 800)
	assert.NotEqual(t, "0", found["clipped"])
}

// story is what a person does on the page, by synthetic events; it leaves what it
// saw in attributes of the root element.
const story = `<script>
setTimeout(() => {
  const front = document.getElementById('front'), tip = document.getElementById('tip'), seen = document.documentElement.dataset;
  const rects = Array.from(document.querySelectorAll('.buffer'));
  const area = (r) => r.getAttribute('width') * r.getAttribute('height');
  const large = rects.reduce((a, b) => (area(b) > area(a) ? b : a)).getBoundingClientRect();
  front.setPointerCapture = () => {};
  const point = (type, dx = 4) => front.dispatchEvent(new PointerEvent(type, {
    clientX: large.left + dx, clientY: large.top + 4, bubbles: true, pointerId: 1 }));
  const key = (name, more) => front.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true, ...more }));
  const say = (name) => { seen[name] = tip.hidden ? 'hidden' : tip.className + '|' + tip.innerText.replace(/\s+/g, ' '); };
  point('pointermove'); say('hover');
  point('pointerdown'); point('pointerup'); say('pinned');
  point('pointermove', -40); say('held');
  front.dispatchEvent(new PointerEvent('pointerleave', {})); say('left');
  key('Escape'); say('escaped');
  key('ArrowRight'); say('first');
  key('ArrowRight'); say('second');
  key('Escape');
  const search = document.getElementById('search');
  search.value = 'CONV3'; search.dispatchEvent(new Event('input'));
  seen.found = document.getElementById('found').textContent;
  seen.bright = document.querySelectorAll('.buffer.found').length;
  search.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' })); say('entered');
  search.value = ''; search.dispatchEvent(new Event('input'));
  seen.cleared = document.querySelectorAll('.buffer.found, .buffer.faint').length;
  key('Escape');
  const drawn = () => document.querySelectorAll('.buffer').length;
  for (let i = 0; i < 5; i++) key('+');
  setTimeout(() => {
    seen.zoomed = drawn();
    key('0');
    setTimeout(() => { seen.whole = drawn(); }, 50);
  }, 50);
}, 50);
</script></body>`

func TestPageAnswers(t *testing.T) {
	b := headless.New(t)
	c := synthetic(669)
	// A browser without a screen draws few frames, or none.
	frames := "<head><script>window.requestAnimationFrame = (draw) => setTimeout(draw, 1);</script>"
	page := headless.File(t, "page.html", strings.NewReplacer("<head>", frames, "</body>", story).Replace(htmlOf(t, c)))
	saw := b.Dump(t, page, 1280, 800)
	largest, first := c.Buffers[0], c.Buffers[0]
	conv3 := 0
	for _, r := range c.Buffers {
		if int64(r.End-r.First)*r.Bytes > int64(largest.End-largest.First)*largest.Bytes {
			largest = r
		}
		if strings.Contains(r.Name, "conv3") {
			conv3++
		}
	}
	for _, moment := range []string{"hover", "pinned", "left"} {
		assert.Contains(t, saw[moment], largest.Name)
		assert.Contains(t, saw[moment], largest.Detail)
		assert.Contains(t, saw[moment], size(largest.Bytes)+" (")
		assert.Contains(t, saw[moment], fmt.Sprintf("(0x%x)", largest.Offset))
		assert.Contains(t, saw[moment], fmt.Sprintf("First step %d Last step %d", largest.First, largest.End-1))
	}
	assert.True(t, strings.HasPrefix(saw["pinned"], "pinned|"))
	assert.Equal(t, saw["pinned"], saw["held"], "what is pinned stays")
	assert.Equal(t, saw["pinned"], saw["left"], "what is pinned stays")
	assert.Equal(t, "hidden", saw["escaped"])
	assert.Contains(t, saw["first"], first.Name)
	assert.NotContains(t, saw["second"], first.Name+" ")
	assert.Equal(t, fmt.Sprintf("%d of 669", conv3), saw["found"])
	assert.Equal(t, fmt.Sprint(conv3), saw["bright"])
	assert.Contains(t, saw["entered"], "/conv3/")
	assert.Equal(t, "0", saw["cleared"])
	assert.Less(t, saw.Numbers(t, "zoomed")[0], 200)
	assert.Equal(t, "669", saw["whole"])
}

// TestSVG shows the other picture to the browser, and has its labels measured by the
// page's check.
func TestSVG(t *testing.T) {
	b := headless.New(t)
	for _, c := range headless.Some(synthetic(669), synthetic(12), crowded(), fromFile(t,
		"light_densenet121.csv")) {
		if c == nil {
			continue
		}
		t.Run(fmt.Sprintf("%.20s", c.Title), func(t *testing.T) {
			picture := svgOf(t, c)
			s := wholeScene(c, []int{panelLeft, panelTop, panelWidth, panelHeight})
			s.agrees(t, b.Shot(t, headless.File(t, "picture.svg", picture), svgWidth, svgHeight))
			check, err := assetText("check.js")
			require.NoError(t, err)
			page := headless.File(t, "page.html",
				`<html><body style="margin: 0"><div id="stage">`+picture+`</div><script>
const byId = (id) => document.getElementById(id), panel = {}, view = {}, fromAddress = () => check();`+check+`</script></body></html>`)
			tidy(t, b.Dump(t, page, svgWidth, svgHeight+10), [2]int{svgWidth, svgHeight + 10})
		})
	}
}

// fromFile is fromCSV, or nil where the data are not there.
func fromFile(t *testing.T, name string) *Chart {
	if os.Getenv("TL_TEST_DATA") == "" {
		fmt.Println("skip: the picture of", name+": TL_TEST_DATA is not set")
		return nil
	}
	return fromCSV(t, name)
}
