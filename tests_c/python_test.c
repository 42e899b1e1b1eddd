/* Section Python: memory as NumPy asks for it, and capsules, with an interpreter that
 * consists of three functions. */
#include "bad.h"
#include "check.h"
#include "dl.h"
#include "interpreter.h"
#include "thread.h"

static const size_t sizes[] = {0, 1, 31, 32, 64, 1000, 65520, 65521, 65536, 65537, 100000, 5 << 20};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

TEST(blocks_are_aligned_and_counted)
{
	for (int i = 0; i < SIZES; i++) {
		uint64_t live = check_take_balance().objects;
		char *p = tl_numpy_malloc(NULL, sizes[i]), *q = tl_numpy_calloc(NULL, sizes[i], 1);
		bool zero = true;
		CHECK(p != NULL && q != NULL && p != q);
		CHECK_INT((uintptr_t)p % 32, 0);
		if (sizes[i] % 64 == 0 && sizes[i] != 0) CHECK_INT((uintptr_t)p % 64, 0);
		memset(p, 0xEE, sizes[i]);
		for (size_t at = 0; at < sizes[i]; at++) zero = zero && q[at] == 0;
		CHECK(zero);
		memset(q, 0xEE, sizes[i]);
		CHECK_INT(check_take_balance().objects, live + 2);
		tl_numpy_free(NULL, p, sizes[i]);
		tl_numpy_free(NULL, q, 12345);
		CHECK_INT(check_take_balance().objects, live);
	}
	tl_numpy_free(NULL, NULL, 0);
}

TEST(realloc_keeps_what_fits)
{
	for (int from = 1; from < SIZES; from++)
		for (int to = 0; to < SIZES; to++) {
			size_t both = sizes[from] < sizes[to] ? sizes[from] : sizes[to];
			unsigned char* p = tl_numpy_malloc(NULL, sizes[from]);
			bool same = true;
			for (size_t at = 0; at < sizes[from]; at++) p[at] = (unsigned char)(at * 7 + at / 251);
			p = tl_numpy_realloc(NULL, p, sizes[to]);
			for (size_t at = 0; at < both; at++) same = same && p[at] == (unsigned char)(at * 7 + at / 251);
			CHECK(same);
			memset(p, 1, sizes[to]);
			tl_numpy_free(NULL, p, sizes[to]);
		}
	tl_numpy_free(NULL, tl_numpy_realloc(NULL, NULL, 10), 10);
}

/* The same block for the next array of its size; with TL_DEBUG it waits in the quarantine. */
TEST(memory_is_reused)
{
	if (getenv("TL_DEBUG") != NULL) return;
	for (int i = 1; i < SIZES; i++) {
		void* p = tl_numpy_malloc(NULL, sizes[i]);
		tl_numpy_free(NULL, p, sizes[i]);
		CHECK_PTR(tl_numpy_malloc(NULL, sizes[i]), p);
		tl_numpy_free(NULL, p, sizes[i]);
	}
}

/* An address of the program, and not a frame of Python. */
static bool is_address(const void* frame) { return frame != NULL && (uintptr_t)frame >> 56 == 0; }

/* No interpreter is in this process: what NumPy's functions allocate has a stack of C frames and no line. */
TEST(lines_want_an_interpreter)
{
	static char long_name[5000];
	memset(long_name, 'x', sizeof long_name - 1);
	CHECK_FAILS(tl_python_lines(NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_python_lines(""), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_python_lines(long_name), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "tl_python_lines: skip is NULL, empty, or longer than 4095 bytes") != NULL);
	CHECK_FAILS(tl_python_lines("/usr/lib/python3/"), TL_E_UNSUPPORTED);
	CHECK_OK(tl_configure("TL_TRACK", "1"));
	void* p = tl_numpy_malloc(NULL, 100);
	tl_alloc_info info = {.struct_size = sizeof info};
	CHECK_OK(tl_mem_allocation_info(p, &info));
	CHECK(info.number != 0 && info.frames > 2 && info.file == NULL);
	for (uint64_t i = 0; i < info.frames; i++) CHECK(is_address(info.stack[i]));
	CHECK(!tl_python_site(p) && !tl_python_site(NULL));
	tl_alloc_info after = {.struct_size = sizeof after};
	CHECK_OK(tl_mem_allocation_info(p, &after));
	CHECK(after.stack == info.stack && after.frames == info.frames);
	tl_numpy_free(NULL, p, 100);
	CHECK(!tl_python_site(p));
	CHECK_OK(tl_configure("TL_TRACK", "0"));
}

