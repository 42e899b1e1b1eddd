/* What the host refuses beside limits: mmap and pthread_create at any moment, keys of
 * thread-specific data, mappings, a /proc to read. Each case is a new process.
 *
 *     host_refuses_test                  runs all cases
 *     host_refuses_test CASE 0 0         is one of them
 */
#include <dlfcn.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>

#include "heap_place.h"
#include "limited.h"

static const char* program;

/* ---- functions that fail ------------------------------------------------------------ */

/* So many calls succeed, and those after them fail, from loading on; below 0: all succeed.
 * The library calls these before main, too. */
typedef struct faults {
	const char* setting;
	long left;
	bool read;
} faults;

static faults mapping_faults = {"TL_TEST_MAPPINGS", -1, false}, thread_faults = {"TL_TEST_THREADS", -1, false};

static bool fails(faults* f)
{
	if (!f->read) {
		const char* text = getenv(f->setting);
		f->read = true;
		f->left = text != NULL ? atol(text) : -1;
	}
	long left = __atomic_load_n(&f->left, __ATOMIC_RELAXED);
	while (left > 0 &&
	       !__atomic_compare_exchange_n(&f->left, &left, left - 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
	return left == 0;
}

static void fail_from_here_on(void) { mapping_faults.left = thread_faults.left = 0; }
static void fail_no_more(void) { mapping_faults.left = thread_faults.left = -1; }

void* mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset)
{
	static void* (*real)(void*, size_t, int, int, int, off_t);
	if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "mmap");
	if (heap_place_is_last(address, bytes, flags)) mapping_faults.left = 0;
	if (!fails(&mapping_faults)) return real(address, bytes, protection, flags, file, offset);
	errno = ENOMEM;
	return MAP_FAILED;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument)
{
	static int (*real)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
	if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "pthread_create");
	return fails(&thread_faults) ? EAGAIN : real(thread, attributes, body, argument);
}

/* glibc has no memory for the attributes of a thread that runs: they are destroyed already. */
static bool no_attributes;

int pthread_getattr_np(pthread_t thread, pthread_attr_t* attributes)
{
	static int (*real)(pthread_t, pthread_attr_t*);
	if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "pthread_getattr_np");
	int error = real(thread, attributes);
	if (error != 0 || !no_attributes) return error;
	pthread_attr_destroy(attributes);
	return ENOMEM;
}

/* ---- mappings that are used up ------------------------------------------------------- */

enum { PAGE = 4096, MOST_PAGES = 1 << 20 };
static char* used_up;
static size_t used_up_bytes;

/* Pages that cannot be merged, until there may be no more mappings; then so many less. */
static bool use_up_mappings(int left)
{
	int count = 0;
	used_up = mmap(NULL, (size_t)MOST_PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	while (count < MOST_PAGES && mprotect(used_up + (size_t)count * PAGE, PAGE, count % 2 ? PROT_NONE : PROT_READ) == 0)
		count++;
	used_up_bytes = (size_t)(count - left) * PAGE;
	munmap(used_up + used_up_bytes, (size_t)MOST_PAGES * PAGE - used_up_bytes);
	return count < MOST_PAGES;
}

/* Before the initialisation of any library; the environment has how many mappings are to be
 * left, or where Go's heap is to begin. */
static void prepare_before_loading(int argc, char** argv, char** environment)
{
	static const char name[] = "TL_TEST_MAPPINGS_LEFT=";
	(void)argc;
	(void)argv;
	heap_place_choose(environment);
	for (; *environment != NULL; environment++)
		if (strncmp(*environment, name, sizeof name - 1) == 0) use_up_mappings(atoi(*environment + sizeof name - 1));
}
__attribute__((section(".preinit_array"), used)) static void (*const at_first)(int, char**,
                                                                               char**) = prepare_before_loading;

/* ---- the cases ---------------------------------------------------------------------- */

/* Go's start met the failure, or nobody did. What comes after it works. */
static int start_with_failures(void)
{
	tl_status status = tl_init();
	if (status != TL_OK) CHECK_STATUS(status, TL_E_OUT_OF_MEMORY);
	if (status != TL_OK && used_up != NULL) CHECK(strstr(tl_last_error(), "vm.max_map_count") != NULL);
	fail_no_more();
	if (used_up != NULL) munmap(used_up, used_up_bytes);
	CHECK_OK(tl_init());
	use_everything();
	int end = limited_end();
	return end == LIMITED_WORKS && status != TL_OK ? LIMITED_REFUSED : end;
}

static void* first_use_that_is_refused(void* barrier)
{
	CHECK_FAILS(tl_init(), TL_E_OUT_OF_MEMORY);
	meet(barrier);
	return NULL;
}

/* Each thread takes a few KiB of Go's heap for as long as it lives: together more than an arena
 * has from its last chunk on. */
static int first_uses_at_the_end_of_an_arena(void)
{
	enum { THREADS = 600 };
	static pthread_t threads[THREADS];
	pthread_barrier_t barrier;
	CHECK_INT(mapping_faults.left, 0);
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++) threads[i] = start_thread(first_use_that_is_refused, &barrier);
	meet(&barrier);
	for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
	return start_with_failures();
}

