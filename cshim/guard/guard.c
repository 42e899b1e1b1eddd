/* The entry guard, threads, fork: everything between a C thread and the slow path. */
#define _GNU_SOURCE
#include "../base/frames.h"
#include "guard.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../base/go.h"
#include "../host/descriptors.h"
#include "../host/signals.h"
#include "../host/stack.h"
#include "../host/start.h"
#include "../host/output.h"

/* Two contexts of zeros: before the first call and after the thread's end. All threads share them, so nothing is written
 * into them: the pages are read-only. */
static const tl_context none = {.owner = TL_OWNER_NEVER, .one = TL_OWNER_NEVER | 1};
static const tl_context exited = {.owner = TL_OWNER_NEVER, .one = TL_OWNER_NEVER | 1};

__thread tl_context* tlc_tls __attribute__((tls_model("initial-exec"))) = (tl_context*)&none;
/* No address is in a heap that begins there, however large. */
#define NOWHERE ((uintptr_t)1 << 63)

tl_globals tlc_g = {.heap_base = NOWHERE};
tl_globals* _Atomic tlc_shared = &tlc_g;

__thread tlc_error tlc_apart __attribute__((tls_model("initial-exec")));

static pthread_key_t thread_key;
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
/* Guards the shared context. It refuses a thread that has it already. */
static pthread_mutex_t shared_lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static _Atomic bool started;
static sem_t first_entries; /* threads that may enter Go for the first time at once */
_Atomic(volatile char*) tlc_alive;
static char alive_fallback = 1;

enum { FIRST_ENTRIES = 8 };

_Static_assert(offsetof(tl_context, magazines) % sizeof(tl_magazine) == 0, "a magazine lies in one cache line");

/* ---- fork ------------------------------------------------------------------------ */

/* The tables exist from the first use on. The start lock prevents a first use during a fork, and
 * guards this. */
static bool tables_locked;

/* This thread has the start lock while it forks. A handler of fork() that the program has registered before this library's
 * runs inside of these, and may call the library. */
static __thread bool forks __attribute__((tls_model("initial-exec")));

static void before_fork(void)
{
	pthread_mutex_lock(&start_lock);
	forks = true;
	tables_locked = atomic_load_explicit(&started, memory_order_acquire);
	if (!tables_locked) return;
	tlc_foreign_lock_all();
	tlc_memory_pools_lock_all();
}

static void after_fork_parent(void)
{
	if (tables_locked) {
		tlc_memory_pools_unlock_all();
		tlc_foreign_unlock_all();
	}
	forks = false;
	pthread_mutex_unlock(&start_lock);
}

static void let_threads_enter(void) { sem_init(&first_entries, 0, FIRST_ENTRIES); }

static void after_fork_child(void)
{
	if (tlc_alive == NULL) let_threads_enter(); /* one that waited for this lock was about to */
	else tlc_alive = &alive_fallback;
	alive_fallback = 0;
	tl_context* own = tlc_own_context();
	if (own != NULL) tlc_end_samples(own);
	tlc_choose_path();
	tlc_forget_lost();
	after_fork_parent();
}

void tlc_mark_forks(void)
{
	char* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	alive_fallback = 1;
	tlc_alive = &alive_fallback;
	if (page == MAP_FAILED) return;
	*page = 1;
#ifdef MADV_WIPEONFORK
	if (madvise(page, 4096, MADV_WIPEONFORK) == 0) tlc_alive = page; /* catches a raw clone as well */
#endif
}

/* ---- threads ----------------------------------------------------------------------- */

/* The system's number of this thread. A forked child, whose number is another one, does not enter Go. */
static uint32_t thread_number(void)
{
	static __thread uint32_t number __attribute__((tls_model("initial-exec")));
	if (TLC_UNLIKELY(number == 0)) number = (uint32_t)syscall(SYS_gettid);
	return number;
}

/* What a context has of the thread that uses it: the thread's last error moves there, and back. */
static void lend_error(tl_context* c)
{
	c->thread_number = thread_number();
	tlc_apart.lack = 0;
	c->error.status = tlc_apart.status;
	c->error_function = tlc_apart.function;
	c->error.kind = c->error.message_ready = 0;
	c->error.pointer = 0;
}

static void keep_error(const tl_context* c)
{
	tlc_apart.status = c->error.status;
	tlc_apart.function = c->error_function;
}

bool tlc_is_in_range(uintptr_t p)
{
	const tl_globals* g = tlc_shared;
	const uint64_t used = atomic_load_explicit(&g->ranges_used, memory_order_acquire);
	for (uint64_t i = 0; i < used && i < TL_RANGES; i++)
		if (p - TLC_LOAD(g->ranges[i].start) < TLC_LOAD(g->ranges[i].bytes)) return true;
	return used > TL_RANGES;
}

