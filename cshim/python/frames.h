/* Frames of Python in recorded stacks.
 *
 * Names. A frame of Python is a word that no address can be: TL_PYTHON_TAG, the number of a name, a line. The name, of a
 * function and its file, is copied when a stack first meets the function's code object, so records need no interpreter.
 * What is known of a code object stands in a place that the interpreter keeps for us in the object itself
 * (_PyEval_RequestCodeExtraIndex) and that ends with it: no reference is held, and no address of an object is kept.
 *
 * Places. Frames of Python stand in one list, and the C frames of the functions that they call and that call them in
 * another. CPython does not tell where one list continues in the other, so all frames of Python stand where the stack
 * first enters the interpreter.
 *
 * The interpreter's lock guards everything, and is asked for first: a thread without it has C frames only. */
#pragma once

#include <stdbool.h>

#include "../stacks/stacks.h"

enum { TLC_MOST_PYTHON = 50, TLC_MOST_BOTH = TLC_MOST_FRAMES + TLC_MOST_PYTHON };

#pragma GCC visibility push(hidden)

/* The frames of the calling thread's Python code, innermost first. */
typedef struct tlc_python_stack {
	size_t n;
	bool cut; /* there are more */
	uintptr_t words[TLC_MOST_PYTHON];
} tlc_python_stack;

/* How many C frames are walked, of which TLC_MOST_FRAMES are recorded at most. */
size_t tlc_most_frames(void);

/* Gives a stack the frames of Python that the calling thread is in, in place of the interpreter's own; `to` has room for
 * TLC_MOST_BOTH. Returns how many frames there are; 0: none is Python's, or this thread may not ask. */
size_t tlc_python_add(const tlc_stack* c, uintptr_t* to);

/* ---- merge.c: C frames and frames of Python in one list -------------------------------------- */

size_t tlc_python_merge(const tlc_python_stack* python, const tlc_stack* c, uintptr_t* to);

/* Tells which module is the interpreter: the one with this function. */
void tlc_python_find_modules(uintptr_t function);

/* Whether a file belongs to a package that is passed over (tl_python_lines). */
bool tlc_python_passes_over(const char* file);

#pragma GCC visibility pop
