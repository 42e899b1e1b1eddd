/* Section Shapes of a compiler, cycles: structs of malloc's are collected like objects. */
#include <sched.h>

#include "shapes.h"
#include "rings.h"

static void* garbage_ring(int n)
{
	struct shape* last;
	CHECK_OK(tl_mem_enter_scope());
	struct shape* first = last = new_shape(shape_type, 0);
	for (int i = 1; i < n; i++) {
		struct shape* s = i % 3 == 1 ? new_object(i) : new_shape(shape_type, i);
		last->edges[0] = tl_ptr_acquire(s);
		last = s;
	}
	last->edges[0] = tl_ptr_acquire(first);
	CHECK_OK(tl_mem_exit_scope());
	return first;
}

TEST(rings_are_collected)
{
	for (int n = 1; n < 9; n++) {
		destroyed = 0;
		garbage_ring(n);
		CHECK_INT(tl_mem_collect_cycles(), n);
		CHECK_INT(destroyed, n);
	}
	struct shape* held = tl_ptr_acquire(garbage_ring(5));
	CHECK_INT(tl_mem_collect_cycles(), 0);
	CHECK_COUNT(held, 2);
	CHECK_OK(tl_ptr_release(held));
	CHECK_INT(tl_mem_collect_cycles(), 5);
}

/* Against a search from the roots. */
TEST(random_graphs)
{
	enum { NODES = 40, ROUNDS = 60 };
	uint64_t state = 88172645463325252u;
	for (int round = 0; round < ROUNDS; round++) {
		struct shape* nodes[NODES];
		struct shape* stack[NODES * EDGES + NODES];
		bool reached[NODES] = {false};
		int top = 0, live = 0;
		destroyed = 0;
		CHECK_OK(tl_mem_enter_scope());
		for (int i = 0; i < NODES; i++) nodes[i] = check_random(&state) % 3 ? new_shape(shape_type, i) : new_object(i);
		for (int i = 0; i < NODES; i++)
			for (int e = 0; e < EDGES; e++)
				if (check_random(&state) % 2) nodes[i]->edges[e] = tl_ptr_acquire(nodes[check_random(&state) % NODES]);
		for (int i = 0; i < NODES; i++)
			if (check_random(&state) % 16 == 0) stack[top++] = tl_ptr_acquire(nodes[i]);
		struct shape* roots[NODES];
		int held = top;
		memcpy(roots, stack, sizeof roots[0] * (size_t)top);
		CHECK_OK(tl_mem_exit_scope());
		while (top > 0) {
			struct shape* s = stack[--top];
			if (reached[s->number]) continue;
			reached[s->number] = true;
			live++;
			for (int e = 0; e < EDGES; e++)
				if (s->edges[e] != NULL) stack[top++] = s->edges[e];
		}
		tl_mem_collect_cycles();
		CHECK_INT(NODES - destroyed, live);
		for (int i = 0; i < held; i++) CHECK_OK(tl_ptr_release(roots[i]));
		tl_mem_collect_cycles();
		CHECK_INT(destroyed, NODES);
	}
}

static void* count_it(void* object)
{
	CHECK_PTR(tl_ptr_acquire(object), object);
	CHECK_OK(tl_ptr_release(object));
	return NULL;
}

/* What another thread counted may be in its hands. */
TEST(what_other_threads_counted_stays)
{
	struct shape* s = garbage_ring(3);
	destroyed = 0;
	run_thread(count_it, s);
	CHECK_INT(tl_mem_collect_cycles(), 0);
	CHECK_INT(destroyed, 0);
	tl_ptr_acquire(s);
	CHECK_OK(tl_ptr_release(s->edges[0]));
	s->edges[0] = NULL;
	CHECK_OK(tl_ptr_release(s));
	CHECK_INT(tl_mem_collect_cycles(), 0);
	CHECK_INT(destroyed, 3);
}

TEST(what_was_shared_stays)
{
	struct shape* s = garbage_ring(3);
	destroyed = 0;
	CHECK_OK(tl_ptr_share(s));
	CHECK_INT(tl_mem_collect_cycles(), 0);
	CHECK_INT(destroyed, 0);
	tl_ptr_acquire(s);
	CHECK_OK(tl_ptr_release(s->edges[0]));
	s->edges[0] = NULL;
	CHECK_OK(tl_ptr_release(s));
	CHECK_INT(destroyed, 3);
}

static void* ring_at;

static void* leave_an_old_entry(void* barrier)
{
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct_typed(ring_at, quiet_type));
	meet(barrier);
	meet(barrier);
	CHECK_OK(tl_mem_exit_scope());
	return NULL;
}

/* A scope of another thread still lists the block that was at this address before. */
TEST(an_entry_of_an_earlier_block_shares_nothing)
{
	pthread_barrier_t barrier;
	pthread_barrier_init(&barrier, NULL, 2);
	ring_at = raw_shape(0);
	pthread_t thread = start_thread(leave_an_old_entry, &barrier);
	meet(&barrier);
	CHECK_OK(tl_ptr_release(ring_at)); /* and frees */
	static struct shape* others[10000];
	int n = 0;
	struct shape* s;
	while ((s = malloc(sizeof *s)) != ring_at && n < 10000) others[n++] = s;
	CHECK_OK(tl_mem_enter_scope());
	*s = (struct shape){.number = 1};
	CHECK_OK(tl_mem_register_struct_typed(s, shape_type));
	s->edges[0] = tl_ptr_acquire(s);
	CHECK_OK(tl_mem_exit_scope());
	meet(&barrier);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&barrier);
	CHECK_COUNT(s, 1);
	CHECK_INT(tl_mem_collect_cycles(), 1);
	while (n > 0) free(others[--n]);
}

