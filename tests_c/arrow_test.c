/* Tensors as arrays of Arrow, taken by a consumer as its C data interface allows. */
#include "bad.h"
#include "check.h"
#include "interpreter.h"

TEST(attach)
{
	const tl_python_api api = interpreter();
	CHECK_REFUSED(tl_python_arrow(NULL, true), 0, TL_E_UNSUPPORTED);
	CHECK_OK(tl_python_attach(&api));
}

/* The structs of Arrow's interface. */
typedef struct arrow_schema {
	const char *format, *name, *metadata;
	int64_t flags, n_children;
	struct arrow_schema **children, *dictionary;
	void (*release)(struct arrow_schema*);
	void* private_data;
} arrow_schema;

typedef struct arrow_array {
	int64_t length, null_count, offset, n_buffers, n_children;
	const void** buffers;
	struct arrow_array **children, *dictionary;
	void (*release)(struct arrow_array*);
	void* private_data;
} arrow_array;

TEST_IN_SCOPE(arrow_has_a_type_and_elements)
{
	const int64_t shape[3] = {2, 3, 4}, counts[3] = {2, 6, 24};
	const char* formats[3] = {"+w:3", "+w:4", "f"};
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 3, shape);
	capsule *type = tl_python_arrow(tensor, true), *elements = tl_python_arrow(tensor, false);
	CHECK(strcmp(type->name, "arrow_schema") == 0 && strcmp(elements->name, "arrow_array") == 0);
	CHECK_COUNT(tensor, 2); /* a type holds nothing */
	const arrow_schema* s = type->pointer;
	const arrow_array* a = elements->pointer;
	for (int i = 0; i < 3; i++) {
		CHECK(strcmp(s->format, formats[i]) == 0 && s->release != NULL);
		CHECK_INT(a->length, counts[i]);
		CHECK_INT(a->n_buffers, i < 2 ? 1 : 2);
		CHECK_INT(s->n_children, i < 2);
		CHECK_INT(a->n_children, i < 2);
		if (i < 2) s = s->children[0], a = a->children[0];
	}
	CHECK_PTR(a->buffers[1], tl_tensor_data(tensor));
	end_capsule(type);
	end_capsule(elements);
	CHECK_COUNT(tensor, 1);
}

/* A consumer takes the root, or a child out of it, and ends the rest. */
TEST_IN_SCOPE(arrow_may_be_taken_apart)
{
	const int64_t shape[2] = {2, 3};
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_I64, 0, 2, shape);
	capsule* elements = tl_python_arrow(tensor, false);
	arrow_array* a = elements->pointer;
	arrow_array root = *a;
	a->release = NULL;
	end_capsule(elements);
	CHECK_COUNT(tensor, 2);
	arrow_array child = *root.children[0];
	root.children[0]->release = NULL;
	root.release(&root);
	CHECK(root.release == NULL);
	CHECK_COUNT(tensor, 2); /* by the child */
	CHECK_PTR(child.buffers[1], tl_tensor_data(tensor));
	child.release(&child);
	CHECK_COUNT(tensor, 1);
	capsule* type = tl_python_arrow(tensor, true);
	arrow_schema* s = type->pointer;
	arrow_schema taken = *s->children[0];
	s->children[0]->release = NULL;
	end_capsule(type);
	CHECK(strcmp(taken.format, "l") == 0 && strcmp(taken.name, "item") == 0);
	taken.release(&taken);
}

TEST_IN_SCOPE(arrow_copies_gaps_and_packs_bools)
{
	const int64_t shape[2] = {2, 3}, nine = 9;
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_U8, 0, 2, shape);
	memcpy(tl_tensor_data(tensor), "abcdef", 6);
	capsule* elements = tl_python_arrow(tl_view_transpose(tensor, 0, 1), false);
	const arrow_array* a = elements->pointer;
	CHECK_INT(a->length, 3);
	CHECK(memcmp(a->children[0]->buffers[1], "adbecf", 6) == 0);
	end_capsule(elements);
	tl_tensor* flags = tl_tensor_new_zeroed(TL_DTYPE_BOOL, 0, 1, &nine);
	memcpy(tl_tensor_data(flags), "\1\0\1\1\0\0\0\0\1", 9);
	elements = tl_python_arrow(flags, false);
	a = elements->pointer;
	CHECK_INT(a->length, 9);
	CHECK(memcmp(a->buffers[1], "\x0d\x01", 2) == 0);
	end_capsule(elements);
}

TEST(arrow_that_cannot_be)
{
	const int64_t four = 4;
	CHECK_REFUSES_NULL(tl_python_arrow(bad, true));
	CHECK_REFUSES_NULL(tl_python_arrow(bad, false));
	CHECK_PTR(tl_python_arrow(NULL, true), NULL);
	CHECK_OK(tl_mem_function_enter(1));
	tl_tensor* slot = tl_tensor_in_slot(0, TL_DTYPE_F32, 1, &four);
	CHECK_REFUSED(tl_python_arrow(slot, false), 0, TL_E_UNSUPPORTED);
	CHECK(strstr(python_error, "BufferError: tl_python_arrow: TL_E_UNSUPPORTED") == python_error);
	CHECK_OK(tl_mem_function_exit());
	CHECK_OK(tl_mem_enter_scope());
	CHECK_REFUSED(tl_python_arrow(tl_tensor_new_zeroed(TL_DTYPE_C64, 0, 1, &four), true), 0, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_python_arrow(tl_tensor_new_zeroed(TL_DTYPE_BF16, 0, 1, &four), false), 0, TL_E_UNSUPPORTED);
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 0, NULL);
	CHECK_REFUSED(tl_python_arrow(tensor, false), 0, TL_E_UNSUPPORTED);
	tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 1, &four);
	for (int schema = 0; schema < 2; schema++) {
		capsules_to_refuse = 1; /* Python has no memory: what was exported is given back */
		CHECK_PTR(tl_python_arrow(tensor, schema), NULL);
		CHECK_COUNT(tensor, 1);
	}
	CHECK_OK(tl_mem_exit_scope());
}

int main(void) { return check_tests(); }
