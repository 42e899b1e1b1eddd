package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// result is what one program said, and how it ended.
type result struct {
	Claims  []claim   `json:"claims"`
	Skips   []string  `json:"skips,omitempty"`
	Exit    int       `json:"exit"`
	Seconds float64   `json:"seconds"`
	Scale   float64   `json:"scale"`
	Seed    int64     `json:"seed"`
	When    time.Time `json:"when"`
}

// claim is one line of a program: what it tried, how often, and how often that failed.
type claim struct {
	Unit    string `json:"unit"`
	Tried   int64  `json:"tried"`
	Failed  int64  `json:"failed"`
	Skipped int64  `json:"skipped,omitempty"`
	Detail  string `json:"detail,omitempty"`
}

// exitSkipped is the status of a program that cannot run on this machine.
const exitSkipped = 77

var claimLine = regexp.MustCompile(`^proof: (\d+) (.+?) tried, (\d+) failed(?:, (\d+) skipped)?(?:: (.*))?$`)

// closing lines are those of the programs of tests_c, and what they claim (tests_c/check.h).
var closing = map[*regexp.Regexp]string{
	regexp.MustCompile(`^(\d+) checks passed$`):          "proof: $1 checks tried, 0 failed",
	regexp.MustCompile(`^(\d+) of (\d+) checks failed$`): "proof: $2 checks tried, $1 failed",
}

// parseClaim reads a line that a program printed.
func parseClaim(line string) (c claim, ok bool) {
	for ends, says := range closing {
		line = ends.ReplaceAllString(line, says)
	}
	m := claimLine.FindStringSubmatch(line)
	if m == nil {
		return claim{}, false
	}
	number := func(text string) int64 { n, _ := strconv.ParseInt(text, 10, 64); return n }
	return claim{Unit: m[2], Tried: number(m[1]), Failed: number(m[3]), Skipped: number(m[4]), Detail: m[5]}, true
}

// bad reports whether the run shows a defect. A program that claims nothing and does
// not say that it was skipped has tried nothing, which is one, too.
func (r result) bad() bool {
	if r.skipped() {
		return false
	}
	if r.Exit != 0 || len(r.Claims) == 0 {
		return true
	}
	for _, c := range r.Claims {
		if c.Failed != 0 || c.Tried == 0 {
			return true
		}
	}
	return false
}

func (r result) skipped() bool { return r.Exit == exitSkipped && len(r.Skips) > 0 }

func (r result) line(p part, run run) string {
	state := "passed"
	switch {
	case r.skipped():
		state = r.Skips[0]
	case r.bad():
		state = fmt.Sprintf("FAILED with exit %d, PROVE_SEED=%d PROVE_SCALE=%g", r.Exit, r.Seed, r.Scale)
	}
	var said []string
	for _, c := range r.Claims {
		said = append(said, fmt.Sprintf("%d %s", c.Tried, c.Unit))
	}
	return fmt.Sprintf("prove %s/%s: %s: %s (%.0f s)", p.Name, run.Name, state, strings.Join(said, ", "), r.Seconds)
}

// run executes one program and keeps what it prints in its log.
func (o options) run(p part, r run) result {
	out := result{Scale: o.scale, Seed: o.seed, When: time.Now().UTC()}
	path := filepath.Join(logs(o.build), p.Name+"."+r.Name+".log")
	command := exec.Command(r.Command[0], r.Command[1:]...)
	for _, folder := range []string{"", "proof"} {
		if local := filepath.Join(o.build, "cmake", "tests_c", folder, r.Command[0]); isFile(local) {
			command = exec.Command(local, r.Command[1:]...)
		}
	}
	command.Env = append(os.Environ(), "BUILD="+o.build, fmt.Sprintf("PROVE_SCALE=%g", o.scale),
		fmt.Sprintf("PROVE_SEED=%d", o.seed))
	command.Env = append(command.Env, r.Env...)
	err := logged(command, path)
	out.Seconds = time.Since(out.When).Seconds()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		out.Exit = exit.ExitCode()
	case err != nil:
		out.Exit = -1
		fmt.Fprintln(os.Stderr, "prove:", err)
	}
	out.read(path)
	return out
}

func logged(command *exec.Cmd, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	log, err := os.Create(path)
	if err != nil {
		return err
	}
	defer log.Close()
	command.Stdout, command.Stderr = log, log
	return command.Run()
}

func (r *result) read(path string) {
	log, err := os.Open(path)
	if err != nil {
		return
	}
	defer log.Close()
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if c, ok := parseClaim(lines.Text()); ok {
			r.claim(c)
		}
		if strings.HasPrefix(lines.Text(), "skip:") {
			r.Skips = append(r.Skips, lines.Text())
		}
	}
}

// claim takes a claim up: one that repeats the last, as a program and its children do, with it.
func (r *result) claim(c claim) {
	if n := len(r.Claims); n > 0 && r.Claims[n-1].Unit == c.Unit && r.Claims[n-1].Detail == c.Detail {
		last := &r.Claims[n-1]
		last.Tried, last.Failed, last.Skipped = last.Tried+c.Tried, last.Failed+c.Failed, last.Skipped+c.Skipped
		return
	}
	r.Claims = append(r.Claims, c)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func logs(build string) string { return filepath.Join(build, "prove") }

// results are the last runs of all programs, by part and name.
type results struct {
	Runs map[string]result `json:"runs"`
}

func resultsFile(build string) string { return filepath.Join(logs(build), "results.json") }

func readResults(build string) (results, error) {
	known := results{Runs: map[string]result{}}
	text, err := os.ReadFile(resultsFile(build))
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return known, err
	}
	return known, json.Unmarshal(text, &known)
}

func (k results) write(build string) error {
	text, err := json.MarshalIndent(k, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(logs(build), 0o755); err != nil {
		return err
	}
	return os.WriteFile(resultsFile(build), text, 0o644)
}
