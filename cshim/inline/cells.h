/* Cells: what is inlined of tl_cell_*. See records.h.
 *
 * Here a cell is believed: its slot begins with a tl_cell_head, and the words of that are the ones that were written there.
 * The calls look for its record instead. dup, is_unique and drop have no context, because what they leave to the call
 * changes none.
 *
 * A cell that has ended leaves its generation to the slot: there are no references to it that a record could tell. Where its
 * end has to be told, the head names no record, and a call gives the slot its next generation. */
#ifndef TL_INLINE_CELLS_H
#define TL_INLINE_CELLS_H

#define TLC_CELL_COUNTS ((uint64_t)TL_SH_CELL << 32 | TL_LOC_CELL)

static inline tl_cell_head* tlc_head_of(const void* cell) { return (tl_cell_head*)(uintptr_t)cell - 1; }

/* Makes a cell of the slot of an entry. */
static inline void* tlc_make_cell(const tl_context* c, const tl_entry* slot)
{
	tl_cell_head* head = (tl_cell_head*)slot->object;
	const uint64_t tag = tlc_tag(slot);
	tlc_set_counts(TLC_FIXED(c, records) + (uint32_t)tag, TLC_CELL_COUNTS);
	*(tlc_pair*)(void*)&head->record = tag;
	*(tlc_pair*)(void*)&head->count = 1; /* and no tag */
	return head + 1;
}

static inline bool tlc_op_cell_new(tl_context* c, size_t bytes, void** result)
{
	if (TLC_UNLIKELY(bytes > TLC_MAX_SMALL)) return false;
	const tl_entry* slot = tlc_take_slot(c, bytes + sizeof(tl_cell_head));
	if (TLC_UNLIKELY(slot == NULL)) return false;
	*result = tlc_make_cell(c, slot);
	TLC_PROBE_ALLOCATE(slot->object, bytes);
	return true;
}

static inline bool tlc_op_cell_dup(void* cell, void** result)
{
	tl_cell_head* head = tlc_head_of(cell);
	const uint32_t count = TLC_PEEK(head->count);
	*result = cell;
	if (TLC_UNLIKELY((int32_t)count <= 0)) return false;
	TLC_SET_OWN(head->count, count + 1);
	return true;
}

static inline bool tlc_op_cell_is_unique(const void* cell, bool* result)
{
	const uint32_t count = TLC_PEEK(tlc_head_of(cell)->count);
	*result = true;
	if (TLC_LIKELY(count == 1)) return true;
	*result = false;
	return TLC_LIKELY((int32_t)count > 0);
}

static inline bool tlc_op_cell_drop(void* cell, bool* result)
{
	tl_cell_head* head = tlc_head_of(cell);
	const uint32_t count = TLC_PEEK(head->count);
	*result = false;
	if ((int32_t)count > 1) {
		TLC_SET_OWN(head->count, count - 1);
		return true;
	}
	*result = true;
	return TLC_LIKELY(count == 1);
}

/* The class is read as a byte of the generation. */
static inline bool tlc_op_cell_free(tl_context* c, void* cell)
{
	tl_cell_head* head = tlc_head_of(cell);
	tl_magazine* m = &c->magazines[*(const unsigned char*)&head->gen];
	tl_entry* top = m->top;
	if (TLC_UNLIKELY(top >= m->limit)) return false;
	const uint64_t tag = *(const tlc_pair*)(const void*)&head->record;
	tlc_clear_counts(TLC_FIXED(c, records) + (uint32_t)tag);
	tlc_set_entry(top, (uintptr_t)head, tag);
	m->top = top + 1;
	TLC_PROBE_FREE(head);
	return true;
}

#endif
