/* A chain of ten million typed objects is released without deep recursion: on a
 * thread whose stack would not hold a frame for each of them.
 *
 *     chain_test [nodes]
 */
#include "chain.h"
#include "check.h"
#include "thread.h"

static int64_t nodes = 10000000;

THREAD(release_a_chain, unused)
{
	void* head = chain_of(nodes);
	CHECK_INT(check_take_balance().objects, nodes);
	CHECK_OK(tl_ptr_release(head));
	CHECK_INT(check_take_balance().objects, 0);
}

TEST(a_long_chain) { run_thread(release_a_chain, NULL); }

THREAD(end_with_a_chain, unused)
{
	struct chain_node* head = chain_of(nodes / 10);
	CHECK_OK(tl_mem_register_struct(head));
	CHECK_OK(tl_ptr_release(head));
}

/* The chain hangs on the root scope of a thread that ends. */
TEST(a_chain_left_behind)
{
	run_thread(end_with_a_chain, NULL);
	for (int i = 0; i < 100 && check_take_balance().objects > 0; i++) {
		CHECK_OK(tl_mem_enter_scope());
		CHECK_OK(tl_mem_exit_scope());
	}
}

TEST(a_long_vec)
{
	int64_t count = nodes / 5;
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new((size_t)count);
	void* element = tl_mem_new(32);
	for (int64_t i = 0; i < count; i++) tl_vec_push(vec, element);
	CHECK_COUNT(element, count + 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(element);
}

/* Vecs in Vecs, each the only element of the next. */
TEST(nested_vecs)
{
	void* outer = NULL;
	CHECK_OK(tl_mem_enter_scope());
	for (int64_t i = 0; i < nodes / 100; i++) {
		CHECK_OK(tl_mem_enter_scope());
		void* vec = tl_vec_new(1);
		CHECK_OK(tl_vec_push(vec, outer));
		CHECK_OK(tl_mem_unregister(vec));
		CHECK_OK(tl_mem_exit_scope());
		if (outer != NULL) CHECK_OK(tl_ptr_release(outer));
		outer = vec;
	}
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_ptr_release(outer));
}

int main(int argc, char** argv)
{
	if (argc > 1) nodes = strtoll(argv[1], NULL, 0);
	chain_define();
	return check_tests();
}
