/* Adoption of malloc'ed memory by the register calls: what is taken, what is
 * refused, and what happens when the host frees by itself. */
#include <errno.h>
#include <sys/mman.h>

#include "check.h"
#include "thread.h"

typedef tl_status (*adopter)(void*);

static tl_status register_named(void* object) { return tl_mem_register_struct_named(object, "Adopted"); }

static const adopter adopters[] = {tl_mem_register_struct, register_named, tl_mem_register};
enum { ADOPTERS = sizeof adopters / sizeof adopters[0] };

/* Every adopting call refuses the pointer, with this status. */
static void refused_by_all(void* object, tl_status want, const char* what)
{
	for (int i = 0; i < ADOPTERS; i++) {
		tl_clear_error();
		check_status(adopters[i](object), want, what, i, "adopting call");
		check_status(tl_last_status(), want, what, i, "last status of adopting call");
	}
}

TEST(malloced_memory_lives_with_its_scope)
{
	for (int i = 0; i < ADOPTERS; i++) {
		char* object = malloc(100);
		memset(object, i, 100);
		CHECK_OK(tl_mem_enter_scope());
		CHECK_OK(adopters[i](object));
		CHECK_COUNT(object, 1);
		CHECK_OK(tl_ptr_check(object));
		CHECK_INT(object[99], i);
		CHECK_OK(tl_mem_exit_scope());
		CHECK_DEAD(object);
	}
}

TEST(counting_works_as_for_any_object)
{
	void* object = malloc(64);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_OK(tl_ptr_inc_ref(object));
	CHECK_PTR(tl_ptr_acquire(object), object);
	CHECK_COUNT(object, 3);
	CHECK_OK(tl_ptr_share(object));
	CHECK_INT(tl_ptr_dec_ref(object), 0);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(object, 1);
	CHECK(tl_ptr_release_bool(object));
	CHECK_FAILS(tl_ptr_release(object), TL_E_UNKNOWN_POINTER);
}

TEST(dec_ref_to_zero_is_freed_by_the_caller)
{
	void* object = malloc(64);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_OK(tl_mem_unregister(object));
	CHECK_INT(tl_ptr_dec_ref(object), 1);
	CHECK_OK(tl_mem_free(object));
	CHECK_OK(tl_mem_exit_scope());
}

TEST(handed_back_and_registered_again)
{
	void* object = malloc(64);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_OK(tl_mem_unregister(object));
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(object);
}

/* The host may free what was handed back. When malloc returns the address again,
 * registering it sinks the reference that was left floating. */
TEST(handed_back_and_freed_by_the_host)
{
	void *object = malloc(64), *again;
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_OK(tl_mem_unregister(object));
	CHECK_OK(tl_mem_exit_scope());
	free(object);
	again = malloc(64);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(again));
	CHECK_COUNT(again, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(again);
}

/* Larger and smaller blocks overlap what was handed back and freed. */
TEST(memory_of_what_was_handed_back_is_used_for_other_blocks)
{
	for (size_t bytes = 32; bytes <= 1 << 20; bytes *= 2) {
		void *object = malloc(bytes), *others[4];
		CHECK_OK(tl_mem_enter_scope());
		CHECK_OK(tl_mem_register_struct(object));
		CHECK_OK(tl_mem_unregister(object));
		free(object);
		for (int i = 0; i < 4; i++) {
			others[i] = malloc(bytes / 4);
			CHECK_OK(tl_mem_register_struct(others[i]));
			CHECK_COUNT(others[i], 1);
		}
		CHECK_OK(tl_mem_exit_scope());
		for (int i = 0; i < 4; i++) CHECK_DEAD(others[i]);
	}
}

TEST(unregister_of_what_was_never_registered)
{
	void* object = malloc(64);
	CHECK_FAILS(tl_mem_unregister(object), TL_E_UNKNOWN_POINTER);
	free(object);
}

TEST(misaligned_addresses_are_refused)
{
	static const int offsets[] = {1, 2, 4, 7, 8, 9, 15};
	char* block = malloc(64);
	for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++)
		refused_by_all(block + offsets[i], TL_E_INVALID_ARGUMENT, "misaligned");
	CHECK_FAILS(tl_mem_register_struct(block + 4), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_mem_register_struct_named(block + 4, "Odd"), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_mem_register(block + 4), TL_E_INVALID_ARGUMENT);
	free(block);
}

