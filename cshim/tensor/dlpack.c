/* DLPack: exporting without Go, deleters, and the call that Go cannot make. */
#include "../object/held.h"
#include "tensor.h"
#include "dlpack.h"

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

/* The slow path of the function that the program has called. */
static __attribute__((noinline)) void* export_slowly(tl_tensor* tensor, bool copy, bool legacy, uint32_t function)
{
	tl_status why;
	tl_context* c = tlc_entry_begin(function, &why);
	if (c == NULL) return NULL;
	uintptr_t made;
	do made = (legacy ? tlgo_tensor_to_dlpack_legacy : tlgo_tensor_to_dlpack)((uintptr_t)c, (uintptr_t)tensor, copy);
	while (made == 0 && tlc_entry_again(c));
	tlc_entry_end(c);
	return (void*)made;
}

void* tlc_to_dlpack(tl_tensor* tensor, bool copy, bool legacy, uint32_t function)
{
	const size_t n = legacy ? sizeof(tl_dl_managed) : sizeof(tl_dl_versioned);
	tl_tensor* held = tensor;
	void* made = copy ? export_copy(&held, n) : export(tensor, n, legacy ? TL_TENSOR_READ_ONLY : 0);
	if (TLC_UNLIKELY(made == NULL)) return export_slowly(tensor, copy, legacy, function);
	tl_tensor_header* h = (tl_tensor_header*)held;
	const tl_dl_tensor where = {.data = h->numel != 0 ? (void*)h->data : NULL, .device_type = TL_DL_CPU};
	tlc_dl_fill(made, h, &where, copy, legacy, (uintptr_t)(legacy ? tlc_dlpack_delete_legacy : tlc_dlpack_delete));
	return made;
}

struct DLManagedTensorVersioned* tl_tensor_to_dlpack(tl_tensor* tensor, bool copy)
{
	return tlc_to_dlpack(tensor, copy, false, TL_FN_tl_tensor_to_dlpack);
}

struct DLManagedTensor* tl_tensor_to_dlpack_legacy(tl_tensor* tensor, bool copy)
{
	return tlc_to_dlpack(tensor, copy, true, TL_FN_tl_tensor_to_dlpack_legacy);
}

/* The block is freed first: a second call of the deleter finds it dead and leaves the tensor alone. */
void tlc_dlpack_delete(void* self)
{
	tl_tensor* tensor = ((tl_dl_versioned*)self)->manager_ctx;
	if (tlc_held_free(self) == TL_OK) tl_tensor_release(tensor);
}

void tlc_dlpack_delete_legacy(void* self)
{
	tl_tensor* tensor = ((tl_dl_managed*)self)->manager_ctx;
	if (tlc_held_free(self) == TL_OK) tl_tensor_release(tensor);
}

/* ---- importing ------------------------------------------------------------------------- */

static void delete(uintptr_t deleter, void* managed)
{
	if (deleter != 0) ((void (*)(void*))deleter)(managed);
}

/* Of another major version nothing is known but that its deleter ends it, and nobody
 * else is going to call that. Not from Go: it may be anything. */
tl_tensor* tl_tensor_from_dlpack(struct DLManagedTensorVersioned* managed)
{
	const tl_dl_versioned* m = (const tl_dl_versioned*)managed;
	const bool known = (uintptr_t)m >= TL_LOWEST_ADDRESS && m->major == TL_DL_MAJOR;
	const uint32_t flags = known && (m->flags & TL_DL_READ_ONLY) != 0 ? TL_TENSOR_READ_ONLY : 0;
	tl_tensor* tensor = known ? tlc_borrow(&m->tensor, flags, tlc_dlpack_end, managed) : NULL;
	if (tensor == NULL) tensor = slow_tensor_from_dlpack(managed);
	if (TLC_LIKELY(tensor != NULL) || (uintptr_t)m < TL_LOWEST_ADDRESS) return tensor;
	if (m->major != TL_DL_MAJOR) delete (m->deleter, managed);
	return NULL;
}

tl_tensor* tl_tensor_from_dlpack_legacy(struct DLManagedTensor* managed)
{
	tl_tensor* tensor = NULL;
	if ((uintptr_t)managed >= TL_LOWEST_ADDRESS)
		tensor = tlc_borrow(&((tl_dl_managed*)managed)->tensor, 0, tlc_dlpack_end_legacy, managed);
	return TLC_LIKELY(tensor != NULL) ? tensor : slow_tensor_from_dlpack_legacy(managed);
}

void tlc_dlpack_end(void* data, void* managed)
{
	(void)data;
	delete (((tl_dl_versioned*)managed)->deleter, managed);
}

void tlc_dlpack_end_legacy(void* data, void* managed)
{
	(void)data;
	delete (((tl_dl_managed*)managed)->deleter, managed);
}
