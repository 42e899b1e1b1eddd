/* Views: other shapes and strides over elements that exist. What the library says of a
 * view is compared with strides computed here, and a reshape element by element. */
#include <string.h>

#include "model.h"

/* What is asked for, and what has to come of it. */
typedef struct wanted {
	shape s;
	int64_t skip; /* elements from the first one of the tensor to that of the view */
	unsigned set;
} wanted;

static item* storage_of(item* it) { return it->shape->flags & TL_TENSOR_FLAG_VIEW ? it->refs[0] : it; }

/* Of a shape that cannot be, and is refused, the product wraps around. */
static void finish_shape(shape* s)
{
	uint64_t numel = 1;
	for (int64_t i = 0; i < s->rank; i++) numel *= (uint64_t)s->dims[i];
	s->numel = (int64_t)numel;
}

/* Takes in a view; s has its shape and strides. */
static void view_made(world* w, tl_tensor* t, item* of, wanted* v)
{
	item *it, *storage = storage_of(of);
	finish_shape(&v->s);
	v->s.flags = TL_TENSOR_FLAG_VIEW | (of->shape->flags & TL_TENSOR_FLAG_READ_ONLY);
	v->s.data = v->s.numel == 0 ? NULL : of->shape->data + v->skip * (int64_t)dtype_bytes(v->s.dtype);
	v->s.bytes = 0;
	v->s.lease = NULL;
	it = tensor_made(w, t, v->set, &v->s);
	if (it == NULL) return;
	retain(w, storage);
	add_ref(it, storage);
	tensor_check(w, it);
}

/* ---- the kinds of views ------------------------------------------------------------------------- */

typedef struct asked {
	operand o;
	const shape* s; /* NULL: it has to be refused */
	int64_t rank;
	unsigned set;
} asked;

static asked draw_asked(world* w)
{
	asked a = {0};
	a.o = draw_tensor(w, &a.set);
	if (is_tensor(&a.o) && a.o.it->kind == STACK) a.set = S(TL_E_UNSUPPORTED);
	if (is_tensor(&a.o) && a.o.it->kind == TENSOR && !may_hold(storage_of(a.o.it))) {
		a.o = operand_of(NULL);
		a.set = GOOD;
	}
	if (is_tensor(&a.o) && a.o.it->kind == TENSOR) a.s = a.o.it->shape;
	a.rank = a.s != NULL ? a.s->rank : 1;
	return a;
}

static tl_tensor* tensor(const asked* a) { return (tl_tensor*)a->o.at; }

/* What was refused, or NULL for NULL. */
static bool refused(world* w, const asked* a, const tl_tensor* t)
{
	if (a->s != NULL) return false;
	want_pointer(w, t, NULL, "the result");
	want_last(w, a->set | (a->o.it != NULL && a->o.it->kind == STACK ? BAD_SIZE : 0));
	return true;
}

/* An axis, negative ones too; now and then one that is none. */
static int64_t draw_axis(world* w, int64_t rank, bool* good)
{
	int64_t axis = rank > 0 ? (int64_t)draw(w, 2 * (uint64_t)rank) - rank : 0;
	*good = rank > 0;
	if (chance(w, 4)) {
		axis = chance(w, 50) ? rank : -rank - 1;
		*good = false;
	}
	return axis;
}

static void transpose(world* w)
{
	asked a = draw_asked(w);
	bool good_a, good_b;
	int64_t i = draw_axis(w, a.rank, &good_a), k = draw_axis(w, a.rank, &good_b);
	wanted v = {.set = good_a && good_b ? GOOD : BAD_SIZE};
	note(w, "tl_view_transpose(%s, %" PRId64 ", %" PRId64 ")", a.o.name, i, k);
	tl_tensor* t = tl_view_transpose(tensor(&a), i, k);
	if (refused(w, &a, t)) return;
	v.s = *a.s;
	if (v.set == GOOD) {
		i = i < 0 ? i + a.rank : i;
		k = k < 0 ? k + a.rank : k;
		v.s.dims[i] = a.s->dims[k];
		v.s.dims[k] = a.s->dims[i];
		v.s.strides[i] = a.s->strides[k];
		v.s.strides[k] = a.s->strides[i];
	}
	view_made(w, t, a.o.it, &v);
}

