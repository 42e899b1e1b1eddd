/* A process under limits of its host: the program again, with a limit from before it was
 * loaded, from right after that, or from after its first use of the library. It uses every
 * family and ends with a status that tells how that went; that it ends is half the test.
 *
 * The program begins with `if (argc > 1) return limited_main(argc, argv);`. */
#pragma once

#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "thread.h"

enum { LIMITED_MIB = 1 << 20, LIMITED_PATIENCE = 60 /* seconds */ };

/* How a process ended. */
enum {
	LIMITED_WORKS = 0,
	LIMITED_FAILED = 1,
	LIMITED_REFUSED = 2, /* the first use, with TL_E_OUT_OF_MEMORY and a sentence */
	LIMITED_SHORT = 3,   /* some calls, alike; what was made was released */
	LIMITED_SKIPPED = 77,
	LIMITED_NOT_LOADED = 127, /* by the dynamic linker, which says why */
	LIMITED_KILLED = 1000,    /* and the number of the signal */
};

typedef struct limited_resource {
	const char* name;
	int resource;
	const char* lack; /* a part of the sentence when the first use is refused for it */
} limited_resource;

static const limited_resource limited_resources[] = {
	{"threads", RLIMIT_NPROC, "threads that it needs (RLIMIT_NPROC"},
	{"data", RLIMIT_DATA, "memory that it needs (RLIMIT_DATA)"},
	{"addresses", RLIMIT_AS, "address space that it needs (RLIMIT_AS)"},
	{"stack", RLIMIT_STACK, "no limit of stacks is too low"},
	{"files", RLIMIT_NOFILE, "two descriptors that it needs (RLIMIT_NOFILE)"},
};

static inline const limited_resource* limited_resource_of(const char* name)
{
	for (size_t i = 0; i < sizeof limited_resources / sizeof *limited_resources; i++)
		if (strcmp(limited_resources[i].name, name) == 0) return &limited_resources[i];
	fprintf(stderr, "no resource %s\n", name);
	exit(LIMITED_FAILED);
}

/* A limit of threads holds for a user, and not for root: the process becomes one whom no
 * other process belongs to. */
static inline void become_somebody(void)
{
	unsigned user = 200000 + (unsigned)getpid() % 1000000;
	if (geteuid() != 0 || setgroups(0, NULL) != 0 || setgid(user) != 0 || setuid(user) != 0) exit(LIMITED_SKIPPED);
}

static inline void set_limit(int resource, rlim_t value, bool can_be_raised)
{
	struct rlimit limit = {value, can_be_raised ? RLIM_INFINITY : value};
	if (resource == RLIMIT_NPROC) become_somebody();
	if (can_be_raised && getrlimit(resource, &limit) == 0) limit.rlim_cur = value;
	if (setrlimit(resource, &limit) != 0) exit(LIMITED_SKIPPED);
}

