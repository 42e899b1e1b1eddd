/* tl_runtime._fast: the frequent operations of the Python package, for the limited API of CPython 3.11.
 *
 * The module holds no rule of its own. What is rare, what is wrong, and what only Python can say, it leaves to the
 * functions of the package: each entry point either answers the common case or calls its Python twin with the same
 * arguments. So the two ways differ in speed alone, and exceptions come from one place.
 *
 * The module is not linked with libtl_runtime. `_fast.start` gets the functions of the library that the package has
 * loaded. Each interpreter of the process has a module with a state of its own (fast_state), guarded by that
 * interpreter's lock; nothing is shared but constants.
 */
#ifndef TL_FAST_H
#define TL_FAST_H

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <stdbool.h>
#include <stdint.h>

#include "tl_runtime.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

#pragma GCC visibility push(hidden)

enum { MAX_RANK = 8, DTYPES = 24, MOST_OPERATORS = 12, PYTHON_INTERFACE = 7 };

typedef struct fast_state fast_state;

/* A tensor of the runtime, with one counted reference. Everything below `tensor` is a copy of what the library says of
 * it, which does not change while the reference is held. */
typedef struct fast_tensor {
	PyObject_HEAD PyObject* weak; /* references */
	fast_state* state;            /* of the type's module, which the type keeps */
	struct fast_tensor* next;     /* of all that live */
	struct fast_tensor** back;    /* what leads here */
	tl_tensor* tensor;            /* NULL: an exception has ended the construction */
	void* data;                   /* NULL without elements */
	PyObject* extents;            /* the shape as a tuple; NULL until somebody asks */
	int32_t device;
	uint8_t dtype;
	uint8_t rank;
	uint8_t itemsize;
	bool read_only;
	bool contiguous;
	bool in_reach; /* of the CPU */
	bool owned;    /* the memory is the tensor's own */
	bool traced;   /* tracemalloc knows of it */
	Py_ssize_t nbytes, size;
	Py_ssize_t shape[MAX_RANK];
	Py_ssize_t strides[MAX_RANK]; /* in bytes */
} fast_tensor;

/* Functions of the library. */
#define FAST_FUNCTIONS(X)        \
	X(tensor_empty)              \
	X(tensor_new_zeroed)         \
	X(tensor_info_get)           \
	X(tensor_acquire)            \
	X(tensor_release)            \
	X(tensor_free)               \
	X(tensor_from_dlpack)        \
	X(tensor_from_dlpack_legacy) \
	X(view_permute)              \
	X(view_reshape)              \
	X(view_slice_axes)           \
	X(mem_enter_scope)           \
	X(mem_exit_scopes_to)        \
	X(get_scope_depth)           \
	X(python_capsule)            \
	X(deferred_take)             \
	X(python_site)               \
	X(track_count)

/* Functions of the interpreter that the limited API lacks, or has only since a later version. */
typedef void (*fast_raw_free)(void* block); /* 3.13 */
typedef PyObject* (*fast_vectorcall_method)(PyObject* name, PyObject* const* args, size_t n,
                                            PyObject* names);                                               /* 3.12 */
typedef PyObject* (*fast_vectorcall)(PyObject* callable, PyObject* const* args, size_t n, PyObject* names); /* 3.12 */
typedef int (*fast_trace)(unsigned int domain, uintptr_t key, size_t bytes); /* tracemalloc's; -2: it is off */
typedef int (*fast_untrace)(unsigned int domain, uintptr_t key);

