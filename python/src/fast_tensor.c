/* The type Tensor: how one is made and ends, and its properties. */
#include <string.h>

#include "fast.h"

/* ---- making ------------------------------------------------------------------------------ */

/* Recordings that this thread has seen; see _Recorder in _binding/library.py. */
static _Thread_local uint64_t seen;

/* Tells tracking the line of Python that has allocated; false with an exception. */
static __attribute__((noinline)) bool tell(fast_state* s, tl_tensor* made, uint64_t recorded)
{
	seen = recorded;
	if (Py_IsNone(s->tell)) return true;
	PyObject* result = PyObject_CallFunction(s->tell, "K", (unsigned long long)(uintptr_t)made);
	Py_XDECREF(result);
	return result != NULL;
}

/* Turns the current scope's reference into one of the caller's, as hold in _tensor/info.py. */
static inline bool hold(fast_state* s, tl_tensor* made)
{
	const uint64_t recorded = __atomic_load_n(s->recorded, __ATOMIC_RELAXED);
	if (UNLIKELY(recorded != seen) && !tell(s, made, recorded)) return false;
	fast_drain(s);
	s->tensor_acquire(made);
	tl_status status = s->tensor_free(made);
	if (LIKELY(status == TL_OK)) return true;
	fast_raise_status(s, status);
	s->tensor_release(made);
	return false;
}

static bool ask_reach(fast_state* s, int32_t device)
{
	PyObject* answer = PyObject_CallFunction(s->reaches, "i", (int)device);
	const bool yes = answer != NULL && Py_IsTrue(answer);
	if (answer == NULL) PyErr_Clear(); /* a device that cannot be asked is out of reach */
	Py_XDECREF(answer);
	return yes;
}

/* Copies what the library says of a tensor. */
static inline tl_status describe(fast_tensor* t, tl_tensor* tensor)
{
	const fast_state* s = t->state;
	tl_tensor_info info;
	info.struct_size = sizeof info;
	tl_status status = s->tensor_info_get(tensor, &info);
	if (UNLIKELY(status != TL_OK)) return status;
	if (UNLIKELY((uint32_t)info.rank > MAX_RANK || (uint32_t)info.dtype >= DTYPES)) return TL_E_INTERNAL;
	t->data = info.data;
	t->device = info.device;
	t->dtype = (uint8_t)info.dtype;
	t->rank = (uint8_t)info.rank;
	t->read_only = (info.flags & TL_TENSOR_FLAG_READ_ONLY) != 0;
	t->contiguous = (info.flags & TL_TENSOR_FLAG_CONTIGUOUS) != 0;
	t->in_reach = true;
	t->owned =
		(info.flags & (TL_TENSOR_FLAG_VIEW | TL_TENSOR_FLAG_LENT | TL_TENSOR_FLAG_IN_SLOT | TL_TENSOR_FLAG_BLOCK)) == 0;
	t->nbytes = (Py_ssize_t)info.nbytes;
	t->size = (Py_ssize_t)info.numel;
	t->itemsize = s->itemsize[info.dtype];
	for (int i = 0; i < info.rank; i++) {
		t->shape[i] = info.shape[i];
		t->strides[i] = info.strides[i] * t->itemsize;
	}
	return TL_OK;
}

/* ---- all that live, for leak reports ------------------------------------------------------ */

static inline void enlist(fast_state* s, fast_tensor* t)
{
	t->next = s->living;
	t->back = &s->living;
	if (s->living != NULL) s->living->back = &t->next;
	s->living = t;
}

static inline void delist(fast_tensor* t)
{
	*t->back = t->next;
	if (t->next != NULL) t->next->back = t->back;
}

PyObject* fast_living(PyObject* module, PyObject* none)
{
	(void)none;
	PyObject* list = PyList_New(0);
	for (fast_tensor* t = fast_state_of(module)->living; t != NULL && list != NULL; t = t->next)
		if (t->tensor != NULL && PyList_Append(list, (PyObject*)t) < 0) Py_CLEAR(list);
	return list;
}

/* ---- and more of making --------------------------------------------------------------------- */

