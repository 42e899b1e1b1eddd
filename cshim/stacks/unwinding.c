/* Whether the unwinder can step out of a frame.
 *
 * The unwinder believes the tables. Assembly that moves the stack pointer and does not say so, as the switch of a coroutine
 * or a compiler's stub may, has a return address elsewhere, and the unwinder reads words that are none: as a return
 * address, whose code it looks at, and as a frame pointer, which it follows. So each step is worked out here first, by the
 * same tables. It is made when the caller's frame lies further out, all that is read can be read, and the return address
 * is in code that is known. What the tables say by a program that compilers do not write ends the stack, too. */
#define _GNU_SOURCE
#include "unwinding.h"

#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "../guard/host_memory.h"

/* Of libgcc, and of LLVM's library. */
struct dwarf_eh_bases {
	void *text, *data, *function;
};
extern const void* _Unwind_Find_FDE(void* pc, struct dwarf_eh_bases* bases);

enum {
#if defined(__x86_64__)
	STACK_POINTER = 7,
	FRAME_POINTER = 6,
	RETURN_REGISTER = -1, /* the address is on the stack */
#else
	STACK_POINTER = 31,
	FRAME_POINTER = 29,
	RETURN_REGISTER = 30,
#endif
	MOST_STATES = 8,
	PAGE_BYTES = 4096,
	MOST_FRAME_PAGES = 4096, /* of a frame are looked at */
};

/* ---- what the tables say of a frame ------------------------------------------------------ */

typedef enum where { UNCHANGED, AT_OFFSET, BY_REGISTER, NOWHERE, ELSEWHERE } where;

typedef struct rules {
	uint64_t base; /* register that the frame's end is counted from */
	int64_t offset;
	bool loads;  /* the end stands at base + offset */
	where place; /* of the return address */
	int64_t at;  /* from the frame's end, or by_register */
	uint64_t by_register;
} rules;

typedef struct reader {
	const unsigned char *at, *end;
	bool bad; /* a word that is not understood */
} reader;

/* The next n bytes, eight at most, as a number. */
static uint64_t bytes_of(reader* r, size_t n)
{
	uint64_t value = 0;
	if (n > (size_t)(r->end - r->at)) r->bad = true;
	if (r->bad) return 0;
	memcpy(&value, r->at, n);
	r->at += n;
	return value;
}

static void skip(reader* r, uint64_t n)
{
	if (n > (size_t)(r->end - r->at)) r->bad = true;
	if (!r->bad) r->at += n;
}

static uint64_t unsigned_of(reader* r)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint64_t byte;
	do {
		byte = bytes_of(r, 1);
		if (shift < 64) value |= (byte & 0x7F) << shift;
		shift += 7;
	} while ((byte & 0x80) != 0);
	return value;
}

static int64_t signed_of(reader* r)
{
	const unsigned char* from = r->at;
	uint64_t value = unsigned_of(r);
	size_t bits = 7 * (size_t)(r->at - from);
	if (!r->bad && bits < 64 && (r->at[-1] & 0x40) != 0) value |= ~(uint64_t)0 << bits;
	return (int64_t)value;
}

/* register + offset, and perhaps a load of that; false: another expression. */
static bool is_simple(reader* r, uint64_t* base, int64_t* offset, bool* loads)
{
	enum { OP_BREG0 = 0x70, OP_DEREF = 0x06 };
	reader e = *r;
	const uint64_t bytes = unsigned_of(&e);
	if (e.bad || bytes > (size_t)(e.end - e.at)) return false;
	e.end = e.at + bytes;
	r->at = e.end;
	*base = bytes_of(&e, 1) - OP_BREG0;
	*offset = signed_of(&e);
	*loads = e.at != e.end;
	return !e.bad && *base < 32 && (!*loads || (bytes_of(&e, 1) == OP_DEREF && e.at == e.end));
}

typedef struct table {
	reader common, own; /* instructions of the entry that functions share, and of this one */
	uint64_t code_unit, return_register;
	int64_t data_unit;
	uintptr_t function;
	bool signal;
} table;

static size_t pointer_bytes(uint64_t encoding)
{
	static const size_t bytes[] = {8, 0, 2, 4, 8};
	return (encoding & 7) < sizeof bytes / sizeof *bytes ? bytes[encoding & 7] : 0;
}

