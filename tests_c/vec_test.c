/* Section Vec: elements are held, borrowed and given back; indices; growth. */
#include "check.h"
#include "bad.h"
#include "thread.h"

static int released_count;
static int released[64];
static tl_type numbered;

static void note_release(void* object)
{
	if (released_count < 64) released[released_count++] = *(int*)object;
}

static void* new_numbered(int number)
{
	int* object = tl_object_new(numbered);
	*object = number;
	return object;
}

TEST(elements_are_held_and_borrowed)
{
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new(2);
	void* element = tl_mem_new(64);
	CHECK_INT(tl_vec_len(vec), 0);
	CHECK_OK(tl_vec_push(vec, element));
	CHECK_OK(tl_vec_push(vec, NULL));
	CHECK_OK(tl_vec_push(vec, element));
	CHECK_COUNT(element, 3);
	CHECK_INT(tl_vec_len(vec), 3);
	CHECK_PTR(tl_vec_get(vec, 0), element);
	CHECK_REFUSED(tl_vec_get(vec, 1), 0, TL_OK);
	CHECK_PTR(tl_vec_get(vec, 2), element);
	CHECK_COUNT(element, 3);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(element);
}

TEST_IN_SCOPE(the_last_element_goes_first)
{
	released_count = 0;
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new(0);
	for (int i = 0; i < 10; i++) CHECK_OK(tl_vec_push(vec, new_numbered(i)));
	CHECK_OK(tl_mem_unregister(vec));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(released_count, 0);
	CHECK_OK(tl_ptr_release(vec));
	CHECK_INT(released_count, 10);
	for (int i = 0; i < 10; i++) CHECK_INT(released[i], 9 - i);
}

TEST_IN_SCOPE(set_acquires_then_releases)
{
	void* vec = tl_vec_new(1);
	void* first = tl_mem_new(32);
	void* second = tl_mem_new(32);
	CHECK_OK(tl_vec_push(vec, first));
	CHECK_OK(tl_vec_set(vec, 0, second));
	CHECK_COUNT(first, 1);
	CHECK_COUNT(second, 2);
	CHECK_OK(tl_vec_set(vec, 0, second));
	CHECK_COUNT(second, 2);
	CHECK_OK(tl_vec_set(vec, 0, NULL));
	CHECK_COUNT(second, 1);
	CHECK_PTR(tl_vec_get(vec, 0), NULL);
}

