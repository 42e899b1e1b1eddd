/* What a core dump of the process holds: what is used, and not the address space around it. */
#include "mappings.h"
#include "thread.h"

enum { THREADS = 4 };

static uint64_t dumped(void)
{
	FILE* smaps = fopen("/proc/self/smaps", "r");
	uint64_t bytes = 0;
	mapping m;
	while (next_mapping(smaps, &m))
		if (m.touched_kib != 0 && strstr(m.flags, " dd") == NULL) bytes += m.end - m.start;
	if (smaps != NULL) fclose(smaps);
	return bytes;
}

static void is_dumped(const void* p)
{
	CHECK(p != NULL);
	CHECK_INT(mark_of(p, " dd"), PLAIN);
}

static void use_the_thread_s_memory(void)
{
	CHECK_OK(tl_arena_init(128 * MIB));
	CHECK_OK(tl_mem_function_enter(1));
	is_dumped(tl_mem_new(64));
	is_dumped(tl_mem_new(100000));
	is_dumped((char*)tl_mem_new(16 * MIB) + 8 * MIB);
	is_dumped((char*)tl_mem_get_buffer(0, 32 * MIB) + 16 * MIB);
	is_dumped((char*)tl_arena_alloc(32 * MIB) + 16 * MIB);
	CHECK_OK(tl_mem_function_exit());
}

THREAD(another_thread, barrier)
{
	use_the_thread_s_memory();
	meet(barrier); /* so that each has memory of its own */
	CHECK_OK(tl_arena_free());
}

TEST(a_dump_has_what_is_used)
{
	pthread_t threads[THREADS];
	pthread_barrier_t barrier;
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++) threads[i] = start_thread(another_thread, &barrier);
	for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
	use_the_thread_s_memory();
	CHECK_OK(tl_arena_free());
}

/* The kernel visits all of it, and a pipe gets zeros for what was never touched. */
TEST(a_dump_has_no_empty_address_space)
{
	CHECK_INT(tl_mem_collect_cycles(), 0);
	CHECK(dumped() > 0);
	CHECK(dumped() < 4096ull * MIB);
}

int main(void) { return check_tests(); }
