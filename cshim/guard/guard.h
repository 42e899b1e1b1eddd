/* The entry guard between the paths, and what every fast function starts from.
 *
 * tlc_tls never is NULL. It points to the thread's context; or to the context's
 * stub, all zeros, when TL_FASTPATH=0; or to one of two static contexts of zeros
 * before the thread's first call and after its exit. A context of zeros answers no call: every
 * magazine is empty, every stack full, and no record has its owner, so the fast functions need no
 * test for any of these cases.
 */
#pragma once

#include <stdbool.h>

#include "../base/fork.h"
#include "../base/layout.h"
#include "registered.h"
#include "tl_runtime.h"

#define TLC_STUB_OFFSET ((sizeof(tl_context) + 63) & ~(uintptr_t)63)

/* Behind a context and its stub stand the counters of user types. */
#define TLC_TYPES_OFFSET (2 * TLC_STUB_OFFSET)

#pragma GCC visibility push(hidden)

extern __thread tl_context* tlc_tls __attribute__((tls_model("initial-exec")));
/* Copy of the globals that never change. A thread without a context may read it while another
 * thread starts the library: no address is in the heap until the other fields are complete (start
 * in guard.c). */
extern tl_globals tlc_g;
extern tl_globals* _Atomic tlc_shared; /* the original, for reap, purge, parked, on_error */

/* Returns the calling thread's context, attached if need be, marked as in Go. Returns NULL when the
 * call is refused, with *why recorded as the last status; otherwise *why is TL_OK. function is the
 * one that the program has called. The fast path passes TL_FN_NONE when it needs Go for a part of a
 * call that succeeds in any case: then nothing is recorded. */
tl_context* tlc_entry_begin(uint32_t function, tl_status* why);

/* The same for a function that may need memory: refused when Go is short of it. */
tl_context* tlc_entry_begin_for_memory(uint32_t function, tl_status* why);

/* Leaves Go: reports errors, finishes interrupted closes, runs destructors. */
void tlc_entry_end(tl_context* c);

/* Between a failing call and its repetition: leaves Go and releases locks, and enters again for the
 * call of that function; false: it must not, because this is a forked child now. */
void tlc_entry_step_out(tl_context* c);
bool tlc_entry_step_in(tl_context* c, uint32_t function);

/* The same without a wait and in the same process. */
void tlc_entry_step_back(tl_context* c, uint32_t function);

/* Where on this thread's stack the out-of-memory callback was called; 0 = it is not
 * running. A caller whose frame is above it got there by a longjmp out of the callback. */
extern __thread uintptr_t tlc_asking __attribute__((tls_model("initial-exec")));
bool tlc_is_asking(uintptr_t frame);

/* Asks the program to release something for the call that has just failed for want of
 * memory; true: repeat it. */
bool tlc_ask_again(tl_context* c) __attribute__((cold));
static inline bool tlc_entry_again(tl_context* c)
{
	return __builtin_expect(c->shortage.is_open != 0, 0) && tlc_ask_again(c);
}

/* Turns sampling off: in a forked child, which could not record samples. */
void tlc_end_samples(tl_context* c);

/* While a trace runs, every call of the thread takes the slow path: the thread sees the
 * context's stub. Threads follow at their next slow call. */
bool tlc_is_tracing(void);
void tlc_choose_path(void) __attribute__((cold));

/* Adds the stack to the allocations that this call has recorded (report/tracking.c). The context is
 * in Go. */
void tlc_settle(tl_context* c) __attribute__((cold));

/* The status of a call that succeeded, unless TL_DEBUG has found damage. */
static inline tl_status tlc_found(tl_context* c, tl_status status)
{
	if (__builtin_expect(c->damaged == 0, 1)) return status;
	c->damaged = 0;
	return status == TL_OK ? TL_E_CORRUPTED : status;
}

/* The last error of a thread that has no context of its own: before its first call, after
 * its end, and while it shares context 0, which lends it. */
typedef struct tlc_error {
	tl_status status;
	uint32_t function : 24;
	uint32_t lack : 7; /* a tlc_lack: why the first use was refused */
	bool telling : 1;  /* the error callback runs: failures of its calls are not reported */
} tlc_error;

/* globals.on_error */
enum { TLC_ON_ERROR_LOG = 1, TLC_ON_ERROR_ABORT = 2, TLC_ON_ERROR_CALL = 4, TLC_ON_ERROR_FAIL = 8 };

/* Calls the function that tl_set_error_callback installed (report/listener.c). */
void tlc_call_listener(tl_status status, const char* message) __attribute__((cold));

extern __thread tlc_error tlc_apart __attribute__((tls_model("initial-exec")));

/* In tl_context.error_pending: an error is being reported; failures of the callback's own calls are
 * not. 1: an error waits to be reported when the call leaves the entry guard. */