/* Parks a context: no Go, and no lock that is held for long, so that it may run as a thread's destructor. The next thread
 * may never come, so the depots get what is in the magazines. */
static void park(tl_context* c)
{
	keep_error(c);
	tlc_note_taken(c);
	tlc_give_magazines(c);
	/* Read before the context is given away: afterwards it may belong to another thread. */
	bool open = c->top != c->entries || c->mark_top != c->marks || tlc_has_to_destroy(c) != 0 || c->waiting != 0;
	uint64_t word = atomic_load(&c->word);
	while (!atomic_compare_exchange_weak(&c->word, &word, (word & ~(uint64_t)TL_CTX_STATE) | TL_CTX_PARKED)) {}
	atomic_fetch_add(&tlc_shared->parked, 1);
	/* An exchange, not a store: a reaper that lowers the flag must see every parker. */
	if (open || word >> 2 != 0) atomic_exchange(&tlc_shared->reap, 1);
}

static void thread_ended(void* context)
{
	tlc_tls = (tl_context*)&exited;
	park(context);
}

tl_status tl_thread_detach(void)
{
	tl_context* c = tlc_own_context();
	if (c == NULL) return TL_OK;
	if (c->in_go || c->draining.active || tlc_apart.telling || tlc_is_asking((uintptr_t)__builtin_frame_address(0)))
		return tlc_fail(TL_E_BUSY, TL_FN_tl_thread_detach, NULL);
	pthread_setspecific(thread_key, NULL);
	tlc_tls = (tl_context*)&none;
	park(c);
	return TL_OK;
}

/* Fills the shim's copy while other threads may read it: heap_base, which is its first
 * field, last. */
static void publish(tl_globals* globals)
{
	enum { REST = sizeof(uintptr_t) };
	_Static_assert(offsetof(tl_globals, heap_base) == 0, "all but the first field is copied first");
	memcpy((char*)&tlc_g + REST, (const char*)globals + REST, sizeof tlc_g - REST);
	tlc_foreign_attach(tlc_g.shards, tlc_g.shard_mask);
	tlc_memory_pools_attach(tlc_g.pools, tlc_g.fast != 0);
	atomic_store_explicit(&tlc_g.heap_base, TLC_LOAD(globals->heap_base), memory_order_release);
	atomic_store_explicit(&tlc_shared, globals, memory_order_release);
}

static tl_status start(void)
{
	if (atomic_load_explicit(&started, memory_order_acquire)) return tlc_go_has_room() ? TL_OK : TL_E_OUT_OF_MEMORY;
	pthread_mutex_lock(&start_lock);
	tl_status status = TL_OK;
	if (!atomic_load_explicit(&started, memory_order_relaxed)) {
		uintptr_t globals = 0;
		tlc_filled_descriptors filled;
		tlc_fill_standard_descriptors(&filled);
		status = tlc_start_go(&thread_key, thread_ended);
		if (status == TL_OK) {
			status = tlentry_open((uintptr_t)&globals);
			if (status == TL_E_OUT_OF_MEMORY) tlc_tables_were_refused();
		}
		tlc_close_filled_descriptors(&filled);
		if (status == TL_OK) {
			publish((tl_globals*)globals);
			tlc_forget_relocations();
			tlc_watch_ends();
			atomic_store_explicit(&started, true, memory_order_release);
		}
	}
	pthread_mutex_unlock(&start_lock);
	return status;
}

