/* The module: what the package hands over, and calls back into it. */
#include <string.h>

#include "fast.h"

bool fast_is_there(const fast_state* s)
{
	if (LIKELY(s != NULL && s->tensor != NULL)) return true;
	if (PyErr_Occurred() == NULL)
		PyErr_SetString(PyExc_RuntimeError, "tl_runtime is not imported yet, or the interpreter has taken it apart");
	return false;
}

/* ---- calls of Python ------------------------------------------------------------------- */

PyObject* fast_method(const char* name, PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names)
{
	fast_state* s = fast_of(self)->state;
	const size_t given = (size_t)n + (names != NULL ? (size_t)PyTuple_Size(names) : 0);
	PyObject *function = PyObject_GetAttrString(s->methods, name), *result = NULL;
	PyObject** all = function != NULL ? PyMem_Malloc((1 + given) * sizeof *all) : NULL;
	if (all != NULL) {
		all[0] = self;
		if (given != 0) memcpy(all + 1, args, given * sizeof *all);
		result = s->vectorcall(function, all, 1 + (size_t)n, names);
	} else if (function != NULL) {
		PyErr_NoMemory();
	}
	PyMem_Free(all);
	Py_XDECREF(function);
	return result;
}

PyObject* fast_raise(PyObject* made)
{
	if (made == NULL) return NULL;
	PyErr_SetObject((PyObject*)Py_TYPE(made), made);
	Py_DECREF(made);
	return NULL;
}

bool fast_arrange(PyObject* const* args, Py_ssize_t n, PyObject* names, PyObject* const* parameters, int count,
                  int positional, PyObject** out)
{
	if (UNLIKELY(n > positional)) return false;
	for (int i = 0; i < count; i++) out[i] = i < n ? args[i] : NULL;
	const Py_ssize_t named = names != NULL ? PyTuple_Size(names) : 0;
	for (Py_ssize_t k = 0; k < named; k++) {
		PyObject* name = PyTuple_GetItem(names, k);
		int i = 0;
		while (i < count && parameters[i] != name) i++;
		if (UNLIKELY(i == count || out[i] != NULL)) return false;
		out[i] = args[n + k];
	}
	return true;
}

int fast_shape(PyObject* given, int64_t* shape)
{
	if (PyLong_CheckExact(given)) return fast_int(given, shape) ? 1 : -1;
	const bool tuple = PyTuple_CheckExact(given);
	if (UNLIKELY(!tuple && !PyList_CheckExact(given))) return -1;
	const Py_ssize_t rank = tuple ? PyTuple_Size(given) : PyList_Size(given);
	if (UNLIKELY(rank > MAX_RANK)) return -1;
	for (Py_ssize_t i = 0; i < rank; i++)
		if (UNLIKELY(!fast_int(tuple ? PyTuple_GetItem(given, i) : PyList_GetItem(given, i), shape + i))) return -1;
	return (int)rank;
}

/* ---- what the package hands over --------------------------------------------------------- */

/* An address that is not NULL; NULL with an exception. */
static void* take_address(PyObject* given, const char* name)
{
	PyObject* number = PyDict_GetItemString(given, name);
	void* address = number != NULL ? PyLong_AsVoidPtr(number) : NULL;
	if (address == NULL && PyErr_Occurred() == NULL)
		PyErr_Format(PyExc_TypeError, "_fast.start was not given the address %s", name);
	return address;
}

/* An address that may be 0. */
static void* optional_address(PyObject* given, const char* name)
{
	PyObject* number = PyDict_GetItemString(given, name);
	return number != NULL ? PyLong_AsVoidPtr(number) : NULL;
}

