/* Workspaces: a block for each worker, apart from all others. */
#include "check.h"
#include "thread.h"

TEST(blocks_are_apart)
{
	static const size_t alignments[] = {1, 64, 4096};
	for (size_t a = 0; a < 3; a++) {
		tl_workspace* w = NULL;
		size_t line = alignments[a] > 128 ? alignments[a] : 128;
		CHECK_OK(tl_workspace_create(5, 1000, alignments[a], &w));
		CHECK_INT(tl_workspace_bytes(w), 1000);
		CHECK_INT(w->count, 5);
		CHECK_INT(w->bytes_each, 1000);
		for (size_t rank = 0; rank < 5; rank++) {
			char* block = tl_workspace_get(w, rank);
			CHECK_PTR(block, (char*)w->base + rank * w->stride);
			CHECK_INT((uintptr_t)block % line, 0);
			memset(block, (int)rank, 1000);
		}
		for (size_t rank = 0; rank < 5; rank++) CHECK_INT(((char*)tl_workspace_get(w, rank))[999], rank);
		CHECK(w->stride >= 1000 && w->stride % line == 0);
		CHECK(tl_registry_total_bytes() >= 5 * w->stride);
		CHECK_OK(tl_workspace_destroy(w));
		CHECK_FAILS(tl_workspace_destroy(w), TL_E_UNKNOWN_POINTER);
	}
}

TEST(what_is_refused)
{
	tl_workspace* w = (tl_workspace*)8;
	void* other = tl_registry_new_array(1, 64);
	tl_workspace* bad[] = {(tl_workspace*)8, (tl_workspace*)&w, other, (tl_workspace*)((char*)other + 16)};
	CHECK_FAILS(tl_workspace_create(0, 64, 64, &w), TL_E_INVALID_ARGUMENT);
	CHECK_PTR(w, NULL);
	CHECK_FAILS(tl_workspace_create(4, 0, 64, &w), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_workspace_create(4, 64, 0, &w), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_workspace_create(4, 64, 96, &w), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_workspace_create(SIZE_MAX, SIZE_MAX, 64, &w), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_workspace_create(4, SIZE_MAX, 64, &w), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_workspace_create(4, 64, 64, NULL), TL_E_INVALID_ARGUMENT);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		CHECK_REFUSED(tl_workspace_get(bad[i], 0), 0, TL_E_UNKNOWN_POINTER);
		CHECK_REFUSED(tl_workspace_bytes(bad[i]), 0, TL_E_UNKNOWN_POINTER);
		CHECK_FAILS(tl_workspace_destroy(bad[i]), TL_E_UNKNOWN_POINTER);
	}
	CHECK_OK(tl_workspace_create(4, 64, 64, &w));
	CHECK_REFUSED(tl_workspace_get(w, 4), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_workspace_get(w, SIZE_MAX), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_workspace_get(NULL, 0), 0, TL_OK);
	CHECK_INT(tl_workspace_bytes(NULL), 0);
	CHECK_OK(tl_workspace_destroy(NULL));
	CHECK_OK(tl_workspace_destroy(w));
	CHECK_REFUSED(tl_workspace_get(w, 0), 0, TL_E_UNKNOWN_POINTER);
	CHECK_OK(tl_registry_unregister(other));
}

/* It is a registered pointer: whoever uses it longest keeps it. */
TEST(a_workspace_is_counted)
{
	tl_workspace* w = NULL;
	CHECK_OK(tl_workspace_create(2, 64, 64, &w));
	CHECK_PTR(tl_ptr_acquire(w), w);
	CHECK_OK(tl_workspace_destroy(w));
	CHECK(tl_workspace_get(w, 1) != NULL);
	CHECK_OK(tl_ptr_release(w));
	CHECK_FAILS(tl_ptr_release(w), TL_E_UNKNOWN_POINTER);
}

enum { WORKERS = 4, STEPS = 20000 };

typedef struct worker {
	tl_workspace* workspace;
	size_t rank;
} worker;

THREAD(fill, argument)
{
	worker* me = argument;
	for (int i = 0; i < STEPS; i++) {
		uint64_t* mine = tl_workspace_get(me->workspace, me->rank);
		mine[i % 8] += me->rank + 1;
	}
}

TEST(workers_do_not_meet)
{
	tl_workspace* w = NULL;
	pthread_t threads[WORKERS];
	worker workers[WORKERS];
	CHECK_OK(tl_workspace_create(WORKERS, 64, 64, &w));
	for (size_t i = 0; i < WORKERS; i++) {
		memset(tl_workspace_get(w, i), 0, 64);
		workers[i] = (worker){w, i};
		threads[i] = start_thread(fill, &workers[i]);
	}
	for (size_t i = 0; i < WORKERS; i++) {
		pthread_join(threads[i], NULL);
		for (int k = 0; k < 8; k++) CHECK_INT(((uint64_t*)tl_workspace_get(w, i))[k], STEPS / 8 * (i + 1));
	}
	CHECK_OK(tl_workspace_destroy(w));
}

int main(void)
{
	CHECK_OK(tl_init());
	return check_tests();
}