static inline fast_tensor* allocate(fast_state* s)
{
	fast_tensor* t = PyObject_Malloc(sizeof *t);
	if (UNLIKELY(t == NULL)) {
		PyErr_NoMemory();
		return NULL;
	}
	PyObject_Init((PyObject*)t, s->tensor);
	t->state = s;
	t->weak = t->extents = NULL;
	t->tensor = NULL;
	t->traced = false;
	t->device = TL_DEVICE_CPU;
	enlist(s, t);
	return t;
}

/* Gives t the reference that the caller holds; t is gone on failure. */
static inline PyObject* complete(fast_tensor* t, tl_tensor* held)
{
	t->tensor = held;
	tl_status status = describe(t, held);
	if (UNLIKELY(status != TL_OK)) {
		fast_raise_status(t->state, status);
		Py_DECREF((PyObject*)t);
		return NULL;
	}
	if (UNLIKELY(t->device != TL_DEVICE_CPU)) t->in_reach = ask_reach(t->state, t->device);
	return (PyObject*)t;
}

PyObject* fast_own(fast_state* s, tl_tensor* made)
{
	if (UNLIKELY(made == NULL)) return fast_raise_last(s);
	fast_tensor* t = allocate(s);
	if (UNLIKELY(t == NULL)) return NULL;
	if (UNLIKELY(!hold(s, made))) {
		Py_DECREF((PyObject*)t);
		return NULL;
	}
	if (UNLIKELY(complete(t, made) == NULL)) return NULL;
	if (t->owned && t->nbytes != 0 && s->trace != NULL)
		t->traced = s->trace(s->domain, (uintptr_t)t, (size_t)t->nbytes) == 0;
	return (PyObject*)t;
}

PyObject* fast_wrap(fast_state* s, tl_tensor* held)
{
	fast_tensor* t = allocate(s);
	if (LIKELY(t != NULL)) return complete(t, held);
	s->tensor_release(held);
	return NULL;
}

/* The constructor of the class in Python, which raises; without a slot object.__new__ would make one. */
static PyObject* refuse_new(PyTypeObject* type, PyObject* args, PyObject* keywords)
{
	fast_state* s = PyType_GetModuleState(type);
	PyObject* function = fast_is_there(s) ? PyObject_GetAttrString(s->methods, "__new__") : NULL;
	PyObject* self = function != NULL ? PyTuple_Pack(1, (PyObject*)type) : NULL;
	PyObject* all = self != NULL ? PySequence_Concat(self, args) : NULL;
	PyObject* result = function != NULL && all != NULL ? PyObject_Call(function, all, keywords) : NULL;
	Py_XDECREF(function);
	Py_XDECREF(self);
	Py_XDECREF(all);
	return result;
}

/* ---- the end ------------------------------------------------------------------------------ */

/* As drain in _binding/deferred.py: nodes are followed by the object that is kept. An object may end others, and those
 * put nodes on the list; the outermost call releases them, so that a chain needs no stack. */
void fast_drain_list(fast_state* s)
{
	typedef struct node {
		tl_deferred link;
		PyObject* kept;
	} node;
	static _Thread_local bool at_work;
	node* first;
	if (at_work) return;
	at_work = true;
	while ((first = s->deferred_take((void*)s->deferred)) != NULL) {
		while (first != NULL) {
			node* next = first->link.next;
			PyObject* kept = first->kept;
			s->raw_free(first);
			Py_DECREF(kept);
			first = next;
		}
	}
	at_work = false;
}

/* Memory of a device may be freed by a function of Python's, on this or another thread. */
static __attribute__((noinline)) void release_elsewhere(fast_state* s, tl_tensor* tensor)
{
	Py_BEGIN_ALLOW_THREADS s->tensor_release(tensor);
	Py_END_ALLOW_THREADS
}

/* A release that fails has no caller to report to; it can only be that of a forked child. */
void fast_end(PyObject* self)
{
	fast_tensor* t = fast_of(self);
	fast_state* s = t->state;
	PyTypeObject* type = Py_TYPE(self);
	delist(t); /* before anything of Python's runs */
	if (UNLIKELY(t->weak != NULL)) PyObject_ClearWeakRefs(self);
	Py_XDECREF(t->extents);
	if (UNLIKELY(t->traced)) s->untrace(s->domain, (uintptr_t)t);
	if (LIKELY(t->tensor != NULL)) {
		if (LIKELY(t->device == TL_DEVICE_CPU)) s->tensor_release(t->tensor);
		else release_elsewhere(s, t->tensor);
	}
	PyObject_Free(self);
	fast_drain(s);
	Py_DECREF((PyObject*)type); /* and with it perhaps the module and its state */
}

