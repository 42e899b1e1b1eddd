/* Stress: short-lived threads create, hand over, acquire and release the same
 * objects at once, and end in the middle of it.
 *
 *     stress_test [threads alive] [threads in all] [steps each] [seed]
 */
#include <stdatomic.h>

#include "check.h"
#include "thread.h"

enum { BOARD = 256 };

/* Objects in nobody's hands: each cell holds one counted reference. */
static _Atomic(void*) board[BOARD];
static tl_type node_type;
static atomic_long created, destroyed;
static atomic_ulong seeds;
static int steps = 4000;

struct node {
	void* next;
	int64_t stamp;
};

static void check_and_count(void* object)
{
	struct node* node = object;
	CHECK_INT(node->stamp, 0x5A5A5A);
	node->stamp = 0;
	atomic_fetch_add(&destroyed, 1);
}

static void* new_held_node(void)
{
	CHECK_OK(tl_mem_enter_scope());
	struct node* node = tl_object_new(node_type);
	node->stamp = 0x5A5A5A;
	atomic_fetch_add(&created, 1);
	tl_ptr_acquire(node);
	CHECK_OK(tl_mem_exit_scope());
	return node;
}

/* Swaps a reference onto the board and gives up the one that was there. */
static void publish(void* object, uint64_t cell)
{
	void* old = atomic_exchange(&board[cell % BOARD], object);
	if (old != NULL) CHECK_OK(tl_ptr_release(old));
}

/* Holds on to an object that others may take and give up meanwhile. */
static void keep_while_shared(void* object, uint64_t cell)
{
	CHECK_OK(tl_ptr_inc_ref(object));
	publish(object, cell);
	CHECK_INT(((struct node*)object)->stamp, 0x5A5A5A);
	CHECK_OK(tl_ptr_release(object));
}

static void step(uint64_t draw)
{
	void* taken = atomic_exchange(&board[draw % BOARD], NULL);
	switch ((draw >> 16) % 8) {
	case 0: {
		struct node* node = new_held_node();
		node->next = taken; /* the board's reference becomes the field's */
		publish(node, draw >> 24);
		return;
	}
	case 1: publish(new_held_node(), draw >> 24); break;
	case 2:
		CHECK_OK(tl_mem_enter_scope());
		CHECK_OK(tl_mem_register_struct(taken));
		CHECK_OK(tl_mem_exit_scope());
		break;
	case 3:
		for (int i = 0; i < 20; i++) CHECK_OK(tl_ptr_inc_ref(taken));
		for (int i = 0; i < 20; i++) CHECK_OK(tl_ptr_release(taken));
		break;
	case 4:
		if (taken != NULL) {
			tl_ptr_share(taken);
			publish(taken, draw >> 24);
			return;
		}
		break;
	case 5:
	case 6:
		if (taken == NULL) taken = new_held_node();
		keep_while_shared(taken, draw >> 24);
		return;
	default:
		if (taken != NULL) {
			publish(taken, draw >> 24);
			return;
		}
	}
	if (taken != NULL) CHECK_OK(tl_ptr_release(taken));
}

THREAD(live_a_little, unused)
{
	uint64_t random = 0x9E3779B97F4A7C15u * (atomic_fetch_add(&seeds, 1) + 1);
	for (int i = 0; i < steps; i++) step(check_random(&random));
	if (random % 3 == 0) {
		/* Ends with a scope open that alone holds an object. */
		void* object = new_held_node();
		CHECK_OK(tl_mem_enter_scope());
		CHECK_OK(tl_mem_register_struct(object));
		CHECK_OK(tl_ptr_release(object));
	}
}

static int64_t argument(int argc, char** argv, int index, int64_t otherwise)
{
	return index < argc ? strtoll(argv[index], NULL, 0) : otherwise;
}

static void settle(void)
{
	for (int i = 0; i < 1000 && atomic_load(&created) != atomic_load(&destroyed); i++) {
		tl_mem_enter_scope();
		tl_mem_exit_scope();
		tl_mem_purge();
	}
}

int main(int argc, char** argv)
{
	static const size_t offset = offsetof(struct node, next);
	tl_type_desc desc = {.name = "node",
	                     .size = sizeof(struct node),
	                     .pointer_offsets = &offset,
	                     .num_pointers = 1,
	                     .destructor = check_and_count};
	int alive = (int)argument(argc, argv, 1, 8), all = (int)argument(argc, argv, 2, 200);
	pthread_t* threads = calloc((size_t)alive, sizeof *threads);
	steps = (int)argument(argc, argv, 3, steps);
	seeds = (unsigned long)argument(argc, argv, 4, (int64_t)time(NULL));
	printf("seed %lu\n", atomic_load(&seeds));
	CHECK_OK(tl_type_define(&desc, &node_type));

	for (int i = 0; i < all; i++) {
		if (i >= alive) pthread_join(threads[i % alive], NULL);
		threads[i % alive] = start_thread(live_a_little, NULL);
	}
	for (int i = 0; i < (alive < all ? alive : all); i++) pthread_join(threads[i], NULL);
	for (int i = 0; i < BOARD; i++)
		if (board[i] != NULL) CHECK_OK(tl_ptr_release(board[i]));
	settle();
	CHECK_INT(atomic_load(&destroyed), atomic_load(&created));
	free(threads);
	return check_finish();
}
