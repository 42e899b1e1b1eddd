/* Objects that one thread makes and another releases: the last release hands them to their
 * owner, in C where they are plain bytes and the owner lives. */
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "check.h"
#include "thread.h"

enum { OBJECTS = 20000, ROUNDS = 50 };

static void* objects[OBJECTS];

static bool is_fast(void)
{
	const char* path = getenv("TL_FASTPATH");
	return path == NULL || strcmp(path, "0") != 0;
}

static void make_objects(size_t bytes)
{
	for (size_t i = 0; i < OBJECTS; i++) {
		objects[i] = tl_mem_alloc(bytes);
		memset(objects[i], (int)i, bytes);
	}
}

THREAD(release_objects, unused)
{
	for (size_t i = 0; i < OBJECTS; i++) CHECK_OK(tl_ptr_release(objects[i]));
}

static void poll_inbox(void)
{
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_exit_scope());
}

static void* free_objects(void* unused)
{
	(void)unused;
	for (size_t i = 0; i < OBJECTS; i++) CHECK_OK(tl_mem_free(objects[i]));
	return NULL;
}

static void* drop_objects(void* unused)
{
	(void)unused;
	for (size_t i = 0; i < OBJECTS; i++) CHECK_INT(tl_ptr_dec_ref(objects[i]), 0);
	return NULL;
}

TEST(a_hand_over_needs_no_go)
{
	static void* (*const ways[])(void*) = {release_objects, free_objects, drop_objects};
	make_objects(256);
	run_thread(release_objects, NULL); /* makes the nodes, which come back with the objects */
	poll_inbox();
	for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
		make_objects(256);
		uint64_t before = check_slow_calls();
		run_thread(ways[way], NULL);
		if (is_fast())
			CHECK(check_slow_calls() - before <
			      OBJECTS / 40); /* the chains of nodes that were never used, and the start */
		poll_inbox();
		for (size_t i = 0; i < OBJECTS; i++) CHECK_DEAD(objects[i]);
	}
}

/* What its owner counts, too, is nobody's to free; what it has let go of in part, neither. */
THREAD(free_what_is_held, object)
{
	CHECK_FAILS(tl_mem_free(object), TL_E_BUSY);
	CHECK_FAILS(tl_mem_free(object), TL_E_BUSY);
}

TEST(what_is_held_is_not_freed)
{
	void* object = tl_mem_alloc(64);
	tl_ptr_acquire(object);
	run_thread(free_what_is_held, object);
	CHECK_COUNT(object, 2);
	CHECK_OK(tl_ptr_release(object));
	CHECK_OK(tl_mem_register_ptr(object));
	run_thread(free_what_is_held, object);
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_unregister(object));
	CHECK_OK(tl_ptr_release(object));
}

/* The owner makes as many objects again and again, without a scope: what was handed over is used
 * before the heap grows. */
TEST(what_waits_is_used_before_the_heap_grows)
{
	tl_stats stats = {.struct_size = sizeof stats};
	uint64_t most = 0;
	for (int round = 0; round < ROUNDS; round++) {
		make_objects(512);
		run_thread(release_objects, NULL);
		CHECK_OK(tl_stats_get(&stats));
		if (round == 2) most = stats.held_bytes;
		if (round > 2) CHECK(stats.held_bytes <= most + most / 4);
	}
	poll_inbox();
}

static atomic_int destroyed;

/* Without a scope the owner looks into its inbox when a magazine is empty, takes as much as the magazine
 * holds, and leaves the rest where it is. Go is not asked for any of it. */
TEST(the_owner_refills_its_magazine_from_the_inbox)
{
	make_objects(256);
	for (int round = 0; round < 3; round++) {
		uint64_t before = check_slow_calls();
		run_thread(release_objects, NULL);
		make_objects(256);
		if (round == 2 && is_fast()) CHECK(check_slow_calls() - before < 20);
	}
	run_thread(release_objects, NULL);
	make_objects(1024); /* what waits is of another class, so that Go has to finish it */
	for (size_t i = 0; i < OBJECTS; i++) CHECK_OK(tl_ptr_release(objects[i]));
	poll_inbox();
}

static void count_destroyed(void* object)
{
	(void)object;
	atomic_fetch_add(&destroyed, 1);
}

