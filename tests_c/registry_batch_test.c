/* Many blocks at once, memory of the registry's own making, and its statistics. */
#include <fcntl.h>
#include <malloc.h>

#include "check.h"
#include "no_file.h"

/* Where AddressSanitizer allocates, what is too large is refused, as anywhere. */
const char* __asan_default_options(void);
const char* __asan_default_options(void) { return "allocator_may_return_null=1"; }

enum { MANY = 500 };

static void* blocks[MANY];
static size_t sizes[MANY];

static void allocate_many(void)
{
	for (size_t i = 0; i < MANY; i++) {
		sizes[i] = 16 + 40 * i;
		blocks[i] = malloc(sizes[i]);
	}
}

#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 33)
/* The first test: none has freed a block that the C library mapped, which would move its limit. */
TEST(each_large_array_is_mapped_where_the_libc_maps_it)
{
	enum { LARGE = 20 << 20 };
	const size_t before = mallinfo2().hblks;
	void* own = NULL;
	CHECK_INT(posix_memalign(&own, 64, LARGE), 0);
	const bool maps = mallinfo2().hblks == before + 1; /* the malloc of others may not */
	void *first = tl_registry_new_array(LARGE, 1), *second = tl_registry_new_array(LARGE, 1);
	CHECK(!maps || mallinfo2().hblks == before + 3);
	CHECK_OK(tl_registry_unregister(first));
	CHECK(!maps || mallinfo2().hblks == before + 2);
	CHECK_OK(tl_registry_unregister(second));
	free(own);
}
#endif
#endif

TEST(all_or_none)
{
	size_t bytes = tl_registry_total_bytes(), pointers = tl_registry_num_pointers(), sum = 0;
	allocate_many();
	CHECK_OK(tl_registry_register_many((void* const*)blocks, sizes, MANY, TL_ALLOC_MALLOC));
	for (size_t i = 0; i < MANY; i++) {
		CHECK(tl_registry_is_registered(blocks[i]));
		sum += sizes[i];
	}
	CHECK_INT(tl_registry_total_bytes() - bytes, sum);
	CHECK_INT(tl_registry_num_pointers() - pointers, MANY);
	CHECK_INT(tl_registry_unregister_many((void* const*)blocks, MANY), MANY);
	CHECK_INT(tl_registry_total_bytes(), bytes);
	CHECK_OK(tl_registry_register_many(NULL, NULL, 0, TL_ALLOC_MALLOC));
	CHECK_INT(tl_registry_unregister_many(NULL, 0), 0);
}

TEST(one_bad_block_undoes_the_others)
{
	size_t bytes = tl_registry_total_bytes(), pointers = tl_registry_num_pointers();
	void* object = tl_mem_alloc(64);
	allocate_many();
	void* last = blocks[MANY - 1];
	blocks[MANY - 1] = blocks[0]; /* twice */
	CHECK_FAILS(tl_registry_register_many((void* const*)blocks, sizes, MANY, TL_ALLOC_MALLOC), TL_E_ALREADY_REGISTERED);
	blocks[MANY - 1] = (void*)32;
	CHECK_FAILS(tl_registry_register_many((void* const*)blocks, sizes, MANY, TL_ALLOC_MALLOC), TL_E_INVALID_ARGUMENT);
	blocks[MANY - 1] = object;
	CHECK_FAILS(tl_registry_register_many((void* const*)blocks, sizes, MANY, TL_ALLOC_MALLOC), TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_registry_register_many((void* const*)blocks, sizes, MANY, 9), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register_many(NULL, sizes, MANY, TL_ALLOC_MALLOC), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register_many((void* const*)blocks, NULL, MANY, TL_ALLOC_MALLOC), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register_many((void* const*)blocks, sizes, SIZE_MAX, TL_ALLOC_MALLOC),
	            TL_E_INVALID_ARGUMENT);
	blocks[MANY - 1] = last;
	for (size_t i = 0; i < MANY; i++)
		if (tl_registry_is_registered(blocks[i])) CHECK(!"a block of a failed batch is registered");
	CHECK_INT(tl_registry_total_bytes(), bytes);
	CHECK_INT(tl_registry_num_pointers(), pointers);
	/* They are the caller's, as before, and may be registered. */
	CHECK_OK(tl_registry_register_many((void* const*)blocks, sizes, MANY, TL_ALLOC_MALLOC));
	CHECK_INT(tl_registry_unregister_many((void* const*)blocks, MANY), MANY);
	CHECK_OK(tl_ptr_release(object));
}

static int ended;

static void count_end(void* pointer, void* ctx)
{
	(void)pointer, (void)ctx;
	ended++;
}

