/* Threads that come, hold, hand over and end: thousands alive at once, first calls
 * together, and what a thread leaves behind. */
#include <sched.h>
#include <stdatomic.h>

#include "check.h"
#include "thread.h"

static tl_type noisy_type;
static atomic_int destroyed;

static void count_destroyed(void* object)
{
	(void)object;
	atomic_fetch_add(&destroyed, 1);
}

/* Any slow call lets this thread finish what ended threads left. */
static void settle(void)
{
	for (int i = 0; i < 100; i++) {
		CHECK_OK(tl_mem_enter_scope());
		CHECK_OK(tl_mem_exit_scope());
		CHECK_OK(tl_mem_purge());
		const tl_stats stats = check_stats();
		if (stats.live_objects == 0 && stats.foreign_live == 0) return;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
}

THREAD(work_and_wait, gate)
{
	CHECK_OK(tl_mem_enter_scope());
	void* object = tl_mem_new(64);
	CHECK_COUNT(object, 1);
	void* kept = tl_mem_alloc(128);
	meet(gate);
	meet(gate);
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_ptr_release(kept));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(object);
}

/* More threads than contexts that own objects; meanwhile is called while all of them live. */
static void alive_at_once(int count, void (*meanwhile)(void))
{
	pthread_barrier_t gate;
	pthread_t* threads = malloc((size_t)count * sizeof *threads);
	pthread_barrier_init(&gate, NULL, (unsigned)count + 1);
	for (int i = 0; i < count; i++) threads[i] = start_thread(work_and_wait, &gate);
	meet(&gate);
	CHECK_INT(check_take_balance().objects, 2 * count);
	meanwhile();
	meet(&gate);
	for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&gate);
	free(threads);
	settle();
}

static atomic_uint_least64_t shown; /* a weak reference */
static atomic_long upgraded;
static atomic_bool unowned_ended;

/* Makes objects and ends them in every way that the fast path has, while another thread upgrades. */
THREAD(end_unowned_objects, unused)
{
	for (int i = 0; i < 20000 || atomic_load(&upgraded) < 100; i++) {
		CHECK_OK(tl_mem_enter_scope());
		const bool floats = i % 2;
		tl_ref* object = floats ? tl_mem_alloc(64) : tl_mem_new(64);
		tl_ref weak = *object = tl_weak_of(object);
		atomic_store(&shown, weak);
		if (i % 64 == 0) sched_yield();
		if (floats && (i % 4 == 1 || tl_mem_free(object) != TL_OK)) CHECK_OK(tl_ptr_release(object));
		CHECK_OK(tl_mem_exit_scope());
	}
	atomic_store(&unowned_ended, true);
}

THREAD(upgrade_unowned_objects, unused)
{
	while (!atomic_load(&unowned_ended)) {
		tl_ref weak = atomic_load(&shown), *object = tl_weak_get(weak);
		if (object == NULL) continue;
		CHECK(*object == weak);
		CHECK_OK(tl_ref_check(weak));
		CHECK_OK(tl_ptr_release(object));
		atomic_fetch_add(&upgraded, 1);
	}
}

/* The objects of a thread beyond the 4094th have no owner: each thread upgrades, while theirs ends them. */
static void weak_references_to_unowned_objects(void)
{
	check_balance before = check_take_balance();
	pthread_t reader = start_thread(upgrade_unowned_objects, NULL);
	run_thread(end_unowned_objects, NULL);
	pthread_join(reader, NULL);
	CHECK_INT(check_take_balance().objects, before.objects);
}

static void five_thousand_threads_alive_at_once(void) { alive_at_once(5000, weak_references_to_unowned_objects); }

THREAD(first_call_together, gate)
{
	meet(gate);
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_object_new(noisy_type) != NULL);
	CHECK(tl_mem_new(32) != NULL);
	CHECK_OK(tl_mem_exit_scope());
}

