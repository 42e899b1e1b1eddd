/* Frames of Python for tracking, by the interpreter's C interface, which runs no Python code. The library is not linked
 * with an interpreter: it looks the functions up where there is one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "../base/lock.h"
#include "../object/fast.h"
#include "frames.h"

/* Objects are PyObject*; the caller owns those that are marked new. */
typedef struct interpreter {
	void* (*current)(void);                /* _PyThreadState_UncheckedGet; NULL: nobody has the lock */
	void* (*own_thread)(void);             /* PyGILState_GetThisThreadState; NULL: Python does not know this thread */
	void* (*interpreter_of)(void*);        /* PyThreadState_GetInterpreter */
	void* (*main_interpreter)(void);       /* PyInterpreterState_Main */
	void* (*frame)(void);                  /* PyEval_GetFrame: borrowed, NULL: no Python runs */
	void* (*caller)(void*);                /* PyFrame_GetBack: new, NULL: the outermost */
	void* (*code)(void*);                  /* PyFrame_GetCode: new */
	int (*line)(void*);                    /* PyFrame_GetLineNumber, which decodes a table */
	int (*instruction)(void*);             /* PyFrame_GetLasti; NULL before 3.11 */
	intptr_t (*request)(void (*)(void*));  /* _PyEval_RequestCodeExtraIndex */
	int (*extra)(void*, intptr_t, void**); /* _PyCode_GetExtra */
	int (*set_extra)(void*, intptr_t, void*);  /* _PyCode_SetExtra */
	void* (*attribute)(void*, const char*);    /* PyObject_GetAttrString: new, NULL with an error set */
	const char* (*text)(void*);                /* PyUnicode_AsUTF8: the string's, NULL with an error set */
	void (*put_aside)(void**, void**, void**); /* PyErr_Fetch */
	void (*put_back)(void*, void*, void*);     /* PyErr_Restore */
	int (*stop_collector)(void);               /* PyGC_Disable */
	int (*start_collector)(void);              /* PyGC_Enable */
	void (*hold)(void*);                       /* Py_IncRef */
	void (*drop)(void*);                       /* Py_DecRef; NULL is nothing */
	int (*at_end)(void (*)(void));             /* Py_AtExit; -1: its table is full */
} interpreter;

static interpreter python;
static _Atomic uint32_t state; /* what follows is written once */
enum { UNKNOWN, BEING_WRITTEN, KNOWN };

static bool find(void* out, const char* name)
{
	void* found = dlsym(RTLD_DEFAULT, name);
	memcpy(out, &found, sizeof found);
	if (found == NULL) dlerror(); /* no message is left for the program's next one */
	return found != NULL;
}

/* Names of 3.12 and later, and before. */
static bool find_either(void* out, const char* name, const char* before)
{
	return find(out, name) || find(out, before);
}

static bool find_all(interpreter* p)
{
	find(&p->instruction, "PyFrame_GetLasti");
	return find_either(&p->current, "PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet") &&
	       find(&p->own_thread, "PyGILState_GetThisThreadState") &&
	       find(&p->interpreter_of, "PyThreadState_GetInterpreter") &&
	       find(&p->main_interpreter, "PyInterpreterState_Main") && find(&p->frame, "PyEval_GetFrame") &&
	       find(&p->caller, "PyFrame_GetBack") && find(&p->code, "PyFrame_GetCode") &&
	       find(&p->line, "PyFrame_GetLineNumber") &&
	       find_either(&p->request, "PyUnstable_Eval_RequestCodeExtraIndex", "_PyEval_RequestCodeExtraIndex") &&
	       find_either(&p->extra, "PyUnstable_Code_GetExtra", "_PyCode_GetExtra") &&
	       find_either(&p->set_extra, "PyUnstable_Code_SetExtra", "_PyCode_SetExtra") &&
	       find(&p->attribute, "PyObject_GetAttrString") && find(&p->text, "PyUnicode_AsUTF8") &&
	       find(&p->put_aside, "PyErr_Fetch") && find(&p->put_back, "PyErr_Restore") &&
	       find(&p->stop_collector, "PyGC_Disable") && find(&p->start_collector, "PyGC_Enable") &&
	       find(&p->hold, "Py_IncRef") && find(&p->drop, "Py_DecRef") && find(&p->at_end, "Py_AtExit");
}

/* ---- packages that are passed over ---------------------------------------------------------- */

enum { MOST_PASSED = 8, PREFIX_BYTES = 4096 };

