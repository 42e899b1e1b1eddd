/* Everything runs out: the scope stack, the frame stack, the heap. Each call then
 * answers with its documented status, and unwinding works. Small reservations, set
 * before the first call, make the ends near. */
#include "check.h"
#include "dl.h"

enum { SMALL_ARENA = 1 << 20, SMALL_HEAP = 64 << 20 };

static tl_type pair_type;

/* Fills the scope stack of this thread with one object. */
static void* fill_scope_stack(void)
{
	CHECK_OK(tl_mem_enter_scope());
	void* object = tl_mem_new(64);
	while (tl_mem_register_struct(object) == TL_OK) {}
	CHECK_STATUS(tl_last_status(), TL_E_ARENA_EXHAUSTED);
	return object;
}

static const int64_t one_by_four[2] = {1, 4}, order[2] = {1, 0};
static int64_t extent_four = 4;
static float lent[4];

static tl_tensor* reshaped(tl_tensor* t) { return tl_view_reshape(t, 1, &extent_four); }
static tl_tensor* sliced(tl_tensor* t) { return tl_view_slice(t, 1, 0, 2, 1); }
static tl_tensor* sliced_twice(tl_tensor* t) { return tl_view_slice_axes(t, 2, order, one_by_four, NULL); }
static tl_tensor* transposed(tl_tensor* t) { return tl_view_transpose(t, 0, 1); }
static tl_tensor* permuted(tl_tensor* t) { return tl_view_permute(t, 2, order); }
static tl_tensor* broadcast(tl_tensor* t) { return tl_view_broadcast_to(t, 2, one_by_four); }
static tl_tensor* squeezed(tl_tensor* t) { return tl_view_squeeze(t, 0); }
static tl_tensor* expanded(tl_tensor* t) { return tl_view_expand_dims(t, 0); }

static tl_tensor* wrapped(tl_tensor* t)
{
	tl_tensor_info info = {.struct_size = sizeof info, .data = lent, .shape = &extent_four, .rank = 1};
	(void)t;
	return tl_tensor_wrap(&info, NULL, NULL);
}

static tl_tensor* imported(tl_tensor* t)
{
	static DLManagedTensorVersioned m = {{1, 0}, NULL, NULL, 0, {lent, {1, 0}, 1, {2, 32, 1}, &extent_four, NULL, 0}};
	(void)t;
	return tl_tensor_from_dlpack(&m);
}

static tl_tensor* imported_legacy(tl_tensor* t)
{
	static DLManagedTensor m = {{lent, {1, 0}, 1, {2, 32, 1}, &extent_four, NULL, 0}, NULL, NULL};
	(void)t;
	return tl_tensor_from_dlpack_legacy(&m);
}

/* What makes a tensor without elements of its own. */
static tl_tensor* (*const makers[])(tl_tensor*) = {reshaped, sliced,    sliced_twice,   transposed,
                                                   permuted, broadcast, squeezed,       expanded,
                                                   wrapped,  imported,  imported_legacy};
enum { MAKERS = sizeof makers / sizeof makers[0] };

TEST(registering_on_a_full_scope_stack)
{
	int64_t count, shape = 4;
	const tl_type_desc description = {.name = "full", .size = 64};
	tl_type type;
	CHECK_OK(tl_type_define(&description, &type));
	void *object = fill_scope_stack(), *foreign = malloc(64);
	tl_tensor* tensor = tl_pool_acquire(4, TL_DTYPE_F32, 0);
	count = tl_ptr_refcount(object);
	CHECK_FAILS(tl_mem_register_struct(object), TL_E_ARENA_EXHAUSTED);
	CHECK_FAILS(tl_mem_register_struct(foreign), TL_E_ARENA_EXHAUSTED);
	CHECK_STATUS(tl_ptr_check(foreign), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_mem_register_struct_named(object, "Full"), TL_E_ARENA_EXHAUSTED);
	CHECK_FAILS(tl_mem_register(object), TL_E_ARENA_EXHAUSTED);
	CHECK_FAILS(tl_mem_register_struct_typed(foreign, type), TL_E_ARENA_EXHAUSTED);
	CHECK_STATUS(tl_ptr_check(foreign), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_mem_register_ptr(object), TL_E_ARENA_EXHAUSTED);
	CHECK_FAILS(tl_mem_register_tensor(object), TL_E_ARENA_EXHAUSTED);
	CHECK_FAILS(tl_mem_register_vec_ptr(object), TL_E_ARENA_EXHAUSTED);
	CHECK_COUNT(object, count);
	CHECK(tensor == NULL);
	CHECK_OK(tl_mem_unregister(object));
	tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 1, &shape);
	CHECK(tensor != NULL);
	CHECK_FAILS(tl_tensor_register(tensor), TL_E_ARENA_EXHAUSTED);
	CHECK_COUNT(tensor, 1);
	free(foreign);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_ptr_release(object));
}

