/* Weak references under ThreadSanitizer: readers upgrade them while the only reference goes. Whoever got
 * an object writes a word of its own there, so that an upgrade that did not come before the end, or that
 * got a later object, is a race with whoever has the memory next. */
#include <sched.h>
#include <stdio.h>

#include "fake.h"
#include "heap/heap.h"
#include "thread.h"

enum { READERS = 3, CELLS = 2, ROUNDS = 20000, UPGRADES = 200 };

static _Atomic tl_ref board[CELLS];
static _Atomic bool stop;
static _Atomic long made, upgraded, failures;

static void expect(bool good, const char* what)
{
	if (good) return;
	fprintf(stderr, "%s\n", what);
	atomic_fetch_add(&failures, 1);
}

#define EXPECT(condition) expect((condition), #condition)

static void* read_board(void* word)
{
	uint32_t random = (uint32_t)(uintptr_t)word * 2654435761u;
	EXPECT(tl_init() == TL_OK);
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		random = random * 1664525u + 1013904223u;
		/* Without an order of its own: what the object's maker wrote has to be there by the upgrade. */
		tl_ref ref = atomic_load_explicit(&board[random >> 24 & (CELLS - 1)], memory_order_relaxed);
		uint64_t* object = tl_weak_get(ref);
		if (object == NULL) continue;
		EXPECT(object[0] == ref);
		object[(uintptr_t)word]++;
		EXPECT(tl_ref_get(ref) == (void*)object);
		EXPECT(object[0] == ref);
		EXPECT(tl_ref_release(ref) == TL_OK);
		atomic_fetch_add_explicit(&upgraded, 1, memory_order_relaxed);
	}
	return NULL;
}

/* An object of the caller's that others may upgrade, with one reference. */
static uint64_t* new_shared_object(tl_ref* ref)
{
	uint64_t* object = tl_mem_alloc(FAKE_BYTES);
	EXPECT(tl_mem_enter_scope() == TL_OK);
	EXPECT(tl_mem_register_struct(object) == TL_OK);
	EXPECT(tl_ptr_inc_ref(object) == TL_OK);
	EXPECT(tl_mem_exit_scope() == TL_OK);
	for (int i = 0; i < FAKE_BYTES / 8; i++) object[i] = 0;
	object[0] = tl_ref_of(object);
	EXPECT(tl_ptr_share(object) == TL_OK);
	*ref = tl_weak_share(object);
	EXPECT(object[0] == *ref);
	return object;
}

int main(void)
{
	pthread_t readers[READERS];
	EXPECT(tl_init() == TL_OK);
	for (uintptr_t i = 0; i < READERS; i++) readers[i] = start_thread(read_board, (void*)(1 + i));
	for (long i = 0; i < ROUNDS || atomic_load(&upgraded) < UPGRADES; i++) {
		tl_ref ref;
		uint64_t* object = new_shared_object(&ref);
		made++;
		atomic_store_explicit(&board[i & (CELLS - 1)], ref, memory_order_relaxed);
		if (i % 16 == 0) sched_yield();
		if (i % 3 == 0) {
			EXPECT(tl_mem_enter_scope() == TL_OK);
			EXPECT(tl_mem_register_struct(object) == TL_OK);
			EXPECT(tl_ptr_release(object) == TL_OK);
			EXPECT(tl_mem_exit_scope() == TL_OK);
		} else if (i % 64 == 1) {
			tlc_drop_slowly((uintptr_t)object); /* as a stale upgrade, when its try to drop what it counted fails */
		} else {
			EXPECT(tl_ref_release(ref) == TL_OK);
		}
	}
	atomic_store(&stop, true);
	for (int i = 0; i < READERS; i++) pthread_join(readers[i], NULL);
	long gone = 0;
	for (uint32_t i = 0; i < tlc_g.heap->next_record; i++) gone += atomic_load(&tlc_g.records[i].gen) >> 8;
	printf("%ld objects made, %ld freed, %ld upgrades, %ld failures\n", (long)made, gone, (long)upgraded,
	       (long)failures);
	return made != gone || failures != 0;
}
