/* Call stacks, for tracking.
 *
 * They are found by the unwind tables of exceptions, because not all code keeps frame pointers. That takes some
 * microseconds, and a program allocates at the same place again and again. So stacks are kept together with where on the
 * stack their return addresses stand, and a kept stack is compared with memory first, from the innermost frame on:
 *
 *	return address of frame i at slot[i] == address[i + 1]
 *
 * If it holds for frames 0 to i, frame i + 1 is the kept one at the same place: a frame's size follows from its address,
 * unless the function keeps a frame pointer, which it may need because its size varies (alloca). Such a frame is compared
 * by its frame pointer too. One of the frames inside it has saved that register, nobody tells which and where. So every
 * word of theirs that holds the frame pointer when the stack is kept has to hold it when the stack is compared: the saved
 * register is among them. A function that has realigned the stack has stored its frame's end below its frame pointer,
 * and is treated likewise. A stack with a signal's frame is not kept, nor one with a frame that ends by another register,
 * as the switch to another stack may: the tables are used each time. Only words of frames that were compared are read,
 * which are live stack. */
#define _GNU_SOURCE
#include "stacks.h"

#include <alloca.h>
#include <string.h>
#include <unwind.h>

#include "../host/stack.h"
#include "../base/lock.h"
#include "unwinding.h"

typedef struct frame {
	uintptr_t address; /* returned to; 0 in the outermost frame's caller */
	uintptr_t sp;      /* when this frame's callee returns */
	uintptr_t fp;
	bool signal;
	bool moves; /* it ends by a register that is not compared: who called may be anywhere */
} frame;

/* One more frame than is wanted: where it begins, the last one that is wanted ends. */
enum { MOST_OF_WALK = TLC_MOST_WALKED + 1 };

typedef struct walk {
	frame frames[MOST_OF_WALK];
	size_t n, most;
	tlc_known known;
} walk;

/* An address inside the call of a frame, or where a signal came. */
static inline uintptr_t called_at(const frame* f) { return f->address - !f->signal; }