/* Now and then a list of numbers is NULL. */
static bool odd_list(world* w, int64_t n, wanted* v)
{
	if (n == 0 || !chance(w, 2)) return false;
	v->set = BAD_SIZE;
	return true;
}

static void permute(world* w)
{
	asked a = draw_asked(w);
	int64_t axes[MAX_RANK] = {0};
	wanted v = {.set = GOOD};
	for (int64_t i = 0; i < a.rank; i++) axes[i] = i;
	for (int64_t i = a.rank - 1; i > 0; i--) {
		int64_t k = (int64_t)draw(w, (uint64_t)i + 1), axis = axes[i];
		axes[i] = axes[k];
		axes[k] = axis;
	}
	if (a.rank > 1 && chance(w, 4)) {
		axes[0] = axes[1];
		v.set = BAD_SIZE;
	}
	const bool odd = odd_list(w, a.rank, &v);
	note(w, "tl_view_permute(%s)", a.o.name);
	tl_tensor* t = tl_view_permute(tensor(&a), a.rank, odd ? NULL : axes);
	if (refused(w, &a, t)) return;
	v.s = *a.s;
	for (int64_t i = 0; i < a.rank; i++) {
		v.s.dims[i] = a.s->dims[axes[i]];
		v.s.strides[i] = a.s->strides[axes[i]];
	}
	view_made(w, t, a.o.it, &v);
}

/* Python's rules: where a slice of n elements starts, and how many it has. */
static int64_t slice_of(int64_t n, int64_t start, int64_t stop, int64_t step, int64_t* length)
{
	int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
	start = start < 0 ? (start < -n ? low : start + n) : start > high ? high : start;
	stop = stop < 0 ? (stop < -n ? low : stop + n) : stop > high ? high : stop;
	start = start < low ? low : start;
	stop = stop < low ? low : stop;
	*length = step > 0 ? (stop > start ? (stop - start - 1) / step + 1 : 0)
	                   : (start > stop ? (start - stop - 1) / -step + 1 : 0);
	return start;
}

static void slice(world* w)
{
	static const int64_t places[] = {0, 1, 2, -1, -2, 3, 100, -100, INT64_MIN, INT64_MAX},
						 steps[] = {1, 1, 2, -1, -2, 3, 0, 7};
	asked a = draw_asked(w);
	bool good;
	int64_t axis = draw_axis(w, a.rank, &good), start = ONE_OF(w, places), stop = ONE_OF(w, places),
			by = ONE_OF(w, steps), first;
	wanted v = {.set = good && by != 0 ? GOOD : BAD_SIZE};
	note(w, "tl_view_slice(%s, %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ")", a.o.name, axis, start, stop, by);
	tl_tensor* t = tl_view_slice(tensor(&a), axis, start, stop, by);
	if (refused(w, &a, t)) return;
	v.s = *a.s;
	if (v.set == GOOD) {
		axis = axis < 0 ? axis + a.rank : axis;
		first = slice_of(a.s->dims[axis], start, stop, by, &v.s.dims[axis]);
		v.s.strides[axis] = a.s->strides[axis] * by;
		v.skip = first * a.s->strides[axis];
	}
	view_made(w, t, a.o.it, &v);
}

/* What tl_view_slice_axes takes of one axis. */
static void take_part(const shape* from, int64_t axis, const int64_t part[3], wanted* v)
{
	int64_t n = from->dims[axis], first, length = 1;
	if (part[2] == 0) {
		first = part[0] < 0 ? part[0] + n : part[0];
		if (first < 0 || first >= n) v->set = BAD_SIZE;
	} else {
		first = slice_of(n, part[0], part[1], part[2], &length);
		v->s.dims[v->s.rank] = length;
		v->s.strides[v->s.rank++] = from->strides[axis] * part[2];
	}
	if (v->set == GOOD && length > 0) v->skip += first * from->strides[axis];
}

