/* A model of the whole library, and random programs that hold the library to it.
 *
 * A world is what one thread of the program has: its scopes, frames, tags and arena, and
 * the items that it counts. An item is anything that has a count. A step makes one or a
 * few calls on a world's items, with bad pointers mixed in, compares what the call says
 * with what the model says, and changes the model. Families of functions stand in files
 * of their own and are told apart by struct family.
 *
 * There are two worlds. In turns one works while the other waits, so that all is known:
 * every count, every counter of tl_stats, and the run repeats from its seed. Free, both
 * work at once, each knows its own items, and sums are compared when both have stopped.
 */
#pragma once

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tl_runtime.h"

#ifndef LOG_LINES
#define LOG_LINES 40 /* of the newest calls, for each world */
#endif

/* ---- sets of statuses ---------------------------------------------------------------- */

#define S(status) (1u << (status))
#define GOOD S(TL_OK)
#define BAD_SIZE S(TL_E_INVALID_ARGUMENT)

/* ---- items --------------------------------------------------------------------------- */

typedef struct world world;
typedef struct item item;
typedef struct block block;
typedef struct shape shape;
typedef struct matrix matrix;

typedef enum kind { PLAIN, TYPED, VEC, TENSOR, SPARSE, FOREIGN, STACK, CELL, KINDS } kind;

/* Sets of kinds, to choose from. */
#define K(kind) (1u << (kind))
#define HEAP (K(PLAIN) | K(TYPED) | K(VEC) | K(TENSOR) | K(SPARSE))
#define COUNTED (HEAP | K(FOREIGN))

typedef enum life {
	LIVE,
	ZERO,    /* tl_ptr_dec_ref brought the count to 0, and the caller frees */
	WAITING, /* ended on a thread that does not own it: its owner finishes it */
	GONE
} life;

typedef enum imported { NOT_IMPORTED, ITSELF, COPY } imported; /* by DLPack, what was exported */

/* count = references of scopes, containers, callers and of nobody (floats). */
struct item {
	uint64_t id, pattern; /* of its contents; 0: nobody knows them */
	kind kind;
	life life;
	char* at;
	size_t bytes; /* that are the program's own */
	int64_t count;
	int32_t floats, frozen;
	uint32_t listed, inside; /* entries of scopes, references of containers */
	uint32_t buried;         /* mentions in graveyards */
	bool doomed;             /* garbage of tl_mem_collect_cycles */
	bool immortal;
	bool adopted; /* by tl_mem_register_struct, from malloc */
	bool typed;   /* FOREIGN: registered with a type, and has its fields; a CELL with a type; or */
	bool own_vec; /* with that of Vecs that the program lays out itself */
	imported imported;
	bool returned; /* and handed back to the host */
	bool shared;   /* by tl_ptr_share, or born without an owner: every thread ends it at once */
	bool touched;  /* counted by a thread that is not its owner */
	world* owner;  /* who made it */
	world* home;   /* whose model has it */
	size_t place;  /* in the home's list */
	int type;
	item** refs; /* fields, elements, what a view or a matrix holds */
	size_t refs_len, refs_room;
	block* block;   /* FOREIGN: what its address is a name of */
	shape* shape;   /* TENSOR, and STACK for one in a slot */
	matrix* matrix; /* SPARSE */
	int64_t offset; /* STACK: in the arena; -1: in a frame */
	tl_ref ref;     /* 0: nobody asked for it */
};

/* ---- types of objects ---------------------------------------------------------------- */

enum { TYPES = 7, MAX_FIELDS = 3, NO_ID = -1 };

typedef enum action { NOTHING, TELLS, SCOPES, REGISTERS, REVIVES } action;

typedef struct object_type {
	size_t bytes;
	size_t offsets[MAX_FIELDS];
	size_t fields;
	int id_offset; /* where an object has its item's id, for its destructor */
	action destroy;
	tl_type number;
} object_type;

extern object_type types[TYPES];

/* ---- what the library calls -------------------------------------------------------------- */

typedef enum calling { DESTROYED, DELETED } calling;

/* A destructor or a deleter was called. */
typedef struct event {
	calling what;
	uint64_t id;
	void* born; /* what the destructor has registered */
	bool used;
} event;