TEST(an_element_that_only_the_vec_holds_survives_being_set_again)
{
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new(1);
	CHECK_OK(tl_mem_enter_scope());
	void* element = tl_mem_new(32);
	CHECK_OK(tl_vec_push(vec, element));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(element, 1);
	CHECK_OK(tl_vec_set(vec, 0, element));
	CHECK_COUNT(element, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(element);
}

TEST(pop_gives_a_floating_reference)
{
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new(1);
	CHECK_OK(tl_mem_enter_scope());
	void* element = tl_mem_new(32);
	CHECK_OK(tl_vec_push(vec, element));
	CHECK_OK(tl_vec_push(vec, NULL));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_REFUSED(tl_vec_pop(vec), 0, TL_OK);
	CHECK_PTR(tl_vec_pop(vec), element);
	CHECK_INT(tl_vec_len(vec), 0);
	CHECK_COUNT(element, 1);
	CHECK_OK(tl_mem_register_struct(element));
	CHECK_COUNT(element, 1);
	CHECK_REFUSED(tl_vec_pop(vec), 0, TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(element);
}

TEST_IN_SCOPE(the_text_of_an_empty_vec_names_it)
{
	char address[32];
	void* vec = tl_vec_new(0);
	snprintf(address, sizeof address, "%p is a Vec without elements", vec);
	CHECK_REFUSED(tl_vec_pop(vec), 0, TL_E_INVALID_ARGUMENT);
	tl_vec_pop(vec);
	CHECK(strstr(tl_last_error(), address) != NULL);
	tl_clear_error();
}

/* Each kind of reference that goes, beside each that comes. */
TEST_IN_SCOPE(set_takes_and_drops_any_kind)
{
	static const int64_t two = 2;
	enum { KINDS = 6 };
	void* kinds[KINDS];
	released_count = 0;
	kinds[0] = NULL;
	kinds[1] = tl_mem_new(32);
	kinds[2] = new_numbered(7);
	kinds[3] = tl_tensor_empty(TL_DTYPE_F32, 0, 1, &two);
	kinds[4] = tl_vec_new(1);
	kinds[5] = malloc(32);
	CHECK_OK(tl_mem_register_struct(kinds[5]));
	void* vec = tl_vec_new(1);
	CHECK_OK(tl_vec_push(vec, NULL));
	for (int i = 0; i < KINDS; i++)
		for (int k = 0; k < KINDS; k++) {
			CHECK_OK(tl_vec_set(vec, 0, kinds[i]));
			CHECK_OK(tl_vec_set(vec, 0, kinds[k]));
			if (kinds[k] != NULL) CHECK_COUNT(kinds[k], 2);
			if (kinds[i] != NULL && i != k) CHECK_COUNT(kinds[i], 1);
		}
	CHECK_OK(tl_vec_set(vec, 0, NULL));
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < 10; i++) CHECK_OK(tl_vec_set(vec, 0, new_numbered(i)));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(released_count, 9);
	CHECK_OK(tl_vec_set(vec, 0, NULL)); /* the last reference: its destructor runs in this call */
	CHECK_INT(released_count, 10);
	CHECK_INT(released[9], 9);
}

/* An element that is dead by now is no business of the call that replaces it. */
TEST_IN_SCOPE(set_passes_over_what_is_dead)
{
	void* vec = tl_vec_new(1);
	void* object = tl_mem_new(32);
	void* gone = tl_mem_alloc(32);
	CHECK_OK(tl_vec_push(vec, gone));
	CHECK_OK(tl_ptr_release(gone));
	CHECK_OK(tl_ptr_release(gone)); /* the Vec's */
	CHECK_OK(tl_vec_set(vec, 0, object));
	CHECK_COUNT(object, 2);
	CHECK_FAILS(tl_vec_set(vec, 0, gone), TL_E_NOT_LIVE);
	CHECK_PTR(tl_vec_get(vec, 0), object);
}

TEST(pop_of_a_sixteenth_float)
{
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new(16);
	void* element = tl_mem_new(32);
	for (int i = 0; i < 16; i++) CHECK_OK(tl_vec_push(vec, element));
	for (int i = 0; i < 15; i++) CHECK_PTR(tl_vec_pop(vec), element);
	CHECK_REFUSED(tl_vec_pop(vec), 0, TL_E_OVERFLOW);
	CHECK_INT(tl_vec_len(vec), 1);
	CHECK_COUNT(element, 17);
	for (int i = 0; i < 15; i++) CHECK_OK(tl_ptr_release(element));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(element);
}

/* Of each size that the registry has a way for, held by the Vec alone and beside others. */
TEST_IN_SCOPE(pop_of_a_block_of_mallocs)
{
	void* vec = tl_vec_new(16);
	for (size_t bytes = 16; bytes < 1 << 20; bytes *= 4) {
		void* block = malloc(bytes);
		CHECK_OK(tl_mem_enter_scope());
		CHECK_OK(tl_mem_register_struct(block));
		for (int i = 0; i < 16; i++) CHECK_OK(tl_vec_push(vec, block));
		for (int i = 0; i < 15; i++) CHECK_PTR(tl_vec_pop(vec), block);
		CHECK_REFUSED(tl_vec_pop(vec), 0, TL_E_OVERFLOW);
		CHECK_INT(tl_vec_len(vec), 1);
		CHECK_COUNT(block, 17);
		for (int i = 0; i < 15; i++) CHECK_OK(tl_ptr_release(block));
		CHECK_OK(tl_mem_exit_scope());
		CHECK_COUNT(block, 1);
		CHECK_PTR(tl_vec_pop(vec), block); /* the host has it back */
		CHECK_OK(tl_mem_register_struct(block));
		CHECK_OK(tl_vec_push(vec, block));
		CHECK_OK(tl_mem_unregister(block));
		CHECK_OK(tl_ptr_release(block));
		CHECK_PTR(tl_vec_pop(vec), block);
		CHECK_OK(tl_ptr_release(block));
	}
}

TEST(push_does_not_sink)
{
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new(1);
	void* element = tl_mem_alloc(32);
	CHECK_OK(tl_vec_push(vec, element));
	CHECK_COUNT(element, 2);
	CHECK_OK(tl_mem_register_struct(element));
	CHECK_COUNT(element, 2);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(element);
}

TEST_IN_SCOPE(clear_releases_and_keeps_the_room)
{
	released_count = 0;
	void* vec = tl_vec_new(4);
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < 4; i++) CHECK_OK(tl_vec_push(vec, new_numbered(i)));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_vec_clear(vec));
	CHECK_INT(tl_vec_len(vec), 0);
	CHECK_INT(released_count, 4);
	CHECK_INT(released[0], 3);
	CHECK_OK(tl_vec_clear(vec));
	CHECK_OK(tl_vec_push(vec, new_numbered(9)));
	CHECK_INT(tl_vec_len(vec), 1);
}

