package llvm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/lower"
	"tlruntime/compiler/lower/internal/programs"
	"tlruntime/compiler/lower/ir"
)

// TestCallbacksMayThrow looks for nounwind where a destructor may run: nothing but
// kernels, which call nothing, and what ends the process may have it.
func TestCallbacksMayThrow(t *testing.T) {
	text := emitted(t, everything, lower.Options{}, Options{Version: 20})
	for _, line := range strings.Split(text, "\n") {
		if strings.Contains(line, "nounwind") {
			require.Regexp(t, `^(attributes #0 = |declare void @abort)`, line)
		}
		if strings.Contains(line, ") #0 {") {
			require.Regexp(t, `\$f(32|64)\(`, line)
		}
	}
}

func emitted(t testing.TB, text string, how lower.Options, options Options) string {
	t.Helper()
	p, err := ir.Parse(text)
	require.NoError(t, err)
	m, err := lower.Lower(p, how)
	require.NoError(t, err)
	module, err := Emit(m, options)
	require.NoError(t, err)
	return module
}

// everything uses every operation and every support function.
const everything = `
struct E { }
struct P { x: int, y: float, e: E, next: P, t: tensor<f32, 2>, s: tensor<f64> }

func P.all(self, n: int) -> P {
	let i = 0
	while i < n {
		i = i + 1
		if i == 3 { continue }
		if self is none { break }
		block { self.next = new P{x: i, next: self, e: new E{}} }
		let st = self.t
		st[1] = float(i)
		self.t = st
	}
	return self
}

func P.set(self) -> float {
	let t = self.t
	t[0] = 1.5
	let u = tensor<f32, 2>[1.0, sum(t)]
	u[1] = t[1] / 3.0
	let v = fill tensor<f64>(0.5)
	let w = v * v - v
	self.s = v + w
	let i = 0
	while i < 3 {
		u[i] = u[i] + w[i - 1]
		v[i] = t[1 - i] * 2.0
		i = i + 1
	}
	return sum(u * t - u + u) + w[0] + v[i / 4]
}

func divided(a: int, b: int) -> int { return a / b * 10 + a % b + a / 3 + b % -2 }

func vecs(n: int) -> vec<P> {
	let v = none vec<P>
	while n > 0 {
		push v, new P{x: n}
		n = n - 1
	}
	let w = v
	pop w
	w[1] = v[0]
	w[9] = none P
	let all = new vec<vec<P>>
	push all, v
	push all, w
	let tensors = new vec<tensor<f64>>
	push tensors, fill tensor<f64>(2.5)
	let t = tensors[0]
	t[0] = sum(t) + sum(tensors[0])
	tensors[0] = t
	push tensors, t
	pop tensors
	pop tensors
	pop tensors
	push w, new P{y: t[0], x: len(all[0]) * 10 + len(all[1]) + len(tensors)}
	return w
}

func nothing() { return }

func root() -> int {
	nothing()
	let p = new P{y: 2.5}.all(5)
	let q = p
	q.x = 7
	p.next = none P
	let v = vecs(4)
	let d = divided(7, 0) + divided(-7, -1) * 3 + divided(-9223372036854775807 - 1, -1) + divided(-7, 2)
	return int(p.set()) + q.next.x + p.x - q.x * 2 + v[1].x + v[len(v) - 1].x * 7 + int(v[len(v) - 1].y) + d
}
`

// TestEverythingIsEverything wants every routine in what the other tests compile.
func TestEverythingIsEverything(t *testing.T) {
	text := emitted(t, everything, lower.Options{}, Options{}) + emitted(t, everything, lower.Options{},
		Options{Inline: true}) + cells(t, Options{})
	for name := range support {
		require.Contains(t, text, " @"+name+"(")
	}
}

