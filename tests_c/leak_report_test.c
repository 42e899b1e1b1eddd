/* The leak report: what is a leak, what is none, how it is written, and what the end of
 * a process makes of it. */
#include <pthread.h>
#include <regex.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static char report[1 << 16];

/* The leaks that have come since a mark, and their report in `report`. */
static int64_t leaks_since(uint64_t mark)
{
	char path[] = "/tmp/tl_leaks_XXXXXX";
	int file = mkstemp(path);
	CHECK(file >= 0);
	int64_t leaked = tl_leak_report_since(path, mark);
	ssize_t n = read(file, report, sizeof report - 1);
	report[n > 0 ? n : 0] = 0;
	close(file);
	unlink(path);
	return leaked;
}

static bool shows(const char* text)
{
	if (strstr(report, text) != NULL) return true;
	fprintf(stderr, "not in the report: %s\n%s\n", text, report);
	return false;
}

static bool hides(const char* text)
{
	if (strstr(report, text) == NULL) return true;
	fprintf(stderr, "in the report: %s\n%s\n", text, report);
	return false;
}

static uint64_t mark(void) { return *tl_track_count(); }

__attribute__((noinline, noclone)) static void* forgetful(size_t bytes)
{
	void* p = tl_mem_alloc(bytes);
	__asm__ volatile("" ::: "memory"); /* no tail call: the frame is looked for */
	return p;
}

static void a_clean_program_leaks_nothing(void)
{
	uint64_t before = mark();
	tl_mem_enter_scope();
	void* held = tl_mem_new(64);
	CHECK_OK(tl_mem_free(forgetful(40)));
	void* vec = tl_vec_new(2);
	CHECK_OK(tl_vec_push(vec, held));
	CHECK_INT(leaks_since(before), 0); /* the scope holds them */
	CHECK_INT(strlen(report), 0);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(leaks_since(before), 0);
}

__attribute__((noinline, noclone)) static void a_float_that_nobody_takes(void)
{
	uint64_t before = mark();
	void *a = forgetful(40), *b = forgetful(40);
	CHECK_INT(leaks_since(before), 2);
	CHECK(shows("ERROR: LeakSanitizer: detected memory leaks\n"));
	CHECK(shows("nobody took its floating reference"));
	CHECK(shows("    #0 0x"));
	CHECK(shows(" in forgetful ("));
	CHECK(shows(" in a_float_that_nobody_takes ("));
	CHECK(shows("SUMMARY: LeakSanitizer: 80 byte(s) leaked in 2 allocation(s).\n"));
	CHECK(hides("libtl_runtime"));
	CHECK_OK(tl_mem_free(a));
	CHECK_OK(tl_mem_free(b));
}

static void groups_come_by_site_the_largest_first(void)
{
	uint64_t before = mark();
	void* all[7];
	for (int i = 0; i < 6; i++) all[i] = tl_track_site(forgetful(32), "small.tl", 3);
	all[6] = tl_track_site(forgetful(4000), "large.tl", 7);
	CHECK_INT(leaks_since(before), 7);
	CHECK(shows("Direct leak of 192 byte(s) in 6 object(s) allocated from:\n    #0 0x"));
	CHECK(shows(" in forgetful small.tl:3\n"));
	CHECK(shows(" in forgetful large.tl:7\n"));
	const char *large = strstr(report, "large.tl:7"), *small = strstr(report, "small.tl:3");
	CHECK(large != NULL && small != NULL && large < small);
	for (int i = 0; i < 7; i++) CHECK_OK(tl_mem_free(all[i]));
}

/* ---- as tools read it ---------------------------------------------------------------------- */

/* The text behind a match of an expression at the start of `text`, NULL: there is none.
 * Its first two groups come as numbers. */
static const char* match(const char* text, const char* expression, long* first, long* second)
{
	regex_t compiled;
	regmatch_t at[4];
	CHECK(regcomp(&compiled, expression, REG_EXTENDED) == 0);
	int failed = regexec(&compiled, text, 4, at, 0);
	regfree(&compiled);
	if (failed != 0 || at[0].rm_so != 0) return NULL;
	if (first != NULL) *first = strtol(text + at[1].rm_so, NULL, 10);
	if (second != NULL) *second = strtol(text + at[2].rm_so, NULL, 10);
	return text + at[0].rm_eo;
}

