/* Frames of Python in recorded stacks.
 *
 * Names. A frame of Python is a word that no address can be: TL_PYTHON_TAG, the number of a name, a line. The name, of a
 * function and its file, is copied when a stack first meets the function's code object, so records need no interpreter.
 * What is known of a code object stands in a place that the interpreter keeps for us in the object itself
 * (_PyEval_RequestCodeExtraIndex) and that ends with it: no reference is held, and no address of an object is kept.
 *
 * Places. Frames of Python stand in one list, and the C frames of the functions that they call and that call them in
 * another. Where one list continues in the other is known from the interpreter's own bookkeeping: each activation of its
 * loop keeps a variable on the C stack that the frames lead to. These are private structs, read for versions of CPython
 * that were tried, and only after a frame has proved to have the layout. Elsewhere all frames of Python stand where the
 * stack first enters the interpreter.
 *
 * The interpreter's lock guards everything, and is asked for first: a thread without it has C frames only. */
#ifndef TL_PYTHON_FRAMES_H
#define TL_PYTHON_FRAMES_H

#include <stdbool.h>

#include "report_stacks.h"

enum { TLC_MOST_PYTHON = 50, TLC_MOST_BOTH = TLC_MOST_FRAMES + TLC_MOST_PYTHON };

#pragma GCC visibility push(hidden)

/* The frames of the calling thread's Python code, innermost first, and for each a place on the C stack inside of the
 * activation that runs it, 0 where that is not known. */
typedef struct tlc_python_stack {
	size_t n;
	bool cut; /* there are more */
	uintptr_t words[TLC_MOST_PYTHON];
	uintptr_t at[TLC_MOST_PYTHON];
} tlc_python_stack;

/* How many C frames are walked, of which TLC_MOST_FRAMES are recorded at most. */
size_t tlc_most_frames(void);

/* Gives a stack the frames of Python that the calling thread is in, in place of the interpreter's own; `to` has room for
 * TLC_MOST_BOTH. Returns how many frames there are; 0: none is Python's, or this thread may not ask. */
size_t tlc_python_add(const tlc_stack* c, uintptr_t* to);

/* ---- python_merge.c: C frames and frames of Python in one list -------------------------------------- */

size_t tlc_python_merge(const tlc_python_stack* python, const tlc_stack* c, uintptr_t* to);

/* Tells which module is the interpreter: the one with this function. */
void tlc_python_find_modules(uintptr_t function);

/* Whether a file belongs to a package that is passed over (tl_python_lines). */
bool tlc_python_passes_over(const char* file);

/* ---- python_places.c -------------------------------------------------------------------------------- */

typedef struct tlc_places {
	unsigned version;     /* of CPython, 311 to 313; 0: another one, or its structs are not the expected ones */
	uintptr_t low, high;  /* the stack that was walked */
	uintptr_t activation; /* that the next frame is in; 3.12, 3.13: 0 if it is not known yet */
	bool begun;           /* 3.11: a frame was found in it */
} tlc_places;

void tlc_places_begin(tlc_places* p, const tlc_stack* c, unsigned version, const void* thread_state);

/* The place of the next frame outwards, by its object; 0: not known. */
uintptr_t tlc_place_of(tlc_places* p, const void* object);

#pragma GCC visibility pop

#endif
