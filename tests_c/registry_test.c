/* The registry: owners, aliases, kinds, batches, totals, and what it refuses. */
#include <dlfcn.h>

#include "check.h"
#include "thread.h"

enum { FAKE = 1 << 20 }; /* addresses at which nothing is: the registry does not look there */

static char* fake(size_t offset) { return (char*)((uintptr_t)1 << 44) + offset; }

static int ended; /* calls of count_end */
static void* ended_at;

static void count_end(void* pointer, void* ctx)
{
	__atomic_add_fetch(&ended, 1, __ATOMIC_RELAXED);
	ended_at = pointer;
	if (ctx != NULL) __atomic_add_fetch((int*)ctx, 1, __ATOMIC_RELAXED);
}

static tl_alloc_info info_of(const void* pointer)
{
	tl_alloc_info info = {.struct_size = sizeof info};
	CHECK_OK(tl_registry_info(pointer, &info));
	return info;
}

typedef struct totals {
	size_t bytes, pointers, buffers;
} totals;

static totals take_totals(void)
{
	return (totals){tl_registry_total_bytes(), tl_registry_num_pointers(), tl_registry_num_buffers()};
}

static void check_grown(totals before, size_t bytes, size_t pointers, size_t buffers, int line)
{
	totals now = take_totals();
	check_int((int64_t)(now.bytes - before.bytes), (int64_t)bytes, __FILE__, line, "more bytes");
	check_int((int64_t)(now.pointers - before.pointers), (int64_t)pointers, __FILE__, line, "more pointers");
	check_int((int64_t)(now.buffers - before.buffers), (int64_t)buffers, __FILE__, line, "more buffers");
}
#define CHECK_GROWN(before, bytes, pointers, buffers) check_grown(before, bytes, pointers, buffers, __LINE__)

/* ---- one owner ------------------------------------------------------------------------- */

TEST(one_owner)
{
	static const size_t sizes[] = {0, 1, 16, 100, 2048, 5000, 1 << 20};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		totals before = take_totals();
		void* p = malloc(sizes[i]);
		CHECK(!tl_registry_is_registered(p));
		CHECK_OK(tl_registry_register(p, sizes[i], TL_ALLOC_MALLOC));
		CHECK(tl_registry_is_registered(p));
		CHECK_GROWN(before, sizes[i] > 0 ? sizes[i] : 1, 1, 0);
		CHECK_COUNT(p, 1);
		CHECK_OK(tl_ptr_check(p));
		CHECK_OK(tl_registry_unregister(p));
		CHECK(!tl_registry_is_registered(p));
		CHECK_GROWN(before, 0, 0, 0);
		CHECK_FAILS(tl_registry_unregister(p), TL_E_UNKNOWN_POINTER);
	}
	CHECK_OK(tl_registry_register(NULL, 8, TL_ALLOC_MALLOC));
	CHECK_OK(tl_registry_unregister(NULL));
	CHECK(!tl_registry_is_registered(NULL));
}

/* The registrant's reference does not float: a scope takes one of its own. */
TEST(scopes_acquire)
{
	void* p = malloc(64);
	CHECK_OK(tl_registry_register(p, 64, TL_ALLOC_MALLOC));
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(p));
	CHECK_COUNT(p, 2);
	CHECK_OK(tl_mem_register_ptr(p));
	CHECK_COUNT(p, 3);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(p, 1);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(p));
	CHECK_OK(tl_registry_unregister(p));
	CHECK_COUNT(p, 1); /* the scope's */
	CHECK_OK(tl_mem_exit_scope());
	CHECK(!tl_registry_is_registered(p));
}

