/* The traps of the field: sequences that compilers emit and that runtimes with
 * counts and scopes are known to get wrong. Every count in between is checked. */
#include "check.h"

struct point {
	void* x;
	int64_t tag;
};

static tl_type point_type;

static struct point* new_point(void) { return tl_object_new(point_type); }

TEST(a_vec_of_structs_that_are_also_scope_managed)
{
	void *vec, *elements[8];
	CHECK_OK(tl_mem_enter_scope());
	vec = tl_vec_new(8);
	for (int i = 0; i < 8; i++) {
		elements[i] = tl_mem_new(48);
		CHECK_OK(tl_vec_push(vec, elements[i]));
		CHECK_COUNT(elements[i], 2);
	}
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(vec);
	for (int i = 0; i < 8; i++) CHECK_DEAD(elements[i]);
}

TEST(a_vec_that_outlives_the_scope_of_its_structs)
{
	void *vec, *elements[8];
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_enter_scope());
	vec = tl_vec_new(0);
	for (int i = 0; i < 8; i++) {
		elements[i] = tl_mem_new(48);
		CHECK_OK(tl_vec_push(vec, elements[i]));
	}
	CHECK_OK(tl_mem_unregister(vec));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_mem_register_vec_ptr(vec));
	CHECK_COUNT(vec, 1);
	for (int i = 0; i < 8; i++) CHECK_COUNT(elements[i], 1);
	CHECK_OK(tl_mem_exit_scope());
	for (int i = 0; i < 8; i++) CHECK_DEAD(elements[i]);
}

TEST(a_vec_of_malloced_structs)
{
	void *vec, *elements[8];
	CHECK_OK(tl_mem_enter_scope());
	vec = tl_vec_new(8);
	for (int i = 0; i < 8; i++) {
		elements[i] = malloc(48);
		CHECK_OK(tl_mem_register_struct(elements[i]));
		CHECK_OK(tl_vec_push(vec, elements[i]));
		CHECK_COUNT(elements[i], 2);
	}
	CHECK_OK(tl_mem_exit_scope());
	for (int i = 0; i < 8; i++) CHECK_DEAD(elements[i]);
}

typedef void* (*maker)(void);

static void* from_the_runtime(void)
{
	void* object = tl_mem_alloc(48);
	CHECK_OK(tl_mem_register_struct(object));
	return object;
}

static void* from_malloc(void)
{
	void* object = malloc(48);
	CHECK_OK(tl_mem_register_struct_named(object, "Pair"));
	return object;
}

static void* innermost(maker make)
{
	CHECK_OK(tl_mem_function_enter(1));
	CHECK_OK(tl_mem_enter_scope());
	void* object = make();
	CHECK_OK(tl_mem_unregister(object));
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_mem_function_exit());
	CHECK_COUNT(object, 1);
	return object;
}

static void* middle(maker make)
{
	CHECK_OK(tl_mem_function_enter(0));
	void* object = innermost(make);
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_unregister(object));
	CHECK_OK(tl_mem_function_exit());
	return object;
}

static void* outermost(maker make)
{
	CHECK_OK(tl_mem_enter_scope());
	void* object = middle(make);
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_OK(tl_mem_unregister(object));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(object, 1);
	return object;
}

static void returned_through_three_functions(maker make)
{
	CHECK_OK(tl_mem_enter_scope());
	void* object = outermost(make);
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(object);
}

TEST(a_struct_returned_through_three_functions) { returned_through_three_functions(from_the_runtime); }

TEST(a_malloced_struct_returned_through_three_functions) { returned_through_three_functions(from_malloc); }

TEST(point_with_a_field)
{
	CHECK_OK(tl_mem_enter_scope());
	void* a = tl_mem_new(32);
	struct point* point = new_point();
	CHECK_COUNT(a, 1);
	point->x = tl_ptr_acquire(a);
	CHECK_COUNT(a, 2);
	CHECK_OK(tl_mem_unregister(point));
	CHECK_COUNT(a, 2);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(point, 1);
	CHECK_COUNT(a, 1);
	CHECK_OK(tl_ptr_release(point));
	CHECK_DEAD(point);
	CHECK_DEAD(a);
}

static void* identity(void* parameter)
{
	CHECK_OK(tl_mem_function_enter(0));
	CHECK_FAILS(tl_mem_unregister(parameter), TL_E_NOT_REGISTERED);
	CHECK_OK(tl_mem_function_exit());
	return parameter;
}

TEST(a_function_that_returns_its_own_parameter)
{
	CHECK_OK(tl_mem_enter_scope());
	void* object = tl_mem_new(32);
	CHECK_OK(tl_mem_enter_scope());
	void* result = identity(object);
	CHECK_PTR(result, object);
	CHECK_OK(tl_mem_register_struct(result));
	CHECK_COUNT(object, 2);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(object);
}

