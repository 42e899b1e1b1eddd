/* Blocks of a malloc that aligns small requests to 8, which is the program's own (small_malloc.h), or with
 * TESTED_MALLOC one that was preloaded. */
#ifdef TESTED_MALLOC
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <malloc.h>
#include <stdbool.h>
static bool small_is_live(const void* p) { return p == NULL; }
#else
#include "small_malloc.h"
#endif

#include "check.h"

enum { BLOCKS = 512 };

typedef tl_status (*adopter)(void*);
static tl_status register_named(void* object) { return tl_mem_register_struct_named(object, "Small"); }
static const adopter adopters[] = {tl_mem_register_struct, register_named, tl_mem_register};

static tl_type cell_type, vec_type;

struct vec {
	void** data;
	uint32_t length, capacity;
};

static int by_address(const void* a, const void* b)
{
	const uintptr_t x = *(const uintptr_t*)a, y = *(const uintptr_t*)b;
	return (x > y) - (x < y);
}

/* Many blocks in order of address, so that neighbours are next to each other. */
static void** blocks_of(size_t bytes)
{
	static void* blocks[BLOCKS];
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(bytes);
		memset(blocks[i], 0, bytes);
	}
	qsort(blocks, BLOCKS, sizeof *blocks, by_address);
	return blocks;
}

/* How many stand between two multiples of 16. */
static int between(void* const* blocks)
{
	int n = 0;
	for (int i = 0; i < BLOCKS; i++) n += (uintptr_t)blocks[i] % 16 == 8;
	return n;
}

TEST(blocks_of_1_to_24_bytes_live_with_their_scope)
{
	for (size_t bytes = 1; bytes <= 24; bytes++) {
		void** blocks = blocks_of(bytes);
		CHECK_OK(tl_mem_enter_scope());
		for (int i = 0; i < BLOCKS; i++) CHECK_OK(adopters[i % 3](blocks[i]));
		for (int i = 0; i < BLOCKS; i++) CHECK_COUNT(blocks[i], 1);
		CHECK_OK(tl_mem_exit_scope());
		for (int i = 0; i < BLOCKS; i++) {
			CHECK_DEAD(blocks[i]);
			CHECK(!small_is_live(blocks[i]));
		}
	}
	CHECK(between(blocks_of(8)) > 0);
}

static void take(void* block) { CHECK_OK(tl_mem_register_struct(block)); }

static void drop(void* block)
{
	CHECK_OK(tl_mem_unregister(block)); /* back with the program */
	CHECK(!tl_registry_is_registered(block));
}

/* Two live blocks 8 bytes apart: registered and released in both orders. */
TEST(neighbours_come_and_go_in_both_orders)
{
	void** blocks = blocks_of(8);
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i + 1 < BLOCKS; i++) {
		void *a = blocks[i], *b = blocks[i + 1];
		for (int turn = 0; turn < 4; turn++) {
			take(turn & 1 ? b : a);
			take(turn & 1 ? a : b);
			CHECK(tl_registry_is_registered(a) && tl_registry_is_registered(b));
			CHECK_COUNT(a, 1);
			CHECK_COUNT(b, 1);
			drop(turn & 2 ? b : a);
			CHECK(tl_registry_is_registered(turn & 2 ? a : b));
			drop(turn & 2 ? a : b);
		}
	}
	for (int i = 0; i < BLOCKS; i++) CHECK_OK(tl_mem_register_struct(blocks[i]));
	for (int i = 0; i < BLOCKS; i += 3) {
		CHECK_PTR(tl_ptr_acquire(blocks[i]), blocks[i]);
		CHECK_OK(tl_ptr_release(blocks[i]));
	}
	CHECK_OK(tl_mem_exit_scope());
}

TEST(an_owner_registers_neighbours)
{
	void** blocks = blocks_of(8);
	for (int order = 0; order < 2; order++) {
		for (int i = 0; i < BLOCKS; i++)
			CHECK_OK(tl_registry_register(blocks[order ? BLOCKS - 1 - i : i], 8, TL_ALLOC_MALLOC));
		for (int i = 0; i < BLOCKS; i++) {
			tl_alloc_info info = {.struct_size = sizeof info};
			CHECK_OK(tl_registry_info(blocks[i], &info));
			CHECK_PTR(info.block, blocks[i]);
			CHECK_INT(info.bytes, 8);
			CHECK_FAILS(tl_registry_register(blocks[i], 8, TL_ALLOC_MALLOC), TL_E_ALREADY_REGISTERED);
		}
		for (int i = 0; i < BLOCKS; i++) CHECK_OK(tl_registry_unregister(blocks[order ? i : BLOCKS - 1 - i]));
		if (order == 0) blocks = blocks_of(8);
	}
	for (int i = 0; i < BLOCKS; i++) CHECK_INT(tl_registry_is_registered(blocks[i]), false);
}

