/* TL_DEBUG: red zones, poison, quarantine, and calls from signal handlers. */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "check.h"

static char told[2048];
static tl_status told_status;
static int tellings;

static void listen(tl_status status, const char* message, void* ctx)
{
	(void)ctx;
	tellings++;
	told_status = status;
	snprintf(told, sizeof told, "%s", message);
}

__attribute__((noinline, noclone)) static void* allocate(size_t bytes)
{
	void* p = tl_mem_alloc(bytes);
	__asm__ volatile("" ::: "memory"); /* no tail call: the frame is looked for */
	return p;
}

__attribute__((noinline, noclone)) static tl_status release(void* p)
{
	tl_status status = tl_mem_free(p);
	__asm__ volatile("" ::: "memory");
	return status;
}

static bool says(const char* text)
{
	if (strstr(tl_last_error(), text) != NULL) return true;
	fprintf(stderr, "not said: %s\n%s\n", text, tl_last_error());
	return false;
}

/* Writes where the compiler must not see that it is wrong. */
static void scribble(void* p, size_t at, int value) { ((volatile unsigned char*)p)[at] = (unsigned char)value; }

static void a_write_beyond_the_end_is_told_on_release(void)
{
	static const size_t sizes[] = {1, 31, 32, 40, 64, 100, 500, 512, 4000, 65520, 65536, 70000, 1 << 20};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		char* p = allocate(sizes[i]);
		memset(p, 1, sizes[i]);
		CHECK_OK(release(p));
		p = allocate(sizes[i]);
		CHECK_INT((uintptr_t)p % (sizes[i] % 64 == 0 ? 64 : 32), 0);
		scribble(p, sizes[i] + 2, 7);
		tellings = 0;
		CHECK_FAILS(release(p), TL_E_CORRUPTED);
		CHECK_INT(tellings, 1);
		CHECK_STATUS(told_status, TL_E_CORRUPTED);
		CHECK(says("byte 2 behind its "));
		CHECK(says("allocated at\n    #0 0x") && says(" in allocate ("));
		CHECK(says("used at\n    #0 0x") && says(" in release ("));
		CHECK(strstr(told, "behind its") != NULL);
		CHECK_DEAD(p);
	}
}

static void every_kind_of_object_is_guarded(void)
{
	int64_t shape[] = {3};
	tl_mem_enter_scope();
	char* tensor = (char*)tl_tensor_zeros(TL_DTYPE_U8, 0, 1, shape);
	char* vec = tl_vec_new(5);
	for (int i = 0; i < 9; i++) CHECK_OK(tl_vec_push(vec, tl_mem_new(32)));
	CHECK_INT(tl_mem_check_all(), 0);
	scribble(tensor, 192 + 64, 1);
	scribble(vec, 32, 1);
	CHECK_INT(tl_mem_check_all(), 2);
	CHECK_STATUS(tl_last_status(), TL_E_CORRUPTED);
	CHECK_INT(tl_mem_check_all(), 0); /* told once */
	scribble(vec, 33, 1);
	CHECK_FAILS(tl_mem_exit_scope(), TL_E_CORRUPTED);
}

static void a_stale_pointer_stays_stale(void)
{
	void* p = allocate(48);
	CHECK_OK(release(p));
	for (int i = 0; i < 1000; i++) CHECK_OK(tl_mem_free(tl_mem_alloc(48)));
	CHECK_FAILS(tl_ptr_check(p), TL_E_NOT_LIVE);
	CHECK(says("allocated at\n") && says(" in allocate ("));
	CHECK(says("released at\n") && says(" in release ("));
	CHECK(says("used at\n"));
	CHECK_INT(((volatile unsigned char*)p)[5], 0xDD);
}

static void a_write_after_the_release_is_told(void)
{
	unsigned char* p = allocate(80);
	CHECK_OK(release(p));
	scribble(p, 9, 1);
	CHECK_INT(tl_mem_check_all(), 1);
	CHECK(says("was released, and written to afterwards: at byte 9"));
	CHECK_INT(tl_mem_check_all(), 0);
	scribble(p, 10, 1);
	tellings = 0;
	for (int i = 0; i < 70000; i++) tl_mem_free(tl_mem_alloc(4096)); /* it leaves the quarantine */
	CHECK_INT(tellings, 1);
	CHECK(strstr(told, "at byte 10") != NULL);
}

