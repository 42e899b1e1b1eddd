/* DLPack, for memory of the CPU. Streams, copies and other devices are _tensor/dlpack.py's. */
#include "fast.h"

enum { STREAM, MAX_VERSION, DL_DEVICE, COPY, PARAMETERS }; /* as in FAST_NAMES */

/* Capsules keep the addresses of their names. */
static const char versioned[] = "dltensor_versioned", used_versioned[] = "used_dltensor_versioned";
static const char legacy[] = "dltensor", used_legacy[] = "used_dltensor";

enum { DL_CPU = 1, DL_MAJOR = 1 };

static inline bool is_absent(PyObject* given) { return given == NULL || Py_IsNone(given); }

/* Whether given is a pair of ints, the first of which it returns. */
static inline bool first_of_pair(PyObject* given, int64_t* first)
{
	int64_t second;
	return PyTuple_CheckExact(given) && PyTuple_Size(given) == 2 && fast_int(PyTuple_GetItem(given, 0), first) &&
	       fast_int(PyTuple_GetItem(given, 1), &second);
}

/* ---- exporting ------------------------------------------------------------------------------ */

PyObject* fast_dlpack_device(PyObject* self, PyObject* none)
{
	(void)none;
	if (LIKELY(fast_of(self)->device == TL_DEVICE_CPU)) return Py_NewRef(fast_of(self)->state->cpu);
	return fast_method("__dlpack_device__", self, NULL, 0, NULL);
}

PyObject* fast_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names)
{
	fast_state* s = fast_of(self)->state;
	PyObject *given[PARAMETERS], *made;
	int64_t major = 0, device = DL_CPU;
	bool known = fast_arrange(args, n, names, s->name + NAME_stream, PARAMETERS, 0, given) &&
	             is_absent(given[STREAM]) && fast_of(self)->device == TL_DEVICE_CPU;
	known = known && (is_absent(given[COPY]) || Py_IsFalse(given[COPY]));
	known = known && (is_absent(given[MAX_VERSION]) || first_of_pair(given[MAX_VERSION], &major));
	known =
		known &&
		(is_absent(given[DL_DEVICE]) || given[DL_DEVICE] == s->cpu ||
	     (first_of_pair(given[DL_DEVICE], &device) && PyObject_RichCompareBool(given[DL_DEVICE], s->cpu, Py_EQ) == 1));
	if (UNLIKELY(!known)) return fast_method("__dlpack__", self, args, n, names);
	made = s->python_capsule(fast_of(self)->tensor, major < DL_MAJOR ? 0 : DL_MAJOR, false);
	return LIKELY(made != NULL) || PyErr_Occurred() != NULL ? made : fast_raise_last(s);
}

/* ---- importing ------------------------------------------------------------------------------ */

/* Whether a producer says that its memory is the CPU's; false without an exception: the twin's. */
static bool is_here(fast_state* s, PyObject* source)
{
	int64_t device = 0;
	PyObject* where = s->vectorcall_method(s->name[NAME___dlpack_device__], &source, 1, NULL);
	if (UNLIKELY(where == NULL)) {
		if (PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();
		return false;
	}
	const bool here = first_of_pair(where, &device) && device == DL_CPU;
	Py_DECREF(where);
	return here;
}

/* Asks a producer for memory of the CPU; NULL without an exception: the twin's. */
static PyObject* ask(fast_state* s, PyObject* source)
{
	if (UNLIKELY(!is_here(s, source))) return NULL;
	PyObject* args[2] = {source, s->dlpack_version};
	PyObject* capsule = s->vectorcall_method(s->name[NAME___dlpack__], args, 1, s->only_version);
	if (LIKELY(capsule != NULL)) return capsule;
	if (PyErr_ExceptionMatches(PyExc_TypeError)) { /* a producer before DLPack 1.0 */
		PyErr_Clear();
		return s->vectorcall_method(s->name[NAME___dlpack__], args, 1, NULL);
	}
	if (PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();
	return NULL;
}

/* Takes the tensor out of a capsule. No other thread comes between its steps, and no signal handler of Python's. */
static PyObject* take_out(fast_state* s, PyObject* capsule, const char* name, const char* used)
{
	void* managed = PyCapsule_GetPointer(capsule, name);
	if (UNLIKELY(managed == NULL || PyCapsule_SetName(capsule, used) != 0)) return NULL;
	tl_tensor* made = name == versioned ? s->tensor_from_dlpack(managed) : s->tensor_from_dlpack_legacy(managed);
	if (LIKELY(made != NULL)) return fast_own(s, made);
	PyCapsule_SetName(capsule, name);
	PyObject* none = PyObject_CallNoArgs(s->refuse);
	Py_XDECREF(none);
	return NULL;
}

/* A struct of another version is the twin's to refuse: the library would end it. */
static bool has_known_version(PyObject* capsule)
{
	const uint32_t* major = PyCapsule_GetPointer(capsule, versioned);
	return major != NULL && *major == DL_MAJOR;
}

static PyObject* take(fast_state* s, PyObject* capsule)
{
	if (LIKELY(PyCapsule_IsValid(capsule, versioned) && has_known_version(capsule)))
		return take_out(s, capsule, versioned, used_versioned);
	if (PyCapsule_IsValid(capsule, legacy)) return take_out(s, capsule, legacy, used_legacy);
	PyObject* address = PyObject_CallFunctionObjArgs(s->take, capsule, NULL);
	if (address == NULL) return NULL;
	PyObject* tensor = fast_own(s, PyLong_AsVoidPtr(address));
	Py_DECREF(address);
	return tensor;
}

PyObject* fast_from_dlpack(PyObject* module, PyObject* const* args, Py_ssize_t n, PyObject* names)
{
	fast_state* s = fast_state_of(module);
	PyObject* given[PARAMETERS];
	if (UNLIKELY(!fast_is_there(s))) return NULL;
	bool known = n == 1 && !PyCapsule_CheckExact(args[0]);
	if (names != NULL && known) {
		known = fast_arrange(args + n, 0, names, s->name + NAME_stream, PARAMETERS, 0, given) &&
		        given[STREAM] == NULL && given[MAX_VERSION] == NULL && given[DL_DEVICE] == NULL &&
		        is_absent(given[COPY]);
	}
	PyObject* capsule = known ? ask(s, args[0]) : NULL;
	if (UNLIKELY(capsule == NULL))
		return PyErr_Occurred() == NULL ? s->vectorcall(s->from_dlpack, args, (size_t)n, names) : NULL;
	PyObject* tensor = take(s, capsule);
	Py_DECREF(capsule);
	return tensor;
}