/* What the package hands over: objects of Python's, by name. The last two come later. */
#define FAST_OBJECTS(X)                                                                              \
	X(methods)   /* the class that has the methods of both ways; the base of the type */             \
	X(dtypes)    /* tuple of tl.DType by number, None where there is none */                         \
	X(itemsizes) /* bytes: how many an element has, 0 where there is none */                         \
	X(formats)   /* tuple of their names in buffers */                                               \
	X(names)     /* dict from names of element types to numbers */                                   \
	X(to_dtype)  /* (spec) -> tl.DType */                                                            \
	X(empty)     /* tl.empty and so on, in Python */                                                 \
	X(zeros)                                                                                         \
	X(from_dlpack)                                                                                   \
	X(take)           /* (capsule) -> address */                                                     \
	X(last_error)     /* () -> the exception for the calling thread's last failure */                \
	X(error_for)      /* (status) -> exception */                                                    \
	X(refuse)         /* () raises BufferError for the last failure */                               \
	X(tell)           /* (address): tells tracking the line of Python; None: the library reads it */ \
	X(reaches)        /* (device) -> whether the CPU uses its memory */                              \
	X(arrays)         /* () -> NumPy's table of C functions, its array type, dtypes by number */     \
	X(cpu)            /* (1, 0): the CPU for DLPack */                                               \
	X(dlpack_version) /* (1, 3) */                                                                   \
	X(entries)        /* .scopes is the calling thread's list of scopes */                           \
	X(found)          /* the answer of arrays; NULL before the first array */

/* Names that calls compare by address. The parameters of tl.empty and those of __dlpack__ stand one after another. */
#define FAST_NAMES(X)    \
	X(shape)             \
	X(dtype)             \
	X(device)            \
	X(stream)            \
	X(max_version)       \
	X(dl_device)         \
	X(copy)              \
	X(__dlpack_device__) \
	X(__dlpack__)        \
	X(__call__)          \
	X(out)               \
	X(scopes)

enum fast_name {
#define X(name) NAME_##name,
	FAST_NAMES(X)
#undef X
		NAMES
};

/* NumPy's C functions that a hand-over needs: PyArray_NewFromDescr, PyArray_SetBaseObject. */
typedef PyObject* (*fast_new_array)(PyObject* type, PyObject* descr, int rank, const Py_ssize_t* shape,
                                    const Py_ssize_t* strides, void* data, int flags, PyObject* like);
typedef int (*fast_set_base)(PyObject* array, PyObject* base);

/* Which device tl.empty() means without an argument, as far as the last tensor told. */
enum fast_default { DEFAULT_UNKNOWN, DEFAULT_IS_CPU, DEFAULT_IS_ELSEWHERE };

enum {
#define X(name) OBJECT_##name,
	FAST_OBJECTS(X)
#undef X
		OBJECTS
};

struct fast_state {
#define X(name) __typeof__(&tl_##name) name;
	FAST_FUNCTIONS(X)
#undef X
	union {
		struct {
#define X(name) PyObject* name;
			FAST_OBJECTS(X)
#undef X
		};
		PyObject* object[OBJECTS];
	};
	PyObject *name[NAMES], *only_out, *only_version; /* tuples of a name, for calls */
	PyTypeObject* tensor;  /* the type; NULL before start, and when the interpreter takes the module apart */
	fast_tensor* living;   /* every tensor */
	void* const* deferred; /* the list of _binding/deferred.py */
	fast_raw_free raw_free;
	fast_vectorcall_method vectorcall_method;
	fast_vectorcall vectorcall;
	fast_trace trace; /* NULL: a Python without tracemalloc */
	fast_untrace untrace;
	unsigned int domain;
	const uint64_t* recorded;
	PyObject* dtype[DTYPES]; /* borrowed from dtypes; None: no such type */
	char* format[DTYPES];    /* borrowed */
	uint8_t itemsize[DTYPES];
	enum fast_default device;
	PyObject *array_type, *descr[DTYPES]; /* borrowed from found */
	fast_new_array new_array;             /* NULL before the first array */
	fast_set_base set_base;
};

/* The state of a module; NULL never. */
static inline fast_state* fast_state_of(PyObject* module) { return PyModule_GetState(module); }

/* Whether functions of the module can be called, else an exception says why. Where there is a Tensor they can: it keeps
 * its type, and the type the module. */
bool fast_is_there(const fast_state* s);

/* ---- calls of Python ------------------------------------------------------------------- */

/* Calls the Python twin of an entry point, a method of the class `methods`. */
PyObject* fast_method(const char* name, PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names);

