/* Records of blocks: what an entry of the registry has no room for.
 *
 * A block with a deleter (custom) is an ordinary entry that links to a record, which has the
 * deleter. A block with several addresses (shared) owns its granules by its record, and each of
 * its addresses, an alias, is an entry of 0 bytes that links to it. References are counted at
 * the alias, under one lock, and the record counts the aliases. Whoever takes the last alias out
 * ends the block.
 *
 * A block with a type (typed) is memory of malloc's whose references the runtime releases before it
 * frees the block. Its entry has the type, too, and links to a record, by which the block waits when
 * it ends: until its references are released it is in the table, at zero, so that its destructor can
 * neither revive nor free it. One without a destructor that need not wait leaves the table at once.
 *
 * Records never move. They have numbers from 1 << TL_RECORD_LEVEL_0, and level k holds numbers
 * 2^k to 2^(k+1) - 1 in one piece, which Go obtains. A record belongs to one shard for ever, and
 * a block has a record of the shard in which it begins.
 *
 *   state      in                            changed by
 *   FREE       the shard's list              the holder of the shard's lock
 *   CUSTOM     one entry, of bytes > 0       likewise
 *   SHARED     its aliases                   whoever registers it, and whoever takes the last alias
 *   ABANDONED  the same; nothing is freed    likewise
 *   PENDING    the list of one context;      that context's thread
 *              of a typed block its dead
 *              entry, too
 *   RETIRED    nowhere, for ever             all of its generations were used
 *   TYPED      one entry, of bytes > 0       the holder of the shard's lock
 *
 * The number that a program gets of a shared block (its id) is generation << 32 | number. The
 * generation goes up when the block ends, so that an id never names a later block.
 *
 * Invariants (registry.Table.Check runs them):
 *
 *   shard.records  ==  its records that are FREE, CUSTOM, TYPED, SHARED, ABANDONED or PENDING
 *   CUSTOM, TYPED  =>  one entry links to it, with bytes > 0;  deleter != 0;  names == 0
 *   SHARED         =>  names == entries of 0 bytes that link to it   (+ 1 while it is being registered)
 *                      names + more == sum of their counts;  names > 0, unless it is being ended
 *   FREE, PENDING  =>  no entry links to it, but one of count 0 where a typed block waits;  names == 0
 *
 * life and more are changed atomically under the lock of the alias's shard; names == 0 is final
 * for a generation. real and block stay as they are from then on until names is 0 again. The
 * thread that has made names 0 owns the record until it gives it back.
 */
#pragma once

#include "table.h"

#pragma GCC visibility push(hidden)

/* The first level of records. */
enum { TL_RECORD_LEVEL_0 = 8 };

/* block_record.state */
enum {
	TL_BLOCK_FREE = 0,
	TL_BLOCK_CUSTOM = 1,
	TL_BLOCK_SHARED = 2,
	TL_BLOCK_ABANDONED = 3,
	TL_BLOCK_PENDING = 4,
	TL_BLOCK_RETIRED = 5,
	TL_BLOCK_TYPED = 6,
};

/* block_record.ctx of a block with a type: the owner of the context that registered it, as in
 * record.loc, and what has become of the block. */
enum {
	TL_TYPED_SHARED = 1,    /* another thread has counted its references, or may do so */
	TL_TYPED_DESTROYED = 2, /* its destructor was called */
	TL_TYPED_READ = 4,      /* a thread reads its references: whoever would end it waits */
	TL_TYPED_MARKS = 7,     /* all of these */
};

/* block_record.life = generation 32 | names 32, the number of aliases. */
#define TL_BLOCK_GENERATION_SHIFT 32
#define TL_BLOCK_MOST_NAMES 0xFFFFFFFFu
#define TL_BLOCK_LAST_GENERATION 0xFFFFFFFFu /* no block has it */

