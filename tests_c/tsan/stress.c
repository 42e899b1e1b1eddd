/* The stress of stress_test.c for the fake path: plain objects and malloc'ed memory
 * wander between short-lived threads. Every object carries data that only its holder
 * may write, so that a lost order between two counts is a race on the data too. */
#include <stdio.h>

#include "fake.h"
#include "heap/heap.h"
#include "thread.h"
#include "tl_inline.h"

enum { BOARD = 64, ALIVE = 6, ALL = 120, STEPS = 1500 };

static _Atomic(void*) board[BOARD];
static _Atomic long made, failures;
static _Atomic unsigned seeds = 1;
static __thread unsigned mine; /* word of shared objects that only this thread writes */

static void expect_ok(tl_status status, const char* what)
{
	if (status == TL_OK) return;
	fprintf(stderr, "%s: %s\n", what, tl_status_string(status));
	atomic_fetch_add(&failures, 1);
}

#define EXPECT_OK(call) expect_ok((call), #call)

static void* new_object(void)
{
	uint64_t* object = tl_mem_alloc(FAKE_BYTES);
	atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
	for (int i = 0; i < 8; i++) object[i] = 1;
	/* Its floating reference becomes a counted one. */
	EXPECT_OK(tl_mem_enter_scope());
	EXPECT_OK(tl_mem_register_struct(object));
	EXPECT_OK(tl_ptr_inc_ref(object));
	EXPECT_OK(tl_mem_exit_scope());
	return object;
}

/* Whoever takes a cell is the only one that may write the object. */
static void* take(unsigned cell)
{
	uint64_t* object = atomic_exchange_explicit(&board[cell % BOARD], NULL, memory_order_acq_rel);
	if (object != NULL) object[1]++;
	return object;
}

static void put(unsigned cell, void* object)
{
	void* old = atomic_exchange_explicit(&board[cell % BOARD], object, memory_order_acq_rel);
	if (old != NULL) EXPECT_OK(tl_ptr_release(old));
}

static void foreign(void)
{
	EXPECT_OK(tl_mem_enter_scope());
	for (int i = 0; i < 5; i++) {
		uint64_t* block = malloc(48);
		if ((uintptr_t)block % 65536 ==
		    0) { /* the sanitizer's first, with no memory before it; malloc's have a header */
			free(block);
			continue;
		}
		block[0] = 3;
		EXPECT_OK(tl_mem_register_struct(block));
		EXPECT_OK(tl_ptr_inc_ref(block));
		EXPECT_OK(tl_ptr_release(block));
	}
	EXPECT_OK(tl_mem_exit_scope());
}

/* Writes to an object that others may hold by now, into a word of this thread's own,
 * and lets go: whoever frees and reuses the memory must come after. */
static void write_while_shared(unsigned cell, uint64_t* object)
{
	EXPECT_OK(tl_ptr_inc_ref(object));
	put(cell, object);
	for (int i = 0; i < 20; i++) object[mine]++;
	EXPECT_OK(tl_ptr_release(object));
}

/* Who has the only reference may write to all of an object: what others wrote comes before. */
static void let_go(uint64_t* object)
{
	tl_inl_thread thread;
	tl_inl_begin(&thread);
	if (tl_inl_ptr_is_unique(&thread, object))
		for (int i = 0; i < 8; i++) object[i]++;
	EXPECT_OK(tl_inl_ptr_release(&thread, object));
}

static void step(unsigned draw)
{
	void* object = draw % 5 == 0 ? new_object() : take(draw >> 3);
	if (object == NULL) object = new_object();
	switch ((draw >> 10) % 6) {
	case 0: let_go(object); return;
	case 1:
		EXPECT_OK(tl_mem_enter_scope());
		EXPECT_OK(tl_mem_register_struct(object));
		EXPECT_OK(tl_mem_exit_scope());
		break;
	case 2:
		tl_ptr_share(object);
		tl_clear_error();
		break;
	case 3:
		for (int i = 0; i < 9; i++) tl_ptr_acquire(object);
		for (int i = 0; i < 9; i++) EXPECT_OK(tl_ptr_release(object));
		break;
	case 4: write_while_shared(draw >> 16, object); return;
	default: foreign();
	}
	put(draw >> 16, object);
}

static void* live_a_little(void* word)
{
	unsigned random = atomic_fetch_add(&seeds, 1) * 2654435761u | 1;
	mine = (unsigned)(uintptr_t)word;
	EXPECT_OK(tl_init()); /* attaches: the fake path has no scopes of its own */
	for (int i = 0; i < STEPS; i++) {
		random = random * 1664525u + 1013904223u;
		step(random >> 4);
	}
	/* Ends with an open scope that alone holds an object. */
	void* object = new_object();
	EXPECT_OK(tl_mem_enter_scope());
	EXPECT_OK(tl_mem_register_struct(object));
	EXPECT_OK(tl_ptr_release(object));
	return NULL;
}

static long settled(void)
{
	for (int i = 0; i < 100; i++) {
		EXPECT_OK(tl_mem_enter_scope());
		EXPECT_OK(tl_mem_exit_scope());
		tl_mem_purge();
	}
	return atomic_load(&made);
}

/* The fast path frees on its own too; each free raises a generation. */
static long freed(void)
{
	long n = 0;
	for (uint32_t i = 0; i < tlc_g.heap->next_record; i++) n += atomic_load(&tlc_g.records[i].gen) >> 8;
	return n;
}

int main(void)
{
	pthread_t threads[ALIVE];
	EXPECT_OK(tl_init());
	for (int i = 0; i < ALL; i++) {
		if (i >= ALIVE) pthread_join(threads[i % ALIVE], NULL);
		threads[i % ALIVE] = start_thread(live_a_little, (void*)(uintptr_t)(2 + i % ALIVE));
	}
	for (int i = 0; i < ALIVE; i++) pthread_join(threads[i], NULL);
	for (int i = 0; i < BOARD; i++)
		if (board[i] != NULL) EXPECT_OK(tl_ptr_release(board[i]));
	long all = settled(), gone = freed();
	printf("%ld objects made, %ld freed, %ld failures\n", all, gone, atomic_load(&failures));
	return atomic_load(&failures) != 0 || all != gone;
}
