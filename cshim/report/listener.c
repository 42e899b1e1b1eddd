/* The error callback: a function and its argument, which belong together, set by any thread and
 * read by any other without a lock.
 *
 * The newest pair stands in a ring at the number of pairs that were ever set. A reader
 * takes it unless the ring has come round meanwhile. So no reader waits for a thread that was
 * stopped in the middle, not even in a signal handler or a forked child.
 */
#include <pthread.h>

#include "../object/fast.h"

enum { RING = 64 };

static struct {
	tl_error_callback _Atomic callback;
	void* _Atomic ctx;
} ring[RING];
static _Atomic uint32_t newest;

static pthread_mutex_t set_lock = PTHREAD_MUTEX_INITIALIZER; /* guards writing; a forked child does not get here */

static void set(tl_error_callback callback, void* ctx)
{
	pthread_mutex_lock(&set_lock);
	uint32_t n = TLC_LOAD(newest) + 1;
	atomic_thread_fence(memory_order_release); /* the number before this one, then this pair */
	TLC_STORE(ring[n % RING].callback, callback);
	TLC_STORE(ring[n % RING].ctx, ctx);
	atomic_store_explicit(&newest, n, memory_order_release);
	pthread_mutex_unlock(&set_lock);
}

tl_status tl_set_error_callback(tl_error_callback callback, void* ctx)
{
	tl_status why = tlc_visit(TL_FN_tl_set_error_callback);
	if (why != TL_OK) return why;
	set(callback, ctx);
	if (callback != NULL) atomic_fetch_or(&tlc_shared->on_error, TLC_ON_ERROR_CALL);
	else atomic_fetch_and(&tlc_shared->on_error, ~TLC_ON_ERROR_CALL);
	return TL_OK;
}

void tlc_call_listener(tl_status status, const char* message)
{
	tl_error_callback callback;
	void* ctx;
	uint32_t n;
	do {
		n = atomic_load_explicit(&newest, memory_order_acquire);
		callback = TLC_LOAD(ring[n % RING].callback);
		ctx = TLC_LOAD(ring[n % RING].ctx);
		atomic_thread_fence(memory_order_acquire);
	} while (TLC_UNLIKELY(TLC_LOAD(newest) - n >= RING - 1));
	if (callback != NULL) callback(status, message, ctx);
}