TEST(dead_and_interior_addresses_are_refused)
{
	char* object = tl_mem_alloc(96);
	char* large = tl_mem_alloc(1 << 20);
	char* dead = tl_mem_alloc(224);
	CHECK_OK(tl_ptr_release(dead));
	refused_by_all(dead, TL_E_NOT_LIVE, "dead");
	refused_by_all(object + 32, TL_E_INTERIOR_POINTER, "interior");
	refused_by_all(large + 65536, TL_E_INTERIOR_POINTER, "interior of a large object");
	CHECK_FAILS(tl_mem_register_struct(object + 16), TL_E_INTERIOR_POINTER);
	CHECK_FAILS(tl_mem_register_struct_named(object + 16, "In"), TL_E_INTERIOR_POINTER);
	CHECK_FAILS(tl_mem_register(object + 16), TL_E_INTERIOR_POINTER);
	CHECK_FAILS(tl_mem_register_struct(dead), TL_E_NOT_LIVE);
	CHECK_FAILS(tl_mem_register_struct_named(dead, "Dead"), TL_E_NOT_LIVE);
	CHECK_FAILS(tl_mem_register(dead), TL_E_NOT_LIVE);
	CHECK_OK(tl_ptr_release(object));
	CHECK_OK(tl_ptr_release(large));
}

/* malloc_usable_size would read there, and before. */
TEST(memory_that_cannot_be_read_is_refused)
{
	enum { PAGE = 4096 };
	char* pages = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(pages != MAP_FAILED);
	CHECK(mprotect(pages, PAGE, PROT_NONE) == 0);
	CHECK(munmap(pages + 2 * PAGE, PAGE) == 0);
	CHECK_OK(tl_mem_enter_scope());
	refused_by_all((void*)0x10000, TL_E_INVALID_ARGUMENT, "a small number");
	refused_by_all((void*)((1ull << 47) - 16), TL_E_INVALID_ARGUMENT, "the end of the address space");
	refused_by_all(pages + 16, TL_E_INVALID_ARGUMENT, "memory that is protected");
	refused_by_all(pages + 2 * PAGE + 32, TL_E_INVALID_ARGUMENT, "memory that was unmapped");
#ifndef UNDER_ASAN /* whose blocks have no header of the C library's before them */
	refused_by_all(pages + PAGE, TL_E_INVALID_ARGUMENT, "the start of a page behind protected memory");
	refused_by_all(pages + 3 * PAGE, TL_E_INVALID_ARGUMENT, "the start of a page behind a hole");
#endif
	CHECK(strstr(tl_last_error(), "is not memory that this process can read") != NULL);
	errno = 7;
	refused_by_all((void*)0x10000, TL_E_INVALID_ARGUMENT, "a small number");
	CHECK_INT(errno, 7);
	pid_t child = fork();
	if (child == 0) _exit(tl_mem_register_struct((void*)0x10000) == TL_OK);
	CHECK_INT(check_exit_of(child), 0);
	munmap(pages, 4 * PAGE);
	CHECK_OK(tl_mem_exit_scope());
}

/* malloc's size of such a place is 0, and free() would end the process. */
TEST(zeros_that_are_no_block_are_refused)
{
#ifndef UNDER_ASAN /* which ends the process when it is asked for the size */
	static char zeros[256] __attribute__((aligned(64)));
	static const size_t offsets[] = {0};
	const tl_type_desc cell = {.name = "cell", .size = 8, .pointer_offsets = offsets, .num_pointers = 1};
	const tl_vec_desc vec = {.struct_size = sizeof vec,
	                         .name = "vec",
	                         .size = 24,
	                         .length_offset = 8,
	                         .capacity_offset = 16,
	                         .number_bytes = 8,
	                         .elements = TL_VEC_POINTERS};
	tl_type cell_type, vec_type;
	CHECK_OK(tl_type_define(&cell, &cell_type));
	CHECK_OK(tl_type_define_vec(&vec, &vec_type));
	uint64_t* header = malloc(24);
	char* block = calloc(1, 200);
	CHECK_OK(tl_mem_enter_scope());
	refused_by_all(zeros + 64, TL_E_INVALID_ARGUMENT, "static memory");
	refused_by_all(block + 96, TL_E_INVALID_ARGUMENT, "the inside of a block that is not registered");
	CHECK(strstr(tl_last_error(), "is not where a block of malloc's starts") != NULL);
	CHECK_FAILS(tl_mem_register_struct_typed(zeros + 64, cell_type), TL_E_INVALID_ARGUMENT);
	header[0] = (uintptr_t)(zeros + 64);
	header[1] = header[2] = 4;
	CHECK_FAILS(tl_mem_register_struct_typed(header, vec_type), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_mem_exit_scope());
	free(header);
	free(block);
#endif
}

