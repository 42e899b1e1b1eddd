/* Threads release objects of another thread that they do not hold, which is a fault of the program: each such call
 * takes the owner's reference or is refused. Whichever of them comes last, every object ends once, and none stays.
 *
 *     stale_release_test [rounds]
 */
#include <stdatomic.h>

#include "check.h"
#include "thread.h"

enum { THIEVES = 2, CELLS = 2, TAKEN = 100 };

static _Atomic tl_ref board[CELLS];
static atomic_bool stop;
static atomic_long taken;
static long rounds = 200000;

THREAD(take_from_board, seed)
{
	uint64_t random = 5 + (uintptr_t)seed;
	CHECK_OK(tl_init());
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		const tl_ref ref = atomic_load(&board[check_random(&random) >> 60 & (CELLS - 1)]);
		const tl_status status = tl_ref_release(ref);
		if (ref != 0 && status == TL_OK) atomic_fetch_add(&taken, 1);
		else CHECK(status == TL_OK || status == TL_E_NOT_LIVE);
	}
}

/* Makes objects that stay the maker's own, by both ways in which it may lose the last reference. */
static void make_objects(void)
{
	pthread_t thieves[THIEVES];
	tl_stats before, after;
	before.struct_size = after.struct_size = sizeof before;
	CHECK_OK(tl_stats_get(&before));
	for (uintptr_t i = 0; i < THIEVES; i++) thieves[i] = start_thread(take_from_board, (void*)i);
	for (long i = 0; i < rounds || atomic_load(&taken) < TAKEN; i++) {
		void* object = tl_mem_alloc(64);
		const tl_ref ref = tl_ref_of(object);
		CHECK(ref != 0);
		atomic_store(&board[i & (CELLS - 1)], ref);
		const tl_status status = tl_ref_release(ref);
		CHECK(status == TL_OK || status == TL_E_NOT_LIVE);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < THIEVES; i++) pthread_join(thieves[i], NULL);
	CHECK_OK(tl_mem_purge()); /* reads the inbox */
	CHECK_OK(tl_stats_get(&after));
	CHECK(after.live_objects == before.live_objects);
	CHECK(after.live_bytes == before.live_bytes);
}

int main(int argc, char** argv)
{
	if (argc > 1) rounds = strtol(argv[1], NULL, 10);
	CHECK_OK(tl_init());
	RUN(make_objects);
	return check_finish();
}