/* One cache line. */
typedef struct tl_block_record {
	_Atomic uint64_t life;  /* generation 32 | names 32 */
	_Atomic uint64_t more;  /* references to a shared block beyond one for each name (mod 2^64) */
	_Atomic uint64_t real;  /* where a shared block begins, or one whose deleter is pending */
	_Atomic uint64_t block; /* kind 8 | bytes 48 of those, as in an entry */
	uintptr_t deleter, ctx; /* of a block with a type: the type, and TL_TYPED_* */
	_Atomic uint32_t state;
	uint32_t next; /* in the shard's list, or in a context's */
	uint64_t side; /* what a walk over the graph of objects knows of a block with a type */
} tl_block_record;

/* ---- finding records ------------------------------------------------------------------------ */

static inline const _Atomic uintptr_t* tlc_record_level(uint32_t number)
{
	const tl_registry* r = (const tl_registry*)tlc_shards - 1;
	return &r->records[31 - __builtin_clz(number)];
}

/* The record of a number that an entry or a list has. */
static inline tl_block_record* tlc_record_of(uint32_t number)
{
	uintptr_t row = atomic_load_explicit(tlc_record_level(number), memory_order_relaxed);
	return (tl_block_record*)(row + (uintptr_t)number * sizeof(tl_block_record));
}

static inline uint32_t tlc_names(uint64_t life) { return (uint32_t)life; }

/* Is this the life of a block with that id? */
static inline bool tlc_is_named(uint64_t life, uint64_t id)
{
	return life >> TL_BLOCK_GENERATION_SHIFT == id >> TL_BLOCK_GENERATION_SHIFT && tlc_names(life) != 0;
}

/* The record of a live shared block; NULL: no such block is known by the id. */
static inline tl_block_record* tlc_shared_block(uint64_t id)
{
	if (TLC_UNLIKELY((uint32_t)id == 0)) return NULL;
	uintptr_t row = atomic_load_explicit(tlc_record_level((uint32_t)id), memory_order_acquire);
	if (TLC_UNLIKELY(row == 0)) return NULL;
	tl_block_record* b = (tl_block_record*)(row + (uintptr_t)(uint32_t)id * sizeof *b);
	return TLC_LIKELY(tlc_is_named(atomic_load_explicit(&b->life, memory_order_acquire), id)) ? b : NULL;
}

/* ---- free records, under the lock of their shard ---------------------------------------------- */

/* What a block of one address has a record for. */
typedef struct tlc_owner {
	uint32_t state;         /* TL_BLOCK_CUSTOM or TL_BLOCK_TYPED; TL_BLOCK_FREE: the type `deleter`, and no record */
	uintptr_t deleter, ctx; /* as in the record */
} tlc_owner;

/* Takes the first free record, of which there is one. */
static inline tl_block_record* tlc_take_free(tl_shard* s, const tlc_owner* own)
{
	tl_block_record* b = tlc_record_of(s->free_record);
	s->free_record = b->next;
	b->deleter = own->deleter;
	b->ctx = own->ctx;
	atomic_store_explicit(&b->state, own->state, memory_order_relaxed);
	return b;
}

/* Has a shard a record for a block of this owner, if it needs one? Without an owner it needs none. */
static inline bool tlc_has_record_for(const tl_shard* s, const tlc_owner* own)
{
	return own == NULL || own->state == TL_BLOCK_FREE || TLC_LIKELY(s->free_record != 0);
}

/* Gives the entry of a new block its type and record. */
static inline void tlc_set_owner(tl_shard* s, tl_foreign_entry* e, uintptr_t p, const tlc_owner* own)
{
	if (own == NULL) return;
	if (own->state != TL_BLOCK_CUSTOM) e->type_floats = (uint32_t)own->deleter;
	if (own->state == TL_BLOCK_FREE) return;
	e->link = s->free_record;
	tl_block_record* b = tlc_take_free(s, own);
	if (own->state != TL_BLOCK_TYPED) return;
	b->side = 0;
	atomic_store_explicit(&b->real, p, memory_order_relaxed);
	atomic_store_explicit(&b->block, e->block, memory_order_relaxed);
}

