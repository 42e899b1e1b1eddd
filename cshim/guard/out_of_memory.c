/* Calls that find no memory. Some are refused before they begin, because Go itself is short of
 * memory; for the others the program's callback is called before they fail. A failing call has
 * changed nothing, so the entry guard can leave Go, call the callback, and repeat the call. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "../base/go.h"
#include "guard.h"
#include "../host/start.h"

tl_context* tlc_entry_begin_for_memory(uint32_t function, tl_status* why)
{
	tl_context* c = tlc_entry_begin(function, why);
	if (c == NULL || TLC_LIKELY(tlc_go_has_room())) return c;
	*why = tlentry_refuse((uintptr_t)c);
	tlc_entry_end(c);
	return NULL;
}

/* ---- the program's callback -------------------------------------------------------- */

__thread uintptr_t tlc_asking __attribute__((tls_model("initial-exec")));

typedef struct resort {
	tl_out_of_memory_callback callback;
	void* ctx;
} resort;

static pthread_mutex_t resort_lock = PTHREAD_MUTEX_INITIALIZER; /* guards: */
static resort last_resort;

tl_status tl_mem_set_out_of_memory_callback(tl_out_of_memory_callback callback, void* ctx)
{
	/* Refuses a forked child, where the lock may be held for ever. */
	tl_status why = tlc_visit(TL_FN_tl_mem_set_out_of_memory_callback);
	if (why != TL_OK) return why;
	pthread_mutex_lock(&resort_lock);
	last_resort = (resort){callback, ctx};
	pthread_mutex_unlock(&resort_lock);
	return TL_OK;
}

static resort current(void)
{
	pthread_mutex_lock(&resort_lock);
	resort r = last_resort;
	pthread_mutex_unlock(&resort_lock);
	return r;
}

/* What the failing call left in its context: calls by the callback overwrite it. */
typedef struct failure {
	uint32_t function, pending;
	tl_shortage shortage;
	tl_error error;
} failure;

static void keep_failure(failure* f, const tl_context* c)
{
	*f = (failure){c->error_function, c->error_pending, c->shortage, c->error};
	f->shortage.attempts++;
}

/* Puts the context back to where the failing call left it. */
static void restore_failure(const failure* f, tl_context* c)
{
	c->error_function = f->function;
	c->error_pending = f->pending;
	c->shortage = f->shortage;
	c->shortage.is_open = 0;
	c->error = f->error;
}

/* Clears the failure, because the call is repeated. */
static void forget_failure(tl_context* c)
{
	c->error.status = TL_OK;
	c->error.kind = 0;
	c->error.message_ready = 1;
	c->error.message[0] = 0;
	if (c->error_pending == 1) c->error_pending = 0;
}

/* Runs while the caller of a callback unwinds, too. */
static void stop_asking(uintptr_t* before) { tlc_asking = *before; }

static bool ask(const resort* r, const failure* f)
{
	__attribute__((cleanup(stop_asking), unused)) uintptr_t before = tlc_asking;
	tlc_asking = (uintptr_t)__builtin_frame_address(0);
	return r->callback(f->shortage.device, (size_t)f->shortage.bytes, f->shortage.attempts, r->ctx);
}

bool tlc_is_asking(uintptr_t frame) { return tlc_asking != 0 && frame < tlc_asking; }

bool tlc_ask_again(tl_context* c)
{
	resort r = current();
	if (r.callback == NULL || tlc_is_asking((uintptr_t)__builtin_frame_address(0))) return false;
	failure f;
	keep_failure(&f, c);
	if (c->error_pending == 1) c->error_pending = 0;
	tlc_entry_step_out(c);
	bool again = ask(&r, &f);
	bool inside = tlc_entry_step_in(c, f.function);
	restore_failure(&f, c);
	if (again && inside) forget_failure(c);
	return again && inside;
}
