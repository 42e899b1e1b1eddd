/* Views: integers, slices, T, transpose and reshape. What else an index can have is Viewable's in _tensor/views.py. */
#include "fast.h"

/* How a view takes the axes of its tensor; a step of 0 takes one element. */
typedef struct parts {
	int64_t starts[MAX_RANK], stops[MAX_RANK], steps[MAX_RANK];
} parts;

static bool read_slice(PyObject* item, int64_t* start, int64_t* stop, int64_t* step)
{
	Py_ssize_t first, last, pace;
	if (UNLIKELY(PySlice_Unpack(item, &first, &last, &pace) < 0)) {
		if (PyErr_ExceptionMatches(PyExc_ValueError) || PyErr_ExceptionMatches(PyExc_TypeError)) PyErr_Clear();
		return false;
	}
	*start = first;
	*stop = last;
	*step = pace;
	return pace != PY_SSIZE_T_MAX && pace != -PY_SSIZE_T_MAX; /* it may have had more bits */
}

/* Reads what an index has for one axis; false: the twin's, unless an exception is set. */
static inline bool read_part(const fast_tensor* t, int axis, PyObject* item, parts* p)
{
	if (PySlice_Check(item)) return read_slice(item, p->starts + axis, p->stops + axis, p->steps + axis);
	int64_t at;
	const int64_t extent = t->shape[axis];
	if (UNLIKELY(!fast_int(item, &at) || at < -extent || at >= extent)) return false;
	p->starts[axis] = at;
	p->stops[axis] = p->steps[axis] = 0;
	return true;
}

static inline bool read_parts(const fast_tensor* t, PyObject* const* items, Py_ssize_t n, parts* p)
{
	if (UNLIKELY(n > t->rank)) return false;
	for (int i = 0; i < n; i++)
		if (UNLIKELY(!read_part(t, i, items[i], p))) return false;
	return true;
}

PyObject* fast_subscript(PyObject* self, PyObject* index)
{
	const fast_tensor* t = fast_of(self);
	PyObject* items[MAX_RANK] = {index};
	Py_ssize_t n = 1;
	parts p;
	if (PyTuple_CheckExact(index)) {
		n = PyTuple_Size(index);
		for (Py_ssize_t i = 0; i < n && i < MAX_RANK; i++) items[i] = PyTuple_GetItem(index, i);
	}
	if (UNLIKELY(!read_parts(t, items, n, &p)))
		return PyErr_Occurred() == NULL ? fast_method("__getitem__", self, &index, 1, NULL) : NULL;
	return fast_own(t->state, t->state->view_slice_axes(t->tensor, n, p.starts, p.stops, p.steps));
}

PyObject* fast_turned(PyObject* self, void* none)
{
	(void)none;
	const fast_tensor* t = fast_of(self);
	int64_t axes[MAX_RANK];
	for (int i = 0; i < t->rank; i++) axes[i] = t->rank - 1 - i;
	return fast_own(t->state, t->state->view_permute(t->tensor, t->rank, axes));
}

/* The arguments of f(2, 3) and of f((2, 3)); -1: the twin's. */
static int one_or_many(PyObject* const* args, Py_ssize_t n, int64_t* numbers)
{
	if (n == 1) return fast_shape(args[0], numbers);
	if (UNLIKELY(n > MAX_RANK)) return -1;
	for (Py_ssize_t i = 0; i < n; i++)
		if (UNLIKELY(!fast_int(args[i], numbers + i))) return -1;
	return (int)n;
}

PyObject* fast_transpose(PyObject* self, PyObject* const* args, Py_ssize_t n)
{
	int64_t axes[MAX_RANK];
	if (n == 0 || (n == 1 && Py_IsNone(args[0]))) return fast_turned(self, NULL);
	const int rank = one_or_many(args, n, axes);
	if (UNLIKELY(rank < 0)) return fast_method("transpose", self, args, n, NULL);
	fast_state* s = fast_of(self)->state;
	return fast_own(s, s->view_permute(fast_of(self)->tensor, rank, axes));
}

PyObject* fast_reshape(PyObject* self, PyObject* const* args, Py_ssize_t n)
{
	int64_t shape[MAX_RANK];
	const int rank = one_or_many(args, n, shape);
	if (UNLIKELY(rank < 0)) return fast_method("reshape", self, args, n, NULL);
	fast_state* s = fast_of(self)->state;
	return fast_own(s, s->view_reshape(fast_of(self)->tensor, rank, shape));
}