/* A registration that fails at a later address leaves what is known at the earlier ones: here one that
 * tl_ptr_dec_ref has brought to zero, and one that was handed back to the program. */
TEST(what_fails_leaves_dead_entries)
{
	static char block[256];
	char *zero = block + 64, *taken = block + 128, *back = malloc(64);
	void* aliases[] = {block + 32, zero, taken};
	void* many[] = {zero, back, taken};
	const size_t bytes[] = {16, 64, 16};
	CHECK_OK(tl_registry_register(zero, 16, TL_ALLOC_MALLOC));
	CHECK_INT(tl_ptr_dec_ref(zero), 1);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(back));
	CHECK_OK(tl_mem_unregister(back));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_registry_register_custom(taken, 16, count_end, NULL));
	int64_t floating = tl_ptr_refcount(back);
	for (int i = 0; i < 3; i++) {
		char* real = i == 0 ? zero : block;
		CHECK_FAILS(tl_registry_register_buffer(real, 160, &aliases[i], 3 - (size_t)i, TL_ALLOC_MALLOC, NULL),
		            i == 0 ? TL_E_INVALID_ARGUMENT : TL_E_ALREADY_REGISTERED);
		CHECK_FAILS(tl_registry_register_buffer(real, 160, &aliases[2], 1, TL_ALLOC_MALLOC, NULL),
		            TL_E_ALREADY_REGISTERED);
		CHECK_FAILS(tl_registry_register_many(many, bytes, 3, TL_ALLOC_MALLOC), TL_E_ALREADY_REGISTERED);
		CHECK_FAILS(tl_registry_unregister(zero), TL_E_NOT_LIVE);
		CHECK_INT(tl_ptr_refcount(back), floating);
		CHECK(!tl_registry_is_registered(back));
	}
	CHECK_OK(tl_registry_unregister(taken));
	CHECK_OK(tl_registry_register_custom(zero, 16, count_end, NULL)); /* another owner may have it */
	CHECK_OK(tl_registry_unregister(zero));
	free(back);
}

/* covers: tl_registry_unregister_many TL_E_UNKNOWN_POINTER */
TEST(unregister_many_tells_how_many)
{
	char* a = malloc(64);
	char* b = malloc(64);
	CHECK_OK(tl_registry_register(a, 64, TL_ALLOC_MALLOC));
	CHECK_OK(tl_registry_register(b, 64, TL_ALLOC_MALLOC));
	void* some[] = {a, NULL, a + 1, b};
	tl_clear_error();
	CHECK_INT(tl_registry_unregister_many(some, 4), 3);
	CHECK_STATUS(tl_last_status(), TL_E_UNKNOWN_POINTER);
	a = malloc(64);
	CHECK_OK(tl_registry_register(a, 64, TL_ALLOC_MALLOC));
	CHECK_INT(tl_ptr_dec_ref(a), 1);
	void* zero[] = {a};
	CHECK_REFUSED(tl_registry_unregister_many(zero, 1), 0, TL_E_NOT_LIVE);
	CHECK_OK(tl_mem_free(a));
	CHECK_REFUSED(tl_registry_unregister_many(NULL, 3), 0, TL_E_INVALID_ARGUMENT);
}

TEST(arrays_of_its_own)
{
	static const size_t counts[] = {1, 3, 1000, 100000};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		double* array = tl_registry_new_array(counts[i], sizeof *array);
		CHECK(array != NULL && (uintptr_t)array % 64 == 0);
		memset(array, 1, counts[i] * sizeof *array);
		tl_alloc_info info = {.struct_size = sizeof info};
		CHECK_OK(tl_registry_info(array, &info));
		CHECK_INT(info.bytes, counts[i] * sizeof *array);
		CHECK_INT(info.kind, TL_ALLOC_ALIGNED);
		CHECK_INT(info.count, 1);
		CHECK_OK(tl_registry_unregister(array));
	}
	CHECK_REFUSED(tl_registry_new_array(0, 8), 0, TL_OK);
	CHECK_REFUSED(tl_registry_new_array(8, 0), 0, TL_OK);
	CHECK_REFUSED(tl_registry_new_array(SIZE_MAX / 4, 8), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_registry_new_array((size_t)1 << 47, 1), 0, TL_E_OUT_OF_MEMORY);
}