static void read_augmentation(reader* r, const char* letters, uint64_t* encoding, bool* signal)
{
	const uint64_t bytes = unsigned_of(r);
	reader a = *r;
	skip(r, bytes);
	a.end = r->at;
	*encoding = 0;
	for (; *letters != 0 && !a.bad; letters++) {
		if (*letters == 'R') *encoding = bytes_of(&a, 1);
		else if (*letters == 'L') bytes_of(&a, 1);
		else if (*letters == 'P') {
			const size_t pointer = pointer_bytes(bytes_of(&a, 1));
			if (pointer == 0) a.bad = true;
			skip(&a, pointer);
		} else if (*letters == 'S') *signal = true;
	}
	r->bad = r->bad || a.bad;
}

static reader entry_at(const unsigned char* p)
{
	uint32_t length;
	memcpy(&length, p, sizeof length);
	return (reader){p + sizeof length, p + sizeof length + length, length == UINT32_MAX};
}

/* Looks an address up, once for the frame that returns there and for the one that goes on there. */
static const void* look_up(tlc_known* k, uintptr_t address)
{
	struct dwarf_eh_bases bases;
	if (k->address == address) return k->table;
	k->address = address;
	k->table = _Unwind_Find_FDE((void*)address, &bases);
	if (k->table != NULL) k->function = (uintptr_t)bases.function;
	return k->table;
}

static bool find_table(tlc_known* k, uintptr_t pc, table* t)
{
	const unsigned char* found = look_up(k, pc);
	if (found == NULL) return false;
	t->function = k->function;
	t->own = entry_at(found);
	const unsigned char* here = t->own.at;
	t->common = entry_at(here - (int32_t)bytes_of(&t->own, 4));
	reader* c = &t->common;
	uint64_t encoding = 0;
	bytes_of(c, 4);
	const uint64_t version = bytes_of(c, 1);
	const char* letters = (const char*)c->at;
	c->at += strlen(letters) + 1;
	t->code_unit = unsigned_of(c);
	t->data_unit = signed_of(c);
	t->return_register = version == 1 ? bytes_of(c, 1) : unsigned_of(c);
	const bool sized = letters[0] == 'z';
	t->signal = false;
	if (sized) read_augmentation(c, letters + 1, &encoding, &t->signal);
	else if (letters[0] != 0) c->bad = true;
	skip(&t->own, 2 * pointer_bytes(encoding)); /* where the function begins, and its bytes */
	if (sized) skip(&t->own, unsigned_of(&t->own));
	t->own.bad = t->own.bad || c->bad || pointer_bytes(encoding) == 0;
	return true;
}

static void set_register(const table* t, rules* now, uint64_t which, where place, int64_t at)
{
	if (which != t->return_register) return;
	now->place = place;
	now->at = at;
}

static void restore_register(const table* t, rules* now, uint64_t which, const rules* first)
{
	set_register(t, now, which, first->place, first->at);
	if (which == t->return_register) now->by_register = first->by_register;
}

/* The instructions with an operand in their first byte, and those that are about the frame's end. */
static bool is_frame_instruction(const table* t, reader* r, unsigned code, rules* now)
{
	switch (code) {
	case 0x0C: /* def_cfa */
	case 0x12: /* def_cfa_sf */
		now->base = unsigned_of(r);
		now->offset = code == 0x0C ? (int64_t)unsigned_of(r) : signed_of(r) * t->data_unit;
		now->loads = false;
		return true;
	case 0x0D: now->base = unsigned_of(r); return true;                /* def_cfa_register */
	case 0x0E: now->offset = (int64_t)unsigned_of(r); return true;     /* def_cfa_offset */
	case 0x13: now->offset = signed_of(r) * t->data_unit; return true; /* def_cfa_offset_sf */
	case 0x0F:                                                         /* def_cfa_expression */
		if (!is_simple(r, &now->base, &now->offset, &now->loads)) r->bad = true;
		return true;
	default: return false;
	}
}

