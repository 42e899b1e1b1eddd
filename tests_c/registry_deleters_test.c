/* Deleters and shared blocks with one: refused whole, freed once, left by longjmp, forked in, raced for. */
#include <setjmp.h>
#include <sys/mman.h>

#include "check.h"
#include "thread.h"

static char* fake(size_t offset) { return (char*)((uintptr_t)1 << 44) + offset; }

static _Atomic long ends, wrong;
static void* _Atomic ended_at;

static void expect(bool good)
{
	if (!good) wrong++;
}

static void count_end(void* pointer, void* ctx)
{
	ends++;
	ended_at = pointer;
	if (ctx != NULL) ++*(int*)ctx;
}

/* ---- a shared block with a deleter ------------------------------------------------------------ */

TEST(what_a_custom_buffer_refuses)
{
	int mine = 0;
	uint64_t id = 77;
	void* object = tl_mem_alloc(64);
	void* outside[] = {fake(0), fake(32), fake(4096)};
	void* null[] = {NULL};
	size_t pointers = tl_registry_num_pointers();
	CHECK_FAILS(tl_registry_register_custom_buffer(NULL, 64, NULL, 0, count_end, &mine, &id), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register_custom_buffer(fake(0), 64, NULL, 0, NULL, &mine, &id), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register_custom_buffer(fake(0), 64, NULL, 1, count_end, &mine, &id), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register_custom_buffer(fake(0), 64, null, 1, count_end, &mine, &id), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register_custom_buffer(fake(0), 4096, outside, 3, count_end, &mine, &id),
	            TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register_custom_buffer(fake(0), 4096, outside, 2, count_end, &mine, (uint64_t*)8),
	            TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register_custom_buffer((void*)16, 64, NULL, 0, count_end, &mine, &id),
	            TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_register_custom_buffer(object, 64, NULL, 0, count_end, &mine, &id), TL_E_UNSUPPORTED);
	CHECK_OK(tl_registry_register_custom(fake(33), 1, count_end, NULL));
	outside[1] = fake(33);
	CHECK_FAILS(tl_registry_register_custom_buffer(fake(0), 4096, outside, 2, count_end, &mine, &id),
	            TL_E_ALREADY_REGISTERED);
	CHECK_OK(tl_registry_unregister(fake(33)));
	CHECK_INT(id, 77);
	CHECK_INT(mine, 0);
	CHECK_INT(tl_registry_num_pointers(), pointers);
	CHECK_OK(tl_ptr_release(object));
}

/* Memory that the program has mapped, handed out as columns. */
static void unmap(void* pointer, void* ctx)
{
	ends++;
	expect(munmap(pointer, *(size_t*)ctx) == 0);
}

TEST(mapped_columns)
{
	enum { COLUMNS = 10 };
	static size_t bytes = COLUMNS * 4096;
	uint64_t id = 0;
	char* mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void* columns[COLUMNS];
	for (size_t i = 0; i < COLUMNS; i++) columns[i] = mapped + i * 4096;
	ends = 0;
	CHECK_OK(tl_registry_register_custom_buffer(mapped, bytes, columns, COLUMNS, unmap, &bytes, &id));
	CHECK_OK(tl_registry_unregister(mapped));
	tl_alloc_info info = {.struct_size = sizeof info};
	CHECK_OK(tl_registry_info(columns[3], &info));
	CHECK_PTR(info.block, mapped);
	CHECK_INT(info.bytes, bytes);
	CHECK_INT(info.kind, TL_ALLOC_CUSTOM);
	CHECK_INT(info.block_count, COLUMNS);
	CHECK_INT(info.addresses, COLUMNS);
	CHECK_INT(info.buffer_id, id);
	CHECK_OK(tl_registry_add_alias(id, columns[3])); /* a reference more, and a name more */
	CHECK_OK(tl_registry_add_alias(id, mapped + 5));
	CHECK_PTR(tl_ptr_acquire(mapped + 5), mapped + 5);
	CHECK_OK(tl_registry_info(columns[3], &info));
	CHECK_INT(info.count, 2);
	CHECK_INT(info.block_count, COLUMNS + 3);
	CHECK_INT(info.addresses, COLUMNS + 1);
	CHECK_INT(tl_registry_num_buffers(), 1);
	CHECK_INT(tl_registry_total_bytes(), bytes);
	CHECK_FAILS(tl_registry_register(mapped + 8192, 64, TL_ALLOC_MALLOC), TL_E_ALREADY_REGISTERED);
	CHECK_OK(tl_registry_unregister(columns[3]));
	CHECK_OK(tl_registry_unregister(mapped + 5));
	CHECK_OK(tl_mem_enter_scope());
	for (size_t i = 0; i < COLUMNS; i++) {
		CHECK_OK(tl_mem_register_struct(columns[i]));
		CHECK_OK(tl_registry_unregister(columns[i]));
	}
	CHECK_INT(ends, 0);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(ends, 0);
	mapped[4095] = 1;
	CHECK_OK(tl_ptr_release(mapped + 5));
	CHECK_INT(ends, 1);
	CHECK_INT(wrong, 0);
	CHECK_FAILS(tl_registry_add_alias(id, mapped), TL_E_INVALID_ARGUMENT);
	CHECK_INT(tl_registry_num_pointers(), 0);
	CHECK_INT(tl_registry_total_bytes(), 0);
}

