/* The last error of the calling thread, its text, and the error callback. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../object/fast.h"
#include "../host/start.h"
#include "../host/output.h"

/* ---- texts ----------------------------------------------------------------------------- */

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
	"forked: a child made by fork() has no slow path; use exec, spawn or forkserver",
	"busy: in use by somebody else, or a call from a signal handler",
	"internal error of the library",
	"corrupted: memory beyond an object or of a released one was written to",
	/* the text when the first use was refused, by tlc_lack */
	"out of memory: Go cannot have the threads that it needs (RLIMIT_NPROC, pids.max)",
	"out of memory: Go cannot have the address space that it needs (RLIMIT_AS)",
	"out of memory: Go cannot have the memory that it needs (RLIMIT_DATA)",
	"out of memory: Go cannot have the mappings that it needs (vm.max_map_count)",
	"out of memory: mlockall(MCL_FUTURE) would keep all that Go reserves in memory",
	"out of memory: Go cannot have the two descriptors that it needs (RLIMIT_NOFILE)",
	"out of memory: no key of thread-specific data is left (PTHREAD_KEYS_MAX)",
	"invalid argument: Go does not take GOMEMLIMIT of the environment; write it as 4GiB, or unset it",
	"invalid argument: GOMAXPROCS of the environment is more than 1024; lower it, or unset it",
	"invalid argument: Go does not take cgocheck or profstackdepth of GODEBUG in the environment; unset it",
};

enum { SENTENCES = sizeof sentences / sizeof *sentences, STATUSES = SENTENCES - TLC_REFUSES_GODEBUG, TEXT_BYTES = 144 };

_Static_assert(STATUSES == TL_E_CORRUPTED + 1, "each status and each lack has a sentence");

/* What a function of C found and what to do, where the status alone does not say it. */
static const struct {
	uint32_t function;
	tl_status status;
	const char* text;
} reasons[] = {
	{TL_FN_tl_python_lines, TL_E_INVALID_ARGUMENT,
     "skip is NULL, empty, or longer than 4095 bytes; pass the folder of a package"},
	{TL_FN_tl_python_lines, TL_E_UNSUPPORTED,
     "the process has not all functions of CPython 3.10 or later among its symbols"},
	{TL_FN_tl_python_lines, TL_E_LIMIT, "eight folders are passed over already, as many as there can be"},
	{TL_FN_tl_python_attach, TL_E_INVALID_ARGUMENT, "api or a field is NULL, or struct_size is too small"},
};

static const char* reason(tl_status status, uint32_t function)
{
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (reasons[i].function == function && reasons[i].status == status) return reasons[i].text;
	return NULL;
}

const char* tl_status_string(tl_status status)
{
	return (uint32_t)status < STATUSES ? sentences[status] : "unknown status";
}

tl_status tl_last_status(void)
{
	const tl_context* c = tlc_own_context();
	return c != NULL ? c->error.status : tlc_apart.status;
}

void tl_clear_error(void)
{
	tl_context* c = tlc_own_context();
	if (c == NULL) {
		tlc_apart.status = TL_OK;
		return;
	}
	c->error.status = TL_OK;
	c->error.message_ready = 1;
	c->error.message[0] = 0;
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
	uint32_t lack = tlc_apart.lack, sentence = lack == TLC_LACKS_NOTHING ? (uint32_t)status : STATUSES - 1 + lack;
	char *text = texts[function][sentence], *end = text + TEXT_BYTES - 1;
	if (__atomic_load_n(text, __ATOMIC_ACQUIRE) != 0) return text;
	const char *name = tlc_function_names[function], *why = reason(status, function);
	append(append(append(text + 1, end, name + 1), end, ": "), end, why != NULL ? why : sentences[sentence]);
	__atomic_store_n(text, *name, __ATOMIC_RELEASE);
	return text;
}

const char* tl_last_error(void)
{
	tl_context* c = tlc_own_context();
	if (tl_last_status() == TL_OK) return "";
	if (c == NULL) return tlc_error_text(tlc_apart.status, tlc_apart.function);
	if (c->error.message_ready) return c->error.message;
	return tlc_forked() || c->in_go ? tlc_error_text(c->error.status, c->error_function) : slow_last_error();
}

/* ---- reporting -------------------------------------------------------------------------- */

/* Failures of one function with one status. At most MOST_LINES of them are written, and no line twice in a row. */
typedef struct tally {
	_Atomic uint32_t failures, lines, newest; /* newest: a sum of the text */
} tally;

enum { MOST_LINES = 8 };

static tally tallies[TL_FN_COUNT][STATUSES];
static _Atomic bool any_failed; /* otherwise nobody reads the table, which is 19 pages */

/* An answer that programs ask for, and no failure: docs/options.md has the list. */
static bool is_answer(tl_status status, uint32_t function)
{
	const bool asks = function == TL_FN_tl_ptr_check || function == TL_FN_tl_ref_check;
	return status == TL_E_NOT_REGISTERED || (asks && status >= TL_E_UNKNOWN_POINTER && status <= TL_E_NOT_LIVE);
}

/* A text with stacks is the same whatever addresses stand in it, if it is about the same code. */
static uint32_t sum_of(const char* text)
{
	const bool has_stacks = strchr(text, '\n') != NULL;
	uint32_t sum = 1;
	for (; *text != 0; text++) {
		if (has_stacks && text[0] == '0' && text[1] == 'x') text += strspn(text + 2, "0123456789abcdef") + 1;
		sum = sum * 31 + (unsigned char)*text;
	}
	return sum;
}

