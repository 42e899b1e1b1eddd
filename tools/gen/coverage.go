package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A check of a C program says which documented error it provokes. Where a test has none that names function and status,
// a comment says so:
//
//	covers: tl_ptr_release TL_E_NOT_LIVE, TL_E_UNKNOWN_POINTER
var (
	coverageRoots = []string{"tests_c", "python/tests", "runtime"}
	marker        = regexp.MustCompile(`covers: (tl_\w+)((?:,? TL_E_\w+)+)`)
	check         = regexp.MustCompile(`CHECK_(?:FAILS|STATUS|REFUSED|(REFUSES)\w*)\(\s*(?:\([^()]*\)\s*)?(tl_\w+)\(`)
	lastStatus    = regexp.MustCompile(`,\s*(TL_E_\w+)$`)
	ofBadPointers = []string{"TL_E_UNKNOWN_POINTER", "TL_E_INTERIOR_POINTER", "TL_E_NOT_LIVE"} // tests_c/bad.h
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
	provoked, marked := map[string]bool{}, map[string]string{}
	if err := readTests(root, provoked, marked); err != nil {
		return []string{err.Error()}
	}
	for pair := range documented {
		if !provoked[pair] && marked[pair] == "" {
			faults = append(faults, "no test has `covers: "+pair+"`, or a check of it")
		}
	}
	for pair, where := range marked {
		if !documented[pair] {
			faults = append(faults, where+": covers an error that is not documented: "+pair)
		}
	}
	slices.Sort(faults)
	return faults
}

// readTests collects the pairs that checks provoke, and those that comments claim, each with a file.
func readTests(root string, provoked map[string]bool, marked map[string]string) error {
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
					marked[string(m[1])+" "+name] = strings.TrimPrefix(path, root+string(filepath.Separator))
				}
			}
			readChecks(string(text), provoked)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readChecks adds the pairs that the checks in a text provoke.
func readChecks(text string, provoked map[string]bool) {
	for _, at := range check.FindAllStringSubmatchIndex(text, -1) {
		statuses := ofBadPointers
		if at[2] < 0 { // not of bad pointers: the last argument
			statuses = lastStatus.FindStringSubmatch(inParentheses(text[at[0]:]))
			statuses = statuses[min(1, len(statuses)):]
		}
		for _, name := range statuses {
			provoked[text[at[4]:at[5]]+" "+name] = true
		}
	}
}

// inParentheses returns what stands between the first parenthesis of a text and the one that closes it.
func inParentheses(text string) string {
	begin, depth := strings.IndexByte(text, '('), 0
	for i := begin; i < len(text); i++ {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return text[begin+1 : i]
			}
		}
	}
	return ""
}
