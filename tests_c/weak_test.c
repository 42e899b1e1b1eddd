/* Section Checked and weak references: who upgrades a weak reference, and when there is nothing left. */
#include "check.h"
#include "thread.h"

static void* get_on_this_thread(void* ref) { return tl_weak_get((tl_ref)(uintptr_t)ref); }

/* What another thread gets; it gives the reference back. */
static void* get_elsewhere(tl_ref ref)
{
	void* object;
	pthread_join(start_thread(get_on_this_thread, (void*)(uintptr_t)ref), &object);
	if (object != NULL) CHECK_OK(tl_ptr_release(object));
	return object;
}

THREAD(refused_here, ref)
{
	CHECK_REFUSED(tl_weak_get((tl_ref)(uintptr_t)ref), 0, TL_E_BUSY);
	CHECK(strstr(tl_last_error(), "tl_weak_share") != NULL);
}

TEST(the_owner_upgrades)
{
	void* object = tl_mem_alloc(64);
	tl_ref weak = tl_weak_of(object);
	CHECK_COUNT(object, 1);
	CHECK_PTR(tl_weak_get(weak), object);
	CHECK_COUNT(object, 2);
	run_thread(refused_here, (void*)(uintptr_t)weak);
	CHECK_COUNT(object, 2);
	CHECK_OK(tl_ptr_release(object));
	CHECK_OK(tl_ptr_release(object));
	CHECK_REFUSED(tl_weak_get(weak), 0, TL_OK);
	CHECK_PTR(get_elsewhere(weak), NULL);
}

THREAD(refused_to_share, object) { CHECK_REFUSED(tl_weak_share(object), 0, TL_E_BUSY); }

TEST(every_thread_upgrades_what_is_shared)
{
	void* object = tl_mem_alloc(64);
	run_thread(refused_to_share, object);
	tl_ref weak = tl_weak_share(object);
	CHECK(weak == tl_weak_of(object));
	CHECK(weak == tl_weak_share(object));
	CHECK_PTR(tl_weak_get(weak), object);
	CHECK_PTR(get_elsewhere(weak), object);
	CHECK_COUNT(object, 2);
	CHECK_OK(tl_ref_release(weak));
	CHECK_OK(tl_ref_release(weak));
	CHECK_REFUSED(tl_weak_get(weak), 0, TL_OK);
	CHECK_PTR(get_elsewhere(weak), NULL);
}

TEST(what_has_no_owner)
{
	const int64_t shape[] = {3};
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, TL_DEVICE_CPU, 1, shape);
	tl_ref weak = tl_weak_of(tensor);
	CHECK(tl_weak_share(tensor) == weak);
	CHECK_PTR(get_elsewhere(weak), tensor);
	CHECK_COUNT(tensor, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_PTR(get_elsewhere(weak), NULL);
}

/* The owner merges what another thread has released, and goes on with a weak reference that it had. */
TEST(an_object_that_lost_its_owner)
{
	void* object = tl_mem_alloc(64);
	tl_ref weak = tl_weak_of(object);
	CHECK_OK(tl_ptr_inc_ref(object));
	run_thread(check_release, object);
	CHECK_PTR(tl_weak_get(weak), object);
	CHECK_OK(tl_ptr_share(object));
	CHECK_PTR(get_elsewhere(weak), object);
	CHECK_COUNT(object, 2);
	CHECK_OK(tl_ptr_release(object));
	CHECK_OK(tl_ptr_release(object));
	CHECK_REFUSED(tl_weak_get(weak), 0, TL_OK);
}

TEST(an_upgraded_object_outlives_its_scope)
{
	for (int shared = 0; shared < 2; shared++) {
		CHECK_OK(tl_mem_enter_scope());
		void* object = tl_mem_new(64);
		tl_ref weak = shared ? tl_weak_share(object) : tl_weak_of(object);
		CHECK_PTR(tl_weak_get(weak), object);
		CHECK_OK(tl_mem_exit_scope());
		CHECK_PTR(tl_weak_get(weak), object);
		CHECK_COUNT(object, 2);
		CHECK_OK(tl_ptr_release(object));
		CHECK_OK(tl_ptr_release(object));
		CHECK_REFUSED(tl_weak_get(weak), 0, TL_OK);
	}
}

/* Scopes that end again and again leave their slots in place; each object is another one. */
TEST(objects_of_a_loop_are_told_apart)
{
	tl_ref before = 0;
	for (int i = 0; i < 300; i++) {
		CHECK_OK(tl_mem_enter_scope());
		tl_ref weak = tl_weak_of(tl_mem_new(64));
		CHECK(weak != before);
		CHECK_REFUSED(tl_weak_get(before), 0, TL_OK);
		CHECK(tl_weak_get(weak) != NULL);
		CHECK_OK(tl_ref_release(weak));
		CHECK_OK(tl_mem_exit_scope());
		before = weak;
	}
}