/* ---- properties ---------------------------------------------------------------------------- */

static PyObject* numbers(const Py_ssize_t* of, int rank)
{
	PyObject* tuple = PyTuple_New(rank);
	for (int i = 0; i < rank && tuple != NULL; i++) {
		PyObject* number = PyLong_FromSsize_t(of[i]);
		if (number == NULL) Py_CLEAR(tuple);
		else PyTuple_SetItem(tuple, i, number);
	}
	return tuple;
}

static PyObject* get_shape(PyObject* self, void* none)
{
	(void)none;
	fast_tensor* t = fast_of(self);
	if (t->extents == NULL) t->extents = numbers(t->shape, t->rank);
	return Py_XNewRef(t->extents);
}

static PyObject* get_strides(PyObject* self, void* none)
{
	(void)none;
	return numbers(fast_of(self)->strides, fast_of(self)->rank);
}

static PyObject* get_dtype(PyObject* self, void* none)
{
	(void)none;
	return Py_NewRef(fast_of(self)->state->dtype[fast_of(self)->dtype]);
}

PyObject* fast_own_made(fast_state* s, PyObject* address)
{
	if (!fast_is_there(s)) return NULL;
	void* made = Py_IsNone(address) ? NULL : PyLong_AsVoidPtr(address);
	if (made == NULL && PyErr_Occurred() != NULL) return NULL;
	if (made != NULL && Py_IsNone(s->tell)) s->python_site(made);
	return fast_own(s, made);
}

static PyObject* view(PyObject* self, PyObject* address) { return fast_own_made(fast_of(self)->state, address); }

static PyObject* wrap(PyObject* type, PyObject* address)
{
	fast_state* s = PyType_GetModuleState((PyTypeObject*)type);
	void* held = fast_is_there(s) ? PyLong_AsVoidPtr(address) : NULL;
	return held != NULL || PyErr_Occurred() == NULL ? fast_wrap(s, held) : NULL;
}

static PyGetSetDef properties[] = {
	{"shape", get_shape, NULL, "The extents.", NULL},
	{"strides", get_strides, NULL, "The distance between neighbours in each dimension, in bytes as NumPy counts them.",
     NULL},
	{"dtype", get_dtype, NULL, "The element type.", NULL},
	{"T", fast_turned, NULL, "The axes in reverse order.", NULL},
	{0},
};

static PyMethodDef methods[] = {
	{"numpy", fast_numpy, METH_NOARGS,
     "Returns an array over the same memory, which it keeps alive; writable unless the tensor is not.\n\n"
     "Memory of a device that the CPU cannot use has no arrays: cpu() copies it."},
	{"transpose", (PyCFunction)(void (*)(void))fast_transpose, METH_FASTCALL,
     "The axes in another order; without arguments in reverse order."},
	{"reshape", (PyCFunction)(void (*)(void))fast_reshape, METH_FASTCALL,
     "The same elements, in row-major order, in another shape; one extent may be -1."},
	{"__dlpack__", (PyCFunction)(void (*)(void))fast_dlpack, METH_FASTCALL | METH_KEYWORDS,
     "A capsule for another array library, over the same memory unless copy is true."},
	{"__dlpack_device__", fast_dlpack_device, METH_NOARGS, "The device as DLPack numbers it."},
	{"__array_ufunc__", (PyCFunction)(void (*)(void))fast_array_ufunc, METH_FASTCALL | METH_KEYWORDS,
     "NumPy's element-wise functions: they return arrays, or the tensors that were given as out."},
	{"__buffer__", fast_as_buffer, METH_O | METH_COEXIST, "The memory as a buffer."},
	{"_view", view, METH_O, NULL},
	{"_wrap", wrap, METH_O | METH_CLASS, NULL},
	{0},
};

_Static_assert(sizeof(void*) == sizeof(unsigned long long) && sizeof(int32_t) == sizeof(int), "members of these types");

