/* Section Library: versions, statuses, the last error, configuration, shutdown. */
#include <pthread.h>

#include "check.h"
#include "thread.h"

TEST(versions)
{
	CHECK_INT(tl_abi_version(), TL_ABI_VERSION);
	CHECK(strchr(tl_version(), '.') != NULL);
}

TEST(init_twice)
{
	CHECK_OK(tl_init());
	CHECK_OK(tl_init());
	CHECK_OK(tl_mem_manager_init());
}

TEST(every_status_has_its_own_sentence)
{
	for (tl_status status = TL_OK; status <= TL_E_CORRUPTED; status++) {
		CHECK(tl_status_string(status)[0] != '\0');
		for (tl_status other = TL_OK; other < status; other++)
			CHECK(strcmp(tl_status_string(status), tl_status_string(other)) != 0);
	}
	CHECK(strcmp(tl_status_string(-1), tl_status_string(9999)) == 0);
	CHECK(strcmp(tl_status_string(9999), tl_status_string(TL_OK)) != 0);
}

TEST(last_error_names_the_pointer)
{
	char text[32];
	tl_clear_error();
	CHECK_OK(tl_last_status());
	CHECK(tl_last_error()[0] == '\0');

	CHECK_STATUS(tl_ptr_release((void*)0x1230), TL_E_UNKNOWN_POINTER);
	CHECK_STATUS(tl_last_status(), TL_E_UNKNOWN_POINTER);
	snprintf(text, sizeof text, "%p", (void*)0x1230);
	CHECK(strstr(tl_last_error(), text) != NULL);
	CHECK(strstr(tl_last_error(), "tl_ptr_release") != NULL);

	tl_clear_error();
	CHECK_OK(tl_last_status());
	CHECK(tl_last_error()[0] == '\0');
}

TEST(interior_error_names_the_start)
{
	char start[32];
	char* object = tl_mem_alloc(64);
	snprintf(start, sizeof start, "%p", (void*)object);
	CHECK_FAILS(tl_ptr_release(object + 16), TL_E_INTERIOR_POINTER);
	CHECK(strstr(tl_last_error(), start) != NULL);
	CHECK(strstr(tl_last_error(), "16") != NULL);
	CHECK_OK(tl_ptr_release(object));
}

TEST(a_null_that_is_right_sets_ok)
{
	CHECK_STATUS(tl_ptr_release((void*)0x1230), TL_E_UNKNOWN_POINTER);
	CHECK_PTR(tl_mem_alloc(0), NULL);
	CHECK_OK(tl_last_status());
}

THREAD(fail_in_a_thread, unused) { CHECK_FAILS(tl_ptr_release((void*)0x4560), TL_E_UNKNOWN_POINTER); }

TEST(errors_belong_to_their_thread)
{
	tl_clear_error();
	run_thread(fail_in_a_thread, NULL);
	CHECK_OK(tl_last_status());
}

struct seen {
	int calls;
	tl_status status;
	char message[256];
};

static void note_error(tl_status status, const char* message, void* ctx)
{
	struct seen* seen = ctx;
	seen->calls++;
	seen->status = status;
	snprintf(seen->message, sizeof seen->message, "%s", message);
	/* Served, and its own failure does not come back here. */
	tl_ptr_release((void*)0x7770);
}

TEST(error_callback)
{
	struct seen seen = {0, TL_OK, ""};
	CHECK_OK(tl_set_error_callback(note_error, &seen));
	CHECK_STATUS(tl_ptr_release((void*)0x1230), TL_E_UNKNOWN_POINTER);
	CHECK_INT(seen.calls, 1);
	CHECK_STATUS(seen.status, TL_E_UNKNOWN_POINTER);
	CHECK(strstr(seen.message, "0x1230") != NULL);

	CHECK_OK(tl_set_error_callback(NULL, NULL));
	CHECK_STATUS(tl_ptr_release((void*)0x1230), TL_E_UNKNOWN_POINTER);
	CHECK_INT(seen.calls, 1);
}

static char first_ctx, second_ctx;
static long heard, misheard;

static void hear(const void* ctx, const void* own)
{
	__atomic_add_fetch(&heard, 1, __ATOMIC_RELAXED);
	if (ctx != own) __atomic_add_fetch(&misheard, 1, __ATOMIC_RELAXED);
}

static void first_listener(tl_status status, const char* message, void* ctx)
{
	(void)status, (void)message;
	hear(ctx, &first_ctx);
}

static void second_listener(tl_status status, const char* message, void* ctx)
{
	(void)status, (void)message;
	hear(ctx, &second_ctx);
}

THREAD(fail_often, unused)
{
	while (__atomic_load_n(&heard, __ATOMIC_RELAXED) < 200000) tl_ptr_release((void*)0x1230);
}

