// Package headless looks at pages for tests, in a Chromium without a window. Tests are
// skipped, with a line that says so, where there is none, and under the race detector.
package headless

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Browser is a Chromium without a window. Its windows have a head that takes some of
// their height; pages are asked how much.
type Browser struct {
	program string
	profile string
	head    int
}

var shared *Browser

// Main runs tests and clears up behind the browser.
func Main(m *testing.M) {
	result := m.Run()
	if shared != nil {
		os.RemoveAll(shared.profile)
	}
	os.Exit(result)
}

const empty = "<html><script>document.documentElement.dataset.window = `${innerWidth} ${innerHeight}`</script></html>"

// New returns the browser of all tests, or skips the test where there is none.
func New(t *testing.T) *Browser {
	if raced {
		skip(t, "no browser under the race detector")
	}
	if shared != nil {
		return shared
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if program, err := exec.LookPath(name); err == nil {
			profile, err := os.MkdirTemp("", "picture")
			require.NoError(t, err)
			shared = &Browser{program: program, profile: profile}
			shared.head = 800 - shared.Dump(t, File(t, "empty.html", empty), 1280, 800).Numbers(t, "window")[1]
			return shared
		}
	}
	skip(t, "no chromium or chrome")
	return nil
}

func skip(t *testing.T, why string) {
	fmt.Printf("skip: %s: %s\n", t.Name(), why)
	t.Skip(why)
}

// Some returns the first of a list alone in the short half of the tests: the browser starts for each.
func Some[T any](first T, others ...T) []T {
	if testing.Short() {
		others = nil
	}
	return append([]T{first}, others...)
}

// attempts is how often the browser is started anew when it ends with an error or does not end.
const attempts = 3

// run returns what the browser prints. A browser that does not get as far as the page says nothing of the page: after
// some attempts the test is skipped.
func (b *Browser) run(t *testing.T, arguments ...string) []byte {
	var why error
	for range attempts {
		output, complaints, err := b.start(arguments)
		if why = err; err != nil {
			continue
		}
		for line := range strings.Lines(complaints) {
			require.NotContains(t, line, "CONSOLE", "the page complains")
		}
		return output
	}
	skip(t, fmt.Sprintf("the browser did not run: %v", why))
	return nil
}

func (b *Browser) start(arguments []string) (output []byte, complaints string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	arguments = append([]string{"--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
		"--no-first-run",
		"--enable-logging=stderr", "--force-color-profile=srgb", "--force-device-scale-factor=1",
		"--virtual-time-budget=3000",
		"--user-data-dir=" + b.profile}, arguments...)
	command := exec.CommandContext(ctx, b.program, arguments...)
	command.WaitDelay = time.Second // its children may hold the pipes
	var said bytes.Buffer
	command.Stderr = &said
	output, err = command.Output()
	return output, said.String(), err
}

// narrow shows a page in a frame, since windows have a least width, and takes over what
// its root element tells.
const narrow = `<html><body style="margin:0"><iframe id="frame" style="border:0" width="%d" height="%d"></iframe><script>
const frame = document.getElementById('frame');
frame.addEventListener('load', () => {
  frame.contentWindow.location.hash = 'check';
  setTimeout(() => Object.assign(document.documentElement.dataset, frame.contentDocument.documentElement.dataset), 500);
}, { once: true });
frame.srcdoc = %s;
</script></body></html>`

// DumpNarrow is Dump for a page, given as text, in a window as narrow as that of a phone.
func (b *Browser) DumpNarrow(t *testing.T, text string, width, height int) Attributes {
	quoted, err := json.Marshal(text) // also < and >
	require.NoError(t, err)
	return b.Dump(t, File(t, "narrow.html", fmt.Sprintf(narrow, width, height, quoted)), max(width, 600), height)
}

// Attributes are those of the page's root element after its scripts ran.
type Attributes map[string]string

var (
	root      = regexp.MustCompile(`<html[^>]*>`)
	attribute = regexp.MustCompile(`data-([a-z]+)="([^"]*)"`)
)

// Dump loads a page in a window whose inside has the size.
func (b *Browser) Dump(t *testing.T, page string, width, height int) Attributes {
	size := fmt.Sprintf("--window-size=%d,%d", width, height+b.head)
	found := Attributes{}
	for try := 0; len(found) == 0 && try < attempts; try++ { // a busy browser may end before the page's script
		text := b.run(t, "--dump-dom", size, "file://"+page)
		for _, m := range attribute.FindAllSubmatch(root.Find(text), -1) {
			found[string(m[1])] = html.UnescapeString(string(m[2]))
		}
	}
	require.NotEmpty(t, found, "the page's script did not run")
	return found
}

// Numbers returns whole numbers, of which there is one at least.
func (a Attributes) Numbers(t *testing.T, name string) []int {
	var list []int
	for _, word := range strings.Fields(a[name]) {
		n, err := strconv.Atoi(word)
		require.NoError(t, err, "data-%s: whole numbers are expected: %q", name, a[name])
		list = append(list, n)
	}
	require.NotEmpty(t, list, "data-%s is missing", name)
	return list
}

// Shot returns a picture of the page, whose inside has the size.
func (b *Browser) Shot(t *testing.T, page string, width, height int, more ...string) image.Image {
	target := filepath.Join(t.TempDir(), "shot.png")
	if folder := os.Getenv("TL_TEST_SHOTS"); folder != "" {
		require.NoError(t, os.MkdirAll(folder, 0o750))
		target = filepath.Join(folder, strings.ReplaceAll(t.Name(), "/", "-")+".png")
	}
	b.run(t, append(more, "--screenshot="+target, fmt.Sprintf("--window-size=%d,%d", width, height), "file://"+page)...)
	f, err := os.Open(target)
	require.NoError(t, err)
	defer f.Close()
	picture, err := png.Decode(f)
	require.NoError(t, err)
	require.Equal(t, image.Rect(0, 0, width, height), picture.Bounds())
	return picture
}

// File writes a page for the browser.
func File(t *testing.T, name, text string) string {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}