#define KIND "(Direct|Indirect) leak of "

/* Reads `report` by the form that LeakSanitizer gives its own (compiler-rt/lib/lsan, and
 * the wiki of github.com/google/sanitizers); how many leaks it sums up, -1: it is no such. */
static long read_as_leak_sanitizers(int* groups, int* frames)
{
	long pid, bytes, count, sum = 0, objects = 0;
	const char *at = strstr(report, "\n=="), *summary = strstr(report, "\nSUMMARY: ");
	while (at != NULL && at[3] == '=') at = strstr(at + 1, "\n==");
	if (at == NULL || summary == NULL) return -1;
	at = match(at + 1, "^==([0-9]+)==ERROR: LeakSanitizer: detected memory leaks\n", &pid, NULL);
	if (at == NULL || match(summary + 1, "^SUMMARY: LeakSanitizer: ([0-9]+) byte\\(s\\) leaked in ([0-9]+) allocation\\(s\\)\\.\n$", &bytes, &count) == NULL)
		return -1;
	for (*groups = *frames = 0; (at = strstr(at, "irect leak of ")) != NULL; ++*groups) {
		long of, in;
		while (at[-1] != '\n') at--;
		at = match(at, "^" KIND, NULL, NULL);
		if (at == NULL || (at = match(at, "^([0-9]+) byte\\(s\\) in ([0-9]+) object\\(s\\) allocated from:\n", &of, &in)) == NULL) return -1;
		sum += of;
		objects += in;
		long number, before = -1;
		const char* next;
		while ((next = match(at, "^    #([0-9]+) 0x[0-9a-f]+ (in [^\n]+ )?([^ \n]+:[0-9]+|\\([^ \n]+\\+0x[0-9a-f]+\\)|\\(<unknown module>\\))\n", &number, NULL)) != NULL) {
			if (number != ++before) return -1;
			at = next;
			++*frames;
		}
		if (strncmp(at, "    #", 5) == 0) return -1; /* a frame that could not be read */
	}
	return sum == bytes && objects == count ? count : -1;
}

static void tools_can_read_it(void)
{
	uint64_t before = mark();
	int groups = 0, frames = 0;
	void* one = forgetful(40);
	void* other = tl_track_site(forgetful(24), "model.tl", 12);
	tl_mem_enter_scope();
	void* vec = tl_ptr_acquire(tl_vec_new(0));
	CHECK_OK(tl_vec_push(vec, tl_mem_new(200)));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(leaks_since(before), 4);
	CHECK_INT(read_as_leak_sanitizers(&groups, &frames), 4);
	CHECK_INT(groups, 4);
	CHECK(frames >= 4);
	CHECK(strstr(report, "\n    #0 ") != NULL);
	CHECK_OK(tl_mem_free(one));
	CHECK_OK(tl_mem_free(other));
	CHECK_OK(tl_ptr_release(vec));
}

static void a_reference_that_was_not_released(void)
{
	uint64_t before = mark();
	tl_mem_enter_scope();
	CHECK_OK(tl_tag_push("phase"));
	void* p = tl_ptr_acquire(tl_mem_new(48));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(leaks_since(before), 1);
	CHECK(shows("a reference was acquired and never released; tag phase\n"));
	CHECK_OK(tl_ptr_release(p));
	CHECK_INT(leaks_since(before), 0);
}

typedef struct node {
	struct node* next;
	void* payload;
} node;

static tl_type node_type(void)
{
	static tl_type type;
	static const size_t offsets[] = {offsetof(node, next), offsetof(node, payload)};
	tl_type_desc description = {"node", sizeof(node), offsets, 2, NULL, 0};
	if (type == 0) CHECK_OK(tl_type_define(&description, &type));
	return type;
}

