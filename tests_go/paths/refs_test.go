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

// TestRefs makes random calls on references through both paths, on two threads: on live
// objects, and on objects whose memory belongs to others by then. The driver knows what
// each call has to answer, and both paths have to answer the same.
//
//	TL_REFS_SEED=<as printed> go test ./tests_go/paths -run TestRefs
func TestRefs(t *testing.T) {
	program := compile(t, "ref_driver.c")
	seed, err := strconv.ParseInt(os.Getenv("TL_REFS_SEED"), 10, 64)
	if err != nil {
		seed = time.Now().UnixMilli()
	}
	t.Logf("replay with TL_REFS_SEED=%d", seed)
	fast, slow := refs(t, program, "1", seed), refs(t, program, "0", seed)
	if !bytes.Equal(fast, slow) {
		t.Fatalf("seed %d: %d bytes of answers on the fast path, %d on the slow one, not the same", seed, len(fast),
			len(slow))
	}
}

func refs(t *testing.T, program, path string, seed int64) []byte {
	t.Helper()
	var complaints strings.Builder
	command := exec.Command(program, strconv.FormatInt(seed, 10), "40000")
	command.Env = append(os.Environ(), "TL_FASTPATH="+path)
	command.Stderr = &complaints
	out, err := command.Output()
	if err != nil || complaints.Len() > 0 {
		t.Fatalf("TL_FASTPATH=%s, seed %d: %v %s", path, seed, err, complaints.String())
	}
	return out
}
