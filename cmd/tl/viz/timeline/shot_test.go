package timeline

import (
	"fmt"
	"image/color"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/cmd/tl/viz/headless"
)

func TestMain(m *testing.M) { headless.Main(m) }

func textOf(t *testing.T, trace *Trace) string {
	var b strings.Builder
	require.NoError(t, trace.Write(&b, "train.py"))
	return b.String()
}

func pageOf(t *testing.T, trace *Trace) string {
	return headless.File(t, "page.html", textOf(t, trace))
}

// TestOnAPhone has what TestPage looks for in a narrow window.
func TestOnAPhone(t *testing.T) {
	b := headless.New(t)
	found := b.DumpNarrow(t, textOf(t, training().trace(t)), 390, 3200)
	assert.Equal(t, "390 3200", found["window"])
	assert.Equal(t, "0", found["overlaps"], found["examples"])
	assert.LessOrEqual(t, found.Numbers(t, "misjudged")[0], 1, "labels are as long as they were taken for")
	assert.Equal(t, "0", found["clipped"], found["examples"])
	assert.Greater(t, found.Numbers(t, "checked")[0], 40)
	assert.Greater(t, found.Numbers(t, "panel")[2], 260, "most of the window is for the picture")
}

// TestPage looks at the page in several sizes: no text touches another or is cut off,
// and blocks lie where the trace says, in the colour of their kind.
func TestPage(t *testing.T) {
	b := headless.New(t)
	traces := map[string]*Trace{"training": training().trace(t), "empty": (&script{}).trace(t)}
	if name := os.Getenv("TL_TEST_TRACE"); name != "" {
		file, err := os.Open(name)
		require.NoError(t, err)
		defer file.Close()
		traces["given"], err = Read(file)
		require.NoError(t, err)
	}
	for name, trace := range traces {
		page := pageOf(t, trace)
		for _, window := range headless.Some([2]int{1280, 1700}, [2]int{800, 3200}, [2]int{2000, 1700}) {
			t.Run(fmt.Sprintf("%s at %d", name, window[0]), func(t *testing.T) {
				found := b.Dump(t, page+"#check", window[0], window[1])
				assert.Equal(t, "0", found["overlaps"], found["examples"])
				assert.Equal(t, "0", found["clipped"], found["examples"])
				assert.Greater(t, found.Numbers(t, "checked")[0], 12)
				if name == "training" {
					compare(t, trace, found.Numbers(t, "panel"), b.Shot(t, page, window[0], window[1]).At, 30)
				}
			})
		}
	}
}

// colours of the light theme, by kind.
var colours = map[string][3]color.RGBA{
	"tensor":     {{0x47, 0x87, 0xd2, 255}, {0x55, 0x95, 0xe1, 255}, {0x63, 0xa3, 0xf0, 255}},
	"pool block": {{0xbd, 0x70, 0x15, 255}, {0xcc, 0x7e, 0x2a, 255}, {0xdb, 0x8c, 0x3b, 255}},
	"registered": {{0xdf, 0x7a, 0xa3, 255}, {0xee, 0x88, 0xb1, 255}, {0xfe, 0x96, 0xbf, 255}},
}

// compare looks for blocks at their places, and finds so many at least.
func compare(t *testing.T, trace *Trace, panel []int, at func(x, y int) color.Color, least int) {
	_, _, when := trace.live()
	_, number := trace.sites(when)
	axis := trace.axis()
	last := axis[len(axis)-1]
	frame := float64(last.at + last.room)
	looked := 0
	for _, b := range trace.Blocks {
		offset := float64(placeOf(axis, b.Address))
		x := func(micros float64) float64 { return float64(panel[0]) + micros/trace.End*float64(panel[2]) }
		y := func(bytes float64) float64 { return float64(panel[1]+panel[3]) - bytes/frame*float64(panel[3]) }
		top, bottom := y(offset+float64(b.Bytes)), y(offset)
		if x(b.End)-x(b.First) < 8 || bottom-top < 5 {
			continue
		}
		looked++
		want := colours[b.kindOf()][number[b.Site]%3]
		px, py := int(math.Round(x(b.First)))+2, int(math.Round(top))+1
		r, g, bl, _ := at(px, py).RGBA()
		got := color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(bl >> 8), 255}
		near := func(a, b uint8) bool { return math.Abs(float64(a)-float64(b)) <= 2 }
		require.True(t, near(got.R, want.R) && near(got.G, want.G) && near(got.B, want.B),
			"%s of %d bytes at %d,%d: %v, want %v", b.kindOf(), b.Bytes, px, py, got, want)
	}
	assert.GreaterOrEqual(t, looked, least)
}