TEST(a_field_that_outlives_its_local)
{
	CHECK_OK(tl_mem_enter_scope());
	struct point* point = new_point();
	CHECK_OK(tl_mem_enter_scope());
	void* local = tl_mem_new(32);
	point->x = tl_ptr_acquire(local);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(local, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(local);
}

static int64_t method(struct point* self)
{
	CHECK_OK(tl_mem_function_enter(2));
	CHECK_OK(tl_mem_register_struct(self));
	int64_t* scratch = tl_mem_get_buffer(1, 64);
	CHECK(scratch != NULL);
	void* temporary = tl_mem_new(32);
	*scratch = self->tag + 1;
	self->tag = *scratch;
	CHECK_COUNT(self, 2);
	CHECK_OK(tl_mem_function_exit());
	CHECK_DEAD(temporary);
	return self->tag;
}

TEST(a_method_with_its_own_frame)
{
	CHECK_OK(tl_mem_function_enter(1));
	struct point* self = new_point();
	int64_t* mine = tl_mem_get_buffer(0, 64);
	*mine = 77;
	for (int i = 1; i <= 100; i++) CHECK_INT(method(self), i);
	CHECK_INT(*mine, 77);
	CHECK_COUNT(self, 1);
	CHECK_PTR(tl_mem_get_buffer(0, 64), mine);
	CHECK_OK(tl_mem_function_exit());
	CHECK_DEAD(self);
}

static void* find_early(int wanted)
{
	int64_t depth = tl_get_scope_depth();
	CHECK_OK(tl_mem_function_enter(0));
	for (int i = 0; i < 10; i++) {
		CHECK_OK(tl_mem_enter_scope());
		for (int j = 0; j < 10; j++) {
			CHECK_OK(tl_mem_enter_scope());
			void* object = tl_mem_new(32);
			if (i * 10 + j == wanted) {
				CHECK_OK(tl_mem_unregister(object));
				CHECK_OK(tl_mem_exit_scopes_to(depth));
				return object;
			}
			CHECK_OK(tl_mem_exit_scope());
		}
		CHECK_OK(tl_mem_exit_scope());
	}
	CHECK_OK(tl_mem_exit_scopes_to(depth));
	return NULL;
}

TEST(early_return_from_nested_loops)
{
	CHECK_OK(tl_mem_enter_scope());
	void* found = find_early(37);
	CHECK_INT(tl_get_scope_depth(), 1);
	CHECK_COUNT(found, 1);
	CHECK_OK(tl_mem_register_struct(found));
	CHECK_PTR(find_early(1000), NULL);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(found);
}

TEST_IN_SCOPE(break_and_continue_through_scopes)
{
	void* kept = NULL;
	int64_t loop = tl_get_scope_depth();
	for (int i = 0; i < 100; i++) {
		CHECK_OK(tl_mem_enter_scope());
		CHECK_OK(tl_mem_enter_scope());
		void* object = tl_mem_new(32);
		if (i % 3 != 0) {
			CHECK_OK(tl_mem_exit_scopes_to(loop));
			CHECK_DEAD(object);
			continue;
		}
		if (i == 51) {
			kept = tl_ptr_acquire(object);
			CHECK_OK(tl_mem_exit_scopes_to(loop));
			break;
		}
		CHECK_OK(tl_mem_exit_scope());
		CHECK_OK(tl_mem_exit_scope());
	}
	CHECK_INT(tl_get_scope_depth(), loop);
	CHECK_COUNT(kept, 1);
	CHECK_OK(tl_ptr_release(kept));
}

TEST(the_same_pointer_in_two_scopes)
{
	CHECK_OK(tl_mem_enter_scope());
	void* object = tl_mem_new(32);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_COUNT(object, 3);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(object);
}

TEST(the_same_malloced_pointer_in_two_scopes)
{
	void* object = malloc(32);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_COUNT(object, 2);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(object);
}

TEST(a_loop_that_rebinds_its_variable)
{
	CHECK_OK(tl_mem_enter_scope());
	void* current = tl_mem_new(32);
	for (int i = 0; i < 1000; i++) {
		CHECK_OK(tl_mem_enter_scope());
		void* next = tl_mem_new(32);
		CHECK_OK(tl_mem_unregister(next));
		CHECK_OK(tl_mem_exit_scope());
		CHECK_OK(tl_mem_register_struct(next));
		CHECK_OK(tl_mem_unregister(current));
		CHECK_OK(tl_ptr_release(current));
		CHECK_DEAD(current);
		current = next;
		CHECK_COUNT(current, 1);
	}
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(current);
}

int main(void)
{
	size_t offset = offsetof(struct point, x);
	tl_type_desc type = {.name = "Point", .size = sizeof(struct point), .pointer_offsets = &offset, .num_pointers = 1};
	CHECK_OK(tl_type_define(&type, &point_type));
	return check_tests();
}