/* ---- worlds ------------------------------------------------------------------------------ */

typedef enum mark_kind { SCOPE, FUNCTION, PLANNED } mark_kind;

enum { MAX_SLOTS = 3, MAX_MARKS = 40, MAX_TAGS = 32, GRAVES = 12, LOG_BYTES = 160, PLENTY = 260 };

/* An open scope, function or planned frame. */
typedef struct mark {
	mark_kind kind;
	size_t entries; /* of the world when it was opened */
	int64_t arena;  /* offset then */
	int tags;       /* depth then */
	int64_t slots;
	item* buffers[MAX_SLOTS];
	item* block; /* of a planned frame */
} mark;

struct world {
	int number;
	pthread_t thread;
	uint64_t random;
	uint64_t steps, calls;

	item** items; /* with this home, not GONE */
	size_t items_len, items_room;
	item** entries; /* of all scopes, oldest first; NULL: taken out */
	size_t entries_len, entries_room;
	mark marks[MAX_MARKS];
	int marks_len;
	bool arena_active;
	int64_t arena_top, arena_capacity; /* -1: all that is reserved */
	char* arena_base;
	char tags[MAX_TAGS][8];
	int tags_len;

	item** dying; /* whose count came to 0, in that order */
	size_t dying_first, dying_len, dying_room;
	event* events; /* of the call that was just made */
	size_t events_len, events_room, events_seen;

	item* graves[GRAVES]; /* dead, and their memory still nobody's */
	bool any_order;       /* destructors run in an order that is not said */
	uint64_t* unknown;    /* items whose destructors ran here while the other world worked */
	size_t unknown_len, unknown_room;
	uint64_t born;     /* by destructors, in this step */
	unsigned short_of; /* statuses that any call which needs memory may have now */
	bool audit;        /* look at everything after this step */
	int immortals;
	void* family_state[16];

	char log[LOG_LINES][LOG_BYTES];
	uint64_t log_len;
};

/* One family of functions. */
typedef struct family {
	const char* name;
	unsigned weight;
	void (*step)(world* w);
	void (*check)(world* w);  /* while nobody works */
	void (*finish)(world* w); /* gives back what it has */
} family;

/* The model's whole state. */
struct model {
	world worlds[2];
	world outside; /* the thread that checks */
	bool turns;    /* one world at a time */
	bool wild;     /* nothing is promised */
	bool debug, tracking, sampling, tracing;
	unsigned may_be_short; /* statuses for want of memory, in this configuration */
	bool faults, limits;
	uint64_t failures, refusals, bad_pointers, skipped, deferred;
	uint64_t next_id;
	int64_t hidden[KINDS]; /* objects that are none of the model's items */
	uint64_t pending;      /* ends that an owner may not have noticed */
};

extern struct model model;
extern _Thread_local world* here;

/* ---- model_world.c: randomness, the log, failure ----------------------------------------- */

uint64_t draw(world* w, uint64_t n); /* 0 to n - 1 */
bool chance(world* w, unsigned percent);
#define ONE_OF(w, array) ((array)[draw(w, sizeof(array) / sizeof((array)[0]))])

/* Begins a call: writes it down, and clears the thread's status. */
void note(world* w, const char* format, ...) __attribute__((format(printf, 2, 3)));
void fail(world* w, const char* format, ...) __attribute__((format(printf, 2, 3), noreturn));

/* The status of a call has to be one of a set; it is returned. */
tl_status want(world* w, tl_status got, unsigned set);
tl_status want_last(world* w, unsigned set);
/* The same for a call that needs memory. When it was refused for want of it, everything
 * is looked at after the step. */
tl_status want_memory(world* w, tl_status got, unsigned set);
tl_status want_memory_last(world* w, unsigned set);
void want_int(world* w, int64_t got, int64_t wanted, const char* what);
void want_pointer(world* w, const void* got, const void* wanted, const char* what);
void want_true(world* w, bool good, const char* what);

void* grow(void* array, size_t* room, size_t needed, size_t each);
void report_logs(void);
void report_failure(void); /* how to repeat it; in model.c */

