package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A document is a Markdown file, by its path from the root.
type document struct {
	path string
	text string
}

// skipped folders hold nothing that is the repository's.
var skipped = []string{".git", "build", "node_modules"}

// load reads every Markdown file below root, by path.
func load(root string) (map[string]*document, error) {
	docs := map[string]*document{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (slices.Contains(skipped, entry.Name()) || path != root &&
			strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		docs[filepath.ToSlash(name)] = &document{filepath.ToSlash(name), string(text)}
		return err
	})
	return docs, err
}

// block is a fenced block of code that a marker stands above.
var block = regexp.MustCompile("(?ms)^<!-- (file|output): (\\S+) -->\n```[a-z]*\n(.*?)^```$")

// blocks returns the contents of the blocks of a kind, by the path they name.
func (d *document) blocks(kind string) map[string]string {
	found := map[string]string{}
	for _, m := range block.FindAllStringSubmatch(d.text, -1) {
		if m[1] == kind {
			found[m[2]] = m[3]
		}
	}
	return found
}

func (d *document) checkFiles(root string) (faults []string) {
	for path, shown := range d.blocks("file") {
		file, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			faults = append(faults, d.path+": "+err.Error())
		} else if string(file) != shown {
			faults = append(faults, d.path+" shows another "+path+"; run `go run ./tools/doccheck -write`")
		}
	}
	return faults
}

// refresh copies files and figures into the documents that show them.
func refresh(root string) error {
	docs, err := load(root)
	if err != nil {
		return err
	}
	for _, d := range docs {
		text := block.ReplaceAllStringFunc(d.text, func(old string) string {
			m := block.FindStringSubmatchIndex(old)
			file, err := os.ReadFile(filepath.Join(root, old[m[4]:m[5]]))
			if old[m[2]:m[3]] != "file" || err != nil {
				return old
			}
			return old[:m[6]] + string(file) + old[m[7]:]
		})
		if d.path == "README.md" {
			if text, err = withFigures(text, root); err != nil {
				return err
			}
		}
		if text == d.text {
			continue
		}
		if err := os.WriteFile(filepath.Join(root, d.path), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// rows returns the rows of the tables in a text, cell by cell, but for rules.
func rows(text string) (all [][]string) {
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") || strings.Trim(line, "|-: ") == "" {
			continue
		}
		var cells []string
		for _, cell := range strings.Split(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		all = append(all, cells)
	}
	return all
}