/* ---- beside a thread that was given blocks --------------------------------------------------------- */

/* So many blocks of the collecting thread keep a collection busy for a while. */
enum { MANY = 2000, DURING = 10 };

static struct shape* many[MANY];
static unsigned collections; /* odd while one goes on */
static struct shape* given;  /* to the other thread, with a reference */
static bool enough;          /* the other thread has seen what it wanted to see */
static _Thread_local int ended_here;

static struct shape* held_shape(int64_t number)
{
	CHECK_OK(tl_mem_enter_scope());
	struct shape* s = tl_ptr_acquire(new_shape(shape_type, number));
	CHECK_OK(tl_mem_exit_scope());
	return s;
}

static unsigned current_collection(void) { return __atomic_load_n(&collections, __ATOMIC_SEQ_CST); }

/* Collects once, while the other thread works. */
static void collect_beside(void)
{
	__atomic_add_fetch(&collections, 1, __ATOMIC_SEQ_CST);
	CHECK_INT(tl_mem_collect_cycles(), 0);
	__atomic_add_fetch(&collections, 1, __ATOMIC_SEQ_CST);
}

/* Returns the number of a collection that goes on. */
static unsigned await_collection(void)
{
	unsigned now = current_collection();
	for (; now % 2 == 0; now = current_collection()) sched_yield();
	return now;
}

static void collect_until_enough(void* (*other)(void*), void* argument, void (*between)(void))
{
	for (int i = 0; i < MANY; i++) many[i] = held_shape(i);
	__atomic_store_n(&enough, false, __ATOMIC_SEQ_CST);
	pthread_t thread = start_thread(other, argument);
	while (!__atomic_load_n(&enough, __ATOMIC_SEQ_CST)) {
		if (between != NULL) between();
		collect_beside();
	}
	pthread_join(thread, NULL);
	for (int i = 0; i < MANY; i++) CHECK_OK(tl_ptr_release(many[i]));
}

static void* look_at_counts(void* object)
{
	int64_t wrong = 0;
	unsigned last = 0;
	for (int during = 0; during < DURING;) {
		unsigned now = await_collection();
		wrong += tl_ptr_refcount(object) != 1;
		if (now == last || current_collection() != now) continue;
		last = now;
		during++;
	}
	CHECK_INT(wrong, 0);
	__atomic_store_n(&enough, true, __ATOMIC_SEQ_CST);
	return NULL;
}

TEST(counts_show_nothing_of_a_collection)
{
	struct shape* s = held_shape(0);
	collect_until_enough(look_at_counts, s, NULL);
	CHECK_OK(tl_ptr_release(s));
}

static void note_the_thread(struct shape* s)
{
	(void)s;
	ended_here++;
}

/* A block that refers to another one, unless the other thread still has one. */
static void give_another(void)
{
	if (__atomic_load_n(&given, __ATOMIC_SEQ_CST) != NULL) return;
	struct shape* s = held_shape(1);
	s->edges[0] = held_shape(2);
	s->act = s->edges[0]->act = note_the_thread;
	__atomic_store_n(&given, s, __ATOMIC_SEQ_CST);
}

/* Returns a block that was given, while a collection of that number goes on. */
static struct shape* await_given(unsigned* collection)
{
	struct shape* s;
	for (;;) {
		*collection = await_collection();
		s = __atomic_load_n(&given, __ATOMIC_SEQ_CST);
		if (s != NULL) return s;
		sched_yield();
	}
}

static bool (*end_given)(struct shape*); /* true: as it should be */

static void* end_what_is_given(void* nothing)
{
	int wrong = 0;
	for (int during = 0; during < DURING;) {
		unsigned now;
		struct shape* s = await_given(&now);
		wrong += !end_given(s);
		during += current_collection() == now;
		__atomic_store_n(&given, NULL, __ATOMIC_SEQ_CST);
	}
	CHECK_INT(wrong, 0);
	__atomic_store_n(&enough, true, __ATOMIC_SEQ_CST);
	return nothing;
}

static void end_during_collections(bool (*end)(struct shape*))
{
	end_given = end;
	collect_until_enough(end_what_is_given, NULL, give_another);
	if (given != NULL) CHECK_OK(tl_ptr_release(given));
	given = NULL;
}

static bool ends_here_at_once(struct shape* s)
{
	ended_here = 0;
	CHECK_OK(tl_ptr_release(s));
	return ended_here == 2;
}

TEST(a_block_ends_where_its_last_reference_goes_during_a_collection) { end_during_collections(ends_here_at_once); }

static bool comes_to_zero(struct shape* s)
{
	struct shape* held = s->edges[0];
	if (tl_ptr_dec_ref(s) != 1) return false;
	CHECK_OK(tl_ptr_release(held));
	CHECK_OK(tl_mem_free(s));
	return true;
}

TEST(a_block_comes_to_zero_during_a_collection) { end_during_collections(comes_to_zero); }

TEST(each_thread_collects_its_own) { check_each_thread_collects_its_own((ring_maker){garbage_ring, &destroyed}); }

int main(void)
{
	define_shapes();
	return check_tests();
}
