/* Version, statuses, the table of symbols, options: what needs no context. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "fast.h"
#include "start.h"

const char* tl_version(void) { return TL_RUNTIME_VERSION; }
uint32_t tl_abi_version(void) { return TL_ABI_VERSION; }

static const char* const sentences[] = {
	"ok",
	"invalid argument",
	"unknown pointer: the runtime never gave it out and nobody registered it",
	"interior pointer: not the start of an object",
	"not live: released already",
	"already registered",
	"not registered in a scope of this function",
	"scope underflow: no scope of that kind is open",
	"no frame: none is open, or no arena is active",
	"slot out of range",
	"arena exhausted: the thread's reservation is full",
	"out of memory",
	"limit reached",
	"overflow",
	"device not available",
	"unsupported for this object",
	"forked: a child made by fork() has no slow door; use exec, spawn or forkserver",
	"busy: in use by somebody else, or a call from a signal handler",
	"internal error of the library",
	"corrupted: memory beyond an object or of a released one was written to",
	/* what TL_E_OUT_OF_MEMORY means where the first use was refused, by tlc_lack */
	"out of memory: Go cannot have the threads that it needs (RLIMIT_NPROC, pids.max)",
	"out of memory: Go cannot have the address space that it needs (RLIMIT_AS)",
	"out of memory: Go cannot have the memory that it needs (RLIMIT_DATA)",
	"out of memory: mlockall(MCL_FUTURE) would keep all that Go reserves in memory",
	"out of memory: Go cannot have the two descriptors that it needs (RLIMIT_NOFILE)",
	"out of memory: no key of thread-specific data is left (PTHREAD_KEYS_MAX)",
};

enum { SENTENCES = sizeof sentences / sizeof *sentences, STATUSES = SENTENCES - TLC_LACKS_KEYS, TEXT_BYTES = 144 };

_Static_assert(STATUSES == TL_E_CORRUPTED + 1, "each status and each lack has a sentence");

const char* tl_status_string(tl_status status)
{
	return (uint32_t)status < STATUSES ? sentences[status] : "unknown status";
}

tl_status tl_last_status(void) { return tlc_tls->self != NULL ? tlc_tls->self->status : tlc_apart.status; }

void tl_clear_error(void)
{
	tl_context* c = tlc_tls->self;
	if (c == NULL) {
		tlc_apart.status = TL_OK;
		return;
	}
	c->status = TL_OK;
	c->message_ready = 1;
	c->message[0] = 0;
}

/* Appends a text to another that ends at `at`; atomically, as threads may write the same. */
static char* append(char* at, const char* end, const char* text)
{
	for (; *text != 0 && at < end; at++, text++) __atomic_store_n(at, *text, __ATOMIC_RELAXED);
	return at;
}

/* Written once and kept, with neither a lock nor malloc: the caller may be a signal handler,
 * a forked child, or a thread that is ending. The first byte comes last. */
const char* tlc_error_text(tl_status status, uint32_t function)
{
	static char texts[TL_FN_COUNT][SENTENCES][TEXT_BYTES];
	if (function - 1 >= TL_FN_COUNT - 1 || (uint32_t)status >= STATUSES) return tl_status_string(status);
	tlc_lack lack = status == TL_E_OUT_OF_MEMORY ? tlc_first_use_lacks() : TLC_LACKS_NOTHING;
	uint32_t sentence = lack == TLC_LACKS_NOTHING ? (uint32_t)status : STATUSES - 1 + lack;
	char *text = texts[function][sentence], *end = text + TEXT_BYTES - 1;
	if (__atomic_load_n(text, __ATOMIC_ACQUIRE) != 0) return text;
	const char* name = tlc_function_names[function];
	append(append(append(text + 1, end, name + 1), end, ": "), end, sentences[sentence]);
	__atomic_store_n(text, *name, __ATOMIC_RELEASE);
	return text;
}

const char* tl_last_error(void)
{
	tl_context* c = tlc_tls->self;
	if (tl_last_status() == TL_OK) return "";
	if (c == NULL) return tlc_error_text(tlc_apart.status, tlc_apart.function);
	if (c->message_ready) return c->message;
	return tlc_forked() || c->in_go ? tlc_error_text(c->status, c->error_function) : slow_last_error();
}

const tl_symbol* tl_symbols(size_t* out_count)
{
	if (out_count == NULL) {
		tlc_fail(TL_E_INVALID_ARGUMENT, TL_FN_tl_symbols, NULL);
		return NULL;
	}
	*out_count = TL_FN_COUNT - 1;
	return tlc_symbols;
}

/* Before the first use an option goes where the first use looks for it. */
tl_status tl_configure(const char* key, const char* value)
{
	if (tlc_shared != &tlc_g) return slow_configure(key, value);
	if (key == NULL || value == NULL) return tlc_fail(TL_E_INVALID_ARGUMENT, TL_FN_tl_configure, NULL);
	tl_status status = tlc_check_option(key, value);
	if (status == TL_OK && setenv(key, value, 1) != 0) status = TL_E_OUT_OF_MEMORY;
	return status == TL_OK ? TL_OK : tlc_fail(status, TL_FN_tl_configure, NULL);
}

int64_t tl_get_memory_bytes(void)
{
	FILE* f = fopen("/proc/self/statm", "re");
	if (f == NULL) return 0;
	long total = 0, resident = 0;
	int fields = fscanf(f, "%ld %ld", &total, &resident);
	fclose(f);
	return fields == 2 ? resident * sysconf(_SC_PAGESIZE) : 0;
}

int64_t tl_get_memory_mb(void) { return tl_get_memory_bytes() >> 20; }

/* ---- TL_MEM_LOG ------------------------------------------------------------------ */

/* A flag of the environment, as package config reads it. */
static bool is_on(const char* value)
{
	static const char* const words[] = {"1", "on", "true", "yes"};
	for (size_t i = 0; value != NULL && i < sizeof words / sizeof *words; i++)
		if (strcasecmp(value, words[i]) == 0) return true;
	return false;
}

/* What the functions below want is no first use: before it they look themselves. */
static bool logging(void)
{
	return TLC_LIKELY(tlc_shared != &tlc_g) ? TLC_LOAD(tlc_shared->mem_log) != 0 : is_on(getenv("TL_MEM_LOG"));
}

tl_status tl_log_alloc(const void* pointer, int64_t bytes, const char* file, uint32_t line)
{
	if (logging())
		fprintf(stderr, "tl_runtime: alloc %p %lld bytes %s:%u\n", pointer, (long long)bytes, file ? file : "?", line);
	return TLC_UNLIKELY(tlc_may_name(pointer)) ? slow_log_alloc(pointer, bytes, file, line) : TL_OK;
}

tl_status tl_log_free(const void* pointer, const char* file, uint32_t line)
{
	if (logging()) fprintf(stderr, "tl_runtime: free %p %s:%u\n", pointer, file ? file : "?", line);
	return TL_OK;
}

tl_status tl_trace_mem(const char* message)
{
	if (logging())
		fprintf(stderr, "tl_runtime: %s: %lld bytes resident\n", message ? message : "", (long long)tl_get_memory_bytes());
	return TL_OK;
}
