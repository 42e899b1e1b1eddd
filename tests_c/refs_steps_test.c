/* A reference whose object is dead is dead, whatever happens while it is looked at: between any two instructions of the
 * fast tl_ref_check and tl_ref_get another thread finishes the object and gives its slot to the next one. The
 * processor's trap flag stops the call at each of its instructions in turn. */
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <ucontext.h>

#include "check.h"
#include "thread.h"

#if defined(__x86_64__)

enum { TRAP_FLAG = 0x100, FUNCTION_BYTES = 128, MOST_STEPS = 200 };

/* ---- the thread whose object it is ------------------------------------------------------------------------ */

enum moment { IDLE, WANTED, DYING, GO_ON, USED_AGAIN, ENOUGH };

static _Atomic int moment;
static tl_ref ref;
static tl_type type;
static void* reused; /* the slot, by the next object */

static int wait_for(int first, int second)
{
	int now;
	while ((now = atomic_load(&moment)) != first && now != second) sched_yield();
	return now;
}

/* The object is dead, and its record waits for the next generation. */
static void destroy(void* object)
{
	(void)object;
	atomic_store(&moment, DYING);
	wait_for(GO_ON, GO_ON);
}

THREAD(make_and_end, unused)
{
	void* next = NULL;
	CHECK_OK(tl_init());
	while (wait_for(WANTED, ENOUGH) == WANTED) {
		CHECK_OK(tl_ptr_release(next));
		CHECK_OK(tl_mem_enter_scope());
		void* object = tl_object_new(type);
		ref = tl_ref_of(object);
		CHECK_OK(tl_mem_exit_scope());
		next = tl_mem_alloc(64);
		if (next == object) reused = next;
		atomic_store(&moment, USED_AGAIN);
	}
	CHECK_OK(tl_ptr_release(next));
}

/* ---- the thread that looks ---------------------------------------------------------------------------------- */

static struct {
	uintptr_t function;
	int steps; /* before the object's end */
	int taken;
	bool inside, ended, left;
} trap;

static void end_object(void)
{
	if (trap.ended) return;
	trap.ended = true;
	atomic_store(&moment, GO_ON);
	wait_for(USED_AGAIN, USED_AGAIN);
}

static void on_step(int number, siginfo_t* info, void* context)
{
	greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
	const bool is_inside = (uintptr_t)registers[REG_RIP] - trap.function < FUNCTION_BYTES;
	(void)number;
	(void)info;
	if (!is_inside && !trap.inside && ++trap.taken < MOST_STEPS) return; /* on the way to the function */
	if (is_inside && !trap.inside) trap.taken = 0;
	trap.inside = true;
	trap.left = !is_inside;
	if (is_inside && trap.taken++ < trap.steps) return;
	end_object();
	registers[REG_EFL] &= ~TRAP_FLAG;
}

static inline void step(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orl $0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
	                     : "memory", "cc");
}

static bool says_dead(const char* name)
{
	if (strcmp(name, "tl_ref_get") == 0) {
		void* (*get)(tl_ref) = (void* (*)(tl_ref))trap.function;
		step();
		return get(ref) == NULL;
	}
	tl_status (*check)(tl_ref) = (tl_status(*)(tl_ref))trap.function;
	step();
	return check(ref) == TL_E_NOT_LIVE;
}

/* Ends the object after each number of steps. */
static void look_at_each_step(const char* name)
{
	trap.function = (uintptr_t)dlsym(RTLD_DEFAULT, name);
	CHECK(trap.function != 0);
	for (trap.steps = 0, trap.left = false; !trap.left && trap.steps < MOST_STEPS; trap.steps++) {
		trap.taken = 0;
		trap.inside = trap.ended = false;
		atomic_store(&moment, WANTED);
		wait_for(DYING, DYING);
		const bool dead = says_dead(name);
		if (check_failed(dead)) fprintf(stderr, "%s takes a dead object for live after %d steps\n", name, trap.steps);
		end_object();
		if (!trap.inside) {
			printf("skip: nothing stops this thread at an instruction\n");
			return;
		}
	}
	CHECK(trap.left && trap.steps > 5);
	CHECK(reused != NULL);
}

static void dead_objects_stay_dead(void)
{
	const tl_type_desc desc = {.name = "dying", .size = 64, .destructor = destroy};
	const struct sigaction on = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
	struct sigaction before;
	CHECK_OK(tl_type_define(&desc, &type));
	CHECK_INT(sigaction(SIGTRAP, &on, &before), 0);
	const pthread_t maker = start_thread(make_and_end, NULL);
	look_at_each_step("tl_ref_check");
	look_at_each_step("tl_ref_get");
	atomic_store(&moment, ENOUGH);
	pthread_join(maker, NULL);
	CHECK_INT(sigaction(SIGTRAP, &before, NULL), 0);
}

int main(void)
{
	CHECK_OK(tl_init());
	RUN(dead_objects_stay_dead);
	return check_finish();
}

#else

int main(void)
{
	printf("skip: instructions are stopped at on x86-64 alone\n");
	return 0;
}

#endif
