/* Tensors, views, sparse matrices, and what passes tensors to other libraries. */
#include "dl.h"
#include "faults.h"
#include "sparse.h"

static tl_tensor* made;
static const int64_t shape[2] = {30, 40}, long_shape[1] = {60000};
static float floats[1200];
static int64_t integers[1200];

static bool is(tl_tensor* tensor)
{
	made = tensor;
	return tensor != NULL;
}

/* ---- making -------------------------------------------------------------------------- */

static bool new_f32(void) { return is(tl_tensor_new(floats, 2, shape)); }
static bool new_i64(void) { return is(tl_tensor_new_i64(integers, 2, shape)); }
static bool empty(void) { return is(tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape)); }
static bool empty_large(void) { return is(tl_tensor_empty(TL_DTYPE_F64, TL_DEVICE_CPU, 1, long_shape)); }
static bool zeros(void) { return is(tl_tensor_new_zeroed(TL_DTYPE_I32, TL_DEVICE_CPU, 2, shape)); }
static bool empty_far(void) { return is(tl_tensor_empty(TL_DTYPE_F32, w.far_device, 2, shape)); }
static bool zeros_far(void) { return is(tl_tensor_new_zeroed(TL_DTYPE_F32, w.far_device, 2, shape)); }
static bool zeros_cuda(void) { return is(tl_tensor_new_zeroed(TL_DTYPE_F32, w.cuda, 2, shape)); }
static bool clone(void) { return is(tl_tensor_clone(w.tensor)); }
static bool clone_view(void) { return is(tl_tensor_clone(w.view)); }
static bool to_far(void) { return is(tl_tensor_to(w.tensor, w.far_device)); }
static bool from_far(void) { return is(tl_tensor_to(w.far_away, TL_DEVICE_CPU)); }
static bool far_to_cuda(void) { return is(tl_tensor_to(w.far_away, w.cuda)); }
static bool copy(void) { return ok(tl_tensor_copy(w.far_away, w.tensor)); }
static bool copy_gaps(void) { return ok(tl_tensor_copy(made, w.view)); }

/* One that is refused has its extent and its elements as before. */
static bool grown(tl_status status, int64_t extent)
{
	const bool good = ok(status);
	CHECK_INT(tl_tensor_dim(made, 0), good ? extent : shape[0]);
	CHECK_INT(memcmp(tl_tensor_data(made), floats, sizeof floats), 0);
	return good;
}
static void make_small(void) { CHECK(new_f32()); }
static bool reserve(void) { return grown(tl_tensor_reserve(made, 3000), shape[0]); }
static bool reserve_much(void) { return grown(tl_tensor_reserve(made, 300000), shape[0]); }
static bool resize(void) { return grown(tl_tensor_resize(made, 3000), 3000); }
static bool resize_zeros(void) { return grown(tl_tensor_resize_zeros(made, 20000), 20000); }

static bool from_buffer(void)
{
	const int64_t rows[1] = {1000};
	return taken_if(is(tl_tensor_from_buffer(TL_DTYPE_F32, TL_DEVICE_CPU, 1, rows, lent, NULL, world_deleter,
	                                         &world_deleter_context)));
}

static bool wrap(void)
{
	const int64_t rows[1] = {1000};
	tl_tensor_info info = {.struct_size = sizeof info,
	                       .data = lent,
	                       .shape = rows,
	                       .rank = 1,
	                       .dtype = TL_DTYPE_F32,
	                       .flags = TL_TENSOR_FLAG_READ_ONLY};
	return taken_if(is(tl_tensor_wrap(&info, world_deleter, &world_deleter_context)));
}

static bool empty_shared(void) { return is(tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_SHARED, 2, shape)); }
static tl_tensor_shared shared = {.struct_size = sizeof shared, .fd = -1};
static void make_shared(void) { CHECK(empty_shared()); }
static bool share(void) { return ok(tl_tensor_share(made, 0, &shared)); }
static void forget_shared(void)
{
	if (shared.fd >= 0) close(shared.fd);
	shared.fd = -1;
}
static void send_shared(void)
{
	make_shared();
	CHECK(share());
}
static bool open_shared(void) { return is(tl_tensor_open(&shared)); }

static void in_a_slot(void)
{
	CHECK_OK(tl_mem_function_enter(2));
	made = tl_tensor_in_slot(0, TL_DTYPE_F32, 2, shape);
	CHECK(made != NULL);
}