static int fail_after_the_first_use(void)
{
	CHECK_OK(tl_init());
	fail_from_here_on();
	for (int i = 0; i < 3; i++) use_everything();
	fail_no_more();
	limited_threads(16);
	return limited_end();
}

static void what_a_plan_wants_is_refused(tl_plan* plan)
{
	const tl_plan_buffer buffer = {.bytes = 64, .alignment = 64, .first = 0, .end = 1};
	const int64_t space = 0;
	tl_plan* another = NULL;
	CHECK_FAILS(tl_plan_create(&another), TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_plan_add_buffer(plan, 64, 64, 0, 1), -1, TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_plan_add_buffers(plan, &buffer, 1), -1, TL_E_OUT_OF_MEMORY);
	CHECK_FAILS(tl_plan_add_gap(plan, 0, 0, 1), TL_E_OUT_OF_MEMORY);
	CHECK_FAILS(tl_plan_set_name(plan, 0, "a"), TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_plan_add_space(plan, 0), -1, TL_E_OUT_OF_MEMORY);
	CHECK_FAILS(tl_plan_set_spaces(plan, 0, &space, 1), TL_E_OUT_OF_MEMORY);
	CHECK_FAILS(tl_plan_solve(plan, 0), TL_E_OUT_OF_MEMORY);
	CHECK_FAILS(tl_plan_solve_with(plan, &(tl_plan_options){.struct_size = sizeof(tl_plan_options)}),
	            TL_E_OUT_OF_MEMORY);
	CHECK_FAILS(tl_plan_validate(plan), TL_E_OUT_OF_MEMORY);
	CHECK(strstr(tl_last_error(), ": TL_E_OUT_OF_MEMORY: what Go keeps in reserve is nearly used up") != NULL);
}

/* Until calls are refused; then those that release work, and with room again all do. */
static int fill_what_go_has(void)
{
	enum { MOST_PLANS = 4000 };
	static tl_plan* plans[MOST_PLANS];
	int count = 0;
	CHECK_OK(tl_init());
	void* held = tl_mem_alloc(8 * LIMITED_MIB);
	fail_from_here_on();
	while (count < MOST_PLANS && tl_plan_create(&plans[count]) == TL_OK) {
		count++;
		for (int64_t i = 0; i < 1000; i++)
			if (tl_plan_add_buffer(plans[count - 1], 64, 64, i, i + 1) < 0) break;
	}
	CHECK(count > 1 && count < MOST_PLANS);
	what_a_plan_wants_is_refused(plans[0]);
	CHECK_OK(tl_ptr_release(tl_vec_new(1))); /* needs no Go */
	limited_threads(2);
	CHECK_OK(tl_ptr_release(held));
	for (int i = 0; i < count; i++) CHECK_OK(tl_plan_destroy(plans[i]));
	fail_no_more();
	limited_short_calls = 0;
	use_everything();
	return limited_end();
}

