//go:build !race

package memory

import (
	"os"
	"strings"
	"testing"
)

// Go asks for memory that counts, and ends the process when the system refuses it: what is more than all memory and
// swap is refused though no limit is set.
func TestMoreThanAllMemoryIsNotObtainable(t *testing.T) {
	if mode, err := os.ReadFile("/proc/sys/vm/overcommit_memory"); err != nil || strings.TrimSpace(string(mode)) == "1" {
		t.Skip("this system grants whatever it is asked for")
	}
	if Obtainable(1 << 46) {
		t.Error("64 TiB are said to be obtainable")
	}
	if !Obtainable(1 << 25) {
		t.Error("32 MiB are said not to be obtainable")
	}
}
