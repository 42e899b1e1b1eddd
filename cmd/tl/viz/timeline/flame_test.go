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

// network has a main that calls two functions, of which one calls the other.
func network() *script {
	s := &script{frames: []string{
		`"1":{"name":"make","file":"/s/net.c","line":5,"parent":"11"}`, `"11":{"name":"conv","file":"/s/net.c","line":6,"parent":"20"}`,
		`"2":{"name":"make","file":"/s/net.c","line":5,"parent":"20"}`, `"20":{"name":"main","file":"/s/net.c","line":30}`,
		`"3":{"name":"make","file":"/s/net.c","line":7,"parent":"20"}`,
	}}
	s.alloc(1, heapAt, 1000, "object", "tensor", 1)
	s.alloc(2, heapAt+mib, 300, "object", "tensor", 2)
	s.alloc(3, heapAt+2*mib, 200, "object", "tensor", 3)
	s.free(4, heapAt)
	s.alloc(5, heapAt, 50, "object", "tensor", 0)
	return s
}

// lines writes a tree, a line for each node.
func (d *flameData) lines() (all []string) {
	for i, n := range d.Name {
		line := fmt.Sprintf("%*s%s %d %d %d %d", 2*d.Depth[i], "", d.Names[n], d.Figures.Peak[i], d.Figures.End[i],
			d.Figures.Bytes[i], d.Figures.Count[i])
		if b := d.Before; b != nil {
			line += fmt.Sprintf(" / %d %d %d %d", b.Peak[i], b.End[i], b.Bytes[i], b.Count[i])
		}
		all = append(all, line)
	}
	return all
}

func TestFlame(t *testing.T) {
	trace := network().trace(t)
	_, _, when := trace.live()
	sites, _ := trace.sites(when)
	assert.Equal(t, []string{
		"everything 1500 550 1550 4",
		"  net.c:30 main 1500 500 1500 3",
		"    net.c:6 conv 1000 0 1000 1",
		"      net.c:5 make 1000 0 1000 1",
		"    net.c make 500 500 500 2", // from two lines
		"  not recorded 0 50 50 1",
	}, flameOf(sites).lines())
}

// TestFlameOfMany has more stacks than a page shows, of which one is large.
func TestFlameOfMany(t *testing.T) {
	root := &call{}
	for n := range 3 * mostNodes {
		root.grow([]frame{{Name: fmt.Sprintf("f%d", n), File: "f.c", Line: n + 1}}, 1, Figures{Count: 1, Bytes: 1})
	}
	root.grow([]frame{{Name: "large"}}, 1, Figures{Count: 1, Bytes: 3 * mostNodes})
	d := flame(root, false)
	assert.LessOrEqual(t, len(d.Name), mostNodes)
	assert.Contains(t, d.Names, "large")
	assert.EqualValues(t, 6*mostNodes, d.Figures.Bytes[0], "what is left out still counts")
}

// TestAnyFlame holds trees to what a picture needs: callers have at least what they call.
func TestAnyFlame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := &call{}
		for range rapid.IntRange(0, 30).Draw(t, "stacks") {
			var code []frame
			for range rapid.IntRange(1, 6).Draw(t, "depth") {
				code = append(code, frame{Name: rapid.SampledFrom([]string{"a", "b", "f.c:2"}).Draw(t, "name"), File: "f.c",
					Line: rapid.IntRange(0, 3).Draw(t, "line")})
			}
			root.grow(code, rapid.IntRange(0, 1).Draw(t, "side"), Figures{Bytes: rapid.Int64Range(0, 99).Draw(t, "bytes")})
		}
		d := flame(root, true)
		for _, list := range [][]int64{d.Figures.Bytes, d.Before.Bytes} {
			require.Len(t, list, len(d.Name))
			for i := range list {
				sum := int64(0)
				for k := i + 1; k < len(list) && d.Depth[k] > d.Depth[i]; k++ {
					if d.Depth[k] == d.Depth[i]+1 {
						sum += list[k]
					}
				}
				require.LessOrEqual(t, sum, list[i])
			}
		}
	})
}

// atFlame has the page tell what a person sees there.
const atFlame = `<script>
const told = document.documentElement.dataset;
const boxes = () => Array.from(document.querySelectorAll('#flame button'));
const box = (text) => boxes().find((b) => b.textContent.includes(text));
const share = (text) => box(text) ? Math.round(1000 * box(text).getBoundingClientRect().width / box('everything').getBoundingClientRect().width) : -1;
const press = (key, at) => (at || document.activeElement).dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
const say = (name, text) => { told[name] = text; };
%s
</script>`

// told runs a script on a page and returns what it said.
func told(t *testing.T, b *headless.Browser, page, script string) headless.Attributes {
	return b.Dump(t, headless.File(t, "page.html", page+fmt.Sprintf(atFlame, script)), 1280, 900)
}

func TestFlameAnswers(t *testing.T) {
	saw := told(t, headless.New(t), textOf(t, network().trace(t)), `
	say('shares', ['main', 'conv', 'net.c make'].map(share).join(' '));
	say('hover', box('conv').title);
	box('conv').dispatchEvent(new PointerEvent('pointerover', { bubbles: true })); say('about', document.getElementById('flamed').textContent);
	box('conv').click(); say('zoomed', boxes().map((b) => b.textContent).join('|'));
	say('conv', share('conv'));
	press('Escape'); say('whole', boxes().length);
	press('ArrowDown'); press('ArrowDown'); press('ArrowRight'); say('walked', document.activeElement.textContent);
	press('ArrowUp'); say('up', document.activeElement.textContent);
	const measure = document.querySelectorAll('#measures button');
	measure[1].click(); say('left', boxes().map((b) => b.textContent).join('|')); say('pressed', document.querySelector('#measures [aria-pressed=true]').textContent);
	const search = document.getElementById('search'); search.value = 'MAKE'; search.dispatchEvent(new Event('input'));
	say('found', document.querySelectorAll('#flame .found').length);
	say('stops', document.querySelectorAll('#flame [tabindex="0"]').length);`)
	assert.Equal(t, "1000 667 333", saw["shares"])
	assert.Equal(t, "net.c:6 conv: 1000 B, 66.7 %", saw["hover"])
	assert.Equal(t, saw["hover"], saw["about"])
	assert.Equal(t, "everything|net.c:30 main|net.c:6 conv|net.c:5 make", saw["zoomed"])
	assert.Equal(t, "1000", saw["conv"])
	assert.Equal(t, "5", saw["whole"])
	assert.Equal(t, "net.c make", saw["walked"])
	assert.Equal(t, "net.c:30 main", saw["up"])
	assert.Equal(t, "everything|net.c:30 main|net.c make|not recorded", saw["left"])
	assert.Equal(t, "At the end", saw["pressed"])
	assert.Equal(t, "1", saw["found"])
	assert.Equal(t, "1", saw["stops"], "the graph is one stop of the tab key")
}

// TestFlameNamesStayText has a function whose name would end the page's script.
func TestFlameNamesStayText(t *testing.T) {
	s := &script{frames: []string{`"1":{"name":"</script><img src=x onerror=alert(1)>"}`}}
	s.alloc(1, heapAt, 5, "object", "", 1)
	text := textOf(t, s.trace(t))
	assert.NotContains(t, text, "<img")
	assert.Contains(t, text, "default-src 'none'")
	saw := told(t, headless.New(t), text, `say('images', document.querySelectorAll('img').length); say('last', boxes().at(-1).textContent);`)
	assert.Equal(t, "0", saw["images"])
	assert.True(t, strings.HasPrefix(saw["last"], "</script>"))
}
