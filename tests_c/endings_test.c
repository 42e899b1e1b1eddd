/* Objects with destructors, and Vecs, in their steady state: they begin and end without Go, and in the same order as with
 * it. */
#include <stdatomic.h>

#include "check.h"
#include "thread.h"

struct node {
	struct node *left, *right;
	void (*act)(struct node*);
	int64_t number;
};

enum { MANY = 2000, ROUNDS = 3 };

static tl_type node_type, leaf_type, large_type, plain_type;
static atomic_int destroyed;
static int order_length;
static int64_t order[64];

static void destroy(void* object)
{
	struct node* node = object;
	destroyed++;
	if (order_length < 64) order[order_length++] = node->number;
	if (node->act != NULL) node->act(node);
}

static void count(void* object)
{
	(void)object;
	destroyed++;
}

static bool is_fast(void)
{
	const char *path = getenv("TL_FASTPATH"), *debug = getenv("TL_DEBUG"), *track = getenv("TL_TRACK");
	return (path == NULL || strcmp(path, "0") != 0) && debug == NULL && track == NULL;
}

/* Runs a step again and again; the last round calls the slow path for one step in twenty at most. */
static void steady(void (*step)(int))
{
	uint64_t before = 0;
	for (int round = 0; round < ROUNDS; round++) {
		before = check_slow_calls();
		for (int i = 0; i < MANY; i++) step(i);
	}
	if (is_fast()) CHECK(check_slow_calls() - before <= MANY / 20);
}

static struct node* floating(tl_type type)
{
	struct node* node = tl_object_new(type);
	CHECK_OK(tl_mem_unregister(node));
	return node;
}

/* ---- objects ------------------------------------------------------------------------------ */

static void leaf_in_a_scope(int i)
{
	(void)i;
	CHECK_OK(tl_mem_enter_scope());
	tl_object_new(leaf_type);
	CHECK_OK(tl_mem_exit_scope());
}

static void some_in_a_scope(int i)
{
	CHECK_OK(tl_mem_enter_scope());
	for (int k = 0; k <= i % 20; k++) {
		tl_object_new(k % 3 == 0 ? leaf_type : k % 3 == 1 ? plain_type : node_type);
		tl_mem_new(48);
	}
	CHECK_OK(tl_mem_exit_scope());
}

static void floating_and_released(int i) { CHECK_OK(tl_ptr_release(floating(i % 2 ? leaf_type : plain_type))); }

static void tree_of_three(int i)
{
	struct node* root = floating(i % 2 ? node_type : plain_type);
	root->left = floating(node_type);
	root->right = floating(plain_type);
	root->left->left = floating(leaf_type);
	CHECK_OK(tl_ptr_release(root));
}

static void large_object(int i)
{
	(void)i;
	CHECK_OK(tl_ptr_release(floating(large_type)));
}

static void shared_object(int i)
{
	struct node* root = floating(node_type);
	root->left = floating(i % 2 ? leaf_type : plain_type);
	CHECK_OK(tl_ptr_share(root));
	CHECK_OK(tl_ptr_release(root));
}

TEST(objects_with_destructors_need_no_go)
{
	destroyed = 0;
	steady(leaf_in_a_scope);
	CHECK_INT(destroyed, ROUNDS * MANY);
	steady(some_in_a_scope);
	destroyed = 0;
	steady(floating_and_released);
	CHECK_INT(destroyed, ROUNDS * MANY / 2);
	destroyed = 0;
	steady(tree_of_three);
	CHECK_INT(destroyed, ROUNDS * MANY / 2 * 5);
	steady(large_object);
}

TEST(shared_objects_end_where_they_are_dropped)
{
	destroyed = 0;
	for (int i = 0; i < MANY; i++) shared_object(i);
	CHECK_INT(destroyed, MANY + MANY / 2);
}

/* ---- order ---------------------------------------------------------------------------------- */

static struct node* numbered(int64_t number)
{
	struct node* node = floating(node_type);
	node->number = number;
	return node;
}