TEST_IN_SCOPE(blocks_of_all_alignments_are_taken)
{
	for (size_t alignment = 16; alignment <= 1 << 20; alignment *= 2)
		for (int i = 0; i < 8; i++) {
			void* block = NULL;
			CHECK(posix_memalign(&block, alignment, 3 * alignment / 2) == 0);
			CHECK_OK(adopters[i % ADOPTERS](block));
			CHECK_COUNT(block, 1);
		}
}

TEST(arena_memory_is_recognised)
{
	CHECK_OK(tl_arena_init(1 << 16));
	CHECK_OK(tl_mem_enter_scope());
	char* live = tl_arena_alloc(64);
	char* past = tl_arena_alloc(64);
	CHECK_OK(tl_mem_register_struct(live));
	CHECK_OK(tl_mem_register_struct(live));
	CHECK_PTR(tl_ptr_acquire(live), live);
	CHECK_OK(tl_ptr_release(live));
	CHECK_OK(tl_ptr_check(live));
	CHECK_FAILS(tl_mem_unregister(live), TL_E_UNSUPPORTED);
	CHECK_OK(tl_arena_set_offset(past - live));
	refused_by_all(past, TL_E_NOT_LIVE, "dead arena memory");
	CHECK_OK(tl_mem_exit_scope());
	refused_by_all(live, TL_E_NOT_LIVE, "arena memory of a closed scope");
	CHECK_OK(tl_arena_free());
	refused_by_all(live, TL_E_NOT_LIVE, "arena memory of a closed arena");
}

TEST(frame_memory_is_recognised)
{
	CHECK_OK(tl_mem_function_enter(1));
	char* slot = tl_mem_get_buffer(0, 64);
	char* planned = tl_mem_frame_enter(256);
	CHECK_OK(tl_mem_register_struct(slot));
	CHECK_OK(tl_mem_register_struct(planned));
	CHECK_OK(tl_mem_register_struct(planned + 64));
	CHECK_OK(tl_mem_frame_exit());
	refused_by_all(planned, TL_E_NOT_LIVE, "planned frame that was left");
	CHECK_OK(tl_mem_function_exit());
	refused_by_all(slot, TL_E_NOT_LIVE, "slot of a function that returned");
}

struct lent {
	pthread_barrier_t gate;
	char *arena, *slot;
};

THREAD(lend_arena_and_slot, argument)
{
	struct lent* lent = argument;
	CHECK_OK(tl_arena_init(1 << 16));
	CHECK_OK(tl_mem_function_enter(1));
	lent->arena = tl_arena_alloc(64);
	lent->slot = tl_mem_get_buffer(0, 64);
	meet(&lent->gate);
	meet(&lent->gate);
	CHECK_OK(tl_mem_function_exit());
	CHECK_OK(tl_arena_free());
}

TEST(another_threads_arena_is_refused)
{
	struct lent lent;
	pthread_barrier_init(&lent.gate, NULL, 2);
	pthread_t thread = start_thread(lend_arena_and_slot, &lent);
	meet(&lent.gate);
	refused_by_all(lent.arena, TL_E_UNSUPPORTED, "another thread's arena");
	refused_by_all(lent.slot, TL_E_UNSUPPORTED, "another thread's slot");
	CHECK_FAILS(tl_mem_register_struct(lent.arena), TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_mem_register_struct_named(lent.arena, "Lent"), TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_mem_register(lent.arena), TL_E_UNSUPPORTED);
	meet(&lent.gate);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&lent.gate);
}