static void in_a_function(void) { CHECK_OK(tl_mem_function_enter(2)); }
static bool slot(void) { return is(tl_tensor_in_slot(1, TL_DTYPE_F32, 2, shape)); }
static void small_in_scope(void)
{
	const int64_t rows[2] = {6, 30};
	made = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 2, rows);
}

static bool prepare_return(void)
{
	tl_tensor* out = tl_tensor_prepare_return(made);
	if (out == NULL) return false;
	CHECK(out != made);
	made = out;
	return true;
}

static void register_made(void) { CHECK_OK(tl_mem_register(made)); }
static bool register_it(void) { return ok(tl_tensor_register(w.tensor)); }

static void keep_one(void)
{
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 1, long_shape);
	CHECK(tensor != NULL && tl_tensor_promote(tensor) == TL_OK);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_pool_release(tensor, 60000, TL_DTYPE_F32, 0));
}

static bool acquire_kept(void)
{
	tl_clear_error();
	made = tl_pool_acquire(60000, TL_DTYPE_F32, 0);
	return made != NULL || ok(tl_last_status());
}

static void release_kept(void)
{
	if (made != NULL) CHECK_OK(tl_pool_release(made, 60000, TL_DTYPE_F32, 0));
}

static bool record_stream(void) { return ok(tl_tensor_record_stream(w.on_cuda, NULL)); }
static bool sync_stream(void) { return ok(tl_tensor_sync_stream(w.on_cuda, NULL)); }

static const step tensors[] = {
	{.name = "tl_tensor_new", .call = new_f32},
	{.name = "tl_tensor_new_i64", .call = new_i64},
	{.name = "tl_tensor_empty", .call = empty},
	{.name = "tl_tensor_empty", .call = empty_large},
	{.name = "tl_tensor_empty", .call = empty_far},
	{.name = "tl_tensor_new_zeroed", .call = zeros},
	{.name = "tl_tensor_new_zeroed", .call = zeros_far},
	{.name = "tl_tensor_new_zeroed", .call = zeros_cuda},
	{.name = "tl_tensor_empty", .call = empty_shared},
	{.name = "tl_tensor_share", .call = share, .before = make_shared, .finally = forget_shared},
	{.name = "tl_tensor_open", .call = open_shared, .before = send_shared, .finally = forget_shared},
	{.name = "tl_tensor_clone", .call = clone},
	{.name = "tl_tensor_clone", .call = clone_view},
	{.name = "tl_tensor_reserve", .call = reserve, .before = make_small},
	{.name = "tl_tensor_reserve", .call = reserve_much, .before = make_small},
	{.name = "tl_tensor_resize", .call = resize, .before = make_small},
	{.name = "tl_tensor_resize_zeros", .call = resize_zeros, .before = make_small},
	{.name = "tl_tensor_to", .call = to_far},
	{.name = "tl_tensor_to", .call = from_far},
	{.name = "tl_tensor_to", .call = far_to_cuda},
	{.name = "tl_tensor_copy", .call = copy},
	{.name = "tl_tensor_copy", .call = copy_gaps, .before = small_in_scope},
	{.name = "tl_tensor_from_buffer", .call = from_buffer, .before = lend, .finally = take_back},
	{.name = "tl_tensor_wrap", .call = wrap, .before = lend, .finally = take_back},
	{.name = "tl_tensor_in_slot", .call = slot, .before = in_a_function},
	{.name = "tl_tensor_prepare_return", .call = prepare_return, .before = in_a_slot, .undo = register_made},
	{.name = "tl_tensor_register", .call = register_it},
	{.name = "tl_pool_acquire", .call = acquire_kept, .before = keep_one, .undo = release_kept},
	{.name = "tl_tensor_record_stream", .call = record_stream},
	{.name = "tl_tensor_sync_stream", .call = sync_stream}};
const steps tensor_steps = {tensors, sizeof tensors / sizeof *tensors};

/* ---- views, and other libraries -------------------------------------------------------- */

static struct DLManagedTensorVersioned* versioned;
static struct DLManagedTensor* legacy;
static const int64_t axes[2] = {1, 0}, wide[3] = {4, 20, 30}, flat[1] = {600};

