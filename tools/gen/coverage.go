package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Tests say which documented error they provoke, in any comment:
//
//	covers: tl_ptr_release TL_E_NOT_LIVE, TL_E_UNKNOWN_POINTER
var (
	coverageRoots = []string{"tests_c", "python/tests", "runtime"}
	marker        = regexp.MustCompile(`covers: (tl_\w+)((?:,? TL_E_\w+)+)`)
)

// checkCoverage returns the documented pairs of function and status that no
// test covers, and the markers that cover what is not documented.
func checkCoverage(root string) []string {
	src, faults := load(root)
	if len(faults) > 0 {
		return faults
	}
	documented := map[string]bool{}
	for _, e := range src.whole().functions() {
		for _, name := range errorName.FindAllString(e.labels["Errors"], -1) {
			documented[e.name+" "+name] = true
		}
	}
	covered, err := markers(root)
	if err != nil {
		return []string{err.Error()}
	}
	for pair := range documented {
		if covered[pair] == "" {
			faults = append(faults, "no test has `covers: "+pair+"`")
		}
	}
	for pair, where := range covered {
		if !documented[pair] {
			faults = append(faults, where+": covers an error that is not documented: "+pair)
		}
	}
	slices.Sort(faults)
	return faults
}

// markers returns the covered pairs, each with a file that claims it.
func markers(root string) (map[string]string, error) {
	covered := map[string]string{}
	for _, dir := range coverageRoots {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if os.IsNotExist(err) {
				return nil
			}
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range marker.FindAllSubmatch(text, -1) {
				for _, name := range errorName.FindAllString(string(m[2]), -1) {
					covered[string(m[1])+" "+name] = strings.TrimPrefix(path, root+string(filepath.Separator))
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return covered, nil
}
