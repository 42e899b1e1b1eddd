/* Operators, NumPy's element-wise functions, and assignment. NumPy computes: what is done here is to hand it arrays
 * over the memory of tensors. Operands other than NumPy's arrays and Python's numbers go to Values in
 * _tensor/values.py. */
#include <math.h>
#include <string.h>

#include "fast.h"

/* ---- operands ----------------------------------------------------------------------------- */

/* The state, by the operands of an operator: at least one of them is a Tensor. Only the type has this end. */
static inline bool is_ours(PyObject* given) { return PyType_GetSlot(Py_TYPE(given), Py_tp_dealloc) == (void*)fast_end; }
static inline fast_state* state_of(PyObject* left, PyObject* right)
{
	return fast_of(Py_TYPE(left) == Py_TYPE(right) || is_ours(left) ? left : right)->state;
}

static inline bool is_tensor(const fast_state* s, PyObject* given) { return Py_IS_TYPE(given, s->tensor); }

/* Whether NumPy computes with the elements as they lie there. */
static inline bool is_plain(PyObject* tensor)
{
	return fast_of(tensor)->in_reach && fast_of(tensor)->dtype != TL_DTYPE_BF16;
}

/* Numbers of Python's and arrays of NumPy's go to NumPy as they are. */
static inline bool goes_as_it_is(const fast_state* s, PyObject* given)
{
	return (PyObject*)Py_TYPE(given) == s->array_type || PyFloat_CheckExact(given) || PyLong_CheckExact(given) ||
	       PyBool_Check(given) || PyComplex_CheckExact(given);
}

/* Returns what NumPy computes with, a new reference; NULL without an exception: the twin's. */
static inline PyObject* operand(const fast_state* s, PyObject* given)
{
	if (is_tensor(s, given)) return LIKELY(is_plain(given)) ? fast_numpy(given, NULL) : NULL;
	return goes_as_it_is(s, given) ? Py_NewRef(given) : NULL;
}

/* The same of two; false: the twin's, unless an exception is set. */
static inline bool operands(const fast_state* s, PyObject* left, PyObject* right, PyObject** x, PyObject** y)
{
	*x = operand(s, left);
	if (UNLIKELY(*x == NULL)) return false;
	*y = operand(s, right);
	if (LIKELY(*y != NULL)) return true;
	Py_DECREF(*x);
	return false;
}

/* Calls a method of the class in Python, unless there is an exception. */
static __attribute__((noinline)) PyObject* twin(const char* name, PyObject* self, PyObject* other)
{
	if (PyErr_Occurred() != NULL) return NULL;
	return fast_method(name, self, &other, other != NULL, NULL);
}

/* ---- operators ---------------------------------------------------------------------------- */

typedef PyObject* (*binary)(PyObject* left, PyObject* right);

static inline PyObject* both_ways(PyObject* left, PyObject* right, binary compute, const char* forward,
                                  const char* backward)
{
	fast_state* s = state_of(left, right);
	PyObject *x, *y;
	if (UNLIKELY(!operands(s, left, right, &x, &y)))
		return is_tensor(s, left) ? twin(forward, left, right) : twin(backward, right, left);
	PyObject* made = compute(x, y);
	Py_DECREF(x);
	Py_DECREF(y);
	return made;
}

/* A result that is not the array over the tensor is refused by the twin; the operation has no result then. */
static inline PyObject* in_place(PyObject* self, PyObject* other, binary compute, const char* name)
{
	PyObject *x, *y;
	if (UNLIKELY(!operands(fast_of(self)->state, self, other, &x, &y))) return twin(name, self, other);
	PyObject* made = compute(x, y);
	const bool replaced = made != NULL && made != x;
	Py_DECREF(x);
	Py_DECREF(y);
	if (UNLIKELY(made == NULL)) return NULL;
	Py_DECREF(made);
	return LIKELY(!replaced) ? Py_NewRef(self) : twin(name, self, other);
}

/* The operators whose calls take so little of NumPy's time that the way there counts (bench/python_calls.py). The slots
 * of all others are the methods of Values. */