/* Memory comes and goes: each time a little more of it is wanted, and nothing given back. */
static int memory_comes_and_goes(void)
{
	enum { TIMES = 16, PLANS = 100 };
	CHECK_OK(tl_init());
	for (int i = 0; i < TIMES; i++) {
		tl_plan* plan = NULL;
		int most = i == 0 ? 40 * PLANS : PLANS;
		fail_from_here_on();
		while (most-- > 0 && tl_plan_create(&plan) == TL_OK)
			for (int64_t n = 0; n < 1000 && tl_plan_add_buffer(plan, 64, 64, n, n + 1) >= 0; n++) {}
		CHECK(i > 0 || tl_last_status() == TL_E_OUT_OF_MEMORY);
		fail_no_more();
		CHECK_OK(tl_plan_create(&plan));
	}
	use_everything();
	return limited_end();
}

/* What one call wants of Go's heap is more than Go keeps in reserve. */
static int plan_more_than_there_is(void)
{
	enum { MANY = 200000 };
	tl_plan_buffer* buffers = calloc(10 * MANY, sizeof *buffers);
	tl_plan* plan = NULL;
	CHECK(buffers != NULL);
	for (int64_t i = 0; i < 10 * MANY; i++)
		buffers[i] = (tl_plan_buffer){.bytes = 64, .alignment = 64, .first = i, .end = i + 1};
	CHECK_OK(tl_plan_create(&plan));
	CHECK_INT(tl_plan_add_buffers(plan, buffers, MANY), 0);
	set_limit(RLIMIT_AS, LIMITED_MIB, true);
	CHECK_FAILS(tl_plan_solve(plan, 0), TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_plan_add_buffers(plan, buffers, 10 * MANY), -1, TL_E_OUT_OF_MEMORY);
	CHECK(strstr(tl_last_error(), "the system refuses the memory that a plan of 2200000 buffers needs") != NULL);
	raise_limit(RLIMIT_AS);
	CHECK_INT(tl_plan_add_buffers(plan, buffers, 1), MANY);
	CHECK_OK(tl_plan_destroy(plan));
	free(buffers);
	use_everything();
	return limited_end();
}

/* The same where a list of the caller's is copied. */
static int lists_that_are_too_long(void)
{
	enum { MANY = 4 << 20 };
	size_t* offsets = calloc(MANY, sizeof *offsets);
	void** pointers = calloc(MANY, sizeof *pointers);
	tl_type type = 0;
	uint64_t buffer = 0;
	CHECK(offsets != NULL && pointers != NULL);
	CHECK_OK(tl_init());
	for (size_t i = 0; i < MANY; i++) offsets[i] = 8 * i;
	const tl_type_desc desc = {
		.name = "wide", .size = 8 * (size_t)MANY, .pointer_offsets = offsets, .num_pointers = MANY};
	set_limit(RLIMIT_AS, LIMITED_MIB, true);
	CHECK_FAILS(tl_type_define(&desc, &type), TL_E_OUT_OF_MEMORY);
	CHECK(strstr(tl_last_error(), "the system refuses the memory for 4194304 values") != NULL);
	CHECK_FAILS(tl_registry_register_many(pointers, offsets, MANY, TL_ALLOC_MALLOC), TL_E_OUT_OF_MEMORY);
	CHECK_FAILS(tl_registry_register_buffer(offsets, 8 * (size_t)MANY, pointers, MANY, TL_ALLOC_MALLOC, &buffer),
	            TL_E_OUT_OF_MEMORY);
	CHECK_INT(tl_registry_unregister_many(pointers, MANY), MANY); /* NULL is a value */
	raise_limit(RLIMIT_AS);
	CHECK_OK(tl_type_define(&desc, &type));
	free(offsets);
	free(pointers);
	return limited_end();
}

static void* other_library_s_value(pthread_key_t keys[], int* count)
{
	while (pthread_key_create(&keys[*count], NULL) == 0) ++*count;
	CHECK_INT(pthread_setspecific(keys[0], keys), 0);
	return keys;
}

