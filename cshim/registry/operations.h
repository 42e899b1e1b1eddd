/* What Go calls (runtime/registry), and what the files of this folder share. A function whose name begins with
 * tlc_registry_ takes the locks that it needs, and but for tlc_registry_lock_entry holds none when it returns. TLC_SLOW
 * says, but for a drop, that there is no room; Go makes some, and calls again. What results are written to is zero before
 * the call: a function may leave it as it is. */
#pragma once

#include "linked.h"

#pragma GCC visibility push(hidden)

/* A block that has ended, or that was handed back to the host just now. */
typedef struct tlc_dropped {
	tlc_ended ended;
	uint64_t bytes;
	bool returned;
} tlc_dropped;

/* Takes a dead entry off the counts, for another owner's block. References that float were to the block that was
 * handed back. */
static inline void tlc_leave_dead(tl_shard* s, const tl_foreign_entry* e)
{
	if (e->count == 0) s->zeros--;
	else s->handed_back--;
	s->entries--; /* the new owner's is counted */
}

/* Makes an entry where none was found, or takes that of a dead block, which was, for another owner's. NULL: as above. */
static inline __attribute__((always_inline)) tl_foreign_entry* tlc_clear_entry(tlc_lookup* x, tl_foreign_entry* was)
{
	if (x->entry == NULL) return tlc_make_entry(x);
	if (was != NULL) *was = *x->entry;
	tlc_leave_dead(x->shard, x->entry);
	return x->entry;
}

/* The table of these shards is not used any more. registry.c */
void tlc_registry_detach(uintptr_t shards);

/* The highest level at which a block owns the granule of p, -1: none does. registry.c */
int tlc_level_at(uintptr_t p);

/* p is no multiple of 16: is it inside a block that starts before it and owns the granule of p? No lock may be held.
 * between.c */
bool tlc_inside_between(uintptr_t p);

/* Is p inside a registered block, its start included? between.c */
bool tlc_registry_covered(uintptr_t p);

/* Locks the shard of p, which is returned with the entry; NULL, nothing locked: there is none. */
tl_shard* tlc_registry_lock_entry(uintptr_t p, tl_foreign_entry** entry);

/* Notes that a thread counts the references of what starts at p: tlc_note_owner. gen 0 stands for any. */
void tlc_registry_touch(uintptr_t p, uint32_t owner, uint32_t gen);

int tlc_registry_register(uintptr_t p, uint32_t* gen);
int tlc_registry_acquire(uintptr_t p);
int tlc_registry_immortal(uintptr_t p);
int tlc_registry_adopt(uintptr_t p, uint64_t bytes, uint32_t* gen);

/* Registers a block of another owner than a scope. *was is the dead entry that it replaces, gen 0: none. */
int tlc_registry_insert(uintptr_t p, uint64_t bytes, uint32_t kind, const tlc_owner* own, uint32_t* gen,
                        tl_foreign_entry* was);

/* Drops a reference (enum tlc_drop). TLC_SLOW: a thread reads the block, and is done soon. */
int tlc_registry_drop(uintptr_t p, int drop, uint32_t gen, tlc_dropped* out);

/* Takes back what tlc_registry_insert has entered with that generation, whatever it counts, and frees nothing: the
 * dead entry stands there again. */
void tlc_registry_retract(uintptr_t p, uint32_t gen, const tl_foreign_entry* was);

/* A shared block: owns its granules, gets aliases (tlc_add_alias), and loses the one that counts for who registers it.
 * shared.c has the first. */
int tlc_registry_own(uintptr_t p, uint64_t bytes, uint32_t kind, const tlc_owner* own, uint32_t* number);
void tlc_registry_owned(uint32_t number, tlc_dropped* out);

/* Undoes a registration that failed half way: nothing is freed. The alias goes with all of its references, if it is
 * there, and the dead entry stands there again. */
void tlc_registry_abandon(uint32_t number);
void tlc_registry_remove_alias(uint32_t number, uintptr_t p, const tl_foreign_entry* was);

/* Gives a block that has ended and has to wait a record; 0: the shard has none. */
uint32_t tlc_registry_wait(const tlc_dropped* d);

/* Ends the wait: the record goes back to its shard, and *out is the block. */
void tlc_registry_settle(uint32_t number, tlc_dropped* out);

/* A shard without room for [p, p+bytes), or an alias at p (0 bytes), and how many units it needs room for at most; -1:
 * there is room. enter.c */
int64_t tlc_registry_lacks(uintptr_t p, uint64_t bytes, uint32_t* units);

/* Memory for a shard: a larger table, which is empty, and what lists are cut from; the rest of the chunk before becomes
 * free lists. The first returns the table that nobody needs any more, and its buckets: the new one, where the shard has a
 * table of that size. lists.c */
uintptr_t tlc_registry_rehash(tl_shard* s, uintptr_t table, uint32_t capacity, uint32_t limit, uint32_t* buckets);
void tlc_registry_give_chunk(tl_shard* s, uintptr_t at, uint64_t bytes);

#pragma GCC visibility pop