TEST(growth_keeps_elements)
{
	const int64_t count = check_fitting(100000, CHECK_ENTRY_BYTES);
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new(0);
	CHECK_OK(tl_vec_reserve(vec, 10));
	for (int64_t i = 0; i < count; i++) {
		int* element = tl_mem_new(sizeof(int));
		*element = (int)i;
		CHECK_OK(tl_vec_push(vec, element));
	}
	CHECK_OK(tl_vec_reserve(vec, 1));
	CHECK_INT(tl_vec_len(vec), count);
	for (int64_t i = 0; i < count; i++) CHECK_INT(*(int*)tl_vec_get(vec, i), i);
	CHECK_OK(tl_mem_exit_scope());
}

/* Also tables that are large objects. */
TEST(two_vecs_grow_in_turn)
{
	const int64_t count = check_fitting(20000, CHECK_ENTRY_BYTES);
	void *vecs[2], *element;
	CHECK_OK(tl_mem_enter_scope());
	vecs[0] = tl_vec_new(0);
	vecs[1] = tl_vec_new(0);
	element = tl_mem_new(8);
	for (int64_t i = 0; i < count; i++) {
		CHECK_OK(tl_vec_push(vecs[i / 3 % 2], element));
		CHECK_OK(tl_vec_push(vecs[i % 2], element));
	}
	CHECK_INT(tl_vec_len(vecs[0]) + tl_vec_len(vecs[1]), 2 * count);
	CHECK_COUNT(element, 2 * count + 1);
	CHECK_OK(tl_vec_clear(vecs[0]));
	CHECK_OK(tl_vec_clear(vecs[1]));
	CHECK_COUNT(element, 1);
	CHECK_OK(tl_mem_exit_scope());
}

/* A header that names the table of an earlier Vec is refused, also where that was the last one that got an element. */
TEST_IN_SCOPE(a_table_that_is_gone)
{
	unsigned char header[32];
	void* element = tl_mem_new(8);
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new(4);
	CHECK_OK(tl_vec_push(vec, element));
	memcpy(header, vec, sizeof header);
	CHECK_OK(tl_mem_exit_scope());
	vec = tl_vec_new(0);
	memcpy(vec, header, sizeof header);
	CHECK_FAILS(tl_vec_push(vec, element), TL_E_UNSUPPORTED);
	CHECK_COUNT(element, 1);
	memset(vec, 0, sizeof header);
	CHECK_OK(tl_vec_push(vec, element));
}

