/* TL_DEBUG: a thread that looks at everything finds no damage in what others do rightly. */
#include "check.h"
#include "thread.h"

static int tellings;

static void listen(tl_status status, const char* message, void* ctx)
{
	(void)ctx;
	tellings++;
	fprintf(stderr, "%d: %s\n", (int)status, message);
}

static _Atomic int churning;

static void* churn(void* seed)
{
	unsigned state = (unsigned)(uintptr_t)seed;
	void* kept[64] = {0};
	for (int i = 0; i < 20000; i++) { /* with a realloc in place now and then */
		state = state * 1664525u + 1013904223u;
		void** at = &kept[state >> 26];
		if (*at != NULL && i % 3 == 0) *at = tl_mem_realloc(*at, 1 + state % 190);
		if (*at != NULL && tl_mem_free(*at) != TL_OK) return *at;
		*at = tl_mem_alloc(1 + (state >> 8) % 200);
		memset(*at, (int)state, 1 + (state >> 8) % 200);
	}
	for (int i = 0; i < 64; i++)
		if (kept[i] != NULL && tl_mem_free(kept[i]) != TL_OK) return kept[i];
	churning--;
	return NULL;
}

static void* churn_tables(void* unused)
{
	(void)unused;
	for (int i = 0; i < 2000; i++) {
		tl_mem_enter_scope();
		tl_vec_new(1 << 13);
		tl_mem_exit_scope();
	}
	churning--;
	return NULL;
}

static void tables_of_vecs_end_while_they_are_looked_at(void)
{
	pthread_t thread;
	tellings = 0;
	churning = 1;
	CHECK(pthread_create(&thread, NULL, churn_tables, NULL) == 0);
	while (churning > 0) CHECK_INT(tl_mem_check_all(), 0);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK_INT(tellings, 0);
}

/* A neighbour may come and go while what it borders on is looked at. */
static void threads_that_share_slabs_are_not_told_of_each_other(void)
{
	pthread_t threads[4];
	tellings = 0;
	churning = 4;
	for (uintptr_t i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, churn, (void*)(i + 1)) == 0);
	for (int i = 0; i < 20 || (churning > 0 && i < 2000); i++) CHECK_INT(tl_mem_check_all(), 0);
	for (int i = 0; i < 4; i++) {
		void* failed;
		CHECK(pthread_join(threads[i], &failed) == 0);
		CHECK(failed == NULL);
	}
	CHECK_INT(tellings, 0);
	CHECK_INT(tl_mem_check_all(), 0);
}

int main(void)
{
	setenv("TL_DEBUG", "1", 1);
	CHECK_OK(tl_set_error_callback(listen, NULL));
	RUN(tables_of_vecs_end_while_they_are_looked_at);
	RUN(threads_that_share_slabs_are_not_told_of_each_other);
	return check_finish();
}
