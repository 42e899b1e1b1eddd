/* Section Objects, cycles: garbage of any shape goes, what is reachable stays. */
#include "check.h"
#include "rings.h"

enum { EDGES = 3 };

struct node {
	struct node* edges[EDGES];
	int64_t number;
};

static tl_type noisy_type;
static int destroyed;

static void count_destroyed(void* object)
{
	(void)object;
	destroyed++;
}

TEST(nothing_to_collect) { CHECK_INT(tl_mem_collect_cycles(), 0); }

TEST(an_object_that_refers_to_itself)
{
	destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	struct node* node = tl_object_new(noisy_type);
	node->edges[0] = tl_ptr_acquire(node);
	CHECK_INT(tl_mem_collect_cycles(), 0);
	CHECK_COUNT(node, 2);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(node, 1);
	CHECK_INT(tl_mem_collect_cycles(), 1);
	CHECK_INT(destroyed, 1);
	CHECK_DEAD(node);
}

/* More references floated than its owner's word counts, and all but its own are gone. */
TEST(an_object_that_has_floated_often)
{
	enum { FLOATS = 7 };
	CHECK_OK(tl_mem_enter_scope());
	struct node* node = tl_object_new(noisy_type);
	node->edges[0] = tl_ptr_acquire(node);
	for (int i = 1; i < FLOATS; i++) CHECK_OK(tl_mem_register_struct(node));
	for (int i = 0; i < FLOATS; i++) CHECK_OK(tl_mem_unregister(node));
	for (int i = 0; i < FLOATS; i++) CHECK_OK(tl_ptr_release(node));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(node, 1);
	CHECK_INT(tl_mem_collect_cycles(), 1);
	CHECK_DEAD(node);
}

/* A ring of n nodes, each held by its neighbour alone. */
static void* garbage_ring(int n)
{
	struct node* last;
	CHECK_OK(tl_mem_enter_scope());
	struct node* first = last = tl_object_new(noisy_type);
	for (int i = 1; i < n; i++) {
		struct node* node = tl_object_new(noisy_type);
		last->edges[0] = tl_ptr_acquire(node);
		last = node;
	}
	last->edges[0] = tl_ptr_acquire(first);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(first, 1);
	return first;
}

TEST(rings)
{
	static const int sizes[] = {2, 3, 100, 50000};
	for (int i = 0; i < 4; i++) {
		destroyed = 0;
		garbage_ring(sizes[i]);
		CHECK_INT(tl_mem_collect_cycles(), sizes[i]);
		CHECK_INT(destroyed, sizes[i]);
	}
}

TEST(a_ring_that_somebody_holds_stays)
{
	struct node* ring = garbage_ring(5);
	destroyed = 0;
	CHECK_PTR(tl_ptr_acquire(ring->edges[0]), ring->edges[0]);
	CHECK_INT(tl_mem_collect_cycles(), 0);
	CHECK_COUNT(ring, 1);
	CHECK_OK(tl_ptr_release(ring->edges[0]));
	CHECK_INT(tl_mem_collect_cycles(), 5);
	CHECK_INT(destroyed, 5);
}

TEST(what_hangs_on_a_ring_goes_too)
{
	struct node* ring = garbage_ring(3);
	void *vec, *element, *foreign = malloc(32);
	CHECK_OK(tl_mem_enter_scope());
	vec = tl_vec_new(1);
	element = tl_mem_new(32);
	CHECK_OK(tl_mem_register_struct(foreign));
	CHECK_OK(tl_vec_push(vec, element));
	ring->edges[1] = tl_ptr_acquire(vec);
	ring->edges[2] = tl_ptr_acquire(foreign);
	CHECK_OK(tl_mem_exit_scope());
	CHECK(tl_mem_collect_cycles() >= 3);
	CHECK_DEAD(vec);
	CHECK_DEAD(element);
	CHECK_DEAD(foreign);
}

