/* Views: other shapes and strides over the memory of a tensor. Which there are is shapes/views.h's; runtime/tensor/view.go
 * is the Go side. */
#include "../shapes/views.h"
#include "tensor.h"

#define TLC_INLINE inline __attribute__((always_inline))

/* A view to be made. Its shape and strides are written to where its header is going to be: the slot on top of the
 * magazine, which stays free until share takes it, so a view that is refused leaves nothing to undo. Programs can overwrite
 * that slot through stale pointers, and the header that a view starts from. */
typedef struct view {
	tlc_view at;
	tl_context* c;
	tl_record* storage; /* of the tensor that has the memory */
	uint32_t gen;       /* of its life */
} view;

/* Finds the tensor that has the memory and notes which life of its slot is meant. */
static TLC_INLINE bool find_storage(view* v, uintptr_t base)
{
	tl_record* r;
	if (TLC_UNLIKELY(!tlc_find_record(base, &r))) return false;
	v->gen = atomic_load_explicit(&r->gen, memory_order_acquire); /* before the type */
	v->storage = r;
	return TLC_LIKELY(TLC_LOAD(r->type_flags) == TL_TYPE_TENSOR);
}

/* Begins a view of a tensor of the heap; false: ask Go. A stub fails, its stacks being full. begin is tlc_begin_view, or
 * tlc_begin_bare_view where the operation does not need shape and strides. */
static TLC_INLINE bool look(const tl_tensor* tensor, view* v,
                            uint32_t (*begin)(tlc_view*, const tl_tensor_header*, tl_tensor_header*))
{
	const uintptr_t p = (uintptr_t)tensor;
	tl_context* c = v->c = tlc_tls;
	if (TLC_UNLIKELY(!find_storage(v, p) || !tlc_has_room(c))) return false;
	tl_magazine* m = tlc_magazine_for(c, TLC_TENSOR_HEADER);
	if (TLC_UNLIKELY(m->top <= m->base)) return false;
	if (TLC_UNLIKELY(begin(&v->at, (const tl_tensor_header*)p, (tl_tensor_header*)m->top[-1].object) != 0))
		return false;
	if (TLC_LIKELY(v->at.base == p)) return true; /* hold finds out whether it is live */
	return TLC_LIKELY(tlc_is_live_object(v->storage)) && find_storage(v, v->at.base);
}

/* Takes a reference to the storage. If another thread has dropped the last one since it was found, the record may be
 * another object's: then that object's reference is given back. */
static TLC_INLINE bool hold(const view* v)
{
	if (TLC_UNLIKELY(!tlc_retain_shared(v->storage))) return false;
	if (TLC_LIKELY(TLC_LOAD(v->storage->gen) == v->gen)) return true;
	tlc_give_back(v->storage);
	return false;
}

/* Makes the view that was granted, registered in the current scope; NULL: ask Go, nothing changed.
 * Budget with look, for two axes: one compare-and-swap, about 130 instructions. */
static TLC_INLINE tl_tensor* share(const view* v, uint32_t why)
{
	tl_context* c = v->c;
	if (TLC_UNLIKELY(why != TL_VIEW_GRANTED)) return NULL;
	tl_magazine* m = tlc_magazine_for(c, TLC_TENSOR_HEADER);
	tl_entry e = m->top[-1];
	tlc_end_view(&v->at);
	if (TLC_UNLIKELY(m->allocs + 1 == 0 || !hold(v))) return NULL; /* a sample is the slow path's */
	m->allocs++;
	tlc_set_top(m, m->top - 1);
	tlc_tensor_begin(c, tlc_tag(&e));
	tlc_push(c, e);
	TLC_PROBE_ALLOCATE(e.object, TLC_TENSOR_HEADER);
	return (tl_tensor*)e.object;
}

/* ---- the public functions ---------------------------------------------------------------- */

tl_tensor* tl_view_reshape(tl_tensor* tensor, int64_t rank, const int64_t* shape)
{
	view v;
	tl_tensor* made = look(tensor, &v, tlc_begin_view) ? share(&v, tlc_reshape(&v.at, rank, shape)) : NULL;
	return TLC_LIKELY(made != NULL) ? made : slow_view_reshape(tensor, rank, shape);
}

tl_tensor* tl_view_slice(tl_tensor* tensor, int64_t axis, int64_t start, int64_t stop, int64_t step)
{
	view v;
	tl_tensor* made = look(tensor, &v, tlc_begin_view) ? share(&v, tlc_slice(&v.at, axis, start, stop, step)) : NULL;
	return TLC_LIKELY(made != NULL) ? made : slow_view_slice(tensor, axis, start, stop, step);
}

tl_tensor* tl_view_slice_axes(tl_tensor* tensor, int64_t rank, const int64_t* starts, const int64_t* stops,
                              const int64_t* steps)
{
	view v;
	tl_tensor* made =
		look(tensor, &v, tlc_begin_view) ? share(&v, tlc_slice_axes(&v.at, rank, starts, stops, steps)) : NULL;
	return TLC_LIKELY(made != NULL) ? made : slow_view_slice_axes(tensor, rank, starts, stops, steps);
}

tl_tensor* tl_view_transpose(tl_tensor* tensor, int64_t axis_a, int64_t axis_b)
{
	view v;
	tl_tensor* made = look(tensor, &v, tlc_begin_view) ? share(&v, tlc_transpose(&v.at, axis_a, axis_b)) : NULL;
	return TLC_LIKELY(made != NULL) ? made : slow_view_transpose(tensor, axis_a, axis_b);
}

tl_tensor* tl_view_permute(tl_tensor* tensor, int64_t rank, const int64_t* axes)
{
	view v;
	tl_tensor* made = look(tensor, &v, tlc_begin_bare_view) ? share(&v, tlc_permute(&v.at, rank, axes)) : NULL;
	return TLC_LIKELY(made != NULL) ? made : slow_view_permute(tensor, rank, axes);
}

tl_tensor* tl_view_broadcast_to(tl_tensor* tensor, int64_t rank, const int64_t* shape)
{
	view v;
	tl_tensor* made = look(tensor, &v, tlc_begin_view) ? share(&v, tlc_broadcast(&v.at, rank, shape)) : NULL;
	return TLC_LIKELY(made != NULL) ? made : slow_view_broadcast_to(tensor, rank, shape);
}

tl_tensor* tl_view_squeeze(tl_tensor* tensor, int64_t axis)
{
	view v;
	tl_tensor* made = look(tensor, &v, tlc_begin_view) ? share(&v, tlc_squeeze(&v.at, axis)) : NULL;
	return TLC_LIKELY(made != NULL) ? made : slow_view_squeeze(tensor, axis);
}

tl_tensor* tl_view_expand_dims(tl_tensor* tensor, int64_t axis)
{
	view v;
	tl_tensor* made = look(tensor, &v, tlc_begin_view) ? share(&v, tlc_expand(&v.at, axis)) : NULL;
	return TLC_LIKELY(made != NULL) ? made : slow_view_expand_dims(tensor, axis);
}
