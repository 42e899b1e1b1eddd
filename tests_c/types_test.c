/* Section Objects, types: descriptors, fields, destructors, graphs released. */
#include "check.h"
#include "thread.h"

struct tree {
	struct tree *left, *right;
	int64_t number;
};

static tl_type tree_type, noisy_type;
static int destroyed;

static void count_destroyed(void* object)
{
	(void)object;
	destroyed++;
}

static struct tree* floating_tree(tl_type type, struct tree* left, struct tree* right)
{
	CHECK_OK(tl_mem_enter_scope());
	struct tree* node = tl_object_new(type);
	node->left = left;
	node->right = right;
	CHECK_OK(tl_mem_unregister(node));
	CHECK_OK(tl_mem_exit_scope());
	return node;
}

TEST(define_copies_the_description)
{
	size_t offsets[2] = {0, 16};
	char name[] = "copied";
	tl_type_desc desc = {.name = name, .size = 40, .pointer_offsets = offsets, .num_pointers = 2};
	tl_type first, second;
	void **object, *field;
	CHECK_OK(tl_type_define(&desc, &first));
	CHECK_OK(tl_type_define(&desc, &second));
	CHECK_INT(first, second);
	memset(offsets, 0xFF, sizeof offsets);
	memset(name, 'x', sizeof name - 1);
	CHECK_OK(tl_type_define(&(tl_type_desc){"copied", 40, (size_t[]){0, 16}, 2, NULL, 0}, &second));
	CHECK_INT(first, second);
	CHECK_OK(tl_mem_enter_scope());
	object = tl_object_new(first);
	field = tl_mem_alloc(32);
	object[2] = field;
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(field);
}

TEST(define_refuses)
{
	static const size_t misaligned[] = {4}, outside[] = {16}, across[] = {8, 16}, twice[] = {8, 8};
	tl_type type = 77;
	tl_type_desc desc = {.name = "bad", .size = 0};
	CHECK_FAILS(tl_type_define(&desc, &type), TL_E_INVALID_ARGUMENT);
	desc.size = SIZE_MAX;
	CHECK_FAILS(tl_type_define(&desc, &type), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "a type has 1 to 140737488355328 bytes, not 18446744073709551615") != NULL);
	CHECK_FAILS(tl_type_define(NULL, &type), TL_E_INVALID_ARGUMENT);
	desc.size = 16;
	CHECK_FAILS(tl_type_define(&desc, NULL), TL_E_INVALID_ARGUMENT);
	desc.num_pointers = 1;
	CHECK_FAILS(tl_type_define(&desc, &type), TL_E_INVALID_ARGUMENT);
	desc.pointer_offsets = misaligned;
	CHECK_FAILS(tl_type_define(&desc, &type), TL_E_INVALID_ARGUMENT);
	desc.pointer_offsets = outside;
	CHECK_FAILS(tl_type_define(&desc, &type), TL_E_INVALID_ARGUMENT);
	desc.num_pointers = 2;
	desc.pointer_offsets = across;
	CHECK_FAILS(tl_type_define(&desc, &type), TL_E_INVALID_ARGUMENT);
	desc.pointer_offsets = twice;
	CHECK_FAILS(tl_type_define(&desc, &type), TL_E_INVALID_ARGUMENT);
	desc.num_pointers = SIZE_MAX / 2;
	CHECK_FAILS(tl_type_define(&desc, &type), TL_E_INVALID_ARGUMENT);
	desc.num_pointers = 0;
	desc.flags = 0x80000000u;
	CHECK_FAILS(tl_type_define(&desc, &type), TL_E_INVALID_ARGUMENT);
	CHECK_INT(type, 77);
}

TEST(object_new_refuses)
{
	CHECK_REFUSED(tl_object_new(0xFFFFFFFFu), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_object_new(noisy_type + 100000), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_object_new(1), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_object_new(3), 0, TL_E_INVALID_ARGUMENT);
}

TEST(objects_are_zeroed)
{
	for (int round = 0; round < 3; round++) {
		CHECK_OK(tl_mem_enter_scope());
		struct tree* node = tl_object_new(tree_type);
		CHECK(node->left == NULL && node->right == NULL && node->number == 0);
		CHECK_COUNT(node, 1);
		node->number = -1;
		CHECK_OK(tl_mem_exit_scope());
	}
}

TEST(large_typed_objects)
{
	static const size_t offsets[] = {0, 262144 - 8};
	tl_type_desc desc = {.name = "large", .size = 262144, .pointer_offsets = offsets, .num_pointers = 2};
	tl_type type;
	CHECK_OK(tl_type_define(&desc, &type));
	CHECK_OK(tl_mem_enter_scope());
	char* object = tl_object_new(type);
	CHECK_INT(object[100000], 0);
	void* first = tl_mem_alloc(32);
	void* last = tl_mem_alloc(1 << 20);
	memcpy(object, &first, sizeof first);
	memcpy(object + offsets[1], &last, sizeof last);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(first);
	CHECK_DEAD(last);
}

