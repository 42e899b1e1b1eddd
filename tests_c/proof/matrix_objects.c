/* Fixtures of the heap: objects, Vecs, frames, the arena; and the other thread. */
#include <pthread.h>
#include <stdlib.h>

#include "matrix.h"

/* ---- the other thread ---------------------------------------------------------------- */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t change;
	void (*work)(void*);
	void* argument;
} other = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, NULL};

static void* serve(void* unused)
{
	(void)unused;
	pthread_mutex_lock(&other.lock);
	for (;;) {
		while (other.work == NULL) pthread_cond_wait(&other.change, &other.lock);
		other.work(other.argument);
		other.work = NULL;
		pthread_cond_broadcast(&other.change);
	}
	return NULL;
}

void elsewhere(void (*work)(void*), void* argument)
{
	static pthread_t thread;
	static bool runs;
	pthread_mutex_lock(&other.lock);
	if (!runs) runs = pthread_create(&thread, NULL, serve, NULL) == 0;
	if (!runs) abort();
	other.work = work;
	other.argument = argument;
	pthread_cond_broadcast(&other.change);
	while (other.work != NULL) pthread_cond_wait(&other.change, &other.lock);
	pthread_mutex_unlock(&other.lock);
}

static void look(void* unused)
{
	(void)unused;
	tl_get_pool_count();
}

void settle_elsewhere(void) { elsewhere(look, NULL); }

/* ---- objects ------------------------------------------------------------------------- */

bool release_all(void* object)
{
	while (object != NULL) {
		int64_t count = tl_ptr_refcount(object);
		if (count <= 0) return tl_mem_free(object), true; /* dead, or held at zero */
		if (tl_ptr_release(object) != TL_OK || tl_ptr_refcount(object) == count) return false;
	}
	return true;
}

static void point_into(fixture* f, void* object, intptr_t offset)
{
	f->absent = object == NULL;
	f->object = f->owned[0] = object;
	f->pointer = (char*)object + offset;
}

void make_plain(fixture* f, intptr_t bytes, intptr_t offset) { point_into(f, tl_mem_alloc((size_t)bytes), offset); }

/* Released when all fixtures are made, so that none of them has its memory. */
void make_dead(fixture* f, intptr_t bytes, intptr_t offset) { point_into(f, tl_mem_alloc((size_t)bytes), offset); }

void ripen_dead(fixture* f, intptr_t bytes, intptr_t offset)
{
	(void)bytes;
	(void)offset;
	release_all(f->owned[0]);
	f->object = f->owned[0] = NULL;
}

static void allocate_there(void* out) { *(void**)out = tl_mem_alloc(64); }
static void share_there(void* out)
{
	allocate_there(out);
	tl_ptr_share(*(void**)out);
}
static void release_there(void* object) { tl_ptr_release(object); }

static void* allocate_and_end(void* out)
{
	allocate_there(out);
	return NULL;
}

static void* of_an_ended_thread(void)
{
	pthread_t thread;
	void* object = NULL;
	if (pthread_create(&thread, NULL, allocate_and_end, &object) == 0) pthread_join(thread, NULL);
	return object;
}

static void* of_another(void (*work)(void*))
{
	void* object = NULL;
	elsewhere(work, &object);
	return object;
}

/* A typed object whose field refers to an element; nobody else holds that. */
static void* typed(tl_type type, fixture* f)
{
	void** object = tl_object_new(type);
	if (object == NULL) return NULL;
	object[0] = f->owned[1] = tl_mem_alloc(32);
	return object;
}

static void* held_by(void* vec, fixture* f)
{
	void* object = tl_mem_alloc(64);
	f->owned[1] = vec;
	tl_vec_push(vec, object);
	tl_ptr_release(object);
	return object;
}

static void* counted(int64_t references)
{
	void* object = tl_mem_alloc(64);
	while (--references > 0) tl_ptr_inc_ref(object);
	return object;
}

enum { STATE_QUEUED = 13, STATE_MOVED };

/* 64 bytes in one of the states that an object can be in. */
static void* in_state(intptr_t which, fixture* f)
{
	void* object = NULL;
	switch (which) {
	case 0: return tl_mem_new(64);
	case 1: return counted(2);
	case 2: return counted(300);
	case 3: tl_ptr_acquire(object = tl_mem_new(64)); return object;
	case 4: tl_ptr_share(object = tl_mem_alloc(64)); return object;
	case 5: tl_ptr_dec_ref(object = tl_mem_alloc(64)); return object;
	case 6: return typed(world_type, f);
	case 7: return typed(world_destructor_type, f);
	case 8: return of_another(allocate_there);
	case 9: return of_another(share_there);
	case 10: tl_ptr_acquire(object = of_another(allocate_there)); return object;
	case 11: return of_an_ended_thread();
	case 12: return held_by(tl_vec_new(1), f);
	case STATE_QUEUED:
	case STATE_MOVED: return tl_mem_alloc(64);
	case 15: tl_mem_register_ptr(object = tl_mem_new(64)); return object;
	default: tl_mem_unregister(object = tl_mem_new(64)); return object;
	}
}

