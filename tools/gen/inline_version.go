package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// inlineVersions has a line for each version of the layout: its number, and a sum of the header that
// programs were given with it.
const inlineVersions = "cshim/inline/versions.txt"

var blanks = regexp.MustCompile(`\s+`)

// inlineSum is a sum of what the text of tl_inline.h makes of a program.
func inlineSum(text string) string {
	text = cComment.ReplaceAllString(text, "")
	return fmt.Sprintf("%x", sha256.Sum256([]byte(blanks.ReplaceAllString(text, " "))))[:32]
}

// checkInlineVersion refuses a header that differs from the one that has the same version.
func checkInlineVersion(s *source, text string) error {
	version := s.types["TL_INLINE_VERSION"]
	if version == nil {
		return fmt.Errorf("TL_INLINE_VERSION is not declared")
	}
	number, sum := strings.TrimSuffix(version.macro, "u"), inlineSum(text)
	known, err := os.ReadFile(filepath.Join(s.root, inlineVersions))
	if err != nil {
		return err
	}
	last := ""
	for _, line := range strings.Split(string(known), "\n") {
		if line == number+" "+sum {
			return nil
		}
		if strings.HasPrefix(line, number+" ") {
			return fmt.Errorf("the layout or the code of inlined operations differs from version %s: "+
				"raise TL_INLINE_VERSION in capi/inlining.go, and add the line `<number> %s` to %s",
				number, sum, inlineVersions)
		}
		last = line
	}
	return fmt.Errorf("%s has no version %s (last line: %q): add the line `%s %s`", inlineVersions, number, last,
		number, sum)
}