/* Gives back a record that no shared block has had since it was taken. */
static inline void tlc_give_record(tl_shard* s, tl_block_record* b, uint32_t number)
{
	atomic_store_explicit(&b->state, TL_BLOCK_FREE, memory_order_relaxed);
	b->next = s->free_record;
	s->free_record = number;
}

/* Gives back any record. */
static inline void tlc_give_used_record(tl_shard* s, tl_block_record* b, uint32_t number)
{
	uint64_t life = atomic_load_explicit(&b->life, memory_order_relaxed);
	if (TLC_LIKELY(life >> TL_BLOCK_GENERATION_SHIFT != TL_BLOCK_LAST_GENERATION)) {
		tlc_give_record(s, b, number);
		return;
	}
	atomic_store_explicit(&b->state, TL_BLOCK_RETIRED, memory_order_relaxed);
	s->records--;
}

/* ---- aliases, under the lock of their shard ------------------------------------------------------ */

static inline bool tlc_is_alias(const tl_foreign_entry* e) { return TLC_UNLIKELY(e->link != 0) && tlc_bytes(e) == 0; }

/* Tells the block of an alias that the alias has n references more (mod 2^64). */
static inline void tlc_count_at_alias(const tl_foreign_entry* e, uint64_t n)
{
	if (tlc_is_alias(e)) atomic_fetch_add_explicit(&tlc_record_of(e->link)->more, n, memory_order_relaxed);
}

/* Was a block with a type ever registered? */
static inline bool tlc_has_typed(void)
{
	const tl_registry* r = (const tl_registry*)tlc_shards - 1;
	return atomic_load_explicit(&r->typed, memory_order_relaxed) != 0;
}

/* Marks a block with a type as shared when another thread than the one that registered it counts its references: the
 * cycle collector leaves such blocks alone. The shard is locked. */
static inline void tlc_note_owner(const tl_foreign_entry* e, uint32_t owner)
{
	tl_block_record* b = tlc_record_of(e->link);
	if (atomic_load_explicit(&b->state, memory_order_relaxed) != TL_BLOCK_TYPED) return;
	if ((b->ctx & ~(uintptr_t)TL_TYPED_MARKS) != owner) b->ctx |= TL_TYPED_SHARED;
}

/* A block without references, which the caller frees by its kind. */
typedef struct tlc_ended {
	uintptr_t pointer; /* 0: an alias went, and others are left */
	uint32_t kind;
	uint32_t record; /* not 0: of a block with a deleter or a type, PENDING; the caller appends it to a list */
	uintptr_t deleter, ctx;
	uint32_t type; /* not 0: what the block refers to has to be released before */
} tlc_ended;

/* What the operations on references leave to who calls them. The functions are constants where the operation is
 * inlined, and are called with the shard locked. */
typedef struct tlc_caller {
	void (*note)(const tl_foreign_entry* e); /* the calling thread counts the references of a block with a record */
	/* Drops the last reference at an entry with a record, and unlocks the shard. */
	int (*end)(tl_shard* s, tl_region* bucket, tl_unit* u, tl_foreign_entry* e, uintptr_t p, tlc_ended* ended);
} tlc_caller;

/* Notes that the caller counts references at an entry whose shard is locked. */
static inline __attribute__((always_inline)) void tlc_touch(const tl_foreign_entry* e, tlc_caller who)
{
	if (TLC_UNLIKELY(e->link != 0) && tlc_bytes(e) != 0) who.note(e);
}

/* What whoever ends a block with a record says of it. Both are called with the shard locked. */
typedef struct tlc_endings {
	bool (*wait)(void); /* must its deleter wait for those of others? */
	/* May a block of a type leave the table before its references are released? It may where no function of the
	 * program can be called until they are. */
	bool (*at_once)(uint32_t type);
	bool from_zero; /* the block is held at zero */
} tlc_endings;

/* blocks.c */
uint32_t tlc_settle_pending(uint32_t number, tlc_ended* ended);
uint32_t tlc_settle_typed(uint32_t number);

/* shared.c */
void tlc_end_shared(uint32_t number, bool waits, tlc_ended* ended);

#pragma GCC visibility pop
