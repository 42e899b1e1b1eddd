/* Warm places: what the exit of a scope leaves in the scope stack for the next scope is free for everybody but
 * tl_mem_new, whatever the program does in between.
 *
 *     warm_test [steps]
 */
#include <semaphore.h>

#include "check.h"
#include "thread.h"

enum { EIGHT = 8, ROUNDS = 200 };

/* Leaves eight places of a size warm; the objects are in *objects. */
static void leave_eight(size_t bytes, void** objects)
{
	for (int round = 0; round < ROUNDS; round++) { /* more than a thread waits after a scope that was not alike */
		CHECK_OK(tl_mem_enter_scope());
		for (int i = 0; i < EIGHT; i++) memset(objects[i] = tl_mem_new(bytes), round, bytes);
		CHECK_OK(tl_mem_exit_scope());
	}
}

/* ---- threads side by side ---- */

static void eight_records(uint32_t* records)
{
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < EIGHT; i++) records[i] = (uint32_t)tl_ref_of(tl_mem_new(200));
	CHECK_OK(tl_mem_exit_scope());
}

THREAD(stay_away, others)
{
	uint32_t records[EIGHT];
	eight_records(records);
	for (int i = 0; i < EIGHT; i++)
		for (int k = 0; k < EIGHT; k++) {
			int64_t apart = (int64_t)records[i] - ((const uint32_t*)others)[k];
			CHECK(apart > EIGHT || apart < -EIGHT);
		}
}

/* What a processor fetches beside the records and objects that a thread works on is nothing that another one writes to.
 * This is the first test: it needs slots that nobody had. */
TEST(two_threads_get_slots_that_are_apart)
{
	uint32_t records[EIGHT];
	eight_records(records);
	run_thread(stay_away, records);
}

TEST(a_stale_pointer_is_not_live)
{
	void* objects[EIGHT];
	leave_eight(64, objects);
	CHECK_STATUS(tl_ptr_check(objects[0]), TL_E_NOT_LIVE);
	leave_eight(64, objects);
	CHECK_STATUS(tl_ptr_release(objects[1]), TL_E_NOT_LIVE);
	leave_eight(64, objects);
	CHECK_STATUS(tl_mem_free(objects[2]), TL_E_NOT_LIVE);
	leave_eight(64, objects);
	CHECK_STATUS(tl_mem_register_struct(objects[3]), TL_E_NOT_LIVE);
	leave_eight(64, objects);
	tl_ptr_acquire(objects[4]);
	CHECK_STATUS(tl_last_status(), TL_E_NOT_LIVE);
	leave_eight(64, objects);
	CHECK_DEAD(objects[5]);
	leave_eight(64, objects);
	CHECK_OK(tl_mem_enter_scope());
	void* again = tl_mem_new(64);
	CHECK_OK(tl_ptr_check(again));
	for (int i = 0; i < EIGHT; i++)
		if (objects[i] != again) CHECK_DEAD(objects[i]);
	CHECK_OK(tl_mem_exit_scope());
}

/* ---- another thread looks ---- */

typedef struct observer {
	sem_t ask, told;
	uint64_t objects, bytes;
	bool done;
} observer;

THREAD(observe, argument)
{
	observer* o = argument;
	for (sem_wait(&o->ask); !o->done; sem_wait(&o->ask)) {
		check_balance balance = check_take_balance();
		o->objects = balance.objects;
		o->bytes = balance.bytes;
		sem_post(&o->told);
	}
}

static uint64_t objects_seen(observer* o)
{
	sem_post(&o->ask);
	sem_wait(&o->told);
	return o->objects;
}

TEST(another_thread_counts_them_as_free)
{
	void* objects[EIGHT];
	observer o = {.done = false};
	sem_init(&o.ask, 0, 0);
	sem_init(&o.told, 0, 0);
	pthread_t thread = start_thread(observe, &o);
	uint64_t before = objects_seen(&o), bytes = o.bytes;
	leave_eight(96, objects);
	CHECK_INT(objects_seen(&o), before);
	CHECK_INT(o.bytes, bytes);
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < 3; i++) CHECK(tl_mem_new(96) != NULL);
	CHECK_INT(objects_seen(&o), before + 3);
	CHECK(o.bytes >= bytes + 3 * 96); /* more with TL_DEBUG */
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(objects_seen(&o), before);
	o.done = true;
	sem_post(&o.ask);
	pthread_join(thread, NULL);
	sem_destroy(&o.ask);
	sem_destroy(&o.told);
}

