/* The line of Python at which NumPy allocates, for tracking. NumPy calls C directly and not the
 * package tl_runtime, so the interpreter is asked through its C interface, which runs no Python
 * code. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "object_fast.h"
#include "python_numpy.h"

/* Objects are PyObject*; the caller owns those that are marked new. */
typedef struct interpreter {
	int (*has_lock)(void);                  /* PyGILState_Check */
	void* (*own_thread)(void);              /* PyGILState_GetThisThreadState; NULL: Python does not know this thread */
	void* (*frame)(void);                   /* PyEval_GetFrame: borrowed, NULL: no Python runs */
	void* (*caller)(void*);                 /* PyFrame_GetBack: new, NULL: the outermost */
	void* (*code)(void*);                   /* PyFrame_GetCode: new */
	int (*line)(void*);                     /* PyFrame_GetLineNumber */
	void* (*attribute)(void*, const char*); /* PyObject_GetAttrString: new, NULL with an error set */
	const char* (*text)(void*);             /* PyUnicode_AsUTF8: the string's, NULL with an error set */
	void (*clear)(void);                    /* PyErr_Clear */
	void (*hold)(void*);                    /* Py_IncRef */
	void (*drop)(void*);                    /* Py_DecRef; NULL is nothing */
	char skip[4096];                        /* files whose names begin so are skipped */
} interpreter;

static interpreter python;
static _Atomic uint32_t state; /* what follows is written once */
enum { UNKNOWN, BEING_WRITTEN, KNOWN };

static bool find(void* out, const char* name)
{
	void* found = dlsym(RTLD_DEFAULT, name);
	memcpy(out, &found, sizeof found);
	return found != NULL;
}

static bool find_all(interpreter* p)
{
	return find(&p->has_lock, "PyGILState_Check") && find(&p->own_thread, "PyGILState_GetThisThreadState") &&
	       find(&p->frame, "PyEval_GetFrame") && find(&p->caller, "PyFrame_GetBack") &&
	       find(&p->code, "PyFrame_GetCode") && find(&p->line, "PyFrame_GetLineNumber") &&
	       find(&p->attribute, "PyObject_GetAttrString") && find(&p->text, "PyUnicode_AsUTF8") &&
	       find(&p->clear, "PyErr_Clear") && find(&p->hold, "Py_IncRef") && find(&p->drop, "Py_DecRef");
}

static tl_status refuse(tl_status why) { return tlc_fail(why, TL_FN_tl_python_lines, NULL); }

tl_status tl_python_lines(const char* skip)
{
	interpreter found = {0};
	uint32_t none = UNKNOWN;
	if (skip == NULL || *skip == 0 || strlen(skip) >= sizeof found.skip) return refuse(TL_E_INVALID_ARGUMENT);
	if (!find_all(&found)) return refuse(TL_E_UNSUPPORTED);
	strcpy(found.skip, skip);
	if (!atomic_compare_exchange_strong(&state, &none, BEING_WRITTEN)) return TL_OK; /* it is the same interpreter */
	python = found;
	atomic_store_explicit(&state, KNOWN, memory_order_release);
	return TL_OK;
}

/* Names a frame's line, unless it is to be skipped and has a caller; true: done. */
static bool name_line(const void* block, void* frame, bool outermost)
{
	void* code = python.code(frame);
	void* file = python.attribute(code, "co_filename");
	const char* text = file != NULL ? python.text(file) : NULL;
	bool passed = text != NULL && !outermost && strncmp(text, python.skip, strlen(python.skip)) == 0;
	if (text == NULL) python.clear();
	else if (!passed) tl_track_site((void*)block, text, (uint32_t)python.line(frame));
	python.drop(file);
	python.drop(code);
	return !passed;
}

__attribute__((cold)) void tlc_python_name(const void* block)
{
	if (atomic_load_explicit(&state, memory_order_acquire) != KNOWN || !tlc_may_name(block)) return;
	if (python.own_thread() == NULL || !python.has_lock()) return;
	void* frame = python.frame();
	if (frame == NULL) return;
	python.hold(frame);
	for (bool done = false; !done;) {
		void* caller = python.caller(frame);
		done = name_line(block, frame, caller == NULL);
		python.drop(frame);
		frame = caller;
	}
	python.drop(frame);
}
