/* Cells: what is inlined of tl_cell_*. See records.h.
 *
 * Here a cell is believed: what stands in front of it is its head. The calls look for its slot instead. dup, is_unique and
 * drop have no context, because what they leave to the call changes none.
 *
 * A plain cell of a class of cells has no life in a record, which stays dead: its count tells whether it lives. So none of its
 * operations goes to a record, and the entry of such a slot in a magazine is its address alone. Where a cell has the slot of
 * an object, a call makes and frees it. */
#ifndef TL_INLINE_CELLS_H
#define TL_INLINE_CELLS_H

static inline tl_cell_head* tlc_head_of(const void* cell) { return (tl_cell_head*)(uintptr_t)cell - 1; }

/* Count and tag: 1 begins the life of a cell, and 0 ends it. */
static inline void tlc_set_head(void* cell, uint64_t to)
{
	__atomic_store_n((tlc_pair*)(void*)tlc_head_of(cell), to, __ATOMIC_RELAXED);
}

/* The class of a plain cell of up to TL_CELL_MOST_BYTES. */
static inline uint32_t tlc_cell_class_of(size_t bytes)
{
	const size_t last = bytes + sizeof(tl_cell_head) - 1;
	if (TLC_LIKELY(last < 256)) return TL_CLASS_CELL + (uint32_t)last / TL_CELL_STEP;
	const uint32_t e = 63 - (uint32_t)__builtin_clzll(last);
	return TL_CLASS_CELL + 16 + (e - 8) * 4 + ((uint32_t)(last >> (e - 2)) & 3);
}

static inline bool tlc_is_cell_class(uint32_t class_of)
{
	return class_of - TL_CLASS_CELL < TL_CLASS_LARGE - TL_CLASS_CELL;
}

static inline bool tlc_op_cell_new(tl_context* c, size_t bytes, void** result)
{
	if (TLC_UNLIKELY(bytes > TL_CELL_MOST_BYTES)) return false;
	const tl_entry* slot = tlc_take_from(&c->magazines[tlc_cell_class_of(bytes)]);
	if (TLC_UNLIKELY(slot == NULL)) return false;
	void* cell = (void*)slot->object;
	tlc_set_head(cell, 1);
	*result = cell;
	TLC_PROBE_ALLOCATE(cell, bytes);
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

static inline bool tlc_op_cell_free(tl_context* c, void* cell)
{
	const uintptr_t offset = tlc_heap_offset(c, (uintptr_t)cell);
	if (TLC_UNLIKELY(offset >= TLC_FIXED(c, heap_bytes))) return false;
	const uint32_t class_of = TL_SPAN_CLASS(TLC_PEEK(TLC_FIXED(c, spans)[offset >> TL_SPAN_SHIFT]));
	if (TLC_UNLIKELY(!tlc_is_cell_class(class_of))) return false;
	tl_magazine* m = &c->magazines[class_of];
	tl_entry* top = m->top;
	if (TLC_UNLIKELY(top >= m->limit)) return false;
	tlc_set_head(cell, 0);
	__atomic_store_n(&top->object, (uintptr_t)cell, __ATOMIC_RELAXED);
	m->top = top + 1;
	TLC_PROBE_FREE(cell);
	return true;
}

#endif
