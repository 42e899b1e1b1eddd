/* The one place that writes to descriptors.
 *
 * A write may raise a signal: SIGXFSZ where a file has reached RLIMIT_FSIZE, SIGPIPE where a pipe has no reader. Neither
 * is the program's business when a report of the library did it, and both end it by default. So they are blocked in
 * the thread, and the one that the write has raised is taken away before the thread gets its mask back. Standard error
 * has an exception: a program that leaves SIGPIPE alone is ended by a line that nobody reads, as by one of its own,
 * and its handler is called (`program | head -1`). So SIGPIPE is taken there only from a program that blocks it. */
#define _GNU_SOURCE
#include "output.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "signals.h"

/* ---- signals --------------------------------------------------------------------------- */

/* What a thread had before a write. */
typedef struct guard {
	sigset_t mask, pending;
	int cancel_state, error;
} guard;

static void begin(guard* g, bool blocks_sigpipe)
{
	sigset_t raised;
	g->error = errno;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &g->cancel_state);
	sigemptyset(&raised);
	sigaddset(&raised, SIGXFSZ);
	if (blocks_sigpipe) sigaddset(&raised, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &raised, &g->mask);
	sigemptyset(&g->pending); /* a signal that is not blocked does not wait */
	if (sigismember(&g->mask, SIGXFSZ) || sigismember(&g->mask, SIGPIPE)) sigpending(&g->pending);
}

/* One that was pending before is the program's: a second one is not told apart from it. */
static void take(const guard* g, int signal)
{
	const struct timespec at_once = {0, 0};
	sigset_t one;
	if (sigismember(&g->pending, signal)) return;
	sigemptyset(&one);
	sigaddset(&one, signal);
	while (sigtimedwait(&one, NULL, &at_once) < 0 && errno == EINTR) {}
}

/* error: how the last write has failed, 0 = not at all. */
static void end(const guard* g, bool takes_sigpipe, int error)
{
	if (error == EFBIG) take(g, SIGXFSZ);
	if (error == EPIPE && takes_sigpipe) take(g, SIGPIPE);
	pthread_sigmask(SIG_SETMASK, &g->mask, NULL);
	pthread_setcancelstate(g->cancel_state, NULL);
	errno = g->error;
}

/* ---- standard error ------------------------------------------------------------------ */

enum { PIECES = 16, PATIENCE = 200 }; /* milliseconds without progress */

/* Lines that standard error did not take, and were not told yet. */
static atomic_ullong lost;
static atomic_bool torn; /* the last line that was taken has no end */

void tlc_forget_lost(void)
{
	atomic_store(&lost, 0);
	atomic_store(&torn, false);
}

static int64_t milliseconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits until a descriptor that does not block takes something, for as long as patience lasts. */
static bool takes_more(int64_t deadline)
{
	struct pollfd standard_error = {STDERR_FILENO, POLLOUT, 0};
	for (;;) {
		int64_t left = deadline - milliseconds();
		if (left <= 0) return false;
		int ready = poll(&standard_error, 1, (int)left);
		if (ready > 0) return true;
		if (ready == 0 || errno != EINTR) return false;
	}
}

/* Writes what the pieces have, and leaves in them what was not taken. */
static int put(struct iovec* pieces, int n, bool waits, bool* some)
{
	int64_t deadline = milliseconds() + PATIENCE;
	while (n > 0) {
		ssize_t done = writev(STDERR_FILENO, pieces, n);
		if (done < 0 && errno == EINTR) continue;
		if (done < 0 && errno == EAGAIN && waits && takes_more(deadline)) continue;
		if (done < 0) return errno;
		if (done > 0) {
			*some = true;
			deadline = milliseconds() + PATIENCE;
		}
		bool nothing = done == 0;
		for (; n > 0 && (size_t)done >= pieces->iov_len; n--, pieces++) {
			done -= (ssize_t)pieces->iov_len;
			pieces->iov_len = 0;
		}
		if (n == 0) return 0;
		if (nothing) return EIO;
		pieces->iov_base = (char*)pieces->iov_base + done;
		pieces->iov_len -= (size_t)done;
	}
	return 0;
}

static unsigned long long lines_in(const struct iovec* pieces, int n)
{
	unsigned long long lines = 0;
	for (int i = 0; i < n; i++) {
		const char *at = pieces[i].iov_base, *past = at + pieces[i].iov_len;
		while (at < past && (at = memchr(at, '\n', (size_t)(past - at))) != NULL) lines++, at++;
	}
	return lines;
}

static struct iovec piece_of(const void* text, size_t bytes) { return (struct iovec){(void*)(uintptr_t)text, bytes}; }

/* Place 0 is free for what has to be said of lines before. A standard error that does not block and takes nothing is
 * waited for once: until it takes something again, later texts are dropped at once, and their lines counted. */
static void tell(struct iovec* pieces, int n)
{
	guard g;
	char before[112];
	bool some = false;
	begin(&g, false);
	unsigned long long missing = atomic_exchange(&lost, 0);
	bool tears = atomic_exchange(&torn, false);
	before[0] = 0;
	if (missing > 0)
		snprintf(before, sizeof before,
		         "%stl_runtime: %llu lines before this one are lost: standard error took nothing\n", tears ? "\n" : "",
		         missing);
	pieces[0] = piece_of(before, strlen(before));
	int error = put(pieces, n, missing == 0, &some);
	if (error != 0) {
		bool told = pieces[0].iov_len == 0;
		atomic_fetch_add(&lost, (told ? 0 : missing) + lines_in(pieces + 1, n - 1));
		if (some || tears) atomic_store(&torn, true);
	}
	end(&g, sigismember(tlc_program_mask(&g.mask), SIGPIPE) == 1, error);
}

void tlc_tell(const char* piece, ...)
{
	struct iovec pieces[PIECES];
	int n = 1;
	va_list rest;
	va_start(rest, piece);
	for (; piece != NULL && n < PIECES; piece = va_arg(rest, const char*)) pieces[n++] = piece_of(piece, strlen(piece));
	va_end(rest);
	tell(pieces, n);
}

void tlc_tell_text(const void* text, size_t bytes)
{
	struct iovec pieces[] = {{0}, piece_of(text, bytes)};
	tell(pieces, 2);
}

/* ---- files ----------------------------------------------------------------------------- */

size_t tlc_write_file(int file, const void* text, size_t bytes, int64_t offset, int* error)
{
	guard g;
	size_t done = 0;
	int failed = 0;
	begin(&g, true);
	while (done < bytes && failed == 0) {
		const char* at = (const char*)text + done;
		ssize_t n = offset < 0 ? write(file, at, bytes - done)
		                       : pwrite(file, at, bytes - done, (off_t)(offset + (int64_t)done));
		if (n > 0) done += (size_t)n;
		else if (n == 0) failed = EIO;
		else if (errno != EINTR) failed = errno;
	}
	end(&g, true, failed);
	*error = failed;
	return done;
}
