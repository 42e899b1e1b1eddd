/* The memory layout that the two paths share.
 *
 * Everything here lives outside the Go heap and is read and written by C (the
 * fast path) and by Go (the slow path). tools/gen writes the Go declarations of what
 * is called tl_* and TL_* in the headers of this folder, runtime/layout/generated_*.go,
 * and the assertions of generated_layout.c, which fail the build when the C compiler
 * lays it out in another way. What is called tlc_* and TLC_* is C's alone. 64-bit only.
 *
 * Who may write what:
 *   record.loc         the holder of the owner's context (plain, relaxed)
 *   record.sh          anybody, by compare and swap; plain by the owner that allocates or frees, and by a thread
 *                      that is alone (tlc_tensor_end in tensor/tensor.h)
 *   record.type_flags  the creator before the object is shared; the drain afterwards
 *   record.gen         whoever frees the object
 *   context            its thread; `word` by anybody through atomics
 *   globals            at the first use, under the start lock of guard/guard.c; settings that may change, by atomics
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef TL_RUNTIME_H
#error "include layout.h before tl_runtime.h: one name is a type here and a function there"
#endif

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "TL Runtime is for little-endian processors: two words of a record are stored as one"
#endif

#define TLC_LIKELY(x) __builtin_expect(!!(x), 1)
#define TLC_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Memory of the program starts here at the earliest; smaller addresses are numbers that
 * were passed by mistake. */
#define TL_LOWEST_ADDRESS 0x10000u

/* Memory of the program lies below 2 to this power, whoever allocates it. */
enum { TL_PROGRAM_BITS_AMD64 = 47, TL_PROGRAM_BITS_ARM64 = 48 };
#if defined(__aarch64__)
#define TLC_PROGRAM_BITS TL_PROGRAM_BITS_ARM64
#else
#define TLC_PROGRAM_BITS TL_PROGRAM_BITS_AMD64
#endif

/* The lowest number of a descriptor of the library: those below it are standard input, output and error, also where the
 * program has closed them. */
#define TL_FIRST_DESCRIPTOR 3

/* Geometry of the heap. */
enum {
	TL_SPAN_SHIFT = 16,
	TL_SPAN_BYTES = 1 << TL_SPAN_SHIFT,
	TL_CLASS_NONE = 0,    /* span not in use: its record base is record 0, dead for ever */
	TL_CLASS_SMALL = 72,  /* classes 1..72: 32 bytes .. 64 KiB */
	TL_CLASS_CELL = 73,   /* classes 73..100: cells with their head, of 16 bytes .. 2 KiB */
	TL_CLASS_LARGE = 101, /* one object, a run of spans of its own */
	TL_CLASS_REST = 102,  /* the second and later spans of a large object */
	TL_CLASSES = 103,
};

/* Blocks of records (runtime/heap/records.go). */
enum {
	TL_LINE_RECORDS = 4,       /* a block begins at a multiple of this, on a cache line of its own */
	TL_LINE_SLOT_BYTES = 1024, /* slots of so many bytes or more have a line of records each, and use the first */
	TL_BLOCK_RECORDS = 64,     /* a block of more than one takes so many at least, and has its metadata apart */
};

/* record.loc = owner 12 | floats 4 | count 16 */
#define TL_LOC_OWNER_SHIFT 20
#define TL_LOC_FLOAT (1u << 16)
#define TL_LOC_FLOATS 0xF0000u
#define TL_LOC_COUNT 0xFFFFu
#define TL_OWNER_NEVER 0xFFF00000u /* no record has this owner: a context without the fast path */
#define TL_MAX_OWNER 4094          /* the last context that owns objects */
#define TL_MAX_FLOATS 15

/* record.sh = count 22 signed | claims 2 | floats 4 | IMMORTAL | QUEUED | MERGED | ALIVE.
 * A claim stands for a float of the local word, which only the owner may write, that another
 * thread takes: that thread adds one to the count and one to the claims. The merge of both words
 * takes away the float, the count and the claim.
 * All zeros is a dead record, so that fresh memory needs no initialisation. */