static void slice_axes(world* w)
{
	static const int64_t places[] = {0, 0, 1, -1, 2, 100, INT64_MIN, INT64_MAX}, strides[] = {1, 1, 2, -1, 0};
	asked a = draw_asked(w);
	int64_t n = chance(w, 3) ? a.rank + 1 : (int64_t)draw(w, (uint64_t)a.rank + 1), parts[3][MAX_RANK + 1] = {0};
	wanted v = {.set = n > a.rank ? BAD_SIZE : GOOD};
	for (int64_t i = 0; i < n; i++) {
		parts[0][i] = ONE_OF(w, places), parts[1][i] = ONE_OF(w, places), parts[2][i] = ONE_OF(w, strides);
	}
	const bool odd = odd_list(w, n, &v);
	note(w, "tl_view_slice_axes(%s, %" PRId64 ")", a.o.name, n);
	tl_tensor* t = tl_view_slice_axes(tensor(&a), n, parts[0], odd ? NULL : parts[1], parts[2]);
	if (refused(w, &a, t)) return;
	v.s = *a.s;
	v.s.rank = 0;
	for (int64_t i = 0; i < a.rank; i++) {
		const int64_t whole[3] = {0, INT64_MAX, 1}, part[3] = {parts[0][i], parts[1][i], parts[2][i]};
		take_part(a.s, i, i < n ? part : whole, &v);
	}
	if (v.set != GOOD) v.s = *a.s;
	view_made(w, t, a.o.it, &v);
}

static void squeeze(world* w)
{
	asked a = draw_asked(w);
	bool good;
	int64_t axis = draw_axis(w, a.rank, &good), at = axis < 0 ? axis + a.rank : axis;
	wanted v = {0};
	note(w, "tl_view_squeeze(%s, %" PRId64 ")", a.o.name, axis);
	tl_tensor* t = tl_view_squeeze(tensor(&a), axis);
	if (refused(w, &a, t)) return;
	v.s = *a.s;
	v.set = good && a.s->dims[at] == 1 ? GOOD : BAD_SIZE;
	if (v.set == GOOD) {
		memmove(v.s.dims + at, v.s.dims + at + 1, sizeof(int64_t) * (size_t)(a.rank - at - 1));
		memmove(v.s.strides + at, v.s.strides + at + 1, sizeof(int64_t) * (size_t)(a.rank - at - 1));
		v.s.rank--;
	}
	view_made(w, t, a.o.it, &v);
}

static void expand_dims(world* w)
{
	asked a = draw_asked(w);
	bool good;
	int64_t axis = draw_axis(w, a.rank + 1, &good), at = axis < 0 ? axis + a.rank + 1 : axis;
	wanted v = {.set = good && a.rank < MAX_RANK ? GOOD : BAD_SIZE};
	note(w, "tl_view_expand_dims(%s, %" PRId64 ")", a.o.name, axis);
	tl_tensor* t = tl_view_expand_dims(tensor(&a), axis);
	if (refused(w, &a, t)) return;
	v.s = *a.s;
	if (v.set == GOOD) {
		memmove(v.s.dims + at + 1, v.s.dims + at, sizeof(int64_t) * (size_t)(a.rank - at));
		memmove(v.s.strides + at + 1, v.s.strides + at, sizeof(int64_t) * (size_t)(a.rank - at));
		v.s.dims[at] = 1;
		v.s.rank++;
	}
	view_made(w, t, a.o.it, &v);
}

/* The least extent in front of these others with which a tensor has too many bytes, or a negative one. */
static int64_t impossible_extent(world* w, const shape* from, int64_t lead, const int64_t* dims, int64_t rank)
{
	const uint64_t most = (uint64_t)1 << 63;
	uint64_t bytes = dtype_bytes(from->dtype);
	for (int64_t i = 1; i < rank; i++) {
		const int64_t extent = dims[i] < 0 ? from->dims[i - lead] : dims[i];
		if (extent > 1) bytes *= (uint64_t)extent;
	}
	if (chance(w, 30)) return -1 - (int64_t)draw(w, 3);
	return (int64_t)((most + bytes - 1) / bytes);
}