static void cycles_are_named_and_what_hangs_on_them_is_indirect(void)
{
	uint64_t before = mark();
	tl_mem_enter_scope();
	node* ring[3];
	for (int i = 0; i < 3; i++) ring[i] = tl_object_new(node_type());
	for (int i = 0; i < 3; i++) ring[i]->next = tl_ptr_acquire(ring[(i + 1) % 3]);
	ring[0]->payload = tl_ptr_acquire(tl_mem_new(100));
	node* itself = tl_object_new(node_type());
	itself->next = tl_ptr_acquire(itself);
	CHECK_INT(leaks_since(before), 0);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(leaks_since(before), 5);
	CHECK(shows("node; a cycle: only what it refers to refers to it; tl_mem_collect_cycles frees it"));
	CHECK(shows("Direct leak of 32 byte(s) in 1 object(s)"));
	CHECK(shows("Indirect leak of 64 byte(s) in 2 object(s)"));
	CHECK(hides("tag phase"));
	CHECK(shows("Indirect leak of 100 byte(s) in 1 object(s)"));
	CHECK_INT(tl_mem_collect_cycles(), 5);
	CHECK_INT(leaks_since(before), 0);
}

/* How many objects the group of `report` has that an expression finds. */
static long objects_of(const char* kind, const char* why)
{
	char expression[256];
	regex_t compiled;
	regmatch_t at[2];
	long n = 0;
	snprintf(expression, sizeof expression, "%s leak of [0-9]+ byte\\(s\\) in ([0-9]+) object\\(s\\) allocated from:\n(    #[^\n]*\n)+    %s", kind, why);
	CHECK(regcomp(&compiled, expression, REG_EXTENDED) == 0);
	for (const char* from = report; regexec(&compiled, from, 2, at, 0) == 0; from += at[0].rm_eo) n += atol(from + at[1].rm_so);
	regfree(&compiled);
	return n;
}

static void one_object_of_each_cycle_is_named(void)
{
	enum { N = 100 };
	uint64_t before = mark();
	tl_mem_enter_scope();
	node* list[N]; /* doubly linked: a cycle of two between any two neighbours */
	for (int i = 0; i < N; i++) list[i] = tl_object_new(node_type());
	for (int i = 0; i + 1 < N; i++) {
		list[i]->next = tl_ptr_acquire(list[i + 1]);
		list[i + 1]->payload = tl_ptr_acquire(list[i]);
	}
	node *below = tl_object_new(node_type()), *tail = tl_object_new(node_type());
	list[N - 1]->next = tl_ptr_acquire(below); /* a cycle that another one leads to, and a tail */
	below->next = tl_ptr_acquire(below);
	below->payload = tl_ptr_acquire(tail);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(leaks_since(before), N + 2);
	CHECK_INT(objects_of("Direct", "node; a cycle"), 1);
	CHECK_INT(objects_of("Indirect", "node; only another leak"), N + 1);
	tl_ptr_acquire(tail); /* what is held by a caller leads to no cycle, and is a leak of its own */
	CHECK_INT(leaks_since(before), N + 2);
	CHECK_INT(objects_of("Direct", "node; a cycle"), 1);
	CHECK_INT(objects_of("Direct", "node; a reference was acquired"), 1);
	tl_ptr_acquire(below); /* and now the cycles below it are no more than what it leads to */
	CHECK_INT(leaks_since(before), N + 2);
	CHECK_INT(objects_of("Direct", "node; a cycle"), 1);
	CHECK_OK(tl_ptr_release(tail));
	CHECK_OK(tl_ptr_release(below));
	CHECK_INT(tl_mem_collect_cycles(), N + 2);
	CHECK_INT(leaks_since(before), 0);
}