#define TL_SH_ALIVE 1u
#define TL_SH_MERGED 2u
#define TL_SH_QUEUED 4u
#define TL_SH_IMMORTAL 8u
#define TL_SH_FLAGS 15u
#define TL_SH_FLOAT_SHIFT 4
#define TL_SH_FLOAT (1u << TL_SH_FLOAT_SHIFT)
#define TL_SH_FLOAT_MASK 0xF0u
#define TL_SH_CLAIM_SHIFT 8
#define TL_SH_CLAIM_MASK 0x300u
#define TL_SH_CLAIM_MAX 3 /* also the most floats that a local word holds; more stand in the shared one */
#define TL_SH_COUNT_SHIFT 10
#define TL_SH_ONE (1u << TL_SH_COUNT_SHIFT)
#define TL_SH_COUNT_MAX 0x1FFFFF /* a shared count that would pass it sticks */

/* The counting words of a cell, loc | sh << 32: brought to zero, so that whatever counts refuses it, with a float that no
 * merged record has. */
#define TL_LOC_CELL TL_LOC_FLOAT
#define TL_SH_CELL (TL_SH_ALIVE | TL_SH_MERGED)

/* record.type_flags = flags 8 | type 24; 0 = plain bytes */
#define TL_TYPE_MASK 0xFFFFFFu
#define TL_TYPE_PLAIN 0u
#define TL_TYPE_VEC 1u      /* header of a Vec */
#define TL_TYPE_VEC_DATA 2u /* element table of a Vec, owned by the header */
#define TL_TYPE_TENSOR 3u
#define TL_TYPE_SPARSE 4u
#define TL_TYPE_FIRST_USER 16u
#define TL_KINDS 5                      /* plain ... sparse */
#define TL_RECORD_DESTROYED 0x01000000u /* the destructor has been called */

/* record.gen = generation 24 | class 8. Each life of a slot has a generation of its own, so a slot
 * that was freed in its last one is never used again. */
#define TL_GEN_ONE 0x100u
#define TL_GEN_LAST 0xFFFFFF00u /* the last one, of class 0 */

/* The state of one heap slot, apart from its payload. */
typedef struct tl_record {
	_Atomic uint32_t loc; /* written by the holder of the owner's context alone */
	_Atomic uint32_t sh;  /* compare and swap, but for the owner's alloc and free */
	_Atomic uint32_t type_flags;
	_Atomic uint32_t gen;
} tl_record;

/* entry.record of a pointer of the registry; entry.gen is the registry's then. Record 0 is dead for ever,
 * so that whoever looks for a live object's record needs no test for it. */
#define TL_FOREIGN 0u

/* What stands in front of a cell (inline/cells.h).
 *
 * A plain cell of up to TL_CELL_MOST_BYTES has a slot of a class of cells, and no life in a record: it lives while its count is
 * not 0. The address of such a slot is that of the cell, whose head is the last 8 bytes of the slot before, so the first slot
 * of a slab is never handed out. Other cells have the slot of an object, and begin TL_CELL_OFFSET bytes behind its start. */
typedef struct tl_cell_head {
	_Atomic uint32_t count;
	uint32_t tag; /* the compiler's */
} tl_cell_head;

enum {
	TL_CELL_STEP = 16, /* between the sizes of classes of cells, up to 256; above, a quarter of a power of two */
	TL_CELL_MOST_BYTES = 2040, /* of a plain cell of these classes */
	TL_CELL_OFFSET = 16,
};

/* tl_cell_head.count, as a signed number: a count above 0 is the only thread's that has the cell. One below 0 is shared, the
 * negative of it, changed by compare and swap, and at most this. Either that overflows is beyond that, where it sticks. */
#define TL_CELL_MOST (1 << 30)

/* A reference held by a magazine or by a scope. */
typedef struct tl_entry {
	uintptr_t object; /* 0: it was taken out */
	uint32_t record;
	uint32_t gen;
} tl_entry;

/* The payload of a Vec. Its element table is a slot of its own. */
typedef struct tl_vec_payload {
	uint64_t len, cap;
	tl_entry data; /* object 0 while nothing was ever stored */
} tl_vec_payload;

/* Free objects of one size class, kept by one context: [base, top) of [base, limit).
 * All zeros is empty and full at once. allocs counts objects ever handed out; while
 * allocations are sampled it comes from below zero, and the object that brings it to
 * zero is the next sample (context.allocs_before has the rest of the sum). */
typedef struct tl_magazine {
	tl_entry* top;
	tl_entry* base;
	tl_entry* limit;
	uint64_t allocs;
} tl_magazine;