TEST(a_vec_and_a_caller_hold)
{
	void* p = malloc(64);
	CHECK_OK(tl_registry_register(p, 64, TL_ALLOC_MALLOC));
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new(1);
	CHECK_OK(tl_vec_push(vec, p));
	CHECK_PTR(tl_ptr_acquire(p), p);
	CHECK_COUNT(p, 3);
	CHECK_OK(tl_registry_unregister(p));
	CHECK_OK(tl_ptr_release(p));
	CHECK_COUNT(p, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK(!tl_registry_is_registered(p));
}

TEST(what_register_refuses)
{
	char* p = malloc(256);
	void* object = tl_mem_alloc(64);
	CHECK_OK(tl_registry_register(p, 256, TL_ALLOC_MALLOC));
	CHECK_FAILS(tl_registry_register(p, 256, TL_ALLOC_MALLOC), TL_E_ALREADY_REGISTERED);
	CHECK_FAILS(tl_registry_register(p + 16, 16, TL_ALLOC_MALLOC), TL_E_ALREADY_REGISTERED);
	CHECK_FAILS(tl_registry_register(p + 240, 16, TL_ALLOC_ALIGNED), TL_E_ALREADY_REGISTERED);
	CHECK_FAILS(tl_registry_register(p - 16, 64, TL_ALLOC_MALLOC), TL_E_ALREADY_REGISTERED);
	CHECK_FAILS(tl_registry_register(fake(0), 64, 0), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register(fake(0), 64, TL_ALLOC_CUSTOM), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register(fake(0), 64, -1), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register(fake(0), 64, 257), TL_E_INVALID_ARGUMENT); /* no kind is cut to a byte */
	CHECK_FAILS(tl_registry_register((void*)16, 64, TL_ALLOC_MALLOC), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register((void*)(~(uintptr_t)0 - 15), 64, TL_ALLOC_MALLOC), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register(fake(0), SIZE_MAX, TL_ALLOC_MALLOC), TL_E_INVALID_ARGUMENT);
	/* What free() would fault on; a deleter may know addresses that no processor has. */
	CHECK_FAILS(tl_registry_register((void*)((uintptr_t)1 << 48), 64, TL_ALLOC_MALLOC), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register((void*)0x101010101010100, 64, TL_ALLOC_ALIGNED), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register(fake(0), (size_t)1 << 48, TL_ALLOC_MALLOC), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_mem_register_struct((void*)((uintptr_t)1 << 48)), TL_E_INVALID_ARGUMENT);
	/* Blocks that begin where one can and end where none does. */
	CHECK_FAILS(tl_registry_register((void*)((1ull << 57) - 16), 4096, TL_ALLOC_MALLOC), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register((void*)((1ull << 57) - 1000000), 1000001, TL_ALLOC_MALLOC), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register(object, 64, TL_ALLOC_MALLOC), TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_registry_unregister(object), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_registry_unregister(p + 16), TL_E_UNKNOWN_POINTER);
	CHECK(!tl_registry_is_registered(p + 16) && !tl_registry_is_registered(object));
	CHECK_OK(tl_ptr_release(object));
	CHECK_OK(tl_registry_unregister(p));
}

/* A program of C has no operator delete until somebody loads it, however privately. */
TEST(kinds_of_cxx_need_its_runtime)
{
	static const tl_alloc_kind kinds[] = {TL_ALLOC_NEW_ARRAY, TL_ALLOC_NEW_SCALAR};
	static const char* const makers[] = {"_Znam", "_Znwm"};
	bool is_there = dlsym(RTLD_DEFAULT, "_ZdaPv") != NULL; /* a sanitizer has them */
	uint64_t id = 0;
	for (int i = 0; i < 2 && !is_there; i++) {
		CHECK_FAILS(tl_registry_register(fake(0), 64, kinds[i]), TL_E_UNSUPPORTED);
		CHECK_FAILS(tl_registry_register_buffer(fake(0), 64, NULL, 0, kinds[i], &id), TL_E_UNSUPPORTED);
		CHECK(strstr(tl_last_error(), "no C++ runtime is loaded") != NULL);
		CHECK(!tl_registry_is_registered(fake(0)));
	}
	void* runtime = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
	if (runtime == NULL) {
		puts("skip: there is no libstdc++.so.6 to load");
		return;
	}
	for (int i = 0; i < 2; i++) {
		void* (*make)(size_t);
		*(void**)&make = dlsym(is_there ? RTLD_DEFAULT : runtime, makers[i]);
		void* made = make(64);
		CHECK_OK(tl_registry_register(made, 64, kinds[i]));
		CHECK_INT(info_of(made).kind, kinds[i]);
		CHECK_OK(tl_registry_unregister(made));
		CHECK(!tl_registry_is_registered(made));
	}
	dlclose(runtime);
}

/* What tl_ptr_dec_ref brings to zero stays dead until tl_mem_free. */
TEST(held_at_zero)
{
	tl_alloc_info info = {.struct_size = sizeof info};
	void* p = malloc(64);
	int mine = 0;
	CHECK_OK(tl_registry_register(p, 64, TL_ALLOC_MALLOC));
	CHECK_INT(tl_ptr_dec_ref(p), 1);
	CHECK(!tl_registry_is_registered(p));
	CHECK_FAILS(tl_registry_unregister(p), TL_E_NOT_LIVE);
	CHECK_FAILS(tl_registry_info(p, &info), TL_E_NOT_LIVE);
	CHECK_OK(tl_mem_free(p));

	CHECK_OK(tl_registry_register_custom(fake(64), 64, count_end, &mine));
	CHECK_INT(tl_ptr_dec_ref(fake(64)), 1);
	CHECK_FAILS(tl_mem_register_struct(fake(64)), TL_E_NOT_LIVE); /* the deleter is not lost to free() */
	CHECK_INT(mine, 0);
	CHECK_OK(tl_mem_free(fake(64)));
	CHECK_INT(mine, 1);
}

TEST(deleters)
{
	int mine = 0;
	totals before = take_totals();
	void* object = tl_mem_alloc(64);
	CHECK_OK(tl_registry_register_custom(fake(0), 1 << 20, count_end, &mine));
	CHECK_GROWN(before, 1 << 20, 1, 0);
	CHECK_INT(info_of(fake(0)).kind, TL_ALLOC_CUSTOM);
	CHECK_INT(info_of(fake(0)).buffer_id, 0);
	CHECK_FAILS(tl_registry_register_custom(fake(0), 64, count_end, &mine), TL_E_ALREADY_REGISTERED);
	CHECK_FAILS(tl_registry_register_custom(fake(4096), 64, count_end, &mine), TL_E_ALREADY_REGISTERED);
	CHECK_FAILS(tl_registry_register(fake(1 << 19), 64, TL_ALLOC_MALLOC), TL_E_ALREADY_REGISTERED);
	CHECK_FAILS(tl_registry_register_custom(fake(FAKE), 64, NULL, &mine), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register_custom((void*)8, 64, count_end, &mine), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register_custom(object, 64, count_end, &mine), TL_E_UNSUPPORTED);
	CHECK_OK(tl_registry_register_custom(NULL, 64, count_end, &mine));
	CHECK_PTR(tl_ptr_acquire(fake(0)), fake(0));
	CHECK_OK(tl_registry_unregister(fake(0)));
	CHECK_INT(mine, 0);
	CHECK_OK(tl_ptr_release(fake(0)));
	CHECK_INT(mine, 1);
	CHECK_PTR(ended_at, fake(0));
	CHECK_FAILS(tl_registry_unregister(fake(0)), TL_E_UNKNOWN_POINTER);
	CHECK_GROWN(before, 0, 0, 0);
	CHECK_OK(tl_ptr_release(object));
}

/* A scope's exit runs deleters as well, each once, newest first. */
TEST(deleters_of_a_scope)
{
	int mine = 0;
	CHECK_OK(tl_mem_enter_scope());
	for (size_t i = 0; i < 100; i++) {
		CHECK_OK(tl_registry_register_custom(fake(i * 64), 64, count_end, &mine));
		CHECK_OK(tl_mem_register_struct(fake(i * 64)));
		CHECK_OK(tl_registry_unregister(fake(i * 64)));
	}
	CHECK_INT(mine, 0);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(mine, 100);
	CHECK_PTR(ended_at, fake(0));
}

static tl_type pair_type(void)
{
	static const size_t offsets[] = {0, 8};
	static tl_type type;
	const tl_type_desc desc = {"pair", 16, offsets, 2, NULL, 0};
	if (type == 0) CHECK_OK(tl_type_define(&desc, &type));
	return type;
}

/* An object whose first field holds a block that count_end ends, and nobody else does. */
static void** holder_of(int* mine)
{
	void** holder = tl_object_new(pair_type());
	CHECK_OK(tl_registry_register_custom(fake(0), 64, count_end, mine));
	holder[0] = fake(0); /* the registrant's reference */
	return holder;
}

/* Rounds, so that both the slow path and the fast one take the object apart. */
TEST(a_fields_deleter_runs_before_release_returns)
{
	enum { ROUNDS = 100 };
	int mine = 0;
	for (int i = 1; i <= ROUNDS; i++) {
		CHECK_OK(tl_mem_enter_scope());
		void** holder = holder_of(&mine);
		CHECK_OK(tl_mem_unregister(holder));
		CHECK_OK(tl_ptr_release(holder));
		CHECK_INT(mine, i);
		CHECK_OK(tl_mem_exit_scope());
	}
}

TEST(a_cycles_deleter_runs_before_the_collector_returns)
{
	int mine = 0;
	CHECK_OK(tl_mem_enter_scope());
	void** holder = holder_of(&mine);
	holder[1] = tl_ptr_acquire(holder);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(mine, 0);
	CHECK_INT(tl_mem_collect_cycles(), 1);
	CHECK_INT(mine, 1);
}

THREAD(run_scope, mine)
{
	CHECK_OK(tl_mem_register_struct(fake(0))); /* the thread's root scope */
	CHECK_OK(tl_registry_unregister(fake(0)));
}

/* What a thread's root scope holds goes with whoever reaps it. */
TEST(deleters_of_an_ended_thread)
{
	int mine = 0;
	CHECK_OK(tl_registry_register_custom(fake(0), 64, count_end, &mine));
	run_thread(run_scope, &mine);
	tl_mem_purge(); /* a slow call */
	CHECK_INT(mine, 1);
}

/* ---- buffers ------------------------------------------------------------------------------ */

enum { ROWS = 64, COLUMNS = 10 };

static void columns_of(double* matrix, void* columns[COLUMNS])
{
	for (size_t i = 0; i < COLUMNS; i++) columns[i] = matrix + i * ROWS;
}

/* Column 0 of a matrix is the matrix's own address, and counts on its own. */
TEST(column_0_is_the_matrix)
{
	totals before = take_totals();
	double* matrix = malloc(ROWS * COLUMNS * sizeof *matrix);
	void* columns[COLUMNS];
	uint64_t id = 0;
	columns_of(matrix, columns);
	CHECK_OK(
		tl_registry_register_buffer(matrix, ROWS * COLUMNS * sizeof *matrix, columns, COLUMNS, TL_ALLOC_MALLOC, &id));
	CHECK(id != 0);
	CHECK_GROWN(before, ROWS * COLUMNS * sizeof *matrix, COLUMNS, 1);
	tl_alloc_info info = info_of(columns[3]);
	CHECK_PTR(info.block, matrix);
	CHECK_INT(info.bytes, ROWS * COLUMNS * sizeof *matrix);
	CHECK_INT(info.count, 1);
	CHECK_INT(info.block_count, 1 + COLUMNS);
	CHECK_INT(info.addresses, COLUMNS);
	CHECK_INT(info.kind, TL_ALLOC_MALLOC);
	CHECK_INT(info.buffer_id, id);
	CHECK_COUNT(matrix, 2);
	CHECK_OK(tl_registry_unregister(matrix)); /* the matrix's own */
	CHECK_COUNT(columns[0], 1);
	CHECK_OK(tl_registry_unregister(columns[0]));
	CHECK_FAILS(tl_registry_unregister(matrix), TL_E_UNKNOWN_POINTER);
	CHECK(!tl_registry_is_registered(matrix) && tl_registry_is_registered(columns[1]));
	CHECK_GROWN(before, ROWS * COLUMNS * sizeof *matrix, COLUMNS - 1, 1);
	matrix[ROWS * COLUMNS - 1] = 1;                                       /* still memory */
	CHECK_FAILS(tl_mem_register_struct(matrix), TL_E_ALREADY_REGISTERED); /* still owned */
	for (int i = 1; i < COLUMNS; i++) CHECK_OK(tl_registry_unregister(columns[i]));
	CHECK_GROWN(before, 0, 0, 0);
}

/* Columns of single precision are no multiples of 16, and large buffers own whole units. */
TEST(aliases_anywhere)
{
	totals before = take_totals();
	uint64_t id = 0;
	char* block = malloc(1 << 20);
	void* aliases[300];
	for (size_t i = 0; i < 300; i++) aliases[i] = block + 4 * i;
	CHECK_OK(tl_registry_register_buffer(block, 1 << 20, aliases, 300, TL_ALLOC_MALLOC, &id));
	CHECK_GROWN(before, 1 << 20, 300, 1);
	CHECK_INT(info_of(block + 4).block_count, 301);
	CHECK_OK(tl_registry_add_alias(id, block + (1 << 20) - 1));
	CHECK_OK(tl_registry_add_alias(id, block + 4));
	CHECK_COUNT(block + 4, 2);
	CHECK_OK(tl_registry_unregister(block + (1 << 20) - 1));
	for (size_t i = 300; i-- > 0;) {
		CHECK(tl_registry_is_registered(aliases[i]));
		CHECK_OK(tl_registry_unregister(aliases[i]));
	}
	CHECK_OK(tl_registry_unregister(block));
	CHECK_GROWN(before, 1 << 20, 1, 1);
	CHECK_OK(tl_registry_unregister(block + 4));
	CHECK_GROWN(before, 0, 0, 0);
	CHECK_FAILS(tl_registry_add_alias(id, block), TL_E_INVALID_ARGUMENT); /* its buffer has ended */
}

/* Other references to an alias are as good as its own. */
TEST(aliases_are_counted_like_objects)
{
	char* block = malloc(256);
	void* alias = block + 128;
	CHECK_OK(tl_registry_register_buffer(block, 256, &alias, 1, TL_ALLOC_MALLOC, NULL));
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(alias));
	CHECK_PTR(tl_ptr_acquire(alias), alias);
	CHECK_INT(info_of(alias).count, 3);
	CHECK_INT(info_of(block).block_count, 4);
	CHECK_OK(tl_registry_unregister(block));
	CHECK_OK(tl_registry_unregister(alias));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(alias, 1);
	CHECK_INT(tl_ptr_dec_ref(alias), 1);
	CHECK_INT(tl_registry_num_buffers(), 1);
	CHECK_OK(tl_mem_free(alias));
	CHECK_INT(tl_registry_num_buffers(), 0);
}

