/* Destructors that do what destructors should not: they release others and
 * themselves, open scopes, register into the closing scope, allocate, longjmp. */
#include <setjmp.h>

#include "check.h"

struct node {
	void (*act)(struct node*);
	void* held; /* released by hand, not a field of the type */
	int64_t number;
};

static tl_type node_type;
static int destroyed;
static int64_t last_number;

static void destroy(void* object)
{
	struct node* node = object;
	destroyed++;
	last_number = node->number;
	if (node->act != NULL) node->act(node);
}

static struct node* new_node(void (*act)(struct node*), int64_t number)
{
	struct node* node = tl_object_new(node_type);
	node->act = act;
	node->number = number;
	return node;
}

TEST(runs_once_with_the_content_in_place)
{
	destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	new_node(NULL, 4711);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(destroyed, 1);
	CHECK_INT(last_number, 4711);
}

static void release_held(struct node* node) { CHECK_OK(tl_ptr_release(node->held)); }

TEST(release_from_inside_a_destructor)
{
	destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	struct node* outer = new_node(release_held, 1);
	struct node* inner = new_node(NULL, 2);
	outer->held = tl_ptr_acquire(inner);
	CHECK_OK(tl_mem_unregister(outer));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(inner, 1);
	CHECK_OK(tl_ptr_release(outer));
	CHECK_INT(destroyed, 2);
	CHECK_DEAD(inner);
}

/* Every destructor releases the next object by hand. */
static void long_chain(void (*act)(struct node*))
{
	enum { LENGTH = 100000 };
	struct node* head = NULL;
	destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < LENGTH; i++) {
		struct node* node = new_node(head != NULL ? act : NULL, i);
		node->held = head;
		CHECK_OK(tl_mem_unregister(node));
		head = node;
	}
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_ptr_release(head));
	CHECK_INT(destroyed, LENGTH);
}

TEST(a_long_chain_released_by_destructors) { long_chain(release_held); }

static void unwind_and_release_held(struct node* node)
{
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_exit_scopes_to(tl_get_scope_depth() - 1));
	CHECK_OK(tl_ptr_release(node->held));
}

/* Closing scopes inside a destructor must not make it the outermost call: each
 * object would then be released inside the one before. */
TEST(a_long_chain_of_destructors_that_unwind) { long_chain(unwind_and_release_held); }

static void release_self(struct node* node)
{
	CHECK(tl_ptr_release(node) != TL_OK);
	CHECK(tl_mem_free(node) != TL_OK);
	CHECK(!tl_ptr_release_bool(node));
	CHECK_INT(tl_ptr_dec_ref(node), 0);
}