TEST_IN_SCOPE(indices_are_checked)
{
	void* vec = tl_vec_new(8);
	CHECK_OK(tl_vec_push(vec, NULL));
	CHECK_REFUSED(tl_vec_get(vec, 1), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_vec_get(vec, -1), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_vec_get(vec, INT64_MAX), 0, TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_vec_set(vec, 1, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_vec_set(vec, INT64_MIN, NULL), TL_E_INVALID_ARGUMENT);
}

TEST(impossible_capacities)
{
	CHECK_REFUSED(tl_vec_new(SIZE_MAX), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_vec_new(SIZE_MAX / 8 + 1), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_vec_new((size_t)1 << 44), 0, TL_E_OUT_OF_MEMORY);
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new(1);
	CHECK_FAILS(tl_vec_reserve(vec, SIZE_MAX / 4), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_vec_reserve(vec, (size_t)1 << 44), TL_E_OUT_OF_MEMORY);
	CHECK_OK(tl_vec_push(vec, NULL));
	CHECK_OK(tl_mem_exit_scope());
}

TEST_IN_SCOPE(only_a_vec_is_a_vec)
{
	void* plain = tl_mem_new(64);
	CHECK_FAILS(tl_vec_push(plain, NULL), TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_vec_get(plain, 0), 0, TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_vec_set(plain, 0, NULL), TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_vec_pop(plain), 0, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_vec_len(plain), -1, TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_vec_reserve(plain, 8), TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_vec_clear(plain), TL_E_UNSUPPORTED);
	CHECK_COUNT(plain, 1);
}

TEST_IN_SCOPE(elements_are_checked)
{
	void* vec = tl_vec_new(2);
	CHECK_OK(tl_vec_push(vec, NULL));
	CHECK_REFUSES_STATUS(tl_vec_push(vec, bad));
	CHECK_REFUSES_STATUS(tl_vec_set(vec, 0, bad));
	CHECK_INT(tl_vec_len(vec), 1);
}

/* Borrowed as long as the arena lives; afterwards the Vec must not mind. */
TEST(elements_in_arena_memory)
{
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_arena_init(4096));
	void* vec = tl_vec_new(2);
	void* arena = tl_arena_alloc(64);
	CHECK_OK(tl_vec_push(vec, arena));
	CHECK_OK(tl_vec_push(vec, NULL));
	CHECK_OK(tl_vec_set(vec, 1, arena));
	CHECK_PTR(tl_vec_get(vec, 0), arena);
	CHECK_OK(tl_arena_free());
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(vec);
}

TEST(null_is_an_empty_vec)
{
	CHECK_OK(tl_vec_push(NULL, NULL));
	CHECK_REFUSED(tl_vec_get(NULL, 0), 0, TL_OK);
	CHECK_OK(tl_vec_set(NULL, 0, NULL));
	CHECK_REFUSED(tl_vec_pop(NULL), 0, TL_OK);
	CHECK_INT(tl_vec_len(NULL), 0);
	CHECK_OK(tl_vec_reserve(NULL, 10));
	CHECK_OK(tl_vec_clear(NULL));
}

THREAD(push_twice, vec)
{
	CHECK_OK(tl_vec_push(vec, NULL));
	CHECK_OK(tl_thread_detach());
	CHECK_OK(tl_vec_push(vec, NULL));
}

/* A thread without a context, which has made no call yet or was detached, reads what all such threads share. */
TEST(the_first_call_of_a_thread_is_a_push)
{
	void* vec = tl_vec_new(4);
	CHECK_OK(tl_vec_push(vec, NULL));
	pthread_join(start_thread(push_twice, vec), NULL);
	CHECK_INT(tl_vec_len(vec), 3);
	CHECK_OK(tl_ptr_release(vec));
}

int main(void)
{
	tl_type_desc type = {.name = "numbered", .size = sizeof(int), .destructor = note_release};
	CHECK_OK(tl_type_define(&type, &numbered));
	return check_tests();
}
