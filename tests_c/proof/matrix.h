/* The matrix: every function of the header with bad arguments, in nine places, through
 * both paths and under TL_DEBUG.
 *
 * A cell is a function, one of its parameters, a kind of argument for it, and what the
 * other parameters are. Its arguments are fixtures, which are made new for each cell. A
 * worker is a process that runs all cells of one place through one path and writes a
 * record of each; the driver watches the workers, starts a new one behind a cell that
 * crashed or hung, and compares the records of the paths.
 *
 * matrix_calls.c is generated from the documentation of the functions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dl.h"
#ifdef MATRIX_FULL
#include "tl_graph.h"
#endif
#include "tl_runtime.h"

/* ---- what the generated table tells ------------------------------------------------ */

typedef enum matrix_role {
	MATRIX_INTEGER,
	MATRIX_BOOL,
	MATRIX_OUTPUT,
	MATRIX_TEXT,
	MATRIX_NUMBERS,
	MATRIX_STRUCT,
	MATRIX_CALLBACK,
	MATRIX_NAMES,    /* an array of strings */
	MATRIX_FUNCTION, /* compiled code */
	MATRIX_OBJECT,   /* from here on: pointers that are attacked */
	MATRIX_CELL,
	MATRIX_VEC,
	MATRIX_TENSOR,
	MATRIX_SPARSE,
	MATRIX_WORKSPACE,
	MATRIX_POOL,
	MATRIX_PLAN,
	MATRIX_GRAPH,
	MATRIX_EXECUTION,
	MATRIX_GRAPH_ARENA,
	MATRIX_BLOCK,
	MATRIX_MEMORY, /* of a device, which is read or written */
	MATRIX_COOKIE,
	MATRIX_LIST
} matrix_role;

typedef enum matrix_result {
	MATRIX_RETURNS_VOID,
	MATRIX_RETURNS_STATUS,
	MATRIX_RETURNS_POINTER,
	MATRIX_RETURNS_INTEGER,
	MATRIX_RETURNS_BOOL,
	MATRIX_RETURNS_REAL
} matrix_result;

typedef enum matrix_path { MATRIX_PATH_SLOW, MATRIX_PATH_FAST, MATRIX_PATH_SHIM } matrix_path;

#define MATRIX_STATUS(status) (UINT32_C(1) << (status))

typedef struct matrix_param {
	const char *name, *type;
	matrix_role role;
	size_t bytes; /* of an integer, or behind a pointer; 0: unknown */
	bool is_signed;
	bool trusted; /* an address that the runtime does not know is believed */
} matrix_param;

typedef struct matrix_function {
	const char* name;
	uint64_t (*call)(const uint64_t* words);
	const matrix_param* params;
	int count;
	matrix_result result;
	matrix_path path;
	int64_t failure;      /* what it returns when it fails, */
	int failure_argument; /* or which argument; -1: none */
	uint32_t statuses;    /* that its documentation lists */
} matrix_function;

extern const int matrix_function_count;
extern const matrix_function matrix_functions[];

static inline uint64_t matrix_real(double value)
{
	uint64_t word;
	memcpy(&word, &value, sizeof word);
	return word;
}

/* ---- cells ------------------------------------------------------------------------- */

enum { MATRIX_PARAMS = 12, NO_PARAM = -1 };

typedef struct cell {
	uint16_t function;
	int8_t param;        /* that is attacked; NO_PARAM: all are valid */
	uint8_t others_null; /* the other pointers are NULL instead of valid */
	uint16_t kind;       /* of pointer_kinds or integer_kinds */
} cell;

enum { CELL_NAME_BYTES = 160 };

/* The cells that a seed and a scale choose: all of them at 1, and each function at least once. */
cell* cells_choose(double scale, uint64_t seed, int* count);
void cell_name(const cell* c, char* name);
cell* cells_named(const char* name, int* count); /* one, or with a * at the end all that begin so */
bool cell_needs_stack(const cell* c);
bool cell_is_loose(const cell* c);
bool cell_is_unsettled(const cell* c);
bool cell_is_dead(const cell* c);      /* what is attacked has ended before the call */
bool cell_stands_alone(const cell* c); /* it changes what other cells find */

