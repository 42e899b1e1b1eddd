/* Deleters: outside of every lock, on whichever thread, once. Counts that several
 * threads have taken apart come to zero exactly once. */
#include "check.h"
#include "thread.h"

static char* fake(size_t offset) { return (char*)((uintptr_t)1 << 44) + offset; }

static _Atomic long ends, wrong;

static void expect(bool good)
{
	if (!good) wrong++;
}

/* ---- deleters that call back ----------------------------------------------------------------- */

static void end_quietly(void* pointer, void* ctx)
{
	(void)pointer, (void)ctx;
	ends++;
}

/* Registers, looks up, counts, allocates and frees others: in the same page, so in the
 * same shard, and at its own address. */
static void end_and_call_back(void* pointer, void* ctx)
{
	char* p = pointer;
	ends++;
	expect(!tl_registry_is_registered(p));
	expect(tl_registry_unregister(p) == TL_E_UNKNOWN_POINTER);
	expect(tl_registry_register_custom(p, 64, end_quietly, NULL) == TL_OK);
	expect(tl_registry_register_custom(p + 64, 64, end_quietly, NULL) == TL_OK);
	expect(tl_ptr_acquire(p + 64) == p + 64);
	expect(tl_registry_unregister(p) == TL_OK);
	expect(tl_registry_unregister(p + 64) == TL_OK);
	expect(tl_ptr_release(p + 64) == TL_OK);
	expect(tl_registry_num_pointers() < 1000);
	expect(tl_mem_enter_scope() == TL_OK);
	expect(tl_mem_new(64) != NULL);
	expect(tl_mem_register_struct(malloc(64)) == TL_OK);
	expect(tl_mem_exit_scope() == TL_OK);
	if (ctx != NULL) expect(tl_registry_unregister(ctx) == TL_OK);
}

TEST(deleters_may_call_anything)
{
	ends = 0;
	CHECK_OK(tl_registry_register_custom(fake(4096), 64, end_and_call_back, NULL));
	CHECK_OK(tl_registry_register_custom(fake(0), 64, end_and_call_back, fake(4096)));
	CHECK_OK(tl_registry_unregister(fake(0)));
	CHECK_INT(ends, 6);
	CHECK_INT(wrong, 0);
	CHECK_INT(tl_registry_num_pointers(), 0);
}

/* A chain: each deleter drops the next block. It needs no stack. */
enum { CHAIN = 200000 };

static void end_next(void* pointer, void* ctx)
{
	(void)pointer;
	ends++;
	if (ctx != NULL) expect(tl_registry_unregister(ctx) == TL_OK);
}

THREAD(drop_chain, first) { expect(tl_registry_unregister(first) == TL_OK); }

TEST(chains_of_deleters)
{
	ends = 0;
	for (size_t i = CHAIN; i-- > 0;)
		CHECK_OK(tl_registry_register_custom(fake(i * 64), 64, end_next, i + 1 < CHAIN ? fake((i + 1) * 64) : NULL));
	run_thread(drop_chain, fake(0)); /* 128 KiB of stack */
	CHECK_INT(ends, CHAIN);
	CHECK_INT(wrong, 0);
}

/* A destructor of an object drops foreign memory, whose deleter drops an object. */
static void* kept_object;

static void drop_object(void* pointer, void* ctx)
{
	(void)pointer, (void)ctx;
	ends++;
	expect(tl_ptr_release(kept_object) == TL_OK);
}

static void drop_foreign(void* object)
{
	(void)object;
	expect(tl_registry_unregister(fake(0)) == TL_OK);
}

TEST(destructors_and_deleters_mix)
{
	static const tl_type_desc desc = {.name = "holder", .size = 16, .destructor = drop_foreign};
	tl_type type = 0;
	ends = 0;
	CHECK_OK(tl_type_define(&desc, &type));
	kept_object = tl_mem_alloc(32);
	CHECK_OK(tl_registry_register_custom(fake(0), 64, drop_object, NULL));
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_object_new(type) != NULL);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(ends, 1);
	CHECK_DEAD(kept_object);
}