TEST(memory_that_cannot_be_had)
{
	void* p = tl_numpy_malloc(NULL, 100);
	CHECK_REFUSED(tl_numpy_malloc(NULL, SIZE_MAX), 0, TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_numpy_malloc(NULL, (size_t)1 << 50), 0, TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_numpy_calloc(NULL, (size_t)1 << 40, (size_t)1 << 40), 0, TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_numpy_calloc(NULL, SIZE_MAX, 1), 0, TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_numpy_realloc(NULL, p, (size_t)1 << 50), 0, TL_E_OUT_OF_MEMORY);
	CHECK_COUNT(p, 1);
	tl_numpy_free(NULL, p, 100);
}

static void refuses(void* p, tl_status status, const char* what)
{
	tl_clear_error();
	tl_numpy_free(NULL, p, 100);
	check_status(tl_last_status(), status, what, 0, "tl_numpy_free");
	CHECK_INT(strncmp(tl_last_error(), "tl_numpy_free: ", 15), 0);
	tl_clear_error();
	CHECK_PTR(tl_numpy_realloc(NULL, p, 1000), NULL);
	check_status(tl_last_status(), status, what, 0, "tl_numpy_realloc");
	CHECK_INT(strncmp(tl_last_error(), "tl_numpy_realloc: ", 18), 0);
}

THREAD(refuse_elsewhere, stack) { refuses(stack, TL_E_UNKNOWN_POINTER, "a frame of another thread"); }

/* None of it is NumPy's, and none of it goes to free(), which would end the process. */
TEST(memory_of_the_runtime_is_not_freed)
{
	char* small = tl_numpy_malloc(NULL, 100);
	char* large = tl_numpy_malloc(NULL, 1 << 20);
	const tl_device_allocator* cpu = tl_device_allocator_for(0);
	void* pages = cpu->allocate(cpu->ctx, 1 << 16);
	tl_memory_pool* pool = NULL;
	int64_t shape = 0;
	CHECK_OK(tl_memory_pool_create(cpu, 1 << 16, &pool));
	void* block = tl_memory_pool_allocate(pool, 4096);
	CHECK_OK(tl_mem_function_enter(1));
	char* frame = tl_mem_get_buffer(0, 4096);
	CHECK_OK(tl_arena_init(1 << 16));
	char* arena = tl_arena_alloc(4096);
	/* covers: tl_numpy_free TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE, TL_E_UNSUPPORTED */
	/* covers: tl_numpy_realloc TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE, TL_E_UNSUPPORTED */
	refuses(small + 32, TL_E_INTERIOR_POINTER, "inside a small block");
	refuses(large + 4096, TL_E_INTERIOR_POINTER, "inside a large block");
	refuses(tl_vec_new(4), TL_E_UNSUPPORTED, "a Vec");
	refuses(frame, TL_E_UNSUPPORTED, "a frame");
	refuses(frame + 64, TL_E_UNSUPPORTED, "inside a frame");
	refuses(arena, TL_E_UNSUPPORTED, "the arena");
	refuses(arena + 8192, TL_E_NOT_LIVE, "the unused arena");
	refuses(pages, TL_E_UNKNOWN_POINTER, "pages of the CPU's allocator");
	refuses(block, TL_E_UNKNOWN_POINTER, "a block of a memory pool");
	run_thread(refuse_elsewhere, frame);
	refuses((void*)8, TL_E_UNKNOWN_POINTER, "a number");
	refuses((void*)0x10000, TL_E_UNKNOWN_POINTER, "a larger number");
	refuses((char*)&shape + 4, TL_E_UNKNOWN_POINTER, "what is not aligned");
	CHECK_OK(tl_arena_free());
	CHECK_OK(tl_mem_function_exit());
	refuses(frame, TL_E_NOT_LIVE, "a frame that has ended");
	CHECK_COUNT(small, 1);
	tl_numpy_free(NULL, small, 100);
	tl_numpy_free(NULL, large, 1 << 20);
	refuses(small, TL_E_NOT_LIVE, "a small block that was freed");
	refuses(large, TL_E_NOT_LIVE, "a large block that was freed");
	CHECK_OK(tl_memory_pool_deallocate(pool, block));
	CHECK_OK(tl_memory_pool_destroy(pool));
	cpu->deallocate(cpu->ctx, pages, 1 << 16);
}