/* ---- model_items.c ----------------------------------------------------------------------- */

item* item_new(world* w, kind kind, void* at, size_t bytes);
void item_leave(item* it); /* its home */
void item_enter(world* w, item* it);
void claim(world* w, const item* it); /* memory that was just given out */
void memory_unknown(world* w);        /* somebody may have taken dead memory */
void fill(item* it);
void verify(world* w, const item* it);
void verify_range(world* w, const item* it, size_t from, size_t to);
void verify_prefix(world* w, const item* it, size_t bytes);
void verify_zero(world* w, const item* it);
void bury(world* w, item* it); /* its address becomes a bad pointer */
void add_ref(item* holder, item* held);
const char* name(const item* it);
kind counted_as(const item* it); /* in statistics */
/* Where an object, or a block with a type, has its fields; NULL: it has none of its own. */
const object_type* layout_of(const item* it);

bool may_drop(const item* it);
bool may_hold(const item* it);
bool may_sink(const item* it);
/* Whether this thread ends it at once, or its owner does some time later. A container whose
 * end is its owner's business takes no references: when they would go is not known. Nor
 * does a reference float here then, see docs/ownership.md. */
bool ends_here(const world* w, const item* it);
void touch(world* w, item* it); /* a thread counts it */
void retain(world* w, item* it);
bool floats_enough(const item* it);
bool float_one(item* it);
bool drop_one(item* it); /* true at zero */
void forget_if_unmentioned(item* it);
void enlist(world* w, item* it); /* a floating reference, or a new one, for the scope */
void enlist_new(world* w, item* it);
void check_counts(world* w);

/* ---- model_ends.c ------------------------------------------------------------------------ */

void die(world* w, item* it);
void end_by_hand(world* w, item* it); /* its memory alone: what tl_ptr_dec_ref left to the program */
void drain(world* w);
void end_stack(item* it);         /* memory of a frame or an arena */
void release(world* w, item* it); /* one reference, and what follows */
void drop_ref(world* w, item* holder, item* held);
bool event_take(world* w, calling what, uint64_t id, void** born);
void events_end(world* w);    /* every call of the library's was one that had to be */
void events_settle(world* w); /* ends what waited for this thread, while nobody works */
void event_add(calling what, uint64_t id, void* born);

/* ---- model_operands.c: what calls are given ---------------------------------------------- */

typedef struct operand {
	char* at;
	item* it;         /* live, or at zero */
	unsigned refusal; /* statuses of a call that wants a live object; GOOD when it is one */
	bool unknown;     /* a number, at which no memory can be */
	bool host;        /* memory of the program: not for calls that adopt it */
	char name[40];
} operand;

item* pick(world* w, unsigned kinds);
item* pick_where(world* w, unsigned kinds, bool (*fits)(const item*));
operand operand_of(const item* it);
/* Mostly a live item of these kinds, else NULL or a bad pointer. */
operand draw_operand(world* w, unsigned kinds);
operand draw_bad(world* w);
void host_freed(const void* at); /* what had been handed back: the library knows its address still */
/* For functions of one kind of object: what they say about an operand. */
unsigned refusal_for(const operand* o, unsigned kinds);

/* ---- model_objects.c --------------------------------------------------------------------- */

void define_types(world* w);
item* made(world* w, kind kind, void* at, size_t bytes, unsigned set);
void release_held(world* w, item* holder, item* held);
void store(world* w, item* holder, size_t i, item* it);

/* ---- model_counts.c ---------------------------------------------------------------------- */

/* What tl_mem_unregister of a live item says, and what it does. */
unsigned take_out_set(world* w, const item* it);
void take_out(world* w, item* it);
void leave_scope(world* w, item* it); /* the newest entry goes, and its reference is the caller's */
void finish_zero(world* w, item* it);
bool alive(const operand* o);
/* Whether a call has dropped a reference; one to another thread's object may need memory. */
bool told(world* w, const operand* o, tl_status got);

/* ---- model_refs.c ------------------------------------------------------------------------ */

void ref_ended(world* w, item* it); /* a reference to it is stale from here on */

/* ---- model_scopes.c ---------------------------------------------------------------------- */

