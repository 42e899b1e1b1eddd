package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	fence   = regexp.MustCompile("(?ms)^```.*?^```$")
	code    = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)|<img [^>]*src="([^"]+)"`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	notSlug = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
)

// checkLinks wants every link that stays in the repository to lead to a file
// and, behind a #, to a heading of it.
func (d *document) checkLinks(root string, docs map[string]*document) (faults []string) {
	prose := code.ReplaceAllString(fence.ReplaceAllString(d.text, ""), "")
	for _, m := range link.FindAllStringSubmatch(prose, -1) {
		to := m[1] + m[2]
		if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
			continue
		}
		file, anchor, _ := strings.Cut(to, "#")
		target := d.path
		if file != "" {
			target = path.Join(path.Dir(d.path), file)
		}
		if _, err := os.Stat(filepath.Join(root, target)); err != nil {
			faults = append(faults, d.path+": "+to+" leads nowhere")
		} else if anchor != "" && (docs[target] == nil || !docs[target].hasHeading(anchor)) {
			faults = append(faults, d.path+": "+to+": no such heading")
		}
	}
	return faults
}

func (d *document) hasHeading(anchor string) bool {
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(d.text, ""), -1) {
		slug := notSlug.ReplaceAllString(strings.ToLower(strings.TrimSpace(m[1])), "")
		if strings.ReplaceAll(slug, " ", "-") == anchor {
			return true
		}
	}
	return false
}
