/* Tensors as buffers and as arrays. */
#include "fast.h"

/* ---- buffers ------------------------------------------------------------------------------ */

/* An address for tensors without elements, too: NumPy 1.21 refuses NULL. */
static inline void* memory_of(const fast_tensor* t) { return t->data != NULL ? t->data : (void*)t->tensor; }

/* Whether the elements lie without gaps, the first axis the fastest. */
static bool is_fortran(const fast_tensor* t)
{
	Py_ssize_t stride = t->itemsize;
	if (t->nbytes == 0) return true;
	for (int i = 0; i < t->rank; i++) {
		if (t->shape[i] != 1 && t->strides[i] != stride) return false;
		stride *= t->shape[i];
	}
	return true;
}

/* Why a buffer cannot be as the consumer wants it, in memoryview's words; NULL: it can. */
static const char* unfit(const fast_tensor* t, int flags)
{
	const bool wants_c = (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS;
	const bool wants_fortran = (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS;
	const bool wants_either = (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS;
	if (!t->in_reach) return "the CPU cannot use the memory of the tensor's device; copy it with cpu() first";
	if ((flags & PyBUF_WRITABLE) && t->read_only) return "memoryview: underlying buffer is not writable";
	if (t->contiguous)
		return wants_fortran && !is_fortran(t) ? "memoryview: underlying buffer is not Fortran contiguous" : NULL;
	if (wants_c || (flags & PyBUF_STRIDES) != PyBUF_STRIDES) return "memoryview: underlying buffer is not C-contiguous";
	if (wants_fortran && !is_fortran(t)) return "memoryview: underlying buffer is not Fortran contiguous";
	return wants_either && !is_fortran(t) ? "memoryview: underlying buffer is not contiguous" : NULL;
}

int fast_get_buffer(PyObject* self, Py_buffer* view, int flags)
{
	fast_tensor* t = fast_of(self);
	const char* why = unfit(t, flags);
	if (UNLIKELY(why != NULL)) {
		view->obj = NULL;
		PyErr_SetString(PyExc_BufferError, why);
		return -1;
	}
	const bool shaped = (flags & PyBUF_ND) != 0;
	*view = (Py_buffer){
		.buf = memory_of(t),
		.obj = Py_NewRef(self),
		.len = t->nbytes,
		.itemsize = t->itemsize,
		.readonly = t->read_only,
		.ndim = shaped ? t->rank : 1,
		.format = (flags & PyBUF_FORMAT) != 0 ? t->state->format[t->dtype] : NULL,
		.shape = shaped ? t->shape : NULL,
		.strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? t->strides : NULL,
	};
	return 0;
}

PyObject* fast_as_buffer(PyObject* self, PyObject* flags)
{
	(void)flags; /* whoever takes a buffer of the memoryview says what it has to be */
	return PyMemoryView_FromObject(self);
}

/* ---- arrays ------------------------------------------------------------------------------- */

/* Numbers of NumPy's C interface, the same in 1.x and 2.x. */
enum { NEW_FROM_DESCR = 94, SET_BASE_OBJECT = 282, C_CONTIGUOUS = 1, ALIGNED = 0x100, WRITEABLE = 0x400, WIDEST = 16 };

/* Asks the package for NumPy's functions, before the first array; false with an exception. */
static __attribute__((noinline)) bool find_arrays(fast_state* s)
{
	PyObject* found = PyObject_CallNoArgs(s->arrays);
	PyObject *capsule, *type, *descrs;
	if (found == NULL || !PyArg_ParseTuple(found, "OOO!", &capsule, &type, &PyTuple_Type, &descrs)) {
		Py_XDECREF(found);
		return false;
	}
	void** table = PyCapsule_GetPointer(capsule, NULL);
	const bool usable = table != NULL && PyTuple_Size(descrs) == DTYPES;
	for (int i = 0; i < DTYPES && usable; i++) s->descr[i] = PyTuple_GetItem(descrs, i);
	if (!usable) {
		if (PyErr_Occurred() == NULL) PyErr_SetString(PyExc_TypeError, "24 element types of NumPy are needed");
		Py_DECREF(found);
		return false;
	}
	Py_XDECREF(s->found);
	s->found = found; /* and with it the types and the table */
	s->array_type = type;
	s->set_base = (fast_set_base)(uintptr_t)table[SET_BASE_OBJECT];
	s->new_array = (fast_new_array)(uintptr_t)table[NEW_FROM_DESCR];
	return true;
}

PyObject* fast_numpy(PyObject* self, PyObject* none)
{
	(void)none;
	const fast_tensor* t = fast_of(self);
	fast_state* s = t->state;
	if (UNLIKELY(!t->in_reach)) return fast_method("numpy", self, NULL, 0, NULL);
	if (UNLIKELY(s->new_array == NULL) && !find_arrays(s)) return NULL;
	void* data = memory_of(t);
	const bool plain = t->contiguous && (uintptr_t)data % WIDEST == 0; /* else NumPy looks at the strides */
	const int flags = (plain ? C_CONTIGUOUS | ALIGNED : 0) | (t->read_only ? 0 : WRITEABLE);
	PyObject* array = s->new_array(s->array_type, Py_NewRef(s->descr[t->dtype]), t->rank, t->shape,
	                               plain ? NULL : t->strides, data, flags, NULL);
	if (UNLIKELY(array == NULL)) return NULL;
	if (LIKELY(s->set_base(array, Py_NewRef(self)) == 0)) return array;
	Py_DECREF(array);
	return NULL;
}