/* An alias may stand where a block was that is held at zero, and counts again once it is at zero itself. */
TEST(aliases_in_the_place_of_dead_entries)
{
	uint64_t id = 0;
	int mine = 0;
	CHECK_OK(tl_registry_register(fake(64), 16, TL_ALLOC_MALLOC));
	CHECK_INT(tl_ptr_dec_ref(fake(64)), 1);
	CHECK_OK(tl_registry_register_custom_buffer(fake(0), 256, NULL, 0, count_end, &mine, &id));
	for (int i = 0; i < 3; i++) {
		CHECK_OK(tl_registry_add_alias(id, fake(64)));
		CHECK_COUNT(fake(64), 1);
		CHECK_INT(tl_registry_num_pointers(), 2);
		CHECK_INT(tl_ptr_dec_ref(fake(64)), 1);
		CHECK_FAILS(tl_registry_unregister(fake(64)), TL_E_NOT_LIVE);
	}
	CHECK_OK(tl_registry_add_alias(id, fake(64)));
	CHECK_OK(tl_registry_unregister(fake(0)));
	CHECK_INT(mine, 0);
	CHECK_OK(tl_registry_unregister(fake(64)));
	CHECK_INT(mine, 1);
	CHECK_INT(tl_registry_num_pointers(), 0);
}

/* An address that comes again has another owner, and the number of the one before names nothing. */
TEST(addresses_that_come_again)
{
	uint64_t before = 0, id = 0;
	int mine = 0;
	for (int i = 1; i <= 1000; i++) {
		CHECK_OK(tl_registry_register_custom_buffer(fake(0), 1 << (i % 20), NULL, 0, count_end, &mine, &id));
		CHECK(id != before);
		CHECK_FAILS(tl_registry_add_alias(before, fake(0)), TL_E_INVALID_ARGUMENT);
		CHECK_OK(tl_registry_add_alias(id, fake(0)));
		CHECK_OK(tl_registry_unregister(fake(0)));
		CHECK_INT(mine, i - 1);
		CHECK_OK(tl_registry_unregister(fake(0)));
		CHECK_INT(mine, i);
		before = id;
	}
}

/* At zero a block still belongs to its deleter, whatever malloc would say of the memory. */
TEST(at_zero_a_deleter_keeps_its_memory)
{
	int mine = 0;
	char* memory = malloc(256);
	CHECK_OK(tl_registry_register_custom(memory, 256, count_end, &mine));
	CHECK_INT(tl_ptr_dec_ref(memory), 1);
	CHECK_INT(tl_registry_total_bytes(), 256);
	CHECK_FAILS(tl_mem_register_struct(memory), TL_E_NOT_LIVE);
	CHECK_FAILS(tl_registry_register(memory, 64, TL_ALLOC_MALLOC), TL_E_ALREADY_REGISTERED);
	CHECK_FAILS(tl_registry_register(memory + 64, 64, TL_ALLOC_MALLOC), TL_E_ALREADY_REGISTERED);
	CHECK_INT(mine, 0);
	CHECK_OK(tl_mem_free(memory));
	CHECK_INT(mine, 1);
	CHECK_INT(tl_registry_total_bytes(), 0);
	free(memory);
}

/* ---- blocks that end inside deleters ------------------------------------------------------------- */

enum { CHAIN = 50000 };
static size_t depth, deepest;