enum { TLC_TELLING = 2 };

/* Reports an error that waits. The context is in Go. */
void tlc_report_error(tl_context* c) __attribute__((cold));

/* At the end of the process: tells how many failures were counted and not written, and returns how many there were. */
uint64_t tlc_tell_failures(void);

/* Records an error of the calling thread and returns its status. */
tl_status tlc_fail(tl_status status, uint32_t function, const void* pointer) __attribute__((cold));

/* The same of a call that found Go not started, and why it is not. */
tl_status tlc_fail_to_start(tl_status status, uint32_t function) __attribute__((cold));

/* What an address turned out to be: the status of a call that wants a live pointer, a TL_TEXT_* and the numbers in that
 * sentence. */
typedef struct tlc_finding {
	tl_status status;
	uint32_t kind;
	uint64_t details[3];
} tlc_finding;

/* The same of what was found. */
tl_status tlc_fail_with(const tlc_finding* found, uint32_t function, const void* pointer) __attribute__((cold));

/* Looks at an address where no operation found what it wanted. false: it is NULL, something starts there (a live object,
 * one at zero, a registered block, live stack memory of c), or Go alone can tell (object/findings.c). */
bool tlc_look(const tl_context* c, uintptr_t p, tlc_finding* found);

/* Refuses a call about an address where nothing starts: the error is recorded and reported as Go would do it, and *why is
 * its status. false: ask Go. */
bool tlc_refuse(uint32_t function, const void* pointer, tl_status* why) __attribute__((cold));

/* NULL as a result that is no failure. */
static inline void* tlc_null(tl_context* c)
{
	c->error.status = TL_OK;
	c->error.kind = TL_TEXT_STATUS;
	c->error.message_ready = 0;
	return NULL;
}

/* The text of tl_last_error when Go cannot be entered: the function, and the status's sentence. */
const char* tlc_error_text(tl_status status, uint32_t function) __attribute__((cold));

/* Enters and leaves: starts the runtime, handles the thread's inbox and requests of other threads,
 * and reports errors. */
tl_status tlc_visit(uint32_t function) __attribute__((cold));
void tlc_poll(void) __attribute__((cold));

/* Gives the warm places of the scope stack to the magazines (object/scopes.c). */
void tlc_cool(tl_context* c);

/* The context of threads without one, locked and in Go; NULL: it is not available. */
tl_context* tlc_enter_unattached(void);
void tlc_leave_unattached(tl_context* c);

/* Sets an option before the first use; false: that has been. */
bool tlc_configure_first(const char* key, const char* value, tl_status* status);

/* The calling thread's own context, whatever the thread sees; NULL: it is not attached. */
static inline tl_context* tlc_own_context(void) { return tlc_tls->self; }

/* ---- what the files of inline/ need --------------------------------------------------- */

#define TLC_LOAD(word) atomic_load_explicit(&(word), memory_order_relaxed)
#define TLC_LOAD_ACQUIRE(word) atomic_load_explicit(&(word), memory_order_acquire)
#define TLC_STORE(word, value) atomic_store_explicit(&(word), (value), memory_order_relaxed)
#define TLC_PEEK(word) TLC_LOAD(word)
#define TLC_SET_OWN(word, value) TLC_STORE(word, value)

/* The base of a magazine, read anew; an atomic load would be an instruction of its own beside the comparison. */
static inline tl_entry* tlc_base_of(tl_magazine* m)
{
	__asm__ volatile("" : "+m"(m->base));
	return m->base;
}
#define TLC_BASE(m) tlc_base_of(m)
#define TLC_JOINED 0
#define TLC_IS_KNOWN(what) false
#define TLC_FIXED(c, what) ((void)(c), tlc_g.what)

/* What lies between the heap's start and p; an acquiring load of the start. x86-64 keeps
 * loads in order, and there the compiler makes one instruction of load and subtraction
 * where the load is an ordinary one. */
static inline __attribute__((always_inline)) uintptr_t tlc_heap_offset(const tl_context* c, uintptr_t p)
{
	(void)c;
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	uintptr_t offset = p - *(const uintptr_t*)(const void*)&tlc_g.heap_base;
	atomic_signal_fence(memory_order_acquire);
	return offset;
#else
	return p - atomic_load_explicit(&tlc_g.heap_base, memory_order_acquire);
#endif
}

#pragma GCC visibility pop

#include "../base/probe.h"

#include "../inline/records.h"
#include "../inline/scopes.h"

#pragma GCC visibility push(hidden)

/* Raises end to the top: the places below it were taken from the warm ones. */
static inline void tlc_note_taken(tl_context* c)
{
	if (TLC_UNLIKELY(c->warm != NULL) && c->end < c->top) c->end = c->top;
}

