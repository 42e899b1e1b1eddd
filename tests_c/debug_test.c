/* TL_DEBUG: red zones, poison, quarantine, and calls from signal handlers. */
#include <pthread.h>
#include <signal.h>

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

OWN_FRAME static void* allocate(size_t bytes)
{
	void* p = tl_mem_alloc(bytes);
	__asm__ volatile("" ::: "memory"); /* no tail call: the frame is looked for */
	return p;
}

OWN_FRAME static tl_status release(void* p)
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

TEST(a_write_beyond_the_end_is_told_on_release)
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
		CHECK(says("allocated at\n    #0 0x") && says(" in allocate "));
		CHECK(says("used at\n    #0 0x") && says(" in release "));
		CHECK(strstr(told, "behind its") != NULL);
		CHECK_DEAD(p);
	}
}

static int by_address(const void* a, const void* b)
{
	uintptr_t x = *(const uintptr_t*)a, y = *(const uintptr_t*)b;
	return (x > y) - (x < y);
}

enum { ROW = 32 };

/* Fills `row` with objects, lowest first, and returns one that has neighbours on both sides. */
static size_t make_neighbours(char** row, size_t bytes)
{
	size_t gap = SIZE_MAX, found = 0;
	for (size_t i = 0; i < ROW; i++) row[i] = allocate(bytes);
	qsort(row, ROW, sizeof *row, by_address);
	for (size_t i = 1; i < ROW; i++)
		if ((size_t)(row[i] - row[i - 1]) < gap) gap = (size_t)(row[i] - row[i - 1]);
	for (size_t i = 1; i + 1 < ROW; i++)
		if (row[i] - row[i - 1] == row[i + 1] - row[i] && (size_t)(row[i] - row[i - 1]) == gap) found = i;
	CHECK(found > 0);
	return found;
}

static void release_all(char** row)
{
	for (size_t i = 0; i < ROW; i++)
		if (row[i] != NULL) CHECK_OK(release(row[i]));
}

/* What stands before an object is the zone, or the poison, of the one before. */
TEST(a_write_before_the_start_is_told_on_release)
{
	static const size_t sizes[] = {1, 32, 40, 64, 100, 500, 2000};
	char* row[ROW];
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		size_t at = make_neighbours(row, sizes[i]);
		scribble(row[at], (size_t)-1, 0); /* its neighbour is live: a zero is seen, too */
		CHECK_FAILS(release(row[at]), TL_E_CORRUPTED);
		CHECK(says("byte 1 before its start was written to"));
		CHECK(says("allocated at\n    #0 0x") && says(" in allocate "));
		row[at] = NULL;
		scribble(row[at + 1], (size_t)-3, 7); /* and here it is poison */
		CHECK_INT(tl_mem_check_all(), 1);
		CHECK(says("byte 3 before its start was written to"));
		release_all(row);
		CHECK_INT(tl_mem_check_all(), 0);
	}
}

TEST(the_neighbour_is_told_when_it_has_overrun)
{
	char* row[ROW];
	size_t at = make_neighbours(row, 40);
	for (char* p = row[at] + 40; p < row[at + 1]; p++) scribble(p, 0, 1);
	CHECK_OK(release(row[at + 1]));
	CHECK_FAILS(release(row[at]), TL_E_CORRUPTED);
	CHECK(says("byte 0 behind its 40 bytes"));
	row[at] = row[at + 1] = NULL;
	release_all(row);
}

/* Only the call that finds it has the status. */
TEST(damage_is_told_once_whatever_finds_it)
{
	void* p = allocate(40);
	scribble(p, 41, 1);
	CHECK_INT(tl_mem_check_all(), 1);
	CHECK_OK(release(p));
	p = allocate(40);
	scribble(p, 41, 1);
	p = tl_mem_realloc(p, 5000); /* which returns no status */
	CHECK(p != NULL);
	CHECK_STATUS(tl_last_status(), TL_E_CORRUPTED);
	CHECK_OK(release(p));
}

TEST(tensors_are_guarded_to_the_byte)
{
	int64_t shape[] = {10};
	tl_mem_enter_scope();
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 1, shape);
	tl_tensor* filled = tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 1, shape);
	char* data = tl_tensor_data(tensor);
	memset(data, 1, 40);
	CHECK_INT(tl_mem_check_all(), 0);
	scribble(data, 40, 1);
	CHECK_INT(tl_mem_check_all(), 1);
	CHECK(says("byte 0 behind its "));
	scribble((char*)tl_tensor_data(filled), 63, 1);
	CHECK_FAILS(tl_mem_exit_scope(), TL_E_CORRUPTED);
	CHECK_INT(tl_mem_check_all(), 0);
}