// TestPointerAndDark has a site found, its block pinned, in the dark theme.
func TestPointerAndDark(t *testing.T) {
	b := headless.New(t)
	page := pageOf(t, training().trace(t))
	found := b.Dump(t, page+"#find=weights&pin&check", 1280, 1700)
	assert.Equal(t, "0", found["overlaps"], found["examples"])
	shot := b.Shot(t, page+"#find=weights&pin", 1280, 1700, "--blink-settings=preferredColorScheme=0")
	r, g, bl, _ := shot.At(3, 3).RGBA()
	assert.Less(t, (r+g+bl)>>8, uint32(120), "the page is dark")
}

// TestLabels reads the axes: units are those of the largest value, and the peak is named.
func TestLabels(t *testing.T) {
	b := headless.New(t)
	s := &script{}
	s.alloc(10, heapAt, 340000, "object", "tensor", 0)
	s.free(30, heapAt)
	s.alloc(40, heapAt, 5000, "object", "", 0)
	s.event("step", "i", 90, `,"s":"p","cat":"mark"`)
	labels := strings.Split(b.Dump(t, pageOf(t, s.trace(t))+"#check", 1280, 900)["labels"], "|")
	for _, want := range []string{"peak 332 KiB", "128 KiB", "256 KiB", "20 µs", "step"} {
		assert.Contains(t, labels, want)
	}
	labels = strings.Split(b.Dump(t, pageOf(t, training().trace(t))+"#check", 1280, 900)["labels"], "|")
	for _, want := range []string{"peak 6.5 MiB", "4 MiB", "1.0 ms", "pool 3", "pools have"} {
		assert.Contains(t, labels, want)
	}
}

// TestUnusedMemoryIsLabelled has a chunk of which little was used: the axis says what it
// leaves out, and the curve keeps its height.
func TestUnusedMemoryIsLabelled(t *testing.T) {
	b := headless.New(t)
	s := &script{}
	s.chunk(1, "chunk obtained", chunkAt, 256*mib)
	s.alloc(2, chunkAt+100*mib, 2*mib, "pool block", "", 1)
	s.event("end", "i", 9, `,"s":"p","cat":"mark"`)
	page := pageOf(t, s.trace(t))
	found := b.Dump(t, page+"#check", 1280, 900)
	labels := strings.Split(found["labels"], "|")
	for _, want := range []string{"154 MiB unused", "100 MiB unused", "pools ↑", "peak 2.0 MiB", "2 MiB"} {
		assert.Contains(t, labels, want)
	}
	compare(t, s.trace(t), found.Numbers(t, "panel"), b.Shot(t, page, 1280, 900).At, 1)
}

// TestTablesAreSorted presses the heads of the columns.
func TestTablesAreSorted(t *testing.T) {
	b := headless.New(t)
	const press = `<script>
	const first = () => document.querySelector('.below tbody td').textContent, told = document.documentElement.dataset;
	told.before = first();
	document.querySelectorAll('.below th button')[2].click();
	told.after = first();
	told.sorted = document.querySelector('.below th[aria-sort]').textContent;
	</script>`
	s := training()
	for n := range uint64(100) {
		s.alloc(5000+float64(n), heapAt+64*mib, 1, "object", "", 9)
		s.free(5000.5+float64(n), heapAt+64*mib)
	}
	found := b.Dump(t, headless.File(t, "page.html", textOf(t, s.trace(t))+press), 1280, 900)
	assert.Contains(t, found["before"], "forward.py:14")
	assert.Equal(t, "main", found["after"])
	assert.Equal(t, "Allocations", found["sorted"])
}

// TestACrowdIsPointedAt has the pointer rest on one of thousands of a site: marks for all of
// them would take longer than the pointer does.
func TestACrowdIsPointedAt(t *testing.T) {
	b := headless.New(t)
	const point = `<script>
	const front = document.getElementById('front'), r = front.getBoundingClientRect(), told = document.documentElement.dataset;
	front.dispatchEvent(new PointerEvent('pointermove', { clientX: r.left + 400, clientY: r.top + 100 }));
	told.marks = document.querySelectorAll('#marks .mark').length;
	told.tip = document.getElementById('tip').textContent;
	</script>`
	s := &script{}
	for n := range uint64(20000) {
		at := float64(n)
		s.alloc(at, heapAt, mib, "object", "", 1)
		s.free(at+1, heapAt)
	}
	found := b.Dump(t, headless.File(t, "page.html", textOf(t, s.trace(t))+point), 1280, 900)
	assert.Equal(t, "1", found["marks"])
	assert.Contains(t, found["tip"], "1.0 MiB")
}