/* Counts a failure; true: its text is to be written. */
static bool is_news(tl_status status, uint32_t function, const char* message)
{
	if (function >= TL_FN_COUNT || (uint32_t)status >= STATUSES) return true;
	tally* t = &tallies[function][status];
	const uint32_t sum = sum_of(message);
	atomic_fetch_add(&t->failures, 1);
	atomic_store(&any_failed, true);
	if (atomic_exchange(&t->newest, sum) == sum || TLC_LOAD(t->lines) >= MOST_LINES) return false;
	return atomic_fetch_add(&t->lines, 1) < MOST_LINES;
}

uint64_t tlc_tell_failures(void)
{
	uint64_t all = 0;
	char count[64];
	for (uint32_t function = 0; TLC_LOAD(any_failed) && function < TL_FN_COUNT; function++) {
		for (uint32_t status = 0; status < STATUSES; status++) {
			const tally* t = &tallies[function][status];
			const uint32_t failures = TLC_LOAD(t->failures), lines = TLC_LOAD(t->lines);
			all += failures;
			if (failures <= lines) continue;
			snprintf(count, sizeof count, ": %u more time%s\n", failures - lines, failures - lines == 1 ? "" : "s");
			tlc_tell("tl_runtime: ", tlc_error_text((tl_status)status, function), count, NULL);
		}
	}
	return all;
}

/* The thread is not cancelled here: the caller has more to do. */
static void report_message(tl_status status, uint32_t function, const char* message)
{
	int cancel_state;
	if (tlc_apart.telling) return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	uint32_t how = TLC_LOAD(tlc_shared->on_error);
	if (is_answer(status, function)) how &= TLC_ON_ERROR_CALL;
	const bool aborts = (how & TLC_ON_ERROR_ABORT) != 0;
	if (aborts || ((how & TLC_ON_ERROR_LOG) != 0 && is_news(status, function, message)))
		tlc_tell("tl_runtime: ", message, "\n", NULL);
	if (aborts) abort();
	tlc_apart.telling = true;
	if (how & TLC_ON_ERROR_CALL) tlc_call_listener(status, message);
	tlc_apart.telling = false;
	pthread_setcancelstate(cancel_state, NULL);
}

/* The context is in Go; the callback must return and may call the library. Failures of its calls do
 * not become the last error. */
void tlc_report_error(tl_context* c)
{
	c->error_pending = TLC_TELLING;
	char message[TL_MESSAGE_BYTES];
	snprintf(message, sizeof message, "%s", (const char*)tlgo_last_error((uintptr_t)c));
	tl_status status = c->error.status;
	uint32_t function = c->error.function, failed = c->error_function;
	tlc_entry_step_out(c);
	report_message(status, failed, message);
	if (!tlc_forked()) tlc_entry_step_back(c, function); /* otherwise the callback forked, and this is the child */
	c->error_pending = 0;
	c->error.status = status;
	c->error_function = failed;
	memcpy(c->error.message, message, sizeof message);
	c->error.message_ready = 1;
}

static void record(tl_context* c, const tlc_finding* f, uint32_t function, const void* pointer)
{
	if (c == NULL) {
		tlc_apart.status = f->status;
		tlc_apart.function = function;
		tlc_apart.lack = TLC_LACKS_NOTHING;
		return;
	}
	c->error.status = f->status;
	c->error_function = function;
	c->error.pointer = (uintptr_t)pointer;
	c->error.kind = f->kind;
	memcpy(c->error.detail, f->details, sizeof c->error.detail);
	c->error.message_ready = f->kind == TL_TEXT_STATUS && reason(f->status, function) != NULL;
	if (c->error.message_ready)
		*append(c->error.message, c->error.message + sizeof c->error.message - 1, tlc_error_text(f->status, function)) =
			0;
}

tl_status tlc_fail_with(const tlc_finding* f, uint32_t function, const void* pointer)
{
	tl_context* c = tlc_own_context();
	bool tells = TLC_LOAD(tlc_shared->on_error) != 0;
	bool alone = tells && (c == NULL || c->in_go || tlc_forked());
	if (TLC_UNLIKELY(alone)) report_message(f->status, function, tlc_error_text(f->status, function));
	record(c, f, function, pointer);
	if (TLC_UNLIKELY(tells && !alone && c->error_pending == 0)) {
		c->error_pending = 1;
		tlc_poll();
	}
	return f->status;
}

/* A pointer is looked at now: later it may be something else. */
tl_status tlc_fail(tl_status status, uint32_t function, const void* pointer)
{
	const tl_context* c = tlc_own_context();
	const bool is_about_it =
		status == TL_E_UNKNOWN_POINTER || status == TL_E_INTERIOR_POINTER || status == TL_E_NOT_LIVE;
	tlc_finding f;
	if (c == NULL || !is_about_it || !tlc_look(c, (uintptr_t)pointer, &f)) f = (tlc_finding){.kind = TL_TEXT_STATUS};
	if (status == TL_E_NOT_REGISTERED) f.kind = TL_TEXT_NOT_REGISTERED;
	f.status = status;
	return tlc_fail_with(&f, function, pointer);
}

tl_status tlc_fail_to_start(tl_status status, uint32_t function)
{
	tlc_fail(status, function, NULL);
	tlc_apart.lack = tlc_first_use_lacks();
	return status;
}