static int no_key_is_left(void)
{
	static pthread_key_t keys[2000];
	int count = 0;
	void* value = other_library_s_value(keys, &count);
	CHECK_FAILS(tl_init(), TL_E_OUT_OF_MEMORY);
	CHECK(strstr(tl_last_error(), "PTHREAD_KEYS_MAX") != NULL);
	CHECK_PTR(pthread_getspecific(keys[0]), value);
	CHECK_INT(pthread_key_delete(keys[count - 1]), 0);
	CHECK_OK(tl_init());
	use_everything();
	CHECK_PTR(pthread_getspecific(keys[0]), value);
	return limited_end();
}

static int no_mapping_is_left_later(void)
{
	CHECK_OK(tl_init());
	use_everything();
	if (!use_up_mappings(0)) return LIMITED_SKIPPED;
	use_everything();
	return limited_end();
}

static int stacks_cannot_be_read(void)
{
	no_attributes = true;
	CHECK_OK(tl_init());
	use_everything();
	limited_threads(2);
	return limited_end();
}

/* All that is mapped would have to stay in memory. */
static int memory_is_locked(void)
{
	if (mlockall(MCL_FUTURE) != 0) return LIMITED_SKIPPED;
	CHECK_FAILS(tl_init(), TL_E_OUT_OF_MEMORY);
	munlockall();
	CHECK_OK(tl_init());
	use_everything();
	return limited_end();
}

/* Nothing under /proc can be read; then the program with a limit, from loading on. */
static int proc_is_hidden(const char* mebibytes)
{
	char text[32];
	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", "/proc", "tmpfs", 0, NULL) != 0)
		return LIMITED_SKIPPED;
	CHECK(access("/proc/self/statm", F_OK) != 0);
	snprintf(text, sizeof text, "%llu", strtoull(mebibytes, NULL, 10) << 20);
	set_limit(RLIMIT_AS, strtoull(text, NULL, 10), false);
	execl(program, program, "after", "addresses", text, (char*)NULL);
	return LIMITED_FAILED;
}

static const struct {
	const char* name;
	int (*run)(void);
} cases[] = {
	{"start", start_with_failures},   {"later", fail_after_the_first_use},        {"fill", fill_what_go_has},
	{"keys", no_key_is_left},         {"mappings", no_mapping_is_left_later},     {"plan", plan_more_than_there_is},
	{"locked", memory_is_locked},     {"lists", lists_that_are_too_long},         {"again", memory_comes_and_goes},
	{"stack", stacks_cannot_be_read}, {"end", first_uses_at_the_end_of_an_arena},
};

static int run_as_case(int argc, char** argv)
{
	alarm(LIMITED_PATIENCE);
	if (argc == 4 && strcmp(argv[1], "hidden") == 0) return proc_is_hidden(argv[2]);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (strcmp(argv[1], cases[i].name) == 0) return cases[i].run();
	return limited_main(argc, argv);
}

/* ---- the tests ---------------------------------------------------------------------- */

/* Each call of Go's start fails in turn, with all after it. */
static void start_with(const char* setting, int most)
{
	int result = -1, refused = 0;
	for (int n = 0; n < most && result != LIMITED_WORKS; n++) {
		char text[64];
		snprintf(text, sizeof text, "%s=%d", setting, n);
		result = run_limited(program, "start", "0", 0, text);
		refused += result == LIMITED_REFUSED;
		if (check_failed(result == LIMITED_REFUSED || result == LIMITED_WORKS))
			fprintf(stderr, "%s: %d\n", text, result);
	}
	CHECK_INT(result, LIMITED_WORKS);
	CHECK(refused > 0);
	printf("%s: refused up to %d\n", setting, refused);
}

TEST(mmap_that_fails_in_the_start_is_a_status) { start_with("TL_TEST_MAPPINGS", 100); }
TEST(pthread_create_that_fails_in_the_start_is_a_status) { start_with("TL_TEST_THREADS", 100); }