TEST(memory_of_the_runtime_without_objects_is_refused)
{
	char* object = tl_mem_alloc(64);
	/* 1 GiB further in the reserved range nothing was ever allocated. */
	char* beyond = object + (1 << 30);
	refused_by_all(beyond, TL_E_UNKNOWN_POINTER, "unused heap");
	CHECK_FAILS(tl_mem_register_struct(beyond), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_mem_register_struct_named(beyond, "Beyond"), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_mem_register(beyond), TL_E_UNKNOWN_POINTER);
	refused_by_all((void*)0x20, TL_E_INVALID_ARGUMENT, "first page");
	refused_by_all((void*)~(uintptr_t)0xFFF, TL_E_INVALID_ARGUMENT, "not canonical");
	CHECK_OK(tl_ptr_release(object));
}

/* Such an address is not even measured: malloc would read a size from the contents. */
TEST(inside_a_registered_block_is_refused)
{
	char* block = malloc(4096);
	memset(block, 0x78, 4096); /* no size that malloc would make sense of */
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(block));
	refused_by_all(block + 16, TL_E_ALREADY_REGISTERED, "inside a registered block");
	refused_by_all(block + 4080, TL_E_ALREADY_REGISTERED, "end of a registered block");
	CHECK_FAILS(tl_mem_register_struct(block + 16), TL_E_ALREADY_REGISTERED);
	CHECK_FAILS(tl_mem_register_struct_named(block + 16, "In"), TL_E_ALREADY_REGISTERED);
	CHECK_FAILS(tl_mem_register(block + 16), TL_E_ALREADY_REGISTERED);
	CHECK_OK(tl_mem_exit_scope());
}

TEST(many_pointers_from_malloc)
{
	const int64_t count = check_fitting(200000, CHECK_ENTRY_BYTES);
	void** objects = malloc((size_t)count * sizeof *objects);
	CHECK_OK(tl_mem_enter_scope());
	for (int64_t i = 0; i < count; i++) {
		objects[i] = malloc(32);
		CHECK_OK(tl_mem_register_struct(objects[i]));
	}
	CHECK_INT(check_take_balance().foreign, count);
	for (int64_t i = 0; i < count; i += 2) CHECK_OK(tl_ptr_inc_ref(objects[i]));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(check_take_balance().foreign, (count + 1) / 2);
	for (int64_t i = 0; i < count; i += 2) {
		CHECK_COUNT(objects[i], 1);
		CHECK_OK(tl_ptr_release(objects[i]));
	}
	free(objects);
}

/* Blocks of every size that malloc lays across a KiB, several, or 64 of them: taken,
 * handed back, taken again, and their insides refused meanwhile. */
TEST(blocks_across_the_edges_of_units)
{
	static const size_t sizes[] = {24, 64, 200, 256, 900, 1000, 1024, 2000, 4096, 5000, 20000, 65536, 70000, 200000};
	enum { COUNT = 1400, SIZES = sizeof sizes / sizeof sizes[0] };
	static char* blocks[COUNT];
	int across = 0;
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < COUNT; i++) {
		size_t bytes = sizes[i * 5 % SIZES];
		char *block = blocks[i] = malloc(bytes), *edge = (char*)(((uintptr_t)block | 1023) + 1);
		memset(block, 0x78, bytes);
		CHECK_OK(tl_mem_register_struct(block));
		if (edge >= block + bytes) continue;
		across++;
		CHECK_FAILS(tl_mem_register_struct(edge), TL_E_ALREADY_REGISTERED);
		CHECK_COUNT(block, 1);
	}
	CHECK(across > COUNT / 2);
	CHECK_INT(check_take_balance().foreign, COUNT);
	for (int i = 0; i < COUNT; i += 3) {
		CHECK_OK(tl_mem_unregister(blocks[i])); /* back with the host */
		CHECK_OK(tl_mem_register_struct(blocks[i]));
		CHECK_PTR(tl_ptr_acquire(blocks[i]), blocks[i]);
		CHECK_OK(tl_ptr_release(blocks[i]));
	}
	CHECK_OK(tl_mem_exit_scope());
	for (int i = 0; i < COUNT; i++) CHECK_DEAD(blocks[i]);
	CHECK_INT(check_take_balance().foreign, 0);
}

int main(void) { return check_tests(); }
