/* The heap: an address range cut into spans of 64 KiB, records beside it, and a depot of free slots for each size class
 * (Bonwick and Adams, "Magazines and Vmem", USENIX 2001), from which the magazines of contexts are filled.
 *
 * Both paths work on it by the functions below; Go reads it besides (runtime/heap). None of them calls anybody: where
 * memory is short they say of what, and Go acts.
 *
 *	free runs + slabs + large objects == the spans below `never`, and no two free runs touch
 *	dirty == bytes of the free runs that may be resident
 *	of a slab: fresh == free + retired + slots that are out. Of cells: a slot that is out and has no cell has a count of 0
 *	of a depot: out == slots that are out of its slabs
 *	handed == sum of out * size
 *	idle == sum over slabs of free * size - purged pages
 *
 * A free slot is linked through its dead record, so free memory holds no links: nothing that a program writes into or
 * beyond an object can corrupt a list, and pages without an object can be given back although their slab is in use. A slab of
 * cells has a bitmap instead (cells.c).
 *
 * Locks: that of a depot before that of the heap, which is the accounts' (tl_account.lock). */
#pragma once

#include "../base/layout.h"

/* tl_span_meta.state. The first and the last span of a free run have its length; those between have what they had. */
enum {
	TL_SPAN_NEVER = 0, /* beyond every run so far, or inside of one */
	TL_SPAN_FREE = 1,
	TL_SPAN_SLAB = 2,
	TL_SPAN_LARGE = 3,
	TL_SPAN_PURGING = 4, /* a free run that somebody gives to the system */
};

/* tl_span_meta.list: where a slab is. A full one is in no list. */
enum {
	TL_SLAB_PARTIAL = 0,
	TL_SLAB_COLD = 1,
	TL_SLAB_HELD = 2, /* in no list: somebody gives pages of it to the system */
};

/* Free runs have a list for each length up to EXACT, and one for each power of two above. */
enum { TL_EXACT_BINS = 64, TL_BINS = 84 };

/* Idle memory above it goes back to the system when it has not been used for one to two periods of the clock. */
#define TL_HEAP_KEEPS 0x400000 /* 4 MiB */

/* A large object of so many bytes asks for huge pages. It begins at a multiple of 64 KiB, so whole huge pages may cover no
 * more than half of one of this size, and cover more of larger ones. */
#define TL_HEAP_HUGE_FROM 0x400000

/* What the heap knows of a span; of a slab and of a large object the first span's is used. */
typedef struct tl_span_meta {
	uint32_t run;        /* spans of the slab, of the object or of the free run */
	uint32_t next, prev; /* lists of slabs with free slots, and of free runs; 0 ends them */
	uint32_t record;     /* the first one of its block */
	uint32_t epoch;      /* the clock when it was freed; of a slab, when a slot came back last */
	uint16_t free_head;  /* 1 + the first free slot, 0 = none; the next stands in its record's loc. See cells.c */
	uint16_t free_count; /* on that list */
	uint16_t fresh;      /* slots from here on were never handed out */
	uint16_t retired;    /* slots below fresh that are never handed out */
	uint16_t purged;     /* pages that were given to the system and may not have come back */
	uint8_t state;       /* TL_SPAN_* */
	uint8_t size_class;
	uint8_t dirty; /* of a free run: pages may be resident; of a slab: fresh slots may not be zero */
	uint8_t list;  /* of a slab: TL_SLAB_* */
	uint16_t unused;
} tl_span_meta;

/* The slabs of a size class. */
typedef struct tl_depot {
	_Atomic uint32_t lock;
	uint32_t partial; /* slabs with a slot to hand out; 0 = none */
	uint32_t cold;    /* more of them: their free pages were given to the system, and no slot came back since */
	uint32_t unused;
	int64_t empty;     /* slabs in the lists without a slot that is out */
	int64_t out;       /* slots that are out: live or in a magazine */
	int64_t slabs;     /* of large objects: spans */
	int64_t retired;   /* slots of slabs in use whose record has had all of its generations */
	uint64_t apart[2]; /* a cache line of its own */
} tl_depot;

/* What is held of a device, or of all (runtime/limit). Whoever changes the first three has the lock of the account of all,
 * which is the heap's too: a large object charges, and takes its spans, under one lock. */