static void end_next(void* pointer, void* ctx)
{
	size_t at = (size_t)((char*)pointer - fake(0));
	ends++;
	if (++depth > deepest) deepest = depth;
	if (ctx != NULL) {
		expect(tl_registry_unregister(fake(at + 64)) == TL_OK);
		expect(tl_registry_is_registered(fake(at + 64)) == false);
	}
	depth--;
}

THREAD(drop_first, first) { expect(tl_registry_unregister(first) == TL_OK); }

/* Every second one is a shared block. */
TEST(chains_need_no_stack)
{
	ends = 0;
	depth = deepest = 0;
	for (size_t i = CHAIN; i-- > 0;) {
		void* more = i + 1 < CHAIN ? fake(0) : NULL;
		if (i % 2) CHECK_OK(tl_registry_register_custom_buffer(fake(i * 64), 64, NULL, 0, end_next, more, NULL));
		else CHECK_OK(tl_registry_register_custom(fake(i * 64), 64, end_next, more));
	}
	run_thread(drop_first, fake(0)); /* 128 KiB of stack */
	CHECK_INT(ends, CHAIN);
	CHECK_INT(wrong, 0);
	CHECK_INT(deepest, 1);
}

static void end_and_register_again(void* pointer, void* ctx)
{
	int left = --*(int*)ctx;
	ends++;
	if (left == 0) return;
	expect(tl_registry_register_custom(pointer, 64, end_and_register_again, ctx) == TL_OK);
	expect(tl_registry_unregister(pointer) == TL_OK);
}

TEST(a_deleter_that_registers_its_own_address)
{
	int left = 1000;
	ends = 0;
	CHECK_OK(tl_registry_register_custom(fake(0), 64, end_and_register_again, &left));
	CHECK_OK(tl_registry_unregister(fake(0)));
	CHECK_INT(ends, 1000);
	CHECK_INT(wrong, 0);
	CHECK(!tl_registry_is_registered(fake(0)));
}

static jmp_buf escape;

/* Drops another block first, whose deleter waits for this one. */
static void jump_out(void* pointer, void* ctx)
{
	(void)pointer;
	ends++;
	expect(tl_registry_unregister(ctx) == TL_OK);
	longjmp(escape, 1);
}

TEST(deleters_that_longjmp)
{
	ends = 0;
	for (volatile int i = 0; i < 100; i++) {
		CHECK_OK(tl_registry_register_custom(fake(0), 64, jump_out, fake(64)));
		CHECK_OK(tl_registry_register_custom_buffer(fake(64), 64, NULL, 0, count_end, NULL, NULL));
		CHECK_OK(tl_mem_enter_scope());
		if (i % 2) CHECK_OK(tl_mem_register_struct(fake(0)));
		if (setjmp(escape) == 0) {
			CHECK_OK(tl_registry_unregister(fake(0)));
			CHECK_OK(tl_mem_exit_scope());
			CHECK(!"reached");
		}
		CHECK_OK(tl_mem_exit_scopes_to(0)); /* starts what waits again */
		CHECK_INT(ends, 2 * (i + 1));
		CHECK_PTR(ended_at, fake(64));
	}
	CHECK_INT(wrong, 0);
}

/* ---- forks ---------------------------------------------------------------------------------------- */

static bool fork_in(void)
{
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) return false;
	CHECK_INT(check_exit_of(child), 0);
	return true;
}

TEST(a_child_calls_no_deleter)
{
	uint64_t id = 0;
	int mine = 0;
	CHECK_OK(tl_registry_register_custom(fake(0), 64, count_end, &mine));
	CHECK_OK(tl_registry_register_custom_buffer(fake(64), 64, NULL, 0, count_end, &mine, &id));
	CHECK_OK(tl_registry_add_alias(id, fake(80)));
	if (!fork_in()) {
		bool good = tl_registry_unregister(fake(0)) == TL_E_FORKED && tl_registry_unregister(fake(64)) == TL_E_FORKED;
		good = good && tl_ptr_release(fake(80)) == TL_E_FORKED && tl_registry_add_alias(id, fake(72)) == TL_E_FORKED;
		good = good && tl_registry_register_custom_buffer(fake(256), 64, NULL, 0, count_end, NULL, NULL) == TL_E_FORKED;
		good = good && tl_registry_is_registered(fake(0)) && tl_registry_is_registered(fake(80)) && mine == 0;
		_exit(good ? 0 : 1);
	}
	for (size_t i = 0; i < 2; i++) CHECK_OK(tl_registry_unregister(fake(i * 64)));
	CHECK_OK(tl_registry_unregister(fake(80)));
	CHECK_INT(mine, 2);
}

