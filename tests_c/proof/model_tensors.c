/* Tensors: what they are said to be, and their elements. */
#include <stdlib.h>
#include <string.h>

#include "model.h"

/* ---- shapes ---------------------------------------------------------------------------------- */

static const struct {
	int32_t dtype;
	size_t bytes;
} dtypes[] = {{TL_DTYPE_F32, 4}, {TL_DTYPE_F64, 8},  {TL_DTYPE_I32, 4},  {TL_DTYPE_I64, 8}, {TL_DTYPE_U8, 1},
              {TL_DTYPE_F16, 2}, {TL_DTYPE_BF16, 2}, {TL_DTYPE_BOOL, 1}, {TL_DTYPE_I16, 2}, {TL_DTYPE_C128, 16}};

size_t dtype_bytes(int32_t dtype)
{
	size_t i = 0;
	while (dtypes[i].dtype != dtype) i++;
	return dtypes[i].bytes;
}

void tensor_rows(shape* s)
{
	s->numel = 1;
	for (int64_t i = s->rank - 1; i >= 0; i--) {
		s->strides[i] = s->numel;
		s->numel *= s->dims[i];
	}
}

/* Row-major without gaps; where an axis has one element its stride says nothing. */
bool contiguous(const shape* s)
{
	int64_t wanted = 1;
	if (s->numel == 0) return true;
	for (int64_t i = s->rank - 1; i >= 0; i--) {
		if (s->dims[i] != 1 && s->strides[i] != wanted) return false;
		wanted *= s->dims[i];
	}
	return true;
}

bool draw_shape(world* w, shape* s)
{
	static const int64_t extents[] = {1, 2, 3, 4, 5, 2, 3, 0, 7};
	*s = (shape){.dtype = dtypes[draw(w, sizeof dtypes / sizeof dtypes[0])].dtype, .rank = (int64_t)draw(w, 5)};
	for (int64_t i = 0; i < s->rank; i++) s->dims[i] = ONE_OF(w, extents);
	if (chance(w, 5) && s->rank > 0 && s->rank < 3) s->dims[0] = 3000;
	tensor_rows(s);
	if (chance(w, 95)) return true;
	switch (draw(w, 4)) {
	case 0: s->rank = chance(w, 50) ? -1 : 9; break;
	case 1: s->dtype = chance(w, 50) ? 7 : -1; break;
	case 2:
		s->rank = 2;
		s->dims[0] = -(int64_t)draw(w, 5) - 1;
		s->dims[1] = 3;
		break;
	default: s->rank = 3; s->dims[0] = s->dims[1] = s->dims[2] = INT64_C(1) << 40;
	}
	return false;
}

/* ---- memory that is lent ------------------------------------------------------------------------ */

lease* lend(size_t bytes)
{
	lease* l = calloc(1, sizeof *l);
	if (l == NULL || (l->memory = aligned_alloc(64, (bytes + 127) / 64 * 64)) == NULL) abort();
	l->data = l->memory;
	return l;
}

void lent_back(void* data, void* ctx)
{
	const lease* l = ctx;
	if (data != l->data) fail(here, "the deleter of item %" PRIu64 " got %p, must be %p", l->id, data, (void*)l->data);
	event_add(DELETED, l->id, NULL);
}

/* ---- contents ------------------------------------------------------------------------------------- */

/* Its elements have their own pattern, wherever they are. */
static item as_bytes(const item* it)
{
	return (item){.id = it->shape->pattern,
	              .pattern = it->shape->pattern,
	              .kind = FOREIGN,
	              .at = it->shape->from,
	              .bytes = it->shape->bytes};
}

void tensor_fill(const item* it)
{
	item bytes = as_bytes(it);
	if (bytes.bytes > 0) fill(&bytes);
}

void tensor_verify(world* w, const item* it)
{
	item bytes = as_bytes(it);
	if (bytes.bytes > 0 && it->life == LIVE) verify(w, &bytes);
}

item* tensor_made(world* w, tl_tensor* at, unsigned set, const shape* like)
{
	item* it = made(w, TENSOR, at, 32, set);
	if (it == NULL) return NULL;
	it->bytes = 0;
	it->shape = malloc(sizeof *it->shape);
	if (it->shape == NULL) abort();
	*it->shape = *like;
	enlist_new(w, it);
	return it;
}