static PyMemberDef members[] = {
	{"__weaklistoffset__", T_PYSSIZET, offsetof(fast_tensor, weak), READONLY, NULL},
	{"ndim", T_UBYTE, offsetof(fast_tensor, rank), READONLY, "The number of dimensions."},
	{"itemsize", T_UBYTE, offsetof(fast_tensor, itemsize), READONLY, "Bytes of an element."},
	{"size", T_PYSSIZET, offsetof(fast_tensor, size), READONLY, "The number of elements."},
	{"nbytes", T_PYSSIZET, offsetof(fast_tensor, nbytes), READONLY, "Bytes of all elements."},
	{"data", T_ULONGLONG, offsetof(fast_tensor, data), READONLY,
     "The address of the first element; 0 when there is none."},
	{"device", T_INT, offsetof(fast_tensor, device), READONLY,
     "The number of the device that holds the data; 0 is the CPU."},
	{"is_contiguous", T_BOOL, offsetof(fast_tensor, contiguous), READONLY,
     "Whether the elements lie one after another in row-major order."},
	{"is_read_only", T_BOOL, offsetof(fast_tensor, read_only), READONLY,
     "Whether the memory is borrowed and its lender does not allow writes."},
	{"address", T_ULONGLONG, offsetof(fast_tensor, tensor), READONLY,
     "The address to hand to generated code, which borrows it."},
	{"_address", T_ULONGLONG, offsetof(fast_tensor, tensor), READONLY, NULL},
	{"_device", T_INT, offsetof(fast_tensor, device), READONLY, NULL},
	{0},
};

/* The garbage collector does not track tensors: all that one refers to is a tuple of numbers. The base class is written in
 * Python, and the collector tracks objects of such classes; these slots say that it need not track this type's. */
static int refers_to_nothing(PyObject* self, visitproc visit, void* arg)
{
	(void)self;
	(void)visit;
	(void)arg;
	return 0;
}

enum { MOST_SLOTS = MOST_OPERATORS + 16 };

PyTypeObject* fast_make_type(PyObject* module)
{
	fast_state* s = fast_state_of(module);
	PyType_Slot slots[MOST_SLOTS] = {
		{Py_tp_new, refuse_new},
		{Py_tp_dealloc, fast_end},
		{Py_tp_free, PyObject_Free},
		{Py_tp_traverse, refers_to_nothing},
		{Py_tp_members, members},
		{Py_tp_getset, properties},
		{Py_tp_methods, methods},
		{Py_mp_subscript, fast_subscript},
		{Py_bf_getbuffer, fast_get_buffer},
		{Py_tp_hash, PyType_GetSlot(&PyBaseObject_Type, Py_tp_hash)}, /* by identity, though == compares elements */
	};
	size_t used = 0;
	while (slots[used].slot != 0) used++;
	memcpy(slots + used, fast_operators, fast_operator_count * sizeof fast_operators[0]); /* zeros end them */
	PyType_Spec spec = {"tl_runtime._tensor.tensor.Tensor", sizeof(fast_tensor), 0, Py_TPFLAGS_DEFAULT, slots};
	PyObject* basicsize = PyObject_GetAttrString(s->methods, "__basicsize__");
	const bool fits = basicsize != NULL && PyLong_AsLong(basicsize) == (long)sizeof(PyObject);
	Py_XDECREF(basicsize);
	if (!fits) {
		if (PyErr_Occurred() == NULL)
			PyErr_SetString(PyExc_TypeError, "classes that Tensor inherits from need __slots__ = ()");
		return NULL;
	}
	PyObject* bases = PyTuple_Pack(1, s->methods);
	PyObject* type = bases != NULL ? PyType_FromModuleAndSpec(module, &spec, bases) : NULL;
	PyObject* doc = PyObject_GetAttrString(s->methods, "__doc__");
	PyObject* name = PyUnicode_FromString("Tensor"); /* what exceptions say; the module is kept beside it */
	const bool named = type != NULL && doc != NULL && name != NULL &&
	                   PyObject_SetAttrString(type, "__doc__", doc) == 0 &&
	                   PyObject_SetAttrString(type, "__name__", name) == 0;
	Py_XDECREF(bases);
	Py_XDECREF(doc);
	Py_XDECREF(name);
	if (!named) Py_CLEAR(type);
	return (PyTypeObject*)type;
}
