package picture

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"tlruntime/cmd/tl/viz/headless"
)

// TestSizesAreThoseOfTheHead has the page's script write sizes as Go does for the head.
func TestSizesAreThoseOfTheHead(t *testing.T) {
	b := headless.New(t)
	random := rand.New(rand.NewSource(1))
	bytes := []int64{0, 9, 10, 999, 1023, 1024, 1280, 1331, 39456, 10239, 10240, 1 << 20, 1<<20 - 1, 3<<29 + 1, 1 << 50}
	for range 500 {
		bytes = append(bytes, random.Int63n(1<<(4+random.Intn(44))))
	}
	var want []string
	for _, n := range bytes {
		want = append(want, size(n))
	}
	script, err := assetText("numbers.js")
	if !assert.NoError(t, err) {
		return
	}
	numbers := strings.Trim(strings.ReplaceAll(fmt.Sprint(bytes), " ", ","), "[]")
	page := `<html><script id="data" type="application/json">{}</script><script>` + script +
		`document.documentElement.dataset.sizes = [` + numbers + `].map(size).join('|');</script></html>`
	found := b.Dump(t, headless.File(t, "page.html", page), 800, 600)
	for i, text := range strings.Split(found["sizes"], "|") {
		assert.Equal(t, want[i], text, bytes[i])
	}
}