TEST(a_shared_block_beside_another_one)
{
	void** blocks = blocks_of(8);
	for (int i = 0; i + 2 < BLOCKS; i += 2) {
		char *shared = blocks[i], *other = blocks[i + 1];
		void* aliases[] = {shared + 4, shared};
		uint64_t id;
		CHECK_OK(tl_registry_register_buffer(shared, 8, aliases, 2, TL_ALLOC_MALLOC, &id));
		CHECK_OK(tl_mem_enter_scope());
		CHECK_OK(tl_mem_register_struct(other));
		CHECK_OK(tl_registry_add_alias(id, shared + 7));
		CHECK_FAILS(tl_registry_add_alias(id, shared + 8), TL_E_INVALID_ARGUMENT);
		CHECK_OK(tl_mem_exit_scope());
		CHECK_DEAD(other);
		CHECK_OK(tl_registry_unregister(shared));
		CHECK_OK(tl_registry_unregister(shared + 7));
		CHECK_OK(tl_registry_unregister(shared));
		CHECK_OK(tl_registry_unregister(shared + 4));
		CHECK_DEAD(shared + 4);
	}
	for (int i = BLOCKS - 2; i < BLOCKS; i++) free(blocks[i]);
}

/* What is inside a block is refused; it is never measured, and nothing changes. */
TEST(the_inside_of_a_block_is_refused)
{
	for (size_t bytes = 8; bytes <= 40; bytes += 8) {
		void** blocks = blocks_of(bytes);
		CHECK_OK(tl_mem_enter_scope());
		for (int i = 0; i < BLOCKS; i++) {
			char* block = blocks[i];
			CHECK_OK(tl_mem_register_struct(block));
			for (int at = 1; at < 8; at++) {
				CHECK_FAILS(tl_mem_register_struct(block + at), TL_E_INVALID_ARGUMENT);
				CHECK_FAILS(tl_mem_register_struct_typed(block + at, cell_type), TL_E_INVALID_ARGUMENT);
			}
#ifndef SMALL_MALLOC_BARE /* else nobody knows how long it is */
			for (size_t at = 8; at < bytes; at += 8) {
				CHECK_FAILS(tl_mem_register_struct(block + at), TL_E_ALREADY_REGISTERED);
				CHECK_FAILS(tl_mem_register_struct_typed(block + at, cell_type), TL_E_ALREADY_REGISTERED);
				CHECK_FAILS(tl_registry_register(block + at, 8, TL_ALLOC_MALLOC), TL_E_ALREADY_REGISTERED);
			}
#endif
			CHECK_COUNT(block, 1);
		}
		CHECK_OK(tl_mem_exit_scope());
	}
}

static void keep(void* block, void* unused) { (void)block, (void)unused; }

/* The program freed a block that it had back, whose start the registry knows still, and another block has its memory. */
TEST(a_start_inside_a_later_block_is_not_measured)
{
	void** blocks = blocks_of(8);
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 1; i + 1 < BLOCKS; i += 2) {
		char *first = blocks[i - 1], *volatile old = blocks[i]; /* used as an address after free() */
		CHECK_OK(tl_mem_register_struct(old));
		CHECK_OK(tl_mem_unregister(old));
		free(old);
		if (old - first != 8 && old - first != 16) continue;
		CHECK_OK(tl_registry_register_custom(first, (size_t)(old - first) + 8, keep, NULL));
		for (int k = 0; k < 3; k++) CHECK_STATUS(adopters[k](old), TL_E_ALREADY_REGISTERED);
		CHECK_STATUS(tl_mem_register_ptr(old), TL_E_ALREADY_REGISTERED);
		CHECK_STATUS(tl_mem_register_struct_typed(old, cell_type), TL_E_ALREADY_REGISTERED);
		CHECK_OK(tl_registry_unregister(first));
	}
	CHECK_OK(tl_mem_exit_scope());
	for (int i = 0; i < BLOCKS; i += 2) free(blocks[i]);
	free(blocks[BLOCKS - 1]);
}

