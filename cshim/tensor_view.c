/* Views: other shapes and strides over the memory of a tensor. runtime/tensor/view.go is the Go side. */
#include "tensor.h"

#define TLC_INLINE inline __attribute__((always_inline))

/* What a view is to be. Its shape and strides are written to where its header is going to be: the slot on top of the
 * magazine, which stays free until share takes it, so a view that is refused leaves nothing to undo.
 *
 *	element (i, j, ...) = data + (offset + i*strides[0] + j*strides[1] + ...) * size
 *
 * Programs can overwrite the header that a view starts from, and through stale pointers the slot, at any time. What
 * loops depend on is read once and checked; sums and products of the rest may wrap around. */
typedef struct view {
	tl_context* c;
	tl_record* storage; /* of the tensor that has the memory, never of another view */
	uintptr_t base;     /* that tensor */
	uint32_t gen;       /* of its life */
	uint32_t flags;
	uint8_t dtype, device;
	uint64_t size;  /* of an element */
	uint64_t numel; /* of the tensor that the view starts from */
	uintptr_t data;
	uint64_t offset; /* of the first element, in elements */
	int64_t rank;
	int64_t *shape, *strides;
	const tl_tensor_header* from;
} view;

static inline uint64_t product(int64_t a, int64_t b) { return (uint64_t)a * (uint64_t)b; }

/* Finds the tensor that has the memory and notes which life of its slot is meant. */
static TLC_INLINE bool find_storage(view* v, uintptr_t base)
{
	tl_record* r;
	if (TLC_UNLIKELY(!tlc_find_record(base, &r))) return false;
	v->gen = atomic_load_explicit(&r->gen, memory_order_acquire); /* before the type */
	v->storage = r;
	v->base = base;
	return TLC_LIKELY(TLC_LOAD(r->type_flags) == TL_TYPE_TENSOR);
}