static void a_thousand_first_calls_together(void)
{
	enum { COUNT = 1000 };
	static pthread_t threads[COUNT];
	pthread_barrier_t gate;
	destroyed = 0;
	pthread_barrier_init(&gate, NULL, COUNT);
	for (int i = 0; i < COUNT; i++) threads[i] = start_thread(first_call_together, &gate);
	for (int i = 0; i < COUNT; i++) pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&gate);
	CHECK_INT(destroyed, COUNT);
	settle();
}

THREAD(end_with_open_scopes, unused)
{
	tl_object_new(noisy_type); /* in the root scope */
	CHECK_OK(tl_mem_enter_scope());
	tl_object_new(noisy_type);
	CHECK_OK(tl_mem_function_enter(2));
	CHECK(tl_mem_get_buffer(1, 1000) != NULL);
	tl_object_new(noisy_type);
	CHECK_OK(tl_mem_register_struct(malloc(64)));
	CHECK(tl_mem_frame_enter(128) != NULL);
}

static void a_thread_ends_with_open_scopes(void)
{
	destroyed = 0;
	for (int i = 0; i < 20; i++) run_thread(end_with_open_scopes, NULL);
	settle();
	CHECK_INT(destroyed, 60);
}

THREAD(end_detached, unused)
{
	end_with_open_scopes(unused);
	CHECK_OK(tl_thread_detach());
}

static void a_thread_detaches_with_open_scopes(void)
{
	destroyed = 0;
	run_thread(end_detached, NULL);
	settle();
	CHECK_INT(destroyed, 3);
}

THREAD(make_one, out)
{
	CHECK_OK(tl_mem_enter_scope());
	*(void**)out = tl_object_new(noisy_type);
	CHECK_OK(tl_mem_unregister(*(void**)out));
	CHECK_OK(tl_mem_exit_scope());
}

static void an_object_outlives_its_owner(void)
{
	void* object = NULL;
	destroyed = 0;
	run_thread(make_one, &object);
	CHECK_COUNT(object, 1);
	CHECK_PTR(tl_ptr_acquire(object), object);
	CHECK_OK(tl_ptr_release(object));
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_exit_scope());
	settle();
	CHECK_DEAD(object);
	CHECK_INT(destroyed, 1);
}

static _Atomic(void*) offered; /* an object of which the other thread has a reference */
static atomic_bool no_more;

/* Frees what another thread holds as well, while a third reference floats. */
THREAD(free_what_others_hold, unused)
{
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new(1);
	while (!no_more) {
		void* object = offered;
		if (object == NULL) continue;
		CHECK_OK(tl_mem_enter_scope());
		CHECK_OK(tl_vec_push(vec, object));
		CHECK_PTR(tl_vec_pop(vec), object);
		for (int i = 0; i < 100; i++) {
			CHECK_STATUS(tl_mem_free(object), TL_E_BUSY);
			CHECK_INT(tl_ptr_refcount(object), 3);
		}
		CHECK_OK(tl_mem_register_struct(object));
		CHECK_OK(tl_ptr_release(object));
		CHECK_OK(tl_mem_exit_scope());
		offered = NULL;
	}
	CHECK_OK(tl_mem_exit_scope());
}

/* A merge takes the owner's references out of one word before it adds them to the other. tl_mem_free and tl_ptr_refcount
 * must not take that moment for an object without references. */
static void nobody_frees_what_its_owner_is_sharing(void)
{
	no_more = false;
	pthread_t other = start_thread(free_what_others_hold, NULL);
	for (int i = 0; i < 500; i++) {
		CHECK_OK(tl_mem_enter_scope());
		void* object = tl_mem_new(64);
		CHECK_PTR(tl_ptr_acquire(object), object);
		offered = object;
		for (volatile int wait = 0; wait < i % 100 * 40; wait++) {}
		CHECK_OK(tl_ptr_share(object));
		while (offered != NULL) {}
		CHECK_COUNT(object, 1);
		CHECK_OK(tl_mem_exit_scope());
	}
	no_more = true;
	pthread_join(other, NULL);
}

