// Package compile turns LLVM IR into shared objects, with whatever compiler is
// there: clang, llc, or the Python package llvmlite. Results are cached.
package compile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"tlruntime/cmd/tl/internal/sealed"
)

// Oldest and Newest are the versions of LLVM whose text form is written.
const (
	Oldest = 14
	Newest = 20
)

// Compiler makes a shared object of a file of LLVM IR.
type Compiler struct {
	Kind string // clang, llc or llvmlite
	Path string // of the program; of Python for llvmlite
	// LLVM is the version whose text form the compiler reads, from Oldest to
	// Newest: newer compilers read the form of Newest.
	LLVM int
	opt  string // beside llc
}

// ErrNoCompiler says that nothing was found that reads LLVM IR.
var ErrNoCompiler = errors.New("no compiler reads LLVM IR here: install clang or llc (version 14 or newer), or the " +
	"Python package llvmlite for python3, or for the interpreter that --python or $TL_PYTHON names")

// Find returns the compiler to use: the first of clang, llc and llvmlite that is
// there, of several versions the newest. With a kind, only that one. python is the
// interpreter that may have llvmlite.
func Find(kind, python string) (*Compiler, error) {
	finders := []struct {
		kind string
		find func() *Compiler
	}{
		{"clang", func() *Compiler { return newest("clang", "clang") }},
		{"llc", findLLC},
		{"llvmlite", func() *Compiler { return findLLVMLite(python) }},
	}
	known := false
	for _, f := range finders {
		if kind != "" && kind != f.kind {
			continue
		}
		known = true
		if c := f.find(); c != nil {
			return c, nil
		}
	}
	switch {
	case !known:
		return nil, fmt.Errorf("there is no compiler %q; clang, llc and llvmlite are known", kind)
	case kind != "":
		return nil, fmt.Errorf("%s was asked for and is not there, or older than version %d", kind, Oldest)
	}
	return nil, ErrNoCompiler
}

// newest looks for a program under names with a version, and then under its own
// name. It trusts a version in a name, because asking the program takes as long
// as the run of a small model.
func newest(kind, name string) *Compiler {
	for v := Newest + 4; v >= Oldest; v-- {
		if path, err := exec.LookPath(fmt.Sprintf("%s-%d", name, v)); err == nil {
			return &Compiler{Kind: kind, Path: path, LLVM: min(v, Newest)}
		}
	}
	return probe(kind, name)
}

var versionPattern = regexp.MustCompile(`version (\d+)\.`)

func probe(kind, name string) *Compiler {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil
	}
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		return nil
	}
	return known(kind, path, versionPattern.FindSubmatch(out))
}

func known(kind, path string, version [][]byte) *Compiler {
	if version == nil {
		return nil
	}
	major, err := strconv.Atoi(string(version[1]))
	if err != nil || major < Oldest {
		return nil
	}
	return &Compiler{Kind: kind, Path: path, LLVM: min(major, Newest)}
}

// findLLC wants opt beside llc: llc alone does not vectorise.
func findLLC() *Compiler {
	c := newest("llc", "llc")
	if c == nil {
		return nil
	}
	folder, name := filepath.Split(c.Path)
	opt := filepath.Join(folder, strings.Replace(name, "llc", "opt", 1))
	if _, err := os.Stat(opt); err != nil {
		return nil
	}
	c.opt = opt
	return c
}

// Shared returns the path of a shared object made of what emit writes for the
// compiler's version of LLVM. The same text on the same processor is compiled once, and
// again where the result was cut or changed.
func (c *Compiler) Shared(emit func(w io.Writer, llvm int) error) (string, error) {
	var text strings.Builder
	if err := emit(&text, c.LLVM); err != nil {
		return "", err
	}
	folder, err := Folder()
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, c.key(text.String())+".so")
	if sealed.IsWhole(path) {
		return path, nil
	}
	return path, c.build(text.String(), folder, path)
}

// build compiles beside the final place and moves the result there at once, so that
// two processes may build the same.
func (c *Compiler) build(text, folder, path string) error {
	work, err := os.MkdirTemp(folder, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	ir, object := filepath.Join(work, "plan.ll"), filepath.Join(work, "plan.so")
	if err := os.WriteFile(ir, []byte(text), 0o600); err != nil {
		return err
	}
	if err := c.compile(ir, object); err != nil {
		return err
	}
	if err := sealed.Seal(object); err != nil {
		return err
	}
	return os.Rename(object, path)
}

// recipe counts the ways in which compilers were called: what one made is not taken
// for what another would make.
const recipe = 3

// key depends on all that the code depends on: the text, the compiler and how it is
// called, and the processor, whose own instructions are used.
func (c *Compiler) key(text string) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%d\x00%s\x00%s\x00%d\x00%s\x00", recipe, c.Kind, c.Path, c.LLVM, processor())
	io.WriteString(sum, text)
	return hex.EncodeToString(sum.Sum(nil))
}

// instructionSets are names of features of processors, as Linux lists them, that name instructions of which compilers
// make use.
var instructionSets = regexp.MustCompile(`^(s?sse|avx|fma|f16c|bmi|popcnt|abm|movbe|adx|sha|aes|vaes|pclmul|vpclmul|` +
	`gfni|amx|xop|asimd|sve|fp|crc32|atomics|i8mm|bf16)`)

// Instructions returns the sets of instructions that this processor has beyond those of its kind.
func Instructions() (sets []string) {
	_, list, _ := strings.Cut(processor(), ":")
	for feature := range strings.FieldsSeq(list) {
		if instructionSets.MatchString(feature) {
			sets = append(sets, feature)
		}
	}
	return sets
}

func processor() string {
	content, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.SplitSeq(string(content), "\n") {
		if strings.HasPrefix(line, "flags") || strings.HasPrefix(line, "Features") {
			return line
		}
	}
	return ""
}

// CacheVariable names the environment variable with the folder of compiled code.
const CacheVariable = "TL_CACHE"

// Folder returns the folder of compiled code, which it makes where there is none. It refuses one into
// which others may put code.
func Folder() (string, error) {
	folder := os.Getenv(CacheVariable)
	if folder == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no folder for compiled code: set %s (%w)", CacheVariable, err)
		}
		folder = filepath.Join(user, "tl")
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	about, err := os.Stat(folder)
	if err != nil {
		return "", err
	}
	if why := sealed.WhyNotOurs(about); why != "" {
		return "", fmt.Errorf("%s %s, so its machine code may be another's; take the right to write from others with "+
			"chmod go-w, or name a folder of your own in %s", folder, why, CacheVariable)
	}
	return folder, nil
}
