/* The upgrade of weak references against the last release: threads take objects from a board by weak
 * references alone, while the only counted reference goes, by every way in which one can go.
 *
 *     weak_stress_test [rounds]
 */
#include <sched.h>
#include <stdatomic.h>

#include "check.h"
#include "thread.h"

enum { READERS = 2, CELLS = 4 };

/* What an object has inside: the reference to itself, so that nobody takes a later one for it. */
typedef struct node {
	_Atomic tl_ref self;
	void* field;
} node;

/* Of nodes, and of tensors whose data is a node. */
static _Atomic tl_ref board[2][CELLS];
static atomic_bool stop;
static atomic_long made, ended, upgraded, gone;
static tl_type simple_type, telling_type;

static void end_node(void* object)
{
	node* n = object;
	CHECK(atomic_exchange(&n->self, 0) != 0);
	atomic_fetch_add(&ended, 1);
}

static node* inside(void* object, bool tensor) { return tensor ? tl_tensor_data(object) : object; }

/* Whoever gets an object holds it: it is whole, and stays so until the release. */
static void use(void* object, tl_ref ref, bool tensor)
{
	node* n = inside(object, tensor);
	CHECK(atomic_load(&n->self) == ref);
	CHECK(tl_ref_of(object) == ref);
	CHECK_OK(tl_ref_check(ref));
	CHECK(atomic_load(&n->self) == ref);
	CHECK_OK(tl_ptr_release(object));
}

THREAD(read_boards, seed)
{
	uint64_t random = 77 + (uintptr_t)seed;
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		const uint64_t draw = check_random(&random) >> 60;
		const bool tensor = draw & 1;
		const tl_ref ref = atomic_load(&board[tensor][draw / 2 % CELLS]);
		void* object = tl_weak_get(ref);
		atomic_fetch_add_explicit(object != NULL ? &upgraded : &gone, 1, memory_order_relaxed);
		if (object != NULL) use(object, ref, tensor);
	}
}

static void* make(uint64_t kind)
{
	switch (kind) {
	case 0: return tl_mem_new(sizeof(node));
	case 1: return tl_object_new(simple_type);
	case 2: return tl_object_new(telling_type);
	default: return tl_tensor_empty(TL_DTYPE_U8, TL_DEVICE_CPU, 1, (int64_t[]){64});
	}
}

/* An object with one reference, of the caller's, that is on a board. */
static void* publish(uint64_t draw)
{
	const uint64_t kind = draw % 4;
	const bool tensor = kind == 3;
	CHECK_OK(tl_mem_enter_scope());
	void* object = make(kind);
	const tl_ref ref = tensor ? tl_weak_of(object) : tl_weak_share(object);
	node* n = inside(object, tensor);
	CHECK(ref != 0);
	n->field = NULL;
	atomic_store(&n->self, ref);
	atomic_fetch_add(&made, 1);
	tl_ptr_acquire(object);
	CHECK_OK(tl_mem_exit_scope());
	atomic_store(&board[tensor][draw >> 8 & (CELLS - 1)], ref);
	return object;
}

static void drop(void* object, uint64_t draw)
{
	tl_ref ref = tl_ref_of(object);
	switch (draw >> 16 & 3) {
	case 0: CHECK_OK(tl_ptr_release(object)); return;
	case 1: CHECK_OK(tl_ref_release(ref)); return;
	case 2: /* by a scope */
		CHECK_OK(tl_mem_enter_scope());
		CHECK_OK(tl_mem_register_ptr(object));
		CHECK_OK(tl_ptr_release(object));
		CHECK_OK(tl_mem_exit_scope());
		return;
	default: /* by a field of another object */
		CHECK_OK(tl_mem_enter_scope());
		((node*)tl_object_new(simple_type))->field = object;
		CHECK_OK(tl_mem_exit_scope());
	}
}

static tl_type define(tl_destructor destructor)
{
	static const size_t offsets[] = {offsetof(node, field)};
	const tl_type_desc desc = {
		.name = "node", .size = sizeof(node), .pointer_offsets = offsets, .num_pointers = 1, .destructor = destructor};
	tl_type type = 0;
	CHECK_OK(tl_type_define(&desc, &type));
	return type;
}

static long rounds = 60000;

static void upgrades_and_last_releases(void)
{
	pthread_t readers[READERS];
	uint64_t random = 12345;
	for (uintptr_t i = 0; i < READERS; i++) readers[i] = start_thread(read_boards, (void*)i);
	/* On a busy machine nobody may run beside this thread for long: now and then it waits for the readers. */
	for (long i = 0; i < rounds || atomic_load(&upgraded) < 100; i++) {
		uint64_t draw = check_random(&random) >> 8;
		void* object = publish(draw);
		if ((draw >> 20 & 63) == 0) sched_yield();
		drop(object, draw);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < READERS; i++) pthread_join(readers[i], NULL);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_exit_scope());
	for (int i = 0; i < 2 * CELLS; i++) CHECK_REFUSED(tl_weak_get(atomic_load(&board[i / CELLS][i % CELLS])), 0, TL_OK);
	CHECK(atomic_load(&gone) > 0);
}

int main(int argc, char** argv)
{
	if (argc > 1) rounds = strtol(argv[1], NULL, 10);
	simple_type = define(NULL);
	telling_type = define(end_node);
	RUN(upgrades_and_last_releases);
	printf("%ld objects, %ld upgrades, %ld times gone\n", atomic_load(&made), atomic_load(&upgraded),
	       atomic_load(&gone));
	return check_finish();
}