static inline const matrix_function* function_of(const cell* c) { return &matrix_functions[c->function]; }
static inline bool is_attacked(const matrix_param* p) { return p->role >= MATRIX_OBJECT; }
static inline bool is_pointer(const matrix_param* p) { return p->role > MATRIX_BOOL; }
static inline bool is_called(const matrix_function* f, const char* name) { return strcmp(f->name, name) == 0; }

/* Whether a function is one of several; NULL ends them. */
static inline bool is_among(const matrix_function* f, const char* const* names)
{
	while (*names != NULL && !is_called(f, *names)) names++;
	return *names != NULL;
}

/* ---- fixtures ---------------------------------------------------------------------- */

/* What a kind of pointer is, which decides who gets it. */
enum {
	KIND_HEAP = 1,         /* in the runtime's reservations: recognised by its address */
	KIND_KNOWN = 2,        /* registered, or inside what is */
	KIND_MALLOC = 4,       /* from malloc, and nobody's yet */
	KIND_IMPOSSIBLE = 8,   /* no memory can be there */
	KIND_WRITABLE = 16,    /* 64 bytes may be overwritten, or cannot */
	KIND_STACK = 32,       /* wants frames and an arena that are open */
	KIND_LOOSE = 64,       /* found by arithmetic: what is there depends on the process */
	KIND_UNREADABLE = 256, /* no memory is there now */
	KIND_UNSETTLED = 128   /* its end waits for the owner's next slow call, which the paths make at different times */
};

enum { FIXTURE_OWNED = 4 };

typedef struct fixture {
	const struct pointer_kind* kind;
	void* pointer;              /* what the function gets */
	void* object;               /* whose count must not change when a call fails; NULL */
	void* owned[FIXTURE_OWNED]; /* released at the end as often as they are held */
	void* block;                /* of malloc */
	void* aligned;              /* of tl_aligned_alloc */
	void* cell;
	void* page;
	size_t page_bytes;
	tl_memory_pool* pool;
	tl_plan* plan;
	void *graph, *execution, *arena; /* handles of the full library's */
	struct DLManagedTensorVersioned* exported;
	struct DLManagedTensor* exported_legacy;
	struct DLManagedTensorVersioned lent; /* for tl_tensor_from_dlpack */
	struct DLManagedTensor lent_legacy;
	bool taken;    /* the call registered block */
	bool consumed; /* the call has freed block */
	bool absent;   /* it could not be made */
} fixture;

typedef struct pointer_kind {
	const char* name;
	void (*make)(fixture* f, intptr_t a, intptr_t b);
	void (*ripen)(fixture* f, intptr_t a, intptr_t b); /* when all fixtures are made; NULL */
	intptr_t a, b;
	uint32_t flags;
} pointer_kind;

extern const pointer_kind pointer_kinds[];
extern const int pointer_kind_count;
int pointer_kind_named(const char* name);
bool kind_suits(const pointer_kind* kind, const matrix_function* f, const matrix_param* p);

