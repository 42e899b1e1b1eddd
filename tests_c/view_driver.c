/* Random views, drawn from a seed: `view_driver SEED SCOPES OVERWRITES` prints what each call has made or refused, of
 * tensors whose headers the program writes to when OVERWRITES is 1. tests_go/paths compares the lines of both paths. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tl_runtime.h>

#include "sparse.h"

enum { LIVE = 24, MAX_RANK = 8 };

static uint64_t state;
static tl_tensor* live[LIVE];
static tl_ref refs[LIVE]; /* to them; the paths need not use the same addresses again */
static char lent[4096];
static int ended;

static uint64_t draw(uint64_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % below;
}

static bool chance(unsigned percent) { return draw(100) < percent; }

/* A number that a caller may pass where one near some extent is meant. */
static int64_t number(int64_t extent)
{
	static const int64_t odd[] = {INT64_MIN, INT64_MAX, -1, 0, 1, 100, -100, INT64_MIN + 1, (int64_t)1 << 62};
	if (chance(8)) return odd[draw(sizeof odd / sizeof *odd)];
	return (int64_t)draw((uint64_t)(2 * extent + 3)) - extent - 1;
}

static int64_t step(void)
{
	static const int64_t steps[] = {1, 1, 1, 1, 2, 3, -1, -1, -2, 0, INT64_MIN, INT64_MAX};
	return steps[draw(sizeof steps / sizeof *steps)];
}

static int64_t draw_shape(int64_t* shape)
{
	int64_t rank = (int64_t)draw(chance(10) ? 9 : 5);
	for (int64_t i = 0; i < rank; i++) shape[i] = chance(6) ? 0 : chance(25) ? 1 : 1 + (int64_t)draw(5);
	return rank;
}

static void note_end(void* data, void* ctx)
{
	(void)data, (void)ctx;
	ended++;
}

/* A tensor to start from: of the heap, lent with strides of any kind, read-only, or in a slot. */
static tl_tensor* make(void)
{
	int64_t shape[MAX_RANK] = {0}, strides[MAX_RANK], rank = draw_shape(shape);
	int32_t dtype = chance(50) ? TL_DTYPE_F32 : chance(50) ? TL_DTYPE_C128 : TL_DTYPE_U8;
	if (chance(5)) return tl_tensor_in_slot((int64_t)draw(2), dtype, rank, shape);
	if (chance(60)) return tl_tensor_empty(dtype, 0, rank, shape);
	for (int64_t i = 0; i < rank; i++) strides[i] = (int64_t)draw(9) - 4;
	tl_tensor_info info = {.struct_size = sizeof info, .data = lent + 2048, .shape = shape, .rank = (int32_t)rank};
	info.strides = chance(70) ? strides : NULL;
	info.dtype = dtype;
	info.flags = chance(50) ? TL_TENSOR_FLAG_READ_ONLY : 0;
	return tl_tensor_wrap(&info, note_end, NULL);
}

/* What the call has made, in terms that do not depend on addresses. */
static void show(const char* call, tl_tensor* from, tl_tensor* made)
{
	tl_tensor_info info = {.struct_size = sizeof info}, source = info;
	if (made == NULL) {
		const char* text = tl_last_error();
		printf("%s refused %d %s\n", call, (int)tl_last_status(), strstr(text, "0x") == NULL ? text : "");
		tl_clear_error();
		return;
	}
	tl_tensor_info_get(made, &info);
	tl_tensor_info_get(from, &source);
	printf("%s rank %d dtype %d device %d flags %u numel %" PRId64 " nbytes %zu last %d |", call, info.rank, info.dtype,
	       info.device, info.flags, info.numel, info.nbytes, (int)tl_last_status());
	for (int i = 0; i < info.rank; i++) printf(" %" PRId64 ":%" PRId64, info.shape[i], info.strides[i]);
	int64_t place = info.data != NULL && source.data != NULL ? (char*)info.data - (char*)source.data : 0;
	printf(" | at %" PRId64 " counts %" PRId64 " %" PRId64 " %" PRId64 "\n", place, tl_ptr_refcount(made),
	       tl_ptr_refcount(info.base), tl_ptr_refcount(from));
	tl_clear_error();
}

static void put(unsigned i, tl_tensor* t)
{
	live[i] = t;
	refs[i] = tl_ref_of(t);
	tl_clear_error(); /* a tensor in a slot has none */
}

static bool is_gone(unsigned i)
{
	if (refs[i] == 0) return live[i] != NULL && tl_ptr_check(live[i]) == TL_E_NOT_LIVE;
	bool gone = tl_ref_check(refs[i]) != TL_OK;
	tl_clear_error();
	return gone;
}