__attribute__((constructor(TLC_BEFORE_GO))) static void prepare_entry(void)
{
	let_threads_enter();
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

bool tlc_configure_first(const char* key, const char* value, tl_status* status)
{
	*status = tlc_forked() ? TL_E_FORKED : forks ? TL_E_BUSY : TL_OK;
	if (*status != TL_OK) return true;
	tlc_quiet before;
	tlc_filled_descriptors filled;
	tlc_begin_quiet(&before);
	pthread_mutex_lock(&start_lock);
	bool first = !atomic_load_explicit(&started, memory_order_relaxed);
	if (first) {
		tlc_fill_standard_descriptors(&filled);
		*status = tlc_start_go(&thread_key, thread_ended);
		if (*status == TL_OK) *status = tlentry_configure((uintptr_t)key, (uintptr_t)value);
		tlc_close_filled_descriptors(&filled);
	}
	pthread_mutex_unlock(&start_lock);
	tlc_end_quiet(&before);
	return first;
}

bool tlc_is_tracing(void) { return (TLC_LOAD(tlc_shared->tracking) & TL_TRACKING_MODE) == TL_TRACKING_TRACE; }

static tl_context* stub_of(tl_context* c) { return (tl_context*)((char*)c + TLC_STUB_OFFSET); }

void tlc_choose_path(void)
{
	tl_context* c = tlc_own_context();
	if (c == NULL) return;
	bool fast = tlc_g.fast && (tlc_forked() || !tlc_is_tracing());
	*(c->in_go ? &c->path : &tlc_tls) = fast ? c : stub_of(c);
}

/* Gives the thread a context of its own; NULL when it cannot have one. A thousand threads that
 * enter Go for the first time together take seconds, a few at a time take milliseconds. */
static tl_context* attach(tl_status* why)
{
	tlc_quiet before; /* the thread's stack in Go is made now */
	if (forks && !atomic_load_explicit(&started, memory_order_relaxed)) {
		*why = TL_E_BUSY;
		return NULL;
	}
	tlc_begin_quiet(&before);
	while (sem_wait(&first_entries) != 0 && errno == EINTR) {}
	*why = start();
	tl_context* c = NULL;
	if (*why == TL_OK) c = (tl_context*)tlentry_attach();
	sem_post(&first_entries);
	tlc_end_quiet(&before);
	if (c == NULL) return NULL;
	if (pthread_setspecific(thread_key, c) != 0) { /* no memory for the key: the context would never be parked */
		park(c);
		*why = TL_E_OUT_OF_MEMORY;
		return NULL;
	}
	lend_error(c);
	tlc_tls = c;
	tlc_choose_path();
	return c;
}

/* ---- the entry guard ------------------------------------------------------------------------ */

static bool is_shared(const tl_context* c) { return c->id == 0; }

/* Between go_in and go_out the thread is in Go. It sees its stub, so that calls of a signal handler
 * reach the entry guard, which refuses them. It is not cancelled, because its stack could not be
 * unwound. The handler finds in_go before it can touch the rest. */
static void go_in(tl_context* c)
{
	c->in_go = 1;
	atomic_signal_fence(memory_order_seq_cst);
	tlc_hold_handlers();
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &c->cancel_state);
	if (is_shared(c)) return; /* a thread without a context sees zeros anyway */
	c->path = tlc_tls;
	tlc_tls = stub_of(c);
	if (TLC_UNLIKELY(c->warm != NULL)) tlc_cool(c);
}

static void go_out(tl_context* c)
{
	if (!is_shared(c)) tlc_tls = c->path;
	pthread_setcancelstate(c->cancel_state, NULL);
	atomic_signal_fence(memory_order_seq_cst);
	c->in_go = 0;
	tlc_release_handlers();
}

/* The context of threads without one; its lock is held. Such a thread may get a new stack from Go. */
static tl_context* go_in_shared(void)
{
	tlc_quiet before;
	tlc_begin_quiet(&before);
	tl_context* c = (tl_context*)tlentry_shared();
	tlc_end_quiet(&before);
	go_in(c);
	return c;
}

static tl_context* refuse(tl_status status, uint32_t function, tl_status* why)
{
	bool starting = status != TL_E_FORKED && status != TL_E_BUSY;
	*why = status;
	if (function != TL_FN_NONE)
		(void)(starting ? tlc_fail_to_start(status, function) : tlc_fail(status, function, NULL));
	return NULL;
}

/* The thread has the lock of the shared context. */
static void take_shared(tl_context* c)
{
	lend_error(c);
	c->error_pending = tlc_apart.telling ? TLC_TELLING : 0;
}

static tl_context* enter_shared(uint32_t function, tl_status* why)
{
	if (pthread_mutex_lock(&shared_lock) != 0) return refuse(TL_E_BUSY, function, why);
	tl_context* c = go_in_shared();
	take_shared(c);
	c->shortage.is_open = c->shortage.attempts = 0;
	c->error.function = function;
	c->slow_calls++;
	TLC_PROBE_CGO_CALL(tlc_function_names[function], function);
	return c;
}

static bool has_requests(tl_context* c)
{
	bool mail = tlc_has_mail(c) && (c->path != c || !tlc_read_inbox(c));
	return mail || TLC_LOAD(tlc_shared->reap) != 0 || TLC_LOAD(tlc_shared->purge) != c->purge_seen ||
	       TLC_LOAD(tlc_shared->tracking) != c->tracking.seen;
}

