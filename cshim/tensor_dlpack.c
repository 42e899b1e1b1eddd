/* DLPack: exporting without Go, deleters, and the call that Go cannot make. */
#include "generated_dtypes.h"
#include "object_held.h"
#include "tensor.h"

#include "tensor_dlpack.h"

_Static_assert(sizeof(tl_dl_tensor) == 48 && sizeof(struct DLManagedTensorVersioned) == 80 &&
                   sizeof(struct DLManagedTensor) == 64,
               "DLPack's ABI");

_Static_assert((int)TL_DL_TYPES == (int)TL_DTYPES, "a type for each dtype");

enum { DL_INT, DL_UINT, DL_FLOAT, DL_BFLOAT = 4, DL_COMPLEX, DL_BOOL };

#define DL_TYPE(name, bytes, kind, arrow) [TL_DTYPE_##name] = {DL_##kind, 8 * bytes, 1},
const tl_dl_type tlc_dl_types[TL_DTYPES] = {TLC_EACH_DTYPE(DL_TYPE)};

/* ---- exporting ----------------------------------------------------------------------- */

/* Adds a reference to a tensor on the heap that fits DLPack as it is and has none of these flags,
 * and returns a block of n bytes for the consumer's struct; NULL: ask Go, nothing changed. No block
 * is taken for a tensor that Go refuses, because a block that is a sample is counted before Go
 * makes it. */
static void* export(tl_tensor* tensor, size_t n, uint32_t refused)
{
	tl_context* c = tlc_tls;
	tl_record* r = tlc_tensor_record(c, (uintptr_t)tensor);
	if (TLC_UNLIKELY(r == NULL || !tlc_is_live_object(r))) return NULL;
	const tl_tensor_header* h = (const tl_tensor_header*)tensor;
	if (TLC_UNLIKELY(h->dtype >= TL_DTYPES || h->device != TL_DEVICE_CPU || h->rank > TL_MAX_RANK)) return NULL;
	if (TLC_UNLIKELY((h->flags & refused) != 0)) return NULL;
	void* block = tlc_held_take(c, n);
	if (TLC_UNLIKELY(block == NULL)) return NULL;
	if (TLC_LIKELY(tlc_retain_shared(r))) return block;
	tlc_held_drop(c, (uintptr_t)block);
	return NULL;
}

/* The same of a copy, which the consumer's struct alone holds; *tensor becomes the copy. */
static void* export_copy(tl_tensor** tensor, size_t n)
{
	tl_tensor* copied = tlc_tensor_clone(*tensor);
	if (TLC_UNLIKELY(copied == NULL)) return NULL;
	void* block = export(copied, n, 0);
	tl_tensor_free(copied);
	*tensor = copied;
	return block;
}

static inline void describe(tl_dl_tensor* to, tl_tensor_header* h)
{
	*to = (tl_dl_tensor){
		.data = h->numel != 0 ? (void*)h->data : NULL,
		.device_type = TL_DL_CPU,
		.ndim = h->rank,
		.dtype = tlc_dl_types[h->dtype],
		.shape = h->shape,
		.strides = h->strides,
	};
}

typedef uintptr_t (*twin)(uintptr_t context, uintptr_t tensor, uint8_t copy);

/* The slow path of the function that the program has called. */
static __attribute__((noinline)) void* export_slowly(tl_tensor* tensor, bool copy, uint32_t function, twin to_dlpack)
{
	tl_status why;
	tl_context* c = tlc_entry_begin(function, &why);
	if (c == NULL) return NULL;
	uintptr_t made;
	do made = to_dlpack((uintptr_t)c, (uintptr_t)tensor, copy);
	while (made == 0 && tlc_entry_again(c));
	tlc_entry_end(c);
	return (void*)made;
}

