/* Counts beyond what one word holds: above 65,535 from one owner, from many
 * threads, and both at once; counts that stick. */
#include "check.h"
#include "thread.h"

enum { MANY = 200000, THREADS = 8, EACH = 50000 };

static void many_references_by_the_owner(void)
{
	void* object = tl_mem_alloc(64);
	for (int i = 0; i < MANY; i++) tl_ptr_acquire(object);
	CHECK_COUNT(object, MANY + 1);
	for (int i = 0; i < MANY; i++) tl_ptr_release(object);
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_ptr_release(object));
	CHECK_DEAD(object);
}

static void many_references_in_scopes(void)
{
	const int64_t many = check_fitting(MANY, CHECK_ENTRY_BYTES);
	CHECK_OK(tl_mem_enter_scope());
	void* object = tl_mem_new(64);
	CHECK_OK(tl_mem_enter_scope());
	for (int64_t i = 0; i < many; i++) CHECK_OK(tl_mem_register_struct(object));
	CHECK_COUNT(object, many + 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(object);
}

THREAD(acquire_many, object)
{
	for (int i = 0; i < EACH; i++) tl_ptr_acquire(object);
}

THREAD(release_many, object)
{
	for (int i = 0; i < EACH; i++) tl_ptr_release(object);
}

static void in_threads(void* (*body)(void*), void* object)
{
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++) threads[i] = start_thread(body, object);
	for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

static void many_references_by_many_threads(void)
{
	void* object = tl_mem_alloc(64);
	in_threads(acquire_many, object);
	CHECK_COUNT(object, THREADS * EACH + 1);
	in_threads(release_many, object);
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_ptr_release(object));
}

static void the_owner_acquires_and_others_release(void)
{
	void* object = tl_mem_alloc(64);
	for (int i = 0; i < THREADS * EACH; i++) tl_ptr_acquire(object);
	in_threads(release_many, object);
	CHECK_COUNT(object, 1);
	in_threads(acquire_many, object);
	for (int i = 0; i < THREADS * EACH; i++) tl_ptr_release(object);
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_ptr_release(object));
	CHECK_DEAD(object);
}

static void shared_and_foreign_counts(void)
{
	void *shared = tl_mem_alloc(64), *foreign = malloc(64);
	CHECK_OK(tl_ptr_share(shared));
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(foreign));
	in_threads(acquire_many, shared);
	in_threads(acquire_many, foreign);
	CHECK_COUNT(shared, THREADS * EACH + 1);
	CHECK_COUNT(foreign, THREADS * EACH + 1);
	in_threads(release_many, shared);
	in_threads(release_many, foreign);
	CHECK_COUNT(shared, 1);
	CHECK_OK(tl_ptr_release(shared));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(foreign);
}

/* A shared count holds 22 bits; beyond that it sticks, and the object stays. */
static void a_count_that_would_overflow_sticks(void)
{
	enum { TOO_MANY = 5000000 };
	int* object = tl_mem_alloc(64);
	*object = 4711;
	CHECK_OK(tl_ptr_share(object));
	for (int i = 0; i < TOO_MANY; i++) tl_ptr_acquire(object);
	for (int i = 0; i < TOO_MANY + 1000; i++) tl_ptr_release(object);
	CHECK_OK(tl_ptr_check(object));
	CHECK_INT(*object, 4711);
	check_immortals++;
}

THREAD(both, object)
{
	for (int i = 0; i < EACH; i++) {
		tl_ptr_acquire(object);
		if (i % 3 != 0) tl_ptr_release(object);
	}
	for (int i = 0; i < EACH; i += 3) tl_ptr_release(object);
}

static void everybody_counts_at_once(void)
{
	void* object = tl_mem_alloc(64);
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++) threads[i] = start_thread(both, object);
	both(object);
	for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_ptr_release(object));
	CHECK_DEAD(object);
}

/* A consumer of another thread's object pops it twice and holds it: floats end with the references that a release takes,
 * or tl_mem_free and the next registration would take the reference that is held. */

static pthread_barrier_t turn;

static void look_into_the_inbox(void)
{
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_exit_scope());
}

THREAD(pushes_an_object_twice, vec)
{
	void* object = tl_mem_alloc(24);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_OK(tl_vec_push(vec, object));
	CHECK_OK(tl_vec_push(vec, object));
	CHECK_OK(tl_mem_exit_scope());
	meet(&turn);
	meet(&turn);
	look_into_the_inbox();
	meet(&turn);
	meet(&turn);
	look_into_the_inbox();
}

static void floats_go_with_the_last_references(void)
{
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new(0);
	pthread_barrier_init(&turn, NULL, 2);
	pthread_t owner = start_thread(pushes_an_object_twice, vec);
	meet(&turn);
	void* object = tl_vec_pop(vec);
	CHECK_PTR(tl_vec_pop(vec), object);
	CHECK_OK(tl_ptr_release(object));
	CHECK_PTR(tl_ptr_acquire(object), object);
	CHECK_STATUS(tl_mem_free(object), TL_E_BUSY);
	CHECK_COUNT(object, 2);
	meet(&turn);
	meet(&turn); /* the owner has looked */
	look_into_the_inbox();
	CHECK_STATUS(tl_mem_free(object), TL_E_BUSY);
	CHECK_OK(tl_ptr_release(object));
	CHECK_OK(tl_mem_free(object));
	meet(&turn);
	pthread_join(owner, NULL);
	pthread_barrier_destroy(&turn);
	CHECK_OK(tl_mem_exit_scope());
}

int main(void)
{
	RUN(many_references_by_the_owner);
	RUN(many_references_in_scopes);
	RUN(many_references_by_many_threads);
	RUN(the_owner_acquires_and_others_release);
	RUN(shared_and_foreign_counts);
	RUN(everybody_counts_at_once);
	a_count_that_would_overflow_sticks();
	RUN(floats_go_with_the_last_references);
	return check_finish();
}