/* Makers, by file; a and b are those of the kind. */
void make_number(fixture* f, intptr_t value, intptr_t unused);
void make_static(fixture* f, intptr_t which, intptr_t offset);
void make_mapped(fixture* f, intptr_t which, intptr_t offset);
void make_mapping(fixture* f, intptr_t which, intptr_t offset);
void make_malloc(fixture* f, intptr_t bytes, intptr_t offset);
void make_freed(fixture* f, intptr_t bytes, intptr_t offset);
void ripen_freed(fixture* f, intptr_t bytes, intptr_t offset);
void make_registered(fixture* f, intptr_t which, intptr_t offset);
void make_cell(fixture* f, intptr_t bytes, intptr_t offset);
void make_typed_cell(fixture* f, intptr_t of, intptr_t offset);
void ripen_cell(fixture* f, intptr_t bytes, intptr_t offset);
void drop_cell(void* cell);
void make_numpy(fixture* f, intptr_t bytes, intptr_t offset);
void ripen_numpy(fixture* f, intptr_t bytes, intptr_t offset);
void make_plain(fixture* f, intptr_t bytes, intptr_t offset);
void make_dead(fixture* f, intptr_t bytes, intptr_t offset);
void ripen_dead(fixture* f, intptr_t bytes, intptr_t offset);
void make_state(fixture* f, intptr_t which, intptr_t offset);
void ripen_state(fixture* f, intptr_t which, intptr_t offset);
void make_immortal(fixture* f, intptr_t which, intptr_t offset);
void make_vec(fixture* f, intptr_t which, intptr_t offset);
void ripen_vec(fixture* f, intptr_t which, intptr_t offset);
void make_tensor(fixture* f, intptr_t which, intptr_t offset);
void ripen_tensor(fixture* f, intptr_t which, intptr_t offset);
void make_exported(fixture* f, intptr_t legacy, intptr_t offset);
void make_sparse(fixture* f, intptr_t which, intptr_t offset);
void make_stack(fixture* f, intptr_t which, intptr_t offset);
void make_pool(fixture* f, intptr_t which, intptr_t offset);
void make_plan(fixture* f, intptr_t which, intptr_t offset);
void make_workspace(fixture* f, intptr_t which, intptr_t offset);
void make_around(fixture* f, intptr_t shift, intptr_t offset);

void fixture_make(fixture* f, const pointer_kind* kind);
void fixture_ripen(fixture* f);
void fixture_drop(fixture* f);

/* Drops every reference to an object, also those that scopes hold; false: it stays. What
 * another thread owns ends when that looks: see settle_elsewhere. */
bool release_all(void* object);
void settle_elsewhere(void);

/* Frames, slots, an arena: what KIND_STACK wants. */
void stack_open(void);

/* The shapes of all tensors of the fixtures: two, three, one. */
enum { SHAPE_RANK = 3, SHAPE_ELEMENTS = 6 };
extern const int64_t matrix_shape[];

/* What a worker has from its start on, and its other thread. */
void world_open(void);
void lend(fixture* f); /* fills in the structs of a producer of DLPack */
const tl_python_api* world_python(void);
const char* world_path(void); /* a file that may be written, in the folder that the driver names in this variable: */
#define WORLD_FOLDER "MATRIX_FOLDER"
void elsewhere(void (*work)(void*), void* argument);
extern int32_t world_device; /* of the program's own, out of the CPU's reach */
extern tl_type world_type, world_destructor_type;
enum { WORLD_IMMORTALS = 3 };
extern void* world_immortals[WORLD_IMMORTALS]; /* an object, a typed one, a tensor */
tl_device_allocator world_allocator(void);
extern void (*world_during)(void);     /* called once inside the next call of the device; NULL */
extern void (*world_destroying)(void); /* called once inside the next destructor; NULL */

/* ---- arguments --------------------------------------------------------------------- */

extern const int integer_kind_count;
uint64_t integer_kind(int kind);
bool integer_suits(int kind, const matrix_function* f, int param);

/* The words of a call, and all that they refer to. */
enum { OUTPUT_BYTES = 512, LIST_ENTRIES = 256 };
typedef struct arguments {
	uint64_t words[MATRIX_PARAMS];
	fixture fixtures[MATRIX_PARAMS];
	uint8_t outputs[MATRIX_PARAMS][OUTPUT_BYTES] __attribute__((aligned(16)));
	void* list[LIST_ENTRIES];
} arguments;

void arguments_make(arguments* a, const cell* c);
void arguments_ripen(arguments* a, const cell* c);
void arguments_drop(arguments* a, const cell* c);
uint64_t valid_integer(const matrix_function* f, int param);
const void* valid_pointer(const matrix_function* f, int param, fixture* of);
int valid_kind(const matrix_function* f, int param);

/* What the full library alone has: its own handles and what its functions read. In the other one there is none. */
#ifdef MATRIX_FULL
void make_graph(fixture* f, intptr_t which, intptr_t offset);
void drop_graph(fixture* f);
void drop_made(const arguments* a, const matrix_function* f); /* handles that the call gave */
const void* graph_pointer(const matrix_param* p);             /* what is valid; NULL: nothing of its own */
int64_t graph_integer(const matrix_function* f, const matrix_param* p);
#else
static inline void drop_graph(fixture* f) { (void)f; }
static inline void drop_made(const arguments* a, const matrix_function* f) { (void)a, (void)f; }
static inline const void* graph_pointer(const matrix_param* p) { return (void)p, (const void*)NULL; }
static inline int64_t graph_integer(const matrix_function* f, const matrix_param* p) { return (void)f, (void)p, -1; }
#endif