TEST(a_ring_through_a_vec)
{
	CHECK_OK(tl_mem_enter_scope());
	struct node* node = tl_object_new(noisy_type);
	void* vec = tl_vec_new(1);
	CHECK_OK(tl_vec_push(vec, node));
	node->edges[0] = tl_ptr_acquire(vec);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(vec, 1);
	CHECK(tl_mem_collect_cycles() >= 2);
	CHECK_DEAD(node);
	CHECK_DEAD(vec);
}

/* Marks what can be reached from the first `roots` nodes: the oracle. */
static void reach(struct node* const* nodes, bool* reached, int roots, int count)
{
	static int stack[4096];
	int top = 0;
	memset(reached, 0, (size_t)count);
	for (int i = 0; i < roots; i++) {
		reached[i] = true;
		stack[top++] = i;
	}
	while (top > 0) {
		struct node* node = nodes[stack[--top]];
		for (int e = 0; e < EDGES; e++) {
			struct node* next = node->edges[e];
			if (next != NULL && !reached[next->number]) {
				reached[next->number] = true;
				stack[top++] = (int)next->number;
			}
		}
	}
}

static void random_graph(uint64_t* random, int count, int roots)
{
	static struct node* nodes[1000];
	static bool reached[1000];
	int live = 0;
	destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < count; i++) {
		nodes[i] = tl_object_new(noisy_type);
		nodes[i]->number = i;
	}
	for (int i = 0; i < count * 2; i++) {
		struct node* from = nodes[check_random(random) % (uint64_t)count];
		struct node** edge = &from->edges[check_random(random) % EDGES];
		if (*edge == NULL) *edge = tl_ptr_acquire(nodes[check_random(random) % (uint64_t)count]);
	}
	for (int i = 0; i < roots; i++) CHECK_OK(tl_mem_unregister(nodes[i]));
	reach(nodes, reached, roots, count);
	for (int i = 0; i < count; i++) live += reached[i];
	CHECK_OK(tl_mem_exit_scope());
	for (int i = 0; i < roots; i++) CHECK_OK(tl_mem_register_struct(nodes[i]));

	tl_mem_collect_cycles();
	CHECK_INT(destroyed, count - live);
	for (int i = 0; i < count; i++) CHECK_STATUS(tl_ptr_check(nodes[i]), reached[i] ? TL_OK : TL_E_NOT_LIVE);
	CHECK_OK(tl_mem_exit_scope());
	tl_mem_collect_cycles();
	CHECK_INT(destroyed, count);
}

TEST(random_graphs_against_reachability)
{
	uint64_t random = 20240229;
	for (int round = 0; round < 200; round++) {
		int count = 1 + (int)(check_random(&random) % 300);
		random_graph(&random, count, (int)(check_random(&random) % (uint64_t)(count / 3 + 1)));
	}
}

static void* hold_for_a_while(void* object)
{
	CHECK_PTR(tl_ptr_acquire(object), object);
	CHECK_OK(tl_ptr_release(object));
	return NULL;
}

/* Shared once is held from outside for ever; opening the ring ends it. */
TEST(objects_that_were_shared_stay)
{
	struct node* ring = garbage_ring(3);
	CHECK_OK(tl_ptr_share(ring));
	run_thread(hold_for_a_while, ring);
	CHECK_INT(tl_mem_collect_cycles(), 0);
	CHECK_COUNT(ring, 1);
	destroyed = 0;
	CHECK_OK(tl_ptr_release(ring));
	CHECK_INT(destroyed, 3);
}

TEST(each_thread_collects_its_own) { check_each_thread_collects_its_own((ring_maker){garbage_ring, &destroyed}); }

int main(void)
{
	static const size_t offsets[] = {0, 8, 16};
	tl_type_desc desc = {
		.name = "node", .size = sizeof(struct node), .pointer_offsets = offsets, .num_pointers = EDGES};
	desc.destructor = count_destroyed;
	CHECK_OK(tl_type_define(&desc, &noisy_type));
	return check_tests();
}
