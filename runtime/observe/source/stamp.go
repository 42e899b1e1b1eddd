package source

import (
	"fmt"
	"os"
)

// Stamp tells a file from what may be written in its place: its size and when it was changed, which a copy keeps of
// another file at most by chance. "" where there is none.
func Stamp(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return fmt.Sprintf("%d bytes of %d", info.Size(), info.ModTime().UnixNano())
}