TEST(blocks_of_pools_are_guarded_by_their_rounding)
{
	tl_memory_pool *pool, *other;
	CHECK_OK(tl_memory_pool_create(tl_device_allocator_for(0), 1 << 20, &pool));
	CHECK_OK(tl_memory_pool_create(tl_device_allocator_for(0), 1 << 20, &other));
	unsigned char *block = tl_memory_pool_allocate(pool, 100), *whole = tl_memory_pool_allocate(pool, 256);
	memset(block, 1, 100);
	memset(whole, 1, 256);
	CHECK_INT(tl_mem_check_all(), 0);
	scribble(block, 100, 1);
	CHECK_INT(tl_mem_check_all(), 1);
	CHECK(says("byte 0 behind its 100 bytes") && says("allocated at\n    #0 0x"));
	CHECK_INT(tl_mem_check_all(), 0);
	scribble(block, 101, 1);
	CHECK_FAILS(tl_memory_pool_deallocate(other, block), TL_E_UNKNOWN_POINTER);
	CHECK_INT(block[5], 1);
	CHECK_FAILS(tl_memory_pool_deallocate(pool, block), TL_E_CORRUPTED);
	CHECK(says("byte 1 behind its 100 bytes"));
	CHECK_INT(((volatile unsigned char*)block)[5], 0xDD);
	CHECK_FAILS(tl_memory_pool_deallocate(pool, block), TL_E_UNKNOWN_POINTER);
	CHECK_OK(tl_memory_pool_deallocate(pool, whole));
	block = tl_memory_pool_allocate(pool, 70);
	scribble(block, 70, 1);
	CHECK_FAILS(tl_memory_pool_reset(pool), TL_E_CORRUPTED);
	block = tl_memory_pool_allocate_async(pool, 70, NULL);
	scribble(block, 70, 1); /* work of a stream may use it all */
	CHECK_OK(tl_memory_pool_deallocate(pool, block));
	CHECK_INT(tl_mem_check_all(), 0);
	CHECK_OK(tl_memory_pool_destroy(pool));
	CHECK_OK(tl_memory_pool_destroy(other));
}

