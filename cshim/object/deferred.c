/* The lists behind tl_deferred_push and tl_type_define_deferred: pushed by any thread, emptied at once, so
 * that no node is ever taken out of the middle and none can be seen twice. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tl_runtime.h"

/* Nodes begin with their link. */
static void push(_Atomic(void*)* list, void* node)
{
	void* first = atomic_load_explicit(list, memory_order_relaxed);
	do {
		*(void**)node = first;
	} while (!atomic_compare_exchange_weak_explicit(list, &first, node, memory_order_release, memory_order_relaxed));
}

void tl_deferred_push(void* ptr, void* ctx)
{
	tl_deferred* node = ctx;
	(void)ptr;
	if (node != NULL && node->list != NULL) push((_Atomic(void*)*)node->list, node);
}

void* tl_deferred_take(void* list)
{
	if (list == NULL) {
		return NULL;
	}
	return atomic_exchange_explicit((_Atomic(void*)*)list, NULL, memory_order_acquire);
}

/* The destructor of types with a list: copies the object, then wakes who empties the list. */
static void copy(void* object, void* list)
{
	tl_deferred_dead* dead = list;
	tl_deferred_copy* node = malloc(sizeof *node + dead->bytes);
	if (node == NULL) {
		__atomic_add_fetch(&dead->lost, 1, __ATOMIC_RELAXED);
		return;
	}
	node->of = dead;
	node->bytes = dead->bytes;
	memcpy(node + 1, object, dead->bytes);
	push((_Atomic(void*)*)&dead->copies, node);
	tl_deferred_push(NULL, atomic_exchange_explicit((_Atomic(void*)*)&dead->waker, NULL, memory_order_acq_rel));
}

/* Its address, for Go. */
uintptr_t tlc_deferred_copier(void) { return (uintptr_t)copy; }
