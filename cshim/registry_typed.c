/* Blocks of malloc's with a type, seen from the fast path: who counts them. Everything else about
 * them is Go's (runtime/registry/typed.go, runtime/object/typed.go). */
#include "object_fast.h"
#include "registry_linked.h"

/* Marks a block with a type as shared when a thread other than the one that registered it counts it: the
 * cycle collector leaves such blocks alone. The shard is locked. */
void tlc_note_thread(const tl_foreign_entry* e)
{
	tl_block_record* b = tlc_record_of(e->link);
	if (atomic_load_explicit(&b->state, memory_order_relaxed) != TL_BLOCK_TYPED) return;
	const tl_context* c = tlc_tls;
	if ((b->ctx & ~(uintptr_t)(TL_TYPED_SHARED | TL_TYPED_DESTROYED)) != c->owner) b->ctx |= TL_TYPED_SHARED;
}