/* Lowers the top, and leaves the places above it free. A lower top is stored in another way only by what keeps those
 * places warm (set_warm_top), and by what takes a tensor from the top: tl_mem_new alone takes warm places, so that a
 * tensor lies below end. */
static inline void tlc_lower_top(tl_context* c, tl_entry* top)
{
	tlc_note_taken(c);
	c->top = top;
}

/* ---- records and memory of the runtime ------------------------------------------------- */

/* Gives the depots what is in the magazines of a context that its thread gives up (object/heap.c). */
void tlc_give_magazines(tl_context* c);

/* Runs when a function that the library has called returns, and while it unwinds. */
static inline void tlc_stop_draining(tl_context** c) { (*c)->draining.active = 0; }

/* Whether objects wait for the thread to free them (object/inbox.h). tlc_read_inbox frees those that are plain bytes, and
 * appends what else C ends to the deferred-destruction queue; false: Go has to do the rest. */
static inline bool tlc_has_mail(const tl_context* c) { return TLC_LOAD(c->word) >> 2 != 0 || c->waiting != 0; }
bool tlc_read_inbox(tl_context* c);

/* Whether a call of this thread is in Go. Then the present call comes from a signal handler, or
 * from an allocator of the program, and must not wait for locks that the other call holds. */
static inline bool tlc_is_inside(void)
{
	const tl_context* c = tlc_tls;
	return TLC_UNLIKELY(!tlc_is_fast(c)) && c->self != NULL && c->self->in_go && !tlc_forked();
}

static inline __attribute__((always_inline)) bool tlc_find_slot(uintptr_t p, tl_record** record, uint32_t* class)
{
	return tlc_slot_at(tlc_tls, p, record, class);
}

static inline bool tlc_find_record(uintptr_t p, tl_record** record)
{
	uint32_t class;
	return tlc_find_slot(p, record, &class);
}

static inline tl_record* tlc_record_at(uintptr_t p)
{
	tl_record* r;
	return tlc_find_record(p, &r) ? r : NULL;
}

/* A life of these type flags (tlc_life), and a tag of a record (tlc_tag), both of the generation that stands in the upper
 * half of a life or of a tag. */
static inline uint64_t tlc_life_of(uint64_t tag, uint32_t type_flags) { return tag >> 32 << 32 | type_flags; }
static inline uint64_t tlc_tag_of(uint64_t life, const tl_record* r)
{
	return life >> 32 << 32 | (uint64_t)(r - tlc_g.records);
}

/* A word of a record. x86-64 keeps loads in order, and there the compiler makes one instruction of load
 * and comparison where the load is an ordinary one. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define TLC_COMPARED(type, word) (*(const type __attribute__((may_alias))*)(const void*)&(word))
#else
#define TLC_COMPARED(type, word) __atomic_load_n((const type*)(const void*)&(word), __ATOMIC_ACQUIRE)
#endif

/* Whether r is a plain object of tag's generation whose counts are exactly these: then
 * the reference that is being dropped is the only one. */
static inline __attribute__((always_inline)) bool tlc_is_plain(const tl_record* r, uint64_t tag, uint32_t loc,
                                                               uint32_t sh)
{
	bool is = TLC_LIKELY(TLC_COMPARED(uint32_t, r->loc) == loc) && TLC_LIKELY(TLC_COMPARED(uint32_t, r->sh) == sh) &&
	          TLC_LIKELY(TLC_COMPARED(tlc_pair, r->type_flags) == tlc_life_of(tag, TL_TYPE_PLAIN));
	atomic_signal_fence(memory_order_acquire);
	return is;
}

static inline bool tlc_in_heap(uintptr_t p) { return tlc_heap_offset(NULL, p) < tlc_g.heap_bytes; }
static inline bool tlc_in_slices(uintptr_t p) { return p - tlc_g.slices_base < tlc_g.slices_bytes; }
/* Whether an address is that of a tensor which has grown, or Go has to say so. */
bool tlc_is_in_range(uintptr_t p);
static inline bool tlc_in_ranges(uintptr_t p)
{
	return p - TLC_LOAD(tlc_shared->ranges_base) < TLC_LOAD(tlc_shared->ranges_bytes) && tlc_is_in_range(p);
}
/* Whether the registry must not have an address, or Go has to say whether it may. */
static inline bool tlc_is_kept(uintptr_t p) { return tlc_in_heap(p) || tlc_in_slices(p) || tlc_in_ranges(p); }

/* Live arena or frame memory of the calling thread. */
static inline bool tlc_in_live_stack(const tl_context* c, uintptr_t p)
{
	return p - c->frame.base < c->frame.top - c->frame.base || p - c->arena.base < c->arena.top - c->arena.base;
}

#pragma GCC visibility pop