/* Emitted code may hold on to an array's data; freeing twice is an error and no more. */
TEST(a_block_is_an_object)
{
	void* p = tl_numpy_malloc(NULL, 100);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(p));
	tl_numpy_free(NULL, p, 100);
	CHECK_COUNT(p, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(p);
	tl_clear_error();
	tl_numpy_free(NULL, p, 100);
	CHECK_STATUS(tl_last_status(), TL_E_NOT_LIVE);
	tl_numpy_free(NULL, malloc(10), 10);          /* not ours: free()'s */
	p = tl_numpy_realloc(NULL, malloc(10), 1000); /* and realloc()'s */
	memset(p, 1, 1000);
	free(p);
}

/* A tensor that is a header alone may stand right before the block that it is over. */
TEST(the_block_behind_a_header_is_the_block)
{
	enum { HEADER = 192, COUNT = 100 };
	char *blocks[COUNT], *behind = NULL;
	int64_t shape = HEADER;
	if (getenv("TL_DEBUG") != NULL) return; /* a red zone lies between them */
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < COUNT; i++) blocks[i] = tl_numpy_malloc(NULL, HEADER);
	for (int i = 0; i < COUNT; i++)
		for (int k = 0; k < COUNT && behind == NULL; k++)
			if (blocks[k] == blocks[i] + HEADER) {
				behind = blocks[k];
				tl_numpy_free(NULL, blocks[i], HEADER);
				blocks[i] = NULL;
			}
	tl_tensor* over = tl_tensor_from_buffer(TL_DTYPE_U8, TL_DEVICE_CPU, 1, &shape, behind, NULL, NULL, NULL);
	CHECK_PTR((char*)over + HEADER, behind);
	memset(behind, 7, HEADER);
	CHECK_OK(tl_ptr_inc_ref(behind)); /* somebody else's */
	char* moved = tl_numpy_realloc(NULL, behind, 1000);
	CHECK(moved != behind && moved[HEADER - 1] == 7);
	CHECK_COUNT(behind, 1);
	CHECK_COUNT(over, 1);
	CHECK_OK(tl_ptr_release(behind));
	for (int i = 0; i < COUNT; i++) tl_numpy_free(NULL, blocks[i] == behind ? moved : blocks[i], HEADER);
	CHECK_OK(tl_mem_exit_scope());
}

THREAD(free_there, blocks)
{
	for (int i = 0; i < SIZES; i++) tl_numpy_free(NULL, ((void**)blocks)[i], sizes[i]);
}

TEST(blocks_are_freed_at_once_on_any_thread)
{
	void* blocks[SIZES];
	uint64_t live = check_take_balance().objects;
	for (int i = 0; i < SIZES; i++) blocks[i] = tl_numpy_malloc(NULL, sizes[i]);
	CHECK_INT(check_take_balance().objects, live + SIZES);
	run_thread(free_there, blocks);
	CHECK_INT(check_take_balance().objects, live);
}

/* In the child there is no slow path: blocks go on coming from malloc, and are told
 * from ours when they are freed. */
static int work_of_the_child(void** inherited)
{
	enum { MANY = 3000 };
	static char* mine[MANY];
	free_there(inherited);
	tl_clear_error();
	for (int i = 0; i < MANY; i++) {
		size_t n = i % 100 == 0 ? 300000 : 40;
		mine[i] = i % 2 ? tl_numpy_malloc(NULL, n) : tl_numpy_calloc(NULL, n, 1);
		if (mine[i] == NULL) return 1;
		memset(mine[i], i, n);
		mine[i] = tl_numpy_realloc(NULL, mine[i], 2 * n);
		if (mine[i] == NULL || mine[i][0] != (char)i || mine[i][n - 1] != (char)i) return 2;
	}
	if (tl_last_status() != TL_OK) return 3;
	for (int i = 0; i < MANY; i++) tl_numpy_free(NULL, mine[i], 1);
	return 42;
}

TEST(a_forked_child_goes_on)
{
	void* blocks[SIZES];
	for (int i = 0; i < SIZES; i++) blocks[i] = tl_numpy_malloc(NULL, sizes[i]);
	pid_t child = fork();
	if (child == 0) _exit(work_of_the_child(blocks));
	CHECK_INT(check_exit_of(child), 42);
	free_there(blocks);
}

/* PyDataMem_Handler. */
typedef struct handler {
	char name[127];
	uint8_t version;
	void* ctx;
	void* (*malloc)(void*, size_t);
	void* (*calloc)(void*, size_t, size_t);
	void* (*realloc)(void*, void*, size_t);
	void (*free)(void*, void*, size_t);
} handler;