/* Functions of the library by name; `given` has the address of tl_symbols. */
static bool take_functions(fast_state* s, PyObject* given)
{
	const tl_symbol* (*symbols)(size_t*);
	void* address = take_address(given, "symbols");
	if (address == NULL) return false;
	memcpy(&symbols, &address, sizeof symbols);
	size_t count;
	const tl_symbol* rows = symbols(&count);
	for (size_t i = 0; i < count; i++) {
#define X(wanted) \
	if (strcmp(rows[i].name, "tl_" #wanted) == 0) memcpy(&s->wanted, &rows[i].address, sizeof s->wanted);
		FAST_FUNCTIONS(X)
#undef X
	}
#define X(wanted)                                                             \
	if (s->wanted == NULL) {                                                  \
		PyErr_SetString(PyExc_ImportError, "the library has no tl_" #wanted); \
		return false;                                                         \
	}
	FAST_FUNCTIONS(X)
#undef X
	return true;
}

static bool take_objects(fast_state* s, PyObject* given)
{
	static const char* const names[OBJECTS] = {
#define X(wanted) #wanted,
		FAST_OBJECTS(X)
#undef X
	};
	for (int i = 0; i < OBJECT_entries; i++) {
		PyObject* object = PyDict_GetItemString(given, names[i]);
		if (object == NULL) {
			PyErr_Format(PyExc_TypeError, "_fast.start was not given %s", names[i]);
			return false;
		}
		Py_XDECREF(s->object[i]);
		s->object[i] = Py_NewRef(object);
	}
	return true;
}

static bool take_dtypes(fast_state* s)
{
	if (PyTuple_Size(s->dtypes) != DTYPES || PyTuple_Size(s->formats) != DTYPES ||
	    PyBytes_Size(s->itemsizes) != DTYPES) {
		if (PyErr_Occurred() == NULL) PyErr_Format(PyExc_TypeError, "_fast.start needs %d element types", DTYPES);
		return false;
	}
	memcpy(s->itemsize, PyBytes_AsString(s->itemsizes), DTYPES);
	for (int i = 0; i < DTYPES; i++) {
		s->dtype[i] = PyTuple_GetItem(s->dtypes, i);
		if (Py_IsNone(s->dtype[i])) continue;
		s->format[i] = (char*)PyUnicode_AsUTF8AndSize(PyTuple_GetItem(s->formats, i), NULL);
		if (s->format[i] == NULL) return false;
	}
	return true;
}

static bool take_addresses(fast_state* s, PyObject* given)
{
	void *raw_free = take_address(given, "raw_free"), *method = take_address(given, "vectorcall_method");
	void* vectorcall = take_address(given, "vectorcall");
	s->deferred = take_address(given, "deferred");
	void *trace = optional_address(given, "trace"), *untrace = optional_address(given, "untrace");
	PyObject* domain = PyDict_GetItemString(given, "domain");
	s->domain = domain != NULL ? (unsigned int)PyLong_AsUnsignedLong(domain) : 0;
	memcpy(&s->trace, &trace, sizeof trace);
	memcpy(&s->untrace, &untrace, sizeof untrace);
	memcpy(&s->raw_free, &raw_free, sizeof raw_free);
	memcpy(&s->vectorcall_method, &method, sizeof method);
	memcpy(&s->vectorcall, &vectorcall, sizeof vectorcall);
	return raw_free != NULL && method != NULL && vectorcall != NULL && s->deferred != NULL;
}

static PyObject* start(PyObject* module, PyObject* given)
{
	fast_state* s = fast_state_of(module);
	if (s->tensor != NULL) return Py_NewRef((PyObject*)s->tensor);
	if (!PyDict_Check(given)) {
		PyErr_SetString(PyExc_TypeError, "_fast.start takes a dict");
		return NULL;
	}
	if (!take_addresses(s, given) || !take_functions(s, given) || !take_objects(s, given) || !take_dtypes(s))
		return NULL;
	s->recorded = s->track_count();
	s->tensor = fast_make_type(module);
	return Py_XNewRef((PyObject*)s->tensor);
}

static PyObject* own(PyObject* module, PyObject* address) { return fast_own_made(fast_state_of(module), address); }

/* ---- arguments of ctypes, for _binding/numbers.py ------------------------------------------------ */

/* Converts an argument as `about` says: its limits, the lower above the upper for a name, and what ctypes converts with. */
static PyObject* convert_argument(PyObject* about, PyObject* value)
{
	PyObject *low = PyTuple_GetItem(about, 0), *high = PyTuple_GetItem(about, 1), *convert = PyTuple_GetItem(about, 2);
	const int name = PyObject_RichCompareBool(low, high, Py_GT);
	if (name < 0) return NULL;
	if (!name && PyLong_Check(value)) {
		const int below = PyObject_RichCompareBool(value, low, Py_LT);
		const int above = below == 0 ? PyObject_RichCompareBool(value, high, Py_GT) : 0;
		if (below > 0 || above > 0) PyErr_Format(PyExc_OverflowError, "%S is not between %S and %S", value, low, high);
		if (below != 0 || above != 0) return NULL;
	}
	if (name && PyBytes_Check(value) && strlen(PyBytes_AsString(value)) != (size_t)PyBytes_Size(value)) {
		PyErr_SetString(PyExc_ValueError, "embedded null character");
		return NULL;
	}
	return PyObject_CallFunctionObjArgs(convert, value, NULL);
}

static PyObject* converter(PyObject* module, PyObject* about)
{
	static PyMethodDef method = {"from_param", convert_argument, METH_O, "from_param(value)"};
	(void)module;
	if (PyTuple_Check(about) && PyTuple_Size(about) == 3) return PyCFunction_NewEx(&method, about, NULL);
	PyErr_SetString(PyExc_TypeError, "_fast.converter takes a tuple of two limits and a function");
	return NULL;
}

static PyMethodDef functions[] = {
	{"start", start, METH_O, "start(given): takes what the package has, and returns the type Tensor."},
	{"own", own, METH_O, "own(address): a Tensor for a new tensor that the current scope holds; None raises."},
	{"living", fast_living, METH_NOARGS, "living() -> list: every Tensor."},
	{"empty", (PyCFunction)(void (*)(void))fast_empty, METH_FASTCALL | METH_KEYWORDS,
     "empty(shape, dtype='float32', device=None)\n--\n\n"
     "Returns a tensor with undefined contents, on the device that the option TL_DEVICE names unless one is given."},
	{"zeros", (PyCFunction)(void (*)(void))fast_zeros, METH_FASTCALL | METH_KEYWORDS,
     "zeros(shape, dtype='float32', device=None)\n--\n\n"
     "Returns a tensor whose elements are 0, on the device that the option TL_DEVICE names unless one is given."},
	{"from_dlpack", (PyCFunction)(void (*)(void))fast_from_dlpack, METH_FASTCALL | METH_KEYWORDS,
     "from_dlpack(source, /, *, device=None, copy=None)\n--\n\n"
     "Returns a tensor over the memory of another library's array, which it keeps alive."},
	{"converter", converter, METH_O, "converter((low, high, convert)): from_param of a type of arguments."},
	{"scope_type", fast_scope_type, METH_O,
     "scope_type(entries): the base of tl.scope; entries.scopes is a list of the thread."},
	{0},
};

/* ---- the module of an interpreter ------------------------------------------------------------------- */

static int begin(PyObject* module)
{
	static const char* const names[NAMES] = {
#define X(name) #name,
		FAST_NAMES(X)
#undef X
	};
	fast_state* s = fast_state_of(module);
	for (int i = 0; i < NAMES; i++)
		if ((s->name[i] = PyUnicode_InternFromString(names[i])) == NULL) return -1;
	s->only_out = PyTuple_Pack(1, s->name[NAME_out]);
	s->only_version = PyTuple_Pack(1, s->name[NAME_max_version]);
	if (s->only_out == NULL || s->only_version == NULL) return -1;
	return PyModule_AddIntConstant(module, "INTERFACE", PYTHON_INTERFACE);
}

static int visit_all(PyObject* module, visitproc visit, void* arg)
{
	fast_state* s = fast_state_of(module);
	for (int i = 0; i < OBJECTS; i++) Py_VISIT(s->object[i]);
	Py_VISIT(s->tensor);
	return 0;
}

/* No tensor lives. */
static int clear(PyObject* module)
{
	fast_state* s = fast_state_of(module);
	Py_CLEAR(s->tensor);
	s->new_array = NULL;
	for (int i = 0; i < OBJECTS; i++) Py_CLEAR(s->object[i]);
	return 0;
}

static void end(void* module)
{
	fast_state* s = fast_state_of(module);
	clear(module);
	for (int i = 0; i < NAMES; i++) Py_CLEAR(s->name[i]);
	Py_CLEAR(s->only_out);
	Py_CLEAR(s->only_version);
}

/* By number: headers of 3.11 lack the first one, which that version refuses as well. 2: also beside an interpreter with
 * a lock of its own. */
enum { MULTIPLE_INTERPRETERS = 3, FIRST_WITH_THEM = 0x030C0000 };
static PyModuleDef_Slot slots[] = {{MULTIPLE_INTERPRETERS, (void*)2}, {Py_mod_exec, (void*)begin}, {0}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        .m_name = "tl_runtime._fast",
                                        .m_doc = "The frequent operations of tl_runtime, in C.",
                                        .m_size = sizeof(fast_state),
                                        .m_methods = functions,
                                        .m_traverse = visit_all,
                                        .m_clear = clear,
                                        .m_free = end};

PyMODINIT_FUNC PyInit__fast(void);

PyMODINIT_FUNC PyInit__fast(void)
{
	definition.m_slots = Py_Version >= FIRST_WITH_THEM ? slots : slots + 1;
	return PyModuleDef_Init(&definition);
}
