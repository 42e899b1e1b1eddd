/* What every step of the model needs: random numbers, the log of the newest calls, and
 * the comparison of what a call said with what it may say. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

struct model model;
_Thread_local world* here;

/* xorshift64*. */
uint64_t draw(world* w, uint64_t n)
{
	w->random ^= w->random >> 12;
	w->random ^= w->random << 25;
	w->random ^= w->random >> 27;
	return (w->random * UINT64_C(2685821657736338717) >> 20) % n;
}

bool chance(world* w, unsigned percent) { return draw(w, 100) < percent; }

/* ---- the log --------------------------------------------------------------------------- */

void note(world* w, const char* format, ...)
{
	char* line = w->log[w->log_len++ % LOG_LINES];
	va_list arguments;
	int n = snprintf(line, LOG_BYTES, "%8" PRIu64 " ", w->steps);
	va_start(arguments, format);
	vsnprintf(line + n, LOG_BYTES - (size_t)n, format, arguments);
	va_end(arguments);
	w->calls++;
	tl_clear_error();
}

static void report_log(const world* w)
{
	uint64_t first = w->log_len > LOG_LINES ? w->log_len - LOG_LINES : 0;
	fprintf(stderr, "world %d, the newest of %" PRIu64 " calls:\n", w->number, w->log_len);
	for (uint64_t i = first; i < w->log_len; i++) fprintf(stderr, "  %s\n", w->log[i % LOG_LINES]);
}

void report_logs(void)
{
	report_log(&model.worlds[0]);
	report_log(&model.worlds[1]);
}

void fail(world* w, const char* format, ...)
{
	static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
	va_list arguments;
	pthread_mutex_lock(&once);
	report_logs();
	fprintf(stderr, "world %d, step %" PRIu64 ": ", w->number, w->steps);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "\n  tl_last_error: %s\n", tl_last_error());
	report_failure();
	_Exit(1);
}

/* ---- what a call said -------------------------------------------------------------------- */

static const char* set_text(unsigned set, char* text, size_t room)
{
	size_t n = 0;
	*text = '\0';
	for (int status = 0; status <= TL_E_CORRUPTED; status++)
		if (set & S(status)) n += (size_t)snprintf(text + n, room - n, n == 0 ? "%d" : " or %d", status);
	return text;
}

static const char* last_call(const world* w) { return w->log_len == 0 ? "" : w->log[(w->log_len - 1) % LOG_LINES]; }

/* Destructors clear what they have caused, and may run in any call: for other threads. */
static bool was_cleared(const world* w, tl_status last) { return last == TL_OK && w->events_len > 0; }

tl_status want(world* w, tl_status got, unsigned set)
{
	char text[80];
	tl_status last = tl_last_status();
	if (got < 0 || got > TL_E_CORRUPTED || (set & S(got)) == 0)
		fail(w, "%s: status %d, must be %s", last_call(w), got, set_text(set, text, sizeof text));
	if (last != got && !was_cleared(w, last))
		fail(w, "%s: status %d, but tl_last_status is %d", last_call(w), got, last);
	return got;
}

/* When it was cleared, a status of the set is as good as any. */
static tl_status last_of(const world* w, unsigned set)
{
	tl_status last = tl_last_status();
	return was_cleared(w, last) && (set & GOOD) == 0 ? (tl_status)__builtin_ctz(set) : last;
}

tl_status want_last(world* w, unsigned set)
{
	tl_status got = last_of(w, set);
	return (set & S(got)) != 0 ? got : want(w, got, set);
}

tl_status want_memory(world* w, tl_status got, unsigned set)
{
	want(w, got, set | w->short_of);
	if ((set & S(got)) == 0) {
		__atomic_add_fetch(&model.refusals, 1, __ATOMIC_RELAXED);
		w->audit = true;
	}
	return got;
}

tl_status want_memory_last(world* w, unsigned set) { return want_memory(w, last_of(w, set), set); }

void want_int(world* w, int64_t got, int64_t wanted, const char* what)
{
	if (got != wanted) fail(w, "%s: %s is %" PRId64 ", must be %" PRId64, last_call(w), what, got, wanted);
}

void want_pointer(world* w, const void* got, const void* wanted, const char* what)
{
	if (got != wanted) fail(w, "%s: %s is %p, must be %p", last_call(w), what, got, wanted);
}

void want_true(world* w, bool good, const char* what)
{
	if (!good) fail(w, "%s: not true: %s", last_call(w), what);
}

void* grow(void* array, size_t* room, size_t needed, size_t each)
{
	if (needed <= *room) return array;
	*room = needed < 16 ? 16 : needed * 2;
	array = realloc(array, *room * each);
	if (array == NULL) abort();
	return array;
}
