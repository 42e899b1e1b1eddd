/* TL_DEBUG beside other threads: who does right is told of no damage, and a release that leaves a float behind is told. */
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

THREAD(churn_tables, unused)
{
	for (int i = 0; i < 2000; i++) {
		tl_mem_enter_scope();
		tl_vec_new(1 << 13);
		tl_mem_exit_scope();
	}
	churning--;
}

TEST(tables_of_vecs_end_while_they_are_looked_at)
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
TEST(threads_that_share_slabs_are_not_told_of_each_other)
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

/* ---- a float that a release leaves behind -------------------------------------------------- */

static char reports[8192];
static int report_file = -1, standard_error = -1;

/* What the library writes to standard error goes into a file. */
static void begin_reports(void)
{
	char name[] = "/tmp/tl_debug_XXXXXX";
	report_file = mkstemp(name);
	CHECK(report_file >= 0);
	unlink(name);
	fflush(stderr);
	standard_error = dup(2);
	dup2(report_file, 2);
}

static void end_reports(void)
{
	dup2(standard_error, 2);
	close(standard_error);
	ssize_t n = pread(report_file, reports, sizeof reports - 1, 0);
	reports[n > 0 ? n : 0] = 0;
	close(report_file);
}

static bool reported(const char* text)
{
	if (strstr(reports, text) != NULL) return true;
	fprintf(stderr, "not reported: %s\n%s\n", text, reports);
	return false;
}

THREAD(pops_both, vec) { CHECK(tl_vec_pop(vec) != NULL && tl_vec_pop(vec) != NULL); }

/* Another thread lets references float that stand in the owner's word, and the owner drops one by hand. */
TEST(a_float_that_the_owner_leaves_is_told)
{
	CHECK_OK(tl_mem_enter_scope());
	void *vec = tl_vec_new(2), *object = tl_mem_alloc(64);
	CHECK_OK(tl_vec_push(vec, object));
	CHECK_OK(tl_vec_push(vec, object));
	CHECK_OK(tl_mem_register_struct(object));
	run_thread(pops_both, vec);
	CHECK_OK(tl_mem_exit_scope());
	tellings = 0;
	begin_reports();
	CHECK_OK(tl_ptr_release(object));
	end_reports();
	CHECK(reported("tl_runtime: tl_ptr_release: 0x") &&
	      reported("leaves a float without a reference (references: 1, floating: 2)"));
	CHECK(reported("tl_ptr_share") && reported("allocated at") && reported("found at"));
	const char* first = strstr(reports, "tl_runtime:");
	CHECK(first != NULL && strstr(first + 1, "tl_runtime:") == NULL); /* once */
	CHECK_INT(tellings, 0);                                           /* the release has succeeded */
	CHECK_OK(tl_mem_free(object));
}

enum { ROUNDS = 3000 };
static pthread_barrier_t both;

THREAD(registers_and_leaves, object)
{
	for (int i = 0; i < ROUNDS; i++) {
		meet(&both);
		CHECK_OK(tl_mem_enter_scope());
		CHECK_OK(tl_mem_register_struct(object));
		meet(&both);
		CHECK_OK(tl_mem_exit_scope());
		meet(&both);
	}
}

/* Claims of the owner's floats, which a merge drops while the other thread releases: no release leaves a float. */
TEST(no_release_is_told_of_without_reason)
{
	void* object = tl_mem_alloc(64);
	CHECK_PTR(tl_ptr_acquire(object), object);
	pthread_barrier_init(&both, NULL, 2);
	begin_reports();
	pthread_t thread = start_thread(registers_and_leaves, object);
	for (int i = 0; i < ROUNDS; i++) {
		meet(&both);
		meet(&both);
		CHECK_PTR(tl_ptr_acquire(object), object); /* the other took the float */
		CHECK_OK(tl_ptr_release(object));
		CHECK_OK(tl_mem_enter_scope());
		CHECK_OK(tl_mem_register_struct(object));
		CHECK_OK(tl_mem_unregister(object));
		CHECK_OK(tl_mem_exit_scope());
		meet(&both);
	}
	pthread_join(thread, NULL);
	end_reports();
	CHECK_INT(strlen(reports), 0);
	pthread_barrier_destroy(&both);
	while (tl_ptr_refcount(object) > 1) CHECK_OK(tl_ptr_release(object));
	CHECK_OK(tl_ptr_release(object));
}

int main(void)
{
	setenv("TL_DEBUG", "1", 1);
	CHECK_OK(tl_set_error_callback(listen, NULL));
	return check_tests();
}