static inline void raise_limit(int resource)
{
	struct rlimit limit;
	CHECK_INT(getrlimit(resource, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	CHECK_INT(setrlimit(resource, &limit), 0);
}

/* ---- what the process does --------------------------------------------------------- */

static int limited_short_calls; /* that found no memory */

static inline bool limited_fine(tl_status status)
{
	if (status == TL_OK) return true;
	if (check_failed(status == TL_E_OUT_OF_MEMORY || status == TL_E_LIMIT || status == TL_E_ARENA_EXHAUSTED))
		fprintf(stderr, "%s; last error: %s\n", tl_status_string(status), tl_last_error());
	CHECK(strncmp(tl_last_error(), "tl_", 3) == 0);
	__atomic_add_fetch(&limited_short_calls, 1, __ATOMIC_RELAXED);
	return false;
}

static inline void* limited_made(void* pointer)
{
	if (pointer == NULL) limited_fine(tl_last_status());
	return pointer;
}

static inline void limited_objects(void)
{
	if (!limited_fine(tl_mem_enter_scope())) return;
	for (size_t bytes = 16; bytes <= 8 * LIMITED_MIB; bytes *= 3) {
		char* object = limited_made(tl_mem_new(bytes));
		if (object != NULL) object[bytes - 1] = 1;
	}
	void* vec = limited_made(tl_vec_new(1));
	for (int i = 0; i < 300 && vec != NULL; i++)
		if (!limited_fine(tl_vec_push(vec, limited_made(tl_mem_new(48))))) break;
	void* block = malloc(100);
	if (block != NULL && !limited_fine(tl_mem_register_struct(block))) free(block);
	CHECK_OK(tl_mem_exit_scope());
}

static inline void limited_tensors(void)
{
	const int64_t shape[2] = {100, 70};
	if (!limited_fine(tl_mem_enter_scope())) return;
	for (int i = 0; i < 5; i++) {
		tl_tensor* t = limited_made(tl_tensor_new_zeroed(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape));
		if (t != NULL) limited_made(tl_view_reshape(t, 1, (const int64_t[]){7000}));
	}
	CHECK_OK(tl_mem_exit_scope());
}

static inline void limited_types(int count)
{
	const size_t offsets[] = {0, 8};
	const tl_type_desc desc = {.name = "limited", .size = 24, .pointer_offsets = offsets, .num_pointers = 2};
	for (int i = 0; i < count; i++) {
		tl_type type = 0;
		if (!limited_fine(tl_type_define(&desc, &type)) || !limited_fine(tl_mem_enter_scope())) return;
		void* object = limited_made(tl_object_new(type));
		if (object != NULL && limited_fine(tl_mem_register_struct(object))) limited_made(tl_mem_deep_clone(object));
		CHECK_OK(tl_mem_exit_scope());
	}
}

static inline void limited_plan(int64_t buffers)
{
	tl_plan* plan = NULL;
	if (!limited_fine(tl_plan_create(&plan))) return;
	for (int64_t i = 0; i < buffers; i++) {
		if (tl_plan_add_buffer(plan, (uint64_t)(64 + i % 1000 * 16), 64, i, i + 1 + i % 7) < 0) {
			limited_fine(tl_last_status());
			break;
		}
	}
	if (limited_fine(tl_plan_solve(plan, 0))) limited_fine(tl_plan_validate(plan));
	CHECK_OK(tl_plan_destroy(plan));
}

static inline void limited_pools(void)
{
	tl_memory_pool* pool = NULL;
	if (!limited_fine(tl_memory_pool_create(tl_device_allocator_for(TL_DEVICE_CPU), LIMITED_MIB, &pool))) return;
	void* block = limited_made(tl_memory_pool_allocate(pool, 10000));
	if (block != NULL) CHECK_OK(tl_memory_pool_deallocate(pool, block));
	CHECK_OK(tl_memory_pool_destroy(pool));
}

/* Calls that make garbage for Go's collector. */
static inline void limited_errors(int count)
{
	for (int i = 0; i < count; i++) {
		tl_status status = tl_ptr_release((void*)0x1001);
		if (status != TL_E_UNKNOWN_POINTER) /* of a thread that could not be attached */
			limited_fine(status);
		CHECK(strncmp(tl_last_error(), "tl_ptr_release: ", 16) == 0);
	}
}

static inline void* limited_thread(void* unused)
{
	limited_objects();
	limited_tensors();
	limited_errors(200);
	return unused;
}

/* As many threads as there may be. */
static inline void limited_threads(int count)
{
	pthread_t threads[64];
	pthread_attr_t attributes;
	int started = 0;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
	while (started < count && pthread_create(&threads[started], &attributes, limited_thread, NULL) == 0) started++;
	limited_thread(NULL);
	for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

static inline void use_everything(void)
{
	limited_objects();
	limited_tensors();
	limited_types(10);
	limited_plan(200);
	limited_pools();
	limited_threads(6);
	limited_errors(3000);
	if (limited_short_calls == 0) CHECK_INT(tl_mem_collect_cycles(), 0);
	CHECK_OK(tl_mem_purge());
}

/* ---- the process ------------------------------------------------------------------- */

static inline int limited_end(void)
{
	int status = check_finish();
	return status != 0 ? LIMITED_FAILED : limited_short_calls != 0 ? LIMITED_SHORT : LIMITED_WORKS;
}

/* The first use is refused for a reason that is told, again and again. */
static inline int limited_refused(tl_status status, const char* lack)
{
	CHECK_STATUS(status, TL_E_OUT_OF_MEMORY);
	CHECK(strncmp(tl_last_error(), "tl_init: out of memory", 22) == 0);
	CHECK_PTR(tl_mem_alloc(64), NULL);
	CHECK_STATUS(tl_last_status(), TL_E_OUT_OF_MEMORY);
	CHECK_FAILS(tl_mem_enter_scope(), TL_E_OUT_OF_MEMORY);
	CHECK_FAILS(tl_init(), TL_E_OUT_OF_MEMORY);
	if (check_failed(strstr(tl_last_error(), lack) != NULL)) fprintf(stderr, "%s; want: %s\n", tl_last_error(), lack);
	return check_failures != 0 ? LIMITED_FAILED : LIMITED_REFUSED;
}

static inline int limited_main(int argc, char** argv)
{
	const char* moment = argc > 3 ? argv[1] : "";
	const limited_resource* limited = limited_resource_of(argc > 3 ? argv[2] : "");
	int resource = limited->resource;
	rlim_t value = strtoull(argc > 3 ? argv[3] : "0", NULL, 10);
	alarm(LIMITED_PATIENCE);
	if (strcmp(moment, "after") == 0) set_limit(resource, value, false);
	tl_status status = tl_init();
	if (strcmp(moment, "raised") == 0) {
		if (status != TL_OK) CHECK_STATUS(status, TL_E_OUT_OF_MEMORY);
		raise_limit(resource);
		status = tl_init();
		CHECK_OK(status);
	}
	if (status != TL_OK) return limited_refused(status, limited->lack);
	use_everything();
	if (strcmp(moment, "used") == 0) {
		set_limit(resource, value, false);
		use_everything();
	}
	return limited_end();
}

/* Starts the program again, which is then limited; setting (NULL: none) is for its environment. */
static inline pid_t start_limited(const char* program, const char* moment, const char* resource, rlim_t value,
                                  char* setting)
{
	char text[32];
	bool before = strcmp(moment, "before") == 0, raised = strcmp(moment, "raised") == 0;
	snprintf(text, sizeof text, "%llu", (unsigned long long)value);
	fflush(NULL);
	pid_t child = fork();
	if (child != 0) return child;
	if (setting != NULL) putenv(setting);
	if (freopen("/dev/null", "w", stdout) == NULL) _exit(LIMITED_FAILED);
	if (before || raised) set_limit(limited_resource_of(resource)->resource, value, raised);
	execl(program, program, moment, resource, text, (char*)NULL);
	_exit(errno == EACCES ? LIMITED_SKIPPED : LIMITED_NOT_LOADED);
}

/* Waits for its end. */
static inline int end_limited(pid_t child)
{
	int status = 0;
	if (child < 0 || waitpid(child, &status, 0) != child) return LIMITED_FAILED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : LIMITED_KILLED + WTERMSIG(status);
}

static inline int run_limited(const char* program, const char* moment, const char* resource, rlim_t value,
                              char* setting)
{
	return end_limited(start_limited(program, moment, resource, value, setting));
}
