package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tlruntime/runtime/config"
	"tlruntime/runtime/status"
)

var (
	// name is one of ours, or with a star all that begin so: tl_mem_*.
	name      = regexp.MustCompile(`\b(?:tl|TL|tlc|tlgo|tlpath)_\w+\*?`)
	sourceExt = []string{".h", ".hpp", ".c", ".go", ".py", ".sh", ".cmake", ".in", ".toml", ".txt", ""}
	sources   = []string{"include", "capi", "cshim", "cmake", "packaging", "python", "runtime", "compiler", "cmd",
		"bench", "tests_c", "examples",
		"Makefile", "CMakeLists.txt"}
)

// knownNames returns every name of ours that occurs in the sources, names of files included.
func knownNames(root string) (map[string]bool, error) {
	known := map[string]bool{"tl_runtime": true}
	for _, place := range sources {
		err := filepath.WalkDir(filepath.Join(root, place), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case os.IsNotExist(err):
				return nil
			case err != nil:
				return err
			case entry.IsDir() && slices.Contains(skipped, entry.Name()):
				return fs.SkipDir
			case entry.IsDir() || !slices.Contains(sourceExt, filepath.Ext(path)):
				return nil
			}
			known[strings.TrimSuffix(entry.Name(), filepath.Ext(path))] = true // a header, say
			text, err := os.ReadFile(path)
			for _, n := range name.FindAllString(string(text)+" "+entry.Name(), -1) {
				known[strings.TrimSuffix(n, "*")] = true
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return known, nil
}

// checkNames wants every name of ours in the text to be known.
func (d *document) checkNames(known map[string]bool) (faults []string) {
	for _, n := range name.FindAllString(d.text, -1) {
		exists := known[n] || strings.HasSuffix(n, "_X") // any one, in docs/internals.md
		if prefix, all := strings.CutSuffix(n, "*"); all || strings.HasSuffix(n, "_") {
			for k := range known {
				exists = exists || strings.HasPrefix(k, prefix)
			}
		}
		if !exists {
			faults = append(faults, d.path+": there is no "+n)
		}
	}
	return faults
}

// checkOptions wants the table of options to be that of package config.
func checkOptions(page *document) (faults []string) {
	if page == nil {
		return []string{"no docs/options.md"}
	}
	options := config.New()
	shown := map[string]bool{}
	for _, row := range rows(page.text) {
		n := strings.Trim(row[0], "`")
		if !strings.HasPrefix(n, "TL_") || len(row) < 3 {
			continue
		}
		shown[n] = true
		if !slices.Contains(options.Names(), n) {
			faults = append(faults, page.path+": there is no option "+n)
			continue
		}
		if value := options.Word(n); strings.Trim(row[1], "`") != value {
			faults = append(faults, fmt.Sprintf("%s: the default of %s is %s, not %s", page.path, n, value, row[1]))
		}
		fixed, _ := options.Check(n, options.Word(n))
		if read := cmp.Or(string(fixed), "any time"); !strings.HasPrefix(row[2], read) {
			faults = append(faults, fmt.Sprintf("%s: %s is read %q; the table says %q", page.path, n, read, row[2]))
		}
	}
	for _, n := range options.Names() {
		if !shown[n] {
			faults = append(faults, page.path+" lacks the option "+n)
		}
	}
	return faults
}

var class = regexp.MustCompile(`(?m)^class (\w+)\(`)

// checkStatuses wants a row `| number | name | ... | Python |` for every status.
func checkStatuses(errors *document, root string) (faults []string) {
	if errors == nil {
		return []string{"no docs/errors.md"}
	}
	python, _ := os.ReadFile(filepath.Join(root, "python", "tl_runtime", "_errors.py"))
	var classes []string
	for _, m := range class.FindAllStringSubmatch(string(python), -1) {
		classes = append(classes, m[1])
	}
	next := status.OK
	for _, row := range rows(errors.text) {
		number, err := strconv.Atoi(row[0])
		if err != nil || len(row) < 3 {
			continue
		}
		if shown := strings.Trim(row[1], "`"); status.Status(number) != next || shown != next.String() {
			faults = append(faults, fmt.Sprintf("docs/errors.md: row %d %s where %d is %s", number, shown, next, next))
		}
		if last := strings.Trim(row[len(row)-1], "`"); number != 0 && !slices.Contains(classes, last) {
			faults = append(faults, fmt.Sprintf("docs/errors.md: Python has no %q", last))
		}
		next++
	}
	if next.String() != "TL_E_?" {
		faults = append(faults, "docs/errors.md lacks "+next.String())
	}
	return faults
}
