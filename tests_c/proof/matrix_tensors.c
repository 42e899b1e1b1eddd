/* Fixtures with data: tensors, what DLPack carries, sparse matrices. */
#include "matrix.h"

#include "sparse.h"

const int64_t matrix_shape[8] = {2, 3, 1, 1, 1, 1, 1, 1};

/* ---- tensors --------------------------------------------------------------------------- */

static float lent_data[SHAPE_ELEMENTS] __attribute__((aligned(64)));

static void lent_back(void* ptr, void* ctx)
{
	(void)ptr;
	(void)ctx;
}

static tl_tensor* f32(void) { return tl_tensor_new_zeroed(TL_DTYPE_F32, TL_DEVICE_CPU, SHAPE_RANK, matrix_shape); }

static tl_tensor* of_elements(int64_t elements) { return tl_tensor_empty(TL_DTYPE_U8, TL_DEVICE_CPU, 1, &elements); }

static tl_tensor* read_only(void)
{
	tl_tensor_info info = {.struct_size = sizeof info,
	                       .data = lent_data,
	                       .shape = matrix_shape,
	                       .rank = SHAPE_RANK,
	                       .flags = TL_TENSOR_FLAG_READ_ONLY};
	return tl_tensor_wrap(&info, NULL, NULL);
}

static void tensor_there(void* out)
{
	tl_mem_enter_scope();
	*(tl_tensor**)out = tl_tensor_acquire(f32());
	tl_mem_exit_scope();
}

static tl_tensor* of_another(void)
{
	tl_tensor* tensor = NULL;
	elsewhere(tensor_there, &tensor);
	return tensor;
}

static void keep_struct(struct DLManagedTensorVersioned* self) { (void)self; }
static void keep_struct_legacy(struct DLManagedTensor* self) { (void)self; }

/* The structs of a producer whose memory stays. */
void lend(fixture* f)
{
	static int64_t shape[SHAPE_RANK] = {2, 3, 1};
	DLTensor t = {.data = lent_data, .device = {kDLCPU, 0}, .ndim = SHAPE_RANK, .dtype = {2, 32, 1}, .shape = shape};
	f->lent = (DLManagedTensorVersioned){.version = {1, 0}, .deleter = keep_struct, .dl_tensor = t};
	f->lent_legacy = (DLManagedTensor){.dl_tensor = t, .deleter = keep_struct_legacy};
}

static tl_tensor* imported(fixture* f)
{
	lend(f);
	return tl_tensor_from_dlpack(&f->lent);
}

enum {
	TENSOR_POOLED = 11,
	TENSOR_POOLED_DATA,
	TENSOR_DATA = 20,
	TENSOR_LARGE_DATA,
	TENSOR_DEVICE_DATA,
	TENSOR_VIEW_DATA
};

static tl_tensor* tensor_of(intptr_t which, fixture* f)
{
	static const int64_t none = 0;
	switch (which) {
	case 0: return f32();
	case 1: return tl_tensor_new_zeroed(TL_DTYPE_F64, TL_DEVICE_CPU, 0, NULL);
	case 2: return tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 1, &none);
	case 3: return tl_view_transpose(f->owned[1] = f32(), 0, 1);
	case 4: return tl_view_slice(f->owned[1] = f32(), 1, 2, -10, -1);
	case 5:
		return tl_tensor_from_buffer(TL_DTYPE_F32, TL_DEVICE_CPU, SHAPE_RANK, matrix_shape, lent_data, NULL, lent_back,
		                             NULL);
	case 6: return read_only();
	case 7: return tl_tensor_new_zeroed(TL_DTYPE_F32, world_device, SHAPE_RANK, matrix_shape);
	case 8: return imported(f);
	case 9: return of_another();
	case 10: return of_elements(300000);
	case TENSOR_POOLED: return of_elements(SHAPE_ELEMENTS);
	case TENSOR_POOLED_DATA: return of_elements(77);
	case 13: tl_ptr_dec_ref(f->owned[1] = f32()); return f->owned[1];
	case 14: return tl_tensor_promote(f->owned[1] = f32()) == TL_OK ? f->owned[1] : NULL;
	case 15: return tl_tensor_acquire(f->owned[1] = f32());
	case TENSOR_LARGE_DATA: return of_elements(300000);
	case TENSOR_DEVICE_DATA: return tl_tensor_new_zeroed(TL_DTYPE_F32, world_device, SHAPE_RANK, matrix_shape);
	case TENSOR_VIEW_DATA: return tl_view_slice(f->owned[1] = f32(), 0, 1, 2, 1);
	default: return f32();
	}
}

