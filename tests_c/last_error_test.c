/* The last error: whose it is, what it says, and what leaves it alone. Its text begins with
 * the name of the function that was called, wherever that was. */
#include <signal.h>

#include "check.h"
#include "device.h"
#include "no_file.h"
#include "thread.h"

/* A string is read up to 4095 bytes; one that is longer was given all the same. */
static void long_strings_are_not_missing(void)
{
	static char text[1 << 20];
	int32_t device;
	memset(text, 'x', sizeof text - 1);
	CHECK_FAILS(tl_device_by_name(text, &device), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "name is longer than 4095 bytes") != NULL);
	CHECK_FAILS(tl_device_by_name(NULL, &device), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "name is needed") != NULL);
	CHECK_FAILS(tl_configure("TL_DEVICE", text), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "value is longer than 4095 bytes") != NULL);
	CHECK_FAILS(tl_configure(text, "1"), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "key is longer than 4095 bytes") != NULL);
	CHECK_FAILS(tl_stats_print(text), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "path is longer than 4095 bytes") != NULL);
	CHECK_FAILS(tl_registry_print_statistics(text), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "path is longer than 4095 bytes") != NULL);
	CHECK_REFUSED(tl_leak_report(text), -1, TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "path is longer than 4095 bytes") != NULL);
}

static void check_names(const char* function, tl_status status, int line)
{
	const char* text = tl_last_error();
	size_t n = strlen(function);
	check_status(tl_last_status(), status, __FILE__, line, function);
	if (check_failed(strncmp(text, function, n) == 0 && strncmp(text + n, ": ", 2) == 0))
		fprintf(stderr, "%s:%d: the message of %s is \"%s\"\n", __FILE__, line, function, text);
}