/* A tensor with memory of its own. */
item* tensor_own(world* w, tl_tensor* at, unsigned set, const shape* like)
{
	item* it = tensor_made(w, at, set, like);
	if (it == NULL) return NULL;
	shape* s = it->shape;
	s->data = tl_tensor_data(at);
	s->from = s->data;
	s->bytes = (size_t)s->numel * dtype_bytes(s->dtype);
	s->pattern = it->id;
	s->lease = NULL;
	s->flags = 0;
	want_true(w, s->numel > 0 ? s->data != NULL && (uintptr_t)s->data % 64 == 0 : s->data == NULL,
	          "the address of the data");
	return it;
}

/* ---- what a tensor is said to be --------------------------------------------------------------------- */

static void check_axes(world* w, const shape* s, const int64_t* dims, const int64_t* strides)
{
	for (int64_t i = 0; i < s->rank; i++) {
		want_int(w, dims[i], s->dims[i], "an extent");
		if (s->dims[i] > 1 && s->numel > 0) want_int(w, strides[i], s->strides[i], "a stride");
	}
}

static const item* base_of(const item* it) { return it->shape->flags & TL_TENSOR_FLAG_VIEW ? it->refs[0] : NULL; }

void tensor_check(world* w, const item* it)
{
	const shape* s = it->shape;
	const item* base = base_of(it);
	tl_tensor_info info = {.struct_size = sizeof info};
	note(w, "tl_tensor_info_get(%s)", name(it));
	want(w, tl_tensor_info_get((tl_tensor*)it->at, &info), GOOD);
	want_pointer(w, info.data, s->data, "data");
	want_int(w, info.numel, s->numel, "numel");
	want_int(w, (int64_t)info.nbytes, s->numel * (int64_t)dtype_bytes(s->dtype), "nbytes");
	want_int(w, info.dtype, s->dtype, "dtype");
	want_int(w, info.device, 0, "device");
	want_int(w, info.rank, s->rank, "rank");
	want_int(w, info.flags, s->flags | (contiguous(s) ? TL_TENSOR_FLAG_CONTIGUOUS : 0), "flags");
	want_pointer(w, info.base, base == NULL ? NULL : base->at, "base");
	check_axes(w, s, info.shape, info.strides);
}

static void ask(world* w)
{
	unsigned set;
	operand o = draw_tensor(w, &set);
	const tl_tensor* t = (tl_tensor*)o.at;
	const shape* s = is_tensor(&o) ? o.it->shape : NULL;
	int64_t none = o.at == NULL ? 0 : -1;
	note(w, "what is %s", o.name);
	switch (draw(w, 10)) {
	case 0: want_pointer(w, tl_tensor_data(t), s != NULL ? s->data : NULL, "tl_tensor_data"); break;
	case 1:
		want_int(w, (int64_t)tl_tensor_nbytes(t), s != NULL ? s->numel * (int64_t)dtype_bytes(s->dtype) : 0,
		         "tl_tensor_nbytes");
		break;
	case 2:
		want_int(w, chance(w, 50) ? tl_tensor_numel(t) : tl_tensor_len(t), s != NULL ? s->numel : none,
		         "tl_tensor_numel");
		break;
	case 3: want_int(w, tl_tensor_rank(t), s != NULL ? s->rank : none, "tl_tensor_rank"); break;
	case 4: want_int(w, tl_tensor_dtype(t), s != NULL ? s->dtype : none, "tl_tensor_dtype"); break;
	case 5: want_int(w, tl_tensor_device(t), s != NULL ? 0 : none, "tl_tensor_device"); break;
	case 6:
		want_int(w, tl_tensor_is_contiguous(t), s != NULL ? contiguous(s) : o.at == NULL, "tl_tensor_is_contiguous");
		break;
	case 7:
		if (s != NULL && s->rank > 0) {
			int64_t axis = (int64_t)draw(w, 2 * (uint64_t)s->rank) - s->rank;
			want_int(w, tl_tensor_dim(t, axis), s->dims[axis < 0 ? axis + s->rank : axis], "tl_tensor_dim");
		} else {
			want_int(w, tl_tensor_dim(t, 0), o.at == NULL ? 0 : -1, "tl_tensor_dim");
			set = s != NULL ? BAD_SIZE : set;
		}
		break;
	case 8:
		want_pointer(w, tl_tensor_base(t), s != NULL && base_of(o.it) != NULL ? base_of(o.it)->at : NULL,
		             "tl_tensor_base");
		break;
	default:
		want_true(w, (tl_tensor_shape(t) == NULL) == (s == NULL), "tl_tensor_shape");
		want_last(w, set);
		want_true(w, (tl_tensor_strides(t) == NULL) == (s == NULL), "tl_tensor_strides");
	}
	want_last(w, set);
}

