/* Sharing objects, and freeing them by hand: tl_ptr_dec_ref to zero, then tl_mem_free, as compilers emit it. */
#include <pthread.h>

#include "check.h"

enum { CALLS = 2000, ROUNDS = 300 };

typedef struct node {
	struct node *a, *b;
} node;

static tl_type plain_type, dropped_type;
static long dropped;

static void drop(void* object)
{
	(void)object;
	dropped++;
}

static void define_types(void)
{
	static const size_t offsets[] = {0, 8};
	tl_type_desc plain = {"node", sizeof(node), offsets, 2, NULL, 0},
				 with = {"dropped", sizeof(node), offsets, 2, drop, 0};
	CHECK_OK(tl_type_define(&plain, &plain_type));
	CHECK_OK(tl_type_define(&with, &dropped_type));
}

static bool is_fast(void)
{
	const char* path = getenv("TL_FASTPATH");
	if (getenv("TL_DEBUG") != NULL || getenv("TL_TRACK") != NULL || getenv("TL_TRACK_SAMPLE") != NULL) return false;
	return path == NULL || strcmp(path, "0") != 0;
}

/* So many slow calls for each of CALLS steps, and no more than one in twenty. */
#define CHECK_FAST(step)                                                                 \
	do {                                                                                 \
		uint64_t before = check_slow_calls();                                            \
		for (int n = 0; n < CALLS; n++) step;                                            \
		if (is_fast()) CHECK((check_slow_calls() - before - 1) * 20 <= (uint64_t)CALLS); \
	} while (0)

typedef tl_status (*free_function)(void*);
static const free_function frees[] = {tl_mem_free, tl_mem_dealloc, tl_free_tmp};
enum { FREES = 3 };

/* ---- by size and kind ------------------------------------------------------------------------ */

static void free_zero(void* object, free_function end)
{
	CHECK_INT(tl_ptr_dec_ref(object), 1);
	CHECK_OK(end(object));
}

TEST(sizes)
{
	static const size_t all[] = {1, 8, 32, 33, 100, 512, 513, 1000, 4096, 10000, 32768, 65536};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		for (int f = 0; f < FREES; f++) {
			CHECK_FAST(free_zero(tl_mem_alloc(all[i]), frees[f]));
			CHECK_FAST(CHECK_OK(frees[f](tl_mem_alloc(all[i]))));
		}
	for (size_t bytes = 1 << 17; bytes <= 32 << 20; bytes *= 4) CHECK_FAST(free_zero(tl_mem_alloc(bytes), tl_mem_free));
}

static void* unscoped(tl_type type)
{
	node* n = tl_object_new(type);
	CHECK_OK(tl_mem_unregister(n));
	return n;
}

static void* shared(size_t bytes)
{
	void* object = tl_mem_alloc(bytes);
	CHECK_OK(tl_ptr_share(object));
	return object;
}

static void* counted_by_hand(void)
{
	void* object = tl_mem_alloc(40);
	CHECK_PTR(tl_ptr_acquire(object), object);
	CHECK_INT(tl_ptr_dec_ref(object), 0);
	return object;
}

TEST_IN_SCOPE(kinds)
{
	for (int f = 0; f < FREES; f++) {
		CHECK_FAST(free_zero(unscoped(plain_type), frees[f]));
		CHECK_FAST(free_zero(unscoped(dropped_type), frees[f]));
		CHECK_FAST(free_zero(shared(64), frees[f]));
		CHECK_FAST(free_zero(counted_by_hand(), frees[f]));
		CHECK_FAST(CHECK_OK(frees[f](unscoped(plain_type))));
	}
	CHECK_INT(dropped, 0); /* dec_ref leaves the fields and the end to the caller */
	CHECK_OK(tl_mem_free(unscoped(dropped_type)));
	CHECK_INT(dropped, 1);
}

/* What the fields refer to stays with the caller. */
TEST_IN_SCOPE(fields)
{
	node *inner = unscoped(plain_type), *outer = unscoped(plain_type);
	outer->a = inner;
	free_zero(outer, tl_mem_free);
	CHECK_COUNT(inner, 1);
	CHECK_OK(tl_ptr_release(inner));
}

static void registered(free_function end)
{
	void* block = malloc(80);
	CHECK_OK(tl_mem_register_struct(block));
	CHECK_OK(tl_mem_unregister(block));
	free_zero(block, end);
	CHECK(!tl_registry_is_registered(block));
}

