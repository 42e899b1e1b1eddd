package llvm

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/lower"
	"tlruntime/compiler/lower/internal/programs"
	"tlruntime/compiler/lower/interp"
	"tlruntime/compiler/lower/ir"
)

// number is what an environment variable says, or a default.
func number(t *testing.T, name string, otherwise int64) int64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%s: a number is wanted", name, text)
	}
	return n
}

// batch is many random programs as one, with what their roots return.
type batch struct {
	program *ir.Program
	roots   []string
	floats  []bool
	want    []string
	seeds   []int64
	level   string // of optimisation
}

// stepLimit drops programs that take the interpreter too long.
const stepLimit = 200_000

// makeBatch makes n programs whose seeds follow each other.
func makeBatch(t *testing.T, seed int64, n int) *batch {
	b := &batch{program: &ir.Program{}}
	for ; len(b.roots) < n; seed++ {
		p, root := programs.Make(seed, fmt.Sprintf("p%d_", len(b.roots)))
		info, err := ir.Verify(p)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, ir.Print(p))
		}
		result, err := interp.Run(info, root, stepLimit)
		if errors.Is(err, interp.ErrLimit) {
			continue
		}
		b.program.Structs = append(b.program.Structs, p.Structs...)
		b.program.Functions = append(b.program.Functions, p.Functions...)
		_, isFloat := result.(float64)
		b.roots, b.floats = append(b.roots, root), append(b.floats, isFloat)
		b.want, b.seeds = append(b.want, show(result)), append(b.seeds, seed)
	}
	return b
}

// show writes a result as the C program does: all bits of it.
func show(result any) string {
	switch v := result.(type) {
	case int64:
		return fmt.Sprintf("%016x", uint64(v))
	case float64:
		if math.IsNaN(v) {
			return "nan"
		}
		return fmt.Sprintf("%016x", math.Float64bits(v))
	}
	return "nothing"
}

// observer is the C program: it calls the roots and prints, for each, the result, the
// bytes that are live more than before, and how many scopes are open more than none.
const observer = `
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "tl_runtime.h"
%s
tl_status module_init(void);

static tl_stats live(void) { tl_stats s = {.struct_size = sizeof s}; tl_stats_get(&s); return s; }

static void show(unsigned long long bits, int is_nan, tl_stats before) {
    tl_stats after = live();
    if (is_nan) printf("nan"); else printf("%%016llx", bits);
    printf(" %%lld %%lld %%lld\n", (long long)(after.live_bytes - before.live_bytes),
           (long long)(after.live_objects - before.live_objects), (long long)tl_get_scope_depth());
}
__attribute__((unused)) static void show_int(long long v, tl_stats before) { show((unsigned long long)v, 0, before); }
__attribute__((unused)) static void show_float(double v, tl_stats before) {
    unsigned long long bits;
    memcpy(&bits, &v, sizeof bits);
    show(bits, isnan(v), before);
}

int main(void) {
    tl_stats before;
    if (module_init() != TL_OK || module_init() != TL_OK) { fprintf(stderr, "%%s\n", tl_last_error()); return 1; }
%s    printf("status %%d\n", tl_last_status());
    return 0;
}
`

func (b *batch) observer() string {
	var declared, called strings.Builder
	for i, root := range b.roots {
		t, show := "long long", "show_int"
		if b.floats[i] {
			t, show = "double", "show_float"
		}
		fmt.Fprintf(&declared, "%s %s(void);\n", t, root)
		fmt.Fprintf(&called, "    before = live();\n    %s(%s(), before);\n", show, root)
	}
	return fmt.Sprintf(observer, declared.String(), called.String())
}

// source is the text of a random program.
func (b *batch) source(i int) string {
	if len(b.seeds) == 0 {
		return ""
	}
	p, _ := programs.Make(b.seeds[i], fmt.Sprintf("p%d_", i))
	return fmt.Sprintf("program of seed %d\n%s", b.seeds[i], ir.Print(p))
}