/* A magazine has room for so many bytes of objects, and for so many objects at least. */
enum { TL_MAGAZINE_HOLDS = 131072, TL_MAGAZINE_FEWEST = 16 };

/* What went between a magazine and its depot, ever. */
typedef struct tl_flow {
	_Atomic uint64_t refilled, flushed;
} tl_flow;

/* Slots of one kind that a context took and gave back, ever, and their bytes. Another
 * context may give back what this one took: only sums over all contexts have a meaning. */
typedef struct tl_kind_counters {
	uint64_t made, gone;
	uint64_t bytes_made, bytes_gone;
} tl_kind_counters;

/* The same of one user type, whose bytes are those of its size class. */
typedef struct tl_type_count {
	uint64_t made, gone;
} tl_type_count;

/* What classification needs to know of a size class.
 *
 *	stride * block_records == size * slots
 *
 * Where the stride is a part of the size, an address at a multiple of it inside a slot leads to a record that is
 * dead for ever. */
typedef struct tl_class_info {
	uint64_t reciprocal; /* ceil(2^64 / stride); 1 for classes whose only object starts at offset 0 */
	/* slab bytes - 1: of another type than the counts, so that a compiler reads it once for several of them */
	uint64_t mask;
	uint32_t size;
	uint32_t slots;
	uint32_t stride;        /* bytes of the slab for each record: the size, or a quarter of it */
	uint32_t block_records; /* of all slots */
} tl_class_info;

/* What was open when a scope, a function or a planned frame began. Where kind lacks ARENA, the
 * arena's top did not change between this mark and the next newer one: its arena_top is that of the newer mark, or
 * context.arena_top for the newest mark. */
typedef struct tl_mark {
	tl_entry* top;       /* of the scope entries below it */
	uintptr_t arena_top; /* of the arena below it, where kind has ARENA */
	uintptr_t frame_top; /* of the frame stack below it; not written for a scope, which has no frame */
	uint32_t kind;       /* kind << 30 | TAGGED | ARENA | slots */
	uint32_t outer;      /* 1 + index of the enclosing function's mark, 0 = none; not written for a scope */
} tl_mark;

/* mark.kind */
enum { TL_MARK_SCOPE = 0, TL_MARK_FUNCTION = 1, TL_MARK_PLANNED = 2 };
#define TL_MARK_KIND_SHIFT 30
#define TL_MARK_SLOTS 0x0FFFFFFFu
#define TL_MARK_ARENA 0x10000000u  /* arena_top is written */
#define TL_MARK_TAGGED 0x20000000u /* a tag was pushed while this was the newest mark */

/* One buffer slot of a function frame. */
typedef struct tl_slot {
	uintptr_t buffer;
	uint64_t bytes;
} tl_slot;

/* context.word = inbox node index << 2 | state */
enum { TL_CTX_FREE = 0, TL_CTX_ACTIVE = 1, TL_CTX_PARKED = 2, TL_CTX_BORROWED = 3, TL_CTX_STATE = 3 };

/* Tells an owner that the last shared reference of one of its objects waits for it. The generation
 * tells a node of an object that was freed and whose slot was used again. Nodes have numbers from 1;
 * 0 = none. */
typedef struct tl_node {
	uintptr_t object;
	uint32_t record;
	uint32_t gen;
	uint32_t next; /* in the inbox, or in a chain of free nodes */
	/* Of the first node of a free chain: the next chain of globals.node_chains. Of a node that waits: the units that its
	 * object takes; 0: it was not the object's last reference, and runtime/object/late_waits.go counts the object when
	 * it waits. */
	_Atomic uint32_t chain;
} tl_node;

/* Free nodes travel in chains of this many. */
#define TL_NODE_CHAIN 64

/* What waits for an owner is counted in units of this many bytes, of which the size of every slot is a multiple. */
#define TL_NODE_UNIT 32

/* globals.node_chains = times that it was changed 32 | first node of the first chain 32 */
#define TL_CHAINS_CHANGE (1ull << 32)

/* A turn of waiting for a lock is twice as many pauses of the processor as the one before: each look at a lock takes its
 * cache line away from whoever holds it. After so many turns the processor is given away, because the holder may wait
 * for it. */
enum { TL_WAIT_FIRST = 16, TL_WAIT_TURNS = 4 };

enum {
	TL_MESSAGE_BYTES = 2048, /* room for one rendered error message */
	TL_MAX_TAGS = 32,        /* that a thread can have pushed */
};

