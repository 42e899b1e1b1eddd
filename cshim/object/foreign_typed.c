/* Blocks of malloc's with a type, seen from the fast path: who counts them, and what a compiler's own Vec
 * says of itself. The Go twin is runtime/object/compiler_vecs.go. register.c
 * registers blocks, typed_blocks.c ends them. */
#include "fast.h"

#include "../guard/host_memory.h"

void tlc_note_thread(const tl_foreign_entry* e) { tlc_note_owner(e, tlc_tls->owner); }

bool tlc_foreign_share(uintptr_t p)
{
	tlc_lookup x = tlc_lock_entry(p);
	if (x.entry == NULL) return false;
	const bool held = x.entry->count != 0;
	if (held && x.entry->link != 0 && tlc_bytes(x.entry) != 0) tlc_note_owner(x.entry, TL_OWNER_NEVER);
	tlc_shard_unlock(x.shard);
	return held;
}

static inline uint64_t number_at(uintptr_t p, uint32_t bytes)
{
	return bytes == sizeof(uint32_t) ? *(const uint32_t*)p : *(const uint64_t*)p;
}

/* The bytes at a Vec's data, and whose they are; 0: nobody's, or Go has to look. */
static uint64_t room_at(uintptr_t p, int* kind)
{
	tl_record* r;
	uint32_t class;
	if (tlc_find_slot(p, &r, &class)) {
		*kind = TLC_DATA_OBJECT;
		return TLC_LOAD(r->type_flags) == TL_TYPE_PLAIN && tlc_is_live_object(r) ? tlc_g.classes[class].size : 0;
	}
	*kind = TLC_DATA_MALLOC;
	if (tlc_is_kept(p) || tlc_foreign_seen(p) || !tlc_may_be_malloced(p)) return 0;
	return tlc_host.usable((void*)p);
}

bool tlc_look_at_vec(const tl_type_info* info, uintptr_t p, uint64_t bytes, tlc_contents* has)
{
	const tl_vec_info* vec = info->vec;
	uint64_t need;
	has->data = *(const uintptr_t*)(p + vec->data);
	has->length = number_at(p + vec->length, vec->number_bytes);
	has->capacity = number_at(p + vec->capacity, vec->number_bytes);
	has->kind = TLC_DATA_NONE;
	if (has->length > has->capacity) return false;
	if (has->data == 0) return has->length == 0;
	if (has->data - p < bytes || (vec->fields != 0 && has->data % sizeof(uintptr_t) != 0)) return false;
	if (__builtin_mul_overflow(has->capacity, vec->element_bytes, &need)) return false;
	uint64_t room = room_at(has->data, &has->kind);
	return room != 0 && need <= room;
}
