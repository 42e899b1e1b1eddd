/* tl.empty and tl.zeros. */
#include "fast.h"

enum { SHAPE, DTYPE, DEVICE, PARAMETERS }; /* as in FAST_NAMES */

typedef struct request {
	int dtype, rank;
	int32_t device;
	int64_t shape[MAX_RANK];
} request;

static int number_of(fast_state* s, PyObject* dtype)
{
	for (int i = 0; i < DTYPES; i++)
		if (dtype == s->dtype[i]) return i;
	return -1;
}

/* The number of an element type; -1: the twin's, unless an exception is set. */
static int read_dtype(fast_state* s, PyObject* given)
{
	if (given == NULL) return TL_DTYPE_F32;
	if (PyUnicode_CheckExact(given)) {
		PyObject* number = PyDict_GetItemWithError(s->names, given);
		return number != NULL ? (int)PyLong_AsLong(number) : -1;
	}
	if (Py_IsNone(given)) return -1;
	int number = number_of(s, given);
	if (number >= 0) return number;
	PyObject* dtype = PyObject_CallFunctionObjArgs(s->to_dtype, given, NULL);
	if (dtype == NULL) return -1;
	number = number_of(s, dtype);
	Py_DECREF(dtype);
	return number;
}

/* The number of a device; false: the twin's. A device that is not the CPU may wait for a function of Python's, and has
 * to be called without the interpreter's lock, as the twin does. */
static inline bool read_device(fast_state* s, PyObject* given, int32_t* device)
{
	*device = TL_DEVICE_DEFAULT;
	if (given == NULL || Py_IsNone(given)) return s->device == DEFAULT_IS_CPU;
	int64_t number;
	*device = TL_DEVICE_CPU;
	return fast_int(given, &number) && number == TL_DEVICE_CPU;
}

static bool read_request(fast_state* s, PyObject* const* given, request* r)
{
	if (UNLIKELY(given[SHAPE] == NULL || !read_device(s, given[DEVICE], &r->device))) return false;
	r->rank = fast_shape(given[SHAPE], r->shape);
	if (UNLIKELY(r->rank < 0)) return false;
	r->dtype = read_dtype(s, given[DTYPE]);
	return r->dtype >= 0;
}

/* Notes where a tensor has come to stand for which no device was named. */
static PyObject* note_default(fast_state* s, PyObject* device, PyObject* made)
{
	if (made != NULL && (device == NULL || Py_IsNone(device)) && Py_IS_TYPE(made, s->tensor))
		s->device = fast_of(made)->device == TL_DEVICE_CPU ? DEFAULT_IS_CPU : DEFAULT_IS_ELSEWHERE;
	return made;
}

/* Elements from which on filling takes longer than others should wait for the interpreter's lock. */
enum { MANY = 1 << 14 };

static inline bool is_large(const request* r)
{
	uint64_t count = 1;
	for (int i = 0; i < r->rank; i++)
		if (__builtin_mul_overflow(count, (uint64_t)r->shape[i], &count)) return true;
	return count > MANY;
}

typedef tl_tensor* maker(int32_t dtype, int32_t device, int64_t rank, const int64_t* shape);

static inline __attribute__((always_inline)) PyObject* make(fast_state* s, PyObject* const* args, Py_ssize_t n,
                                                            PyObject* names, maker* maker, bool fills, PyObject* twin)
{
	PyObject* given[PARAMETERS];
	request r;
	if (UNLIKELY(!fast_is_there(s))) return NULL;
	if (UNLIKELY(!fast_arrange(args, n, names, s->name + NAME_shape, PARAMETERS, PARAMETERS, given)))
		return s->vectorcall(twin, args, (size_t)n, names);
	if (UNLIKELY(!read_request(s, given, &r))) {
		if (PyErr_Occurred() != NULL) return NULL;
		return note_default(s, given[DEVICE], s->vectorcall(twin, args, (size_t)n, names));
	}
	tl_tensor* made;
	if (fills && is_large(&r)) {
		Py_BEGIN_ALLOW_THREADS made = maker(r.dtype, r.device, r.rank, r.shape);
		Py_END_ALLOW_THREADS
	} else {
		made = maker(r.dtype, r.device, r.rank, r.shape);
	}
	if (UNLIKELY(made == NULL)) return fast_raise_last(s);
	PyObject* tensor = fast_own(s, made);
	if (LIKELY(tensor != NULL && fast_of(tensor)->device == TL_DEVICE_CPU)) return tensor;
	return note_default(s, given[DEVICE], tensor);
}

PyObject* fast_empty(PyObject* module, PyObject* const* args, Py_ssize_t n, PyObject* names)
{
	fast_state* s = fast_state_of(module);
	return make(s, args, n, names, s->tensor_empty, false, s->empty);
}

PyObject* fast_zeros(PyObject* module, PyObject* const* args, Py_ssize_t n, PyObject* names)
{
	fast_state* s = fast_state_of(module);
	return make(s, args, n, names, s->tensor_new_zeroed, true, s->zeros);
}