TEST(a_typed_object_is_destroyed_by_its_owner)
{
	tl_type_desc desc = {.name = "handed", .size = 64, .destructor = count_destroyed};
	tl_type type;
	CHECK_OK(tl_type_define(&desc, &type));
	for (size_t i = 0; i < OBJECTS; i++) objects[i] = i % 2 ? tl_mem_alloc(64) : tl_object_new(type);
	for (size_t i = 0; i < OBJECTS; i += 2) CHECK_OK(tl_mem_unregister(objects[i]));
	run_thread(release_objects, NULL);
	poll_inbox();
	CHECK_INT(atomic_load(&destroyed), OBJECTS / 2);
}

/* An empty magazine takes what it needs out of the inbox; what Go has to finish is left, until the owner leaves
 * its next scope. */
TEST(a_refill_leaves_nothing_that_a_scope_does_not_finish)
{
	enum { PLAIN = 64, MOST = 4096, BYTES = 704 };
	static void* taken[MOST];
	tl_type_desc desc = {.name = "left", .size = 64, .destructor = count_destroyed};
	tl_type type;
	CHECK_OK(tl_type_define(&desc, &type));
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_mem_new(32) != NULL); /* so that the scope below needs no slow call */
	CHECK_OK(tl_mem_exit_scope());
	for (size_t i = 0; i < OBJECTS; i++) objects[i] = NULL;
	objects[0] = tl_object_new(type);
	CHECK_OK(tl_mem_unregister(objects[0]));
	for (size_t i = 1; i <= PLAIN; i++) objects[i] = tl_mem_alloc(BYTES);
	run_thread(release_objects, NULL); /* the oldest one is reached last */
	atomic_store(&destroyed, 0);
	size_t n = 0;
	for (bool again = false; !again && n < MOST; n++) {
		taken[n] = tl_mem_alloc(BYTES);
		for (size_t i = 1; i <= PLAIN; i++) again = again || taken[n] == objects[i];
	}
	CHECK(n < MOST);
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_mem_new(32) != NULL);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(atomic_load(&destroyed), 1);
	for (size_t i = 0; i < n; i++) CHECK_OK(tl_ptr_release(taken[i]));
}

THREAD(acquire_and_release, object)
{
	CHECK_PTR(tl_ptr_acquire(object), object);
	CHECK_OK(tl_ptr_release(object));
	CHECK_OK(tl_ptr_release(object));
}

/* The owner has references left: the queue's one goes, the object stays. */
TEST(the_owner_keeps_what_it_holds)
{
	for (int held = 1; held < 4; held++) {
		void* object = tl_mem_alloc(64);
		for (int i = 0; i < held; i++) tl_ptr_acquire(object);
		run_thread(acquire_and_release, object);
		poll_inbox();
		CHECK_COUNT(object, held);
		for (int i = 0; i < held; i++) CHECK_OK(tl_ptr_release(object));
		CHECK_DEAD(object);
	}
}

THREAD(make_and_end, unused) { make_objects(128); }

/* Nobody looks into the inbox of a thread that has ended: who releases frees. */
TEST(objects_of_an_ended_thread_are_freed_at_once)
{
	run_thread(make_and_end, NULL);
	const tl_stats before = check_stats();
	for (size_t i = 0; i < OBJECTS; i++) {
		CHECK_OK(tl_ptr_release(objects[i]));
		CHECK_DEAD(objects[i]);
	}
	const tl_stats after = check_stats();
	CHECK(after.system_calls - before.system_calls < 1000); /* the stacks of that thread are returned once */
}

/* In the child nobody can know whether the notes in its inbox are whole. */
TEST(a_child_leaves_its_inbox_alone)
{
	if (!is_fast()) return; /* where every call of a child is refused */
	void* object = tl_mem_alloc(64);
	run_thread(check_release, object);
	pid_t child = fork();
	if (child == 0) {
		poll_inbox();
		_exit(tl_ptr_check(object) == TL_OK ? 0 : 1);
	}
	CHECK_INT(check_exit_of(child), 0);
	poll_inbox();
	CHECK_DEAD(object);
}

typedef struct pair {
	_Atomic(void*) to[2];
	atomic_int at_work;
} pair;

static void receive(pair* p, int me)
{
	void* got = atomic_exchange(&p->to[me], NULL);
	if (got != NULL) CHECK_OK(tl_ptr_release(got));
}