/* ---- what is not like the last scope ---- */

TEST(every_kind_of_entry_may_follow)
{
	void* objects[EIGHT];
	tl_type_desc description = {.name = "plain", .size = 64};
	tl_type type;
	CHECK_OK(tl_type_define(&description, &type));
	for (int kind = 0; kind < 6; kind++) {
		leave_eight(64, objects);
		CHECK_OK(tl_mem_enter_scope());
		for (int i = 0; i < EIGHT + 2; i++) {
			const int64_t shape[] = {2, 2};
			if (kind == 0) CHECK(tl_mem_new(96) != NULL);
			if (kind == 1) CHECK_OK(tl_mem_register_struct(malloc(64)));
			if (kind == 2) CHECK(tl_object_new(type) != NULL);
			if (kind == 3) CHECK(tl_tensor_empty(TL_DTYPE_F32, 0, 2, shape) != NULL);
			if (kind == 4) CHECK(tl_mem_new_zeroed(64) != NULL);
			if (kind == 5) CHECK_OK(tl_mem_register_struct(tl_mem_alloc(i % 2 == 0 ? 64 : 480)));
		}
		CHECK_OK(tl_mem_exit_scope());
	}
}

/* No slot may be free twice. */
static void all_objects_differ(size_t bytes)
{
	enum { MANY = 300 };
	void* objects[MANY];
	for (int i = 0; i < MANY; i++) {
		CHECK((objects[i] = tl_mem_alloc(bytes)) != NULL);
		for (int k = 0; k < i; k++) CHECK(objects[i] != objects[k]);
	}
	for (int i = 0; i < MANY; i++) CHECK_OK(tl_ptr_release(objects[i]));
}

static void all_new_objects_differ(void)
{
	enum { MANY = 100 };
	void* objects[MANY];
	for (int i = 0; i < MANY; i++) {
		CHECK((objects[i] = tl_mem_new(64)) != NULL);
		for (int k = 0; k < i; k++) CHECK(objects[i] != objects[k]);
	}
}

/* Several scopes are left at once while places of the newest are taken. */
TEST(places_that_were_taken_go_with_many_scopes)
{
	void* objects[EIGHT];
	int64_t depth = tl_get_scope_depth();
	for (int round = 0; round < 10; round++) {
		CHECK_OK(tl_mem_enter_scope());
		for (int i = 0; i < 3; i++) CHECK(tl_mem_new(64) != NULL);
		leave_eight(64, objects);
		CHECK_OK(tl_mem_enter_scope());
		for (int i = 0; i < 5; i++) CHECK(tl_mem_new(64) != NULL);
		CHECK_OK(tl_mem_exit_scopes_to(depth));
		all_objects_differ(64);
	}
}

/* A long scope ends while places of warm ones above it are taken. */
TEST(places_that_were_taken_go_with_a_long_scope)
{
	enum { LONG = 100, LONGER = 120 };
	void *objects[EIGHT], *held[LONGER];
	for (int round = 0; round < 10; round++) {
		const int many = round % 2 == 0 ? LONG : LONGER;
		CHECK_OK(tl_mem_enter_scope());
		for (int i = 0; i < many; i++) *(int*)(held[i] = tl_mem_new(64)) = -i;
		leave_eight(64, objects);
		for (int i = 0; i < many; i++) CHECK_INT(*(int*)held[i], -i);
		for (int i = 0; i < 5; i++) CHECK(tl_mem_new(64) != NULL);
		CHECK_OK(tl_mem_exit_scope());
	}
}

/* What a deleter leaves in the scope that ends is released with it, from the warm places of the deleter's own scopes. */
static void leave_places_taken(void* block, void* unused)
{
	void* objects[EIGHT];
	(void)unused;
	leave_eight(64, objects);
	for (int i = 0; i < 5; i++) CHECK(tl_mem_new(64) != NULL);
	free(block);
}

TEST(places_that_a_deleter_takes_go_with_the_scope)
{
	check_balance before = check_take_balance();
	for (int round = 0; round < 10; round++) {
		CHECK_OK(tl_mem_enter_scope());
		for (int i = 0; i <= round % 3; i++) {
			void* block = malloc(64);
			CHECK_OK(tl_registry_register_custom(block, 64, leave_places_taken, NULL));
			CHECK_OK(tl_mem_register_struct(block));
			CHECK_OK(tl_registry_unregister(block));
		}
		CHECK_OK(tl_mem_exit_scope());
		CHECK_OK(tl_mem_enter_scope());
		all_new_objects_differ();
		CHECK_OK(tl_mem_exit_scope());
	}
	check_same_balance(before, __func__);
}