TEST(aligned_memory)
{
	size_t pointers = tl_registry_num_pointers(), bytes = tl_registry_total_bytes();
	for (size_t alignment = 1; alignment <= 1 << 20; alignment *= 2) {
		char* p = tl_aligned_alloc(100, alignment);
		CHECK(p != NULL && (uintptr_t)p % alignment == 0);
		memset(p, 1, 100);
		CHECK(!tl_registry_is_registered(p));
		CHECK_INT(tl_registry_num_pointers() - pointers, 0);
		CHECK_INT(tl_registry_total_bytes() - bytes, 0);
		CHECK_FAILS(tl_registry_unregister(p), TL_E_NOT_LIVE);
		CHECK_FAILS(tl_aligned_free(p + 1), TL_E_UNKNOWN_POINTER);
		CHECK_OK(tl_aligned_free(p));
		CHECK_FAILS(tl_aligned_free(p), TL_E_UNKNOWN_POINTER);
	}
	CHECK_OK(tl_aligned_free(NULL));
	CHECK_FAILS(tl_aligned_free(&pointers), TL_E_UNKNOWN_POINTER);
	CHECK_REFUSED(tl_aligned_alloc(0, 64), 0, TL_OK);
	CHECK_REFUSED(tl_aligned_alloc(64, 0), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_aligned_alloc(64, 24), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_aligned_alloc(SIZE_MAX, 64), 0, TL_E_OUT_OF_MEMORY);
}

/* Memory without an owner is the program's to free, also after a registration that failed at a later address. */
TEST(aligned_memory_after_a_failure)
{
	for (size_t n = 100; n <= 10000000; n *= 10) {
		char* p = tl_aligned_alloc(n, 64);
		void* blocks[] = {p, p + 64};
		const size_t bytes[] = {n, 16};
		CHECK_FAILS(tl_registry_register_many(blocks, bytes, 2, TL_ALLOC_ALIGNED), TL_E_ALREADY_REGISTERED);
		CHECK_FAILS(tl_registry_unregister(p), TL_E_NOT_LIVE);
		CHECK_OK(tl_aligned_free(p));
	}
}

/* With the program's own blocks between them, in sizes up to beyond what malloc takes from its heap. */
TEST(aligned_memory_of_any_size_among_others)
{
	enum { LIVE = 16 };
	unsigned char *arrays[LIVE] = {0}, *others[LIVE] = {0};
	uint64_t state = 1;
	for (int i = 0; i < 4000; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		const int at = (int)(state >> 60);
		const size_t bytes = i % 500 == 0 ? (size_t)40 << 20 : ((size_t)1 << (state >> 33) % 18) + (state >> 40) % 64;
		if (arrays[at] != NULL) CHECK_INT(arrays[at][0], at + 1);
		CHECK_OK(arrays[at] != NULL ? tl_registry_unregister(arrays[at]) : TL_OK);
		free(others[at]);
		others[at] = malloc(bytes / 2 + 1);
		arrays[at] = tl_registry_new_array(bytes, 1);
		CHECK(arrays[at] != NULL && (uintptr_t)arrays[at] % 64 == 0);
		if (i % 500 != 0) memset(arrays[at], at + 1, bytes);
		else arrays[at][0] = (unsigned char)(at + 1);
	}
	for (int at = 0; at < LIVE; at++) {
		CHECK_OK(arrays[at] != NULL ? tl_registry_unregister(arrays[at]) : TL_OK);
		free(others[at]);
	}
}

TEST(aligned_memory_gets_an_owner)
{
	void* alias[1];
	char* p = tl_aligned_alloc(256, 64);
	CHECK_OK(tl_registry_register(p, 256, TL_ALLOC_ALIGNED));
	CHECK_COUNT(p, 1);
	CHECK_FAILS(tl_aligned_free(p), TL_E_UNKNOWN_POINTER); /* it has an owner now */
	CHECK_OK(tl_registry_unregister(p));
	p = alias[0] = tl_aligned_alloc(256, 64);
	CHECK_OK(tl_registry_register_buffer(p, 256, alias, 1, TL_ALLOC_ALIGNED, NULL));
	CHECK_OK(tl_registry_unregister(p));
	CHECK_OK(tl_registry_unregister(p));
	p = tl_aligned_alloc(256, 64);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(p)); /* free() takes it like malloc's */
	CHECK_OK(tl_mem_exit_scope());
	CHECK_FAILS(tl_aligned_free(p), TL_E_UNKNOWN_POINTER);
}

TEST(info_refuses)
{
	tl_alloc_info info = {.struct_size = sizeof info};
	char* p = malloc(64);
	void* object = tl_mem_alloc(64);
	CHECK_OK(tl_registry_register(p, 64, TL_ALLOC_MALLOC));
	CHECK_FAILS(tl_registry_info(p, NULL), TL_E_INVALID_ARGUMENT);
	info.struct_size = 0;
	CHECK_FAILS(tl_registry_info(p, &info), TL_E_INVALID_ARGUMENT);
	info.struct_size = 3 * sizeof(size_t); /* as a program compiled against fewer fields */
	info.count = 77;
	CHECK_OK(tl_registry_info(p, &info));
	CHECK_INT(info.bytes, 64);
	CHECK_INT(info.count, 77);
	info.struct_size = sizeof info;
	CHECK_FAILS(tl_registry_info(p + 16, &info), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_registry_info(object, &info), TL_E_UNSUPPORTED);
	CHECK_OK(tl_registry_info(NULL, &info));
	CHECK_INT(info.bytes, 0);
	CHECK_OK(tl_ptr_release(object));
	CHECK_OK(tl_registry_unregister(p));
}