static bool reshape(void) { return is(tl_view_reshape(w.tensor, 1, flat)); }
static bool slice(void) { return is(tl_view_slice(w.tensor, 1, 3, 20, 2)); }
static bool slice_axes(void) { return is(tl_view_slice_axes(w.tensor, 2, axes, wide + 1, NULL)); }
static bool transpose(void) { return is(tl_view_transpose(w.tensor, 0, 1)); }
static bool permute(void) { return is(tl_view_permute(w.view, 2, axes)); }
static bool broadcast(void) { return is(tl_view_broadcast_to(w.tensor, 3, wide)); }
static bool expand_dims(void) { return is(tl_view_expand_dims(w.tensor, 1)); }
static bool squeeze(void) { return is(tl_view_squeeze(made, 1)); }
static void make_expanded(void) { CHECK(expand_dims()); }
static bool slice_lent(void) { return is(tl_view_slice(w.lent, 0, 10, 20, 1)); }

static bool to_dlpack(void) { return (versioned = tl_tensor_to_dlpack(w.view, false)) != NULL; }
static bool to_dlpack_copied(void) { return (versioned = tl_tensor_to_dlpack(w.view, true)) != NULL; }
static bool to_dlpack_legacy(void) { return (legacy = tl_tensor_to_dlpack_legacy(w.tensor, false)) != NULL; }
static void end_versioned(void) { versioned->deleter(versioned); }
static void end_legacy(void) { legacy->deleter(legacy); }

/* Structs of another producer, which the tensor takes when it is made. */
static int64_t foreign_shape[1] = {100};
static DLManagedTensorVersioned foreign;
static DLManagedTensor old_foreign;
static bool imported;
static int ended;

static void end_foreign(DLManagedTensorVersioned* self) { ended += self == &foreign; }
static void end_old_foreign(DLManagedTensor* self) { ended += self == &old_foreign; }

static void offer(void)
{
	const DLTensor tensor = {floats, {kDLCPU, 0}, 1, {2, 32, 1}, foreign_shape, NULL, 0};
	foreign = (DLManagedTensorVersioned){.version = {1, 0}, .deleter = end_foreign, .dl_tensor = tensor};
	old_foreign = (DLManagedTensor){.dl_tensor = tensor, .deleter = end_old_foreign};
	imported = false;
	ended = 0;
}

static bool from_dlpack(void) { return imported = is(tl_tensor_from_dlpack(&foreign)); }
static bool from_dlpack_legacy(void) { return imported = is(tl_tensor_from_dlpack_legacy(&old_foreign)); }
static void ended_once(void) { CHECK_INT(ended, imported); }

/* An interpreter that consists of five addresses. */
static char capsule_of_no_object;
static void (*end_of_capsule)(void*);
static void* capsule_new(void* pointer, const char* name, void (*destructor)(void*))
{
	(void)name;
	end_of_capsule = destructor;
	versioned = pointer;
	return &capsule_of_no_object;
}

static int capsule_is_valid(void* capsule, const char* name) { return capsule != NULL && name != NULL; }
static void* capsule_get_pointer(void* capsule, const char* name) { return (void)capsule, (void)name, versioned; }
static void err_set_string(void* exception, const char* text) { (void)exception, (void)text; }

static void attach(void)
{
	const tl_python_api api = {sizeof api,
	                           (void*)(uintptr_t)capsule_new,
	                           (void*)(uintptr_t)capsule_is_valid,
	                           (void*)(uintptr_t)capsule_get_pointer,
	                           (void*)(uintptr_t)err_set_string,
	                           &capsule_of_no_object};
	CHECK_OK(tl_python_attach(&api));
}

static bool capsule(void) { return tl_python_capsule(w.tensor, 1, false) != NULL; }
static bool arrow(void) { return tl_python_arrow(w.tensor, false) != NULL; }
static bool arrow_copied(void) { return tl_python_arrow(w.view, false) != NULL; }
static bool arrow_type(void) { return tl_python_arrow(w.tensor, true) != NULL; }
static void end_capsule(void) { end_of_capsule(&capsule_of_no_object); }