TEST(an_error_callback_gets_the_ctx_that_came_with_it)
{
	pthread_t failing = start_thread(fail_often, NULL);
	while (__atomic_load_n(&heard, __ATOMIC_RELAXED) < 200000) {
		tl_set_error_callback(first_listener, &first_ctx);
		tl_set_error_callback(second_listener, &second_ctx);
	}
	pthread_join(failing, NULL);
	CHECK_OK(tl_set_error_callback(NULL, NULL));
	CHECK_INT(misheard, 0);
}

TEST(configure)
{
	CHECK_OK(tl_configure("TL_ON_ERROR", "ignore"));
	CHECK_FAILS(tl_configure("TL_ON_ERROR", "perhaps"), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_configure("TL_NO_SUCH_OPTION", "1"), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_configure(NULL, "1"), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_configure("TL_ON_ERROR", NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_configure("TL_ARENA_BYTES", "1048576"), TL_E_BUSY);
}

TEST(symbols_are_sorted_and_callable)
{
	size_t count = 0;
	const tl_symbol* table = tl_symbols(&count);
	uint32_t (*abi_version)(void) = NULL;
	CHECK(count > 100);
	for (size_t i = 0; i < count; i++) {
		CHECK(table[i].address != NULL);
		CHECK(strncmp(table[i].name, "tl_", 3) == 0);
		if (i > 0) CHECK(strcmp(table[i - 1].name, table[i].name) < 0);
		if (strcmp(table[i].name, "tl_abi_version") == 0) memcpy(&abi_version, &table[i].address, sizeof abi_version);
	}
	CHECK(abi_version != NULL && abi_version() == TL_ABI_VERSION);
	CHECK_REFUSED(tl_symbols(NULL), 0, TL_E_INVALID_ARGUMENT);
}

TEST(shutdown_closes_scopes_and_keeps_objects)
{
	char* kept = tl_mem_alloc(64);
	memset(kept, 7, 64);
	CHECK_OK(tl_mem_enter_scope());
	void* scoped = tl_mem_new(64);
	CHECK_OK(tl_mem_function_enter(2));
	CHECK_OK(tl_shutdown());
	CHECK_INT(tl_get_scope_depth(), 0);
	CHECK_DEAD(scoped);
	CHECK_COUNT(kept, 1);
	CHECK_INT(kept[63], 7);
	CHECK_OK(tl_ptr_release(kept));

	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_mem_new(64) != NULL);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_mem_manager_shutdown());
}

TEST(shutdown_releases_the_root_scope)
{
	void* object = tl_mem_new(64);
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_shutdown());
	CHECK_DEAD(object);
}

THREAD(hold_a_scope, gate)
{
	CHECK_OK(tl_mem_enter_scope());
	meet(gate);
	meet(gate);
	CHECK_OK(tl_mem_exit_scope());
}

TEST(shutdown_waits_for_other_threads)
{
	pthread_barrier_t gate;
	pthread_barrier_init(&gate, NULL, 2);
	pthread_t thread = start_thread(hold_a_scope, &gate);
	meet(&gate);
	CHECK_OK(tl_mem_enter_scope());
	void* object = tl_mem_new(64);
	CHECK_FAILS(tl_shutdown(), TL_E_BUSY);
	CHECK_FAILS(tl_mem_manager_shutdown(), TL_E_BUSY);
	CHECK_INT(tl_get_scope_depth(), 1);
	CHECK_COUNT(object, 1);
	meet(&gate);
	pthread_join(thread, NULL);
	CHECK_OK(tl_shutdown());
	CHECK_INT(tl_get_scope_depth(), 0);
	pthread_barrier_destroy(&gate);
}

TEST(detach_and_come_back)
{
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_mem_new(64) != NULL);
	CHECK_OK(tl_thread_detach());
	CHECK_OK(tl_thread_detach());
	CHECK_INT(tl_get_scope_depth(), 0);
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_mem_new(64) != NULL);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(tl_mem_collect_cycles(), 0);
}

static void detach_in_callback(tl_status status, const char* message, void* ctx)
{
	(void)status, (void)message;
	*(tl_status*)ctx = tl_thread_detach();
}

/* The entry guard goes on with the context when the callback has returned. */
TEST_IN_SCOPE(no_detaching_inside_the_error_callback)
{
	tl_status answer = TL_OK;
	CHECK_OK(tl_set_error_callback(detach_in_callback, &answer));
	CHECK_FAILS(tl_ptr_release((void*)1), TL_E_UNKNOWN_POINTER);
	CHECK_OK(tl_set_error_callback(NULL, NULL));
	CHECK_STATUS(answer, TL_E_BUSY);
	CHECK_INT(tl_get_scope_depth(), 1);
}

int main(void) { return check_tests(); }