TEST(the_handler_names_the_functions)
{
	const handler* h = tl_numpy_handler();
	CHECK(strcmp(h->name, "tl_runtime") == 0);
	CHECK_INT(h->version, 1);
	CHECK(h->malloc == tl_numpy_malloc && h->calloc == tl_numpy_calloc);
	CHECK(h->realloc == tl_numpy_realloc && h->free == tl_numpy_free);
}

/* ---- capsules --------------------------------------------------------------------------- */

TEST(attach)
{
	tl_python_api api = {.struct_size = sizeof api};
	CHECK_FAILS(tl_python_attach(NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_python_attach(&api), TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_python_capsule(NULL, 1, false), 0, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_python_registered(&(int){0}), 0, TL_E_UNSUPPORTED);
	api = interpreter();
	api.err_set_string = NULL;
	CHECK_FAILS(tl_python_attach(&api), TL_E_INVALID_ARGUMENT);
	api = interpreter();
	api.struct_size = 8;
	CHECK_FAILS(tl_python_attach(&api), TL_E_INVALID_ARGUMENT);
	api.struct_size = sizeof api;
	CHECK_OK(tl_python_attach(&api));
	CHECK_OK(tl_python_attach(&api));
	tl_clear_error();
}

TEST_IN_SCOPE(a_capsule_ends_what_nobody_took)
{
	const int64_t four = 4;
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 1, &four);
	capsule* versioned = tl_python_capsule(tensor, 1, false);
	capsule* legacy = tl_python_capsule(tensor, 0, false);
	CHECK(strcmp(versioned->name, "dltensor_versioned") == 0);
	CHECK(strcmp(legacy->name, "dltensor") == 0);
	CHECK_COUNT(tensor, 3);
	end_capsule(versioned);
	CHECK_COUNT(tensor, 2);
	DLManagedTensor* taken = legacy->pointer; /* as a consumer does it */
	legacy->name = "used_dltensor";
	end_capsule(legacy);
	CHECK_COUNT(tensor, 2);
	taken->deleter(taken);
	CHECK_COUNT(tensor, 1);
}

TEST(a_capsule_holds_registered_memory)
{
	void* array = tl_registry_new_array(10, 8);
	capsule* first = tl_python_registered(array);
	CHECK(strcmp(first->name, "tl_runtime.registered") == 0);
	CHECK_OK(tl_ptr_inc_ref(array));
	capsule* second = tl_python_registered(array);
	CHECK_COUNT(array, 2);
	end_capsule(first);
	CHECK_COUNT(array, 1);
	capsules_to_refuse = 1;
	CHECK_PTR(tl_python_registered(array), NULL);
	CHECK_COUNT(array, 1); /* still the caller's */
	end_capsule(second);
	CHECK(!tl_registry_is_registered(array));
	CHECK_REFUSED(tl_python_registered(array), 0, TL_E_UNKNOWN_POINTER);
	CHECK_PTR(tl_python_registered(NULL), NULL);
}

TEST(capsules_that_cannot_be)
{
	const int64_t four = 4;
	CHECK_REFUSES_NULL(tl_python_capsule(bad, 1, false));
	CHECK_REFUSES_NULL(tl_python_capsule(bad, 0, true));
	CHECK_OK(tl_mem_function_enter(1));
	tl_tensor* slot = tl_tensor_in_slot(0, TL_DTYPE_F32, 1, &four);
	CHECK_REFUSED(tl_python_capsule(slot, 1, false), 0, TL_E_UNSUPPORTED);
	CHECK(strstr(python_error, "BufferError: tl_python_capsule: TL_E_UNSUPPORTED") == python_error);
	CHECK_REFUSED(tl_python_capsule(slot, 0, false), 0, TL_E_UNSUPPORTED);
	CHECK(strstr(python_error, "BufferError: tl_python_capsule: TL_E_UNSUPPORTED") == python_error);
	CHECK_REFUSED(tl_python_capsule(slot, 2, true), 0, TL_E_INVALID_ARGUMENT);
	CHECK(strstr(python_error, "BufferError: tl_python_capsule: TL_E_INVALID_ARGUMENT") == python_error);
	for (uint32_t major = 0; major < 2; major++) {
		capsules_to_refuse = 1; /* Python has no memory: what was exported is given back */
		CHECK_PTR(tl_python_capsule(slot, major, true), NULL);
		end_capsule(tl_python_capsule(slot, major, true));
	}
	CHECK_OK(tl_mem_function_exit());
}

int main(void) { return check_tests(); }