mark* current_function(world* w);
void close_to(world* w, int marks);
void unwind(world* w, size_t entries);
bool crowded(const world* w);
void arena_back(world* w, int64_t top);

/* ---- model_stats.c ------------------------------------------------------------------------ */

/* Compares every counter of tl_stats with the model. */
void check_stats(world* w);

/* ---- model_tensors.c ----------------------------------------------------------------------- */

enum { MAX_RANK = 8 };

/* Memory that the library was lent. */
typedef struct lease {
	uint64_t id; /* of the item that ends it */
	char* data;  /* that the deleter is to be called with */
	void* memory;
} lease;

struct shape {
	int32_t dtype;
	int64_t rank, numel;
	int64_t dims[MAX_RANK], strides[MAX_RANK];
	char* data;     /* the first element; NULL when there is none */
	uint32_t flags; /* LENT, VIEW, READ_ONLY, IN_SLOT */
	char* from;     /* of the memory that has its elements: what the pattern covers */
	size_t bytes;
	uint64_t pattern;
	lease* lease;
};

size_t dtype_bytes(int32_t dtype);
bool is_tensor(const operand* o);
operand draw_tensor(world* w, unsigned* set);
item* tensor_made(world* w, tl_tensor* at, unsigned set, const shape* like);
void tensor_rows(shape* s); /* row-major strides, and the number of elements */
void tensor_check(world* w, const item* it);
void tensor_verify(world* w, const item* it);
void tensor_fill(const item* it);
item* tensor_own(world* w, tl_tensor* at, unsigned set, const shape* like); /* with memory of its own */
lease* lend(size_t bytes);
void lent_back(void* data, void* ctx); /* a tl_deleter */
bool draw_shape(world* w, shape* s);   /* false: one that has to be refused */
bool contiguous(const shape* s);

/* ---- model_registry.c ------------------------------------------------------------------------ */

enum { MOST_NAMES = 5 };

/* Memory that the runtime did not allocate: it ends with the last of its names. */
struct block {
	uint64_t id;
	char* memory;
	size_t bytes;
	size_t measured; /* what the registry says; of an adopted block all that malloc gave */
	tl_alloc_kind kind;
	uint64_t buffer; /* the number of one with names; 0 */
	item* names[MOST_NAMES];
	size_t names_len;
	bool tells; /* a deleter ends it */
	bool workspace;
};

void block_leave(world* w, item* name);                 /* one of its names has ended */
item* block_made(world* w, char* memory, size_t bytes); /* of malloc's, with one reference, not filled */

/* ---- model_shapes.c --------------------------------------------------------------------------- */

/* The header of a Vec that the program lays out itself. */
typedef struct own_vec {
	void** data;
	int64_t capacity, length;
} own_vec;

void define_shapes(world* w);

/* ---- model_shared.c --------------------------------------------------------------------------- */

enum { COMMON_BYTES = 64 };

void begin_commons(world* w);
uint64_t commons_live(kind kind);
uint64_t posted(kind kind); /* handed over, and not taken yet */

/* ---- model_dlpack.c --------------------------------------------------------------------------- */

void imported_ended(const item* it);

/* ---- model_sparse.c --------------------------------------------------------------------------- */

void matrix_free(matrix* m);

/* ---- model_pools.c ---------------------------------------------------------------------------- */

uint64_t pool_blocks(void); /* live ones of all pools */

/* ---- model_tracking.c ------------------------------------------------------------------------- */

void begin_tracking(const char* configuration);
void end_tracking(world* w);

/* ---- model_faults.c ----------------------------------------------------------------------- */

void begin_shortage(const char* configuration);
void end_shortage(world* w);

/* ---- model_wild.c ---------------------------------------------------------------------------- */

void wild_begin(world* w); /* a program; leaves what the one before had open */
void wild_step(world* w);

/* ---- families ------------------------------------------------------------------------------ */

extern const family arena_family, cells_family, counts_family, dlpack_family, faults_family, graphs_family,
	objects_family, plans_family, pools_family, refs_family, registry_family, scopes_family, shapes_family,
	shared_family, sparse_family, tensor_counts_family, tensors_family, tracking_family, vecs_family, views_family,
	workspaces_family;
