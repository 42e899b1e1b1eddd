/* Deleters of registered blocks, called from C: when the last reference goes on the fast path, at
 * once, or after those that wait already. runtime/object/deleters.go is the Go twin. Blocks with a type
 * wait in the same list.
 *
 * While a deleter or a destructor runs, blocks that it drops are appended to the context's list of
 * pending deleter calls, so that a chain of blocks needs no stack. Whoever works on the list has
 * set draining, as drain in guard/guard.c. No function of the program is called in a forked child. */
#include "fast.h"

void tlc_call_ended(tl_context* c, const tlc_ended* ended)
{
	__attribute__((cleanup(tlc_stop_draining))) tl_context* guard = c;
	guard->draining.active = 1;
	guard->draining.frame = (uintptr_t)__builtin_frame_address(0);
	if (TLC_LIKELY(ended->kind == TL_FOREIGN_CUSTOM)) {
		((tl_deleter)ended->deleter)((void*)ended->pointer, (void*)ended->ctx);
	} else {
		tlc_free_new(ended->pointer, ended->kind);
	}
}

void tlc_append_ended(tl_context* c, uint32_t number)
{
	tlc_record_of(number)->next = 0;
	if (c->draining.deleter_first == 0) c->draining.deleter_first = number;
	else tlc_record_of(c->draining.deleter_last)->next = number;
	c->draining.deleter_last = number;
}

/* Is it a block with a type? It alone waits with the kind of malloc's memory. */
static bool is_typed(uint32_t number)
{
	uint64_t block = atomic_load_explicit(&tlc_record_of(number)->block, memory_order_relaxed);
	return (block >> TL_FOREIGN_KIND_SHIFT & 0xFF) == TL_FOREIGN_MALLOC;
}

static void make_call(tl_context* c)
{
	tlc_ended ended;
	c->draining.deleter_first = tlc_settle_pending(c->draining.deleter_first, &ended);
	tlc_call_ended(c, &ended);
}

__attribute__((noinline)) void tlc_finish(tl_context* c)
{
	/* A function of the program may have turned the fast path off, or forked. */
	while (tlc_has_to_destroy(c) != 0 && tlc_tls == c && !tlc_forked()) {
		const bool object = c->draining.destroy_first != 0;
		if (!object && !is_typed(c->draining.deleter_first)) make_call(c);
		else if (!(object ? tlc_end_first(c) : tlc_end_waiting_block(c))) break;
	}
	if (tlc_has_to_destroy(c) != 0) tlc_poll();
}

bool tlc_deleters_wait(void)
{
	const tl_context* c = tlc_tls;
	return (c->draining.active | tlc_has_to_destroy(c)) != 0;
}

void tlc_call_deleter(tl_context* c, const tlc_ended* ended)
{
	if (ended->type != 0) tlc_end_block(c, ended->pointer, ended->type);
	else if (ended->record != 0) tlc_append_ended(c, ended->record);
	else tlc_call_ended(c, ended);
	if (TLC_UNLIKELY(tlc_has_to_destroy(c) != 0) && c->draining.active == 0) tlc_finish(c);
}
