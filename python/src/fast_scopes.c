/* The base of tl.scope, for _memory/scope.py. Python runs signal handlers between its bytecodes, the first time before
 * the first one of a function; so only a function in C opens and closes a scope whatever they raise. */
#include "fast.h"

static PyObject *entries, *scopes_name; /* entries.scopes is the calling thread's list */

/* The scopes that the calling thread has entered by `with`, the newest last: each is a tuple of block and depth. */
static PyObject* opened(void)
{
	PyObject* list = PyObject_GetAttr(entries, scopes_name);
	if (list == NULL || PyList_Check(list)) return list;
	Py_DECREF(list);
	PyErr_SetString(PyExc_TypeError, "the entries of a thread are a list");
	return NULL;
}

static PyObject* enter(PyObject* self, PyObject* none)
{
	(void)none;
	PyObject *list = opened(), *depth = PyLong_FromLongLong(fast.get_scope_depth());
	PyObject* entry = list != NULL && depth != NULL ? PyTuple_Pack(2, self, depth) : NULL;
	PyObject* result = NULL;
	if (entry != NULL && PyList_Append(list, entry) == 0) {
		const tl_status status = fast.mem_enter_scope();
		const Py_ssize_t n = PyList_Size(list);
		if (status == TL_OK) result = Py_NewRef(self);
		else if (PyList_SetSlice(list, n - 1, n, NULL) == 0) fast_raise_status(status);
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
static PyObject* leave(PyObject* self, PyObject* arguments)
{
	(void)arguments;
	PyObject* list = opened();
	const long long depth = list != NULL ? take(list, self) : -1;
	Py_XDECREF(list);
	if (depth < 0) return NULL;
	PyThreadState* own = PyEval_SaveThread();
	const tl_status status = fast.mem_exit_scopes_to(depth);
	PyEval_RestoreThread(own);
	if (status != TL_OK) return fast_raise_status(status);
	fast_drain();
	return PyErr_Occurred() == NULL ? Py_NewRef(Py_None) : NULL;
}

PyObject* fast_scope_type(PyObject* module, PyObject* given)
{
	static PyMethodDef methods[] = {{"__enter__", enter, METH_NOARGS, "Opens the scope."},
	                                {"__exit__", leave, METH_VARARGS, "Closes the scope."},
	                                {0}};
	static PyType_Slot slots[] = {{Py_tp_methods, methods}, {0}};
	static PyType_Spec spec = {"tl_runtime._fast.Scope", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
	                           slots};
	(void)module;
	scopes_name = PyUnicode_InternFromString("scopes");
	if (scopes_name == NULL) return NULL;
	Py_XDECREF(entries);
	entries = Py_NewRef(given);
	return PyType_FromSpec(&spec);
}