TEST(a_buffer_is_registered_whole_or_not_at_all)
{
	totals before = take_totals();
	char* block = malloc(4096);
	char* other = malloc(64);
	void* object = tl_mem_alloc(64);
	uint64_t id = 77;
	CHECK_OK(tl_registry_register(other, 64, TL_ALLOC_MALLOC));
	void* null[] = {block + 16, NULL};
	void* outside[] = {block, block + 32, block + 4096};
	void* below[] = {block - 1};
	CHECK_FAILS(tl_registry_register_buffer(block, 4096, null, 2, TL_ALLOC_MALLOC, &id), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register_buffer(block, 4096, outside, 3, TL_ALLOC_MALLOC, &id), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register_buffer(block, 4096, below, 1, TL_ALLOC_MALLOC, &id), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register_buffer(block, 4096, NULL, 1, TL_ALLOC_MALLOC, &id), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register_buffer(block, 4096, outside, SIZE_MAX, TL_ALLOC_MALLOC, &id),
	            TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register_buffer(NULL, 4096, NULL, 0, TL_ALLOC_MALLOC, &id), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register_buffer(block, 4096, NULL, 0, TL_ALLOC_CUSTOM, &id), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register_buffer(object, 64, NULL, 0, TL_ALLOC_MALLOC, &id), TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_registry_register_buffer(other, 64, NULL, 0, TL_ALLOC_MALLOC, &id), TL_E_ALREADY_REGISTERED);
	CHECK_FAILS(tl_registry_register_buffer(other + 16, 16, NULL, 0, TL_ALLOC_MALLOC, &id), TL_E_ALREADY_REGISTERED);
	CHECK_FAILS(tl_registry_register_buffer(block, 4096, outside, 2, TL_ALLOC_MALLOC, (uint64_t*)8),
	            TL_E_INVALID_ARGUMENT);
	CHECK_INT(id, 77);
	CHECK_GROWN(before, 64, 1, 0);
	for (size_t i = 0; i < 4096; i++)
		if (tl_registry_is_registered(block + i)) CHECK(!"an alias was left behind");
	CHECK_OK(tl_registry_register_buffer(block, 4096, outside, 2, TL_ALLOC_MALLOC, &id));
	CHECK_OK(tl_registry_unregister(block));
	CHECK_OK(tl_registry_unregister(block));
	CHECK_OK(tl_registry_unregister(block + 32));
	CHECK_OK(tl_registry_unregister(other));
	CHECK_OK(tl_ptr_release(object));
	CHECK_GROWN(before, 0, 0, 0);
}