TEST(a_destructor_releases_its_own_object)
{
	destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	struct node* node = new_node(release_self, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(destroyed, 1);
	CHECK_DEAD(node);
}

static void revive_self(struct node* node)
{
	tl_clear_error();
	CHECK_PTR(tl_ptr_acquire(node), node);
	CHECK_STATUS(tl_last_status(), TL_E_NOT_LIVE);
	CHECK_STATUS(tl_mem_register_struct(node), TL_E_NOT_LIVE);
	CHECK_STATUS(tl_ptr_inc_ref(node), TL_E_NOT_LIVE);
}

TEST_IN_SCOPE(a_dying_object_cannot_be_revived) { new_node(revive_self, 1); }

static void open_scopes(struct node* node)
{
	(void)node;
	CHECK_OK(tl_mem_enter_scope());
	void* object = tl_mem_new(64);
	CHECK_OK(tl_mem_function_enter(3));
	CHECK(tl_mem_get_buffer(2, 128) != NULL);
	CHECK_OK(tl_mem_function_exit());
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(object);
}

TEST(a_destructor_opens_and_closes_scopes)
{
	CHECK_OK(tl_mem_enter_scope());
	void* before = tl_mem_new(64);
	new_node(open_scopes, 1);
	new_node(open_scopes, 2);
	void* after = tl_mem_new(64);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(before);
	CHECK_DEAD(after);
}

static void* registered_late;

static void register_into_the_closing_scope(struct node* node)
{
	if (node->number > 0) registered_late = new_node(register_into_the_closing_scope, node->number - 1);
}

TEST(what_a_destructor_registers_goes_too)
{
	destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	new_node(register_into_the_closing_scope, 50);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(destroyed, 51);
	CHECK_DEAD(registered_late);
}

static void leave_a_scope_open(struct node* node)
{
	(void)node;
	CHECK_OK(tl_mem_enter_scope());
	registered_late = tl_mem_new(64);
}

TEST(a_destructor_that_leaves_a_scope_open)
{
	CHECK_OK(tl_mem_enter_scope());
	new_node(leave_a_scope_open, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_mem_exit_scopes_to(0));
	CHECK_DEAD(registered_late);
}

static void exit_the_closing_scope(struct node* node)
{
	(void)node;
	tl_mem_exit_scope();
}

TEST(a_destructor_that_exits_the_closing_scope)
{
	CHECK_OK(tl_mem_enter_scope());
	void* outer = tl_mem_new(64);
	CHECK_OK(tl_mem_enter_scope());
	void* inner = tl_mem_new(64);
	new_node(exit_the_closing_scope, 1);
	tl_mem_exit_scope();
	CHECK_DEAD(inner);
	CHECK_OK(tl_mem_exit_scopes_to(0));
	CHECK_DEAD(outer);
}

static jmp_buf escape;

static void jump_out(struct node* node)
{
	(void)node;
	longjmp(escape, 1);
}

TEST(a_destructor_that_longjmps_out_of_release)
{
	destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	struct node* jumper = new_node(jump_out, 1);
	struct node* plain = new_node(NULL, 2);
	CHECK_OK(tl_mem_unregister(jumper));
	if (setjmp(escape) == 0) {
		tl_ptr_release(jumper);
		CHECK(!"reached");
	}
	CHECK_OK(tl_mem_exit_scopes_to(1));
	CHECK_COUNT(plain, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(destroyed, 2);
	CHECK_DEAD(jumper);
}

TEST(a_destructor_that_longjmps_out_of_exit_scope)
{
	void* bystanders[3];
	destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	bystanders[0] = new_node(NULL, 1);
	CHECK_OK(tl_mem_enter_scope());
	bystanders[1] = new_node(NULL, 2);
	new_node(jump_out, 3);
	bystanders[2] = new_node(NULL, 4);
	if (setjmp(escape) == 0) {
		tl_mem_exit_scope();
		CHECK(!"reached");
	}
	CHECK_OK(tl_mem_exit_scopes_to(0));
	CHECK_INT(destroyed, 4);
	for (int i = 0; i < 3; i++) CHECK_DEAD(bystanders[i]);
}

TEST(a_thousand_longjmps)
{
	destroyed = 0;
	for (volatile int i = 0; i < 1000; i++) {
		CHECK_OK(tl_mem_enter_scope());
		new_node(NULL, i);
		new_node(jump_out, i);
		if (setjmp(escape) == 0) tl_mem_exit_scope();
		CHECK_OK(tl_mem_exit_scopes_to(0));
	}
	CHECK_INT(destroyed, 2000);
}

static void collect_from_inside(struct node* node)
{
	(void)node;
	tl_mem_collect_cycles();
	tl_mem_purge();
	CHECK(tl_get_scope_depth() >= 1);
}

TEST_IN_SCOPE(a_destructor_collects_and_purges)
{
	new_node(collect_from_inside, 1);
	new_node(collect_from_inside, 2);
}

int main(void)
{
	tl_type_desc type = {.name = "node", .size = sizeof(struct node), .destructor = destroy};
	CHECK_OK(tl_type_define(&type, &node_type));
	return check_tests();
}