/* 2^64 by the golden ratio. The upper bits of a key's product with it differ for keys that are near one another. */
#define TL_HASH_FACTOR 0x9E3779B97F4A7C15ull
#define TL_HASH(key, bits) ((uint64_t)(key) * TL_HASH_FACTOR >> (64 - (bits)))

/* A number below TL_BLOCK_MARKS for the address of a pool's block. */
enum { TL_BLOCK_MARKS = 4096 };
#define TL_BLOCK_MARK(address) TL_HASH(address, 12)

/* A frame of Python in a recorded stack: TL_PYTHON_TAG in the uppermost byte, where no address of a program has bits, then
 * the number of a name, then a line. */
enum { TL_PYTHON_TAG = 0x70, TL_PYTHON_TAG_SHIFT = 56, TL_PYTHON_NAME_BITS = 28, TL_PYTHON_LINE_BITS = 24 };

/* context.error.kind: the sentences of runtime/object/errors.go for what C finds as well. */
enum {
	TL_TEXT_STATUS = 0,  /* the status alone, or what the pointer turns out to be */
	TL_TEXT_OUTSIDE = 1, /* nobody's: outside of all that the runtime knows */
	TL_TEXT_INTERIOR = 2,
	TL_TEXT_DEAD = 3,
	TL_TEXT_UNUSED = 4,
	TL_TEXT_RUNTIME = 5,
	TL_TEXT_DEAD_STACK = 6,
	TL_TEXT_OTHER_STACK = 7,
	TL_TEXT_NOT_REGISTERED = 8,
	TL_TEXT_MISALIGNED = 9,
	TL_TEXT_NOT_MALLOC = 10,
	TL_TEXT_UNREADABLE = 11,
	TL_TEXT_NOT_A_BLOCK = 12,
	TL_TEXT_INSIDE_BLOCK = 13,
	TL_TEXT_REFERENCED = 14,
	TL_TEXT_REF_DEAD = 15,
	TL_TEXT_REF_REUSED = 16,
	TL_TEXT_REF_ZERO = 17,
	TL_TEXTS = 18, /* the others are Go's alone */
};

/* globals.leak_check */
enum { TL_LEAK_CHECK_OFF = 0, TL_LEAK_CHECK_REPORT = 1, TL_LEAK_CHECK_FAIL = 2 };

/* globals.tracking = epoch << 2 | mode */
enum {
	TL_TRACKING_OFF = 0,
	TL_TRACKING_SAMPLE = 1,
	TL_TRACKING_ALL = 2,
	TL_TRACKING_TRACE = 3, /* all, and no call is answered by the fast path */
	TL_TRACKING_MODE = 3,
	TL_TRACKING_ONE = 4,
};

enum {
	TL_WARM_ENTRIES = 64, /* the most warm places of a context */
	TL_WARM_CLASSES = 15, /* their classes: up to 480 bytes, so that they hold 30 KiB at most */
};
_Static_assert((TL_WARM_CLASSES & (TL_WARM_CLASSES + 1)) == 0, "higher classes have bits that these do not have");

/* The last error of a thread: what tl_last_status and its neighbours answer. */
typedef struct tl_error {
	int32_t status;
	uint32_t function; /* TL_FN_ id */
	uintptr_t pointer;
	uint64_t detail[3];
	uint32_t kind; /* which text renders detail */
	uint32_t message_ready;
	char message[TL_MESSAGE_BYTES];
} tl_error;

/* A call that failed for want of memory. */
typedef struct tl_shortage {
	uint64_t bytes;
	int32_t device;    /* whose memory */
	uint32_t is_open;  /* the call changed nothing, and is made again if the program releases something */
	uint32_t attempts; /* how often the program was asked to */
} tl_shortage;

/* Tracking (runtime/observe/track). Objects of size classes are counted down to the next sample in their magazines, everything
 * else in bytes here. */
typedef struct tl_tracking {
	uint64_t left;                    /* bytes that may pass before the next sample */
	uintptr_t sampled;                /* what was recorded last: tl_track_site may still name its line */
	uint32_t pending;                 /* what this call has recorded lacks its stack; Go clears it */
	uint32_t seen;                    /* globals.tracking when the distances were drawn */
	uint32_t tags;                    /* how many are pushed */
	uint32_t tag_names[TL_MAX_TAGS];  /* of all tags up to this one */
	uint32_t tag_depths[TL_MAX_TAGS]; /* marks that were open when it was pushed */
} tl_tracking;