static void expect_order(const int64_t* want, int length)
{
	CHECK_INT(order_length, length);
	for (int i = 0; i < length && i < order_length; i++) CHECK_INT(order[i], want[i]);
	order_length = 0;
}

/* First in, first out: an object's fields end after all that died before it. */
TEST(fields_end_in_the_order_in_which_their_holders_died)
{
	static const int64_t want[] = {1, 2, 3, 4, 5, 6, 7};
	struct node *root = numbered(1), *left = numbered(2), *right = numbered(3);
	order_length = 0;
	root->left = left;
	root->right = right;
	left->left = numbered(4);
	left->right = numbered(5);
	right->left = floating(plain_type); /* without a destructor: its fields are its holder's, one step later */
	right->right = numbered(6);
	right->left->right = numbered(7);
	CHECK_OK(tl_ptr_release(root));
	expect_order(want, 7);
}

/* What a Vec holds ends last element first, after what died before the Vec. */
TEST(a_vec_in_a_field_waits_for_its_turn)
{
	static const int64_t want[] = {1, 2, 12, 11, 10, 20};
	struct node *root = numbered(1), *right = numbered(2);
	order_length = 0;
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new(0);
	for (int i = 0; i < 3; i++) {
		struct node* element = numbered(10 + i);
		CHECK_OK(tl_vec_push(vec, element));
		CHECK_OK(tl_ptr_release(element));
	}
	right->left = numbered(20);
	root->left = tl_ptr_acquire(vec);
	root->right = right;
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_ptr_release(root));
	expect_order(want, 6);
}

/* ---- what a destructor may do ------------------------------------------------------------------ */

static void refuse_detach(struct node* node)
{
	(void)node;
	CHECK_STATUS(tl_thread_detach(), TL_E_BUSY);
	tl_clear_error();
}

static void trace_from_here(struct node* node)
{
	(void)node;
	CHECK_OK(tl_trace_start("/dev/null"));
}

static void end_the_thread(struct node* node)
{
	(void)node;
	pthread_exit(NULL);
}

THREAD(make_and_release, act)
{
	struct node* root = numbered(0);
	root->left = numbered(1);
	root->right = numbered(2);
	memcpy(&root->left->act, act, sizeof root->act);
	CHECK_OK(tl_ptr_release(root));
}

static void with_act(void (*act)(struct node*))
{
	destroyed = 0;
	run_thread(make_and_release, &act);
	tl_mem_enter_scope(); /* a slow call finishes what an ended thread has left */
	tl_mem_purge();
	tl_mem_exit_scope();
	CHECK_INT(destroyed, 3);
}

TEST(a_destructor_may_not_detach_its_thread) { with_act(refuse_detach); }
TEST(a_destructor_ends_its_thread) { with_act(end_the_thread); }

TEST(a_destructor_turns_a_trace_on)
{
	with_act(trace_from_here);
	CHECK_OK(tl_trace_stop());
}

static void fork_here(struct node* node)
{
	(void)node;
	const pid_t child = fork();
	int status = 1;
	if (child == 0) _exit(tl_ptr_release(tl_mem_alloc(1 << 20)) == TL_E_FORKED ? 0 : 1);
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status));
}

TEST(a_destructor_forks) { with_act(fork_here); }

static void* held;

static void change_the_vec(struct node* node)
{
	for (int i = 0; i < 40; i++) CHECK_OK(tl_vec_push(held, NULL));
	CHECK_OK(tl_vec_set(held, 0, NULL));
	CHECK_OK(tl_vec_clear(held));
	if (node->number == 3) CHECK_OK(tl_vec_push(held, NULL));
}

/* All of them are out of the Vec before the first destructor runs. */
TEST_IN_SCOPE(destructors_change_the_vec_that_is_cleared)
{
	held = tl_vec_new(0);
	for (int i = 0; i < 4; i++) {
		struct node* node = numbered(i);
		node->act = change_the_vec;
		CHECK_OK(tl_vec_push(held, node));
		CHECK_OK(tl_ptr_release(node));
	}
	order_length = 0;
	CHECK_OK(tl_vec_clear(held));
	expect_order((const int64_t[]){3, 2, 1, 0}, 4);
	CHECK_INT(tl_vec_len(held), 0);
}