static bool in_child;

static void end_in_a_fork(void* pointer, void* ctx)
{
	(void)pointer;
	ends++;
	expect(tl_registry_unregister(ctx) == TL_OK); /* waits, and the child leaves it waiting */
	in_child = !fork_in();
}

TEST(a_child_that_returns_from_a_deleter)
{
	int mine = 0;
	CHECK_OK(tl_registry_register_custom(fake(0), 64, end_in_a_fork, fake(64)));
	CHECK_OK(tl_registry_register_custom(fake(64), 64, count_end, &mine));
	tl_status status = tl_registry_unregister(fake(0));
	if (in_child) _exit(status == TL_OK && mine == 0 ? 0 : 1);
	CHECK_OK(status);
	CHECK_INT(mine, 1);
}

/* Children of a thread that forks while others register and end blocks find tables that are whole. */
static _Atomic bool stop;

THREAD(come_and_go, argument)
{
	char* base = (char*)argument;
	uint64_t id;
	for (size_t i = 0; !stop; i++) {
		char* p = base + i % 300 * 80;
		expect(tl_registry_register_custom(p, 64, count_end, NULL) == TL_OK);
		expect(tl_registry_unregister(p) == TL_OK);
		expect(tl_registry_register_custom_buffer(p, 70000, NULL, 0, count_end, NULL, &id) == TL_OK);
		expect(tl_registry_add_alias(id, p + 9) == TL_OK);
		expect(tl_registry_unregister(p) == TL_OK);
		expect(tl_registry_unregister(p + 9) == TL_OK);
	}
}

TEST(forks_while_others_work)
{
	pthread_t threads[3];
	stop = false;
	for (size_t i = 0; i < 3; i++) threads[i] = start_thread(come_and_go, fake(i << 24));
	for (int i = 0; i < 30; i++) {
		if (fork_in()) continue;
		alarm(30);
		for (size_t k = 0; k < 3; k++) (void)tl_registry_is_registered(fake(k << 24));
		void* p = malloc(64);
		tl_status status = tl_registry_register(p, 64, TL_ALLOC_MALLOC);
		_exit(status == TL_OK || status == TL_E_FORKED ? 0 : 1);
	}
	stop = true;
	for (size_t i = 0; i < 3; i++) pthread_join(threads[i], NULL);
	CHECK_INT(wrong, 0);
	CHECK_INT(tl_registry_num_pointers(), 0);
	CHECK_INT(tl_registry_total_bytes(), 0);
}

/* ---- races for the last name -------------------------------------------------------------------------- */

enum { THREADS = 3, ROUNDS = 3000 };
static pthread_barrier_t start, finish;
static uint64_t shared_id;

/* Adds names to a block that may have ended, and drops what it was given. */
THREAD(add_and_drop, argument)
{
	size_t me = (size_t)(uintptr_t)argument;
	for (int round = 0; round < ROUNDS; round++) {
		meet(&start);
		for (size_t i = 0; i < 3; i++) {
			char* name = fake(64 * (1 + me) + 8 * i);
			tl_status status = tl_registry_add_alias(shared_id, name);
			expect(status == TL_OK || status == TL_E_INVALID_ARGUMENT);
			if (status == TL_OK) expect(tl_registry_unregister(name) == TL_OK);
		}
		if (me == 0) expect(tl_registry_unregister(fake(0)) == TL_OK);
		meet(&finish);
	}
}

TEST(names_race_with_the_last_one)
{
	pthread_t threads[THREADS];
	pthread_barrier_init(&start, NULL, THREADS + 1);
	pthread_barrier_init(&finish, NULL, THREADS + 1);
	for (uintptr_t i = 0; i < THREADS; i++) threads[i] = start_thread(add_and_drop, (void*)i);
	for (int round = 0; round < ROUNDS; round++) {
		ends = 0;
		CHECK_OK(tl_registry_register_custom_buffer(fake(0), 4096, NULL, 0, count_end, NULL, &shared_id));
		meet(&start);
		meet(&finish);
		CHECK_INT(ends, 1);
	}
	for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
	CHECK_INT(wrong, 0);
	CHECK_INT(tl_registry_num_pointers(), 0);
	CHECK_INT(tl_registry_num_buffers(), 0);
	CHECK_INT(tl_registry_total_bytes(), 0);
}

int main(void)
{
	CHECK_OK(tl_init());
	return check_tests();
}
