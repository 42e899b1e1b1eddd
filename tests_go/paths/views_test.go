package paths

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestViews makes random views through both paths: of tensors and of each other, with arguments
// that are refused, and the same with headers that were overwritten. Everything that is made or
// refused has to be the same.
//
//	TL_VIEWS_SEED=<as printed> go test ./tests_go/paths -run TestViews
func TestViews(t *testing.T) {
	program := compile(t, "view_driver.c")
	seed := viewsSeed()
	t.Logf("replay with TL_VIEWS_SEED=%d", seed)
	for _, overwritten := range []string{"0", "1"} {
		fast, slow := views(t, program, "1", seed, overwritten), views(t, program, "0", seed, overwritten)
		for i := range min(len(fast), len(slow)) {
			if !bytes.Equal(fast[i], slow[i]) {
				t.Fatalf("seed %d, overwritten %s, line %d: fast path %s, slow path %s", seed, overwritten, i+1, fast[i],
					slow[i])
			}
		}
		if len(fast) != len(slow) {
			t.Fatalf("%d lines of the fast path, %d of the slow one", len(fast), len(slow))
		}
	}
}

func viewsSeed() int64 {
	if seed, err := strconv.ParseInt(os.Getenv("TL_VIEWS_SEED"), 10, 64); err == nil {
		return seed
	}
	return time.Now().UnixMilli()
}

func views(t *testing.T, program, path string, seed int64, overwritten string) [][]byte {
	t.Helper()
	var complaints strings.Builder
	command := exec.Command(program, strconv.FormatInt(seed, 10), "60", overwritten)
	command.Env = append(os.Environ(), "TL_FASTPATH="+path)
	command.Stderr = &complaints
	out, err := command.Output()
	if err != nil || complaints.Len() > 0 {
		t.Fatalf("TL_FASTPATH=%s, seed %d: %v %s", path, seed, err, complaints.String())
	}
	return bytes.Split(out, []byte("\n"))
}
