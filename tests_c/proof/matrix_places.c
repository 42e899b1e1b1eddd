/* The nine places that a call can be made in. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "matrix.h"

const char* const place_names[PLACES] = {"plain", "scope",    "callback", "deleter", "thread",
                                         "child", "shutdown", "tls",      "handler"};
const char* const path_names[PATHS] = {"fast", "slow", "debug"};

bool place_answers(place p, path d) { return p != PLACE_HANDLER && (p != PLACE_CHILD || d == PATH_FAST); }

/* The work of the callbacks that have no context of ours. */
static const set_run* pending;

static void work_now(void)
{
	const set_run* run = pending;
	pending = NULL;
	if (run != NULL) run->work(run->set);
}

/* A place that does not come to pass proves nothing. */
static void must_have_run(const char* what)
{
	if (pending == NULL) return;
	fprintf(stderr, "matrix: the place was not reached: %s: %s\n", what, tl_last_error());
	_exit(3);
}

/* ---- callbacks ------------------------------------------------------------------------ */

static void told(tl_status status, const char* message, void* ctx)
{
	(void)status;
	(void)message;
	(void)ctx;
	work_now();
}

static bool asked(int32_t device, size_t requested, uint32_t attempt, void* ctx)
{
	(void)device;
	(void)requested;
	(void)attempt;
	(void)ctx;
	work_now();
	return false;
}

static void in_callback(unsigned variant)
{
	if (variant % 2 == 0) {
		tl_set_error_callback(told, NULL);
		tl_ptr_check((void*)1);
		tl_set_error_callback(NULL, NULL);
		must_have_run("error callback");
		return;
	}
	tl_mem_set_out_of_memory_callback(asked, NULL);
	tl_mem_alloc((size_t)1 << 40);
	tl_mem_set_out_of_memory_callback(NULL, NULL);
	must_have_run("out-of-memory callback");
}

/* ---- destructors and deleters ----------------------------------------------------------- */

static void deleted(void* ptr, void* ctx)
{
	(void)ptr;
	(void)ctx;
	work_now();
}

static void in_deleter(unsigned variant)
{
	static char memory[64];
	void* object;
	if (variant % 4 == 0) {
		object = tl_object_new(world_destructor_type);
		tl_mem_unregister(object);
		world_destroying = work_now;
		tl_ptr_release(object);
	} else if (variant % 4 == 1) {
		tl_mem_enter_scope();
		tl_object_new(world_destructor_type);
		world_destroying = work_now;
		tl_mem_exit_scope();
	} else if (variant % 4 == 2) {
		tl_registry_register_custom(memory, sizeof memory, deleted, NULL);
		tl_registry_unregister(memory);
	} else {
		object =
			tl_tensor_from_buffer(TL_DTYPE_F32, TL_DEVICE_CPU, SHAPE_RANK, matrix_shape, memory, NULL, deleted, NULL);
		tl_mem_unregister(object);
		tl_tensor_release(object);
	}
	world_destroying = NULL;
	must_have_run("deleter");
}

/* ---- threads --------------------------------------------------------------------------- */

static void* in_thread(void* of)
{
	const set_run* run = of;
	if (run->needs_stack) stack_open();
	run->work(run->set);
	tl_mem_exit_scopes_to(0);
	tl_arena_free();
	return NULL;
}

static void join(void* (*body)(void*), const set_run* run)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, body, (void*)(uintptr_t)run) != 0) abort();
	pthread_join(thread, NULL);
}

static pthread_key_t late_key;

static void ended(void* of)
{
	const set_run* run = of;
	pending = NULL;
	run->work(run->set);
}

/* The library's own key is older, so its destructor has run when ours does. */
static void* ends(void* of)
{
	tl_mem_free(tl_mem_alloc(64));
	pthread_setspecific(late_key, of);
	return NULL;
}

static void in_tls_destructor(const set_run* run)
{
	static bool made;
	if (!made) made = pthread_key_create(&late_key, ended) == 0;
	join(ends, run);
	must_have_run("destructor of thread-local storage");
}

/* ---- a child, a handler --------------------------------------------------------------------- */

static int in_child(const set_run* run)
{
	int status = 0;
	pid_t child = fork();
	if (child == 0) {
		run->work(run->set);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child) abort();
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void handle(int number)
{
	(void)number;
	work_now();
}

static void raise_now(void) { raise(SIGUSR1); }

/* The functions of an allocator and of a copier are called inside the slow path. */
static void in_handler(unsigned variant)
{
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
	tl_device_allocator a = world_allocator();
	tl_memory_pool* pool = NULL;
	sigaction(SIGUSR1, &action, NULL);
	if (variant % 3 == 0) world_during = raise_now;
	if (variant % 3 == 2) {
		tl_mem_enter_scope();
		tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, TL_DEVICE_CPU, SHAPE_RANK, matrix_shape);
		world_during = raise_now;
		tl_tensor_to(tensor, world_device);
		tl_mem_exit_scope();
	} else {
		tl_memory_pool_create(&a, 65536, &pool);
		if (variant % 3 == 1) world_during = raise_now;
		tl_memory_pool_destroy(pool);
	}
	must_have_run("signal handler");
}

int place_run(place p, const set_run* run)
{
	pending = run;
	switch (p) {
	case PLACE_CALLBACK: in_callback(run->variant); return 0;
	case PLACE_DELETER: in_deleter(run->variant); return 0;
	case PLACE_THREAD: join(in_thread, run); return 0;
	case PLACE_CHILD: return in_child(run);
	case PLACE_TLS: in_tls_destructor(run); return 0;
	case PLACE_HANDLER: in_handler(run->variant); return 0;
	case PLACE_SHUTDOWN:
		if (run->variant % 2 == 0) tl_shutdown(); /* what scopes held is dead; else all that follows is newly made */
		break;
	default: break;
	}
	run->work(run->set);
	return 0;
}
