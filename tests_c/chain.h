/* Long chains of typed objects, for tests of depth and of cost. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "tl_runtime.h"

struct chain_node {
	struct chain_node* next;
	int64_t number;
};

static tl_type chain_type;

static inline void chain_define(void)
{
	static const size_t offset = offsetof(struct chain_node, next);
	tl_type_desc desc = {
		.name = "chain", .size = sizeof(struct chain_node), .pointer_offsets = &offset, .num_pointers = 1};
	if (tl_type_define(&desc, &chain_type) != TL_OK) abort();
}

/* A chain whose head the caller holds with one counted reference. Scopes of a
 * thousand nodes keep the scope stack short. */
static inline struct chain_node* chain_of(int64_t length)
{
	struct chain_node* head = NULL;
	tl_mem_enter_scope();
	for (int64_t i = 0; i < length; i++) {
		struct chain_node* node = tl_object_new(chain_type);
		if (node == NULL) abort();
		tl_ptr_acquire(node);
		node->next = head;
		node->number = i;
		head = node;
		if (i % 1000 == 999) {
			tl_mem_exit_scope();
			tl_mem_enter_scope();
		}
	}
	tl_mem_exit_scope();
	return head;
}