/* A destructor or a deleter of the program's: f(object), or f(object, context). */
typedef struct tl_callback {
	uintptr_t function, object, context;
} tl_callback;

/* Destructors and deleters that wait for the end of the call (runtime/object/deleters.go). */
typedef struct tl_drain {
	/* Dead objects, linked through their records, and foreign blocks that a C function frees; first in first out. The heads
	 * are read as one word. */
	uint32_t destroy_first, deleter_first;
	uint32_t destroy_last, deleter_last;
	tl_callback callback; /* what is to be called next */
	uint32_t arguments;   /* of it: 0 = nothing to call, 1, 2 */
	uint32_t active;      /* a call of this thread runs destructors */
	uintptr_t frame;      /* where on the stack that call stands */
} tl_drain;

/* Objects whose last reference this thread has handed to the owner, and their units; the objects that this thread has taken
 * out of inboxes, and theirs. The sums over all contexts tell what waits: deferred - answered. */
typedef struct tl_handed {
	uint64_t deferred, deferred_units;
	uint64_t answered, answered_units;
} tl_handed;

/* Free nodes that a thread keeps: a chain that it takes from and puts into, and a full one beside it. */
typedef struct tl_free_nodes {
	uint32_t first, count, full;
} tl_free_nodes;

/* The hash index of the entries of a large scope (runtime/object). */
typedef struct tl_scope_index {
	uint64_t below;  /* scope entries below it are in the index */
	uintptr_t slots; /* of the hash table */
	uint64_t mask;
	uintptr_t older; /* entry position -> next older position of the same pointer */
} tl_scope_index;

/* Slots of frames; and the arena, all 0 while none is active. */
typedef struct tl_linear {
	uintptr_t base, top, end;
} tl_linear;

