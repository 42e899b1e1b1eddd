/* Records, entries and magazines, as code that is inlined into programs has them too.
 *
 * The library compiles the files of inline/, and tools/gen writes include/tl_inline.h from the same text. A program may be
 * C99 or C++11, and sees less than the library does:
 *
 *   * a step has the context as its first parameter: tlc_tls, tlc_g and tlc_shared are the library's alone
 *   * what never changes after the start is read with TLC_FIXED; a word that other threads write with TLC_LOAD,
 *     TLC_LOAD_ACQUIRE and TLC_STORE; one of which the value of an earlier operation is as good with TLC_PEEK; the local
 *     counts of an object of this thread are written with TLC_SET_OWN. guard/guard.h defines these for the library,
 *     client.h for programs
 *   * pointers are cast explicitly, and neither compound literals nor the words of C++ occur
 *   * tlc_op_NAME answers the call tl_NAME; where it returns false it has changed nothing and the program makes the call.
 *     `result` is what the call returns; a call that returns a status has none, and the status is TL_OK
 *
 * A context of zeros fails in all of them: no record is found, magazines are empty, stacks full.
 */
#ifndef TL_INLINE_RECORDS_H
#define TL_INLINE_RECORDS_H

#define TLC_ALIGNED64(n) (((n) + 63) & ~(uintptr_t)63)

/* Whether the fast path may answer on its own. */
static inline bool tlc_is_fast(const tl_context* c) { return c->self == c; }

/* ---- records ------------------------------------------------------------------- */

/* Finds record and size class of the slot that starts at p, live or not; false when p
 * starts none. */
static inline __attribute__((always_inline)) bool tlc_slot_at(const tl_context* c, uintptr_t p, tl_record** record,
                                                              uint32_t* size_class)
{
	uintptr_t offset = tlc_heap_offset(c, p);
	if (TLC_UNLIKELY(offset >= TLC_FIXED(c, heap_bytes))) return false;
	uint64_t word = TLC_PEEK(TLC_FIXED(c, spans)[offset >> TL_SPAN_SHIFT]);
	const tl_class_info* k = &TLC_FIXED(c, classes)[*size_class = TL_SPAN_CLASS(word)];
	unsigned __int128 product = (unsigned __int128)(offset & k->mask) * k->reciprocal;
	*record = TLC_FIXED(c, records) + TL_SPAN_RECORD(word) + (uint64_t)(product >> 64);
	return TLC_LIKELY((uint64_t)product < k->reciprocal);
}

/* Both counting words in one store: loc | sh << 32. They are loaded one by one, since
 * a load of both right after a store to one would wait for the store to retire. */
typedef uint64_t __attribute__((may_alias)) tlc_pair;

/* A new object: whoever sees its counts sees its generation, its type and its zeros. */
static inline void tlc_set_counts(tl_record* r, uint64_t counts)
{
	__atomic_store_n((tlc_pair*)(void*)&r->loc, counts, __ATOMIC_RELEASE);
}

/* A dead object: no other field has to be visible with it. */
static inline void tlc_clear_counts(tl_record* r) { __atomic_store_n((tlc_pair*)(void*)&r->loc, 0, __ATOMIC_RELAXED); }

/* Type and generation: type_flags | gen << 32. */
static inline uint64_t tlc_life(const tl_record* r)
{
	const tlc_pair* life = (const tlc_pair*)(const void*)&r->type_flags;
	return TLC_JOINED ? *life : __atomic_load_n(life, __ATOMIC_RELAXED);
}
static inline void tlc_set_life(tl_record* r, uint64_t life)
{
	__atomic_store_n((tlc_pair*)(void*)&r->type_flags, life, __ATOMIC_RELAXED);
}

/* What an operation found, for one on the same object behind it. Lives do not return, and a record
 * keeps its slot during a life: the record that still has the life is that of the object. */
typedef struct tlc_search {
	const void* object;
	tl_record* record;
	uint64_t life;
} tlc_search;

/* The same as tlc_slot_at, without a search where the compiler sees that p is the object that was found; false, too, when
 * that has ended. found may be NULL. */
