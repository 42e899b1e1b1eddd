/* Tracking: samples, stacks, and the report at exit. Go keeps the records (runtime/observe/track). */
#define _GNU_SOURCE
#include "../base/frames.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../object/fast.h"
#include "../python/frames.h"
#include "../host/output.h"
#include "../stacks/stacks.h"
#include "tracking.h"

/* ---- stacks -------------------------------------------------------------------------- */

static void settle(const tlc_stack* own, void* context)
{
	uintptr_t both[TLC_MOST_BOTH];
	const size_t n = tlc_python_add(own, both), of_c = own->n < TLC_MOST_FRAMES ? own->n : TLC_MOST_FRAMES;
	tlentry_settle((uintptr_t)context, (uintptr_t)(n != 0 ? both : own->frames), n != 0 ? n : of_c);
}

void tlc_settle(tl_context* c) { tlc_take_stack(tlc_most_frames(), settle, c); }

/* ---- samples -------------------------------------------------------------------------- */

void tlc_end_samples(tl_context* c)
{
	c->tracking.left = UINT64_MAX >> 1;
	for (int class = 0; class < TL_CLASSES; class ++) c->magazines[class].allocs &= UINT64_MAX >> 1; /* far from zero */
}

static void* sampled(tl_context* c, uint32_t kind, void* address, uint64_t bytes)
{
	tl_status why;
	tl_context* in = tlc_entry_begin(TL_FN_NONE, &why);
	if (in == NULL) {
		c->tracking.left = 0;
		return address;
	}
	tlentry_sampled((uintptr_t)in, kind, (uintptr_t)address, bytes);
	tlc_entry_end(in);
	return address;
}

void* tlc_sampled_foreign(tl_context* c, void* p, uint64_t bytes) { return sampled(c, TLC_TRACK_FOREIGN, p, bytes); }
void* tlc_sampled_block(tl_context* c, void* block, uint64_t bytes)
{
	return sampled(c, TLC_TRACK_BLOCK, block, bytes);
}

void tlc_forget_block(const void* block)
{
	if (tlc_forked()) return;
	const _Atomic uint32_t* marks = (const _Atomic uint32_t*)tlc_g.block_marks;
	if (TLC_LOAD(marks[TL_BLOCK_MARK((uintptr_t)block)]) != 0) tlentry_forget_block((uintptr_t)block);
}

/* Recordings so far; counted in Go. */
uint64_t tlc_recorded;

const uint64_t* tl_track_count(void) { return &tlc_recorded; }

/* ---- traces -------------------------------------------------------------------------- */

/* The calling thread joins the trace at once, others at their next slow call. */
tl_status tl_trace_start(const char* path)
{
	tl_status status = slow_trace_start(path);
	tlc_choose_path();
	return status;
}

tl_status tl_trace_stop(void)
{
	tl_status status = slow_trace_stop();
	tlc_choose_path();
	return status;
}

/* ---- lines --------------------------------------------------------------------------- */

/* With samples only the last recorded allocation can be meant, so this needs no cgo call. */
bool tlc_may_name(const void* pointer)
{
	const tl_context* c = tlc_own_context();
	if (c == NULL || pointer == NULL) return false;
	if (c->tracking.sampled != (uintptr_t)pointer &&
	    (TLC_LOAD(tlc_shared->tracking) & TL_TRACKING_MODE) < TL_TRACKING_ALL)
		return false;
	return !c->in_go && !tlc_forked(); /* a call that records nothing is not refused */
}

void* tl_track_site(void* pointer, const char* file, uint32_t line)
{
	return TLC_UNLIKELY(tlc_may_name(pointer)) ? slow_track_site(pointer, file, line) : pointer;
}

/* ---- leaks of a program that goes on ------------------------------------------------------ */

/* Asks outside of the guard, so that the caller may do anything. */
int64_t tl_leak_report_asking(const char* path, uint64_t mark, tl_leak_holders ask, void* ctx)
{
	tl_status why;
	tl_context* c = tlc_entry_begin_for_memory(TL_FN_tl_leak_report_asking, &why);
	if (c == NULL) return -1;
	const uint64_t list = tlentry_leak_list((uintptr_t)c, ask != NULL);
	tlc_entry_end(c);
	if (list == 0) return -1;
	void* const* held = NULL;
	size_t n = ask(ctx, &held);
	c = tlc_entry_begin(TL_FN_tl_leak_report_asking, &why);
	if (c == NULL) return -1;
	const int64_t left = tlentry_leak_narrow((uintptr_t)c, list, (uintptr_t)held, n);
	tlc_entry_end(c);
	if (left < 0) return -1;
	if (left > 0) n = ask(ctx, &held);
	c = tlc_entry_begin(TL_FN_tl_leak_report_asking, &why);
	if (c == NULL) return -1;
	const int64_t leaked = tlentry_leak_report((uintptr_t)c, list, (uintptr_t)path, mark, (uintptr_t)held, n);
	tlc_entry_end(c);
	return leaked;
}

/* ---- the end of the process ------------------------------------------------------------ */

enum { LEAKED = 23, FAILED = 24 }; /* exit statuses; LeakSanitizer uses the first */

/* Looks for leaks and returns their number, -1 = unknown. */
static int64_t look_for_leaks(tl_context* c)
{
	if (c != NULL) return tlentry_leaks((uintptr_t)c);
	tlc_tell("tl_runtime: TL_LEAK_CHECK: leaks could not be looked for: exit() was called from inside a call\n", NULL);
	return -1;
}

/* Runs after the program's own handlers and the destructors of its statics: a library's destructors
 * run after those of the code that depends on it. No code of the program is called: objects that
 * ended threads have left are reported, not released. */
__attribute__((destructor)) static void report_at_exit(void)
{
	if (tlc_shared == &tlc_g || tlc_forked()) return;
	bool checks = TLC_LOAD(tlc_shared->leak_check) != TL_LEAK_CHECK_OFF, traces = tlc_is_tracing();
	bool guards = tlc_shared->debug != 0;
	const uint64_t failures = tlc_tell_failures();
	if (!checks && !traces && !guards && failures == 0) return;
	tl_context* c = tlc_own_context();
	bool attached = c != NULL && !c->in_go;
	/* An exit() from inside a call, for example by an allocator of the program: that call may hold
	 * locks. */
	if (!attached) c = c == NULL ? tlc_enter_unattached() : NULL;
	if (attached) c->in_go = 1;
	if (traces && c != NULL) tlentry_end_trace((uintptr_t)c);
	int64_t damaged = guards && c != NULL ? tlentry_check_at_end((uintptr_t)c) : 0;
	int64_t leaked = checks ? look_for_leaks(c) : 0;
	if (attached) c->in_go = 0;
	else if (c != NULL) tlc_leave_unattached(c);
	const uint32_t how = TLC_LOAD(tlc_shared->on_error);
	if (damaged != 0 && (how & TLC_ON_ERROR_ABORT) != 0) abort();
	const bool failed = (how & TLC_ON_ERROR_FAIL) != 0 && (failures != 0 || damaged != 0);
	if (!failed && (leaked == 0 || TLC_LOAD(tlc_shared->leak_check) != TL_LEAK_CHECK_FAIL)) return;
	fflush(NULL);
	_exit(failed ? FAILED : LEAKED);
}