/* Go's seed says where in its arena the heap begins: seeds are tried until that is the end. */
TEST(a_heap_that_begins_at_the_end_of_an_arena_grows)
{
	int result = HEAP_PLACE_OTHER;
	for (int seed = 1; seed < 500 && result == HEAP_PLACE_OTHER; seed++) {
		char text[64];
		snprintf(text, sizeof text, "TL_TEST_SEED=%d", seed);
		result = run_limited(program, "end", "0", 0, text);
		if (result != HEAP_PLACE_OTHER) printf("%s: the last chunk of an arena\n", text);
	}
	CHECK_INT(result, LIMITED_REFUSED);
}

static void expect(const char* name, int first, int second)
{
	int result = run_limited(program, name, "0", 0, NULL);
	if (result == LIMITED_SKIPPED) printf("skip: %s: not on this machine\n", name);
	else if (check_failed(result == first || result == second)) fprintf(stderr, "%s: %d\n", name, result);
}

TEST(what_fails_later_ends_nothing) { expect("later", LIMITED_WORKS, LIMITED_SHORT); }
TEST(calls_are_refused_before_go_is_out_of_memory) { expect("fill", LIMITED_WORKS, LIMITED_WORKS); }
TEST(a_refusal_that_is_over_uses_no_reserve_up) { expect("again", LIMITED_WORKS, LIMITED_WORKS); }
TEST(a_plan_that_is_too_large_is_a_status) { expect("plan", LIMITED_WORKS, LIMITED_WORKS); }
TEST(lists_that_are_too_long_are_a_status) { expect("lists", LIMITED_WORKS, LIMITED_WORKS); }
TEST(keys_of_others_stay_theirs) { expect("keys", LIMITED_WORKS, LIMITED_WORKS); }
TEST(a_stack_that_cannot_be_read_ends_nothing) { expect("stack", LIMITED_WORKS, LIMITED_WORKS); }
TEST(locked_memory_is_a_status) { expect("locked", LIMITED_WORKS, LIMITED_WORKS); }

TEST(too_many_mappings_are_a_status)
{
	int works_from = -1;
	expect("mappings", LIMITED_SHORT, LIMITED_WORKS);
	for (int left = 0; left < 400; left += left < 60 ? 4 : 20) {
		char text[64];
		snprintf(text, sizeof text, "TL_TEST_MAPPINGS_LEFT=%d", left);
		int result = run_limited(program, "start", "0", 0, text);
		if (result == LIMITED_WORKS && works_from < 0) works_from = left;
		if (check_failed(result == LIMITED_REFUSED || result == LIMITED_WORKS))
			fprintf(stderr, "%s: %d\n", text, result);
	}
	CHECK(works_from > 0);
	printf("works with %d mappings\n", works_from);
}

TEST(address_space_is_measured_without_proc)
{
	static const int mebibytes[] = {64, 512, 1024, 1300, 1400, 1500, 1600, 1700, 1800, 1900, 2048, 4096};
	int working = 0;
	for (size_t i = 0; i < sizeof mebibytes / sizeof *mebibytes; i++) {
		char text[16];
		int status = -1;
		snprintf(text, sizeof text, "%d", mebibytes[i]);
		pid_t child = fork();
		if (child == 0) {
			if (freopen("/dev/null", "w", stdout) == NULL) _exit(LIMITED_FAILED);
			execl(program, program, "hidden", text, "0", (char*)NULL);
		}
		CHECK_INT(waitpid(child, &status, 0), child);
		int result = WIFEXITED(status) ? WEXITSTATUS(status) : LIMITED_KILLED + WTERMSIG(status);
		if (result == LIMITED_SKIPPED) {
			printf("skip: /proc cannot be hidden here\n");
			return;
		}
		working += result == LIMITED_WORKS || result == LIMITED_SHORT;
		if (check_failed(result == LIMITED_REFUSED || result == LIMITED_WORKS || result == LIMITED_SHORT))
			fprintf(stderr, "hidden /proc, %s MiB: %d\n", text, result);
	}
	CHECK(working > 0);
}

int main(int argc, char** argv)
{
	program = argv[0];
	if (argc > 1) return run_as_case(argc, argv);
	return check_tests();
}