// check compares what the compiled roots printed with the interpreter's results.
func (b *batch) check(t *testing.T, what string, lines []string) {
	t.Helper()
	failures := 0
	for i, line := range lines[:min(len(lines), len(b.roots))] {
		if want := b.want[i] + " 0 0 0"; line != want && failures < 3 {
			failures++
			t.Errorf("%s, %s: got %q, want %q\n%s", what, b.roots[i], line, want, b.source(i))
		}
	}
	if len(lines) != len(b.roots)+1 || lines[len(lines)-1] != "status 0" {
		t.Errorf("%s: %d lines, the last is %q; %d results and \"status 0\" are wanted", what, len(lines),
			lines[len(lines)-1], len(b.roots))
	}
}

// TestRandomProgramsRunAsInterpreted compiles random programs, runs them through both
// paths, and wants the interpreter's results, no live byte and no failed call.
//
//	TL_PROGRAMS=10000 go test ./compiler/lower/llvm -run Random
//	TL_SEED=<as printed> go test ./compiler/lower/llvm -run Random
func TestRandomProgramsRunAsInterpreted(t *testing.T) {
	tc := findToolchain(t)
	count := int64(200)
	if testing.Short() {
		count = 40
	}
	count, seed := number(t, "TL_PROGRAMS", count), number(t, "TL_SEED", time.Now().UnixMilli())
	t.Logf("replay with TL_SEED=%d TL_PROGRAMS=%d", seed, count)
	for i, done := 0, int64(0); done < count && !t.Failed(); i++ {
		// Optimising takes ten times as long as all the rest.
		size, level := int64(100), "-O0"
		if i%20 == 0 {
			size, level = 10, "-O1"
		}
		b := makeBatch(t, seed, int(min(size, count-done)))
		b.level = level
		for name, options := range variants {
			b.runWith(t, tc, name, options)
		}
		seed, done = b.seeds[len(b.seeds)-1]+1, done+int64(len(b.roots))
	}
}

// variants of the lowering, which all have to be right.
var variants = map[string]lower.Options{
	"complete": {},
	"plain":    {NoMoves: true, NoBorrows: true, NoSlots: true, NoCancel: true},
	"cells":    {Cells: true},
}

func (b *batch) runWith(t *testing.T, tc *toolchain, name string, options lower.Options) {
	t.Helper()
	m, err := lower.Lower(b.program, options)
	require.NoError(t, err)
	text, err := Emit(m, Options{Version: tc.version})
	require.NoError(t, err)
	executable := tc.build(t, text, b.observer(), b.level)
	for _, path := range []string{"1", "0"} {
		b.check(t, name+", TL_FASTPATH="+path, execute(t, executable, path))
	}
}

// interpreted is what a program's function returns.
func interpreted(t *testing.T, text, symbol string) any {
	t.Helper()
	p, err := ir.Parse(text)
	require.NoError(t, err)
	info, err := ir.Verify(p)
	require.NoError(t, err)
	result, err := interp.Run(info, symbol, 100_000_000)
	require.NoError(t, err)
	return result
}

func parsed(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	require.NoError(t, err)
	return n
}

// TestPrograms compiles and runs the programs in testdata/run.
func TestPrograms(t *testing.T) {
	tc := findToolchain(t)
	files, err := filepath.Glob("../testdata/run/*.tl")
	if err != nil || len(files) == 0 {
		t.Fatal("no programs", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		result := interpreted(t, string(text), "root")
		_, isFloat := result.(float64)
		b := &batch{roots: []string{"root"}, floats: []bool{isFloat}, want: []string{show(result)}}
		for name, options := range variants {
			executable := tc.build(t, emitted(t, string(text), options, Options{Version: tc.version}), b.observer(),
				"-O2")
			for _, path := range []string{"1", "0"} {
				b.check(t, file+", "+name, execute(t, executable, path))
			}
		}
	}
}