static void the_quarantine_is_bounded(void)
{
	tl_stats before = {.struct_size = sizeof before}, after = before;
	CHECK_OK(tl_stats_get(&before));
	for (int i = 0; i < 2000; i++) CHECK_OK(tl_mem_free(tl_mem_alloc(1 << 20)));
	CHECK_OK(tl_stats_get(&after));
	CHECK(after.committed_bytes < before.committed_bytes + ((uint64_t)64 << 20));
	CHECK_INT(after.live_objects, before.live_objects);
}

static void resizing_moves_the_zone(void)
{
	char* p = allocate(40);
	memset(p, 5, 40);
	p = tl_mem_realloc(p, 44);
	memset(p + 40, 6, 4);
	CHECK_INT(p[39] * 10 + p[43], 56);
	p = tl_mem_realloc(p, 5000);
	CHECK_INT(p[39] * 10 + p[43], 56);
	memset(p, 7, 5000);
	p = tl_mem_realloc(p, 4990);
	scribble(p, 4990, 0);
	CHECK_FAILS(release(p), TL_E_CORRUPTED);
	tl_mem_enter_scope();
	char* whole = tl_mem_new(100);
	memset(whole, 9, 100);
	char* copy = tl_mem_deep_clone(whole);
	CHECK(memcmp(copy, whole, 100) == 0);
	CHECK_OK(tl_mem_exit_scope());
}

static tl_status from_handler;
static volatile sig_atomic_t handled;
static void* victim;

static void in_handler(int signal)
{
	(void)signal;
	tl_status status = tl_ptr_check(victim);
	if (status != TL_OK) from_handler = status;
	handled++;
}

static void* interrupt(void* thread)
{
	for (int i = 0; i < 3000 && from_handler == TL_OK; i++) {
		pthread_kill(*(pthread_t*)thread, SIGUSR1);
		usleep(100);
	}
	return NULL;
}

/* Every call takes the slow door, so a call from a handler meets one that is going on. */
static void a_call_from_a_signal_handler_is_refused(void)
{
	pthread_t self = pthread_self(), other;
	struct sigaction action = {.sa_handler = in_handler, .sa_flags = SA_RESTART | SA_ONSTACK};
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	victim = allocate(64);
	CHECK(pthread_create(&other, NULL, interrupt, &self) == 0);
	for (int i = 0; i < 2000000 && from_handler == TL_OK; i++) tl_ptr_refcount(victim);
	CHECK(pthread_join(other, NULL) == 0);
	CHECK_STATUS(from_handler, TL_E_BUSY);
	CHECK(handled > 0);
	CHECK_OK(release(victim));
}

/* covers: tl_mem_check_all TL_E_UNSUPPORTED, TL_E_CORRUPTED */
static void without_the_option_there_is_nothing_to_check(const char* self)
{
	char command[512];
	snprintf(command, sizeof command, "TL_DEBUG=0 %s off", self);
	CHECK_INT(system(command), 0);
	CHECK_FAILS(tl_configure("TL_DEBUG", "0"), TL_E_BUSY);
}

static int off(void)
{
	CHECK_REFUSED(tl_mem_check_all(), -1, TL_E_UNSUPPORTED);
	char* p = tl_mem_alloc(40);
	p[41] = 1; /* the slot has room */
	CHECK_OK(tl_mem_free(p));
	return check_finish();
}

int main(int count, char** arguments)
{
	if (count > 1) return off();
	setenv("TL_DEBUG", "1", 1);
	CHECK_OK(tl_set_error_callback(listen, NULL));
	RUN(a_write_beyond_the_end_is_told_on_release);
	RUN(every_kind_of_object_is_guarded);
	RUN(a_stale_pointer_stays_stale);
	RUN(a_write_after_the_release_is_told);
	RUN(the_quarantine_is_bounded);
	RUN(resizing_moves_the_zone);
	RUN(a_call_from_a_signal_handler_is_refused);
	without_the_option_there_is_nothing_to_check(arguments[0]);
	return check_finish();
}
