package llvm

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tlruntime/compiler/lower"
)

// costs are the programs whose instructions are counted: a list of n nodes is made,
// summed up and dropped. The C program does by hand what the IR says, with malloc, free
// and plain counts.
const costs = `
struct Node { value: int, next: Node }

func build(n: int) -> Node {
	let head = none Node
	let i = 0
	while i < n {
		head = new Node{value: i, next: head}
		i = i + 1
	}
	return head
}

func Node.total(self) -> int {
	let at = self
	let s = 0
	while at is none == 0 {
		s = s + at.value
		at = at.next
	}
	return s
}

func lowered(n: int) -> int {
	return build(n).total()
}
`

const byHand = `
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tl_runtime.h"
tl_status module_init(void);
long long lowered(long long n);

struct node { long long count, value; struct node *next; };
static struct node *retain(struct node *p) { if (p) p->count++; return p; }
static void release(struct node *p) {
    while (p && --p->count == 0) { struct node *next = p->next; free(p); p = next; }
}
__attribute__((noinline)) static struct node *build(long long n) {
    struct node *head = NULL;
    for (long long i = 0; i < n; i++) {
        struct node *p = malloc(sizeof *p);
        if (!p) abort();
        *p = (struct node){1, i, head};
        head = p;
    }
    return head;
}
__attribute__((noinline)) static long long total(struct node *list) {
    long long s = 0;
    struct node *at = retain(list);
    while (at) {
        s += at->value;
        struct node *next = retain(at->next);
        release(at);
        at = next;
    }
    return s;
}
static long long by_hand(long long n) {
    struct node *list = build(n);
    long long s = total(list);
    release(list);
    return s;
}
int main(int argc, char **argv) {
    long long rounds = argc > 2 ? atoll(argv[2]) : 0, s = 0;
    if (module_init() != TL_OK) return 1;
    while (rounds-- > 0) s += strcmp(argv[1], "c") ? lowered(1000) : by_hand(1000);
    printf("%lld\n", s);
    return 0;
}
`

var counted = regexp.MustCompile(`I\s+refs:\s+([\d,]+)`)

// instructions counts those of a process with cachegrind, which does not follow
// calls: Go's stacks would confuse it, as signals that preempt goroutines do.
func instructions(b *testing.B, executable string, args ...string) float64 {
	b.Helper()
	command := exec.Command("valgrind",
		append([]string{"--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
			executable}, args...)...)
	command.Env = append(os.Environ(), "TL_FASTPATH=1", "GODEBUG=asyncpreemptoff=1")
	text, err := command.CombinedOutput()
	found := counted.FindSubmatch(text)
	if err != nil || found == nil {
		b.Fatalf("%v\n%s", err, text)
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(string(found[1]), ",", ""), 64)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// BenchmarkList reports instructions for each node, as the difference of two
// numbers of rounds, for the complete lowering, the plain one and C.
//
//	go test ./compiler/lower/llvm -run '^$' -bench List -benchtime 1x
func BenchmarkList(b *testing.B) {
	if _, err := exec.LookPath("valgrind"); err != nil {
		b.Skip("skip: valgrind is not installed")
	}
	tc := findToolchain(b)
	for _, name := range []string{"complete", "plain", "cells", "c"} {
		b.Run(name, func(b *testing.B) {
			program := tc.build(b, emitted(b, costs, variants[name], Options{Version: tc.version}), byHand, "-O2")
			few, many := instructions(b, program, name, "200"), instructions(b, program, name, "400")
			b.ReportMetric((many-few)/200/1000, "instructions/node")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// TestCostProgram keeps the programs of the benchmark right.
func TestCostProgram(t *testing.T) {
	tc := findToolchain(t)
	program := tc.build(t, emitted(t, costs, lower.Options{}, Options{Version: tc.version}), byHand, "-O1")
	for _, name := range []string{"lowered", "c"} {
		if got := strings.Join(execute(t, program, "1", name, "2"), " "); got != "999000" {
			t.Errorf("%s: two sums of 0 to 999 are %s", name, got)
		}
	}
}
