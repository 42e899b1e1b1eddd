/* What scripts/linear.sh measures: builds n objects and, unless the mode starts
 * with "build-", releases a chain of them or collects rings of them.
 *
 *     linear chain|cycles|build-chain|build-cycles N
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "chain.h"

enum { RING = 10 };

static void build_rings(int64_t n)
{
	for (int64_t made = 0; made < n; made += RING) {
		struct chain_node* last;
		tl_mem_enter_scope();
		struct chain_node* first = last = tl_object_new(chain_type);
		for (int i = 1; i < RING; i++) {
			struct chain_node* node = tl_object_new(chain_type);
			last->next = tl_ptr_acquire(node);
			last = node;
		}
		last->next = tl_ptr_acquire(first);
		tl_mem_exit_scope();
	}
}

int main(int argc, char** argv)
{
	const char* mode = argc > 1 ? argv[1] : "chain";
	int64_t n = argc > 2 ? strtoll(argv[2], NULL, 0) : 100000;
	int bad = 0;
	chain_define();
	if (strstr(mode, "cycles") != NULL) {
		build_rings(n);
		if (mode[0] != 'b') bad = tl_mem_collect_cycles() != n;
	} else {
		void* head = chain_of(n);
		if (mode[0] != 'b') bad = tl_ptr_release(head) != TL_OK;
	}
	if (bad) fprintf(stderr, "%s %lld: not everything was freed\n", mode, (long long)n);
	/* At once: what exit does is no part of the measure. */
	_exit(bad);
}
