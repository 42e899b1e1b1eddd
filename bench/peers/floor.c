#include "floor.h"

#include <stdatomic.h>
#include <stdint.h>

void* floor_plain_acquire(void* object)
{
	++*(int*)object;
	return object;
}

int floor_plain_release(void* object) { return --*(int*)object == 0; }

void* floor_atomic_acquire(void* object)
{
	atomic_fetch_add_explicit((_Atomic int*)object, 1, memory_order_relaxed);
	return object;
}

int floor_atomic_release(void* object)
{
	return atomic_fetch_sub_explicit((_Atomic int*)object, 1, memory_order_acq_rel) == 1;
}

/* The least of a count that is looked at before it changes: one of a dead object must not. */
static int change(_Atomic int* count, int by, memory_order order)
{
	int seen = atomic_load_explicit(count, memory_order_relaxed);
	while (seen > 0 && !atomic_compare_exchange_weak_explicit(count, &seen, seen + by, order, memory_order_relaxed)) {}
	return seen;
}

void* floor_checked_acquire(void* object)
{
	change((_Atomic int*)object, 1, memory_order_relaxed);
	return object;
}

int floor_checked_release(void* object) { return change((_Atomic int*)object, -1, memory_order_acq_rel) == 1; }

static char arena[4096];
static char* top = arena;

void* floor_bump(size_t bytes)
{
	char* p = top;
	top = p + bytes;
	return p;
}

void* floor_top(void) { return top; }
void floor_set_top(void* to) { top = to; }

enum { SLOTS = 1024, SLOT_BYTES = 64 };

typedef struct {
	void* object;
	uint64_t number;
} slot;

static struct {
	_Atomic uint64_t counts;
	uint64_t life;
} records[SLOTS];
static char objects[SLOTS][SLOT_BYTES];
static slot slots[SLOTS], *free_slots = NULL;

static slot take(void)
{
	if (free_slots == NULL) {
		for (int i = 0; i < SLOTS; i++) slots[i] = (slot){objects[i], (uint64_t)i};
		free_slots = slots + SLOTS;
	}
	slot s = *--free_slots;
	atomic_store_explicit(&records[s.number].counts, 1, memory_order_relaxed);
	return s;
}

static uint64_t number_of(const void* object) { return (uint64_t)((const char(*)[SLOT_BYTES])object - objects); }

void* floor_take(void) { return take().object; }

void floor_give(void* object)
{
	uint64_t number = number_of(object);
	atomic_store_explicit(&records[number].counts, 0, memory_order_relaxed);
	records[number].life++;
	*free_slots++ = (slot){object, number};
}

typedef struct {
	void* data;
	uint64_t elements, bytes, kind;
} header;

static slot scope[SLOTS], *scope_top = scope;

void* floor_make_tensor(uint64_t kind, uint64_t elements, uint64_t bytes)
{
	slot s = take();
	header* h = s.object;
	*h = (header){h + 1, elements, bytes, kind};
	*scope_top++ = s;
	return h;
}

int floor_free_tensor(void* tensor)
{
	slot s = scope_top[-1];
	uint64_t one = 1;
	if (s.object != tensor || !atomic_compare_exchange_strong_explicit(&records[s.number].counts, &one, 0,
	                                                                   memory_order_acq_rel, memory_order_relaxed))
		return 0;
	records[s.number].life++;
	*free_slots++ = s;
	scope_top--;
	return 1;
}
