/* Shared cells under ThreadSanitizer: threads count one inlined while it goes. Each writes a word of its own in it before it
 * drops its reference, and the last one reads them all and changes the cell in place, so that a drop without an order is a
 * race with that, or with whoever has the memory next.
 *
 * Cells with a type come in pairs that refer to one cell, in which each thread writes, too. A thread that ends one of a pair
 * drops that reference; who ends the other ends the cell, and its memory is cleared for the next one. Threads go from the one
 * to the other in both directions, so that nothing but the count of that cell orders what they write last. */
#include <stdio.h>

#include "tl_inline.h"

#include "thread.h"

enum { THREADS = 3, TURN = 64, ROUNDS = 320 * TURN, CELL_BYTES = 48 };

/* Of the fake slow path, with two pointers first. */
tl_type fake_cell_type(void);

typedef struct node {
	struct node *own, *common;
	uint64_t words[4];
} node;

_Static_assert(sizeof(node) == CELL_BYTES, "the type of the fake slow path");

static pthread_barrier_t turns;
static uint64_t* board[ROUNDS];
static node* nodes[ROUNDS];
static _Atomic long failures;
static _Thread_local long freed; /* an atomic sum would order what no cell does */

static void expect(bool good, const char* what)
{
	if (good) return;
	fprintf(stderr, "%s\n", what);
	failures++;
}

#define EXPECT(condition) expect((condition), #condition)

/* The caller's reference is the only one. */
static void finish(tl_inl_thread* thread, void* cell, uint64_t* words)
{
	EXPECT(tl_inl_cell_is_unique(cell));
	for (int i = 0; i < THREADS; i++) EXPECT(words[i] == (uint64_t)i + 1);
	for (int i = 0; i < THREADS; i++) words[i] = 0;
	tl_inl_retake(thread);
	EXPECT(tl_inl_cell_free(thread, cell) == TL_OK);
	freed++;
}

/* One reference is given up, after others that were taken; whether it was the last one. */
static bool use(tl_inl_thread* thread, uintptr_t n, void* cell, uint64_t* words)
{
	for (uintptr_t k = 0; k < n; k++) EXPECT(tl_inl_cell_dup(cell) == cell);
	EXPECT(n == 0 || !tl_inl_cell_is_unique(cell));
	words[n] = n + 1;
	for (uintptr_t k = 0; k < n; k++) EXPECT(!tl_inl_cell_drop(cell));
	const bool last = tl_inl_cell_drop(cell);
	if (last) finish(thread, cell, words);
	return last;
}

/* In memory that another thread has written. */
static void make(tl_inl_thread* thread)
{
	tl_inl_retake(thread);
	uint64_t* mine = tl_inl_cell_new(thread, CELL_BYTES);
	for (int k = 0; k < THREADS; k++) mine[k] = 9;
	node* typed = tl_cell_new_typed(fake_cell_type());
	EXPECT(typed->own == NULL && typed->words[3] == 0);
	typed->own = (node*)mine;
	EXPECT(tl_inl_cell_drop(typed));
	tl_inl_retake(thread);
	EXPECT(tl_inl_cell_free(thread, typed) == TL_OK);
}

/* The other one of a pair. */
static int other(int i) { return i ^ (TURN - 1); }

static void* count(void* number)
{
	const uintptr_t n = (uintptr_t)number;
	tl_inl_thread thread;
	EXPECT(tl_init() == TL_OK);
	tl_inl_begin(&thread);
	for (int i = 0; i < ROUNDS; i++) {
		node* one = nodes[n == 1 ? other(i) : i];
		if (i % TURN == 0) meet(&turns);
		use(&thread, n, board[i], board[i]);
		one->common->words[n] = one->own->words[n] = n;
		if (use(&thread, n, one, one->words) || i % 64 == 0) make(&thread);
	}
	return (void*)freed;
}

/* Sharing a node shares what it leads to. */
static void make_shared(int i)
{
	board[i] = tl_cell_new(CELL_BYTES);
	nodes[i] = tl_cell_new_typed(fake_cell_type());
	nodes[i]->own = tl_cell_new_typed(fake_cell_type());
	nodes[i]->common = i < other(i) ? tl_cell_new_typed(fake_cell_type()) : tl_cell_dup(nodes[other(i)]->common);
	for (int k = 1; k < THREADS; k++) {
		tl_cell_dup(board[i]);
		tl_cell_dup(nodes[i]);
	}
	EXPECT(tl_cell_share(board[i]) == TL_OK && tl_cell_share(nodes[i]) == TL_OK);
}

int main(void)
{
	pthread_t threads[THREADS];
	EXPECT(tl_init() == TL_OK && pthread_barrier_init(&turns, NULL, THREADS) == 0);
	for (int i = 0; i < ROUNDS; i++) make_shared(i);
	for (uintptr_t i = 0; i < THREADS; i++) threads[i] = start_thread(count, (void*)i);
	for (int i = 0; i < THREADS; i++) {
		void* by_it = NULL;
		pthread_join(threads[i], &by_it);
		freed += (long)by_it;
	}
	printf("%ld of %d cells freed, %ld failures\n", freed, 2 * ROUNDS, (long)failures);
	return freed != 2 * ROUNDS || failures != 0;
}
