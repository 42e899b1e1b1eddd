/* Objects and tensors from 4 MiB on lie on huge pages, where the system has them and TL_HUGE_PAGES does not refuse. */
#include "mappings.h"

#define HUGE " hg"

static int mark_of_tensor(int64_t bytes)
{
	const int64_t shape[1] = {bytes};
	tl_tensor* t = tl_tensor_empty(TL_DTYPE_U8, TL_DEVICE_CPU, 1, shape);
	CHECK(t != NULL);
	return mark_of((char*)tl_tensor_data(t) + bytes / 2, HUGE);
}

/* Memory stays marked, so what is not comes first. */
TEST(large_memory_is_marked)
{
	tl_mem_enter_scope();
	CHECK_INT(mark_of_tensor(3 * MIB), PLAIN);
	CHECK_OK(tl_configure("TL_HUGE_PAGES", "0"));
	CHECK_INT(mark_of_tensor(16 * MIB), PLAIN);
	CHECK_INT(mark_of((char*)tl_mem_new(16 * MIB) + 8 * MIB, HUGE), PLAIN);
	CHECK_OK(tl_configure("TL_HUGE_PAGES", "auto"));
	CHECK_INT(mark_of_tensor(4 * MIB), MARKED);
	CHECK_INT(mark_of_tensor(100000000), MARKED);
	CHECK_INT(mark_of((char*)tl_mem_new(8 * MIB) + 4 * MIB, HUGE), MARKED);
	CHECK_OK(tl_configure("TL_HUGE_PAGES", "1"));
	CHECK_INT(mark_of_tensor(32 * MIB), MARKED);
	CHECK_OK(tl_configure("TL_HUGE_PAGES", "auto"));
	CHECK_FAILS(tl_configure("TL_HUGE_PAGES", "2"), TL_E_INVALID_ARGUMENT);
	tl_mem_exit_scope();
}

static uint64_t resident(void)
{
	FILE* file = fopen("/proc/self/smaps_rollup", "r");
	char line[512];
	uint64_t kib = 0;
	while (file != NULL && kib == 0 && fgets(line, sizeof line, file) != NULL) sscanf(line, "Rss: %" SCNu64, &kib);
	if (file != NULL) fclose(file);
	return kib * KIB;
}

/* What is not touched takes no memory: each byte that is takes a huge page at most. */
TEST(what_is_not_touched_is_not_resident)
{
	const int64_t shape[1] = {512 * MIB};
	tl_mem_enter_scope();
	const uint64_t before = resident();
	tl_tensor* t = tl_tensor_new_zeroed(TL_DTYPE_U8, TL_DEVICE_CPU, 1, shape);
	volatile char* data = tl_tensor_data(t);
	CHECK(resident() < before + 4 * MIB);
	for (int64_t i = 1; i <= 3; i++) data[i * 100 * MIB] = 1;
	CHECK(resident() < before + 10 * MIB);
	tl_mem_exit_scope();
}

/* The advice stays with the addresses: a program that allocates the same again does not call the system. */
TEST(the_system_is_asked_once)
{
	tl_stats stats = {.struct_size = sizeof stats};
	uint64_t calls = 0;
	for (int i = 0; i < 50; i++) {
		tl_mem_enter_scope();
		CHECK(tl_mem_new(6 * MIB) != NULL);
		tl_mem_exit_scope();
		CHECK_OK(tl_stats_get(&stats));
		if (i == 0) calls = stats.system_calls;
	}
	CHECK(stats.system_calls < calls + 20); /* idle memory may go back meanwhile */
}

int main(void)
{
	if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0) {
		puts("skip: this kernel has no transparent huge pages");
		return 77;
	}
	return check_tests();
}