/* A struct of one reference. */
TEST(structs_with_a_type)
{
	void** blocks = blocks_of(8);
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < BLOCKS; i++) {
		*(void**)blocks[i] = i % 2 ? tl_ptr_acquire(tl_mem_new(32)) : NULL;
		CHECK_OK(tl_mem_register_struct_typed(blocks[i], cell_type));
		CHECK_OK(tl_mem_register_struct_typed(blocks[i], cell_type));
	}
	for (int i = 0; i + 1 < BLOCKS; i++) CHECK_COUNT(blocks[i], 2);
	void* copy = tl_mem_deep_clone(blocks[1]);
	CHECK(copy != NULL && copy != blocks[1] && *(void**)copy != *(void**)blocks[1]);
	CHECK_OK(tl_mem_exit_scope());
	for (int i = 0; i < BLOCKS; i++) CHECK_DEAD(blocks[i]);
}

TEST(vecs_with_8_bytes_of_data)
{
	void** blocks = blocks_of(8);
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < BLOCKS; i++) {
		struct vec* v = malloc(sizeof *v);
		*v = (struct vec){blocks[i], 1, 1};
		v->data[0] = tl_ptr_acquire(tl_mem_new(16));
		CHECK_OK(tl_mem_register_struct_typed(v, vec_type));
		if (i % 3 == 0) {
			struct vec* copy = tl_mem_deep_clone(v);
			CHECK(copy != NULL && copy->data != v->data && copy->length == 1);
		}
	}
	CHECK_OK(tl_mem_exit_scope());
	for (int i = 0; i < BLOCKS; i++) CHECK(!small_is_live(blocks[i]));
}

TEST(numpy_gets_blocks_of_malloc)
{
	void** blocks = blocks_of(8);
	for (int i = 0; i < BLOCKS; i++) {
		tl_clear_error();
		memcpy(blocks[i], "12345678", 8);
		if (i % 2) {
			char* moved = tl_numpy_realloc(NULL, blocks[i], 100);
			CHECK(moved != NULL && memcmp(moved, "12345678", 8) == 0);
			blocks[i] = moved;
		}
		tl_numpy_free(NULL, blocks[i], 8);
		CHECK_INT(tl_last_status(), TL_OK);
		CHECK(!small_is_live(blocks[i]));
	}
}

TEST_IN_SCOPE(blocks_that_the_program_has_back_come_again)
{
	for (int i = 0; i < 2000; i++) {
		void* block = malloc(1 + (size_t)i % 24);
		CHECK_OK(tl_mem_register_struct(block));
		CHECK_OK(tl_mem_unregister(block));
		free(block);
	}
}

TEST(aligned_memory_comes_and_goes)
{
	for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
		void *a = tl_aligned_alloc(40, alignment), *b = tl_aligned_alloc(100, alignment);
		CHECK(a != NULL && b != NULL && (uintptr_t)a % alignment == 0 && (uintptr_t)b % alignment == 0);
		CHECK_OK(tl_aligned_free(a));
		CHECK_OK(tl_registry_register(b, 100, TL_ALLOC_ALIGNED));
		CHECK_OK(tl_registry_unregister(b));
	}
	void* array = tl_registry_new_array(100, 8);
	CHECK(array != NULL && (uintptr_t)array % 64 == 0);
	CHECK_OK(tl_registry_unregister(array));
}

static void define_types(void)
{
	static const size_t offsets[] = {0};
	const tl_type_desc cell = {.name = "cell", .size = 8, .pointer_offsets = offsets, .num_pointers = 1};
	const tl_vec_desc vec = {.struct_size = sizeof vec,
	                         .name = "vec",
	                         .size = sizeof(struct vec),
	                         .length_offset = offsetof(struct vec, length),
	                         .capacity_offset = offsetof(struct vec, capacity),
	                         .number_bytes = 4,
	                         .elements = TL_VEC_POINTERS};
	CHECK_OK(tl_type_define(&cell, &cell_type));
	CHECK_OK(tl_type_define_vec(&vec, &vec_type));
}

#ifdef TESTED_MALLOC
static bool is_the_c_librarys(void)
{
	Dl_info ours, theirs;
	return dladdr((void*)(uintptr_t)malloc, &ours) == 0 ||
	       dladdr((void*)(uintptr_t)gnu_get_libc_version, &theirs) == 0 || ours.dli_fbase == theirs.dli_fbase;
}
#endif

int main(void)
{
#ifdef TESTED_MALLOC
	if (is_the_c_librarys()) {
		printf("skip: the malloc that this test is for is not installed\n");
		return 77;
	}
#endif
	define_types();
	return check_tests();
}