/* A thread's mutator state. All zeros but `owner` is a valid one that answers nothing itself. */
typedef struct tl_context {
	uint32_t owner;               /* id << 20, TL_OWNER_NEVER when this context owns nothing */
	uint32_t id;                  /* slice number, from 1; 0 = no context */
	uint32_t alloc_loc, alloc_sh; /* record words of a floating object */
	uint32_t new_loc, new_sh;     /* record words of a registered object */
	uint32_t one;                 /* owner | 1: the local word of an object with one reference */
	tl_entry* top;                /* scope entries: [entries, top); room for others while top < end */
	tl_entry* end;
	tl_entry* entries;
	tl_mark* mark_top; /* [marks, mark_top) of [marks, mark_end) */
	tl_mark* mark_end;
	tl_mark* marks;
	uint64_t planned;  /* planned frames among the marks; the others are scopes and functions */
	uint64_t floor;    /* unregister searches entries from here: those of the newest function */
	uint64_t function; /* 1 + index of the newest function's mark, 0 = none */
	uint64_t slots;    /* of that function */
	tl_slot* slot_table;
	tl_linear frame;     /* its slots */
	tl_linear arena;     /* all 0 while none is active */
	tl_mark* arena_mark; /* mark_top only if the newest mark has ARENA or there is none */
	tl_scope_index index;
	uint64_t holes;          /* scope entries that were taken out */
	struct tl_context* self; /* this context; the real one when this is the stub of TL_FASTPATH=0; NULL = none */
	_Atomic uint64_t word;
	uint64_t close_target;   /* what the slow path was closing when a destructor had to run */
	uint32_t unfinished;     /* it was interrupted so */
	uint32_t error_function; /* TL_FN_ id of the call that failed last */
	uint32_t in_go;          /* a call of this thread is in the slow path */
	uint32_t error_pending;  /* TL_ON_ERROR wants the error told when the entry guard is left */
	tl_drain draining;
	uint64_t skipped; /* scope entries whose object was gone already */
	tl_handed handed;
	uint64_t foreign_adopted, foreign_freed;
	_Atomic uint32_t alone; /* no second context was ever made; cleared by whoever makes it (countIn in alone.go) */
	_Atomic uint32_t busy;  /* the thread ends something as if nobody else were there */
	uint64_t slow_calls;    /* calls of the slow path */
	/* Warm places of the scope stack, [max(top, end), warm): each holds a free slot of a small class that the exit of a
	 * scope left there for tl_mem_new. Taking one raises the top alone. tlc_lower_top sets end to the old top before it
	 * lowers it, so that [top, end) is free for any entry. NULL: there are none, and end is the end of the stack.
	 *
	 *	top <= warm, end <= warm, warm <= entries + its capacity, while there are any
	 *	top <= end in Go, and while the context is parked
	 *	entry = object, record, the generation of its next life; its record is dead and plain
	 *
	 * They are free for every purpose. A thread that enters Go gives them to its magazines. */
	tl_entry* warm;
	uint32_t growths;    /* spans of fresh slabs since magazines aged last */
	uint32_t patience;   /* how often a class was used again that was idle when magazines aged last */
	uint64_t used;       /* tells the clock whether the context was used since it looked last */
	uint64_t purge_seen; /* globals.purge when this context last gave its magazines back */
	tl_shortage shortage;
	_Atomic uint32_t finished; /* the thread has ended, and what it had open is finished */
	uint32_t cold_exits;       /* scopes that leave nothing warm, before one tries again */
	uint32_t thread_number;    /* the system's number of the thread that has, or had, this context; 0 = not known */
	uint32_t after_hole;       /* scope entry above the one of which tl_tensor_free made a hole last */
	/* Copies of globals that never change, for code that is inlined into programs (inline/records.h). Zeros
	 * in a stub: there it finds no record. */
	uintptr_t heap_base;
	uint64_t heap_bytes;
	_Atomic uint64_t* spans;
	tl_record* records;
	tl_class_info* classes;
	tl_record* block_metadata;
	uint32_t* record_blocks;
	uint64_t record_limit; /* of records that a tl_ref can name; no store of a 32-bit count aliases it */
	tl_tracking tracking;
	uint32_t use_site;       /* TL_DEBUG: where the call that failed last was made */
	uint32_t damaged;        /* TL_DEBUG: this call has found memory that was overwritten */
	int32_t cancel_state;    /* the thread's, before its call entered Go */
	struct tl_context* path; /* what the thread sees when it has left Go: this context or its stub */
	tl_free_nodes nodes;
	uint64_t waiting; /* nodes that this thread took out of its inbox and has not finished; as wide as `word` */
	tl_error error;
	/* The element table that was appended to, or made, last. Whether it is a Vec's still, its record tells. With these words
	 * each magazine lies in one cache line. */
	uintptr_t table;
	uint64_t table_tag;               /* its record and generation */
	uint64_t table_room;              /* in elements */
	tl_kind_counters kinds[TL_KINDS]; /* by record type; the plain ones are the rest */
	tl_magazine magazines[TL_CLASSES];
	uint64_t allocs_before[TL_CLASSES]; /* what magazine.allocs lacks */
	tl_flow flows[TL_CLASSES];
	uint64_t seen_allocs[TL_CLASSES]; /* magazine.allocs when the heap looked at it last (cshim/heap) */
	uint8_t flushed_last[TL_CLASSES]; /* the magazine was full since it was empty last */
	uint8_t unused[5];
	/* What the clock does for a thread that rests (cshim/heap/idle.c): it takes the oldest slots of a magazine, whose base
	 * rises by as many. The owner lowers it when it refills or empties the magazine. */
	uint16_t taken[TL_CLASSES];
	uint16_t unused_behind;
	_Atomic uint32_t moving; /* the owner moves slots between a magazine and its depot */
	_Atomic uint32_t taking; /* the clock takes slots; then the owner waits before it moves any */
} tl_context;

/* A public function has the name of this type. Files that include this header see that function as
 * tlc_context_of (guard/inlining.c); guard/context.c alone knows it by its own name. */
#define tl_context(version) tlc_context_of(version)

/* Where a compiler's own Vec has its parts; runtime/object/compiler_vecs.go has what a header has to be like. */
typedef struct tl_vec_info {
	uint64_t data, length, capacity; /* offsets in the header */
	uint64_t element_bytes;
	uint32_t* references;  /* offsets in an element, in units of 8 bytes */
	uint32_t fields;       /* how many */
	uint32_t number_bytes; /* of length and of capacity: 4 or 8 */
} tl_vec_info;

