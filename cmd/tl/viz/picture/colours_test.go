package picture

import (
	"fmt"
	"image/color"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type triple [3]float64

func (v triple) times(m [3]triple) (w triple) {
	for i := range m {
		for j := range v {
			w[i] += m[i][j] * v[j]
		}
	}
	return w
}

// linear is light as it adds up.
func linear(c color.RGBA) (v triple) {
	for i, n := range []uint8{c.R, c.G, c.B} {
		x := float64(n) / 255
		if v[i] = x / 12.92; x > 0.04045 {
			v[i] = math.Pow((x+0.055)/1.055, 2.4)
		}
	}
	return v
}

// oklab is a place in a space where equal distances look equal.
func oklab(light triple) triple {
	v := light.times([3]triple{{0.4122214708, 0.5363325363, 0.0514459929}, {0.2119034982, 0.6806995451, 0.1073969566},
		{0.0883024619, 0.2817188376, 0.6299787005}})
	for i := range v {
		v[i] = math.Cbrt(v[i])
	}
	return v.times([3]triple{{0.2104542553, 0.7936177850, -0.0040720468}, {1.9779984951, -2.4285922050, 0.4505937099},
		{0.0259040371, 0.7827717662, -0.8086757660}})
}

// sights are what eyes see of light that lack one kind of cone, by Machado and others
// (2009).
var sights = map[string][3]triple{
	"all cones": {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"no red":    {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"no green":  {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"no blue":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

// apart is how different two colours look; 0.02 is just noticeable, white is 1 from black.
func apart(a, b color.RGBA, sight [3]triple) float64 {
	see := func(c color.RGBA) triple {
		v := linear(c).times(sight)
		for i := range v {
			v[i] = min(1, max(0, v[i]))
		}
		return oklab(v)
	}
	p, q := see(a), see(b)
	return math.Hypot(math.Hypot(p[0]-q[0], p[1]-q[1]), p[2]-q[2])
}

// contrast is that of WCAG 2, from 1 to 21.
func contrast(a, b color.RGBA) float64 {
	light := func(c color.RGBA) float64 {
		v := linear(c)
		return 0.2126*v[0] + 0.7152*v[1] + 0.0722*v[2] + 0.05
	}
	x, y := light(a), light(b)
	return max(x, y) / min(x, y)
}

// TestHuesStayApart holds the palette to be one for everybody, in both themes.
func TestHuesStayApart(t *testing.T) {
	for _, dark := range []bool{false, true} {
		colours := palette(t, dark)
		for name, sight := range sights {
			least := map[bool]float64{true: 0.075, false: 0.12}[name != "all cones"]
			for a := range slots {
				for b := range a {
					x, y := colours[fmt.Sprintf("k%dt1", a)], colours[fmt.Sprintf("k%dt1", b)]
					assert.Greater(t, apart(x, y, sight), least, "hues %d and %d, %s, dark: %t", a, b, name, dark)
				}
			}
			// From less to more: the ends and the middle are three colours.
			for _, pair := range [][2]int{{0, 3}, {3, 6}, {0, 6}} {
				x, y := colours[fmt.Sprintf("dd%d", pair[0])], colours[fmt.Sprintf("dd%d", pair[1])]
				assert.Greater(t, apart(x, y, sight), 0.09, "steps %v, %s, dark: %t", pair, name, dark)
			}
		}
	}
	assert.Less(t, apart(color.RGBA{0xc0, 0x60, 0x60, 255}, color.RGBA{0x80, 0x78, 0x60, 255}, sights["no red"]), 0.075,
		"red and olive are alike without red: the measure can fail")
}

// TestTextIsLegible has the contrast of every text to what it stands on.
func TestTextIsLegible(t *testing.T) {
	const weave = 0.3 // the opacity of textures
	for _, dark := range []bool{false, true} {
		c := palette(t, dark)
		for _, name := range []string{"ink", "muted", "bound", "focus", "ok"} {
			assert.GreaterOrEqual(t, contrast(c[name], c["page"]), 4.5, "%s, dark: %t", name, dark)
		}
		under := []string{}
		for slot := range slots {
			for tone := range tones {
				under = append(under, fmt.Sprintf("k%dt%d", slot, tone))
			}
		}
		for step := range 7 {
			under = append(under, fmt.Sprintf("dd%d", step))
		}
		for _, name := range under {
			require.Contains(t, c, name)
			assert.GreaterOrEqual(t, contrast(c["on"], c[name]), 4.5, "text on %s, dark: %t", name, dark)
			mix := func(a, b uint8) uint8 { return uint8(weave*float64(a) + (1-weave)*float64(b)) }
			thread := color.RGBA{mix(c["on"].R, c[name].R), mix(c["on"].G, c[name].G), mix(c["on"].B, c[name].B), 255}
			assert.GreaterOrEqual(t, contrast(thread, c[name]), 1.5, "threads show on %s, dark: %t", name, dark)
		}
	}
	sheet, err := assetText("page.css", "chart.css")
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(sheet, "stroke-opacity: .3; stroke-width: 1.4"), "the opacity of the test")
}

// touching lists pairs of buffers that share an edge, by a search of its own.
func touching(c *Chart, groups []int) (pairs [][2]int) {
	for i, a := range c.Buffers {
		for j, b := range c.Buffers[:i] {
			if groups[i] != groups[j] && a.First <= b.End && b.First <= a.End && a.Offset <= b.Offset+b.Bytes &&
				b.Offset <= a.Offset+a.Bytes {
				pairs = append(pairs, [2]int{groups[i], groups[j]})
			}
		}
	}
	return pairs
}

// TestNeighboursDiffer has plans of networks: no two buffers that touch have one colour,
// and hues suffice, all of which are used.
func TestNeighboursDiffer(t *testing.T) {
	for _, c := range []*Chart{synthetic(12), synthetic(669), synthetic(4000), crowded()} {
		names, groups := c.groups()
		colours := c.colours(groups, len(names))
		pairs := touching(c, groups)
		require.NotEmpty(t, pairs)
		for _, p := range pairs {
			require.NotEqual(t, colours[p[0]], colours[p[1]], "%s and %s", names[p[0]], names[p[1]])
		}
		used, others := map[int]int{}, 0
		for _, l := range colours {
			used[l.Slot]++
			if l.Tone != 1 {
				others++
			}
		}
		assert.Len(t, used, slots)
		assert.LessOrEqual(t, others, len(colours)/50, "the middle tones suffice for almost all")
		assert.Equal(t, colours, c.colours(groups, len(names)), "the same each time")
	}
}

// TestAnyNeighboursDiffer packs any buffers: rectangles that do not overlap need few
// colours, so that there is always one left.
func TestAnyNeighboursDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var buffers []Rect
		for n := range rapid.IntRange(1, 60).Draw(t, "buffers") {
			first := rapid.IntRange(0, 30).Draw(t, "first")
			buffers = append(buffers, Rect{Name: fmt.Sprint(n), First: first, End: first + rapid.IntRange(1, 12).Draw(t, "life"),
				Bytes: 64 * rapid.Int64Range(1, 40).Draw(t, "bytes")})
		}
		c := packed("any", buffers)
		names, groups := c.groups()
		colours := c.colours(groups, len(names))
		for _, p := range touching(c, groups) {
			require.NotEqual(t, colours[p[0]], colours[p[1]])
		}
	})
}

// TestMoreNeighboursThanColours has buffers that all lie on each other.
func TestMoreNeighboursThanColours(t *testing.T) {
	c := &Chart{Steps: 1, FrameBytes: 100}
	for n := range 3 * len(looks) {
		c.Buffers = append(c.Buffers, Rect{Name: fmt.Sprint(n), End: 1, Bytes: 100})
	}
	names, groups := c.groups()
	used := map[look]int{}
	for _, l := range c.colours(groups, len(names)) {
		used[l]++
	}
	for _, l := range looks {
		assert.Equal(t, 3, used[l], "none is used more than others: %v", l)
	}
}
