/* The program's signal handlers and Go.
 *
 * A handler without SA_ONSTACK runs on the stack that the thread is on, and the stack of a
 * goroutine may have a few hundred bytes left. So Go's own threads run no handlers: they inherit a
 * mask that blocks every signal except faults. On a thread of the program that is in a call, the
 * goroutine's stack has room for a handler (runtime/headroom), and handlers stay as the program set
 * them; on arm64 they wait until the call has left Go. */
#define _GNU_SOURCE
#include "signals.h"

#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "go_1_26.h"
#include "start.h"

/* The mask that the program has given the thread, while the library blocks handlers; NULL: the mask that it has. */
static __thread const sigset_t* own_mask __attribute__((tls_model("initial-exec")));

const sigset_t* tlc_program_mask(const sigset_t* now) { return own_mask != NULL ? own_mask : now; }

static void block_handlers(sigset_t* before)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
	sigset_t all;
	sigfillset(&all);
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&all, faults[i]);
	pthread_sigmask(SIG_SETMASK, &all, before);
	if (own_mask == NULL) own_mask = before;
}

static void unblock_handlers(const sigset_t* before)
{
	if (own_mask == before) own_mask = NULL;
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

void tlc_begin_quiet(tlc_quiet* before)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before->cancel_state);
	block_handlers(&before->mask);
}

void tlc_end_quiet(const tlc_quiet* before)
{
	unblock_handlers(&before->mask);
	pthread_setcancelstate(before->cancel_state, NULL);
}

#if defined(__aarch64__)
/* One is enough: a thread leaves Go before it calls the program, which may call again. */
static _Thread_local sigset_t held;

void tlc_hold_handlers(void) { block_handlers(&held); }
void tlc_release_handlers(void) { unblock_handlers(&held); }
#endif

/* ---- what Go does to handlers that were installed before it ---------------------------- */

enum { SIGNALS = 32 }; /* 32 and 33 are the C library's, which Go has to take care of */
static struct sigaction found[SIGNALS];
static struct sigaction of_go[SIGNALS]; /* flags are 0 where Go has no handler */

__attribute__((constructor(TLC_BEFORE_GO))) static void look_at_handlers(void)
{
	for (int i = 1; i < SIGNALS; i++) sigaction(i, NULL, &found[i]);
}

static bool is_same(const struct sigaction* a, const struct sigaction* b)
{
	return a->sa_handler == b->sa_handler && a->sa_flags == b->sa_flags;
}

/* Go also adds SA_ONSTACK to the program's handlers for the sake of its own threads. But no handler runs
 * on those, and Go's signal stacks are small. It takes SIGURG for its preemption, which is off, and SIGPIPE for its own
 * writes to standard error, which the library does not make: a program that ignores the signal goes on to do so, and
 * what it starts inherits that. */
void tlc_take_handlers_back(void)
{
	for (int i = 1; i < SIGNALS; i++) {
		struct sigaction now;
		if (sigaction(i, NULL, &now) != 0 || is_same(&now, &found[i])) continue;
		if (now.sa_handler != found[i].sa_handler && i != SIGURG && i != SIGPIPE) of_go[i] = now;
		sigaction(i, &found[i], NULL);
		sigaction(i, NULL, &found[i]); /* the C library has a flag of its own */
	}
}

/* Go calls the handler that it found at load. So where the program has installed another since, Go gets no fault:
 * as in a program that installs its handler after Go's start. */
void tlc_let_go_handle(void)
{
	for (int i = 1; i < SIGNALS; i++) {
		struct sigaction now;
		if (of_go[i].sa_flags == 0 || sigaction(i, NULL, &now) != 0 || !is_same(&now, &found[i])) continue;
		if (sigaction(i, &of_go[i], &now) == 0 && !is_same(&now, &found[i])) sigaction(i, &now, NULL);
	}
}

/* ---- what Go unblocks -------------------------------------------------------------- */

typedef struct range {
	uintptr_t start, end;
} range;

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

/* The part of this library's memory that a segment of the kind has in the file; of the program's, where the library
 * was linked into one. Its addresses may be those of the file, or begin elsewhere. */
static range segment(uint32_t type, uint32_t flags)
{
	uintptr_t base = (uintptr_t)&__ehdr_start, moved = base;
	const ElfW(Phdr)* p = (const ElfW(Phdr)*)(base + __ehdr_start.e_phoff);
	const ElfW(Phdr)* end = p + __ehdr_start.e_phnum;
	for (const ElfW(Phdr)* first = p; first < end; first++)
		if (first->p_type == PT_LOAD && first->p_offset == 0 && first->p_filesz != 0) moved = base - first->p_vaddr;
	for (; p < end; p++)
		if (p->p_type == type && (p->p_flags & flags) == flags)
			return (range){moved + p->p_vaddr, moved + p->p_vaddr + p->p_filesz};
	return (range){0, 0};
}

/* The search reads all of the data, red zones included. */
#define READS_ALL __attribute__((no_sanitize_address))

READS_ALL static bool has_text(range data, const go_signal* row, const char* text)
{
	uintptr_t base = (uintptr_t)&__ehdr_start, at = (uintptr_t)row->name;
	size_t length = strlen(text);
	return at >= base && at < data.end && length <= data.end - at && row->length == (intptr_t)length &&
	       memcmp(row->name, text, length) == 0;
}

READS_ALL static bool is_table(range data, const go_signal* rows)
{
	for (size_t i = 0; i < sizeof go_known_signals / sizeof *go_known_signals; i++) {
		const go_signal* row = &rows[go_known_signals[i].signal];
		if (row->flags != go_known_signals[i].flags || !has_text(data, row, go_known_signals[i].name)) return false;
	}
	return true;
}

/* The table has no symbol that C could refer to, but it is the one place in the library's data where these rows stand
 * like this. NULL: there is none, or more than one. */
READS_ALL static go_signal* signal_table(void)
{
	range data = segment(PT_LOAD, PF_W), fixed = segment(PT_GNU_RELRO, 0);
	uintptr_t at = data.start <= fixed.end && fixed.end < data.end ? (fixed.end + 7) & ~(uintptr_t)7 : data.start;
	go_signal* table = NULL;
	for (; at + GO_SIGNALS * sizeof(go_signal) <= data.end; at += sizeof(void*)) {
		if (!is_table(data, (const go_signal*)at)) continue;
		if (table != NULL) return NULL;
		table = (go_signal*)at;
	}
	return table;
}

void tlc_keep_blocked(void)
{
	go_signal* rows = signal_table();
	if (rows == NULL) return; /* the test signals finds out */
	rows[SIGCHLD].flags &= ~GO_UNBLOCK;
	rows[SIGPROF].flags &= ~GO_UNBLOCK;
}
