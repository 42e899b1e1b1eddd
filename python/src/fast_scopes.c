/* The base of tl.scope, for _memory/scope.py. Python runs signal handlers between its bytecodes, the first time before
 * the first one of a function; so only a function in C opens and closes a scope whatever they raise. */
#include "fast.h"

/* The scopes that the calling thread has entered by `with`, the newest last: each is a tuple of block and depth. */
static PyObject* opened(fast_state* s)
{
	PyObject* list = fast_is_there(s) ? PyObject_GetAttr(s->entries, s->name[NAME_scopes]) : NULL;
	if (list == NULL || PyList_Check(list)) return list;
	Py_DECREF(list);
	PyErr_SetString(PyExc_TypeError, "the entries of a thread are a list");
	return NULL;
}

/* The type, of which tl.scope is a subclass, knows the module. */
static PyObject* enter(PyObject* self, PyTypeObject* type, PyObject* const* args, Py_ssize_t n, PyObject* names)
{
	(void)args;
	if (n != 0 || names != NULL) return PyErr_Format(PyExc_TypeError, "__enter__ takes no arguments");
	fast_state* s = PyType_GetModuleState(type);
	PyObject *list = opened(s), *depth = list != NULL ? PyLong_FromLongLong(s->get_scope_depth()) : NULL;
	PyObject* entry = list != NULL && depth != NULL ? PyTuple_Pack(2, self, depth) : NULL;
	PyObject* result = NULL;
	if (entry != NULL && PyList_Append(list, entry) == 0) {
		const tl_status status = s->mem_enter_scope();
		n = PyList_Size(list);
		if (status == TL_OK) result = Py_NewRef(self);
		else if (PyList_SetSlice(list, n - 1, n, NULL) == 0) fast_raise_status(s, status);
	}
	Py_XDECREF(entry);
	Py_XDECREF(depth);
	Py_XDECREF(list);
	return result;
}

/* Takes the newest entry of a block out of the list; -1: an exception is set. Generators end their blocks in any order. */
static long long take(PyObject* list, PyObject* self)
{
	Py_ssize_t at = PyList_Size(list) - 1;
	while (at >= 0 && PyTuple_GetItem(PyList_GetItem(list, at), 0) != self) at--;
	if (at < 0) {
		PyErr_SetString(PyExc_RuntimeError, "the calling thread is in no block of this scope; it cannot leave one");
		return -1;
	}
	const long long depth = PyLong_AsLongLong(PyTuple_GetItem(PyList_GetItem(list, at), 1));
	return PyList_SetSlice(list, at, at + 1, NULL) == 0 ? depth : -1;
}

/* Destructors may wait for functions of Python's on other threads. */
static PyObject* leave(PyObject* self, PyTypeObject* type, PyObject* const* args, Py_ssize_t n, PyObject* names)
{
	(void)args, (void)n, (void)names;
	fast_state* s = PyType_GetModuleState(type);
	PyObject* list = opened(s);
	const long long depth = list != NULL ? take(list, self) : -1;
	Py_XDECREF(list);
	if (depth < 0) return NULL;
	PyThreadState* own = PyEval_SaveThread();
	const tl_status status = s->mem_exit_scopes_to(depth);
	PyEval_RestoreThread(own);
	if (status != TL_OK) return fast_raise_status(s, status);
	fast_drain(s);
	return PyErr_Occurred() == NULL ? Py_NewRef(Py_None) : NULL;
}

PyObject* fast_scope_type(PyObject* module, PyObject* given)
{
	enum { WITH_TYPE = METH_METHOD | METH_FASTCALL | METH_KEYWORDS };
	static PyMethodDef methods[] = {{"__enter__", (PyCFunction)(void (*)(void))enter, WITH_TYPE, "Opens the scope."},
	                                {"__exit__", (PyCFunction)(void (*)(void))leave, WITH_TYPE, "Closes the scope."},
	                                {0}};
	static PyType_Slot slots[] = {{Py_tp_methods, methods}, {0}};
	static PyType_Spec spec = {"tl_runtime._fast.Scope", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
	                           slots};
	fast_state* s = fast_state_of(module);
	Py_XDECREF(s->entries);
	s->entries = Py_NewRef(given);
	return PyType_FromModuleAndSpec(module, &spec, NULL);
}