/* How the elements of a tensor of the heap lie; false: ask Go. A stub fails, its stacks being full. */
static TLC_INLINE bool look(const tl_tensor* tensor, view* v)
{
	const uintptr_t p = (uintptr_t)tensor;
	tl_context* c = v->c = tlc_tls;
	if (TLC_UNLIKELY(!find_storage(v, p) || !tlc_has_room(c))) return false;
	const tl_magazine* m = tlc_magazine_for(c, TLC_TENSOR_HEADER);
	if (TLC_UNLIKELY(m->top == m->base)) return false;
	const tl_tensor_header* h = (const tl_tensor_header*)p;
	tl_tensor_header* to = (tl_tensor_header*)m->top[-1].object;
	const uint64_t kind = __atomic_load_n((const tlc_pair*)(const void*)&h->dtype, __ATOMIC_RELAXED);
	v->dtype = (uint8_t)kind;
	v->device = (uint8_t)(kind >> 8);
	v->rank = (uint16_t)(kind >> 16);
	v->flags = (uint32_t)(kind >> 32);
	if (TLC_UNLIKELY(v->dtype >= TL_DTYPES || v->rank > TL_MAX_RANK)) return false;
	v->size = tlc_dtype_bytes[v->dtype];
	if (TLC_UNLIKELY(v->size == 0)) return false;
	v->data = h->data;
	v->numel = h->numel;
	v->offset = 0;
	v->from = h;
	v->shape = to->shape;
	v->strides = to->strides;
	__builtin_memcpy(to->shape, h->shape, sizeof h->shape);
	__builtin_memcpy(to->strides, h->strides, sizeof h->strides);
	if (TLC_LIKELY((v->flags & TL_TENSOR_VIEW) == 0)) return true; /* hold finds out whether it is live */
	return TLC_LIKELY(tlc_is_live_object(v->storage)) && find_storage(v, h->base);
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

/* Completes the header; false: a shape that no tensor has. Strides of axes of one element, and of empty tensors, say
 * nothing of gaps. */
static TLC_INLINE bool describe(const view* v, tl_tensor_header* to)
{
	uint64_t numel = 1, gaps = 0;
	int64_t signs = 0;
	for (int64_t i = v->rank; i-- > 0;) {
		int64_t extent = to->shape[i];
		if (extent != 1) gaps |= (uint64_t)to->strides[i] ^ numel;
		signs |= extent;
		numel *= (uint64_t)extent;
	}
	if (TLC_UNLIKELY(signs < 0)) return false;
	uint32_t flags = TL_TENSOR_VIEW | (v->flags & TL_TENSOR_READ_ONLY);
	if (gaps == 0 || numel == 0) flags |= TL_TENSOR_CONTIGUOUS;
	to->data = v->data + v->offset * v->size;
	to->numel = numel;
	to->nbytes = numel * v->size;
	to->dtype = v->dtype;
	to->device = v->device;
	to->rank = (uint16_t)v->rank;
	to->flags = flags;
	to->base = v->base;
	to->deleter = 0;
	return true;
}

/* Makes the view, registered in the current scope; NULL: ask Go, nothing changed.
 * Budget with look, for two axes: one compare-and-swap, about 130 instructions. */
static TLC_INLINE tl_tensor* share(const view* v)
{
	tl_context* c = v->c;
	tl_magazine* m = tlc_magazine_for(c, TLC_TENSOR_HEADER);
	tl_entry e = m->top[-1];
	if (TLC_UNLIKELY(!describe(v, (tl_tensor_header*)e.object))) return NULL;
	if (TLC_UNLIKELY(m->allocs + 1 == 0 || !hold(v))) return NULL; /* a sample is the slow path's */
	m->top--;
	m->allocs++;
	tlc_tensor_begin(c, tlc_tag(&e));
	tlc_push(c, e);
	TLC_PROBE_ALLOCATE(e.object, TLC_TENSOR_HEADER);
	return (tl_tensor*)e.object;
}

/* ---- arithmetic ------------------------------------------------------------------------
 *
 * Each returns false when there is no such view, or when it is rare: then Go says so, or makes it. */

static inline bool find_axis(const view* v, int64_t a, int64_t* axis)
{
	*axis = a < 0 ? a + v->rank : a;
	return (uint64_t)*axis < (uint64_t)v->rank;
}

static inline bool are_there(int64_t n, const int64_t* numbers)
{
	return (uint64_t)n <= TL_MAX_RANK && (n == 0 || (uintptr_t)numbers >= TL_LOWEST_ADDRESS);
}

static inline bool transpose(view* v, int64_t a, int64_t b)
{
	int64_t i, j;
	if (TLC_UNLIKELY(!find_axis(v, a, &i) || !find_axis(v, b, &j))) return false;
	int64_t extent = v->shape[i], stride = v->strides[i];
	v->shape[i] = v->shape[j];
	v->strides[i] = v->strides[j];
	v->shape[j] = extent;
	v->strides[j] = stride;
	return true;
}

static inline bool permute(view* v, int64_t rank, const int64_t* axes)
{
	unsigned seen = 0;
	if (TLC_UNLIKELY(rank != v->rank || !are_there(rank, axes))) return false;
	for (int64_t i = 0, from; i < rank; i++) {
		if (TLC_UNLIKELY(!find_axis(v, axes[i], &from))) return false;
		seen |= 1u << from;
		v->shape[i] = v->from->shape[from];
		v->strides[i] = v->from->strides[from];
	}
	return TLC_LIKELY(seen == (1u << rank) - 1);
}

/* A position between 0 and the extent; for a slice that runs backwards, between -1 and the extent - 1. */
static inline int64_t clamp(int64_t position, int64_t extent, int64_t step)
{
	int64_t low = step < 0 ? -1 : 0, high = step < 0 ? extent - 1 : extent;
	if (position < 0) position = position + extent < low ? low : position + extent;
	return position > high ? high : position < low ? low : position;
}

/* What a slice takes of an axis: n elements from first on. */
typedef struct part {
	int64_t first, n;
} part;

static __attribute__((noinline)) part any_part(int64_t extent, int64_t start, int64_t stop, int64_t step)
{
	int64_t first = clamp(start, extent, step), last = clamp(stop, extent, step);
	uint64_t distance = (uint64_t)(step < 0 ? first - last : last - first);
	uint64_t pace = step < 0 ? -(uint64_t)step : (uint64_t)step;
	if ((int64_t)distance <= 0) return (part){first, 0};
	return (part){first, (int64_t)(pace == 1 ? distance : (distance - 1) / pace + 1)};
}

static inline part part_of(int64_t extent, int64_t start, int64_t stop, int64_t step)
{
	bool plain = step == 1 && start >= 0 && start <= stop && stop <= extent;
	return TLC_LIKELY(plain) ? (part){start, stop - start} : any_part(extent, start, stop, step);
}

static inline void cut(view* v, int64_t i, int64_t start, int64_t stop, int64_t step)
{
	part p = part_of(v->shape[i], start, stop, step);
	v->shape[i] = p.n;
	if (p.n > 0) v->offset += product(p.first, v->strides[i]);
	if (p.n > 1) v->strides[i] = (int64_t)product(v->strides[i], step);
}

static inline bool slice(view* v, int64_t axis, int64_t start, int64_t stop, int64_t step)
{
	int64_t i;
	if (TLC_UNLIKELY(!find_axis(v, axis, &i) || step == 0)) return false;
	cut(v, i, start, stop, step);
	return true;
}

/* Takes one element of its axis. */
static inline bool pick(view* v, int64_t i, int64_t at)
{
	const int64_t extent = v->shape[i];
	if (at < 0) at += extent;
	v->offset += product(at, v->strides[i]);
	return at >= 0 && at < extent;
}

/* A step of 0 leaves its axis out. */
static inline bool slice_axes(view* v, int64_t n, const int64_t* starts, const int64_t* stops, const int64_t* steps)
{
	if (TLC_UNLIKELY(n > v->rank || !are_there(n, starts) || !are_there(n, stops))) return false;
	if (TLC_UNLIKELY(steps != NULL && !are_there(n, steps))) return false;
	int64_t to = 0;
	for (int64_t i = 0; i < n; i++) {
		int64_t step = steps != NULL ? steps[i] : 1;
		if (step == 0) {
			if (TLC_UNLIKELY(!pick(v, i, starts[i]))) return false;
			continue;
		}
		cut(v, i, starts[i], stops[i], step);
		v->shape[to] = v->shape[i];
		v->strides[to++] = v->strides[i];
	}
	if (to == n) return true;
	for (int64_t i = n; i < v->rank; i++) {
		v->shape[to] = v->shape[i];
		v->strides[to++] = v->strides[i];
	}
	v->rank = to;
	return true;
}

static inline bool squeeze(view* v, int64_t axis)
{
	int64_t i;
	if (TLC_UNLIKELY(!find_axis(v, axis, &i) || v->shape[i] != 1)) return false;
	v->rank--;
	for (; i < v->rank; i++) {
		v->shape[i] = v->shape[i + 1];
		v->strides[i] = v->strides[i + 1];
	}
	return true;
}

static inline bool expand(view* v, int64_t axis)
{
	int64_t i;
	if (TLC_UNLIKELY(v->rank == TL_MAX_RANK)) return false;
	v->rank++;
	if (TLC_UNLIKELY(!find_axis(v, axis, &i))) return false;
	for (int64_t k = v->rank - 1; k > i; k--) {
		v->shape[k] = v->shape[k - 1];
		v->strides[k] = v->strides[k - 1];
	}
	v->shape[i] = v->strides[i] = 1;
	return true;
}

/* An extent that the caller leaves to the runtime. */
enum { KEPT_EXTENT = -1 };

/* Not for views without elements: only then the product of the extents says whether it may overflow. */
static inline bool broadcast(view* v, int64_t rank, const int64_t* shape)
{
	const int64_t lead = rank - v->rank;
	uint64_t bytes = v->size;
	if (TLC_UNLIKELY(!are_there(rank, shape) || lead < 0)) return false;
	for (int64_t i = rank; i-- > lead;) { /* from the back, since each axis moves there */
		int64_t extent = shape[i], has = v->shape[i - lead], stride = v->strides[i - lead];
		if (extent == KEPT_EXTENT) extent = has;
		if (extent != has) {
			if (TLC_UNLIKELY(has != 1)) return false;
			stride = 0;
		}
		v->strides[i] = stride;
		v->shape[i] = extent;
		if (TLC_UNLIKELY(__builtin_mul_overflow(bytes, (uint64_t)extent, &bytes))) return false;
	}
	for (int64_t i = 0; i < lead; i++) {
		v->strides[i] = 0;
		v->shape[i] = shape[i];
		if (TLC_UNLIKELY(__builtin_mul_overflow(bytes, (uint64_t)shape[i], &bytes))) return false;
	}
	v->rank = rank;
	return TLC_LIKELY(bytes - 1 < TLC_TENSOR_SPREAD);
}

/* Shape and strides of the tensor that a reshape starts from. */
typedef struct walk {
	int64_t rank;
	int64_t shape[TL_MAX_RANK], strides[TL_MAX_RANK];
} walk;

/* Neighbouring axes that are steps of one regular walk. */
typedef struct run {
	uint64_t length, stride;
} run;

/* The run that ends with axis *last, which moves in front of it. Axes of one element belong to any run. */
static inline run next_run(const walk* w, int64_t* last)
{
	run r = {1, 0};
	for (; *last >= 0; --*last) {
		uint64_t extent = (uint64_t)w->shape[*last], stride = (uint64_t)w->strides[*last];
		if (extent == 1) continue;
		if (r.length != 1 && stride != r.length * r.stride) break;
		if (r.length == 1) r.stride = stride;
		r.length *= extent;
	}
	return r;
}

/* Finds strides that visit the elements of w in their order; false: there are none. Each run has to be divided among
 * axes of its own, last ones first. */
static bool follow(const walk* w, view* v)
{
	int64_t last = w->rank - 1;
	run r = next_run(w, &last);
	for (int64_t i = v->rank; i-- > 0;) {
		uint64_t extent = (uint64_t)v->shape[i];
		if (extent != 1 && r.length == 1) r = next_run(w, &last);
		v->strides[i] = (int64_t)r.stride;
		if (extent == 1) continue;
		if (extent == 0 || r.length % extent != 0) return false;
		r.length /= extent;
		r.stride *= extent;
	}
	return true;
}

/* Gives the view another shape of as many elements: not 0, nor more than a tensor has. So no extent is 0, and the
 * product of all is right only if all are positive. One extent may be -1. */
static inline bool set_shape(view* v, int64_t rank, const int64_t* shape)
{
	int64_t open = -1;
	uint64_t known = 1;
	if (TLC_UNLIKELY(!are_there(rank, shape) || v->numel - 1 >= TLC_TENSOR_SPREAD)) return false;
	for (int64_t i = 0; i < rank; i++) {
		int64_t extent = shape[i];
		v->shape[i] = extent;
		if (extent == KEPT_EXTENT) {
			if (TLC_UNLIKELY(open >= 0)) return false;
			open = i;
		} else if (TLC_UNLIKELY(__builtin_mul_overflow(known, (uint64_t)extent, &known))) {
			return false;
		}
	}
	v->rank = rank;
	if (open < 0) return known == v->numel;
	if (TLC_UNLIKELY(known == 0 || v->numel % known != 0)) return false;
	v->shape[open] = (int64_t)(v->numel / known);
	return true;
}

static inline bool is_contiguous(const view* v)
{
	uint64_t want = 1;
	for (int64_t i = v->rank; i-- > 0; want *= (uint64_t)v->shape[i])
		if (v->shape[i] != 1 && (uint64_t)v->strides[i] != want) return false;
	return true;
}

static __attribute__((noinline)) bool reshape_with_gaps(view* v, int64_t rank, const int64_t* shape)
{
	walk from = {.rank = v->rank};
	for (int64_t i = 0; i < v->rank; i++) {
		if (TLC_UNLIKELY(v->shape[i] < 0)) return false;
		from.shape[i] = v->shape[i];
		from.strides[i] = v->strides[i];
	}
	return set_shape(v, rank, shape) && follow(&from, v);
}

static inline bool reshape(view* v, int64_t rank, const int64_t* shape)
{
	if (!is_contiguous(v)) return reshape_with_gaps(v, rank, shape);
	if (TLC_UNLIKELY(!set_shape(v, rank, shape))) return false;
	int64_t stride = 1;
	for (int64_t i = rank; i-- > 0;) {
		v->strides[i] = stride;
		stride = (int64_t)product(stride, v->shape[i]);
	}
	return true;
}

/* ---- the public functions ---------------------------------------------------------------- */

tl_tensor* tl_view_reshape(tl_tensor* tensor, int64_t rank, const int64_t* shape)
{
	view v;
	tl_tensor* made = look(tensor, &v) && reshape(&v, rank, shape) ? share(&v) : NULL;
	return TLC_LIKELY(made != NULL) ? made : slow_view_reshape(tensor, rank, shape);
}

tl_tensor* tl_view_slice(tl_tensor* tensor, int64_t axis, int64_t start, int64_t stop, int64_t step)
{
	view v;
	tl_tensor* made = look(tensor, &v) && slice(&v, axis, start, stop, step) ? share(&v) : NULL;
	return TLC_LIKELY(made != NULL) ? made : slow_view_slice(tensor, axis, start, stop, step);
}

tl_tensor* tl_view_slice_axes(tl_tensor* tensor, int64_t rank, const int64_t* starts, const int64_t* stops,
                              const int64_t* steps)
{
	view v;
	tl_tensor* made = look(tensor, &v) && slice_axes(&v, rank, starts, stops, steps) ? share(&v) : NULL;
	return TLC_LIKELY(made != NULL) ? made : slow_view_slice_axes(tensor, rank, starts, stops, steps);
}

tl_tensor* tl_view_transpose(tl_tensor* tensor, int64_t axis_a, int64_t axis_b)
{
	view v;
	tl_tensor* made = look(tensor, &v) && transpose(&v, axis_a, axis_b) ? share(&v) : NULL;
	return TLC_LIKELY(made != NULL) ? made : slow_view_transpose(tensor, axis_a, axis_b);
}

tl_tensor* tl_view_permute(tl_tensor* tensor, int64_t rank, const int64_t* axes)
{
	view v;
	tl_tensor* made = look(tensor, &v) && permute(&v, rank, axes) ? share(&v) : NULL;
	return TLC_LIKELY(made != NULL) ? made : slow_view_permute(tensor, rank, axes);
}

tl_tensor* tl_view_broadcast_to(tl_tensor* tensor, int64_t rank, const int64_t* shape)
{
	view v;
	tl_tensor* made = look(tensor, &v) && broadcast(&v, rank, shape) ? share(&v) : NULL;
	return TLC_LIKELY(made != NULL) ? made : slow_view_broadcast_to(tensor, rank, shape);
}

tl_tensor* tl_view_squeeze(tl_tensor* tensor, int64_t axis)
{
	view v;
	tl_tensor* made = look(tensor, &v) && squeeze(&v, axis) ? share(&v) : NULL;
	return TLC_LIKELY(made != NULL) ? made : slow_view_squeeze(tensor, axis);
}

tl_tensor* tl_view_expand_dims(tl_tensor* tensor, int64_t axis)
{
	view v;
	tl_tensor* made = look(tensor, &v) && expand(&v, axis) ? share(&v) : NULL;
	return TLC_LIKELY(made != NULL) ? made : slow_view_expand_dims(tensor, axis);
}
