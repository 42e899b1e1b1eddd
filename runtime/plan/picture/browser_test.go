package picture

import (
	"bytes"
	"context"
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

// browser is a Chromium without a window. Its windows have a head that takes some of
// their height; pages are asked how much.
type browser struct {
	program string
	profile string
	head    int
}

var shared *browser

func TestMain(m *testing.M) {
	result := m.Run()
	if shared != nil {
		os.RemoveAll(shared.profile)
	}
	os.Exit(result)
}

// newBrowser returns the browser of all tests, or skips the test where there is none.
func newBrowser(t *testing.T) *browser {
	if shared != nil {
		return shared
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if program, err := exec.LookPath(name); err == nil {
			profile, err := os.MkdirTemp("", "picture")
			require.NoError(t, err)
			shared = &browser{program: program, profile: profile}
			empty := file(t, "empty.html", htmlOf(t, &Chart{}))
			shared.head = 800 - shared.dump(t, empty+"#check", 1280, 800).numbers(t, "window")[1]
			return shared
		}
	}
	fmt.Printf("skip: %s: no chromium or chrome\n", t.Name())
	t.Skip("no chromium or chrome")
	return nil
}

func (b *browser) run(t *testing.T, arguments ...string) []byte {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	arguments = append([]string{"--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
		"--force-color-profile=srgb", "--force-device-scale-factor=1", "--virtual-time-budget=3000",
		"--user-data-dir=" + b.profile}, arguments...)
	command := exec.CommandContext(ctx, b.program, arguments...)
	var complaints bytes.Buffer
	command.Stderr = &complaints
	output, err := command.Output()
	require.NoError(t, err, "%s", complaints.String())
	return output
}

// attributes are those of the page's root element after its scripts ran.
type attributes map[string]string

var (
	root      = regexp.MustCompile(`<html[^>]*>`)
	attribute = regexp.MustCompile(`data-([a-z]+)="([^"]*)"`)
)

// dump loads a page in a window whose inside has the size.
func (b *browser) dump(t *testing.T, page string, width, height int) attributes {
	size := fmt.Sprintf("--window-size=%d,%d", width, height+b.head)
	found := attributes{}
	text := b.run(t, "--dump-dom", size, "file://"+page)
	for _, m := range attribute.FindAllSubmatch(root.Find(text), -1) {
		found[string(m[1])] = html.UnescapeString(string(m[2]))
	}
	require.NotEmpty(t, found, "the page's script did not run")
	return found
}

func (a attributes) numbers(t *testing.T, name string) []int {
	var list []int
	for _, word := range strings.Fields(a[name]) {
		n, err := strconv.Atoi(word)
		require.NoError(t, err, "data-%s: whole numbers are expected: %q", name, a[name])
		list = append(list, n)
	}
	require.NotEmpty(t, list, "data-%s is missing", name)
	return list
}

// shot returns a picture of the page, whose inside has the size.
func (b *browser) shot(t *testing.T, page string, width, height int, more ...string) image.Image {
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

// file writes a page for the browser.
func file(t *testing.T, name, text string) string {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}
