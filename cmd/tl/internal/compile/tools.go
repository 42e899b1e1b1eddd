package compile

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed object.py
var llvmliteProgram string

func (c *Compiler) compile(ir, object string) error {
	switch c.Kind {
	case "clang":
		return c.clang(ir, object)
	case "llc":
		return c.llc(ir, object)
	}
	return c.llvmlite(ir, object)
}

func (c *Compiler) clang(ir, object string) error {
	arguments := []string{"-O2", "-march=native", "-fPIC", "-shared", "-Wno-override-module", "-o", object, "-lm"}
	return call(c.Path, append(arguments, "-x", "ir", ir)...)
}

func (c *Compiler) llc(ir, object string) error {
	bitcode, machine := ir+".bc", ir+".o"
	if err := call(c.opt, "-O2", "-mcpu=native", ir, "-o", bitcode); err != nil {
		return err
	}
	if err := call(c.Path, "-O2", "-mcpu=native", "-relocation-model=pic", "-filetype=obj", bitcode, "-o",
		machine); err != nil {
		return err
	}
	return link(machine, object)
}

func (c *Compiler) llvmlite(ir, object string) error {
	machine := ir + ".o"
	if err := call(c.Path, "-I", "-c", llvmliteProgram, ir, machine); err != nil {
		return err
	}
	return link(machine, object)
}

// link makes a shared object of an object file with the C compiler.
func link(machine, object string) error {
	path, err := CC()
	if err != nil {
		return err
	}
	return call(path, "-shared", "-o", object, machine, "-lm")
}

// CC returns the path of a C compiler.
func CC() (string, error) {
	for _, name := range []string{"cc", "gcc", "clang"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no C compiler is here: install cc, gcc or clang")
}

func call(path string, arguments ...string) error {
	out, err := exec.Command(path, arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s failed: %w: %s", filepath.Base(path), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// interpreters are those that may have llvmlite: the one that is named, else python3 and, beside a program that make
// has built, those that `make demo` and `make venv` have installed it for.
func interpreters(python, program string) []string {
	if python != "" {
		return []string{python}
	}
	folder := filepath.Dir(program)
	return []string{"python3", filepath.Join(folder, "small/bin/python"), filepath.Join(folder, "venv/bin/python")}
}

// findLLVMLite returns nil when no interpreter has llvmlite, or an old one.
func findLLVMLite(python string) *Compiler {
	program, err := os.Executable()
	if err != nil {
		program = ""
	}
	for _, name := range interpreters(python, program) {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		out, err := exec.Command(path, "-I", "-c", llvmliteProgram).Output()
		if err != nil {
			continue
		}
		if c := known("llvmlite", path, versionPattern.FindSubmatch(out)); c != nil {
			return c
		}
	}
	return nil
}