TEST_IN_SCOPE(blocks)
{
	registered(tl_mem_free);
	for (int f = 0; f < FREES; f++) CHECK_FAST(registered(frees[f]));
	void* block = malloc(80);
	CHECK_OK(tl_registry_register(block, 80, TL_ALLOC_MALLOC));
	CHECK_FAILS(tl_mem_free(block), TL_E_BUSY);
	CHECK_INT(tl_ptr_dec_ref(block), 1);
	CHECK_REFUSED(tl_ptr_refcount(block), -1, TL_E_NOT_LIVE);
	CHECK_REFUSED(tl_ptr_dec_ref(block), 0, TL_E_NOT_LIVE);
	CHECK_OK(tl_mem_free(block));
}

TEST_IN_SCOPE(typed_blocks)
{
	for (int n = 0; n < 3; n++) {
		void* block = calloc(1, sizeof(node));
		CHECK_OK(tl_mem_register_struct_typed(block, plain_type));
		CHECK_PTR(tl_ptr_acquire(block), block);
		CHECK_OK(tl_mem_unregister(block));
		CHECK_INT(tl_ptr_dec_ref(block), 0);
		free_zero(block, tl_mem_free);
	}
}

/* ---- the state between both ------------------------------------------------------------------- */

TEST(between)
{
	void* object = tl_mem_alloc(48);
	tl_ref ref = tl_ref_of(object), weak = tl_weak_of(object);
	CHECK_INT(tl_ptr_dec_ref(object), 1);
	CHECK_REFUSED(tl_ptr_refcount(object), -1, TL_E_NOT_LIVE);
	char text[64];
	snprintf(text, sizeof text, "%#lx has no holder", (unsigned long)(uintptr_t)object);
	CHECK(strstr(tl_last_error(), text) != NULL);
	CHECK_FAILS(tl_ptr_check(object), TL_E_NOT_LIVE);
	CHECK_FAILS(tl_ptr_inc_ref(object), TL_E_NOT_LIVE);
	CHECK_FAILS(tl_ptr_release(object), TL_E_NOT_LIVE);
	CHECK_FAILS(tl_ptr_share(object), TL_E_NOT_LIVE);
	CHECK_REFUSED(tl_ptr_dec_ref(object), 0, TL_E_NOT_LIVE);
	CHECK_FAILS(tl_ref_check(ref), TL_E_NOT_LIVE);
	CHECK(strstr(tl_last_error(), "nobody holds the object of the reference") != NULL);
	CHECK_PTR(tl_weak_get(weak), NULL);
	CHECK_OK(tl_mem_free(object));
	CHECK_FAILS(tl_mem_free(object), TL_E_NOT_LIVE);
	CHECK_FAILS(tl_ref_check(ref), TL_E_NOT_LIVE);
}

TEST_IN_SCOPE(held)
{
	void* object = tl_mem_new(48);
	CHECK_FAILS(tl_mem_free(object), TL_E_BUSY);
	CHECK(strstr(tl_last_error(), "still has 1 references") != NULL);
	CHECK_PTR(tl_ptr_acquire(object), object);
	CHECK_FAILS(tl_free_tmp(object), TL_E_BUSY);
	CHECK(strstr(tl_last_error(), "tl_free_tmp: ") == tl_last_error());
	CHECK(strstr(tl_last_error(), "still has 2 references") != NULL);
	CHECK_OK(tl_ptr_release(object));
}

/* A scope whose object was freed by hand passes over it. */
TEST(under_an_open_scope)
{
	CHECK_OK(tl_mem_enter_scope());
	void* object = tl_mem_new(48);
	free_zero(object, tl_mem_free);
	void* next = tl_mem_alloc(48);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(next, 1);
	CHECK_OK(tl_ptr_release(next));
}

/* ---- threads ----------------------------------------------------------------------------------- */

static pthread_barrier_t together;
static void* at_zero;
static int freed;

static void* free_once(void* unused)
{
	for (int n = 0; n < ROUNDS; n++) {
		pthread_barrier_wait(&together);
		if (tl_mem_free(at_zero) == TL_OK) __atomic_add_fetch(&freed, 1, __ATOMIC_RELAXED);
		pthread_barrier_wait(&together);
	}
	return unused;
}