/* ---- records ------------------------------------------------------------------------ */

typedef enum state { NOT_RUN, RAN, CRASHED, HUNG, LEFT_OUT } state;

/* What is wrong with a cell by itself. */
enum {
	FAULT_UNLISTED = 1, /* a status that the header does not list */
	FAULT_LAST = 2,     /* tl_last_status does not fit */
	FAULT_VALUE = 4,    /* a failure that returns something else than the header says */
	FAULT_SILENT = 8,   /* the value of a failure, without a status */
	FAULT_MESSAGE = 16, /* does not begin with the function's name */
	FAULT_COUNT = 32,   /* a refused call has changed a count */
	FAULT_PLACE = 64,   /* served where the documentation says that it is not, or not where it is */
	FAULT_LEAK = 128,   /* live objects differ after the set of cells */
	FAULT_DAMAGE = 256, /* TL_DEBUG has found memory that was overwritten */
	FAULT_STACK = 512   /* more of the caller's stack than docs/limits.md says */
};
const char* fault_text(uint32_t fault);

/* What an output or a returned pointer is. */
enum { CLASS_NONE, CLASS_NULL, CLASS_ARGUMENT, CLASS_OBJECT, CLASS_OTHER };

typedef struct record {
	uint8_t state;
	uint8_t signal;   /* that ended a CRASHED cell */
	int8_t status;    /* returned, or 0 */
	int8_t last;      /* tl_last_status afterwards */
	int8_t before;    /* tl_last_status before the call */
	uint8_t class;    /* of the returned pointer */
	uint16_t outputs; /* 0 untouched, else the class of each, 3 bits */
	uint16_t faults;
	int16_t count; /* of the object behind the attacked pointer */
	int16_t other; /* of the first other object */
	int64_t value; /* a returned number */
} record;

/* ---- places and paths ----------------------------------------------------------------- */

typedef enum place {
	PLACE_PLAIN,
	PLACE_SCOPE,
	PLACE_CALLBACK,
	PLACE_DELETER,
	PLACE_THREAD,
	PLACE_CHILD,
	PLACE_SHUTDOWN,
	PLACE_TLS,
	PLACE_HANDLER,
	PLACES
} place;

typedef enum path { PATH_FAST, PATH_SLOW, PATH_DEBUG, PATHS } path;

extern const char* const place_names[PLACES];
extern const char* const path_names[PATHS];

/* Calls work(argument) in a place; variant chooses among several of its sort. */
typedef struct set_run {
	void (*work)(void* set);
	void* set;
	unsigned variant;
	bool needs_stack;
} set_run;
int place_run(place p, const set_run* run); /* the signal that ended a child; 0 */

/* Whether calls there can be asked for messages and counts. */
bool place_answers(place p, path d);

/* ---- worker and driver -------------------------------------------------------------------- */

/* What driver and worker share about one worker; the records follow. */
typedef struct progress {
	volatile int64_t current; /* the cell that is being tried */
	volatile int64_t next;    /* where the next worker goes on */
	volatile int64_t moves;   /* grows: the worker is alive */
	volatile int32_t finished;
} progress;

typedef struct job {
	place place;
	path path;
	const cell* cells;
	int count;
	progress* progress;
	record* records;
	bool alone; /* one cell, which tells what it finds */
} job;

void worker_run(job* j);

typedef struct judgement {
	const job* job;
	const cell* cell;
	arguments* a;
	uint64_t result;
	int before, other_before; /* counts; -1: none */
	record* record;
} judgement;
void judge(judgement* j);
void judge_before(judgement* j);
void judge_counts(judgement* j);

int report(const cell* cells, int count, record* records[PLACES][PATHS], double scale, uint64_t seed);