void make_state(fixture* f, intptr_t which, intptr_t offset) { point_into(f, in_state(which, f), offset); }

/* The last reference goes by another thread; or the object moves. */
void ripen_state(fixture* f, intptr_t which, intptr_t offset)
{
	(void)offset;
	if (which == STATE_QUEUED) elsewhere(release_there, f->owned[0]);
	else f->owned[1] = tl_mem_realloc(f->owned[0], 4096);
	f->object = f->owned[0] = NULL;
}

/* Made once, since nothing ends them. */
void make_immortal(fixture* f, intptr_t which, intptr_t offset)
{
	f->object = world_immortals[which];
	f->pointer = (char*)f->object + offset;
}

/* ---- Vecs ------------------------------------------------------------------------------ */

enum { VEC_EMPTY, VEC_THREE, VEC_NULLS, VEC_NESTED, VEC_DATA, VEC_OLD_DATA, VEC_DEAD_DATA };

static void* vec_of(int elements, fixture* f)
{
	void* vec = tl_vec_new(4);
	for (int i = 0; i < elements; i++) tl_vec_push(vec, f == NULL ? NULL : f->owned[1]);
	return vec;
}

/* Where a Vec keeps its elements: the third word of its payload (cshim/object/vec.c). */
static void* table_of(void* vec) { return vec == NULL ? NULL : ((void**)vec)[2]; }

void make_vec(fixture* f, intptr_t which, intptr_t offset)
{
	f->owned[1] = which == VEC_EMPTY || which == VEC_NULLS ? NULL : tl_mem_alloc(64);
	void* vec = vec_of(which == VEC_EMPTY ? 0 : 3, which == VEC_NULLS ? NULL : f);
	if (which == VEC_NESTED) tl_vec_push(vec, f->owned[2] = tl_vec_new(1));
	point_into(f, vec, offset);
	if (which < VEC_DATA || f->absent) return;
	f->pointer = (char*)table_of(vec) + offset;
}

/* The Vec gets another table, or ends. */
void ripen_vec(fixture* f, intptr_t which, intptr_t offset)
{
	(void)offset;
	if (which == VEC_OLD_DATA) {
		tl_vec_reserve(f->owned[0], 1000);
		return;
	}
	release_all(f->owned[0]);
	f->object = f->owned[0] = NULL;
}

/* ---- frames and the arena ------------------------------------------------------------------ */

static struct {
	char *slot, *outgrown, *planned, *first, *second, *beyond, *dead;
	tl_tensor* tensor;
	char *there, *dead_arena, *dead_frame;
} stack;

static void fill_arena_there(void* out)
{
	tl_arena_init(1 << 20);
	*(void**)out = tl_arena_alloc(64);
}

/* Frame and arena memory that is gone before any cell begins, and another thread's. */
static void stack_once(void)
{
	if (stack.there != NULL) return;
	elsewhere(fill_arena_there, &stack.there);
	tl_arena_init(1 << 20);
	stack.dead_arena = tl_arena_alloc(64);
	tl_arena_free();
	tl_mem_function_enter(1);
	stack.dead_frame = tl_mem_get_buffer(0, 100);
	tl_mem_function_exit();
}

void stack_open(void)
{
	stack_once();
	tl_arena_init(1 << 20);
	tl_mem_function_enter(4);
	stack.slot = tl_mem_get_buffer(0, 256);
	stack.outgrown = tl_mem_get_buffer(1, 64);
	stack.tensor = tl_tensor_in_slot(2, TL_DTYPE_F32, SHAPE_RANK, matrix_shape);
	tl_mem_get_buffer(1, 4096); /* elsewhere: the tensor lies above it */
	stack.planned = tl_mem_frame_enter(1024);
	stack.first = tl_arena_alloc(256);
	stack.second = tl_arena_alloc(256);
	stack.beyond = tl_arena_alloc(256);
	tl_arena_set_offset(tl_arena_get_offset() - 256);
}

void make_stack(fixture* f, intptr_t which, intptr_t offset)
{
	stack_once();
	char* places[] = {stack.slot,   stack.outgrown,   stack.planned,       stack.first,
	                  stack.second, stack.beyond,     (char*)stack.tensor, tl_tensor_data(stack.tensor),
	                  stack.there,  stack.dead_arena, stack.dead_frame};
	f->absent = places[which] == NULL;
	f->pointer = places[which] + offset;
	if (which < 8 && offset == 0 && which != 5) f->object = f->pointer;
}

/* Addresses around a live object, a context or the records, by arithmetic: rounded down
 * to a power of two, and moved. A negative shift rounds an address of the frame stack. */
void make_around(fixture* f, intptr_t shift, intptr_t offset)
{
	stack_once();
	f->owned[0] = tl_mem_alloc(64);
	uintptr_t at = shift < 0 ? (uintptr_t)stack.dead_frame : (uintptr_t)f->owned[0];
	shift = shift < 0 ? -shift : shift;
	f->pointer = (void*)((at & ~(((uintptr_t)1 << shift) - 1)) + (uintptr_t)offset);
	if (f->pointer == f->owned[0]) f->object = f->pointer;
}
