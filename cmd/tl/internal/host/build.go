package host

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tlruntime/cmd/tl/internal/sealed"
)

// Build returns the path of the host program, which the C compiler cc makes in folder
// unless it is there already, as it was made.
func Build(cc, folder string) (string, error) {
	sum := sha256.Sum256(source)
	path := filepath.Join(folder, "host-"+hex.EncodeToString(sum[:8]))
	if sealed.IsWhole(path) {
		return path, nil
	}
	work, err := os.MkdirTemp(folder, "build-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	text, program := filepath.Join(work, "host.c"), filepath.Join(work, "host")
	if err := os.WriteFile(text, source, 0o600); err != nil {
		return "", err
	}
	if out, err := exec.Command(cc, "-O2", "-o", program, text, "-ldl").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s cannot build the host program: %w: %s", cc, err, strings.TrimSpace(string(out)))
	}
	if err := sealed.Seal(program); err != nil {
		return "", err
	}
	return path, os.Rename(program, path)
}