/* ---- making them ------------------------------------------------------------------------------------------ */

static int32_t cpu(world* w) { return chance(w, 50) ? TL_DEVICE_CPU : TL_DEVICE_DEFAULT; }

static void empty(world* w)
{
	shape s;
	bool good = draw_shape(w, &s), zeros = chance(w, 40);
	tl_tensor* t;
	if (crowded(w)) return;
	note(w, "tl_tensor_%s(%d, rank %" PRId64 ", %" PRId64 " elements)", zeros ? "new_zeroed" : "empty", s.dtype, s.rank,
	     s.numel);
	t = zeros ? tl_tensor_new_zeroed(s.dtype, cpu(w), s.rank, s.dims)
	          : tl_tensor_empty(s.dtype, cpu(w), s.rank, s.dims);
	item* it = tensor_own(w, t, good ? GOOD : BAD_SIZE | (s.rank == 3 ? S(TL_E_OUT_OF_MEMORY) : 0), &s);
	if (it == NULL) return;
	if (zeros) {
		item bytes = as_bytes(it);
		verify_zero(w, &bytes);
	}
	tensor_fill(it);
	tensor_check(w, it);
}

enum { VALUES = 3000 * 7 }; /* as many as draw_shape makes */

static void from_values(world* w)
{
	static int64_t values[VALUES];
	shape s;
	bool good = draw_shape(w, &s) || s.dtype == 7 || s.dtype == -1, wide = chance(w, 50);
	if (crowded(w)) return;
	s.dtype = wide ? TL_DTYPE_I64 : TL_DTYPE_F32;
	note(w, "tl_tensor_new%s(rank %" PRId64 ", %" PRId64 " elements)", wide ? "_i64" : "", s.rank, s.numel);
	tl_tensor* t =
		wide ? tl_tensor_new_i64(values, s.rank, s.dims) : tl_tensor_new((const float*)values, s.rank, s.dims);
	item* it = tensor_own(w, t, good ? GOOD : BAD_SIZE | (s.rank == 3 ? S(TL_E_OUT_OF_MEMORY) : 0), &s);
	if (it == NULL) return;
	item bytes = as_bytes(it);
	if (bytes.bytes > 0) verify_zero(w, &bytes);
	tensor_fill(it);
}

/* Over memory of the program's own, with gaps and backwards at times. */
static void lent(world* w)
{
	shape s;
	bool good = draw_shape(w, &s), gaps = chance(w, 30), wrap = chance(w, 50), back = chance(w, 70);
	tl_tensor_info info = {.struct_size = sizeof info};
	tl_tensor* t;
	if (!good || crowded(w)) return;
	for (int64_t i = 0; gaps && i < s.rank; i++) s.strides[i] *= 2;
	size_t each = dtype_bytes(s.dtype);
	lease* l = lend((size_t)s.numel * each * 2 + 64);
	s.flags = TL_TENSOR_FLAG_LENT | (wrap && chance(w, 30) ? TL_TENSOR_FLAG_READ_ONLY : 0);
	info.data = l->data;
	info.shape = s.dims;
	info.strides = s.strides;
	info.dtype = s.dtype;
	info.rank = (int32_t)s.rank;
	info.flags = s.flags & TL_TENSOR_FLAG_READ_ONLY;
	note(w, "tl_tensor_%s(%d, rank %" PRId64 ", %" PRId64 " elements)", wrap ? "wrap" : "from_buffer", s.dtype, s.rank,
	     s.numel);
	t = wrap ? tl_tensor_wrap(&info, back ? lent_back : NULL, l)
	         : tl_tensor_from_buffer(s.dtype, 0, s.rank, s.dims, l->data, gaps || chance(w, 50) ? s.strides : NULL,
	                                 back ? lent_back : NULL, l);
	s.data = s.numel > 0 ? l->data : NULL;
	s.from = l->data;
	s.bytes = (size_t)s.numel * each * (gaps ? 2 : 1);
	s.lease = l;
	item* it = tensor_made(w, t, GOOD, &s);
	if (it == NULL) {
		free(l->memory);
		free(l);
		return;
	}
	l->id = back ? it->id : 0;
	it->shape->pattern = it->id;
	tensor_fill(it);
	tensor_check(w, it);
}