TEST(every_kind_of_object_is_guarded)
{
	int64_t shape[] = {3};
	tl_mem_enter_scope();
	char* tensor = (char*)tl_tensor_new_zeroed(TL_DTYPE_U8, 0, 1, shape);
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

OWN_FRAME static void* allocate_below(int depth)
{
	void* p = depth > 0 ? allocate_below(depth - 1) : allocate(48);
	*(volatile char*)p = 1; /* no tail call */
	return p;
}

/* Four frames stand in a message. It looked as if the program had no others. */
TEST(a_stack_that_was_cut_ends_with_dots)
{
	void* p = allocate_below(5);
	CHECK_OK(release(p));
	CHECK_FAILS(tl_ptr_check(p), TL_E_NOT_LIVE);
	CHECK(says("    #3 0x") && says("\n    ...\n  released at\n"));
}

TEST(a_stale_pointer_stays_stale)
{
	void* p = allocate(48);
	CHECK_OK(release(p));
	for (int i = 0; i < 1000; i++) CHECK_OK(tl_mem_free(tl_mem_alloc(48)));
	CHECK_FAILS(tl_ptr_check(p), TL_E_NOT_LIVE);
	CHECK(says("allocated at\n") && says(" in allocate "));
	CHECK(says("released at\n") && says(" in release "));
	CHECK(says("used at\n"));
	CHECK_INT(((volatile unsigned char*)p)[5], 0xDD);
}

TEST(a_write_after_the_release_is_told)
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

TEST(the_quarantine_is_bounded)
{
	const tl_stats before = check_stats();
	for (int i = 0; i < 2000; i++) CHECK_OK(tl_mem_free(tl_mem_alloc(1 << 20)));
	const tl_stats after = check_stats();
	CHECK(after.committed_bytes < before.committed_bytes + ((uint64_t)64 << 20));
	CHECK_INT(after.live_objects, before.live_objects);
}

TEST(resizing_moves_the_zone)
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

static void purge(void* object)
{
	(void)object;
	CHECK_OK(tl_mem_purge());
}

/* What a destructor calls is not the call that finds the damage. */
TEST(a_call_keeps_its_name_over_a_destructor)
{
	tl_type type;
	tl_type_desc description = {.name = "purges", .size = 16, .destructor = purge};
	CHECK_OK(tl_type_define(&description, &type));
	CHECK_OK(tl_mem_enter_scope());
	char* damaged = tl_mem_new(40);
	CHECK(tl_object_new(type) != NULL); /* goes first */
	scribble(damaged, 41, 1);
	CHECK_FAILS(tl_mem_exit_scope(), TL_E_CORRUPTED);
	CHECK_INT(strncmp(tl_last_error(), "tl_mem_exit_scope: ", 19), 0);
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
	for (const double end = check_seconds() + 60; from_handler == TL_OK && check_seconds() < end;) {
		pthread_kill(*(pthread_t*)thread, SIGUSR1);
		usleep(100);
	}
	return NULL;
}

/* Every call takes the slow path, so a call from a handler meets one that is going on. */
static void a_call_from_a_signal_handler_is_refused(void)
{
	pthread_t self = pthread_self(), other;
	struct sigaction action = {.sa_handler = in_handler, .sa_flags = SA_RESTART | SA_ONSTACK};
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	victim = allocate(64);
	CHECK(pthread_create(&other, NULL, interrupt, &self) == 0);
	for (const double end = check_seconds() + 60; from_handler == TL_OK && check_seconds() < end;)
		for (int i = 0; i < 100; i++) tl_ptr_refcount(victim);
	CHECK(pthread_join(other, NULL) == 0);
	CHECK_STATUS(from_handler, TL_E_BUSY);
	CHECK(handled > 0);
	CHECK_OK(release(victim));
}

/* ---- standard error, and the end of the process -------------------------------------------- */

static void overrun_and_keep(void) { scribble(allocate(80), 80, 1); }
static void write_late(void)
{
	void* p = allocate(80);
	release(p);
	scribble(p, 9, 1);
}
static void damage_two(void)
{
	tl_mem_enter_scope();
	scribble(tl_mem_new(40), 40, 1);
	scribble(tl_mem_new(50), 51, 1);
	if (tl_mem_exit_scope() != TL_E_CORRUPTED) _exit(97);
}
static void write_late_and_shut_down(void)
{
	write_late();
	if (tl_shutdown() != TL_E_CORRUPTED || tl_shutdown() != TL_OK) _exit(97);
}
static void damage_nothing(void) { release(allocate(80)); }
static void outgrow_the_quarantine(void)
{
	void* p = tl_mem_alloc(2000);
	tl_mem_free(p);
	for (int i = 0; i < 200; i++) {
		void* q = tl_mem_alloc(2000);
		if (q == p) _exit(42);
		tl_mem_free(q);
	}
}

static void write_late_and_run_short(void)
{
	write_late();
	if (tl_mem_alloc(10 << 20) != NULL) _exit(97); /* the quarantine is emptied before this fails */
}

static const struct ending {
	const char* name;
	void (*body)(void);
	const char* options;
	int status, reports;
	const char* shows[3];
} endings[] = {
	{"clean", damage_nothing, "", 0, 0, {NULL}},
	{"kept",
     overrun_and_keep,
     "",
     0,
     1,
     {"tl_runtime: TL_E_CORRUPTED: 0x", "byte 0 behind its 80 bytes", " in allocate "}},
	{"late",
     write_late,
     "",
     0,
     1,
     {"written to afterwards: at byte 9\n  allocated at\n    #0 0x", "\n  released at\n    #0 0x", " in release "}},
	{"two",
     damage_two,
     "",
     0,
     2,
     {"tl_mem_exit_scope: TL_E_CORRUPTED: 0x", "byte 1 behind its 50 bytes", "\n  found at\n    #0 0x"}},
	{"two", damage_two, "TL_ON_ERROR=log", 0, 2, {"byte 0 behind its 40 bytes", "byte 1 behind its 50 bytes", NULL}},
	{"kept", overrun_and_keep, "TL_ON_ERROR=abort", 128 + SIGABRT, 1, {"byte 0 behind its 80 bytes", NULL}},
	{"shutdown", write_late_and_shut_down, "", 0, 1, {"tl_shutdown: TL_E_CORRUPTED: 0x", "at byte 9", NULL}},
	{"short", write_late_and_run_short, "TL_MEM_LIMIT=8MiB", 0, 1, {"\n  released at\n    #0 0x", "at byte 9", NULL}},
	{"quarantine", outgrow_the_quarantine, "", 0, 0, {NULL}},
	{"quarantine", outgrow_the_quarantine, "TL_QUARANTINE=64KiB", 42, 0, {NULL}},
	{"late", write_late, "TL_QUARANTINE=0", 0, 0, {NULL}},
};

static void end_as(const char* self, const struct ending* e)
{
	static char output[1 << 16];
	char command[512];
	snprintf(command, sizeof command, "%s TL_DEBUG=1 %s %s 2>&1; exit $?", e->options, self, e->name);
	FILE* pipe = popen(command, "r");
	size_t n = fread(output, 1, sizeof output - 1, pipe);
	output[n] = 0;
	CHECK_INT(WEXITSTATUS(pclose(pipe)), e->status);
	int reports = 0;
	for (const char* at = output; (at = strstr(at, "TL_E_CORRUPTED")) != NULL; at++) reports++;
	CHECK_INT(reports, e->reports);
	for (int i = 0; i < 3 && e->shows[i] != NULL; i++) CHECK(strstr(output, e->shows[i]) != NULL);
	if (reports != e->reports) fprintf(stderr, "%s %s:\n%s\n", e->options, e->name, output);
}

static void damage_is_told_on_standard_error(const char* self)
{
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) end_as(self, &endings[i]);
}

/* covers: tl_mem_check_all TL_E_CORRUPTED */
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
	for (size_t i = 0; count > 1 && i < sizeof endings / sizeof *endings; i++) {
		if (strcmp(arguments[1], endings[i].name) != 0) continue;
		endings[i].body();
		return 0;
	}
	if (count > 1) return off();
	setenv("TL_DEBUG", "1", 1);
	CHECK_OK(tl_set_error_callback(listen, NULL));
	check_run();
	if (HANDLERS_INTERRUPT_CALLS) RUN(a_call_from_a_signal_handler_is_refused);
	damage_is_told_on_standard_error(arguments[0]);
	without_the_option_there_is_nothing_to_check(arguments[0]);
	return check_finish();
}
