/* Shared cells under ThreadSanitizer: threads count one inlined while it goes. Each writes a word of its own in it before it
 * drops its reference, and the last one reads them all and changes the cell in place, so that a drop without an order is a
 * race with that, or with whoever has the memory next. */
#include <stdio.h>

#include "tl_inline.h"

#include "thread.h"

enum { THREADS = 3, ROUNDS = 20000, CELL_BYTES = 48 };

static uint64_t* board[ROUNDS];
static _Atomic long freed, failures;

static void expect(bool good, const char* what)
{
	if (good) return;
	fprintf(stderr, "%s\n", what);
	failures++;
}

#define EXPECT(condition) expect((condition), #condition)

/* The caller's reference is the only one. */
static void finish(tl_inl_thread* thread, uint64_t* cell)
{
	EXPECT(tl_inl_cell_is_unique(cell));
	for (int i = 0; i < THREADS; i++) EXPECT(cell[i] == (uint64_t)i + 1);
	for (int i = 0; i < THREADS; i++) cell[i] = 0;
	tl_inl_retake(thread);
	EXPECT(tl_inl_cell_free(thread, cell) == TL_OK);
	freed++;
}

static void* count(void* number)
{
	const uintptr_t n = (uintptr_t)number;
	tl_inl_thread thread;
	EXPECT(tl_init() == TL_OK);
	tl_inl_begin(&thread);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t* cell = board[i];
		for (uintptr_t k = 0; k < n; k++) EXPECT(tl_inl_cell_dup(cell) == (void*)cell);
		EXPECT(n == 0 || !tl_inl_cell_is_unique(cell));
		cell[n] = n + 1;
		for (uintptr_t k = 0; k < n; k++) EXPECT(!tl_inl_cell_drop(cell));
		if (tl_inl_cell_drop(cell)) finish(&thread, cell);
		if (i % 64 == 0) { /* memory that another thread has written */
			tl_inl_retake(&thread);
			uint64_t* mine = tl_inl_cell_new(&thread, CELL_BYTES);
			for (int k = 0; k < THREADS; k++) mine[k] = 9;
			EXPECT(tl_inl_cell_drop(mine));
			tl_inl_retake(&thread);
			EXPECT(tl_inl_cell_free(&thread, mine) == TL_OK);
		}
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	EXPECT(tl_init() == TL_OK);
	for (int i = 0; i < ROUNDS; i++) {
		board[i] = tl_cell_new(CELL_BYTES);
		for (int k = 1; k < THREADS; k++) tl_cell_dup(board[i]);
		EXPECT(tl_cell_share(board[i]) == TL_OK);
	}
	for (uintptr_t i = 0; i < THREADS; i++) threads[i] = start_thread(count, (void*)i);
	for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
	printf("%ld of %d cells freed, %ld failures\n", (long)freed, ROUNDS, (long)failures);
	return freed != ROUNDS || failures != 0;
}