/* Makes objects for the other thread and releases what comes from it, until both have made all. */
static void exchange(pair* p, int me)
{
	for (int i = 0; i < OBJECTS; i++) {
		void *mine = tl_mem_alloc(32 + (size_t)i % 400), *none = NULL;
		for (; !atomic_compare_exchange_weak(&p->to[!me], &none, mine); none = NULL) {
			receive(p, me);
			sched_yield();
		}
		if (i % 100 == 0) poll_inbox();
	}
	atomic_fetch_sub(&p->at_work, 1);
	while (atomic_load(&p->at_work) > 0 || atomic_load(&p->to[me]) != NULL) {
		receive(p, me);
		sched_yield();
	}
	poll_inbox();
}

static void* exchange_first(void* p) { return exchange(p, 0), NULL; }

TEST(two_threads_release_each_others_objects)
{
	pair p = {.at_work = 2};
	pthread_t other = start_thread(exchange_first, &p);
	exchange(&p, 1);
	pthread_join(other, NULL);
}

/* ---- views of what another thread ends ------------------------------------------------------------- */

static tl_tensor* _Atomic shown;
static atomic_bool stop;

/* A tensor, and in the same slots plain objects, each of which goes at once. */
THREAD(come_and_go, unused)
{
	static const int64_t four = 4;
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		CHECK_OK(tl_mem_enter_scope());
		atomic_store(&shown, tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 1, &four));
		CHECK_OK(tl_mem_exit_scope());
		CHECK_OK(tl_mem_enter_scope());
		CHECK(tl_mem_new(200) != NULL && tl_mem_new(250) != NULL);
		CHECK_OK(tl_mem_exit_scope());
	}
}

/* The program's mistake harms it alone: whatever a view was made of is live until the view goes, and nothing stays. */
TEST(views_of_tensors_that_another_thread_ends)
{
	enum { VIEWS = 100000 };
	pthread_t thread = start_thread(come_and_go, NULL);
	while (atomic_load(&shown) == NULL) sched_yield();
	for (int i = 0; i < VIEWS; i++) {
		CHECK_OK(tl_mem_enter_scope());
		tl_tensor* view = tl_view_slice(atomic_load(&shown), 0, 0, 2, 1);
		if (view != NULL) CHECK_COUNT(view, 1);
		CHECK_OK(tl_mem_exit_scope());
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	tl_clear_error();
}

static sem_t made, woken;

THREAD(make_and_sleep, unused)
{
	make_objects(512);
	sem_post(&made);
	while (sem_wait(&woken) != 0) {}
	for (size_t i = 0; i < OBJECTS; i++) CHECK_DEAD(objects[i]);
}

static uint64_t waiting_objects(void)
{
	tl_mem_usage_info usage = {.struct_size = sizeof usage};
	CHECK_OK(tl_mem_usage(TL_DEVICE_CPU, &usage));
	return usage.waiting_objects;
}

/* Linux tells whether a thread sleeps; elsewhere the objects wait until their owner calls. */
TEST(what_waits_for_a_sleeping_owner_is_freed)
{
	const bool tells = access("/proc/self/syscall", R_OK) == 0 && getenv("TL_DEBUG") == NULL;
	sem_init(&made, 0, 0);
	sem_init(&woken, 0, 0);
	pthread_t owner = start_thread(make_and_sleep, NULL);
	while (sem_wait(&made) != 0) {}
	release_objects(NULL);
	while (tells && waiting_objects() != 0) usleep(10000);
	sem_post(&woken);
	pthread_join(owner, NULL);
}

THREAD(release_one, object) { CHECK_OK(tl_ptr_release(object)); }

/* The allocation of the new object may end the old one, and have its slot. */
static void reuse_what_waits(size_t bytes)
{
	enum { MOST = 100 };
	for (size_t others = 0; others < MOST; others++) {
		for (size_t i = 0; i < others; i++) objects[i] = tl_mem_alloc(bytes); /* the magazine is as empty as can be */
		void* waits = tl_mem_alloc(bytes);
		run_thread(release_one, waits);
		CHECK_REFUSED(tl_ptr_reuse(waits, bytes), NULL, TL_E_NOT_LIVE);
		for (size_t i = 0; i < others; i++) CHECK_OK(tl_ptr_release(objects[i]));
	}
}

TEST(what_waits_for_its_owner_is_not_reused)
{
	reuse_what_waits(32);
	reuse_what_waits(5000);
}

int main(void) { return check_tests(); }