TEST(creating_on_a_full_scope_stack)
{
	float data[4] = {0};
	int64_t integers[4] = {0}, four = 4;
	void* object = fill_scope_stack();
	check_balance before = check_take_balance();
	CHECK_REFUSED(tl_mem_new(64), 0, TL_E_ARENA_EXHAUSTED);
	CHECK_REFUSED(tl_mem_new_zeroed(64), 0, TL_E_ARENA_EXHAUSTED);
	CHECK_REFUSED(tl_object_new(pair_type), 0, TL_E_ARENA_EXHAUSTED);
	CHECK_REFUSED(tl_mem_deep_clone(object), 0, TL_E_ARENA_EXHAUSTED);
	CHECK_REFUSED(tl_vec_new(4), 0, TL_E_ARENA_EXHAUSTED);
	CHECK_REFUSED(tl_tensor_new(data, 1, &four), 0, TL_E_ARENA_EXHAUSTED);
	CHECK_REFUSED(tl_tensor_new_i64(integers, 1, &four), 0, TL_E_ARENA_EXHAUSTED);
	CHECK_REFUSED(tl_tensor_empty(TL_DTYPE_F32, 0, 1, &four), 0, TL_E_ARENA_EXHAUSTED);
	CHECK_REFUSED(tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 1, &four), 0, TL_E_ARENA_EXHAUSTED);
	CHECK_REFUSED(tl_tensor_from_buffer(0, 0, 1, &four, data, NULL, NULL, NULL), 0, TL_E_ARENA_EXHAUSTED);
	check_same_balance(before, "refused creations");
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(object);
}

TEST(cloning_a_tensor_on_a_full_scope_stack)
{
	int64_t four = 4;
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 1, &four);
	fill_scope_stack();
	CHECK_REFUSED(tl_tensor_clone(tensor), 0, TL_E_ARENA_EXHAUSTED);
	CHECK_OK(tl_mem_exit_scopes_to(0));
	CHECK_DEAD(tensor);
}

TEST(views_on_a_full_scope_stack)
{
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 2, one_by_four);
	fill_scope_stack();
	/* covers: tl_view_reshape TL_E_ARENA_EXHAUSTED */
	/* covers: tl_view_slice TL_E_ARENA_EXHAUSTED */
	/* covers: tl_view_slice_axes TL_E_ARENA_EXHAUSTED */
	/* covers: tl_view_transpose TL_E_ARENA_EXHAUSTED */
	/* covers: tl_view_permute TL_E_ARENA_EXHAUSTED */
	/* covers: tl_view_broadcast_to TL_E_ARENA_EXHAUSTED */
	/* covers: tl_view_squeeze TL_E_ARENA_EXHAUSTED */
	/* covers: tl_view_expand_dims TL_E_ARENA_EXHAUSTED */
	/* covers: tl_tensor_wrap TL_E_ARENA_EXHAUSTED */
	/* covers: tl_tensor_from_dlpack TL_E_ARENA_EXHAUSTED */
	/* covers: tl_tensor_from_dlpack_legacy TL_E_ARENA_EXHAUSTED */
	for (int i = 0; i < MAKERS; i++) CHECK_REFUSED(makers[i](tensor), 0, TL_E_ARENA_EXHAUSTED);
	CHECK_COUNT(tensor, 1);
	CHECK_OK(tl_mem_exit_scopes_to(0));
	CHECK_DEAD(tensor);
}

TEST(too_many_scopes)
{
	while (tl_mem_enter_scope() == TL_OK) {}
	CHECK_FAILS(tl_mem_enter_scope(), TL_E_ARENA_EXHAUSTED);
	int64_t depth = tl_get_scope_depth();
	CHECK(depth > 1000);
	CHECK_FAILS(tl_mem_function_enter(1), TL_E_ARENA_EXHAUSTED);
	CHECK_REFUSED(tl_mem_frame_enter(64), 0, TL_E_ARENA_EXHAUSTED);
	CHECK_INT(tl_get_scope_depth(), depth);
	CHECK(tl_mem_new(64) != NULL);
	CHECK_OK(tl_mem_exit_scopes_to(0));
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_exit_scope());
}