/* Sets the exception that a function of the package returns; always NULL. */
PyObject* fast_raise(PyObject* made);
static inline PyObject* fast_raise_status(fast_state* s, tl_status status)
{
	return fast_raise(PyObject_CallFunction(s->error_for, "i", (int)status));
}
static inline PyObject* fast_raise_last(fast_state* s) { return fast_raise(PyObject_CallNoArgs(s->last_error)); }

/* Sorts arguments by the names of parameters, of which the first `positional` may come without; false: the twin has to
 * say what is wrong. Entries of `out` are borrowed, NULL where nothing was given. */
bool fast_arrange(PyObject* const* args, Py_ssize_t n, PyObject* names, PyObject* const* parameters, int count,
                  int positional, PyObject** out);

/* Reads an exact int that fits; false: the twin's, no exception is set. */
static inline bool fast_int(PyObject* number, int64_t* out)
{
	if (UNLIKELY(!PyLong_CheckExact(number))) return false;
	*out = PyLong_AsLongLong(number);
	if (UNLIKELY(*out == -1 && PyErr_Occurred() != NULL)) {
		PyErr_Clear();
		return false;
	}
	return true;
}

/* Reads a tuple or list of at most MAX_RANK exact ints, or one int; -1: the twin's. */
int fast_shape(PyObject* given, int64_t* shape);

/* ---- tensors ---------------------------------------------------------------------------- */

static inline fast_tensor* fast_of(PyObject* self) { return (fast_tensor*)(void*)self; }

/* A Tensor over a new tensor that the current scope holds; NULL stands for a failure of the library. */
PyObject* fast_own(fast_state* s, tl_tensor* made);

/* The same of what ctypes has returned: an address, or None. ctypes gave the interpreter's lock back during the call, so
 * the allocation was recorded without frames of Python. */
PyObject* fast_own_made(fast_state* s, PyObject* address);

/* A Tensor over a reference that the caller holds, and that it takes over; on failure, too, it is gone. */
PyObject* fast_wrap(fast_state* s, tl_tensor* held);

/* living() -> list: every Tensor. */
PyObject* fast_living(PyObject* module, PyObject* none);

PyTypeObject* fast_make_type(PyObject* module);

/* The end of a Tensor, which tells one from other objects where the state is not known. */
void fast_end(PyObject* self);

/* Releases what deleters have put on the list of _binding/deferred.py. */
void fast_drain_list(fast_state* s);
static inline void fast_drain(fast_state* s)
{
	if (UNLIKELY(__atomic_load_n(s->deferred, __ATOMIC_RELAXED) != NULL)) fast_drain_list(s);
}

/* Slots and methods, by file. */
int fast_get_buffer(PyObject* self, Py_buffer* view, int flags); /* fast_arrays.c */
PyObject* fast_as_buffer(PyObject* self, PyObject* flags);
PyObject* fast_numpy(PyObject* self, PyObject* none);
PyObject* fast_subscript(PyObject* self, PyObject* index); /* fast_views.c */
PyObject* fast_turned(PyObject* self, void* none);
PyObject* fast_transpose(PyObject* self, PyObject* const* args, Py_ssize_t n);
PyObject* fast_reshape(PyObject* self, PyObject* const* args, Py_ssize_t n);
PyObject* fast_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names); /* fast_dlpack.c */
PyObject* fast_dlpack_device(PyObject* self, PyObject* none);
PyObject* fast_from_dlpack(PyObject* module, PyObject* const* args, Py_ssize_t n, PyObject* names);
PyObject* fast_empty(PyObject* module, PyObject* const* args, Py_ssize_t n, PyObject* names); /* fast_make.c */
PyObject* fast_zeros(PyObject* module, PyObject* const* args, Py_ssize_t n, PyObject* names);
PyObject* fast_array_ufunc(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names); /* fast_operators.c */
PyObject* fast_scope_type(PyObject* module, PyObject* entries);                                   /* fast_scopes.c */
extern const PyType_Slot fast_operators[];
extern const size_t fast_operator_count;

#pragma GCC visibility pop

#endif
