package llvm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/lower"
	"tlruntime/compiler/lower/ir"
)

// host has what the program calls, and calls the program.
const host = `
#include <stdio.h>
#include "tl_runtime.h"

tl_status module_init(void);
struct node { long long value; struct node *next; };
struct node *build(long long n);
long long total(struct node *list);
double mean(long long n);

static struct node *kept;
void keep(struct node *list) { kept = tl_ptr_acquire(list); }
struct node *give(void) /* its result floats */
{
    struct node *list = kept;
    kept = NULL;
    tl_mem_enter_scope();
    tl_mem_register_struct(list);
    tl_ptr_release(list);
    tl_mem_unregister(list);
    tl_mem_exit_scope();
    return list;
}
double first(tl_tensor *t) { return *(double *)tl_tensor_data(t); }

int main(void)
{
    if (module_init() != TL_OK) return 1;
    tl_stats before = {.struct_size = sizeof before}, after = {.struct_size = sizeof after};
    tl_stats_get(&before);
    tl_mem_enter_scope();
    struct node *list = build(5);
    tl_mem_register_struct(list);
    printf("%lld %lld\n", total(list), (long long)tl_ptr_refcount(list));
    tl_mem_exit_scope();
    printf("%g\n", mean(3));
    tl_stats_get(&after);
    printf("%lld %d\n", (long long)(after.live_objects - before.live_objects), tl_last_status());
    return 0;
}
`

// TestExternFunctions links a program with C that it calls and that calls it: arguments
// are lent, and results float, both ways.
func TestExternFunctions(t *testing.T) {
	tc := findToolchain(t)
	const text = `
struct Node { value: int, next: Node }
extern func keep(list: Node)
extern func give() -> Node
extern func first(t: tensor<f64, 2>) -> float

func build(n: int) -> Node {
	let list = none Node
	while n > 0 { list = new Node{value: n, next: list} n = n - 1 }
	keep(list)
	list.value = 100
	return give()
}
func total(list: Node) -> int {
	let s = 0
	while list is none == 0 { s = s + list.value list = list.next }
	return s
}
func mean(n: int) -> float {
	let t = zeros tensor<f64, 2>
	while n > 0 { t = t + fill tensor<f64, 2>(2.5) n = n - 1 }
	keep(none Node)
	return first(t)
}
`
	for name, options := range variants {
		module := emitted(t, text, options, Options{Version: tc.version})
		require.Contains(t, module, "declare ptr @give()\n")
		program := tc.build(t, module, host, "-O2")
		for _, path := range []string{"1", "0"} {
			require.Equal(t, "15 1\n7.5\n0 0", strings.Join(execute(t, program, path), "\n"), "%s, TL_FASTPATH=%s", name, path)
		}
	}
}

// FuzzEmit lowers whatever is a program, and wants text or an error.
func FuzzEmit(f *testing.F) {
	f.Add(everything)
	f.Add(costs)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ir.Parse(text)
		if err != nil {
			return
		}
		for _, options := range variants {
			m, err := lower.Lower(p, options)
			if err != nil {
				return
			}
			if module, err := Emit(m, Options{}); err == nil && !strings.Contains(module, "define i32 @module_init()") {
				t.Errorf("no module:\n%s", module)
			}
		}
	})
}