typedef struct node {
	struct node* next;
	int64_t number;
} node;

static int ended;
static tl_ref of_node;

static void end_node(void* object)
{
	(void)object;
	ended++;
	CHECK_REFUSED(tl_weak_get(of_node), 0, TL_OK);
}

static tl_type node_type(void)
{
	static const size_t offsets[] = {offsetof(node, next)};
	static const tl_type_desc desc = {
		.name = "node", .size = sizeof(node), .pointer_offsets = offsets, .num_pointers = 1, .destructor = end_node};
	static tl_type type;
	if (type == 0) CHECK_OK(tl_type_define(&desc, &type));
	return type;
}

TEST(a_destructor_finds_its_object_gone)
{
	for (int shared = 0; shared < 2; shared++) {
		ended = 0;
		CHECK_OK(tl_mem_enter_scope());
		node* object = tl_object_new(node_type());
		of_node = shared ? tl_weak_share(object) : tl_weak_of(object);
		CHECK_OK(tl_mem_exit_scope());
		CHECK_INT(ended, 1);
		CHECK_REFUSED(tl_weak_get(of_node), 0, TL_OK);
	}
	of_node = 0;
}

/* Whoever shares an object for weak references answers for its rings. */
TEST(the_collector_leaves_shared_objects_alone)
{
	for (int shared = 0; shared < 2; shared++) {
		CHECK_OK(tl_mem_enter_scope());
		node *a = tl_object_new(node_type()), *b = tl_object_new(node_type());
		a->next = tl_ptr_acquire(b);
		b->next = tl_ptr_acquire(a);
		tl_ref weak = shared ? tl_weak_share(a) : tl_weak_of(a);
		CHECK_OK(tl_mem_exit_scope());
		CHECK_INT(tl_mem_collect_cycles(), shared ? 0 : 2);
		if (shared) {
			CHECK_PTR(tl_weak_get(weak), a);
			a->next = NULL;
			CHECK_OK(tl_ptr_release(a));
			CHECK_OK(tl_ptr_release(b));
		}
		CHECK_REFUSED(tl_weak_get(weak), 0, TL_OK);
	}
}

/* ---- threads that end ------------------------------------------------------------------------ */

static void* leave_object(void* shared)
{
	void* object = tl_mem_alloc(64);
	CHECK_OK(tl_ptr_inc_ref(object));
	CHECK_OK(tl_ptr_release(object));
	return (void*)(uintptr_t)(shared != NULL ? tl_weak_share(object) : tl_weak_of(object));
}

/* While nobody has the context of the thread that ended, nobody upgrades; the thread that takes it over
 * is the owner then. */
TEST(the_owner_has_ended)
{
	void* word;
	pthread_join(start_thread(leave_object, NULL), &word);
	tl_ref weak = (tl_ref)(uintptr_t)word;
	CHECK_REFUSED(tl_weak_get(weak), 0, TL_E_BUSY);
	CHECK_OK(tl_ref_check(weak));
	void* object = tl_ref_get(weak);
	CHECK(object != NULL);
	CHECK_OK(tl_ptr_release(object)); /* the one reference that the thread left */
	CHECK_REFUSED(tl_weak_get(weak), 0, TL_OK);

	pthread_join(start_thread(leave_object, &word), &word);
	weak = (tl_ref)(uintptr_t)word;
	CHECK_PTR(tl_weak_get(weak), tl_ref_get(weak));
	CHECK_COUNT(tl_ref_get(weak), 2);
	CHECK_OK(tl_ref_release(weak));
	CHECK_OK(tl_ref_release(weak));
	CHECK_REFUSED(tl_weak_get(weak), 0, TL_OK);
}

/* The child's fast path works, its slow path is refused; the parent sees nothing of it. */
TEST(a_forked_child)
{
	const char* path = getenv("TL_FASTPATH");
	const bool fast = (path == NULL || strcmp(path, "0") != 0) && getenv("TL_DEBUG") == NULL;
	void* object = tl_mem_alloc(64);
	tl_ref own = tl_weak_of(object), shared;
	CHECK_OK(tl_mem_enter_scope());
	shared = tl_weak_of(tl_tensor_new_zeroed(TL_DTYPE_F32, TL_DEVICE_CPU, 1, (int64_t[]){3}));
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		CHECK((tl_weak_get(own) == object) == fast);
		CHECK((tl_weak_get(shared) != NULL) == fast);
		CHECK_STATUS(tl_ref_release(own), fast ? TL_OK : TL_E_FORKED);
		CHECK_STATUS(tl_ref_release(shared), fast ? TL_OK : TL_E_FORKED);
		_exit(check_failures != 0);
	}
	CHECK_INT(check_exit_of(child), 0);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_ref_release(own));
}

int main(void) { return check_tests(); }
