/* Section Shapes of a compiler: the system refuses memory for the table. */
#include "check.h"

enum { VEC_BYTES = 24 };

static tl_type type;

/* What the failed calls were given is the program's still. */
TEST(without_memory)
{
	enum { BLOCKS = 300000 };
	void** blocks = malloc(BLOCKS * sizeof *blocks);
	int n = 0;
	tl_status status = TL_OK;
	for (int i = 0; i < BLOCKS; i++) blocks[i] = calloc(1, 64);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "0"));
	/* covers: tl_mem_register_struct_typed TL_E_OUT_OF_MEMORY */
	while (n < BLOCKS && status == TL_OK) status = tl_mem_register_struct_typed(blocks[n++], type);
	CHECK_STATUS(status, TL_E_OUT_OF_MEMORY);
	CHECK_STATUS(tl_ptr_check(blocks[n - 1]), TL_E_UNKNOWN_POINTER);
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "-1"));
	CHECK_OK(tl_mem_register_struct_typed(blocks[n - 1], type));
	CHECK_OK(tl_mem_exit_scope());
	for (; n < BLOCKS; n++) free(blocks[n]);
	free(blocks);
}

TEST(vecs_without_memory)
{
	enum { VECS = 300000 };
	void** vecs = malloc(VECS * sizeof *vecs);
	int n = 0;
	tl_status status = TL_OK;
	for (int i = 0; i < VECS; i++) vecs[i] = calloc(1, VEC_BYTES);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "0"));
	/* covers: tl_mem_register_vec_ptr TL_E_OUT_OF_MEMORY */
	while (n < VECS && status == TL_OK) status = tl_mem_register_vec_ptr(vecs[n++]);
	CHECK_STATUS(status, TL_E_OUT_OF_MEMORY);
	CHECK_STATUS(tl_ptr_check(vecs[n - 1]), TL_E_UNKNOWN_POINTER);
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "-1"));
	CHECK_OK(tl_mem_exit_scope());
	for (n--; n < VECS; n++) free(vecs[n]);
	free(vecs);
}

TEST(types_of_vecs_that_find_no_memory)
{
	enum { MOST = 5000 };
	tl_vec_desc d = {.struct_size = sizeof d, .size = 24, .length_offset = 8, .capacity_offset = 16, .number_bytes = 8};
	tl_type type = 0;
	tl_status status = TL_OK;
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "0"));
	/* covers: tl_type_define_vec TL_E_OUT_OF_MEMORY */
	for (int i = 0; i < MOST && status == TL_OK; i++) {
		d.size = 24 + (size_t)i;
		status = tl_type_define_vec(&d, &type);
	}
	CHECK_STATUS(status, TL_E_OUT_OF_MEMORY);
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "-1"));
	tl_clear_error();
	CHECK_OK(tl_type_define_vec(&d, &type));
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_object_new(type) != NULL);
	CHECK_OK(tl_mem_exit_scope());
}

int main(void)
{
	tl_vec_desc vec = {.struct_size = sizeof vec, .name = "vec", .size = VEC_BYTES, .capacity_offset = 8};
	tl_type_desc description = {.name = "quiet", .size = 64};
	tl_type vec_type;
	vec.length_offset = 16;
	vec.number_bytes = 8;
	CHECK_OK(tl_type_define(&description, &type));
	CHECK_OK(tl_type_define_vec(&vec, &vec_type));
	CHECK_OK(tl_vec_set_type(vec_type));
	return check_tests();
}