TEST(statistics_in_a_file)
{
	char text[4096] = {0}, path[] = "/tmp/tl_registry_XXXXXX";
	close(mkstemp(path));
	void* p = tl_registry_new_array(100, 8);
	CHECK_OK(tl_registry_print_statistics(path)); /* replaces the file */
	int fd = open(path, O_RDONLY);
	CHECK(read(fd, text, sizeof text - 1) > 0);
	CHECK(strstr(text, "registry of foreign memory") != NULL);
	CHECK(strstr(text, "addresses of kind aligned") != NULL);
	CHECK_FAILS(tl_registry_print_statistics(no_file()), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_print_statistics((const char*)8), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_registry_unregister(p));
	close(fd);
	unlink(path);
}

/* ---- no memory for the tables --------------------------------------------------------------- */

static char* fake(size_t i) { return (char*)((uintptr_t)1 << 44) + (i << 12); }

enum { PAGES = 200000, ROOM = 64 };

static void* firsts[ROOM];
static size_t bytes_of[ROOM];
static void* mine[PAGES];

/* covers: tl_registry_register TL_E_OUT_OF_MEMORY
 * covers: tl_registry_add_alias TL_E_OUT_OF_MEMORY */
TEST(tables_that_cannot_grow)
{
	size_t n = 0, some = 0, full = 0;
	uint64_t id = 0;
	const size_t earlier = (size_t)ended;
	size_t huge = (size_t)PAGES << 12;
	tl_workspace* w = NULL;
	char* wide = malloc(huge); /* address space */
	CHECK_OK(tl_registry_register_buffer(wide, huge, NULL, 0, TL_ALLOC_MALLOC, &id));
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "0"));
	tl_status status = TL_OK;
	while (n < PAGES && (status = tl_registry_register_custom(fake(n), 64, count_end, NULL)) == TL_OK) n++;
	CHECK_STATUS(status, TL_E_OUT_OF_MEMORY);
	/* There may be no record for another deleter. The shard of the last block is full then; others
	 * fill up one by one. */
	do {
		mine[full] = malloc(3000);
		status = tl_registry_register(mine[full], 64, TL_ALLOC_MALLOC);
	} while (status == TL_OK && ++full < PAGES);
	CHECK_STATUS(status, TL_E_OUT_OF_MEMORY);
	CHECK_FAILS(tl_registry_register_custom(mine[full], 64, count_end, NULL), TL_E_OUT_OF_MEMORY);
	CHECK_FAILS(tl_registry_register_custom_buffer(mine[full], 64, NULL, 0, count_end, NULL, NULL), TL_E_OUT_OF_MEMORY);
	CHECK_FAILS(tl_registry_register_buffer(mine[full], 64, NULL, 0, TL_ALLOC_MALLOC, NULL), TL_E_OUT_OF_MEMORY);
	for (size_t i = 0; i < ROOM; i++) {
		firsts[i] = fake(n + 64 + 300 * i);
		bytes_of[i] = 64;
	}
	firsts[ROOM - 1] = mine[full];
	size_t before = tl_registry_num_pointers();
	CHECK_FAILS(tl_registry_register_many((void* const*)firsts, bytes_of, ROOM, TL_ALLOC_MALLOC), TL_E_OUT_OF_MEMORY);
	CHECK_INT(tl_registry_num_pointers(), before);
	status = TL_OK;
	while (some < PAGES && (status = tl_registry_add_alias(id, wide + (some << 12))) == TL_OK) some++;
	CHECK_STATUS(status, TL_E_OUT_OF_MEMORY);
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "-1"));
	CHECK_FAILS(tl_workspace_create(1 << 20, (size_t)1 << 27, 64, &w), TL_E_OUT_OF_MEMORY);
	for (size_t i = 0; i < n; i++) CHECK_OK(tl_registry_unregister(fake(i)));
	CHECK_INT((size_t)ended - earlier, n);
	for (size_t i = 0; i < full; i++) CHECK_OK(tl_registry_unregister(mine[i]));
	free(mine[full]);
	for (size_t i = 0; i < some; i++) CHECK_OK(tl_registry_unregister(wide + (i << 12)));
	CHECK_OK(tl_registry_unregister(wide));
}

int main(void)
{
	CHECK_OK(tl_init());
	return check_tests();
}