#define OPERATORS(X)                                                \
	X(add, "add", PyNumber_Add, PyNumber_InPlaceAdd)                \
	X(subtract, "sub", PyNumber_Subtract, PyNumber_InPlaceSubtract) \
	X(multiply, "mul", PyNumber_Multiply, PyNumber_InPlaceMultiply) \
	X(true_divide, "truediv", PyNumber_TrueDivide, PyNumber_InPlaceTrueDivide)

#define X(slot, name, compute, compute_in_place)                                 \
	static PyObject* do_##slot(PyObject* left, PyObject* right)                  \
	{                                                                            \
		return both_ways(left, right, compute, "__" name "__", "__r" name "__"); \
	}                                                                            \
	static PyObject* do_##slot##_in_place(PyObject* self, PyObject* other)       \
	{                                                                            \
		return in_place(self, other, compute_in_place, "__i" name "__");         \
	}
OPERATORS(X)
#undef X

static PyObject* compare(PyObject* self, PyObject* other, int operation)
{
	static const char* const names[] = {
		[Py_LT] = "__lt__", [Py_LE] = "__le__", [Py_EQ] = "__eq__",
		[Py_NE] = "__ne__", [Py_GT] = "__gt__", [Py_GE] = "__ge__",
	};
	PyObject *x, *y;
	if (UNLIKELY(!operands(fast_of(self)->state, self, other, &x, &y))) return twin(names[operation], self, other);
	PyObject* made = PyObject_RichCompare(x, y, operation);
	Py_DECREF(x);
	Py_DECREF(y);
	return made;
}

/* ---- NumPy's element-wise functions ------------------------------------------------------- */

enum { MOST_OPERANDS = 8 };

/* Whether given is a tuple of one, which it returns. */
static inline PyObject* single(PyObject* given)
{
	return PyTuple_CheckExact(given) && PyTuple_Size(given) == 1 ? PyTuple_GetItem(given, 0) : NULL;
}

/* ufunc(*inputs) or ufunc(*inputs, out=(tensor,)); everything else is the twin's. */
PyObject* fast_array_ufunc(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names)
{
	fast_state* s = fast_of(self)->state;
	const bool has_out = names != NULL && PyTuple_Size(names) != 0;
	const Py_ssize_t inputs = n - 2;
	PyObject* out = NULL;
	bool known = inputs >= 1 && inputs < MOST_OPERANDS && PyUnicode_CheckExact(args[1]) &&
	             (args[1] == s->name[NAME___call__] || PyUnicode_Compare(args[1], s->name[NAME___call__]) == 0);
	if (known && has_out) {
		known = PyTuple_Size(names) == 1 && PyUnicode_Compare(PyTuple_GetItem(names, 0), s->name[NAME_out]) == 0;
		out = known ? single(args[n]) : NULL;
		known = out != NULL;
	}
	PyObject* given[MOST_OPERANDS + 1];
	Py_ssize_t taken = 0;
	while (known && taken < inputs + has_out) {
		given[taken] = operand(s, taken < inputs ? args[2 + taken] : out);
		known = given[taken] != NULL;
		taken += known;
	}
	PyObject* made = NULL;
	if (LIKELY(known)) made = s->vectorcall(args[0], given, (size_t)inputs, has_out ? s->only_out : NULL);
	while (taken > 0) Py_DECREF(given[--taken]);
	if (UNLIKELY(!known)) return PyErr_Occurred() == NULL ? fast_method("__array_ufunc__", self, args, n, names) : NULL;
	if (!has_out || made == NULL) return made;
	Py_DECREF(made);
	return Py_NewRef(out);
}

/* ---- assignment --------------------------------------------------------------------------- */

/* The address of one element; NULL: the index is not an int for each axis, or out of range. */
static inline char* element(const fast_tensor* t, PyObject* index)
{
	const bool tuple = PyTuple_CheckExact(index);
	if ((tuple ? PyTuple_Size(index) : 1) != t->rank) return NULL;
	char* address = t->data;
	for (int axis = 0; axis < t->rank; axis++) {
		int64_t at;
		const int64_t extent = t->shape[axis];
		if (!fast_int(tuple ? PyTuple_GetItem(index, axis) : index, &at) || at < -extent || at >= extent) return NULL;
		address += (at < 0 ? at + extent : at) * t->strides[axis];
	}
	return address;
}