/* What stands in a header, as cshim/tensor.h has it. Programs can write there. */
typedef struct header {
	char* data;
	uint64_t numel, nbytes;
	uint8_t dtype, device;
	uint16_t rank;
	uint32_t flags;
	void* base;
	void* rest[3];
	int64_t shape[MAX_RANK], strides[MAX_RANK];
} header;

static void overwrite(tl_tensor* t)
{
	header* h = (header*)t;
	const unsigned other = (unsigned)draw(LIVE);
	unsigned axis = (unsigned)draw(MAX_RANK);
	switch (draw(6)) {
	case 0: h->strides[axis] = number(100); break;
	case 1: h->shape[axis] = -1 - (int64_t)draw(5); break;
	case 2: h->dtype = (uint8_t)draw(256); break;
	case 3: h->flags ^= TL_TENSOR_FLAG_READ_ONLY; break;
	default:
		h->flags ^= TL_TENSOR_FLAG_VIEW;
		h->base = chance(50)                                              ? (void*)(uintptr_t)draw(1 << 20)
		          : !is_gone(other) && tl_ptr_check(live[other]) == TL_OK ? live[other]
		                                                                  : NULL;
	}
}

static tl_tensor* reshape(tl_tensor* t, int64_t rank, const int64_t* extents)
{
	int64_t shape[MAX_RANK + 1] = {0}, n = rank;
	memcpy(shape, extents, (size_t)rank * sizeof *shape);
	if (rank > 0 && rank < MAX_RANK && chance(30)) { /* split an axis */
		int64_t i = (int64_t)draw((uint64_t)rank), by = 1 + (int64_t)draw(3);
		memmove(shape + i + 1, shape + i, (size_t)(rank - i) * sizeof *shape);
		n++;
		if (shape[i] % by == 0) shape[i] /= by, shape[i + 1] = by;
	} else if (rank > 1 && chance(50)) { /* join two */
		int64_t i = (int64_t)draw((uint64_t)rank - 1);
		shape[i] *= shape[i + 1];
		memmove(shape + i + 1, shape + i + 2, (size_t)(rank - i - 2) * sizeof *shape);
		n--;
	} else if (chance(50)) {
		shape[0] = tl_tensor_numel(t);
		n = 1;
	}
	if (n > 0 && chance(30)) shape[draw((uint64_t)n)] = -1;
	if (n > 0 && chance(10)) shape[draw((uint64_t)n)] = number(5);
	return tl_view_reshape(t, chance(3) ? number(9) : n, chance(2) ? NULL : shape);
}

static tl_tensor* broadcast(tl_tensor* t, int64_t rank, const int64_t* extents)
{
	int64_t shape[2 * MAX_RANK + 1] = {0}, lead = (int64_t)draw(3);
	for (int64_t i = 0; i < lead; i++) shape[i] = chance(95) ? (int64_t)draw(4) : number(4);
	memcpy(shape + lead, extents, (size_t)rank * sizeof *shape);
	for (int64_t i = lead; i < lead + rank; i++)
		if (shape[i] == 1 ? chance(50) : chance(3)) shape[i] = chance(80) ? (int64_t)draw(5) : number(5);
	if (lead + rank > 0 && chance(20)) shape[draw((uint64_t)(lead + rank))] = -1;
	return tl_view_broadcast_to(t, chance(2) ? number(9) : lead + rank, chance(2) ? NULL : shape);
}

static tl_tensor* permute(tl_tensor* t, int64_t rank)
{
	int64_t axes[MAX_RANK + 1] = {0};
	for (int64_t i = 0; i < rank; i++) axes[i] = i;
	for (int64_t i = rank; i-- > 1;) {
		int64_t k = (int64_t)draw((uint64_t)i + 1), axis = axes[i];
		axes[i] = axes[k] - (chance(20) ? rank : 0);
		axes[k] = axis;
	}
	if (rank > 0 && chance(8)) axes[draw((uint64_t)rank)] = number(rank);
	return tl_view_permute(t, chance(3) ? rank + 1 - (int64_t)draw(3) : rank, chance(2) ? NULL : axes);
}