static void broadcast(world* w)
{
	asked a = draw_asked(w);
	int64_t more = (int64_t)draw(w, 3), dims[MAX_RANK + 3];
	wanted v = {.set = GOOD};
	if (a.rank + more > MAX_RANK) return;
	for (int64_t i = 0; i < more; i++) dims[i] = 1 + (int64_t)draw(w, 3);
	for (int64_t i = 0; i < a.rank; i++) {
		int64_t extent = a.s != NULL ? a.s->dims[i] : 2;
		dims[more + i] = chance(w, 30) ? -1 : extent == 1 ? (int64_t)draw(w, 4) : extent;
	}
	if (a.rank > 0 && chance(w, 4)) {
		dims[more] = 999;
		v.set = a.s != NULL && a.s->dims[0] == 1 ? GOOD : BAD_SIZE;
	}
	if (more > 0 && a.s != NULL && chance(w, 8)) {
		dims[0] = impossible_extent(w, a.s, more, dims, a.rank + more);
		v.set = BAD_SIZE;
	}
	const bool odd = odd_list(w, a.rank + more, &v);
	note(w, "tl_view_broadcast_to(%s, rank %" PRId64 ")", a.o.name, a.rank + more);
	tl_tensor* t = tl_view_broadcast_to(tensor(&a), a.rank + more, odd ? NULL : dims);
	if (refused(w, &a, t)) return;
	v.s = *a.s;
	v.s.rank = a.rank + more;
	for (int64_t i = 0; i < v.s.rank; i++) {
		int64_t from = i < more ? 1 : a.s->dims[i - more];
		v.s.dims[i] = dims[i] < 0 ? from : dims[i];
		v.s.strides[i] = i < more || (from == 1 && dims[i] != 1) ? 0 : a.s->strides[i - more];
	}
	view_made(w, t, a.o.it, &v);
}

/* ---- reshape ---------------------------------------------------------------------------------------- */

/* The distance of element number n from the first one, in row-major order. */
static int64_t place_of(const shape* s, int64_t n)
{
	int64_t at = 0;
	for (int64_t i = s->rank - 1; i >= 0; i--) {
		at += n % s->dims[i] * s->strides[i];
		n /= s->dims[i];
	}
	return at;
}

/* Splits the elements into extents, at random. */
static void draw_extents(world* w, shape* s)
{
	int64_t rest = s->numel;
	s->rank = 0;
	while (rest > 1 && s->rank < 5) {
		int64_t by = 2 + (int64_t)draw(w, 4);
		if (rest % by != 0 || chance(w, 30)) by = rest;
		s->dims[s->rank++] = by;
		rest /= by;
	}
	if (s->numel == 0 || rest > 1) s->dims[s->rank++] = rest;
	if (chance(w, 30)) s->dims[s->rank++] = 1;
}

static void reshape(world* w)
{
	asked a = draw_asked(w);
	wanted v = {.set = GOOD, .s = {.rank = 1, .dims = {4}, .numel = 4}};
	int64_t dims[MAX_RANK];
	if (a.s != NULL) {
		v.s = *a.s;
		draw_extents(w, &v.s);
	}
	memcpy(dims, v.s.dims, sizeof dims);
	if (v.s.rank > 0 && v.s.numel > 0 && chance(w, 30)) {
		dims[draw(w, (uint64_t)v.s.rank)] = -1;
	} else if (v.s.rank > 0 && v.s.numel > 0 && chance(w, 6)) {
		dims[0] = chance(w, 50) ? v.s.dims[0] + 1 : INT64_MAX;
		v.set = BAD_SIZE;
	}
	if (v.s.rank > 1 && chance(w, 3)) {
		dims[0] = dims[1] = -1;
		v.set = BAD_SIZE;
	}
	const bool odd = odd_list(w, v.s.rank, &v);
	note(w, "tl_view_reshape(%s, rank %" PRId64 ")", a.o.name, v.s.rank);
	tl_tensor* t = tl_view_reshape(tensor(&a), v.s.rank, odd ? NULL : dims);
	if (refused(w, &a, t)) return;
	if (v.set == GOOD && !contiguous(a.s) && t == NULL && tl_last_status() == TL_E_UNSUPPORTED)
		return; /* no strides give that order */
	if (t != NULL) memcpy(v.s.strides, tl_tensor_strides(t), sizeof(int64_t) * (size_t)v.s.rank);
	for (int64_t n = 0; t != NULL && n < v.s.numel; n += 1 + v.s.numel / 100)
		want_int(w, place_of(&v.s, n), place_of(a.s, n), "the place of an element");
	view_made(w, t, a.o.it, &v);
}

static void step(world* w)
{
	static void (*const steps[])(world*) = {transpose, permute,     slice,     slice,   slice_axes, slice_axes,
	                                        squeeze,   expand_dims, broadcast, reshape, reshape};
	if (!crowded(w)) ONE_OF(w, steps)(w);
}

const family views_family = {"views", 8, step, NULL, NULL};