void make_tensor(fixture* f, intptr_t which, intptr_t offset)
{
	tl_tensor* tensor = tensor_of(which, f);
	f->absent = tensor == NULL;
	f->object = f->owned[0] = tensor;
	f->pointer = (char*)tensor + offset;
	if (which >= TENSOR_DATA || which == TENSOR_POOLED_DATA) f->pointer = (char*)tl_tensor_data(tensor) + offset;
}

/* The last reference goes when all fixtures are made: the pool then keeps the tensor. */
void ripen_tensor(fixture* f, intptr_t which, intptr_t offset)
{
	(void)which;
	(void)offset;
	release_all(f->owned[0]);
	f->object = f->owned[0] = NULL;
}

/* What a consumer of DLPack holds: the struct, or an address in it. */
void make_exported(fixture* f, intptr_t legacy, intptr_t offset)
{
	tl_tensor* tensor = f32();
	void* at = legacy ? (void*)(f->exported_legacy = tl_tensor_to_dlpack_legacy(tensor, false))
	                  : (void*)(f->exported = tl_tensor_to_dlpack(tensor, false));
	f->absent = at == NULL;
	f->owned[0] = tensor;
	f->pointer = (char*)at + offset;
}

/* ---- sparse matrices ---------------------------------------------------------------------- */

static tl_sparse* wrapped(void)
{
	return tl_sparse_wrap(TL_SPARSE_CSR, SPARSE_ROWS, SPARSE_COLUMNS, SPARSE_NONZEROS, TL_DTYPE_F64, TL_DTYPE_I32,
	                      sparse_values, sparse_indices, sparse_offsets, 0, lent_back, NULL);
}

enum { SPARSE_MEMORY = 10, SPARSE_VALUES, SPARSE_INDICES, SPARSE_LINES, SPARSE_VIEW };

static void* part_of(tl_sparse* matrix, intptr_t which, fixture* f)
{
	tl_sparse_block_info info = {.struct_size = sizeof info};
	tl_tensor *values = NULL, *indices = NULL, *offsets = NULL;
	if (tl_sparse_block(matrix, 0, &info) != TL_OK) return NULL;
	switch (which) {
	case SPARSE_MEMORY: return f->owned[1] = info.memory; /* a call may hold it beyond the matrix */
	case SPARSE_VALUES: return info.values;
	case SPARSE_INDICES: return info.indices;
	case SPARSE_LINES: return (void*)(uintptr_t)info.offsets;
	default:
		tl_sparse_block_tensors(matrix, 0, &values, &indices, &offsets);
		f->owned[1] = indices;
		f->owned[2] = offsets;
		return f->owned[3] = values;
	}
}

void make_sparse(fixture* f, intptr_t which, intptr_t offset)
{
	void* matrix = which == 3 ? wrapped() : sparse_sample();
	f->absent = matrix == NULL;
	f->owned[0] = matrix;
	if (which == 1) matrix = f->owned[1] = tl_sparse_transpose(matrix);
	if (which == 2) matrix = f->owned[1] = tl_sparse_slice(matrix, 1, 4);
	if (which >= SPARSE_MEMORY) matrix = part_of(matrix, which, f);
	f->object = which == SPARSE_VALUES || which == SPARSE_INDICES || which == SPARSE_LINES ? f->owned[0] : matrix;
	f->pointer = (char*)matrix + offset;
}
