package source

import (
	"fmt"
	"os"
)

// Stamp identifies a file by its size and the time of its change, so that a file which replaced it is noticed. It is ""
// where there is no regular file.
func Stamp(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return fmt.Sprintf("%d bytes of %d", info.Size(), info.ModTime().UnixNano())
}