static inline __attribute__((always_inline)) bool tlc_slot_of(const tl_context* c, const tlc_search* found,
                                                              const void* p, tl_record** record, uint32_t* size_class)
{
	if (found == NULL || !TLC_IS_KNOWN(found->object == p)) return tlc_slot_at(c, (uintptr_t)p, record, size_class);
	*record = found->record;
	*size_class = (uint8_t)(found->life >> 32);
	return TLC_LIKELY(tlc_life(*record) == found->life);
}

/* The counting words of what a context keeps for new objects. */
static inline uint64_t tlc_pair_of(const uint32_t* words) { return *(const tlc_pair*)(const void*)words; }

/* The local word minus the owner: floats and count of an object that c owns, otherwise a number of
 * at least 2^20. */
#define TLC_OWNED 0x100000u
static inline uint32_t tlc_own(const tl_context* c, uint32_t loc) { return loc - c->owner; }

static inline int32_t tlc_sh_count(uint32_t sh) { return (int32_t)sh >> TL_SH_COUNT_SHIFT; }
static inline uint32_t tlc_loc_floats(uint32_t loc) { return (loc & TL_LOC_FLOATS) / TL_LOC_FLOAT; }

/* Whether this local word has c as the owner, no float, at least one reference, and room for
 * another. */
static inline __attribute__((always_inline)) bool tlc_has_more(const tl_context* c, uint32_t loc)
{
	return loc - c->one < TL_LOC_COUNT - 1;
}

/* An object that tl_ptr_dec_ref brought to zero is not live. */
static inline bool tlc_is_live_word(uint32_t sh)
{
	return (sh & TL_SH_ALIVE) != 0 && sh != (TL_SH_ALIVE | TL_SH_MERGED);
}
static inline bool tlc_is_live_object(const tl_record* r) { return tlc_is_live_word(TLC_PEEK(r->sh)); }

/* Where the slot of record n of the block that begins with first is: the metadata of the block knows the
 * span. It says so while one of the block's records is not free. */
static inline uintptr_t tlc_slot_address(const tl_context* c, uint32_t first, uint32_t n, uint32_t size_class)
{
	const tl_class_info* k = &TLC_FIXED(c, classes)[size_class];
	const tl_record* metadata = k->block_records > 1 ? TLC_FIXED(c, block_metadata) + first / TL_BLOCK_RECORDS
	                                                 : TLC_FIXED(c, records) + first + 1;
	return TLC_FIXED(c, heap_base) + ((uint64_t)TLC_PEEK(metadata->type_flags) << TL_SPAN_SHIFT) +
	       (uint64_t)n * k->stride;
}

/* ---- entries ------------------------------------------------------------------- */

/* The second half of an entry in one register: record | gen << 32. */
static inline uint64_t tlc_tag(const tl_entry* e) { return *(const tlc_pair*)(const void*)&e->record; }
static inline void tlc_set_tag(tl_entry* e, uint64_t tag)
{
	__atomic_store_n((tlc_pair*)(void*)&e->record, tag, __ATOMIC_RELAXED);
}
/* Two stores: the compiler would rather assemble a vector for one store. */
static inline void tlc_set_entry(tl_entry* e, uintptr_t object, uint64_t tag)
{
	__atomic_store_n(&e->object, object, __ATOMIC_RELAXED);
	tlc_set_tag(e, tag);
}

/* The size class of an entry's slot. */
static inline uint32_t tlc_class_at(const tl_entry* e) { return (uint8_t)e->gen; }

/* The tag of the slot's next life; false: this one was the last. */
static inline bool tlc_next_life(uint64_t tag, uint64_t* next)
{
	return !__builtin_add_overflow(tag, (uint64_t)TL_GEN_ONE << 32, next);
}

/* ---- magazines ------------------------------------------------------------------- */

/* Writes a slot that is free again: its record's next life, which has the type of plain bytes, and its entry. */
static inline void tlc_put_back(tl_entry* at, tl_record* r, uintptr_t object, uint64_t life, uint64_t tag)
{
	tlc_clear_counts(r);
	tlc_set_life(r, life);
	tlc_set_entry(at, object, tag);
	TLC_PROBE_FREE(object);
}

/* Makes the slot of a dead object available again, as plain bytes, in the place at of
 * its magazine; false when that is full (or none: the object is large), or when this
 * life was its last. */