static void register_instruction(const table* t, reader* r, unsigned code, rules* now, const rules* first)
{
	uint64_t which, base = 0;
	int64_t offset = 0;
	bool loads;
	switch (code) {
	case 0x05: /* offset_extended */
		which = unsigned_of(r);
		set_register(t, now, which, AT_OFFSET, (int64_t)unsigned_of(r) * t->data_unit);
		return;
	case 0x11: /* offset_extended_sf */
		which = unsigned_of(r);
		set_register(t, now, which, AT_OFFSET, signed_of(r) * t->data_unit);
		return;
	case 0x06: restore_register(t, now, unsigned_of(r), first); return;    /* restore_extended */
	case 0x07: set_register(t, now, unsigned_of(r), NOWHERE, 0); return;   /* undefined */
	case 0x08: set_register(t, now, unsigned_of(r), UNCHANGED, 0); return; /* same_value */
	case 0x09:                                                             /* register */
		set_register(t, now, unsigned_of(r), ELSEWHERE, 0);
		unsigned_of(r);
		return;
	case 0x10: /* expression */
		which = unsigned_of(r);
		if (!is_simple(r, &base, &offset, &loads) || loads) r->bad = true;
		set_register(t, now, which, BY_REGISTER, offset);
		if (which == t->return_register) now->by_register = base;
		return;
	case 0x00:                         /* nop */
	case 0x2D: return;                 /* negate_ra_state */
	case 0x2E: unsigned_of(r); return; /* GNU_args_size */
	default: r->bad = true;
	}
}

/* Runs the instructions that hold before `limit`. */
static void run(const table* t, reader* r, uintptr_t limit, rules* now, const rules* first)
{
	rules states[MOST_STATES];
	size_t kept = 0;
	uintptr_t pc = t->function;
	while (r->at < r->end && !r->bad && pc < limit) {
		const unsigned code = (unsigned)bytes_of(r, 1), low = code & 0x3F;
		if (code >> 6 == 1) pc += low * t->code_unit; /* advance */
		else if (code >> 6 == 2)
			set_register(t, now, low, AT_OFFSET, (int64_t)unsigned_of(r) * t->data_unit); /* offset */
		else if (code >> 6 == 3) restore_register(t, now, low, first);                    /* restore */
		else if (code >= 0x02 && code <= 0x04) pc += bytes_of(r, (size_t)1 << (code - 2)) * t->code_unit;
		else if (code == 0x0A && kept < MOST_STATES) states[kept++] = *now;
		else if (code == 0x0B && kept > 0) *now = states[--kept];
		else if (!is_frame_instruction(t, r, code, now)) register_instruction(t, r, code, now, first);
	}
}

/* ---- what can be read -------------------------------------------------------------------- */

static bool covers(tlc_known* s, uintptr_t from, uintptr_t to)
{
	if (from < s->low || to < from) return false;
	if (to > s->high && (to - s->high) / PAGE_BYTES > MOST_FRAME_PAGES) return false;
	for (; s->high < to; s->high += PAGE_BYTES)
		if (!tlc_is_readable(s->high)) return false;
	return true;
}

/* Of the thread's own stack everything can be read that lies further out; that of a coroutine is looked at by pages. */
static void start_at(tlc_known* s, uintptr_t sp)
{
	static __thread uintptr_t low __attribute__((tls_model("initial-exec"))),
		bytes __attribute__((tls_model("initial-exec")));
	if (bytes == 0) {
		pthread_attr_t attributes;
		void* at;
		bytes = 1; /* not known */
		if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
			if (pthread_attr_getstack(&attributes, &at, &bytes) == 0) low = (uintptr_t)at;
			pthread_attr_destroy(&attributes);
		}
	}
	s->low = sp;
	s->high = sp - low < bytes ? low + bytes : sp & ~(uintptr_t)(PAGE_BYTES - 1);
}

/* ---- where a return address leads -------------------------------------------------------- */

static int holds_code(struct dl_phdr_info* of, size_t bytes, void* address)
{
	(void)bytes;
	for (int i = 0; i < of->dlpi_phnum; i++) {
		const ElfW(Phdr)* p = &of->dlpi_phdr[i];
		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) != 0 &&
		    (uintptr_t)address - (of->dlpi_addr + p->p_vaddr) < p->p_memsz)
			return 1;
	}
	return 0;
}