/* An entry of each kind, by turns. */
static void push_entry(int kind, tl_type type)
{
	const int64_t shape[] = {2, 2};
	if (kind == 0) CHECK_OK(tl_mem_register_struct(malloc(64)));
	if (kind == 1) CHECK(tl_object_new(type) != NULL);
	if (kind == 2) CHECK(tl_tensor_empty(TL_DTYPE_F32, 0, 2, shape) != NULL);
	if (kind == 3) CHECK(tl_mem_new(200) != NULL);
	if (kind == 4) memset(tl_mem_new(64), 4, 64);
}

/* What was taken from a warm place and leaves the top of the stack leaves a free place, which is no slot of anybody. */
TEST(what_leaves_the_top_leaves_a_free_place)
{
	void* objects[EIGHT];
	tl_type_desc description = {.name = "free place", .size = 64};
	tl_type type;
	CHECK_OK(tl_type_define(&description, &type));
	check_balance before = check_take_balance();
	for (int kind = 0; kind < 25; kind++) {
		leave_eight(64, objects);
		CHECK_OK(tl_mem_enter_scope());
		for (int i = 0; i < 5; i++) memset(objects[i] = tl_mem_new(64), i, 64);
		CHECK_OK(tl_mem_unregister(objects[3])); /* a hole, which goes with the next one */
		CHECK_OK(tl_mem_unregister(objects[4]));
		push_entry(kind % 5, type);
		push_entry(kind / 5, type);
		for (int i = 5; i < EIGHT; i++) memset(objects[i] = tl_mem_new(64), i, 64);
		for (int i = 0; i < EIGHT; i++)
			for (int k = 0; k < i; k++) CHECK(objects[i] != objects[k]);
		for (int i = 0; i < EIGHT; i++) CHECK_INT(*(unsigned char*)objects[i], i);
		CHECK_OK(tl_mem_exit_scope());
		CHECK_OK(tl_ptr_release(objects[3]));
		CHECK_OK(tl_ptr_release(objects[4]));
	}
	check_same_balance(before, __func__);
}

TEST(nested_scopes_share_the_places)
{
	void* objects[EIGHT];
	leave_eight(64, objects);
	int64_t depth = tl_get_scope_depth();
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < 6; i++) {
			CHECK_OK(i % 2 == 0 ? tl_mem_enter_scope() : tl_mem_function_enter(1));
			for (int k = 0; k < 20; k++) memset(tl_mem_new(64), i, 64);
		}
		CHECK_OK(tl_mem_function_exit());
		CHECK_OK(tl_mem_exit_scope());
		CHECK(tl_mem_new(64) != NULL);
		CHECK_OK(tl_mem_exit_scopes_to(depth));
	}
}

TEST(large_objects_do_not_stay)
{
	check_balance before = check_take_balance();
	for (int round = 0; round < ROUNDS; round++) {
		CHECK_OK(tl_mem_enter_scope());
		CHECK(tl_mem_new(64) != NULL);
		CHECK(tl_mem_new(1 << 20) != NULL);
		CHECK(tl_mem_new(512) != NULL);
		CHECK_OK(tl_mem_exit_scope());
	}
	check_balance after = check_take_balance();
	CHECK_INT(after.bytes, before.bytes);
}

/* ---- threads that end, and a child ---- */

THREAD(work_and_detach, argument)
{
	void* objects[EIGHT];
	for (int round = 0; round < 20; round++) {
		leave_eight(32 * (size_t)(1 + round % 15), objects);
		if (argument != NULL) CHECK_OK(tl_thread_detach());
	}
}

TEST(a_thread_leaves_them_behind)
{
	check_balance before = check_take_balance();
	for (int i = 0; i < 10; i++) run_thread(work_and_detach, i % 2 == 0 ? &before : NULL);
	check_same_balance(before, __func__);
	CHECK_OK(tl_mem_purge());
	check_same_balance(before, __func__);
}

enum { KEPT = 1500 };

/* None of what the thread gets is among the objects that another one keeps. */
THREAD(end_with_places_taken, kept)
{
	void *objects[EIGHT], *mine[KEPT];
	for (int i = 0; i < KEPT; i++) {
		mine[i] = tl_mem_alloc(96);
		for (int k = 0; k < KEPT; k++) CHECK(mine[i] != ((void**)kept)[k]);
	}
	for (int i = 0; i < KEPT; i++) CHECK_OK(tl_ptr_release(mine[i]));
	leave_eight(96, objects);
	for (int i = 0; i < 5; i++) CHECK(tl_mem_new(96) != NULL);
}