/* The last release comes from a third thread while the owner is gone. */
static void handed_on_twice(void)
{
	destroyed = 0;
	for (int i = 0; i < 50; i++) {
		void* object = NULL;
		run_thread(make_one, &object);
		CHECK_OK(tl_ptr_inc_ref(object));
		run_thread(check_release, object);
		run_thread(check_release, object);
	}
	settle();
	CHECK_INT(destroyed, 50);
}

static pthread_key_t late_key;

static void call_after_the_end(void* object)
{
	/* Runs among the thread's destructors, in an order that nobody specifies. */
	CHECK_OK(tl_ptr_release(object));
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_mem_new(64) != NULL);
	CHECK_OK(tl_mem_exit_scope());
}

/* Registers an object that has one reference, which floats: the next registration counts one more. */
static void count_right(void* object)
{
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_INT(tl_ptr_refcount(object), 1);
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_INT(tl_ptr_refcount(object), 2);
	CHECK_OK(tl_mem_exit_scope());
}

THREAD(release_and_count, object)
{
	CHECK_OK(tl_ptr_release(object));
	count_right(object);
}

THREAD(float_and_release, object)
{
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new(1);
	CHECK_OK(tl_vec_push(vec, object));
	CHECK_PTR(tl_vec_pop(vec), object);
	CHECK_OK(tl_ptr_release(object));
	CHECK_OK(tl_mem_exit_scope());
}

/* An object of this thread's with two references, both of which float. */
static void* two_floats(void)
{
	void* object = tl_mem_alloc(64);
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < 2; i++) CHECK_OK(tl_mem_register_struct(object));
	for (int i = 0; i < 2; i++) CHECK_OK(tl_mem_unregister(object));
	CHECK_OK(tl_mem_exit_scope());
	return object;
}

/* When every reference floats, a release takes a float along on any thread. */
static void a_release_leaves_no_float_behind(void)
{
	void* object = two_floats();
	run_thread(check_release, object);
	count_right(object);
	run_thread(release_and_count, two_floats());
	object = two_floats();
	CHECK_OK(tl_ptr_release(object));
	count_right(object);
	object = tl_mem_alloc(64);
	run_thread(float_and_release, object);
	count_right(object);
	CHECK_OK(tl_mem_enter_scope()); /* reads the inbox */
	CHECK_OK(tl_mem_exit_scope());
}

THREAD(leave_a_late_call, unused) { pthread_setspecific(late_key, tl_mem_alloc(64)); }

static void calls_from_a_threads_own_destructors(void)
{
	pthread_key_create(&late_key, call_after_the_end);
	for (int i = 0; i < 50; i++) run_thread(leave_a_late_call, NULL);
	settle();
	pthread_key_delete(late_key);
}

THREAD(come_and_go, unused)
{
	for (int i = 0; i < 10; i++) {
		CHECK_OK(tl_mem_enter_scope());
		CHECK(tl_mem_new(64) != NULL);
		CHECK_OK(tl_mem_exit_scope());
		CHECK_OK(tl_thread_detach());
	}
}

static void contexts_are_used_again(void)
{
	tl_stats stats = check_stats();
	uint64_t before = stats.contexts;
	for (int i = 0; i < 200; i++) run_thread(come_and_go, NULL);
	stats = check_stats();
	CHECK(stats.contexts <= before + 8);
}

int main(void)
{
	tl_type_desc desc = {.name = "noisy", .size = 48, .destructor = count_destroyed};
	CHECK_OK(tl_type_define(&desc, &noisy_type));
	RUN(a_thread_ends_with_open_scopes);
	RUN(a_thread_detaches_with_open_scopes);
	RUN(an_object_outlives_its_owner);
	RUN(handed_on_twice);
	RUN(nobody_frees_what_its_owner_is_sharing);
	RUN(a_release_leaves_no_float_behind);
	RUN(calls_from_a_threads_own_destructors);
	RUN(contexts_are_used_again);
	RUN(a_thousand_first_calls_together);
	RUN(five_thousand_threads_alive_at_once);
	RUN(a_thread_ends_with_open_scopes);
	return check_finish();
}
