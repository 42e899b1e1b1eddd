/* A compiler defines types for as long as it runs: equal ones share a number, and there is room for 2^20 others. */
#include <sys/resource.h>

#include "check.h"

enum { MOST = 1 << 20, CELLS = 100000 };

static void nothing(void* object) { (void)object; }

static tl_type defined(const tl_type_desc* desc)
{
	tl_type type = 0;
	CHECK_OK(tl_type_define(desc, &type));
	return type;
}

/* A cell of a notebook is compiled again and again. */
TEST(equal_definitions_share_a_number)
{
	size_t both[] = {0, 8}, turned[] = {8, 0};
	tl_type_desc descs[] = {{.name = "cell", .size = 16},
	                        {.name = "pair", .size = 16, .pointer_offsets = both, .num_pointers = 2},
	                        {.name = "file", .size = 16, .destructor = nothing}};
	tl_type types[3];
	for (int i = 0; i < 3; i++) types[i] = defined(&descs[i]);
	for (int cell = 0; cell < CELLS; cell++)
		for (int i = 0; i < 3; i++) CHECK_INT(defined(&descs[i]), types[i]);
	CHECK(types[0] != types[1] && types[0] != types[2] && types[1] != types[2]);
	descs[1].pointer_offsets = turned;
	CHECK_INT(defined(&descs[1]), types[1]);
	descs[1].num_pointers = 1;
	CHECK(defined(&descs[1]) != types[1]);
	descs[2].name = "other file";
	CHECK(defined(&descs[2]) != types[2]);
}

TEST(equal_vecs_share_a_number)
{
	tl_vec_desc desc = {.struct_size = sizeof desc,
	                    .name = "list",
	                    .size = 24,
	                    .length_offset = 8,
	                    .capacity_offset = 16,
	                    .number_bytes = 8,
	                    .elements = TL_VEC_BYTES,
	                    .element_bytes = 4};
	tl_type first = 0, second = 0, wider = 0;
	CHECK_OK(tl_type_define_vec(&desc, &first));
	CHECK_OK(tl_type_define_vec(&desc, &second));
	CHECK_INT(first, second);
	desc.element_bytes = 8;
	CHECK_OK(tl_type_define_vec(&desc, &wider));
	CHECK(wider != first);
}

/* Types with one list of the dead are equal; with two they are not. */
TEST(equal_types_with_a_list_share_a_number)
{
	static tl_deferred_dead one = {.bytes = 8}, two = {.bytes = 8};
	const tl_type_desc desc = {.name = "told of", .size = 8};
	tl_type first = 0, second = 0, other = 0;
	CHECK_OK(tl_type_define_deferred(&desc, &one, &first));
	CHECK_OK(tl_type_define_deferred(&desc, &one, &second));
	CHECK_OK(tl_type_define_deferred(&desc, &two, &other));
	CHECK_INT(first, second);
	CHECK(first != other);
}

static bool is_unlimited(int resource)
{
	struct rlimit limit;
	return getrlimit(resource, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

/* Where little may be mapped, there is room for fewer types, and contexts do not count all of them. */
static bool has_room(void) { return is_unlimited(RLIMIT_AS) && is_unlimited(RLIMIT_DATA); }

/* The newest of 200,000 types is as good as the first: where the fast path is on, it makes the objects. */
TEST(objects_of_a_late_type)
{
	const char* path = getenv("TL_FASTPATH");
	tl_type_desc desc = {.name = "one of many"};
	tl_type type = 0;
	for (size_t size = 1; size <= 2 * CELLS; size++) {
		desc.size = size;
		type = defined(&desc);
	}
	desc.name = "late";
	desc.size = 64;
	type = defined(&desc);
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < 100; i++) CHECK(tl_object_new(type) != NULL);
	uint64_t before = check_slow_calls();
	for (int i = 0; i < 1000; i++) CHECK(tl_object_new(type) != NULL);
	if ((path == NULL || *path != '0') && has_room()) CHECK(check_slow_calls() - before < 100);
	CHECK_OK(tl_mem_exit_scope());
}

TEST(types_run_out)
{
	static tl_deferred_dead dead = {.bytes = 8};
	tl_vec_desc vec = {.struct_size = sizeof vec,
	                   .name = "a list more",
	                   .size = 24,
	                   .length_offset = 8,
	                   .capacity_offset = 16,
	                   .number_bytes = 8,
	                   .elements = TL_VEC_BYTES,
	                   .element_bytes = 4};
	tl_type_desc desc = {.name = "one of all"};
	tl_type type = 0, none = 0;
	tl_status status = TL_OK;
	size_t size = 0;
	while (status == TL_OK && size < MOST) {
		desc.size = ++size;
		status = tl_type_define(&desc, &type);
	}
	/* covers: tl_type_define TL_E_LIMIT */
	CHECK_STATUS(status, TL_E_LIMIT);
	CHECK(strstr(tl_last_error(), " types are defined, as many as there can be") != NULL);
	if (has_room()) CHECK_INT(type, MOST + 15);
	else printf("skip: 2^20 types (the address space is limited)\n");
	CHECK_FAILS(tl_type_define_vec(&vec, &none), TL_E_LIMIT);
	CHECK_REFUSED(tl_cell_new_typed(type), NULL, TL_E_LIMIT);
	CHECK_FAILS(tl_type_define_deferred(&desc, &dead, &none), TL_E_LIMIT);
	CHECK_INT(none, 0);
	desc.size = size - 1;
	CHECK_INT(defined(&desc), type); /* known, so there is room */
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_object_new(type) != NULL);
	CHECK_OK(tl_mem_exit_scope());
}

int main(void) { return check_tests(); }
