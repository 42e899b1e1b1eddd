/* The list behind tl_deferred_push: pushed by any thread, emptied at once, so
 * that no node is ever taken out of the middle and none can be seen twice. */
#include <stdatomic.h>

#include "tl_runtime.h"

void tl_deferred_push(void* ptr, void* ctx)
{
	tl_deferred* node = ctx;
	_Atomic(void*)* list;
	void* first;
	(void)ptr;
	if (node == NULL || node->list == NULL) {
		return;
	}
	list = node->list;
	first = atomic_load_explicit(list, memory_order_relaxed);
	do {
		node->next = first;
	} while (!atomic_compare_exchange_weak_explicit(list, &first, node, memory_order_release, memory_order_relaxed));
}

void* tl_deferred_take(void* list)
{
	if (list == NULL) {
		return NULL;
	}
	return atomic_exchange_explicit((_Atomic(void*)*)list, NULL, memory_order_acquire);
}
