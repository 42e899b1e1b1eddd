/* Signals: a handler that interrupts the slow path is refused there, by functions of the
 * fast path too, changes nothing and waits for nobody. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "device.h"
#include "thread.h"

static void *plain, *vec, *block;
static tl_tensor* tensor;
static int handled;

/* Each is answered by the fast path outside of a handler. */
static void in_handler(int signal)
{
	int64_t shape = 4;
	(void)signal;
	handled++;
	CHECK_REFUSED(tl_mem_alloc(64), 0, TL_E_BUSY);
	CHECK_REFUSED(tl_mem_new(64), 0, TL_E_BUSY);
	CHECK_FAILS(tl_ptr_inc_ref(plain), TL_E_BUSY);
	CHECK_FAILS(tl_ptr_release(plain), TL_E_BUSY);
	CHECK_FAILS(tl_mem_free(plain), TL_E_BUSY);
	CHECK_FAILS(tl_mem_enter_scope(), TL_E_BUSY);
	CHECK_FAILS(tl_mem_exit_scope(), TL_E_BUSY);
	CHECK_FAILS(tl_mem_exit_scopes_to(0), TL_E_BUSY);
	CHECK_FAILS(tl_mem_function_enter(1), TL_E_BUSY);
	CHECK_FAILS(tl_mem_function_exit(), TL_E_BUSY);
	CHECK_FAILS(tl_vec_push(vec, plain), TL_E_BUSY);
	CHECK_REFUSED(tl_vec_len(vec), -1, TL_E_BUSY);
	CHECK_REFUSED(tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 1, &shape), 0, TL_E_BUSY);
	CHECK_FAILS(tl_tensor_release(tensor), TL_E_BUSY);
	CHECK_FAILS(tl_registry_register(block, 64, TL_ALLOC_MALLOC), TL_E_BUSY);
	CHECK_REFUSED(tl_numpy_malloc(NULL, 64), 0, TL_E_BUSY);
	tl_clear_error();
	CHECK_PTR(tl_track_site(plain, __FILE__, __LINE__), plain);
	CHECK_OK(tl_log_alloc(plain, 64, __FILE__, __LINE__));
	CHECK_OK(tl_last_status());
}

static void interrupted(void) { raise(SIGUSR1); }

/* The allocator of a pool is called inside the slow path. */
static void calls_are_refused_while_another_is_inside(void)
{
	struct sigaction action = {.sa_handler = in_handler, .sa_flags = SA_ONSTACK};
	int64_t shape = 4, depth;
	device d = {.access = PROT_READ | PROT_WRITE, .during = interrupted};
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_function_enter(1));
	plain = tl_mem_new(64);
	vec = tl_vec_new(4);
	block = malloc(64);
	tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, TL_DEVICE_CPU, 1, &shape);
	depth = tl_get_scope_depth();
	tl_memory_pool* pool = device_pool(&d, 4096);
	d.during = NULL;
	CHECK_INT(handled, 1);
	CHECK_INT(tl_get_scope_depth(), depth);
	CHECK_COUNT(plain, 1);
	CHECK_COUNT(tensor, 1);
	CHECK_INT(tl_vec_len(vec), 0);
	CHECK(!tl_registry_is_registered(block));
	device_end(&d, pool);
	free(block);
	CHECK_OK(tl_mem_function_exit());
	CHECK_OK(tl_mem_exit_scope());
}

/* ---- a pool whose lock the interrupted call holds ------------------------------------------ */

static tl_memory_pool* busy_pool;
static atomic_int served, refused;

static void allocate_in_handler(int signal)
{
	(void)signal;
	void* from = tl_memory_pool_allocate(busy_pool, 64);
	atomic_fetch_add(from != NULL ? &served : &refused, 1);
	if (from == NULL) CHECK_STATUS(tl_last_status(), TL_E_BUSY);
}

static atomic_bool enough;

THREAD(interrupt, thread)
{
	while (!atomic_load(&enough)) {
		pthread_kill(*(pthread_t*)thread, SIGUSR2);
		usleep(500);
	}
}

/* A reset is linear in the blocks that a pool ever had, and holds its lock. */
static void a_handler_does_not_wait_for_its_own_thread(void)
{
	enum { BLOCKS = 100000, SIGNALS = 200, PATIENCE = 60 };
	struct sigaction action = {.sa_handler = allocate_in_handler, .sa_flags = SA_ONSTACK | SA_RESTART};
	device d = {.access = PROT_NONE};
	pthread_t self = pthread_self(), other;
	busy_pool = device_pool(&d, (size_t)BLOCKS * 256);
	for (int i = 0; i < BLOCKS; i++) CHECK(tl_memory_pool_allocate(busy_pool, 64) != NULL);
	CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
	other = start_thread(interrupt, &self);
	double until = check_seconds() + PATIENCE;
	while (atomic_load(&served) + atomic_load(&refused) < SIGNALS && check_seconds() < until)
		CHECK_OK(tl_memory_pool_reset(busy_pool));
	atomic_store(&enough, true);
	pthread_join(other, NULL);
	CHECK(atomic_load(&refused) > 0);
	CHECK_OK(tl_memory_pool_reset(busy_pool));
	device_end(&d, busy_pool);
}

int main(void)
{
	if (HANDLERS_INTERRUPT_CALLS) RUN(calls_are_refused_while_another_is_inside);
	if (HANDLERS_INTERRUPT_CALLS) RUN(a_handler_does_not_wait_for_its_own_thread);
	return check_finish();
}
