/* Where on the C stack the frames of Python run; python_frames.h says what for.
 *
 * CPython keeps this in structs that it does not publish. Their offsets are those of its releases 3.11 to 3.13
 * (Include/internal/pycore_frame.h, Include/cpython/pystate.h), built with the interpreter's lock. A frame object knows
 * the interpreter's frame, which knows its frame object: where it does, the layout is the expected one.
 *
 *	3.11        each activation has a struct on the stack, linked from the thread's state, with the frame that it runs
 *	3.12, 3.13  the outermost frame of an activation has a caller that is no function but a variable of the activation */
#include <string.h>

#include "python_frames.h"

enum {
	FRAME_OF_OBJECT = 24, /* PyFrameObject.f_frame */

	THREAD_ACTIVATION = 56, /* 3.11: PyThreadState.cframe */
	ACTIVATION_FRAME = 8,   /* 3.11: _PyCFrame.current_frame */
	ACTIVATION_OUTER = 16,  /* 3.11: _PyCFrame.previous */
	OBJECT_OF_FRAME_311 = 40,

	OBJECT_OF_FRAME = 48, /* 3.12, 3.13: _PyInterpreterFrame.frame_obj, .previous, .owner */
	CALLER_OF_FRAME = 8,
	OWNER_OF_FRAME = 70,
	OWNED_BY_ACTIVATION = 3,

	MOST_CALLS = 4096, /* that are searched for the end of an activation */
};

static uintptr_t word(uintptr_t at)
{
	uintptr_t w;
	memcpy(&w, (const void*)at, sizeof w);
	return w;
}

/* In the part of the stack that was walked: what can be read, and what is of use. */
static bool is_on_stack(const tlc_places* p, uintptr_t at) { return at >= p->low && at < p->high && at % 8 == 0; }

void tlc_places_begin(tlc_places* p, const tlc_stack* c, unsigned version, const void* thread_state)
{
	*p = (tlc_places){.version = c->n > 1 ? version : 0, .low = (uintptr_t)__builtin_frame_address(0)};
	if (p->version == 0) return;
	p->high = c->ends[c->n - 2];
	if (version != 311) return;
	p->activation = word((uintptr_t)thread_state + THREAD_ACTIVATION);
	if (!is_on_stack(p, p->activation)) p->version = 0;
}

/* The frame of a frame object; 0: the layout is another one. */
static uintptr_t frame_of(const tlc_places* p, const void* object)
{
	const uintptr_t frame = word((uintptr_t)object + FRAME_OF_OBJECT);
	if (frame == 0 || frame % 8 != 0) return 0;
	return word(frame + (p->version == 311 ? OBJECT_OF_FRAME_311 : OBJECT_OF_FRAME)) == (uintptr_t)object ? frame : 0;
}

static uintptr_t place_311(tlc_places* p, uintptr_t frame)
{
	const bool runs = word(p->activation + ACTIVATION_FRAME) == frame;
	if (!p->begun && !runs) return 0;
	p->begun = true;
	const uintptr_t outer = runs ? 0 : word(p->activation + ACTIVATION_OUTER);
	if (is_on_stack(p, outer) && outer > p->activation && word(outer + ACTIVATION_FRAME) == frame)
		p->activation = outer;
	return p->activation;
}

static bool is_activation(uintptr_t caller) { return ((const char*)caller)[OWNER_OF_FRAME] == OWNED_BY_ACTIVATION; }

/* Calls from Python to Python stay in an activation, so its outermost frame may be far. It is looked for once. */
static uintptr_t place_312(tlc_places* p, uintptr_t frame)
{
	uintptr_t caller = word(frame + CALLER_OF_FRAME);
	const bool is_outermost = caller != 0 && is_activation(caller);
	uintptr_t place = p->activation;
	for (int i = 0; place == 0 && caller != 0 && i < MOST_CALLS; i++) {
		if (is_activation(caller)) place = caller;
		else caller = word(caller + CALLER_OF_FRAME);
	}
	p->activation = is_outermost ? 0 : place;
	return place >= p->low ? place : 0;
}

uintptr_t tlc_place_of(tlc_places* p, const void* object)
{
	if (p->version == 0) return 0;
	const uintptr_t frame = frame_of(p, object);
	if (frame == 0) p->version = 0;
	if (frame == 0) return 0;
	return p->version == 311 ? place_311(p, frame) : place_312(p, frame);
}