TEST(the_frame_stack_is_full)
{
	int64_t depth = 0;
	CHECK_OK(tl_mem_function_enter(2));
	memset(tl_mem_get_buffer(0, 1000), 1, 1000);
	CHECK_REFUSED(tl_mem_get_buffer(1, SMALL_ARENA), 0, TL_E_ARENA_EXHAUSTED);
	CHECK(tl_mem_get_buffer(1, 4096) != NULL);
	while (tl_mem_frame_enter(4096) != NULL) depth++;
	CHECK(depth > SMALL_ARENA / 4096 - 10);
	CHECK_STATUS(tl_last_status(), TL_E_ARENA_EXHAUSTED);
	CHECK_FAILS(tl_mem_function_enter(1000), TL_E_ARENA_EXHAUSTED);
	for (; depth > 0; depth--) CHECK_OK(tl_mem_frame_exit());
	CHECK_INT(*(char*)tl_mem_get_buffer(0, 1000), 1);
	CHECK_OK(tl_mem_function_exit());
}

/* A slot that moves gets half more than it had, and where that does not fit what was asked for. */
TEST(a_slot_moves_to_the_end_of_the_frame_stack)
{
	CHECK_OK(tl_mem_function_enter(2));
	char* old = tl_mem_get_buffer(0, 480 << 10);
	CHECK(tl_mem_get_buffer(1, 64) != NULL);
	char* now = tl_mem_get_buffer(0, 500 << 10);
	CHECK(now > old);
	memset(now, 1, 500 << 10);
	CHECK_PTR(tl_mem_get_buffer(0, 540 << 10), now);
	CHECK_REFUSED(tl_mem_get_buffer(0, 600 << 10), 0, TL_E_ARENA_EXHAUSTED);
	CHECK_PTR(tl_mem_get_buffer(0, 540 << 10), now);
	CHECK_INT(now[(500 << 10) - 1], 1);
	CHECK_OK(tl_mem_function_exit());
}

TEST(nested_frames_until_the_end)
{
	int64_t depth = 0;
	while (tl_mem_function_enter(4) == TL_OK) {
		depth++;
		if (tl_mem_get_buffer(0, 1024) == NULL) break;
	}
	CHECK_STATUS(tl_last_status(), TL_E_ARENA_EXHAUSTED);
	CHECK(depth > 100);
	for (; depth > 0; depth--) CHECK_OK(tl_mem_function_exit());
	CHECK_FAILS(tl_mem_function_exit(), TL_E_NO_FRAME);
	CHECK_OK(tl_mem_function_enter(4));
	CHECK(tl_mem_get_buffer(0, SMALL_ARENA / 2) != NULL);
	CHECK_OK(tl_mem_function_exit());
}

/* Fills the heap with a list of blocks, large ones first. */
static void** fill_heap(void)
{
	static const size_t sizes[] = {1 << 20, 65536, 4096, 256, 64, 32};
	void** newest = NULL;
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		void** block;
		while ((block = tl_mem_alloc(sizes[i])) != NULL) {
			*block = newest;
			newest = block;
		}
		CHECK_STATUS(tl_last_status(), TL_E_OUT_OF_MEMORY);
	}
	return newest;
}

static void drain_heap(void** newest)
{
	while (newest != NULL) {
		void** next = *newest;
		tl_ptr_release(newest);
		newest = next;
	}
}

TEST(the_heap_is_full)
{
	static float data[1 << 16];
	int64_t large = 1 << 16, four = 4;
	void **blocks, *vec, *typed, *cells;
	CHECK_OK(tl_mem_function_enter(1));
	cells = tl_cell_new_typed(pair_type);
	vec = tl_vec_new(0);
	typed = tl_object_new(pair_type);
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 1, &large);
	tl_tensor* slot = tl_tensor_in_slot(0, TL_DTYPE_F32, 1, &four);
	blocks = fill_heap();
	for (int i = 0; i < 5000 && tl_object_new(pair_type) != NULL; i++) {}
	CHECK_REFUSED(tl_object_new(pair_type), 0, TL_E_OUT_OF_MEMORY);
	/* covers: tl_cell_new_typed TL_E_OUT_OF_MEMORY */
	for (void* cell; (cell = tl_cell_new_typed(pair_type)) != NULL; cells = cell) *(void**)cell = cells;
	CHECK_STATUS(tl_last_status(), TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_mem_deep_clone(typed), 0, TL_E_OUT_OF_MEMORY);
	/* covers: tl_vec_push TL_E_OUT_OF_MEMORY */
	tl_clear_error();
	while (tl_vec_push(vec, NULL) == TL_OK) {}
	CHECK_STATUS(tl_last_status(), TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_tensor_clone(tensor), 0, TL_E_OUT_OF_MEMORY);
	/* covers: tl_tensor_from_buffer TL_E_OUT_OF_MEMORY */
	for (int i = 0; i < 5000; i++)
		if (tl_tensor_from_buffer(0, 0, 1, &four, data + 4 * i, NULL, NULL, NULL) == NULL) break;
	CHECK_STATUS(tl_last_status(), TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_tensor_new(data, 1, &large), 0, TL_E_OUT_OF_MEMORY);
	while (tl_tensor_empty(TL_DTYPE_F32, 0, 1, &four) != NULL) {}
	CHECK_REFUSED(tl_tensor_prepare_return(slot), 0, TL_E_OUT_OF_MEMORY);
	CHECK_COUNT(typed, 1);
	CHECK_COUNT(tensor, 1);
	CHECK_OK(tl_cell_free(cells));
	CHECK_OK(tl_mem_function_exit());
	drain_heap(blocks);
}