/* Of two threads that free the same object one succeeds. */
TEST(both_free)
{
	pthread_t other;
	freed = 0;
	pthread_barrier_init(&together, NULL, 2);
	pthread_create(&other, NULL, free_once, NULL);
	for (int n = 0; n < ROUNDS; n++) {
		at_zero = tl_mem_alloc(n % 2 == 0 ? 64 : 2000);
		if (n % 3 == 0) CHECK_OK(tl_ptr_share(at_zero));
		CHECK_INT(tl_ptr_dec_ref(at_zero), 1);
		pthread_barrier_wait(&together);
		if (tl_mem_free(at_zero) == TL_OK) __atomic_add_fetch(&freed, 1, __ATOMIC_RELAXED);
		pthread_barrier_wait(&together);
		CHECK_INT(freed, n + 1);
	}
	pthread_join(other, NULL);
	pthread_barrier_destroy(&together);
}

enum { CELLS = 400, CELL_ROUNDS = 30 };

static void* cells[CELLS];
static int ends[CELLS];

static void* free_cells(void* unused)
{
	pthread_barrier_wait(&together);
	for (int i = 0; i < CELLS; i++) {
		const tl_status status = tl_cell_free(cells[i]);
		if (status == TL_OK) __atomic_add_fetch(&ends[i], 1, __ATOMIC_RELAXED);
		else
			CHECK(status == TL_E_NOT_LIVE ||
			      status == TL_E_INTERIOR_POINTER); /* for a moment, an object without holders */
	}
	return unused;
}

/* Of two threads that free the same cell one succeeds, and the other finds no cell. */
TEST(both_free_cells)
{
	pthread_t other;
	pthread_barrier_init(&together, NULL, 2);
	for (int n = 0; n < CELL_ROUNDS; n++) {
		for (int i = 0; i < CELLS; i++) {
			cells[i] = tl_cell_new(i % 2 == 0 ? 24 : 300);
			ends[i] = 0;
		}
		pthread_create(&other, NULL, free_cells, NULL);
		free_cells(NULL);
		pthread_join(other, NULL);
		for (int i = 0; i < CELLS; i++) CHECK_INT(ends[i], 1);
	}
	pthread_barrier_destroy(&together);
}

static void* count_meanwhile(void* unused)
{
	for (int n = 0; n < ROUNDS; n++) {
		pthread_barrier_wait(&together);
		void* object = __atomic_load_n(&at_zero, __ATOMIC_RELAXED);
		for (int k = 0; k < 20; k++) {
			CHECK_PTR(tl_ptr_acquire(object), object);
			CHECK_OK(tl_ptr_release(object));
		}
		CHECK_OK(tl_ptr_release(object)); /* the reference that it was given */
		pthread_barrier_wait(&together);
	}
	return unused;
}

/* The owner shares while another thread counts, with floats and without. */
TEST(share_meanwhile)
{
	pthread_t other;
	pthread_barrier_init(&together, NULL, 2);
	pthread_create(&other, NULL, count_meanwhile, NULL);
	for (int n = 0; n < ROUNDS; n++) {
		void* object = tl_mem_alloc(64); /* floats */
		CHECK_PTR(tl_ptr_acquire(object), object);
		if (n % 2 == 0) CHECK_PTR(tl_ptr_acquire(object), object);
		__atomic_store_n(&at_zero, object, __ATOMIC_RELAXED);
		pthread_barrier_wait(&together);
		CHECK_OK(tl_ptr_share(object));
		CHECK_OK(tl_ptr_share(object));
		pthread_barrier_wait(&together);
		CHECK_COUNT(object, n % 2 == 0 ? 2 : 1);
		if (n % 2 == 0) CHECK_OK(tl_ptr_release(object));
		CHECK_OK(tl_mem_free(object)); /* what is left floats */
	}
	pthread_join(other, NULL);
	pthread_barrier_destroy(&together);
}

static void* free_by_other(void* object)
{
	CHECK_FAILS(tl_ptr_share(object), TL_E_BUSY);
	return NULL;
}

TEST(sharing)
{
	pthread_t other;
	CHECK_FAST({
		void* object = tl_mem_alloc(32);
		CHECK_OK(tl_ptr_share(object));
		CHECK_OK(tl_ptr_share(object));
		CHECK_OK(tl_ptr_release(object));
	});
	CHECK_FAST({
		void* object = tl_mem_alloc(32);
		tl_ref weak = tl_weak_share(object);
		CHECK_PTR(tl_weak_get(weak), object);
		CHECK_OK(tl_ptr_release(object));
		CHECK_OK(tl_mem_free(object));
	});
	void* object = tl_mem_alloc(32);
	pthread_create(&other, NULL, free_by_other, object);
	pthread_join(other, NULL);
	CHECK_OK(tl_ptr_release(object));
}

int main(void)
{
	define_types();
	return check_tests();
}
