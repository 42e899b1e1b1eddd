// Command charts draws the pictures of docs/ownership.md. Each is a story that
// is played on the runtime: after every step the number of holders that the
// picture shows has to be the count that the runtime reports, so a picture
// cannot tell what is not so.
//
//	go run ./tools/charts    writes docs/count-*.svg
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", ".", "root of the repository")
	flag.Parse()
	for _, s := range stories() {
		picture, err := s.draw()
		if err == nil {
			err = os.WriteFile(filepath.Join(*root, s.path()), []byte(picture), 0o644)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "charts:", err)
			os.Exit(1)
		}
	}
}

// draw plays the story and returns its picture.
func (s *story) draw() (string, error) {
	if err := s.play(); err != nil {
		return "", fmt.Errorf("%s: %w", s.name, err)
	}
	return s.render(), nil
}

func (s *story) path() string { return "docs/count-" + s.name + ".svg" }