TEST(a_thread_ends_while_places_are_taken)
{
	void* kept[KEPT] = {NULL};
	check_balance before = check_take_balance();
	for (int round = 0; round < 3; round++) {
		run_thread(end_with_places_taken, kept);
		check_same_balance(before, __func__); /* what the thread has left is here by now */
		for (int i = 0; i < KEPT; i++) kept[i] = tl_mem_alloc(96);
		run_thread(end_with_places_taken, kept);
		for (int i = 0; i < KEPT; i++) CHECK_OK(tl_ptr_release(kept[i]));
		memset(kept, 0, sizeof kept);
	}
	check_same_balance(before, __func__);
	CHECK_OK(tl_mem_purge());
	check_same_balance(before, __func__);
}

static void child(void)
{
	void* objects[EIGHT];
	leave_eight(64, objects);
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < EIGHT; i++) CHECK(tl_mem_new(i % 2 == 0 ? 64 : 96) != NULL);
	CHECK_OK(tl_mem_exit_scope());
	leave_eight(96, objects);
}

TEST(a_child_uses_them)
{
	void* objects[EIGHT];
	int status = -1;
	leave_eight(96, objects); /* so that the child's magazines have slots */
	leave_eight(64, objects);
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_mem_new(64) != NULL);
	pid_t pid = fork();
	if (pid == 0) {
		alarm(30);
		check_failures = 0;
		if (tl_mem_exit_scope() == TL_OK) child();
		_exit(check_failures != 0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK_OK(tl_mem_exit_scope());
}

/* ---- anything, in any order ---- */

enum { OBJECTS = 512, DEPTH = 12 };

static uint64_t random_state = 1;

static uint32_t draw(uint32_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((random_state >> 33) % below);
}

static struct {
	unsigned char* object;
	size_t bytes;
	unsigned char stamp;
	bool held; /* by a reference of our own */
} live[OBJECTS];
static int count, marks[DEPTH], depth;

static bool is_stamped(int i)
{
	for (size_t k = 0; k < live[i].bytes; k++)
		if (live[i].object[k] != live[i].stamp) return false;
	return true;
}

static void add(void)
{
	static const size_t sizes[] = {64, 64, 64, 64, 96, 96, 32, 480, 481, 512, 1000, 24};
	if (count == OBJECTS) return;
	size_t bytes = sizes[draw(draw(4) == 0 ? 12 : 4)];
	live[count].object = tl_mem_new(bytes);
	live[count].bytes = bytes;
	live[count].stamp = (unsigned char)draw(256);
	live[count].held = draw(16) == 0;
	memset(live[count].object, live[count].stamp, bytes);
	if (live[count].held) tl_ptr_acquire(live[count].object);
	count++;
}

static void leave(void)
{
	int from = marks[--depth], kept = from;
	for (int i = from; i < count; i++) CHECK(is_stamped(i));
	CHECK_OK(tl_mem_exit_scope());
	for (int i = from; i < count; i++)
		if (live[i].held) live[kept++] = live[i];
	for (; kept > from; kept--) { /* held by us alone */
		CHECK(is_stamped(kept - 1));
		CHECK_OK(tl_ptr_release(live[kept - 1].object));
	}
	count = from;
}

static long steps = 20000;

TEST(no_two_objects_share_memory)
{
	count = depth = 0;
	for (long step = 0; step < steps; step++) {
		uint32_t what = draw(100);
		if (depth == 0 || (what < 8 && depth < DEPTH)) {
			CHECK_OK(tl_mem_enter_scope());
			marks[depth++] = count;
		} else if (what < 18) {
			leave();
		} else if (what == 18 && count > marks[depth - 1]) { /* the newest goes by itself */
			if (live[count - 1].held) CHECK_OK(tl_ptr_release(live[count - 1].object));
			CHECK_OK(tl_mem_unregister(live[--count].object));
			CHECK_OK(tl_ptr_release(live[count].object));
		} else if (what == 19) {
			check_take_balance();
		} else if (what == 20) {
			CHECK_OK(tl_mem_register_struct(malloc(64)));
		} else {
			add();
		}
		if (step % 64 == 0)
			for (int i = 0; i < count; i++) CHECK(is_stamped(i));
	}
	while (depth > 0) leave();
}

int main(int argc, char** argv)
{
	if (argc > 1) steps = atol(argv[1]);
	return check_tests();
}