static void copy(world* w)
{
	unsigned set;
	operand o = draw_tensor(w, &set);
	bool to = chance(w, 30);
	shape s;
	item* it;
	if (crowded(w)) return;
	note(w, "tl_tensor_%s(%s)", to ? "to" : "clone", o.name);
	tl_tensor* t = to ? tl_tensor_to((tl_tensor*)o.at, 0) : tl_tensor_clone((tl_tensor*)o.at);
	if (!is_tensor(&o)) {
		want_pointer(w, t, NULL, "the result");
		want_last(w, set);
		return;
	}
	s = *o.it->shape;
	tensor_rows(&s);
	it = tensor_own(w, t, GOOD, &s);
	if (it == NULL) return;
	tensor_check(w, it);
	if (contiguous(o.it->shape) && s.numel > 0 && memcmp(it->shape->data, o.it->shape->data, it->shape->bytes) != 0)
		fail(w, "the copy has other elements");
	tensor_fill(it);
}

static void copy_into(world* w)
{
	unsigned set;
	operand o = draw_tensor(w, &set);
	const item* from = is_tensor(&o) ? o.it : NULL;
	if (from == NULL || crowded(w) || !contiguous(from->shape) || from->shape->numel == 0) return;
	shape s = *from->shape;
	tensor_rows(&s);
	note(w, "tl_tensor_empty for a copy of %s", o.name);
	item* it = tensor_own(w, tl_tensor_empty(s.dtype, 0, s.rank, s.dims), GOOD, &s);
	if (it == NULL) return;
	note(w, "tl_tensor_copy(%s, %s)", name(it), o.name);
	want_memory(w, tl_tensor_copy((tl_tensor*)it->at, (tl_tensor*)from->at), GOOD);
	if (tl_last_status() == TL_OK && memcmp(it->shape->data, from->shape->data, it->shape->bytes) != 0)
		fail(w, "the copy has other elements");
	tensor_fill(it);
}

static void in_slot(world* w)
{
	mark* f = current_function(w);
	shape s;
	if (!draw_shape(w, &s) || f == NULL || f->slots < MAX_SLOTS || s.numel * 16 > 4096) return;
	note(w, "tl_tensor_in_slot(%" PRId64 " elements)", s.numel);
	tl_tensor* t = tl_tensor_in_slot(MAX_SLOTS - 1, s.dtype, s.rank, s.dims);
	if (want_memory_last(w, GOOD) != TL_OK) return;
	item* it = f->buffers[MAX_SLOTS - 1];
	if (it == NULL || it->at != (char*)t) {
		it = item_new(w, STACK, t, 0);
		it->offset = -1;
		it->type = (int)(f - w->marks);
		it->shape = calloc(1, sizeof *it->shape);
		if (it->shape == NULL) abort();
		f->buffers[MAX_SLOTS - 1] = it;
	}
	s.flags = TL_TENSOR_FLAG_IN_SLOT;
	s.data = s.from = tl_tensor_data(t);
	s.bytes = (size_t)s.numel * dtype_bytes(s.dtype);
	s.pattern = it->id;
	*it->shape = s;
	tensor_fill(it);
	tensor_check(w, it);
}

static void look(world* w)
{
	const item* it = pick(w, K(TENSOR));
	if (it == NULL) return;
	tensor_check(w, it);
	tensor_verify(w, it);
}

static void step(world* w)
{
	static void (*const steps[])(world*) = {empty,     empty,   from_values, lent, lent, copy,
	                                        copy_into, in_slot, ask,         ask,  look};
	ONE_OF(w, steps)(w);
}

const family tensors_family = {"tensors", 8, step, look, NULL};
