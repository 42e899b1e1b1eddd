/* pthread_cancel at any moment of a call: the call is carried out, and the thread ends at
 * the next cancellation point of the program's own. */
#include <stdatomic.h>

#include "cancel.h"

static const char* self;

TEST(a_first_call_that_is_cancelled_leaves_no_lock)
{
	for (int i = 0; i < 20; i++) CHECK_INT(in_a_new_process(self, i * 20), 0);
}

/* ---- later calls ------------------------------------------------------------------------ */

TEST(a_call_is_carried_out_before_its_thread_is_cancelled)
{
	for (int i = 0; i < 100; i++) {
		cancelled_after(calls_until_cancelled, i * 7);
		calls_of_all_kinds();
	}
}

static void* fails_until_cancelled(void* unused)
{
	for (;;) {
		tl_ptr_release((void*)0x1001);
		pthread_testcancel();
	}
	return unused;
}

/* Writing the line is a cancellation point of the C library's. */
TEST(an_error_is_told_whole_and_the_next_one_too)
{
	int keep = dup(STDERR_FILENO);
	char line[256];
	FILE* said = tmpfile(); /* a pipe would be full before a busy machine reads it */
	CHECK(said != NULL);
	CHECK_OK(tl_configure("TL_ON_ERROR", "log"));
	dup2(fileno(said), STDERR_FILENO);
	cancelled_after(fails_until_cancelled, 300);
	tl_ptr_release((void*)0x2002);
	dup2(keep, STDERR_FILENO);
	CHECK_OK(tl_configure("TL_ON_ERROR", "ignore"));
	bool told = false;
	rewind(said);
	while (fgets(line, sizeof line, said) != NULL) {
		CHECK(strncmp(line, "tl_runtime: tl_ptr_release: ", 28) == 0);
		told = told || strstr(line, "0x2002") != NULL;
	}
	CHECK(told);
	fclose(said);
	close(keep);
}

/* ---- callbacks ---------------------------------------------------------------------------- */

static atomic_int deleted;

static void deletes(void* pointer, void* ctx)
{
	(void)ctx;
	free(pointer);
	atomic_fetch_add(&deleted, 1);
	pthread_testcancel(); /* outside of the call: the thread ends here */
}

static void* drops(void* unused)
{
	void* block = malloc(64);
	CHECK_OK(tl_registry_register_custom(block, 64, deletes, NULL));
	while (atomic_load(&deleted) < 0) {}
	tl_registry_unregister(block);
	for (;;) pthread_testcancel();
	return unused;
}

TEST(a_deleter_can_be_cancelled)
{
	deleted = -1;
	pthread_t thread = start_thread(drops, NULL);
	void* result = NULL;
	CHECK_INT(pthread_cancel(thread), 0);
	deleted = 0;
	CHECK_INT(pthread_join(thread, &result), 0);
	CHECK_PTR(result, PTHREAD_CANCELED);
	CHECK_INT(deleted, 1);
	calls_of_all_kinds();
}

TEST(the_threads_own_state_comes_back)
{
	int before = -1;
	for (int state = PTHREAD_CANCEL_ENABLE;; state = PTHREAD_CANCEL_DISABLE) {
		CHECK_INT(pthread_setcancelstate(state, NULL), 0);
		calls_of_all_kinds();
		CHECK_INT(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before), 0);
		CHECK_INT(before, state);
		if (state == PTHREAD_CANCEL_DISABLE) break;
	}
}

int main(int argc, char** argv)
{
	if (argc > 1) return cancels_its_first_call(argv[1]);
	self = argv[0];
	return check_tests();
}