static void clear_inside(struct node* node)
{
	(void)node;
	CHECK_OK(tl_vec_clear(held));
	CHECK_INT(order_length, 1); /* what was in it waits for this destructor */
}

TEST(a_destructor_clears_a_vec)
{
	struct node* node = numbered(1);
	node->act = clear_inside;
	CHECK_OK(tl_mem_enter_scope());
	held = tl_vec_new(2);
	for (int i = 2; i < 4; i++) {
		struct node* element = numbered(i);
		CHECK_OK(tl_vec_push(held, element));
		CHECK_OK(tl_ptr_release(element));
	}
	order_length = 0;
	CHECK_OK(tl_ptr_release(node));
	expect_order((const int64_t[]){1, 3, 2}, 3);
	CHECK_OK(tl_mem_exit_scope());
}

/* ---- from other threads ------------------------------------------------------------------------- */

static void* objects[MANY];

THREAD(release_all, unused)
{
	for (int i = 0; i < MANY; i++) CHECK_OK(tl_ptr_release(objects[i]));
}

TEST(what_was_handed_over_ends_without_go)
{
	uint64_t before = 0;
	destroyed = 0;
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < MANY; i++) objects[i] = floating(i % 2 ? leaf_type : node_type);
		run_thread(release_all, NULL);
		before = check_slow_calls();
		CHECK_OK(tl_mem_enter_scope());
		CHECK_OK(tl_mem_exit_scope());
		CHECK_INT(destroyed, (round + 1) * MANY);
	}
	if (is_fast()) CHECK(check_slow_calls() - before <= MANY / 20);
}

/* ---- blocks of malloc ----------------------------------------------------------------------------- */

static void typed_block(int i)
{
	struct node* block = calloc(1, sizeof *block);
	CHECK_OK(tl_mem_enter_scope());
	block->left = floating(i % 2 ? leaf_type : plain_type);
	CHECK_OK(tl_mem_register_struct_typed(block, node_type));
	CHECK_OK(tl_mem_exit_scope());
}

TEST(blocks_with_a_destructor_need_no_go)
{
	destroyed = 0;
	steady(typed_block);
	CHECK_INT(destroyed, ROUNDS * (MANY + MANY / 2));
}

/* ---- Vecs --------------------------------------------------------------------------------- */

static void vec_of_some(int i)
{
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new(i % 4 == 0 ? (size_t)(i % 100) : 0);
	for (int k = 0; k < i % 300; k++) CHECK_OK(tl_vec_push(vec, k % 7 == 0 ? NULL : held));
	CHECK_INT(tl_vec_len(vec), i % 300);
	CHECK_OK(tl_mem_exit_scope());
}

static void vec_of_objects(int i)
{
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new(0);
	CHECK_OK(tl_mem_enter_scope());
	for (int k = 0; k < i % 20; k++)
		CHECK_OK(tl_vec_push(vec, k % 3 == 0 ? tl_object_new(leaf_type) : k % 3 == 1 ? tl_mem_new(48) : tl_vec_new(2)));
	CHECK_OK(tl_mem_exit_scope());
	if (i % 2) CHECK_OK(tl_vec_clear(vec));
	CHECK_OK(tl_mem_exit_scope());
}

static void push_and_clear(int i)
{
	for (int k = 0; k < i % 100; k++) CHECK_OK(tl_vec_push(held, k % 7 == 0 ? NULL : objects[0]));
	for (int k = 0; k < i % 100; k++) CHECK_PTR(tl_vec_get(held, k), k % 7 == 0 ? NULL : objects[0]);
	if (i % 100 != 0) CHECK_OK(tl_vec_set(held, 0, objects[0]));
	if (i % 100 > 7) CHECK_PTR(tl_vec_pop(held), (i - 1) % 100 % 7 == 0 ? NULL : objects[0]);
	if (i % 100 > 7 && (i - 1) % 100 % 7 != 0) CHECK_OK(tl_ptr_release(objects[0]));
	CHECK_OK(tl_vec_clear(held));
}