/* type_info.ends: what ends an object or a block of the type. */
enum {
	TL_ENDS_SIMPLY = 0,    /* either path: its fields are released */
	TL_ENDS_WITH_CALL = 1, /* either path: the destructor is called, then its fields are released */
	TL_ENDS_AS_VEC = 2,    /* Go; blocks of malloc's either path: a Vec without a destructor */
	TL_ENDS_IN_GO = 3,
	TL_ENDS_AS_CELL = 4, /* the type of cells with a type: of their slots; its size is 0 here */
};

/* A type with more fields ends in Go. */
enum { TL_MOST_FIELDS = 2048 };

/* What the fast path knows of a type; zeros: undefined. Written once, before the
 * type's number is given out. */
typedef struct tl_type_info {
	uint64_t size;
	uint32_t* offsets;       /* of pointer fields, in units of 8 bytes */
	struct tl_vec_info* vec; /* NULL: no Vec */
	uint32_t fields;
	uint32_t ends;        /* TL_ENDS_* */
	uintptr_t destructor; /* f(object), or f(object, context) where that is not 0 */
	uintptr_t context;    /* of a type that ends simply: the type of its cells, once there is one */
} tl_type_info;

/* Where everything is. One per process, filled before the first context exists. */
enum { TL_RANGES = 1024 };

/* The address space of one range. 0 bytes: the place is free. */
typedef struct tl_range {
	_Atomic uintptr_t start;
	_Atomic uint64_t bytes;
} tl_range;

typedef struct tl_globals {
	_Atomic uintptr_t heap_base; /* in the shim's copy: written last */
	uint64_t heap_bytes;
	_Atomic uint64_t* spans; /* span -> back 24 | record base 32 | class 8 */
	tl_record* records;
	tl_record* block_metadata; /* of blocks of more than one record; see runtime/heap/records.go */
	uintptr_t slices_base;     /* contexts: slice i is [slices_base + i << slice_shift, ...) */
	uint64_t slices_bytes;
	uint64_t slice_shift;
	uint64_t arena_offset, frame_offset; /* inside a slice */
	uint64_t arena_capacity;             /* bytes of each */
	uintptr_t shards;                    /* registry (registry.h) */
	uint64_t shard_mask;
	uintptr_t pools;              /* memory pools (mempool.h) */
	tl_node* nodes;               /* of inboxes, by number */
	_Atomic uint64_t node_chains; /* free nodes that no thread keeps */
	struct tl_type_info* types;   /* by type number, from TL_TYPE_FIRST_USER */
	uint32_t fast;                /* TL_FASTPATH */
	_Atomic uint32_t on_error;    /* 0 ignore, 1 log, 2 abort, 4 callback set, 8 fail */
	_Atomic uint32_t reap;        /* a parked context holds work */
	_Atomic uint32_t purge;       /* asks contexts to give their magazines back at their next slow call */
	_Atomic uint32_t parked;      /* contexts waiting to be adopted */
	uint32_t counted_types;       /* types that contexts count, at TLC_TYPES_OFFSET; the others are Go's */
	_Atomic uint32_t tracking;    /* whether allocations are recorded; contexts follow at their next slow call */
	_Atomic uint32_t vec_type;    /* of addresses that tl_mem_register_vec_ptr does not know; 0: none */
	tl_class_info classes[TL_CLASSES];
	uintptr_t block_marks;         /* how many recorded blocks of pools have each TL_BLOCK_MARK */
	_Atomic uint32_t leak_check;   /* what happens at exit */
	uint32_t debug;                /* TL_DEBUG */
	_Atomic uint32_t show_stats;   /* TL_SHOW_STATS */
	_Atomic uint32_t mem_log;      /* TL_MEM_LOG */
	uint32_t* record_blocks;       /* record / TL_LINE_RECORDS -> the first record of its block; 0: none yet */
	struct tl_heap* heap;          /* heap/heap.h */
	_Atomic uintptr_t ranges_base; /* all ranges (runtime/heap/ranges.go), and what others have between them */
	_Atomic uint64_t ranges_bytes;
	_Atomic uint64_t ranges_used; /* places that were ever taken; above TL_RANGES: some ranges have none */
	tl_range ranges[TL_RANGES];
} tl_globals;

#define TL_SPAN_CLASS(word) ((uint32_t)((word) & 0xFF))
#define TL_SPAN_RECORD(word) ((uint32_t)((word) >> 32))
#define TL_SPAN_BACK(word) ((uint32_t)(word) >> 8) /* to the first span of a large object; there, how many it has */