/* The call fails with that status, and the message is its own. */
#define NAMES(function, arguments, status)        \
	do {                                          \
		tl_clear_error();                         \
		(void)function arguments;                 \
		check_names(#function, status, __LINE__); \
	} while (0)

static void* const unknown = (void*)0x1230;

static void messages_begin_with_the_function(void)
{
	char* object = tl_mem_alloc(64);
	NAMES(tl_alloc_tmp, (-1), TL_E_INVALID_ARGUMENT);
	NAMES(tl_stats_get, (NULL), TL_E_INVALID_ARGUMENT);
	NAMES(tl_trace_start, (no_file()), TL_E_INVALID_ARGUMENT);
	NAMES(tl_profile_write, (no_file()), TL_E_INVALID_ARGUMENT);
	NAMES(tl_type_define, (NULL, NULL), TL_E_INVALID_ARGUMENT);
	NAMES(tl_symbols, (NULL), TL_E_INVALID_ARGUMENT);
	NAMES(tl_mem_unregister, (unknown), TL_E_UNKNOWN_POINTER);
	NAMES(tl_mem_unregister, (object), TL_E_NOT_REGISTERED);
	NAMES(tl_python_registered, (unknown), TL_E_UNSUPPORTED);
	NAMES(tl_workspace_bytes, (unknown), TL_E_UNKNOWN_POINTER);
	NAMES(tl_tensor_empty, (TL_DTYPE_F32, TL_DEVICE_CPU, 1, NULL), TL_E_INVALID_ARGUMENT);
	NAMES(tl_plan_solve, (unknown, 0), TL_E_INVALID_ARGUMENT);
	NAMES(tl_memory_pool_allocate, (unknown, 8), TL_E_INVALID_ARGUMENT);
	NAMES(tl_mem_alloc, ((size_t)1 << 60), TL_E_OUT_OF_MEMORY);
	CHECK_OK(tl_mem_free(object));
}

static int told;

static void count_told(tl_status status, const char* message, void* ctx)
{
	(void)status, (void)message, (void)ctx;
	told++;
	CHECK_STATUS(tl_ptr_release(unknown), TL_E_UNKNOWN_POINTER); /* served, and not told again */
}

/* The text of an error of the fast path is made when somebody asks for it. */
static void asking_is_no_failure(void)
{
	told = 0;
	CHECK_FAILS(tl_mem_unregister(unknown), TL_E_UNKNOWN_POINTER);
	CHECK_OK(tl_set_error_callback(count_told, NULL));
	check_names("tl_mem_unregister", TL_E_UNKNOWN_POINTER, __LINE__);
	CHECK_INT(told, 0);
	CHECK_OK(tl_set_error_callback(NULL, NULL));
}

static void successes_leave_it_alone(void)
{
	size_t of = 0;
	device d = {.access = PROT_READ | PROT_WRITE};
	tl_memory_pool* pool = device_pool(&d, 4096);
	tl_plan* plan = NULL;
	CHECK_OK(tl_plan_create(&plan));
	CHECK_STATUS(tl_ptr_release(unknown), TL_E_UNKNOWN_POINTER);
	CHECK_OK(tl_memory_pool_deallocate(pool, tl_memory_pool_allocate(pool, 64)));
	CHECK_OK(tl_memory_pool_deallocate_async(pool, tl_memory_pool_allocate_async(pool, 128, NULL), NULL));
	CHECK_INT(tl_plan_add_buffer(plan, 64, 64, 0, 1), 0);
	CHECK_OK(tl_plan_solve(plan, 0));
	CHECK_INT(tl_plan_offset(plan, 0), 0);
	CHECK(tl_symbols(&of) != NULL);
	CHECK_OK(tl_mem_free(tl_mem_alloc(32)));
	check_names("tl_ptr_release", TL_E_UNKNOWN_POINTER, __LINE__);
	CHECK_PTR(tl_memory_pool_allocate(pool, 0), NULL); /* a NULL that is right */
	CHECK_STATUS(tl_last_status(), TL_OK);
	CHECK_STATUS(tl_ptr_release(unknown), TL_E_UNKNOWN_POINTER);
	CHECK_PTR(tl_python_registered(NULL), NULL);
	CHECK_STATUS(tl_last_status(), TL_OK);
	CHECK_OK(tl_plan_destroy(plan));
	device_end(&d, pool);
}

/* ---- calls inside calls --------------------------------------------------------------- */

static bool purge_once(int32_t device, size_t requested, uint32_t attempt, void* calls)
{
	(void)device, (void)requested;
	(*(int*)calls)++;
	CHECK_OK(tl_mem_purge());
	return attempt == 1;
}

static void a_call_that_is_repeated_keeps_its_name(void)
{
	int calls = 0;
	CHECK_OK(tl_mem_set_out_of_memory_callback(purge_once, &calls));
	NAMES(tl_mem_alloc, ((size_t)1 << 46), TL_E_OUT_OF_MEMORY);
	CHECK_INT(calls, 2);
	CHECK_OK(tl_mem_set_out_of_memory_callback(NULL, NULL));
}

static void in_handler(int signal)
{
	(void)signal;
	NAMES(tl_vec_new, (4), TL_E_BUSY);
	NAMES(tl_torch_free, (unknown, 0, 0, NULL), TL_E_BUSY);
}

static void interrupted(void) { raise(SIGUSR1); }

static void from_a_handler_inside_a_call(void)
{
	struct sigaction action = {.sa_handler = in_handler, .sa_flags = SA_ONSTACK}, before;
	device d = {.access = PROT_READ | PROT_WRITE, .during = interrupted};
	CHECK(sigaction(SIGUSR1, &action, &before) == 0);
	tl_memory_pool* pool = device_pool(&d, 4096);
	CHECK(sigaction(SIGUSR1, &before, NULL) == 0);
	CHECK(pool != NULL);
	d.during = NULL;
	device_end(&d, pool);
}

static void in_a_forked_child(void)
{
	pid_t child = fork();
	if (child == 0) {
		check_failures = 0;
		NAMES(tl_vec_new, (4), TL_E_FORKED);
		NAMES(tl_torch_free, (unknown, 0, 0, NULL), TL_E_FORKED);
		_exit(check_failures != 0);
	}
	CHECK_INT(check_exit_of(child), 0);
}

/* ---- parts of the fast path that ask Go ---------------------------------------------- */

static void count_destroyed(void* object)
{
	(void)object;
	told++;
}

/* In the child the object stays as it is, and the scope is left. */
static void a_scope_that_is_left_in_a_forked_child(void)
{
	tl_type type;
	tl_type_desc description = {.name = "told", .size = 16, .destructor = count_destroyed};
	CHECK_OK(tl_type_define(&description, &type));
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_object_new(type) != NULL);
	pid_t child = fork();
	if (child == 0) {
		tl_clear_error();
		tl_status left = tl_mem_exit_scope(); /* TL_E_FORKED in the slow path */
		_exit(left != tl_last_status());
	}
	CHECK_INT(check_exit_of(child), 0);
	CHECK_OK(tl_mem_exit_scope());
}

/* The program anew, with stacks that are soon full, and a setting that is not understood. */
static void in_a_narrow_process(const char* program)
{
	pid_t child = fork();
	if (child == 0) {
		setenv("TL_ARENA_BYTES", "65536", 1);
		setenv("TL_ON_EROR", "log", 1);
		fclose(stderr); /* which tells of it */
		execl(program, program, "narrow", (char*)NULL);
		_exit(127);
	}
	CHECK_INT(check_exit_of(child), 0);
}

static int narrow(void)
{
	const int64_t shape = 4, large = 1 << 20;
	CHECK_OK(tl_set_error_callback(count_told, NULL)); /* works, whatever tl_init has to say */
	CHECK_OK(tl_mem_set_out_of_memory_callback(NULL, NULL));
	CHECK_OK(tl_mem_function_enter(1));
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, TL_DEVICE_CPU, 1, &shape);
	while (tl_ptr_inc_ref(tensor) == TL_OK && tl_mem_register(tensor) == TL_OK);
	told = 0;
	NAMES(tl_tensor_register, (tensor), TL_E_ARENA_EXHAUSTED);
	CHECK_INT(told, 1);
	NAMES(tl_tensor_in_slot, (0, TL_DTYPE_F32, 1, &large), TL_E_ARENA_EXHAUSTED);
	CHECK_INT(told, 2);
	return check_failures != 0;
}