/* An address that belongs to another owner is found only when its turn comes. */
TEST(an_alias_of_somebody_else_undoes_the_rest)
{
	totals before = take_totals();
	int mine = 0;
	char* block = malloc(4096);
	uint64_t id = 0;
	void* aliases[] = {block + 64, block + 2500, block + 3 /* registered below */};
	CHECK_OK(tl_registry_register_custom(block + 3, 4, count_end, &mine));
	char culprit[32];
	snprintf(culprit, sizeof culprit, "%p is registered", aliases[2]);
	CHECK_FAILS(tl_registry_register_buffer(block, 4096, aliases, 3, TL_ALLOC_MALLOC, &id), TL_E_ALREADY_REGISTERED);
	CHECK(strstr(tl_last_error(), culprit) != NULL);
	CHECK_GROWN(before, 4, 1, 0);
	CHECK_OK(tl_registry_register_buffer(block, 4096, aliases, 2, TL_ALLOC_MALLOC, &id));
	CHECK_FAILS(tl_registry_add_alias(id, block + 3), TL_E_ALREADY_REGISTERED);
	CHECK_FAILS(tl_registry_add_alias(id, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_add_alias(id, block + 4096), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_add_alias(id + 1, block), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_add_alias(0, block), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_add_alias(~(uint64_t)0, block), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_registry_unregister(block + 3));
	CHECK_INT(mine, 1);
	CHECK_OK(tl_registry_unregister(block));
	CHECK_OK(tl_registry_unregister(aliases[0]));
	CHECK_OK(tl_registry_unregister(aliases[1]));
	CHECK_GROWN(before, 0, 0, 0);
}

int main(void)
{
	CHECK_OK(tl_init());
	check_run();
	CHECK_INT(ended, 205);
	return check_finish();
}