static struct tree* full_tree(int depth)
{
	if (depth == 0) return NULL;
	return floating_tree(noisy_type, full_tree(depth - 1), full_tree(depth - 1));
}

TEST(a_tree_is_released_completely)
{
	destroyed = 0;
	CHECK_OK(tl_ptr_release(full_tree(14)));
	CHECK_INT(destroyed, (1 << 14) - 1);
}

TEST(shared_fields_go_with_their_last_holder)
{
	struct tree *leaf = floating_tree(noisy_type, NULL, NULL), *first, *second;
	destroyed = 0;
	first = floating_tree(noisy_type, leaf, tl_ptr_acquire(leaf));
	second = floating_tree(noisy_type, tl_ptr_acquire(leaf), NULL);
	CHECK_COUNT(leaf, 3);
	CHECK_OK(tl_ptr_release(first));
	CHECK_COUNT(leaf, 1);
	CHECK_INT(destroyed, 1);
	CHECK_OK(tl_ptr_release(second));
	CHECK_DEAD(leaf);
	CHECK_INT(destroyed, 3);
}

TEST(a_field_that_dangles_is_skipped)
{
	struct tree* node = floating_tree(tree_type, (struct tree*)0x1230, NULL);
	void* dead = tl_mem_alloc(224);
	CHECK_OK(tl_ptr_release(dead));
	node->right = dead;
	CHECK_OK(tl_ptr_release(node));
}

TEST(fields_may_be_tensors_vecs_and_malloced_memory)
{
	static const size_t offsets[] = {0, 8, 16};
	tl_type_desc desc = {.name = "layer", .size = 24, .pointer_offsets = offsets, .num_pointers = 3};
	int64_t shape[2] = {3, 4};
	tl_type type;
	void **layer, *fields[3];
	CHECK_OK(tl_type_define(&desc, &type));
	CHECK_OK(tl_mem_enter_scope());
	layer = tl_object_new(type);
	layer[0] = fields[0] = tl_tensor_new_zeroed(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape);
	layer[1] = fields[1] = tl_vec_new(3);
	layer[2] = fields[2] = malloc(48);
	CHECK_OK(tl_mem_register_struct(fields[2]));
	for (int i = 0; i < 3; i++) CHECK_OK(tl_ptr_inc_ref(fields[i]));
	CHECK_OK(tl_mem_unregister(layer));
	CHECK_OK(tl_mem_exit_scope());
	for (int i = 0; i < 3; i++) CHECK_COUNT(fields[i], 1);
	CHECK_OK(tl_ptr_release(layer));
	for (int i = 0; i < 3; i++) CHECK_DEAD(fields[i]);
}

TEST(dec_ref_and_free_leave_fields_and_destructor_to_the_caller)
{
	struct tree *leaf = floating_tree(noisy_type, NULL, NULL), *node;
	destroyed = 0;
	node = floating_tree(noisy_type, leaf, NULL);
	CHECK_INT(tl_ptr_dec_ref(node), 1);
	CHECK_INT(destroyed, 0);
	CHECK_COUNT(leaf, 1);
	CHECK_OK(tl_ptr_release(node->left));
	CHECK_INT(destroyed, 1);
	CHECK_OK(tl_mem_free(node));
	CHECK_INT(destroyed, 1);
}

TEST(destructors_run_on_the_owners_thread_for_biased_objects)
{
	struct tree* node = full_tree(3);
	destroyed = 0;
	run_thread(check_release, node);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(destroyed, 7);
}

TEST(many_types)
{
	char name[32];
	tl_type_desc desc = {.name = name, .size = 32, .destructor = count_destroyed};
	tl_type type = 0;
	for (int i = 0; i < 2000; i++) {
		sprintf(name, "%d of many", i);
		CHECK_OK(tl_type_define(&desc, &type));
	}
	destroyed = 0;
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_object_new(type) != NULL);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(destroyed, 1);
}

TEST(a_type_whose_offsets_find_no_memory)
{
	enum { POINTERS = 20000 };
	size_t* offsets = malloc(POINTERS * sizeof *offsets);
	tl_type_desc desc = {.name = "large", .size = POINTERS * 8, .pointer_offsets = offsets, .num_pointers = POINTERS};
	tl_type type = 0;
	for (size_t i = 0; i < POINTERS; i++) offsets[i] = 8 * i;
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "0"));
	CHECK_FAILS(tl_type_define(&desc, &type), TL_E_OUT_OF_MEMORY);
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "-1"));
	CHECK_OK(tl_type_define(&desc, &type));
	free(offsets);
}

int main(void)
{
	static const size_t offsets[] = {offsetof(struct tree, left), offsetof(struct tree, right)};
	tl_type_desc desc = {.name = "tree", .size = sizeof(struct tree), .pointer_offsets = offsets, .num_pointers = 2};
	CHECK_OK(tl_type_define(&desc, &tree_type));
	desc.destructor = count_destroyed;
	CHECK_OK(tl_type_define(&desc, &noisy_type));
	return check_tests();
}