func TestWhatCannotBeWritten(t *testing.T) {
	for text, want := range map[string]string{
		"func module_init() { }":  "function module_init has the name of the module's first function; choose another Options.Init",
		"func tl_mem_alloc() { }": "function tl_mem_alloc has a name that the module takes from elsewhere; rename it",
		"func abort() { }":        "function abort has a name that the module takes from elsewhere; rename it",
	} {
		p, err := ir.Parse(text)
		require.NoError(t, err)
		m, err := lower.Lower(p, lower.Options{})
		require.NoError(t, err)
		_, err = Emit(m, Options{})
		require.EqualError(t, err, want)
	}
	for _, version := range []int{13, 21} {
		_, err := Emit(&lower.Module{}, Options{Version: version})
		require.ErrorContains(t, err, "the text is for versions 14 to 20")
	}
}

// TestEveryCompilerTakesItsDialect compiles a module with each clang that is
// installed, in that one's dialect, at every level, and runs it through both paths.
func TestEveryCompilerTakesItsDialect(t *testing.T) {
	first := findToolchain(t)
	b := &batch{roots: []string{"root"}, floats: []bool{false},
		want: []string{show(interpreted(t, everything, "root"))}}
	ofCells := &batch{roots: b.roots, floats: b.floats, want: []string{show(interpreted(t, cellsText(t), "root"))}}
	for _, c := range compilers {
		path, err := exec.LookPath(c.name)
		if err != nil {
			t.Logf("skip: %s is not installed", c.name)
			continue
		}
		tc := newToolchain(path, c.version, first.library)
		for _, level := range []string{"-O0", "-O2"} {
			executable := tc.build(t, emitted(t, everything, lower.Options{}, Options{Version: c.version}),
				b.observer(), level)
			for _, path := range []string{"1", "0"} {
				b.check(t, c.name+" "+level, execute(t, executable, path))
			}
			executable = tc.build(t, cells(t, Options{Version: c.version}), ofCells.observer(), level)
			ofCells.check(t, c.name+" "+level+", cells", execute(t, executable, "1"))
		}
	}
}

// TestParsesInPython reads modules with the LLVM that llvmlite brings, which is newer
// than the compilers of most systems.
func TestParsesInPython(t *testing.T) {
	python := os.Getenv("TL_PYTHON")
	if python == "" {
		python = filepath.Join("..", "..", "..", "build", "venv", "bin", "python")
	}
	out, err := exec.Command(python, "-c", "import llvmlite.binding as b; print(b.llvm_version_info[0])").Output()
	if err != nil {
		t.Skipf("skip: %s has no llvmlite; TL_PYTHON names another", python)
	}
	version := min(parsed(t, string(out)), Newest)
	script := `
import sys, llvmlite.binding as llvm
for start in ("initialize", "initialize_native_target", "initialize_native_asmprinter"):
    try:
        getattr(llvm, start)()
    except RuntimeError:
        pass
llvm.parse_assembly(sys.stdin.read()).verify()
`
	for seed := range int64(3) {
		p, _ := programs.Make(seed, "p")
		m, err := lower.Lower(p, lower.Options{})
		require.NoError(t, err)
		text, err := Emit(m, Options{Version: int(version)})
		require.NoError(t, err)
		command := exec.Command(python, "-c", script)
		command.Stdin = strings.NewReader(text)
		out, err := command.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	t.Logf("LLVM %d takes the text", version)
}

// TestFailureEndsTheProcessWithAMessage runs out of scopes by a recursion that
// nothing ends.
func TestFailureEndsTheProcessWithAMessage(t *testing.T) {
	tc := findToolchain(t)
	module := emitted(t,
		"struct P { p: P }\nfunc down(p: P) -> int { let q = new P{p: p} return down(q) + 1 }\nfunc root() -> int { "+
			"return down(none P) }",
		lower.Options{}, Options{Version: tc.version})
	program := tc.build(t, module, `
#include <sys/resource.h>
#include <stdio.h>
#include "tl_runtime.h"
tl_status module_init(void);
long long root(void);
int main(void) {
    if (tl_configure("TL_ARENA_BYTES", "1048576") != TL_OK || module_init() != TL_OK) return 1;
    printf("%lld\n", root());
    return 0;
}
`, "-O0")
	command := exec.Command(program)
	out, err := command.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, err.Error(), "abort")
	require.Contains(t, string(out), "tl_mem_function_enter")
}