/* ---- threads without a context ----------------------------------------------------------- */

static pthread_key_t at_end; /* made after the library's own: its destructor comes later */

static void fail_after_the_end(void* rounds)
{
	CHECK_STATUS(tl_last_status(), TL_E_UNKNOWN_POINTER); /* the thread's own, from before */
	NAMES(tl_torch_free, (unknown, 1 << 20, 0, NULL), TL_E_DEVICE);
	NAMES(tl_object_new, (~0u), TL_E_INVALID_ARGUMENT);
	NAMES(tl_ptr_release, (unknown), TL_E_UNKNOWN_POINTER);
	NAMES(tl_mem_unregister, (unknown), TL_E_UNKNOWN_POINTER);
	NAMES(tl_symbols, (NULL), TL_E_INVALID_ARGUMENT);
	NAMES(tl_device_fill, (0, unknown, 1, 8), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_ptr_release(tl_mem_alloc(32)));
	check_names("tl_device_fill", TL_E_INVALID_ARGUMENT, __LINE__); /* left alone */
	CHECK_PTR(tl_mem_alloc(0), NULL);
	CHECK_STATUS(tl_last_status(), TL_OK);
	CHECK_INT(strlen(tl_last_error()), 0);
	(*(int*)rounds)++;
}

THREAD(fail_and_end, rounds)
{
	CHECK_STATUS(tl_last_status(), TL_OK);
	CHECK_STATUS(tl_ptr_release(unknown), TL_E_UNKNOWN_POINTER);
	CHECK(pthread_setspecific(at_end, rounds) == 0);
}

static void after_the_end_of_a_thread(void)
{
	int rounds = 0;
	CHECK(pthread_key_create(&at_end, fail_after_the_end) == 0);
	for (int i = 0; i < 3; i++) run_thread(fail_and_end, &rounds); /* nothing of one is left for the next */
	CHECK_INT(rounds, 3);
	CHECK(pthread_key_delete(at_end) == 0);
}

THREAD(fail_first, gate)
{
	CHECK(tl_symbols(NULL) == NULL); /* needs no context */
	meet(gate);
	meet(gate);
	check_names("tl_symbols", TL_E_INVALID_ARGUMENT, __LINE__);
	CHECK_OK(tl_ptr_release(tl_mem_alloc(32))); /* now there is one */
	check_names("tl_symbols", TL_E_INVALID_ARGUMENT, __LINE__);
	CHECK_OK(tl_thread_detach());
	check_names("tl_symbols", TL_E_INVALID_ARGUMENT, __LINE__);
}

THREAD(has_none, unused)
{
	CHECK_STATUS(tl_last_status(), TL_OK);
	tl_clear_error();
}

static void before_the_first_call_and_after_a_detach(void)
{
	pthread_barrier_t gate;
	pthread_barrier_init(&gate, NULL, 2);
	pthread_t failing = start_thread(fail_first, &gate);
	meet(&gate);
	run_thread(has_none, NULL);
	meet(&gate);
	pthread_join(failing, NULL);
	pthread_barrier_destroy(&gate);
}

static void tell_after_the_end(void* rounds)
{
	told = 0;
	CHECK_STATUS(tl_mem_unregister(unknown), TL_E_UNKNOWN_POINTER);
	CHECK_INT(told, 1);
	CHECK_FAILS(tl_configure(NULL, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_INT(told, 2);
	(*(int*)rounds)++;
}

THREAD(tell_and_end, rounds)
{
	CHECK_OK(tl_mem_free(tl_mem_alloc(32)));
	CHECK(pthread_setspecific(at_end, rounds) == 0);
}

static void errors_after_the_end_are_told_once(void)
{
	int rounds = 0;
	CHECK(pthread_key_create(&at_end, tell_after_the_end) == 0);
	CHECK_OK(tl_set_error_callback(count_told, NULL));
	run_thread(tell_and_end, &rounds);
	CHECK_OK(tl_set_error_callback(NULL, NULL));
	CHECK_INT(rounds, 1);
	CHECK(pthread_key_delete(at_end) == 0);
}

int main(int count, char** arguments)
{
	if (count > 1) return narrow();
	CHECK_OK(tl_configure("TL_CUDA_LIBRARY", no_file())); /* drivers change the thread that loads them */
	CHECK_OK(tl_configure("TL_OPENCL_LIBRARY", no_file()));
	CHECK_OK(tl_init());
	RUN(messages_begin_with_the_function);
	RUN(long_strings_are_not_missing);
	RUN(asking_is_no_failure);
	RUN(successes_leave_it_alone);
	RUN(a_call_that_is_repeated_keeps_its_name);
	if (HANDLERS_INTERRUPT_CALLS) RUN(from_a_handler_inside_a_call);
	RUN(in_a_forked_child);
	RUN(a_scope_that_is_left_in_a_forked_child);
	in_a_narrow_process(arguments[0]);
	RUN(after_the_end_of_a_thread);
	RUN(before_the_first_call_and_after_a_detach);
	RUN(errors_after_the_end_are_told_once);
	return check_finish();
}