static char prefixes[MOST_PASSED][PREFIX_BYTES];
static _Atomic uint32_t passed; /* how many there are; they are written once */
static _Atomic uint32_t prefix_lock;

bool tlc_python_passes_over(const char* file)
{
	const uint32_t n = atomic_load_explicit(&passed, memory_order_acquire);
	for (uint32_t i = 0; i < n; i++)
		if (strncmp(file, prefixes[i], strlen(prefixes[i])) == 0) return true;
	return false;
}

static bool pass_over(const char* prefix)
{
	tlc_lock(&prefix_lock);
	const uint32_t n = passed;
	bool known = false;
	for (uint32_t i = 0; i < n; i++) known = known || strcmp(prefixes[i], prefix) == 0;
	const bool fits = known || n < MOST_PASSED;
	if (fits && !known) {
		strcpy(prefixes[n], prefix);
		atomic_store_explicit(&passed, n + 1, memory_order_release);
	}
	tlc_unlock(&prefix_lock);
	return fits;
}

static tl_status refuse(tl_status why) { return tlc_fail(why, TL_FN_tl_python_lines, NULL); }

tl_status tl_python_lines(const char* skip)
{
	interpreter found = {0};
	uint32_t none = UNKNOWN;
	if (skip == NULL || *skip == 0 || strlen(skip) >= PREFIX_BYTES) return refuse(TL_E_INVALID_ARGUMENT);
	if (!find_all(&found)) return refuse(TL_E_UNSUPPORTED);
	if (!pass_over(skip)) return refuse(TL_E_LIMIT);
	if (!atomic_compare_exchange_strong(&state, &none, BEING_WRITTEN)) return TL_OK; /* it is the same interpreter */
	python = found;
	atomic_store_explicit(&state, KNOWN, memory_order_release);
	return TL_OK;
}

static bool is_known(void) { return atomic_load_explicit(&state, memory_order_acquire) == KNOWN; }

size_t tlc_most_frames(void) { return is_known() ? TLC_MOST_WALKED : TLC_MOST_FRAMES; }

/* ---- code objects --------------------------------------------------------------------------- */

/* What is kept in a code object, besides the tag:
 *
 *	55      the file is passed over
 *	54-52   how many prefixes there were when that was found
 *	51-28   number of the code object, 0: it has none of its own
 *	27-0    number of its name
 */
enum { PASSED_SHIFT = 55, PREFIXES_SHIFT = 52, SERIAL_BITS = 24 };

#define TAG ((uint64_t)TL_PYTHON_TAG << TL_PYTHON_TAG_SHIFT)
#define NAME_MASK (((uint64_t)1 << TL_PYTHON_NAME_BITS) - 1)

/* The place in code objects that is ours. The interpreter's lock guards it, and all that follows. */
enum { NOT_ASKED = -1, REFUSED = -2 };
static intptr_t place = NOT_ASKED;

static void forget_place(void) { place = NOT_ASKED; }

/* Asks for the place, of an interpreter that is new. Numbers of code objects go on, so no line is mistaken. */
static bool begin(void)
{
	uintptr_t function;
	memcpy(&function, &python.frame, sizeof function);
	tlc_python_find_modules(function);
	place = python.at_end(forget_place) == 0 ? python.request(NULL) : REFUSED;
	if (place < 0) place = REFUSED;
	return place >= 0;
}

/* A copy of a text of a code object; false: it has no UTF-8. */
static const char* text_of(void* code, const char* attribute, void** held)
{
	*held = python.attribute(code, attribute);
	return *held != NULL ? python.text(*held) : NULL;
}

/* Looks a code object's names up, and keeps what is found in it; 0: there was no memory. */
static __attribute__((noinline)) uint64_t meet(void* code)
{
	static uint64_t serial;
	void *held_file, *held_function;
	const uint64_t count = atomic_load_explicit(&passed, memory_order_acquire);
	const char* file = text_of(code, "co_filename", &held_file);
	const char* function = text_of(code, "co_qualname", &held_function);
	if (function == NULL) { /* before 3.11 */
		python.drop(held_function);
		function = text_of(code, "co_name", &held_function);
	}
	if (file == NULL) file = "<unknown>";
	const uint64_t name = tlentry_python_name((uintptr_t)(function != NULL ? function : "<unknown>"), (uintptr_t)file);
	const uint64_t own = serial + 1 < (1u << SERIAL_BITS) ? ++serial : 0;
	const uint64_t passes = tlc_python_passes_over(file);
	python.drop(held_file);
	python.drop(held_function);
	if (name == 0 || name > NAME_MASK) return 0;
	const uint64_t known =
		TAG | passes << PASSED_SHIFT | count % MOST_PASSED << PREFIXES_SHIFT | own << TL_PYTHON_NAME_BITS | name;
	const bool kept = python.set_extra(code, place, (void*)(uintptr_t)known) == 0;
	return kept ? known : known ^ own << TL_PYTHON_NAME_BITS;
}