TEST(no_memory_for_views)
{
	void** blocks;
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 2, one_by_four);
	blocks = fill_heap();
	/* covers: tl_view_reshape TL_E_OUT_OF_MEMORY */
	/* covers: tl_view_slice TL_E_OUT_OF_MEMORY */
	/* covers: tl_view_slice_axes TL_E_OUT_OF_MEMORY */
	/* covers: tl_view_transpose TL_E_OUT_OF_MEMORY */
	/* covers: tl_view_permute TL_E_OUT_OF_MEMORY */
	/* covers: tl_view_broadcast_to TL_E_OUT_OF_MEMORY */
	/* covers: tl_view_squeeze TL_E_OUT_OF_MEMORY */
	/* covers: tl_view_expand_dims TL_E_OUT_OF_MEMORY */
	/* covers: tl_tensor_wrap TL_E_OUT_OF_MEMORY */
	/* covers: tl_tensor_from_dlpack TL_E_OUT_OF_MEMORY */
	/* covers: tl_tensor_from_dlpack_legacy TL_E_OUT_OF_MEMORY */
	while (tl_view_reshape(tensor, 1, &extent_four) != NULL) {}
	for (int i = 0; i < MAKERS; i++) CHECK_REFUSED(makers[i](tensor), 0, TL_E_OUT_OF_MEMORY);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(tensor);
	drain_heap(blocks);
}

static int errors_noted;

static void note_error(void* exception, const char* text) { errors_noted += exception == lent && text[0] != 0; }

TEST(no_memory_for_exports)
{
	enum { MOST = 100000 };
	static DLManagedTensorVersioned* made[MOST];
	int count = 0;
	void** blocks;
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 2, one_by_four);
	blocks = fill_heap();
	while (count < MOST && (made[count] = tl_tensor_to_dlpack(tensor, false)) != NULL) count++;
	CHECK_REFUSED(tl_tensor_to_dlpack(tensor, false), 0, TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_tensor_to_dlpack(tensor, true), 0, TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_tensor_to_dlpack_legacy(tensor, false), 0, TL_E_OUT_OF_MEMORY);
	void (*set_error)(void*, const char*) = note_error;
	tl_python_api api = {.struct_size = sizeof api,
	                     .capsule_new = lent,
	                     .capsule_is_valid = lent,
	                     .capsule_get_pointer = lent,
	                     .buffer_error = lent};
	memcpy(&api.err_set_string, &set_error, sizeof set_error);
	CHECK_OK(tl_python_attach(&api));
	CHECK_REFUSED(tl_python_capsule(tensor, 1, false), 0, TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_python_arrow(tensor, false), 0, TL_E_OUT_OF_MEMORY);
	CHECK_INT(errors_noted, 2);
	CHECK_COUNT(tensor, 1 + count);
	while (count-- > 0) made[count]->deleter(made[count]);
	CHECK_OK(tl_mem_exit_scope());
	drain_heap(blocks);
}

TEST(the_heap_can_be_used_again)
{
	for (int round = 0; round < 3; round++) drain_heap(fill_heap());
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_mem_new(1 << 20) != NULL);
	CHECK(tl_mem_new(64) != NULL);
	CHECK_OK(tl_mem_exit_scope());
}

int main(void)
{
	static const size_t offsets[] = {0, 8};
	tl_type_desc desc = {.name = "pair", .size = 2048, .pointer_offsets = offsets, .num_pointers = 2};
	char text[32];
	snprintf(text, sizeof text, "%d", SMALL_ARENA);
	setenv("TL_ARENA_BYTES", text, 1);
	snprintf(text, sizeof text, "%d", SMALL_HEAP);
	setenv("TL_HEAP_RESERVE", text, 1);
	CHECK_OK(tl_type_define(&desc, &pair_type));
	return check_tests();
}
