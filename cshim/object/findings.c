/* What an address is at which nothing of the caller's starts: the refusals that need no Go. runtime/object/pointers.go
 * (locate) and errors.go (finding) are the Go twins, which also know what is left out here.
 *
 * The last error keeps which sentence tells the finding, and the numbers in it. tl_last_error makes the text, which is
 * about the moment of the failure whatever has become of the address meanwhile. */
#include "fast.h"
#include "../inline/cells.h"

static bool found(tlc_finding* f, tl_status status, uint32_t kind)
{
	*f = (tlc_finding){.status = status, .kind = kind};
	return true;
}

/* p is in the part of the address space that contexts have. */
static bool find_in_slices(const tl_context* c, uintptr_t p, tlc_finding* f)
{
	const uint64_t offset = p - tlc_g.slices_base, owner = offset >> tlc_g.slice_shift;
	if ((offset & ((1ull << tlc_g.slice_shift) - 1)) < tlc_g.frame_offset)
		return found(f, TL_E_UNKNOWN_POINTER, TL_TEXT_RUNTIME);
	if (owner == c->id) return !tlc_in_live_stack(c, p) && found(f, TL_E_NOT_LIVE, TL_TEXT_DEAD_STACK);
	*f = (tlc_finding){TL_E_UNKNOWN_POINTER, TL_TEXT_OTHER_STACK, {owner}};
	return true;
}

/* Go knows whether objects ever were in a span that is free, and of cells. */
static bool find_in_heap(uintptr_t p, tlc_finding* f)
{
	uint64_t span = (p - tlc_g.heap_base) >> TL_SPAN_SHIFT, word = TLC_LOAD(tlc_g.spans[span]), record = 0;
	if (TL_SPAN_CLASS(word) == TL_CLASS_REST) {
		const uint32_t back = TL_SPAN_BACK(word);
		word = TLC_LOAD(tlc_g.spans[span -= back]);
		/* The words of a freed object's spans stay until they are used again, and something else may stand at its start. */
		if (TL_SPAN_CLASS(word) != TL_CLASS_LARGE || back >= TL_SPAN_BACK(word)) return false;
	}
	const uint32_t size_class = TL_SPAN_CLASS(word);
	if (size_class == TL_CLASS_NONE || size_class > TL_CLASS_LARGE || tlc_is_cell_class(size_class)) return false;
	const tl_class_info* k = &tlc_g.classes[size_class];
	uint64_t size = (uint64_t)TL_SPAN_BACK(word) << TL_SPAN_SHIFT,
			 from = p - (tlc_g.heap_base + (span << TL_SPAN_SHIFT));
	if (size_class != TL_CLASS_LARGE) {
		const uint32_t lines = k->size == k->stride ? 1 : TL_LINE_RECORDS;
		size = k->size;
		from = (p - tlc_g.heap_base) & k->mask;
		record = (uint64_t)((unsigned __int128)from * k->reciprocal >> 64) & ~(uint64_t)(lines - 1);
		from -= record * k->stride;
		if (record >= k->block_records) return found(f, TL_E_UNKNOWN_POINTER, TL_TEXT_UNUSED);
	}
	if (from >= size) return false; /* behind one that became shorter */
	const tl_record* r = tlc_g.records + TL_SPAN_RECORD(word) + record;
	if (from != 0) {
		if (TLC_LOAD(r->sh) == TL_SH_CELL) return false;
		*f = (tlc_finding){TL_E_INTERIOR_POINTER, TL_TEXT_INTERIOR, {from, size, p - from}};
		return true;
	}
	return !(TLC_LOAD(r->sh) & TL_SH_ALIVE) && found(f, TL_E_NOT_LIVE, TL_TEXT_DEAD);
}

bool tlc_look(const tl_context* c, uintptr_t p, tlc_finding* f)
{
	if (p == 0) return false;
	if (tlc_in_heap(p)) return find_in_heap(p, f);
	if (tlc_in_slices(p)) return find_in_slices(c, p, f);
	return !tlc_in_ranges(p) && !tlc_foreign_starts(p) && found(f, TL_E_UNKNOWN_POINTER, TL_TEXT_OUTSIDE);
}

bool tlc_refuse(uint32_t function, const void* pointer, tl_status* why)
{
	tlc_finding f;
	const tl_context* c = tlc_tls;
	if (!tlc_is_fast(c) || tlc_g.debug != 0 || !tlc_look(c, (uintptr_t)pointer, &f)) return false;
	*why = tlc_fail_with(&f, function, pointer);
	return true;
}

bool tlc_refuse_missed(int result, uint32_t function, const void* pointer, tl_status* why)
{
	static const tlc_finding outside = {.status = TL_E_UNKNOWN_POINTER, .kind = TL_TEXT_OUTSIDE};
	if (result != TLC_MISS || tlc_g.debug != 0) return false;
	*why = tlc_fail_with(&outside, function, pointer);
	return true;
}
