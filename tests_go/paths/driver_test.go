package paths

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tlruntime/tests_go/model"
)

// buildDir is where the library is: $TL_BUILD_DIR, or build/ of the repository.
func buildDir() string {
	if dir := os.Getenv("TL_BUILD_DIR"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "build")
}

func compileDriver(t *testing.T) string { return compile(t, "driver.c") }

// compile builds a program of tests_c against the library; it skips the test where the
// library or a compiler is missing.
func compile(t *testing.T, source string) string {
	dir, err := filepath.Abs(buildDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "libtl_runtime.so")); err != nil {
		t.Skipf("no libtl_runtime.so in %s: `make lib` builds it, TL_BUILD_DIR says where it is", dir)
	}
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	if _, err := exec.LookPath(cc); err != nil {
		t.Skipf("no C compiler: %v", err)
	}
	program := filepath.Join(t.TempDir(), "driver")
	out, err := exec.Command(cc, "-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE",
		"-I../../include", "-I../../tests_c", "../../tests_c/"+source, "-o", program,
		"-L"+dir, "-ltl_runtime", "-pthread", "-Wl,-rpath,"+dir).CombinedOutput()
	if err != nil {
		t.Fatalf("compiling the driver: %v\n%s", err, out)
	}
	return program
}

// driver is a process that executes steps through one of the paths. It stays for
// all sequences; one that fails in any way is replaced by a fresh process.
type driver struct {
	program, path string
	name          string

	command *exec.Cmd
	steps   *os.File
	replies *os.File
	lines   *bufio.Reader
}

func newDriver(t *testing.T, program, name, path string) *driver {
	d := &driver{program: program, name: name, path: path}
	t.Cleanup(d.stop)
	return d
}

func (d *driver) start() error {
	in, steps, err := os.Pipe()
	if err != nil {
		return err
	}
	replies, out, err := os.Pipe()
	if err != nil {
		return err
	}
	d.command = exec.Command(d.program)
	d.command.Env = append(os.Environ(), "TL_FASTPATH="+d.path)
	d.command.Stdin, d.command.Stdout, d.command.Stderr = in, out, os.Stderr
	err = d.command.Start()
	in.Close()
	out.Close()
	d.steps, d.replies, d.lines = steps, replies, bufio.NewReader(replies)
	return err
}

func (d *driver) stop() {
	if d.command == nil {
		return
	}
	d.steps.Close()
	d.replies.Close()
	d.command.Process.Kill()
	d.command.Wait()
	d.command = nil
}

const patience = 20 * time.Second

// run executes a sequence. The replies that came before a crash or a hang come
// with the error.
func (d *driver) run(steps []model.Step) (replies []string, err error) {
	if d.command == nil {
		if err := d.start(); err != nil {
			return nil, err
		}
	}
	d.replies.SetReadDeadline(time.Now().Add(patience))
	go d.write(d.steps, steps)
	for range steps {
		line, err := d.lines.ReadString('\n')
		if err != nil {
			where := d.stacks(err)
			d.stop()
			return replies, fmt.Errorf("the driver ended or hung: %w%s", err, where)
		}
		replies = append(replies, strings.TrimSuffix(line, "\n"))
	}
	return replies, nil
}

// stacks are those of the threads of a driver that hangs, where gdb is there to tell.
func (d *driver) stacks(err error) string {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return ""
	}
	out, err := exec.Command("gdb", "-batch", "-p", strconv.Itoa(d.command.Process.Pid), "-ex", "thread apply all bt").CombinedOutput()
	if err != nil {
		return fmt.Sprintf(" (no stacks: %v)", err)
	}
	return "\n" + string(out) + "\n"
}

// write sends the whole sequence while its replies are read. A driver that died
// shows there.
func (d *driver) write(to *os.File, steps []model.Step) {
	var all strings.Builder
	for _, s := range steps {
		all.WriteString(s.Line)
		all.WriteByte('\n')
	}
	to.WriteString(all.String())
}