static void what_a_leak_leads_to_is_indirect(void)
{
	uint64_t before = mark();
	int64_t shape[] = {4};
	tl_mem_enter_scope();
	void* vec = tl_ptr_acquire(tl_vec_new(0));
	CHECK_OK(tl_vec_push(vec, tl_mem_new(200)));
	tl_tensor* whole = tl_tensor_zeros(TL_DTYPE_F32, 0, 1, shape);
	CHECK_OK(tl_vec_push(vec, tl_tensor_slice(whole, 0, 1, 3, 1)));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(leaks_since(before), 5 - 1); /* the Vec, what it holds, and what the view shows */
	CHECK(shows("Vec; a reference was acquired and never released"));
	CHECK(shows("Indirect leak of 200 byte(s) in 1 object(s)"));
	CHECK(shows("tensor; only another leak refers to it"));
	CHECK_OK(tl_ptr_release(vec));
	CHECK_INT(leaks_since(before), 0);
}

__attribute__((noinline, noclone)) static void foreign_memory_and_its_aliases(void)
{
	uint64_t before = mark(), id;
	char *block = malloc(64), *buffer = malloc(300);
	void* aliases[] = {buffer + 100, buffer + 200};
	CHECK_OK(tl_registry_register(block, 64, TL_ALLOC_MALLOC));
	CHECK_OK(tl_registry_register_buffer(buffer, 300, aliases, 2, TL_ALLOC_MALLOC, &id));
	CHECK_INT(leaks_since(before), 2);
	CHECK(shows("memory of malloc; a reference was acquired and never released"));
	CHECK(shows("Direct leak of 300 byte(s) in 1 object(s)"));
	CHECK(hides("aliases of it are left"));
	CHECK_OK(tl_registry_unregister(buffer));
	CHECK_OK(tl_registry_unregister(block));
	CHECK_INT(leaks_since(before), 1);
	CHECK(shows("a buffer whose own address was unregistered and of which aliases are left"));
	CHECK(shows(" in foreign_memory_and_its_aliases ("));
	CHECK_OK(tl_registry_unregister(aliases[0]));
	CHECK_OK(tl_registry_unregister(aliases[1]));
	CHECK_INT(leaks_since(before), 0);
}

static void what_the_host_has_back_is_no_leak(void)
{
	uint64_t before = mark();
	void* p = malloc(80);
	tl_mem_enter_scope();
	CHECK_OK(tl_mem_register_struct(p));
	CHECK_OK(tl_mem_unregister(p));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(leaks_since(before), 0);
	CHECK(shows("No leak, handed back to the host: "));
	CHECK(hides("ERROR"));
	tl_mem_enter_scope();
	CHECK_OK(tl_mem_register_struct(p));
	CHECK_OK(tl_mem_exit_scope());
}

static void at_zero_and_not_freed(void)
{
	uint64_t before = mark();
	void* p = forgetful(72);
	CHECK_INT(tl_ptr_dec_ref(p), 1);
	CHECK_INT(leaks_since(before), 1);
	CHECK(shows("held by nobody, and not freed"));
	CHECK_OK(tl_mem_free(p));
	void* aligned = tl_aligned_alloc(100, 64);
	CHECK_INT(leaks_since(before), 1);
	CHECK_OK(tl_aligned_free(aligned));
	CHECK_INT(leaks_since(before), 0);
}

static void blocks_of_pools(void)
{
	uint64_t before = mark();
	tl_memory_pool* pool;
	CHECK_OK(tl_memory_pool_create(tl_device_allocator_for(0), 1 << 20, &pool));
	void* block = tl_memory_pool_allocate(pool, 4096);
	CHECK_OK(tl_memory_pool_deallocate(pool, tl_memory_pool_allocate(pool, 64)));
	CHECK_INT(leaks_since(before), 1);
	CHECK(shows("block of a memory pool; not given back to its pool"));
	CHECK_OK(tl_memory_pool_deallocate(pool, block));
	CHECK_INT(leaks_since(before), 0);
	CHECK(tl_memory_pool_allocate(pool, 512) != NULL);
	CHECK_OK(tl_memory_pool_reset(pool));
	CHECK_INT(leaks_since(before), 0);
	CHECK_OK(tl_memory_pool_destroy(pool));
}