static inline bool tlc_recycle_at(tl_entry* at, const tl_entry* limit, tl_record* r, uintptr_t object, uint64_t tag)
{
	uint64_t next;
	if (TLC_UNLIKELY(at >= limit || !tlc_next_life(tag, &next))) return false;
	tlc_put_back(at, r, object, next >> 32 << 32, next);
	return true;
}

/* The same at the magazine's top. The caller finds m by the class of the span or of the generation,
 * whichever it knows first, because the next allocation waits for the address of m. */
static inline bool tlc_recycle(tl_magazine* m, tl_record* r, uintptr_t object, uint64_t tag)
{
	tl_entry* top = m->top;
	if (TLC_UNLIKELY(!tlc_recycle_at(top, m->limit, r, object, tag))) return false;
	m->top = top + 1;
	return true;
}

/* The same for an object whose only reference the caller has seen in the local word:
 * plain bytes, whose life is their generation alone, with this shared word. */
static inline __attribute__((always_inline)) bool tlc_end_plain(const tl_context* c, tl_magazine* m, tl_record* r,
                                                                uintptr_t object, uint32_t sh)
{
	uint64_t life = tlc_life(r);
	if (TLC_UNLIKELY(((uint32_t)life | (TLC_LOAD_ACQUIRE(r->sh) ^ sh)) != 0)) return false;
	tl_entry* top = m->top;
	if (TLC_UNLIKELY(top >= m->limit || !tlc_next_life(life, &life))) return false;
	tlc_put_back(top, r, object, life, life | (uint64_t)(r - TLC_FIXED(c, records)));
	m->top = top + 1;
	return true;
}

/* The size class of 1..64 KiB; see layout.ClassOf. */
static inline uint32_t tlc_class_of(size_t n)
{
	if (TLC_LIKELY(n <= 512)) return (uint32_t)((n + 31) >> 5);
	uint32_t e = 63 - (uint32_t)__builtin_clzll(n - 1);
	return 17 + (e - 9) * 8 + ((uint32_t)((n - 1) >> (e - 3)) & 7);
}

#define TLC_MAX_SMALL ((size_t)64 << 10)

/* The magazine for n bytes; for a size that is not small that of class 0, which is always empty. */
static inline tl_magazine* tlc_magazine_for(tl_context* c, size_t n)
{
	/* Up to 512 bytes the classes are 32 bytes apart, as magazines are. */
	if (TLC_LIKELY(n - 1 < 512)) return (tl_magazine*)(void*)((char*)c->magazines + ((n + 31) & ~(size_t)31));
	return &c->magazines[n - 1 < TLC_MAX_SMALL ? tlc_class_of(n) : 0];
}

/* Counts an object that is handed out; true: it is a sample, which the slow path counts, makes and
 * records. While sampling is off it costs only the jump on the sum. */
static inline bool tlc_is_sample(tl_magazine* m)
{
	if (TLC_LIKELY(++m->allocs != 0)) return false;
	__atomic_store_n(&m->allocs, ~(uint64_t)0,
	                 __ATOMIC_RELAXED); /* so that counting is one instruction of most calls */
	return true;
}

/* While this thread does not use a magazine, the clock may take all of its slots but the newest (cshim/heap/idle.c): it
 * raises the base, lowers the limit, and looks whether the top has stayed. So each operation reads the base once, and
 * takes one slot. A top may be above the limit. */
static inline void tlc_set_top(tl_magazine* m, tl_entry* top) { __atomic_store_n(&m->top, top, __ATOMIC_RELAXED); }

/* A free slot, which leaves its magazine; NULL: ask Go. The result may be read until the next call. */
static inline const tl_entry* tlc_take_from(tl_magazine* m)
{
	tl_entry* top = m->top;
	if (TLC_UNLIKELY(top <= TLC_BASE(m))) return NULL;
	if (TLC_UNLIKELY(tlc_is_sample(m))) return NULL;
	tlc_set_top(m, --top);
	return top;
}

/* The same for n bytes. */
static inline const tl_entry* tlc_take_slot(tl_context* c, size_t n) { return tlc_take_from(tlc_magazine_for(c, n)); }

#endif
