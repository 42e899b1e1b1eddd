package main

import (
	"path"
	"regexp"
	"strings"
)

// Nothing is shown on a start page (docs/start-*.md), on a page for who moves here from
// another library (docs/from-*.md), or among the questions (docs/faq.md), that is not tried:
// each block of code stands below a marker.
//
//	<!-- file: PATH -->            the block is that file, and a command of the page names it
//	<!-- run -->                   the block is commands for sh, in the root of the repository
//	<!-- run where CONDITION -->   likewise, on machines where this command succeeds
//	<!-- prints -->                what the commands above print; a line `...` stands for any
//	                               lines, and `...` at a line's end for the rest of it
//
// A step is a block of commands with what they print.
type step struct {
	commands string
	where    string // a command that tells whether a machine can run the others; "" is any machine
	prints   string
	isShown  bool // that it prints something
}

func isTriedPage(p string) bool {
	for _, pattern := range []string{"docs/start-*.md", "docs/from-*.md", "docs/faq.md"} {
		if ok, _ := path.Match(pattern, p); ok {
			return true
		}
	}
	return false
}

const (
	named    = "file: "
	runWhere = "run where "
)

var fenced = regexp.MustCompile(
	"(?m)(?:^<!-- (file: \\S+|run|run where .+|prints|output: \\S+) -->\n)?^```[a-z+]*\n((?s:.*?))^```$")

// steps returns the commands of a page in their order.
func (d *document) steps() (all []step) {
	for _, m := range fenced.FindAllStringSubmatch(d.text, -1) {
		where, isConditional := strings.CutPrefix(m[1], runWhere)
		switch {
		case m[1] == "run":
			all = append(all, step{commands: m[2]})
		case isConditional:
			all = append(all, step{commands: m[2], where: where})
		case m[1] == "prints" && len(all) > 0:
			all[len(all)-1].prints, all[len(all)-1].isShown = m[2], true
		}
	}
	return all
}

// checkSteps wants everything on such a page to be tried.
func (d *document) checkSteps() (faults []string) {
	if !isTriedPage(d.path) {
		return nil
	}
	var commands strings.Builder
	for _, s := range d.steps() {
		commands.WriteString(s.commands)
	}
	if commands.Len() == 0 {
		faults = append(faults, d.path+" has no commands to run")
	}
	for _, m := range fenced.FindAllStringSubmatch(d.text, -1) {
		first, _, _ := strings.Cut(m[2], "\n")
		file, isFile := strings.CutPrefix(m[1], named)
		switch {
		case m[1] == "":
			faults = append(faults, d.path+": nothing tries the block that begins with "+first)
		case isFile && !strings.Contains(commands.String(), file) &&
			!strings.Contains(commands.String(), path.Dir(file)):
			faults = append(faults, d.path+": no command of the page uses "+file)
		}
	}
	return faults
}
