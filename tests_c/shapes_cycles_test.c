/* Section Shapes of a compiler, cycles: structs of malloc's are collected like objects. */
#include "shapes.h"
#include "rings.h"

static void* garbage_ring(int n)
{
	struct shape *first, *last;
	CHECK_OK(tl_mem_enter_scope());
	first = last = new_shape(shape_type, 0);
	for (int i = 1; i < n; i++) {
		struct shape* s = i % 3 == 1 ? new_object(i) : new_shape(shape_type, i);
		last->edges[0] = tl_ptr_acquire(s);
		last = s;
	}
	last->edges[0] = tl_ptr_acquire(first);
	CHECK_OK(tl_mem_exit_scope());
	return first;
}

static void rings_are_collected(void)
{
	struct shape* held;
	for (int n = 1; n < 9; n++) {
		destroyed = 0;
		garbage_ring(n);
		CHECK_INT(tl_mem_collect_cycles(), n);
		CHECK_INT(destroyed, n);
	}
	held = tl_ptr_acquire(garbage_ring(5));
	CHECK_INT(tl_mem_collect_cycles(), 0);
	CHECK_COUNT(held, 2);
	CHECK_OK(tl_ptr_release(held));
	CHECK_INT(tl_mem_collect_cycles(), 5);
}

/* Against a search from the roots. */
static void random_graphs(void)
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
static void what_other_threads_counted_stays(void)
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
static void an_entry_of_an_earlier_block_shares_nothing(void)
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

static void each_thread_collects_its_own(void)
{
	check_each_thread_collects_its_own((ring_maker){garbage_ring, &destroyed});
}

int main(void)
{
	define_shapes();
	RUN(rings_are_collected);
	RUN(random_graphs);
	RUN(what_other_threads_counted_stays);
	RUN(an_entry_of_an_earlier_block_shares_nothing);
	RUN(each_thread_collects_its_own);
	return check_finish();
}
