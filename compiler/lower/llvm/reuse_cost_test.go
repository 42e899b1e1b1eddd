package llvm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"tlruntime/compiler/lower"
)

// rebuilt are programs that build values anew: a list of 1000 nodes, and a tree into which
// keys go, in two ways to write that.
const rebuilt = `
struct Tree { key: int, left: Tree, right: Tree }
struct Node { value: int, next: Node }
func insert(t: Tree, key: int) -> Tree {
	if t is none { return new Tree{key: key} }
	if key < t.key { return new Tree{key: t.key, left: insert(t.left, key), right: t.right} }
	if key > t.key { return new Tree{key: t.key, left: t.left, right: insert(t.right, key)} }
	return t
}
func add(t: Tree, key: int) -> Tree {
	if t is none { return new Tree{key: key} }
	if key < t.key { t.left = add(t.left, key) }
	if key > t.key { t.right = add(t.right, key) }
	return t
}
func map(list: Node) -> Node {
	if list is none { return none Node }
	return new Node{value: list.value + 1, next: map(list.next)}
}
func reverse(list: Node) -> Node {
	let result = none Node
	while list is none == 0 { result = new Node{value: list.value, next: result} list = list.next }
	return result
}
func nodes() -> Node {
	let l = none Node
	let i = 0
	while i < 1000 { i = i + 1 l = new Node{value: i, next: l} }
	return l
}
func count(t: Tree) -> int { if t is none { return 0 } return count(t.left) + count(t.right) + 1 }
func next(x: int) -> int { return (x * 1103515245 + 12345) % 2147483648 }
func inserted(n: int) -> int {
	let t = none Tree
	let x = 12345
	while n > 0 { x = next(x) t = insert(t, x % 10007) n = n - 1 }
	return count(t)
}
func added(n: int) -> int {
	let t = none Tree
	let x = 12345
	while n > 0 { x = next(x) t = add(t, x % 10007) n = n - 1 }
	return count(t)
}
func reversed(n: int) -> int {
	let l = nodes()
	while n > 0 { l = reverse(l) n = n - 1 }
	return l.value
}
func mapped(n: int) -> int {
	let l = nodes()
	while n > 0 { l = map(l) n = n - 1 }
	return l.value
}
`

const rebuiltHost = `
#include <stdio.h>
#include <stdlib.h>
#include "tl_runtime.h"
tl_status module_init(void);
long long inserted(long long n), added(long long n), mapped(long long n), reversed(long long n);
int main(int argc, char **argv) {
    if (argc < 3 || module_init() != TL_OK) return 1;
    const long long n = atoll(argv[2]);
    long long (*const run)(long long) = argv[1][0] == 'i' ? inserted : argv[1][0] == 'a' ? added :
                                        argv[1][0] == 'm' ? mapped : reversed;
    printf("%lld\n", run(n));
    return 0;
}
`

// linker is the version of the newest LLVM whose tools link and optimise modules.
func linker(b *testing.B) int {
	b.Helper()
	for _, c := range compilers {
		if _, err := exec.LookPath("opt-" + strconv.Itoa(c.version)); err == nil {
			return c.version
		}
	}
	b.Skip("skip: opt and llvm-link of LLVM 14 to 20 are not installed")
	return 0
}

// withOperations is a module with the operations of tl_inline.ll in it, optimised.
func withOperations(b *testing.B, module, version string) string {
	b.Helper()
	dir := b.TempDir()
	file, linked, optimised := filepath.Join(dir, "m.ll"), filepath.Join(dir, "l.ll"), filepath.Join(dir, "o.ll")
	if err := os.WriteFile(file, []byte(module), 0o600); err != nil {
		b.Fatal(err)
	}
	for _, command := range [][]string{
		{"llvm-link-" + version, "-S", file, "../../../include/tl_inline.ll", "-o", linked},
		{"opt-" + version, "-S", "-O2", linked, "-o", optimised},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			b.Fatalf("%v: %v\n%s", command, err, out)
		}
	}
	text, err := os.ReadFile(optimised)
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

// BenchmarkRebuild reports instructions for each key or list, as the difference of two
// numbers of rounds: the table of docs/lowering.md.
//
//	go test ./compiler/lower/llvm -run '^$' -bench Rebuild -benchtime 1x
func BenchmarkRebuild(b *testing.B) {
	if _, err := exec.LookPath("valgrind"); err != nil {
		b.Skip("skip: valgrind is not installed")
	}
	tc := findToolchain(b)
	for _, way := range []struct {
		name    string
		options lower.Options
		inline  bool
	}{
		{"objects", lower.Options{}, false},
		{"cells without reuse", lower.Options{Cells: true, NoReuse: true}, false},
		{"cells", lower.Options{Cells: true}, false},
		{"cells, inlined", lower.Options{Cells: true}, true},
	} {
		b.Run(way.name, func(b *testing.B) {
			module := ""
			if way.inline {
				version := linker(b)
				module = emitted(b, rebuilt, way.options, Options{Version: version, Inline: true})
				module = withOperations(b, module, strconv.Itoa(version))
			} else {
				module = emitted(b, rebuilt, way.options, Options{Version: tc.version})
			}
			program := tc.build(b, module, rebuiltHost, "-O2")
			for what, rounds := range map[string][2]int{"mapped": {100, 500}, "reversed": {100, 500},
				"inserted": {2000, 4000}, "added": {2000, 4000}} {
				few := instructions(b, program, what, strconv.Itoa(rounds[0]))
				many := instructions(b, program, what, strconv.Itoa(rounds[1]))
				b.ReportMetric((many-few)/float64(rounds[1]-rounds[0]), what)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