/* ---- counts taken apart by threads -------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 300, ALIASES = 16, EACH = 40 };

static pthread_barrier_t start, stop;
static char* block;

/* Each thread holds one reference to every alias: it takes more, gives them back, and drops it. */
THREAD(split, argument)
{
	size_t me = (size_t)(uintptr_t)argument;
	for (int round = 0; round < ROUNDS; round++) {
		meet(&start);
		for (size_t i = 0; i < ALIASES; i++) {
			char* alias = block + 24 * ((i + 5 * me) % ALIASES);
			expect(alias[0] == 7);
			for (int k = 0; k < EACH; k++) expect(tl_ptr_acquire(alias) == alias);
			for (int k = 0; k < EACH; k++) expect(tl_ptr_release(alias) == TL_OK);
			expect(alias[0] == 7);
			expect(tl_registry_unregister(alias) == TL_OK);
		}
		meet(&stop);
	}
}

static void make_buffer(void)
{
	void* aliases[ALIASES * THREADS];
	block = malloc(24 * ALIASES);
	memset(block, 7, 24 * ALIASES);
	for (size_t i = 0; i < ALIASES * THREADS; i++) aliases[i] = block + 24 * (i % ALIASES);
	CHECK_OK(tl_registry_register_buffer(block, 24 * ALIASES, aliases, ALIASES * THREADS, TL_ALLOC_MALLOC, NULL));
	CHECK_OK(tl_registry_unregister(block));
}

TEST(aliases_split_over_threads)
{
	pthread_t threads[THREADS];
	pthread_barrier_init(&start, NULL, THREADS + 1);
	pthread_barrier_init(&stop, NULL, THREADS + 1);
	for (uintptr_t i = 0; i < THREADS; i++) threads[i] = start_thread(split, (void*)i);
	for (int round = 0; round < ROUNDS; round++) {
		make_buffer();
		meet(&start);
		meet(&stop);
		CHECK_INT(tl_registry_num_pointers(), 0);
		CHECK_INT(tl_registry_num_buffers(), 0);
		CHECK_INT(tl_registry_total_bytes(), 0);
	}
	for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
	CHECK_INT(wrong, 0);
}

/* ---- one block, one deleter, many threads ---------------------------------------------------------- */

THREAD(drop_all, unused)
{
	for (int round = 0; round < ROUNDS; round++) {
		meet(&start);
		for (size_t i = 0; i < 64; i++) expect(tl_registry_unregister(fake(i * 4096)) == TL_OK);
		meet(&stop);
	}
}

TEST(each_deleter_runs_once)
{
	pthread_t threads[THREADS];
	ends = 0;
	pthread_barrier_init(&start, NULL, THREADS + 1);
	pthread_barrier_init(&stop, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++) threads[i] = start_thread(drop_all, NULL);
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < 64; i++) {
			CHECK_OK(tl_registry_register_custom(fake(i * 4096), 4096, end_and_call_back, NULL));
			for (int k = 1; k < THREADS; k++) tl_ptr_acquire(fake(i * 4096));
		}
		ends = 0;
		meet(&start);
		meet(&stop);
		CHECK_INT(ends, 3 * 64); /* each registers two more */
	}
	for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
	CHECK_INT(wrong, 0);
}

/* ---- fork ------------------------------------------------------------------------------------------- */

TEST(a_child_registers_or_says_forked)
{
	const char* path = getenv("TL_FASTPATH");
	bool fast = path == NULL || strcmp(path, "0") != 0;
	void* inherited = tl_registry_new_array(8, 8);
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		alarm(30);
		void* p = malloc(64);
		bool good = tl_registry_is_registered(inherited);
		tl_status status = tl_registry_register(p, 64, TL_ALLOC_MALLOC);
		good = good && status == (fast ? TL_OK : TL_E_FORKED);
		status = tl_registry_unregister(inherited);
		good = good && status == (fast ? TL_OK : TL_E_FORKED);
		good = good && tl_registry_register_custom(fake(0), 64, end_quietly, NULL) == TL_E_FORKED;
		_exit(good ? 0 : 1);
	}
	CHECK_INT(check_exit_of(child), 0);
	CHECK_OK(tl_registry_unregister(inherited));
}

int main(void)
{
	CHECK_OK(tl_init());
	return check_tests();
}