typedef struct tl_account {
	_Atomic uint64_t used, peak;
	_Atomic uint64_t obtained;       /* sum of the charges; less used: sum of the credits */
	_Atomic uint64_t hard;           /* no charge leaves used above it; 0 = none */
	_Atomic uint64_t high_watermark; /* above it caches keep nothing new; 0 = nowhere */
	_Atomic uint32_t lock;           /* in the account of all: it guards every account, and the heap */
	uint32_t unused;
} tl_account;

typedef struct tl_heap {
	/* Never change. */
	uintptr_t base;
	_Atomic uint64_t* spans; /* words: globals.spans */
	tl_span_meta* metas;
	uint64_t* asked; /* bits of the huge pages that were asked for */
	tl_record* records;
	tl_record* block_metadata;
	uint32_t* record_blocks;
	tl_class_info* classes;
	tl_account* cpu;
	tl_account* all;
	uint32_t total;            /* spans */
	uint32_t record_limit;     /* records */
	uint32_t huge;             /* large objects ask for huge pages */
	uint32_t page_shift;       /* of the system's pages */
	_Atomic uint32_t barriers; /* set once: the process is registered for tlc_heap_pass_barriers */
	uint32_t unused;
	uint64_t apart[6];
	/* The lock of `all` is that of what follows but for the depots and what is counted by atomic steps (idle, handed, peak,
	 * clock, ticking), of the metas of free runs and of the asked bits. */
	uint64_t binned[2];                        /* bits of the bins that have a run */
	_Atomic uint64_t dirty;                    /* bytes of free runs that may be resident */
	_Atomic uint64_t idle;                     /* bytes of free slots that may be resident */
	_Atomic uint64_t handed;                   /* bytes of slots that are out */
	_Atomic uint64_t peak;                     /* the most since the last reset, with large objects */
	uint64_t large_gone;                       /* large objects that came back */
	_Atomic uint64_t large_taken, large_given; /* bytes of large objects, ever */
	_Atomic uint32_t never;                    /* spans from here on were never used */
	uint32_t committed;                        /* spans that are usable without a system call */
	uint32_t wanted;                           /* spans that have to be, for who was told TL_HEAP_NEEDS_MEMORY */
	uint32_t next_record;                      /* records from here on are in no block */
	uint32_t dumped_records;                   /* records that core dumps hold */
	_Atomic uint32_t clock;                    /* advanced by each tick */
	_Atomic uint32_t ticking;                  /* the clock runs, or is to: Go waits for it with a futex */
	/* The spans of the large object that was freed last. Their words still lead to the first of them, until a slab or another
	 * object takes one of them; then the run is 0. */
	uint32_t last_first, last_run;
	uint32_t bins[TL_BINS];
	uint32_t free_records[TL_CLASSES]; /* blocks by class, linked through their metadata */
	tl_depot depots[TL_CLASSES];
} tl_heap;

/* What the functions say. All but OK leave everything as it was. */
enum {
	TL_HEAP_OK = 0,
	TL_HEAP_NEEDS_MEMORY = 1,  /* spans up to `wanted` have to be committed */
	TL_HEAP_NEEDS_RECORDS = 2, /* core dumps have to hold more records */
	TL_HEAP_LIMIT = 3,         /* an account refuses, or is near its limit and the call was not to go there */
	TL_HEAP_FULL = 4,          /* no address is left, or no record */
	TL_HEAP_ASK = 5,           /* huge pages have to be asked for */
};

/* Usable bytes of the object in a slot of a class. */
static inline uint64_t tlc_bytes_of(const tl_globals* g, uintptr_t object, uint32_t size_class)
{
	if (__builtin_expect(size_class != TL_CLASS_LARGE, 1)) return g->classes[size_class].size;
	const uint64_t word =
		atomic_load_explicit(&g->spans[(object - g->heap_base) >> TL_SPAN_SHIFT], memory_order_relaxed);
	return (uint64_t)TL_SPAN_BACK(word) << TL_SPAN_SHIFT;
}

#pragma GCC visibility push(hidden)

/* Charges bytes to an account and to that of all, up to the hard limits; false: nothing was charged. */
bool tlc_charge(tl_account* of, tl_account* all, uint64_t bytes);
void tlc_credit(tl_account* of, tl_account* all, uint64_t bytes);

/* `anyway` in what follows: accounts are charged up to their hard limits instead of the high watermarks, and an object that
 * huge pages have not been asked for is given all the same. Go does that, for it can empty caches and ask. */

/* Takes up to `want` slots of a small class into `to`; *n says how many, and the result why there are not more. The last one is
 * the first of the slab: a magazine hands out its last entry first, and values that are made one after the other lie so, too,
 * as programs walk them. */