TEST_IN_SCOPE(vecs_need_no_go)
{
	held = tl_mem_new(32);
	steady(vec_of_some);
	steady(vec_of_objects);
	objects[0] = held;
	held = tl_vec_new(0);
	CHECK_OK(tl_vec_reserve(held, 100));
	steady(push_and_clear);
	CHECK_COUNT(objects[0], 1);
}

/* Its table is a large object, which elements come into and leave as those of any other. */
TEST_IN_SCOPE(a_long_vec)
{
	enum { LONG = 100000 };
	void* object = tl_mem_new(32);
	void* vec = tl_vec_new(0);
	CHECK_OK(tl_vec_reserve(vec, LONG));
	uint64_t before = check_slow_calls();
	for (int i = 0; i < LONG; i++)
		if (tl_vec_push(vec, i % 2 ? object : NULL) != TL_OK) CHECK(!"pushed");
	CHECK_COUNT(object, LONG / 2 + 1);
	CHECK_PTR(tl_vec_get(vec, LONG - 1), object);
	CHECK_OK(tl_vec_clear(vec));
	if (is_fast()) CHECK(check_slow_calls() - before < 10);
	CHECK_COUNT(object, 1);
	for (int i = 0; i < LONG; i++) tl_vec_push(vec, object);
	CHECK_OK(tl_mem_unregister(vec));
	CHECK_OK(tl_ptr_release(vec));
	CHECK_COUNT(object, 1);
}

TEST(a_vec_that_holds_itself)
{
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new(0);
	CHECK_OK(tl_vec_push(vec, vec));
	CHECK_OK(tl_ptr_release(vec)); /* a reference that was the element's */
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(vec);
}

/* A program wrote over its Vec: every call says so, and nothing of it is released. */
TEST_IN_SCOPE(an_overwritten_header)
{
	uint64_t saved[4];
	void* object = tl_mem_new(32);
	void* vec = tl_vec_new(4);
	void* other = tl_vec_new(4);
	CHECK_OK(tl_vec_push(vec, object));
	CHECK_OK(tl_vec_push(other, object));
	memcpy(saved, vec, sizeof saved);
	for (int word = 0; word < 5; word++) {
		uint64_t* header = vec;
		if (word < 4) header[word] = word == 2 ? (uint64_t)(uintptr_t)object : header[word] + 1000;
		else memcpy(&header[2], (char*)other + 16, 8); /* the table of another */
		CHECK_FAILS(tl_vec_push(vec, object), TL_E_UNSUPPORTED);
		CHECK_FAILS(tl_vec_clear(vec), TL_E_UNSUPPORTED);
		CHECK_FAILS(tl_vec_reserve(vec, 3), TL_E_UNSUPPORTED);
		CHECK_FAILS(tl_vec_reserve(vec, 300), TL_E_UNSUPPORTED);
		CHECK_FAILS(tl_vec_set(vec, 0, object), TL_E_UNSUPPORTED);
		CHECK_REFUSED(tl_vec_get(vec, 0), 0, TL_E_UNSUPPORTED);
		CHECK_REFUSED(tl_vec_pop(vec), 0, TL_E_UNSUPPORTED);
		memcpy(vec, saved, sizeof saved);
	}
	CHECK_INT(tl_vec_len(vec), 1);
	CHECK_COUNT(object, 3);
}

int main(void)
{
	static const size_t offsets[] = {offsetof(struct node, left), offsetof(struct node, right)};
	tl_type_desc desc = {.name = "node", .size = sizeof(struct node), .pointer_offsets = offsets, .num_pointers = 2};
	CHECK_OK(tl_type_define(&desc, &plain_type));
	desc.destructor = destroy;
	CHECK_OK(tl_type_define(&desc, &node_type));
	desc.size = 5000;
	CHECK_OK(tl_type_define(&desc, &large_type));
	desc = (tl_type_desc){.name = "leaf", .size = sizeof(struct node), .destructor = count};
	CHECK_OK(tl_type_define(&desc, &leaf_type));
	return check_tests();
}