static _Unwind_Reason_Code step(struct _Unwind_Context* at, void* data)
{
	walk* w = data;
	int before = 0;
	uintptr_t pc = _Unwind_GetIPInfo(at, &before);
	if (pc == 0) return _URC_END_OF_STACK;
	frame* f = &w->frames[w->n++];
	*f = (frame){.address = pc, .signal = before != 0, .sp = _Unwind_GetCFA(at)};
#if defined(__x86_64__)
	f->fp = _Unwind_GetGR(at, 6);
#endif
	if (w->n > w->most) return _URC_END_OF_STACK;
	tlc_caller_frame caller;
	const tlc_step next = tlc_may_step(at, pc, before != 0, &w->known, &caller);
	f->moves = !w->known.by_stack;
	if (next == TLC_STEP_LAST) w->frames[w->n++] = (frame){.address = caller.address, .sp = caller.sp};
	return next == TLC_STEP ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/* ---- kept stacks --------------------------------------------------------------------- */

#if defined(__x86_64__) && !defined(TLC_MEMCHECK)

enum {
	SETS = 64,
	WAYS = 4,
	MOST_SAVED = 200,     /* words that are compared besides return addresses, in all */
	MOST_BYTES = 1 << 16, /* of stack that are searched for them, for each frame */
};

/* A word that holds the frame pointer of a frame, or its end: the saved register, or a copy. */
typedef struct saved {
	size_t frame;
	uintptr_t at, holds;
} saved;

typedef struct kept {
	size_t n;                        /* frames; 0: none */
	bool cut;                        /* there may be more */
	uintptr_t address[MOST_OF_WALK]; /* of the call, as it is reported */
	uintptr_t slot[MOST_OF_WALK];    /* where frame i returns to address[i + 1] */
	size_t saves;
	saved saved[MOST_SAVED]; /* by ascending frame */
} kept;

/* Stacks by where the innermost frame ends. A set that another thread uses, or had when the process forked, is passed
 * over. */
static struct set {
	_Atomic uint32_t lock;
	uint32_t next; /* way that is replaced next */
	kept ways[WAYS];
} sets[SETS];

static struct set* set_of(uintptr_t end) { return &sets[TL_HASH(end, 6)]; }

static bool stands(const kept* k, uintptr_t end)
{
	if (k->n == 0 || k->slot[0] != end - 8) return false;
	const saved *v = k->saved, *last = v + k->saves;
	for (size_t i = 1; i < k->n; i++) {
		if (tlc_stack_word(k->slot[i - 1]) != k->address[i] + 1) return false;
		for (; v != last && v->frame == i; v++)
			if (tlc_stack_word(v->at) != v->holds) return false;
	}
	return true;
}

/* Finds the words of [from, to) that hold a value which frame i depends on. false: they are too many. */
static bool find_saved(kept* k, size_t i, uintptr_t holds, uintptr_t from, uintptr_t to)
{
	if (to - from > MOST_BYTES) return false;
	for (uintptr_t at = from; at < to; at += sizeof at) {
		if (tlc_stack_word(at) != holds) continue;
		if (k->saves == MOST_SAVED) return false;
		k->saved[k->saves++] = (saved){i, at, holds};
	}
	return true;
}

/* The same for the frame pointer, in the frames inside frame i. If no other frame has saved the register, then
 * tlc_take_stack has, below its return address. */
static bool find_frame_pointer(kept* k, size_t i, const walk* w)
{
	size_t before = k->saves;
	const frame* f = &w->frames[i];
	return find_saved(k, i, f->fp, w->frames[1].sp - 16, f->sp) && k->saves != before;
}

/* Whether a kept copy of this stack can be compared; fills in what is compared. The outermost frame has no slot. */
static bool can_keep(const walk* w, kept* k)
{
	k->saves = 0;
	for (size_t i = 0; i + 1 < w->n; i++) {
		const frame* f = &w->frames[i];
		uintptr_t end = f[1].sp;
		if (f->moves || f[1].signal || end < f->sp + 8 || tlc_stack_word(end - 8) != f[1].address) return false;
		k->slot[i] = end - 8;
		if (i == 0) continue;
		bool is_inside = f->fp >= f->sp && f->fp < end; /* a frame pointer, or one to any local variable */
		if (!is_inside) continue;
		if (!find_frame_pointer(k, i, w)) return false;
		if (f->fp + 16 != end && !find_saved(k, i, end, f->sp, f->fp & ~(uintptr_t)7)) return false;
	}
	return w->n > 1;
}

static bool find(uintptr_t end, size_t most, tlc_stack* to)
{
	struct set* s = set_of(end);
	if (!tlc_try_lock(&s->lock)) return false;
	bool found = false;
	for (int i = 0; i < WAYS && !found; i++) {
		const kept* k = &s->ways[i];
		if (!stands(k, end) || (k->cut && k->n <= most)) continue;
		found = true;
		to->n = k->n < most ? k->n : most;
		memcpy(to->frames, k->address, to->n * sizeof *to->frames);
	}
	tlc_unlock(&s->lock);
	return found;
}

static void keep(const walk* w, uintptr_t end)
{
	struct set* s = set_of(end);
	if (!tlc_try_lock(&s->lock)) return;
	kept* k = &s->ways[s->next];
	k->n = 0;
	if (w->frames[1].sp == end && can_keep(w, k)) {
		for (size_t i = 0; i < w->n; i++) k->address[i] = called_at(&w->frames[i]);
		k->n = w->n;
		k->cut = w->n > w->most;
		s->next = (s->next + 1) % WAYS;
	}
	tlc_unlock(&s->lock);
}

#else /* return addresses stand elsewhere, or nothing may be kept */

static bool find(uintptr_t end, size_t most, tlc_stack* to)
{
	(void)end, (void)most, (void)to;
	return false;
}
static void keep(const walk* w, uintptr_t end) { (void)w, (void)end; }

#endif

static inline __attribute__((always_inline)) void unwind(uintptr_t end, size_t most, walk* w, tlc_stack* to)
{
	w->n = 0;
	w->most = most;
	w->known = (tlc_known){0};
	_Unwind_Backtrace(step, w);
	to->n = w->n < most ? w->n : most;
	for (size_t i = 0; i < to->n; i++) to->frames[i] = called_at(&w->frames[i]);
	if (w->n > 1) keep(w, end);
}

/* What a stack is taken with: ten KiB, which the caller's stack need not have (host/stack.h). */
typedef struct walk_memory {
	walk walk;
	tlc_stack found;
} walk_memory;
_Static_assert(sizeof(walk_memory) <= TLC_WALK_BYTES, "host/stack.h");

/* Not inlined, for the sake of its end, and so that what it keeps lies inside of all frames that are compared. */
__attribute__((noinline)) void tlc_take_stack(size_t most, tlc_stack_use use, void* argument)
{
	const uintptr_t end = (uintptr_t)__builtin_frame_address(0) + 16;
	bool lent;
	walk_memory* m = tlc_begin_walk(&lent);
	if (m == NULL) m = alloca(sizeof *m);
	if (!find(end, most, &m->found)) unwind(end, most, &m->walk, &m->found);
	use(&m->found, argument);
	tlc_end_walk(lent);
}