static const step views[] = {
	{.name = "tl_view_reshape", .call = reshape},
	{.name = "tl_view_slice", .call = slice},
	{.name = "tl_view_slice", .call = slice_lent},
	{.name = "tl_view_slice_axes", .call = slice_axes},
	{.name = "tl_view_transpose", .call = transpose},
	{.name = "tl_view_permute", .call = permute},
	{.name = "tl_view_broadcast_to", .call = broadcast},
	{.name = "tl_view_expand_dims", .call = expand_dims},
	{.name = "tl_view_squeeze", .call = squeeze, .before = make_expanded},
	{.name = "tl_tensor_to_dlpack", .call = to_dlpack, .undo = end_versioned},
	{.name = "tl_tensor_to_dlpack", .call = to_dlpack_copied, .undo = end_versioned},
	{.name = "tl_tensor_to_dlpack_legacy", .call = to_dlpack_legacy, .undo = end_legacy},
	{.name = "tl_tensor_from_dlpack", .call = from_dlpack, .before = offer, .finally = ended_once},
	{.name = "tl_tensor_from_dlpack_legacy", .call = from_dlpack_legacy, .before = offer, .finally = ended_once},
	{.name = "tl_python_capsule", .call = capsule, .before = attach, .undo = end_versioned},
	{.name = "tl_python_arrow", .call = arrow, .before = attach, .undo = end_capsule},
	{.name = "tl_python_arrow", .call = arrow_copied, .before = attach, .undo = end_capsule},
	{.name = "tl_python_arrow", .call = arrow_type, .before = attach, .undo = end_capsule}};
const steps view_steps = {views, sizeof views / sizeof *views};

/* ---- sparse matrices ------------------------------------------------------------------- */

enum { ROWS = 60, LENGTH = 300 };
static int64_t lengths[ROWS];
static tl_sparse* matrix;

static bool is_sparse(tl_sparse* made_now)
{
	matrix = made_now;
	return made_now != NULL;
}

static void set_lengths(void)
{
	for (int i = 0; i < ROWS; i++) lengths[i] = LENGTH;
}

static bool create(void)
{
	return is_sparse(tl_sparse_create(TL_SPARSE_CSR, ROWS, LENGTH, TL_DTYPE_F64, TL_DTYPE_I32, lengths, NULL));
}
static bool from_csr(void) { return is_sparse(sparse_sample()); }
static bool from_csc(void)
{
	return is_sparse(tl_sparse_from_csc(SPARSE_COLUMNS, SPARSE_ROWS, SPARSE_NONZEROS, TL_DTYPE_F64, TL_DTYPE_I32,
	                                    sparse_values, sparse_indices, sparse_offsets, &sparse_small));
}

/* The deleter gets the first of the wrapped arrays. */
static bool wrap_owned(void)
{
	double* values = (double*)(void*)lent;
	memcpy(values, sparse_values, sizeof sparse_values);
	return taken_if(is_sparse(tl_sparse_wrap(TL_SPARSE_CSR, SPARSE_ROWS, SPARSE_COLUMNS, SPARSE_NONZEROS, TL_DTYPE_F64,
	                                         TL_DTYPE_I32, values, sparse_indices, sparse_offsets, 0, world_deleter,
	                                         &world_deleter_context)));
}

static bool slice_sparse(void) { return is_sparse(tl_sparse_slice(w.matrix, 1, 4)); }
static bool transpose_sparse(void) { return is_sparse(tl_sparse_transpose(w.matrix)); }

static bool contiguous(void)
{
	tl_tensor *values, *indices, *offsets;
	return ok(tl_sparse_to_contiguous(w.matrix, &values, &indices, &offsets));
}

static bool block_tensors(void)
{
	tl_tensor *values, *indices, *offsets;
	return ok(tl_sparse_block_tensors(w.matrix, 1, &values, &indices, &offsets));
}

static const step sparse[] = {{.name = "tl_sparse_create", .call = create, .before = set_lengths},
                              {.name = "tl_sparse_from_csr", .call = from_csr},
                              {.name = "tl_sparse_from_csc", .call = from_csc},
                              {.name = "tl_sparse_wrap", .call = wrap_owned, .before = lend, .finally = take_back},
                              {.name = "tl_sparse_slice", .call = slice_sparse},
                              {.name = "tl_sparse_transpose", .call = transpose_sparse},
                              {.name = "tl_sparse_to_contiguous", .call = contiguous},
                              {.name = "tl_sparse_block_tensors", .call = block_tensors}};
const steps sparse_steps = {sparse, sizeof sparse / sizeof *sparse};