static void immortals_are_no_leak(void)
{
	uint64_t before = mark();
	void* p = forgetful(64);
	CHECK_OK(tl_ptr_make_immortal(p));
	check_immortals++;
	CHECK_INT(leaks_since(before), 0);
}

/* covers: tl_leak_report TL_E_INVALID_ARGUMENT
 * covers: tl_leak_report_since TL_E_INVALID_ARGUMENT */
static void mistakes_are_told(void)
{
	CHECK_REFUSED(tl_leak_report("/no/such/folder/report"), -1, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_leak_report((const char*)16), -1, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_leak_report_since("/no/such/folder/report", 0), -1, TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_configure("TL_TRACK", "0"));
	CHECK_REFUSED(tl_leak_report_since(NULL, 0), -1, TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_configure("TL_TRACK", "1"));
}

/* covers: tl_leak_report TL_E_OUT_OF_MEMORY
 * covers: tl_leak_report_since TL_E_OUT_OF_MEMORY */
static void no_memory_to_look_is_an_answer(void)
{
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "0"));
	void* one = forgetful(64);
	CHECK_REFUSED(tl_leak_report("/dev/null"), -1, TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_leak_report_since("/dev/null", 0), -1, TL_E_OUT_OF_MEMORY);
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "-1"));
	CHECK_OK(tl_mem_free(one));
}

/* ---- the end of a process ---------------------------------------------------------------- */

static void* register_at_rest(void* nothing)
{
	tl_mem_new(96);
	return nothing;
}

static void* leave_a_scope_open(void* nothing)
{
	tl_mem_enter_scope();
	tl_mem_new(96);
	return nothing;
}

static void nothing_but(void) {}
static void leak_one(void) { forgetful(64); }
static void leave_scopes_open(void)
{
	tl_mem_enter_scope();
	tl_mem_new(64);
	tl_mem_function_enter(2);
}
static void end_a_thread(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, leave_a_scope_open, NULL) == 0) pthread_join(thread, NULL);
}
/* Whoever makes the next slow call releases what the thread has left: that is told, too. */
static void end_a_thread_and_go_on(void)
{
	end_a_thread();
	tl_mem_enter_scope();
	for (int i = 0; i < 5000; i++) tl_mem_new(64);
	tl_vec_new(100);
	tl_mem_exit_scope();
}
static void end_two_threads(void)
{
	end_a_thread();
	end_a_thread();
}
static void end_a_thread_and_shut_down(void)
{
	end_a_thread();
	if (tl_shutdown() != TL_OK || tl_shutdown() != TL_OK) _exit(97);
}
static void leak_and_shut_down(void)
{
	leak_one();
	if (tl_shutdown() != TL_OK) _exit(97);
}
static void* outlives;
static void release_late(void) { tl_ptr_release(outlives); }
/* As the static of a C++ program, or an array that Python still has. */
static void shut_down_first(void)
{
	atexit(release_late);
	tl_mem_enter_scope();
	outlives = tl_ptr_acquire(tl_mem_new(64));
	tl_mem_exit_scope();
	if (tl_shutdown() != TL_OK) _exit(97);
}
static void end_a_thread_at_rest(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, register_at_rest, NULL) == 0) pthread_join(thread, NULL);
}
static void* late;
static void free_late(void) { tl_mem_free(late); }
static void free_in_a_handler(void)
{
	late = forgetful(40);
	atexit(free_late);
}
static void run_no_destructor(void* object) { (void)object, _exit(99); }
static void leave_a_destructor(void)
{
	tl_type type;
	tl_type_desc description = {"never", 32, NULL, 0, run_no_destructor, 0};
	if (tl_type_define(&description, &type) == TL_OK) tl_object_new(type);
}
static void fork_and_leak(void)
{
	leak_one();
	if (fork() == 0) exit(0); /* the child's end says nothing */
	int status;
	wait(&status);
	if (status != 0) _exit(98);
	tl_configure("TL_LEAK_CHECK", "off");
}

