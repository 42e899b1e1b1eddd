/* The arena of the calling thread: an allocation adds to an offset. */
#include "fast.h"
#include "../inline/arena.h"

void* tl_arena_alloc(int64_t bytes)
{
	void* p;
	return TLC_LIKELY(tlc_op_arena_alloc(tlc_tls, bytes, &p)) ? p : slow_arena_alloc(bytes);
}

void* tl_arena_malloc(int64_t bytes)
{
	void* p;
	if (TLC_LIKELY(tlc_op_arena_malloc(tlc_tls, bytes, &p))) return p;
	return bytes > 0 && tlc_alloc((size_t)bytes, &p) ? p : slow_arena_malloc(bytes); /* the arena has no room */
}

bool tl_arena_is_active(void)
{
	bool is;
	return TLC_LIKELY(tlc_op_arena_is_active(tlc_tls, &is)) ? is : slow_arena_is_active();
}

bool tl_arena_contains(const void* pointer)
{
	bool does;
	return TLC_LIKELY(tlc_op_arena_contains(tlc_tls, pointer, &does)) ? does : slow_arena_contains(pointer);
}

int64_t tl_arena_get_offset(void)
{
	int64_t offset;
	return TLC_LIKELY(tlc_op_arena_get_offset(tlc_tls, &offset)) ? offset : slow_arena_get_offset();
}

tl_status tl_arena_set_offset(int64_t offset)
{
	return TLC_LIKELY(tlc_op_arena_set_offset(tlc_tls, offset)) ? TL_OK : slow_arena_set_offset(offset);
}
