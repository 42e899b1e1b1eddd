/* TL_ON_ERROR: what is written of failures, what is an answer and no failure, and how the process ends. */
#include <signal.h>
#include <sys/wait.h>

#include "check.h"

static void fail_nowhere(void) { tl_mem_free(tl_mem_alloc(8)); }

/* What docs/options.md calls answers. */
static void ask(void)
{
	void* p = tl_mem_alloc(8);
	tl_mem_function_enter(0);
	if (tl_mem_unregister(p) != TL_E_NOT_REGISTERED) _exit(97);
	tl_mem_function_exit();
	tl_mem_free(p);
	if (tl_ptr_check(p) != TL_E_NOT_LIVE || tl_ptr_check((void*)16) != TL_E_UNKNOWN_POINTER) _exit(97);
	tl_ref r = tl_ref_of(p = tl_mem_alloc(8));
	tl_mem_free(p);
	if (tl_ref_check(r) != TL_E_NOT_LIVE) _exit(97);
}

static void fail_once(void) { tl_ptr_release((void*)16); }

static void fail_often(void)
{
	void* p = tl_mem_alloc(8);
	tl_mem_free(p);
	for (int i = 0; i < 1811; i++) tl_ptr_release(p);
}

static void fail_differently(void)
{
	for (uintptr_t i = 1; i <= 100; i++) tl_ptr_release((void*)(i * 16));
	tl_mem_exit_scope();
}

static void leak_and_fail(void)
{
	tl_mem_alloc(8);
	fail_once();
}

static void overrun(void) { ((volatile char*)tl_mem_alloc(40))[40] = 1; }

static const struct ending {
	const char* name;
	void (*body)(void);
	const char* options;
	int status, lines;
	const char* shows;
} endings[] = {
	{"nowhere", fail_nowhere, "TL_ON_ERROR=fail", 0, 0, NULL},
	{"ask", ask, "TL_ON_ERROR=log", 0, 0, NULL},
	{"ask", ask, "TL_ON_ERROR=abort", 0, 0, NULL},
	{"ask", ask, "TL_ON_ERROR=fail", 0, 0, NULL},
	{"once", fail_once, "TL_ON_ERROR=ignore", 0, 0, NULL},
	{"once", fail_once, "TL_ON_ERROR=log", 0, 1, "TL_E_UNKNOWN_POINTER: 0x10 "},
	{"once", fail_once, "TL_ON_ERROR=abort", 128 + SIGABRT, 1, "TL_E_UNKNOWN_POINTER: 0x10 "},
	{"once", fail_once, "TL_ON_ERROR=fail", 24, 1, "TL_E_UNKNOWN_POINTER: 0x10 "},
	{"often", fail_often, "TL_ON_ERROR=log", 0, 2, "tl_ptr_release: not live: released already: 1810 more times\n"},
	{"different", fail_differently, "TL_ON_ERROR=fail", 24, 10, ": 92 more times\n"},
	{"leak", leak_and_fail, "TL_LEAK_CHECK=fail TL_ON_ERROR=log", 23, 1, "SUMMARY: LeakSanitizer"},
	{"leak", leak_and_fail, "TL_LEAK_CHECK=fail TL_ON_ERROR=fail", 24, 1, "SUMMARY: LeakSanitizer"},
	{"damage", overrun, "TL_DEBUG=1 TL_ON_ERROR=fail", 24, 1, "byte 0 behind its 40 bytes"},
};

static void end_as(const char* self, const struct ending* e)
{
	static char output[1 << 16];
	char command[512];
	snprintf(command, sizeof command, "%s %s %s 2>&1; exit $?", e->options, self, e->name);
	FILE* pipe = popen(command, "r");
	size_t n = fread(output, 1, sizeof output - 1, pipe);
	output[n] = 0;
	CHECK_INT(WEXITSTATUS(pclose(pipe)), e->status);
	int lines = 0;
	for (const char* at = output; (at = strstr(at, "tl_runtime: ")) != NULL; at++) lines++;
	CHECK_INT(lines, e->lines);
	CHECK(e->shows == NULL || strstr(output, e->shows) != NULL);
	if (lines != e->lines) fprintf(stderr, "%s %s:\n%s\n", e->options, e->name, output);
}

static int calls;

static void listen(tl_status status, const char* message, void* ctx)
{
	(void)status, (void)message, (void)ctx;
	calls++;
}

/* The callback hears of everything. */
static void the_callback_is_told_of_answers_and_of_equal_failures(void)
{
	CHECK_OK(tl_set_error_callback(listen, NULL));
	for (int i = 0; i < 20; i++) CHECK_STATUS(tl_ptr_check((void*)16), TL_E_UNKNOWN_POINTER);
	for (int i = 0; i < 20; i++) CHECK_STATUS(tl_ptr_release((void*)16), TL_E_UNKNOWN_POINTER);
	CHECK_INT(calls, 40);
	CHECK_OK(tl_set_error_callback(NULL, NULL));
}

int main(int count, char** arguments)
{
	for (size_t i = 0; count > 1 && i < sizeof endings / sizeof *endings; i++) {
		if (strcmp(arguments[1], endings[i].name) != 0) continue;
		endings[i].body();
		return 0;
	}
	RUN(the_callback_is_told_of_answers_and_of_equal_failures);
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) end_as(arguments[0], &endings[i]);
	return check_finish();
}