static tl_tensor* slice_axes(tl_tensor* t, int64_t rank, const int64_t* extents)
{
	int64_t starts[MAX_RANK + 2] = {0}, stops[MAX_RANK + 2] = {0}, steps[MAX_RANK + 2] = {0};
	int64_t n = (int64_t)draw((uint64_t)rank + 1) + (chance(3) ? 1 : 0);
	for (int64_t i = 0; i < n; i++) {
		int64_t extent = i < rank ? extents[i] : 1;
		starts[i] = number(extent), stops[i] = number(extent), steps[i] = step();
	}
	n = chance(2) ? number(9) : n;
	return tl_view_slice_axes(t, n, chance(2) ? NULL : starts, chance(2) ? NULL : stops, chance(20) ? NULL : steps);
}

static void call(tl_tensor* t)
{
	int64_t rank = tl_tensor_rank(t), extents[MAX_RANK] = {0};
	if (rank < 0 || rank > MAX_RANK) rank = 0;
	for (int64_t i = 0; i < rank; i++) extents[i] = tl_tensor_dim(t, i);
	int64_t axis = number(rank), extent = rank > 0 && axis >= 0 && axis < rank ? extents[axis] : 3;
	tl_tensor* made = NULL;
	const char* name = "";
	tl_clear_error();
	switch (draw(8)) {
	case 0: made = reshape(t, rank, extents), name = "reshape"; break;
	case 1: made = tl_view_slice(t, axis, number(extent), number(extent), step()), name = "slice"; break;
	case 2: made = tl_view_transpose(t, axis, number(rank)), name = "transpose"; break;
	case 3: made = permute(t, rank), name = "permute"; break;
	case 4: made = broadcast(t, rank, extents), name = "broadcast_to"; break;
	case 5: made = tl_view_squeeze(t, axis), name = "squeeze"; break;
	case 6: made = tl_view_expand_dims(t, axis), name = "expand_dims"; break;
	default: made = slice_axes(t, rank, extents), name = "slice_axes";
	}
	show(name, t, made);
	if (made != NULL) put((unsigned)draw(LIVE), made);
}

/* Memory of a device of the program's own, and of a block of a matrix. */
static int32_t device;

static void* allocate(void* ctx, size_t bytes)
{
	(void)ctx;
	return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void deallocate(void* ctx, void* block, size_t bytes)
{
	(void)ctx, (void)bytes;
	free(block);
}

static void open_device(void)
{
	const tl_device_allocator allocator = {sizeof allocator, "near:0", 64, NULL, allocate, deallocate};
	const tl_device_copier copier = {.struct_size = sizeof copier, .host_access = 1};
	if (tl_device_register(&allocator, &copier, &device) != TL_OK) exit(3);
}

static void count(void)
{
	tl_stats s = {.struct_size = sizeof s};
	tl_stats_get(&s);
	printf("live %" PRIu64 " of %" PRIu64 " bytes, tensors %" PRIu64 " of %" PRIu64 " bytes, ever %" PRIu64 " %" PRIu64
	       " %" PRIu64 ", entries %" PRIu64 ", ended %d\n",
	       s.live_objects, s.live_bytes, s.tensors_live, s.tensor_bytes, s.allocations, s.frees, s.tensor_allocations,
	       s.scope_entries, ended);
}

/* Views are made of tensors and of each other in a scope. Some are freed by hand, some outlive the reference to their
 * storage, and the scope takes the rest. */
static void scope(long calls, bool overwrites)
{
	const int64_t shape[3] = {2, 3, 4};
	tl_mem_enter_scope();
	tl_mem_function_enter(2);
	tl_sparse_block_info block = {.struct_size = sizeof block};
	if (tl_sparse_block(sparse_sample(), 0, &block) != TL_OK) exit(3);
	for (unsigned i = 0; i < LIVE; i++) put(i, make());
	put(0, block.memory);
	put(1, tl_tensor_empty(TL_DTYPE_F32, device, 3, shape));
	put(2, tl_mem_new(256));
	put(3, NULL);
	put(4, (tl_tensor*)lent);
	for (long i = 0; i < calls; i++) {
		const unsigned t = (unsigned)draw(LIVE);
		if (is_gone(t)) put(t, make());
		if (overwrites && t > 4 && chance(5) && tl_ptr_check(live[t]) == TL_OK) overwrite(live[t]);
		if (chance(4)) {
			printf("free %d\n", (int)tl_tensor_free(live[t]));
			tl_clear_error();
		}
		call(live[t]);
	}
	tl_mem_function_exit();
	tl_mem_exit_scope();
	count();
}

int main(int argc, char** argv)
{
	if (argc != 4) return 2;
	state = strtoull(argv[1], NULL, 0);
	open_device();
	for (long i = 0; i < atol(argv[2]); i++) scope(200, atoi(argv[3]) != 0);
	return 0;
}