/* Stores an exact int or float that the type of the elements holds without a warning of NumPy's; false: NumPy's. */
static inline bool store(char* address, int dtype, PyObject* value)
{
	int64_t whole = 0;
	const bool is_int = fast_int(value, &whole);
	if (!is_int && !PyFloat_CheckExact(value)) return false;
#define X(number, type)                                        \
	case number: {                                             \
		const type narrow = (type)whole;                       \
		if (!is_int || (int64_t)narrow != whole) return false; \
		memcpy(address, &narrow, sizeof narrow);               \
		return true;                                           \
	}
	switch (dtype) {
		X(TL_DTYPE_I8, int8_t)
		X(TL_DTYPE_U8, uint8_t)
		X(TL_DTYPE_I16, int16_t)
		X(TL_DTYPE_U16, uint16_t)
		X(TL_DTYPE_I32, int32_t)
		X(TL_DTYPE_U32, uint32_t)
		X(TL_DTYPE_I64, int64_t)
	}
#undef X
	const double number = is_int ? (double)whole : PyFloat_AsDouble(value);
	if (dtype == TL_DTYPE_F64) {
		memcpy(address, &number, sizeof number);
		return true;
	}
	const float narrow = (float)number;
	if (dtype != TL_DTYPE_F32 || (isinf(narrow) && !isinf(number))) return false;
	memcpy(address, &narrow, sizeof narrow);
	return true;
}

/* Whether NumPy takes an index as it is: parts that are tensors have to become arrays before. */
static inline bool is_index(const fast_state* s, PyObject* index)
{
	if (!PyTuple_CheckExact(index))
		return PyLong_CheckExact(index) || PySlice_Check(index) || index == Py_Ellipsis || Py_IsNone(index) ||
		       (PyObject*)Py_TYPE(index) == s->array_type;
	const Py_ssize_t n = PyTuple_Size(index);
	for (Py_ssize_t i = 0; i < n; i++) {
		PyObject* part = PyTuple_GetItem(index, i);
		if (PyTuple_CheckExact(part) || !is_index(s, part)) return false;
	}
	return true;
}

static int twin_of_assignment(PyObject* self, PyObject* index, PyObject* value)
{
	if (PyErr_Occurred() != NULL) return -1;
	PyObject* args[2] = {index, value};
	PyObject* none = value != NULL ? fast_method("__setitem__", self, args, 2, NULL)
	                               : fast_method("__delitem__", self, args, 1, NULL);
	if (none == NULL) return -1;
	Py_DECREF(none);
	return 0;
}

static int assign(PyObject* self, PyObject* index, PyObject* value)
{
	const fast_tensor* t = fast_of(self);
	PyObject *array, *elements;
	if (UNLIKELY(value == NULL || t->read_only || !is_plain(self))) return twin_of_assignment(self, index, value);
	char* address = element(t, index);
	if (address != NULL && store(address, t->dtype, value)) return 0;
	if (UNLIKELY(!is_index(t->state, index) || !operands(fast_of(self)->state, self, value, &array, &elements)))
		return twin_of_assignment(self, index, value);
	const int failed = PyObject_SetItem(array, index, elements);
	Py_DECREF(array);
	Py_DECREF(elements);
	return failed;
}

/* ---- slots -------------------------------------------------------------------------------- */

const PyType_Slot fast_operators[] = {
#define X(slot, name, compute, compute_in_place) \
	{Py_nb_##slot, do_##slot}, {Py_nb_inplace_##slot, do_##slot##_in_place},
	OPERATORS(X)
#undef X
		{Py_tp_richcompare, compare},
	{Py_mp_ass_subscript, assign},
};
const size_t fast_operator_count = sizeof fast_operators / sizeof fast_operators[0];
_Static_assert(sizeof fast_operators / sizeof fast_operators[0] <= MOST_OPERATORS, "fast_make_type has room for fewer");