/* The unwinder looks at code without tables: it may be the end of a signal handler. */
static bool is_code(tlc_known* k, uintptr_t address)
{
	return look_up(k, address - 1) != NULL || dl_iterate_phdr(holds_code, (void*)address) != 0;
}

static uintptr_t plain(uintptr_t address)
{
#if defined(__aarch64__)
	register uintptr_t x30 __asm__("x30") = address; /* it may be signed */
	__asm__("hint #7" : "+r"(x30));
	return x30;
#else
	return address;
#endif
}

/* A register that functions keep for their callers: the unwinder has no value of others. */
static bool is_kept(uint64_t which)
{
#if defined(__x86_64__)
	return which == 3 || which == 6 || (which >= 12 && which <= 15);
#else
	return which >= 19 && which <= 29;
#endif
}

static bool value_of(struct _Unwind_Context* at, uint64_t which, uintptr_t sp, uintptr_t* value)
{
	if (which != STACK_POINTER && !is_kept(which)) return false;
	*value = which == STACK_POINTER ? sp : _Unwind_GetGR(at, (int)which);
	return true;
}

static bool load(tlc_known* k, uintptr_t place, uintptr_t* value)
{
	if (place % sizeof place != 0 || !covers(k, place, place + sizeof place)) return false;
	*value = tlc_stack_word(place);
	return true;
}

/* Where the frame ends by its table; 0: that cannot be told. What a signal has interrupted may be on another stack. */
static uintptr_t end_of(struct _Unwind_Context* at, const rules* r, bool signal, uintptr_t sp, tlc_known* k)
{
	uintptr_t end;
	if (!value_of(at, r->base, sp, &end)) return 0;
	end += (uintptr_t)r->offset;
	if (r->loads && !load(k, end, &end)) return 0;
	return signal || (end >= sp && end % sizeof end == 0 && covers(k, sp, end)) ? end : 0;
}

/* The return address; 0: there is none. */
static uintptr_t return_address(struct _Unwind_Context* at, const table* t, const rules* r, uintptr_t sp, uintptr_t end,
                                tlc_known* k)
{
	uintptr_t place = end, back;
	if (r->place == AT_OFFSET || (r->place == BY_REGISTER && value_of(at, r->by_register, sp, &place)))
		return load(k, place + (uintptr_t)r->at, &back) ? plain(back) : 0;
	if (r->place != UNCHANGED || t->return_register != (uint64_t)RETURN_REGISTER) return 0;
	return plain(_Unwind_GetGR(at, RETURN_REGISTER));
}

tlc_step tlc_may_step(struct _Unwind_Context* at, uintptr_t pc, bool signal, tlc_known* k, tlc_caller_frame* caller)
{
	table t;
	rules now = {.place = UNCHANGED}, first;
	const uintptr_t sp = _Unwind_GetCFA(at);
	k->by_stack = true;
	/* The unwinder may know the frame of a signal without a table. */
	if (!find_table(k, signal ? pc : pc - 1, &t)) {
		k->low = k->high = 0;
		return TLC_STEP;
	}
	if (t.own.bad) return TLC_STEP_NEVER;
	run(&t, &t.common, UINTPTR_MAX, &now, &now);
	first = now;
	run(&t, &t.own, pc + signal, &now, &first);
	if (t.common.bad || t.own.bad) return TLC_STEP_NEVER;
	if (now.place == NOWHERE) return TLC_STEP; /* the outermost frame */
	k->by_stack = now.base == STACK_POINTER || now.base == FRAME_POINTER;
	if (k->high == 0) start_at(k, sp);
	const uintptr_t end = end_of(at, &now, t.signal, sp, k);
	const uintptr_t back = end != 0 ? return_address(at, &t, &now, sp, end, k) : 0;
	if (back == 0 || (end == sp && back == pc)) return TLC_STEP_NEVER;
	if (t.signal) k->low = k->high = 0;
	if (is_code(k, back)) return TLC_STEP;
	*caller = (tlc_caller_frame){.address = back, .sp = end};
	return tlc_is_readable(back) ? TLC_STEP_LAST : TLC_STEP_NEVER;
}