int tlc_heap_take(tl_heap* h, uint32_t size_class, tl_entry* to, uint32_t want, uint32_t* n, bool anyway);

/* Takes n slots back, which are dead and have their next generation. */
void tlc_heap_give(tl_heap* h, uint32_t size_class, const tl_entry* from, uint32_t n);

/* Takes a slot back whose record has had all of its generations. Another slab may use the memory. */
void tlc_heap_retire(tl_heap* h, tl_entry e);

/* An empty magazine gets slots, a full one room for one at least: it grows up to its capacity, then the older half goes
 * to the depot. The last gives all back, with the capacity, and returns how many there were. */
int tlc_heap_refill(tl_heap* h, tl_context* c, uint32_t size_class, bool anyway);
void tlc_heap_make_room(tl_heap* h, tl_context* c, uint32_t size_class);
uint32_t tlc_heap_empty_magazine(tl_heap* h, tl_context* c, uint32_t size_class);

/* A large object of so many bytes, dead, with the generation of its next life, that begins at a multiple of `align` spans, a
 * power of two up to TL_HEAP_MOST_ALIGN; *zero: it reads as zero. */
enum { TL_HEAP_MOST_ALIGN = 32 };
int tlc_heap_take_large(tl_heap* h, uint64_t bytes, uint32_t align, tl_entry* e, bool* zero, bool anyway);

/* Takes a dead one back; left: its record has its next generation, and is not retired. */
void tlc_heap_give_large(tl_heap* h, tl_entry e, bool left);

/* Makes the large object at an address longer, up to so many bytes, where the spans behind it are free or were never
 * used. */
int tlc_heap_grow_large(tl_heap* h, uintptr_t object, uint64_t bytes, bool anyway);

/* Makes it shorter. */
void tlc_heap_shrink_large(tl_heap* h, uintptr_t object, uint64_t bytes);

/* Makes it longer or shorter. It keeps what is less than an eighth of it. One that has to move because it grows takes an
 * eighth more than it had, so that steps of any size cost as much as what is copied once. */
enum { TL_HEAP_GROWS_BY = 8 };
int tlc_heap_resize_large(tl_heap* h, uintptr_t object, uint64_t bytes, bool anyway);

/* Takes the slabs without a slot that is out, of all classes, from the depots. */
void tlc_heap_drop_empty(tl_heap* h);

/* Takes a dirty run that was freed at `epoch` or before, as long as more than `keep` bytes are dirty, out of the lists; 0:
 * there is none. The caller gives its pages to the system and then the run back. */
uint32_t tlc_heap_take_idle(tl_heap* h, uint64_t keep, uint32_t epoch, uint32_t* n);
void tlc_heap_give_idle(tl_heap* h, uint32_t first, uint32_t n, bool purged);

/* The same of pages that hold no object, of slabs that are in use and had no slot come back after `epoch`. Returns how many
 * slabs it has found; the caller gives each back. */
enum { TLC_SLAB_PAGES = 128, TLC_HELD_AT_ONCE = 32 };
typedef struct tlc_held {
	uint32_t span;
	uint32_t count;                      /* of pages */
	uint64_t pages[TLC_SLAB_PAGES / 64]; /* bit i is page i of the slab */
} tlc_held;
uint32_t tlc_heap_hold_slabs(tl_heap* h, uint32_t size_class, uint32_t epoch, tlc_held held[TLC_HELD_AT_ONCE]);
void tlc_heap_let_go(tl_heap* h, uint32_t size_class, uint32_t span, uint32_t purged);

/* Has the clock look for idle memory, and for threads that rest. Takes no lock. */
void tlc_heap_watch(tl_heap* h);

/* Registers the process for the other function, which has every thread of it pass a memory barrier before it returns. False:
 * the system cannot, or not any more. */
bool tlc_heap_begin_barriers(void);
bool tlc_heap_pass_barriers(void);

/* Gives the depots all free slots of a context but the newest of each class, whatever its thread does meanwhile. The process
 * is registered for barriers. */
void tlc_heap_take_magazines(tl_heap* h, tl_context* c);

/* Zeroes a new object's memory that does not read as zero. Does not change errno. */
void* tlc_heap_clear(void* p, uint64_t bytes);

/* All locks, for who looks at the whole heap. */
void tlc_heap_lock_all(tl_heap* h);
void tlc_heap_unlock_all(tl_heap* h);

#pragma GCC visibility pop