/* Handles requests of other threads, and a change of the path. */
static void answer(tl_context* c)
{
	tlentry_poll((uintptr_t)c);
	tlc_choose_path();
}

tl_context* tlc_entry_begin(uint32_t function, tl_status* why)
{
	*why = TL_OK;
	if (tlc_forked()) return refuse(TL_E_FORKED, function, why);
	tl_context* c = tlc_own_context();
	if (TLC_UNLIKELY(c == NULL)) {
		if (tlc_tls != &exited) c = attach(why);
		if (c == NULL && *why != TL_OK) return refuse(*why, function, why);
		if (c == NULL) return enter_shared(function, why);
	}
	if (TLC_UNLIKELY(c->in_go)) return refuse(TL_E_BUSY, function, why);
	go_in(c);
	c->shortage.is_open = c->shortage.attempts = 0;
	if (c->draining.active == 0) c->damaged = 0; /* found by a call without a status */
	c->error.function = function;
	c->slow_calls++;
	TLC_PROBE_CGO_CALL(tlc_function_names[function], function);
	if (TLC_UNLIKELY(has_requests(c))) answer(c);
	return c;
}

tl_context* tlc_enter_unattached(void)
{
	if (pthread_mutex_trylock(&shared_lock) != 0) return NULL;
	return go_in_shared();
}

void tlc_leave_unattached(tl_context* c)
{
	go_out(c);
	pthread_mutex_unlock(&shared_lock);
}

void tlc_entry_step_out(tl_context* c)
{
	go_out(c);
	if (!is_shared(c)) return;
	keep_error(c);
	pthread_mutex_unlock(&shared_lock);
}

void tlc_entry_step_back(tl_context* c, uint32_t function)
{
	if (is_shared(c)) {
		pthread_mutex_lock(&shared_lock);
		take_shared(c);
	}
	go_in(c);
	c->error.function = function;
}

bool tlc_entry_step_in(tl_context* c, uint32_t function)
{
	if (tlc_forked()) return false;
	tlc_entry_step_back(c, function);
	if (!is_shared(c) && has_requests(c)) answer(c);
	return true;
}

static void call_back(tl_context* c)
{
	uintptr_t f = c->draining.callback.function;
	void *object = (void*)c->draining.callback.object, *extra = (void*)c->draining.callback.context;
	uint32_t arguments = c->draining.arguments, function = c->error.function;
	c->draining.arguments = 0;
	tlc_entry_step_out(c);
	if (arguments == 1) ((void (*)(void*))f)(object);
	if (arguments == 2) ((void (*)(void*, void*))f)(object, extra);
	if (tlc_forked()) return; /* the callback forked, and this is the child */
	tlc_entry_step_back(c, function);
}

/* Finishes the objects of the deferred-destruction queue. Before each callback the state is
 * committed and Go is left, so a callback that throws or longjmps loses nothing: the next outermost
 * call continues. */
static void drain(tl_context* c)
{
	__attribute__((cleanup(tlc_stop_draining))) tl_context* guard = c;
	c->draining.active = 1;
	c->draining.frame = (uintptr_t)__builtin_frame_address(0);
	while (c->in_go && tlentry_drain_step((uintptr_t)guard)) call_back(c);
}

void tlc_entry_end(tl_context* c)
{
	if (TLC_UNLIKELY(c->in_go == 0)) return; /* a callback came back in a forked child */
	if (TLC_UNLIKELY(c->tracking.pending != 0)) tlc_settle(c);
	if (TLC_UNLIKELY(c->error_pending == 1)) tlc_report_error(c);
	bool outermost = c->draining.active == 0;
	while (TLC_UNLIKELY(c->unfinished && outermost)) {
		uint64_t target = c->close_target;
		c->unfinished = 0;
		drain(c);
		if (c->in_go) tlentry_close((uintptr_t)c, target);
	}
	/* A body that has drained the queue itself may have stopped at the last callback, with nothing
	 * after it. */
	if (TLC_UNLIKELY((tlc_has_to_destroy(c) | c->draining.arguments) != 0 && outermost)) drain(c);
	if (TLC_UNLIKELY(c->in_go == 0)) return;
	if (TLC_UNLIKELY(c->tracking.pending != 0)) tlc_settle(c);
	if (TLC_UNLIKELY(c->error_pending == 1)) tlc_report_error(c);
	tlc_entry_step_out(c);
}

tl_status tlc_visit(uint32_t function)
{
	tl_status why;
	tl_context* c = tlc_entry_begin(function, &why);
	if (c != NULL) tlc_entry_end(c);
	return why;
}

void tlc_poll(void) { tlc_visit(TL_FN_NONE); }