static uint64_t known_of(void* code)
{
	void* kept = NULL;
	const uint64_t count = atomic_load_explicit(&passed, memory_order_relaxed);
	if (python.extra(code, place, &kept) != 0) return meet(code);
	const uint64_t known = (uint64_t)(uintptr_t)kept;
	const uint64_t fresh = TAG >> PREFIXES_SHIFT | count % MOST_PASSED; /* but for the bit of PASSED_SHIFT */
	return (known >> PREFIXES_SHIFT & ~(uint64_t)8) == fresh ? known : meet(code);
}

/* Lines by code object and instruction: the interpreter decodes a table for each. */
static uint64_t line_of(uint64_t known, void* frame)
{
	static struct {
		uint64_t key;
		int line;
	} lines[4096];
	const int at = python.instruction != NULL ? python.instruction(frame) : -1;
	const uint64_t serial = known >> TL_PYTHON_NAME_BITS & ((1u << SERIAL_BITS) - 1);
	const uint64_t key = serial << 32 | (uint32_t)at;
	const size_t i = TL_HASH(key, 12);
	int line = lines[i].line;
	if (serial == 0 || at < 0 || lines[i].key != key) {
		line = python.line(frame);
		if (serial != 0 && at >= 0) lines[i].key = key, lines[i].line = line;
	}
	return line > 0 && line < 1 << TL_PYTHON_LINE_BITS ? (uint64_t)line : 0;
}

/* ---- stacks --------------------------------------------------------------------------------- */

/* Whether this thread holds the lock of the interpreter that we know. PyGILState_Check says yes to every thread once there
 * was a second interpreter. */
static bool has_lock(void)
{
	void* thread = python.own_thread();
	return thread != NULL && thread == python.current() && python.interpreter_of(thread) == python.main_interpreter();
}

/* Innermost frames of packages that are passed over are left out, unless there are no others. */
static void gather(tlc_python_stack* to, void* frame)
{
	to->n = 0;
	python.hold(frame);
	while (frame != NULL && to->n < TLC_MOST_PYTHON) {
		void *code = python.code(frame), *caller = python.caller(frame);
		const uint64_t known = known_of(code);
		const bool passes = to->n == 0 && (known >> PASSED_SHIFT & 1) != 0 && caller != NULL;
		if (known != 0 && !passes)
			to->words[to->n++] = TAG | (known & NAME_MASK) << TL_PYTHON_LINE_BITS | line_of(known, frame);
		python.drop(code);
		python.drop(frame);
		frame = caller;
	}
	to->cut = frame != NULL;
	python.drop(frame);
}

/* Frame objects are made for the purpose. In 3.11 that may start the collector of garbage, and so any code; it waits. */
size_t tlc_python_add(const tlc_stack* c, uintptr_t* to)
{
	if (!is_known() || !has_lock() || place == REFUSED || (place == NOT_ASKED && !begin())) return 0;
	tlc_python_stack found = {.n = 0};
	void *type, *value, *trace;
	python.put_aside(&type, &value, &trace);
	const bool collects = python.stop_collector() != 0;
	void* frame = python.frame();
	if (frame != NULL) gather(&found, frame);
	if (collects) python.start_collector();
	python.put_back(type, value, trace);
	return found.n != 0 ? tlc_python_merge(&found, c, to) : 0;
}

typedef struct told {
	void* pointer;
	bool done;
} told;

static void tell(const tlc_stack* c, void* argument)
{
	told* of = argument;
	uintptr_t both[TLC_MOST_BOTH];
	tl_status why;
	const size_t n = tlc_python_add(c, both);
	tl_context* in = n != 0 ? tlc_entry_begin(TL_FN_tl_python_site, &why) : NULL;
	if (in == NULL) return;
	tlentry_python_site((uintptr_t)in, (uintptr_t)of->pointer, (uintptr_t)both, n);
	tlc_entry_end(in);
	of->done = true;
}

bool tl_python_site(void* pointer)
{
	told of = {.pointer = pointer};
	if (!is_known()) return false;
	if (TLC_LIKELY(!tlc_may_name(pointer))) return true;
	tlc_take_stack(tlc_most_frames(), tell, &of);
	return of.done;
}
