/* Memory that ends in the middle of every call, over slots that still hold what their last
 * owners left.
 *
 *   faults.c          what a run is: which requests are refused, in which state, how often
 *   faults_world.c    the bystanders: something live of every family, and all that can be read of it
 *   faults_dirty.c    memory that was used before, and heaps and stacks that are full but for a little
 *   faults_host.c     malloc, mmap and pthread_create of the host's own; a system that refuses pages
 *   faults_*.c        the calls, family by family
 */
#pragma once

#include "check.h"

/* ---- calls ----------------------------------------------------------------------------- */

/* A call under test. What a successful one has made is taken back by undo; references that
 * the current scope holds go with the scope, which the engine opens and leaves. */
typedef struct step {
	const char* name;      /* the function: what the message of a refusal begins with */
	bool (*call)(void);    /* false: refused */
	void (*before)(void);  /* makes what the call needs, without faults; NULL: nothing, here and below */
	void (*undo)(void);    /* behind a successful call */
	void (*finally)(void); /* at last, in any case, when the scopes around it are left */
	const char* not_in;    /* modes that it cannot be tried in */
} step;

/* Why a call was refused: what its thread was told. A call that another thread makes leaves it
 * here. */
typedef struct refusal_note {
	tl_status status;
	char text[256];
} refusal_note;
extern refusal_note refusal;

typedef struct steps {
	const step* of;
	int count;
} steps;

/* The families, one file each. */
extern const steps object_steps, scope_steps, vec_steps, tensor_steps, view_steps, sparse_steps, foreign_steps,
	pool_steps, device_steps, plan_steps, tracking_steps, thread_steps;

/* ---- the world ------------------------------------------------------------------------- */

enum { PLAIN = 6, OWN_DEVICE_BYTES = 64 << 20 };

typedef struct world {
	tl_type pair, fragile; /* two references; the same with a destructor */
	void* plain[PLAIN];
	void **root, **leaf; /* a graph of pairs, Vecs and foreign memory; one of its ends */
	void* vec;           /* four elements, and no room for another */
	void *block, *shared, *aliases[2], *custom, *array, *aligned, *zero;
	uint64_t shared_id;
	tl_tensor *tensor, *view, *lent, *far_away, *on_cuda;
	struct DLManagedTensorVersioned* exported;
	tl_sparse *matrix, *part;
	tl_memory_pool* pool;
	void* pool_blocks[3];
	tl_workspace* workspace;
	tl_plan* plan;
	void *numpy_small, *numpy_large, *torch;
	char *slot, *frame, *arena; /* of the function that main is in */
	int32_t far_device, cuda;
	int destroyed, deleted; /* how often destructors and deleters of this program ran */
} world;

extern world w;

void world_make(void);
void world_end(void);

/* Every pointer to something live: what memory is dirtied with. */
enum { LIVE = 48 };
extern void* live[LIVE];

typedef struct snapshot snapshot;
snapshot* snapshot_take(void);
/* What may differ: nothing at a call that was refused; what dies by destructors and deleters
 * behind one that succeeded; what the heap holds in all, where a mode took it. */
typedef enum strictness { NOTHING_CHANGED, SOMETHING_DIED, HEAP_TAKEN } strictness;
/* Whether nothing changed; tells what did. Both are freed. */
bool snapshot_same(snapshot* before, snapshot* after, strictness how, const char* when);

/* A deleter that counts, and says when it was given another context than it should get. */
void world_deleter(void* memory, void* ctx);
extern char world_deleter_context;

/* Memory of malloc that a call takes when it succeeds, and that stays the caller's when not:
 * lend comes before, take_back at last, and in between the call passes what came of it on. */
enum { LENT_BYTES = 5000 };
extern char* lent;
void lend(void);
bool taken_if(bool good);
void take_back(void);

static inline bool ok(tl_status status) { return status == TL_OK; }

/* ---- states of memory ------------------------------------------------------------------ */

/* Objects of all sizes are made, filled with pointers to what is live, and released, so that
 * the next owners find them there. */
void dirty(void);

/* Takes every slot that the heap can hand out once refuse was called. heap_spare gives so many
 * of each size back, dirty; heap_retake takes what is free again. */
void heap_fill(void (*refuse)(void));
void heap_spare(int each);
void heap_retake(void);
void heap_release(void);

/* Fills the scope stack, the marks or the frame stack but for so many. */
typedef enum stack { SCOPE_ENTRIES, MARKS, FRAMES, STACKS } stack;
void stack_fill(stack which, int spare);
void stack_release(void);

/* ---- who refuses ----------------------------------------------------------------------- */

/* Makes a device of this program's own, and sees that it has everything back. */
tl_device_allocator own_device_allocator(void);
int32_t own_device_register(void);
void own_device_end(void);
/* The device of this program's own refuses its request number n and all later ones; -1: none. */
void own_device_fail(int n);

/* malloc and its kin of this process do, while a step runs. */
void host_malloc_fail(int n);
/* pthread_create does, and mmap of the C library, which Go uses for memory of its own. */
void host_threads_fail(bool fail);
void host_maps_fail(int n);
/* From here on the system refuses the calling thread what the runtime maps; false: this
 * machine has no seccomp. */
bool system_refuses_maps(void);