static const struct ending {
	const char* name;
	void (*body)(void);
	const char* check;
	int status;
	const char* shows; /* on standard error; NULL = nothing */
} endings[] = {
	{"clean", nothing_but, "fail", 0, NULL},
	{"leak", leak_one, "fail", 23, "Direct leak of 64 byte(s) in 1 object(s)"},
	{"leak-reported", leak_one, "report", 0, "Direct leak of 64 byte(s) in 1 object(s)"},
	{"leak-unseen", leak_one, "off", 0, NULL},
	{"open", leave_scopes_open, "fail", 0, NULL},
	{"thread", end_a_thread, "fail", 23, "held by an open scope of a thread that has ended"},
	{"thread-goes-on", end_a_thread_and_go_on, "fail", 23, "Direct leak of 96 byte(s) in 1 object(s)"},
	{"threads", end_two_threads, "fail", 23, "SUMMARY: LeakSanitizer: 192 byte(s) leaked in 2 allocation(s)."},
	{"thread-shutdown", end_a_thread_and_shut_down, "fail", 23, "SUMMARY: LeakSanitizer: 96 byte(s) leaked in 1 allocation(s)."},
	{"shutdown", leak_and_shut_down, "fail", 23, "Direct leak of 64 byte(s) in 1 object(s)"},
	{"shutdown-first", shut_down_first, "fail", 0, NULL},
	{"leak-word", leak_one, "1", 0, "Direct leak of 64 byte(s) in 1 object(s)"},
	{"leak-word-off", leak_one, "0", 0, NULL},
	{"rest", end_a_thread_at_rest, "fail", 0, NULL},
	{"handler", free_in_a_handler, "fail", 0, NULL},
	{"destructor", leave_a_destructor, "fail", 0, NULL},
	{"fork", fork_and_leak, "fail", 0, NULL},
};

static void end_as(const char* self, const struct ending* e, const char* track)
{
	char command[512];
	snprintf(command, sizeof command, "TL_LEAK_CHECK=%s TL_TRACK=%s %s %s 2>&1", e->check, track, self, e->name);
	FILE* pipe = popen(command, "r");
	size_t n = fread(report, 1, sizeof report - 1, pipe);
	report[n] = 0;
	int status = pclose(pipe);
	CHECK_INT(WEXITSTATUS(status), e->status);
	if (WEXITSTATUS(status) != e->status) fprintf(stderr, "%s: %s\n", e->name, report);
	CHECK(e->shows != NULL ? shows(e->shows) : hides("TL Runtime"));
	if (e->shows == NULL) return;
	if (*track == '0') CHECK(shows("Run with TL_TRACK=1"));
	const char* first = strstr(report, "ERROR: LeakSanitizer");
	CHECK(first != NULL && strstr(first + 1, "ERROR: LeakSanitizer") == NULL); /* told once */
	int groups, frames;
	CHECK(read_as_leak_sanitizers(&groups, &frames) > 0);
}

int main(int count, char** arguments)
{
	for (size_t i = 0; count > 1 && i < sizeof endings / sizeof *endings; i++) {
		if (strcmp(arguments[1], endings[i].name) != 0) continue;
		endings[i].body();
		return 0;
	}
	CHECK_OK(tl_init());
	CHECK_OK(tl_configure("TL_TRACK", "1"));
	no_memory_to_look_is_an_answer(); /* before the tables exist */
	RUN(a_clean_program_leaks_nothing);
	RUN(a_float_that_nobody_takes);
	RUN(groups_come_by_site_the_largest_first);
	RUN(tools_can_read_it);
	RUN(a_reference_that_was_not_released);
	RUN(cycles_are_named_and_what_hangs_on_them_is_indirect);
	RUN(one_object_of_each_cycle_is_named);
	RUN(what_a_leak_leads_to_is_indirect);
	RUN(foreign_memory_and_its_aliases);
	RUN(what_the_host_has_back_is_no_leak);
	RUN(at_zero_and_not_freed);
	RUN(blocks_of_pools);
	RUN(mistakes_are_told);
	immortals_are_no_leak();
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		end_as(arguments[0], &endings[i], "1");
		end_as(arguments[0], &endings[i], "0");
	}
	return check_finish();
}