struct DLManagedTensorVersioned* tlc_to_dlpack(tl_tensor* tensor, bool copy, uint32_t function)
{
	tl_tensor* out = tensor;
	struct DLManagedTensorVersioned* made = copy ? export_copy(&out, sizeof *made) : export(tensor, sizeof *made, 0);
	if (TLC_UNLIKELY(made == NULL)) return export_slowly(tensor, copy, function, tlgo_tensor_to_dlpack);
	tl_tensor_header* h = (tl_tensor_header*)out;
	made->major = TL_DL_MAJOR;
	made->minor = TL_DL_MINOR;
	made->manager_ctx = out;
	made->deleter = tlc_dlpack_delete;
	made->flags = copy ? TL_DL_COPIED : (h->flags & TL_TENSOR_READ_ONLY) != 0 ? TL_DL_READ_ONLY : 0;
	describe(&made->tensor, h);
	return made;
}

struct DLManagedTensorVersioned* tl_tensor_to_dlpack(tl_tensor* tensor, bool copy)
{
	return tlc_to_dlpack(tensor, copy, TL_FN_tl_tensor_to_dlpack);
}

struct DLManagedTensor* tlc_to_dlpack_legacy(tl_tensor* tensor, bool copy, uint32_t function)
{
	tl_tensor* out = tensor;
	struct DLManagedTensor* made =
		copy ? export_copy(&out, sizeof *made) : export(tensor, sizeof *made, TL_TENSOR_READ_ONLY);
	if (TLC_UNLIKELY(made == NULL)) return export_slowly(tensor, copy, function, tlgo_tensor_to_dlpack_legacy);
	tl_tensor_header* h = (tl_tensor_header*)out;
	made->manager_ctx = out;
	made->deleter = tlc_dlpack_delete_legacy;
	describe(&made->tensor, h);
	return made;
}

struct DLManagedTensor* tl_tensor_to_dlpack_legacy(tl_tensor* tensor, bool copy)
{
	return tlc_to_dlpack_legacy(tensor, copy, TL_FN_tl_tensor_to_dlpack_legacy);
}

/* The block is freed first: a second call of the deleter finds it dead and leaves the tensor alone. */
void tlc_dlpack_delete(struct DLManagedTensorVersioned* self)
{
	tl_tensor* tensor = self->manager_ctx;
	if (tlc_held_free(self) == TL_OK) tl_tensor_release(tensor);
}

void tlc_dlpack_delete_legacy(struct DLManagedTensor* self)
{
	tl_tensor* tensor = self->manager_ctx;
	if (tlc_held_free(self) == TL_OK) tl_tensor_release(tensor);
}

/* ---- importing ------------------------------------------------------------------------- */

/* Of another major version nothing is known but that its deleter ends it, and nobody
 * else is going to call that. Not from Go: it may be anything. */
tl_tensor* tl_tensor_from_dlpack(struct DLManagedTensorVersioned* managed)
{
	const bool known = (uintptr_t)managed >= TL_LOWEST_ADDRESS && managed->major == TL_DL_MAJOR;
	const uint32_t flags = known && (managed->flags & TL_DL_READ_ONLY) != 0 ? TL_TENSOR_READ_ONLY : 0;
	tl_tensor* tensor = known ? tlc_borrow(&managed->tensor, flags, tlc_dlpack_end, managed) : NULL;
	if (tensor == NULL) tensor = slow_tensor_from_dlpack(managed);
	if (TLC_LIKELY(tensor != NULL) || (uintptr_t)managed < TL_LOWEST_ADDRESS) return tensor;
	if (managed->major != TL_DL_MAJOR && managed->deleter != NULL) managed->deleter(managed);
	return NULL;
}

tl_tensor* tl_tensor_from_dlpack_legacy(struct DLManagedTensor* managed)
{
	tl_tensor* tensor = NULL;
	if ((uintptr_t)managed >= TL_LOWEST_ADDRESS)
		tensor = tlc_borrow(&managed->tensor, 0, tlc_dlpack_end_legacy, managed);
	return TLC_LIKELY(tensor != NULL) ? tensor : slow_tensor_from_dlpack_legacy(managed);
}

void tlc_dlpack_end(void* data, void* managed)
{
	struct DLManagedTensorVersioned* m = managed;
	(void)data;
	if (m->deleter != NULL) m->deleter(m);
}

void tlc_dlpack_end_legacy(void* data, void* managed)
{
	struct DLManagedTensor* m = managed;
	(void)data;
	if (m->deleter != NULL) m->deleter(m);
}
