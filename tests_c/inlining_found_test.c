/* Section Inlining: a test for the last reference, and what takes the record that it found. Built with TL_INLINE too. */
#include "inlined.h"

static tl_inl_search found_by(void* context, const void* object)
{
	tl_inl_search found = {object, NULL, 0};
	bool is_unique = false;
	CHECK(tl_inl_op_ptr_is_unique(context, &found, object, &is_unique) && is_unique);
	return found;
}

TEST(an_end_by_what_was_found)
{
	tl_inl_thread thread = begin();
	void* object = tl_inl_mem_alloc(&thread, 64);
	CHECK(tl_inl_ptr_is_unique(&thread, object));
	tl_inl_ptr_acquire(&thread, object);
	CHECK(!tl_inl_ptr_is_unique(&thread, object));
	CHECK_OK(tl_inl_ptr_release(&thread, object));
	CHECK_COUNT(object, 1);
	tl_inl_retake(&thread);
	CHECK(tl_inl_ptr_is_unique(&thread, object));
	void* next = tl_inl_ptr_reuse(&thread, object, 60);
	CHECK_COUNT(next, 1);
	tl_inl_retake(&thread);
	CHECK(tl_inl_ptr_is_unique(&thread, next));
	CHECK(tl_inl_ptr_release_bool(&thread, next));
	CHECK_DEAD(next);
}

/* The object that was found ends by another operation, so its record has another life. */
TEST(a_release_of_what_was_found_and_has_ended)
{
	tl_inl_thread thread = begin();
	void* object = tl_inl_mem_alloc(&thread, 64);
	tl_inl_retake(&thread);
	const tl_ref ref = tl_inl_ref_of(&thread, object);
	CHECK(tl_inl_ptr_is_unique(&thread, object));
	CHECK_OK(tl_inl_ref_release(&thread, ref));
	CHECK_STATUS(tl_inl_ptr_release(&thread, object), TL_E_NOT_LIVE);
	tl_inl_retake(&thread);
	CHECK(!tl_inl_ptr_is_unique(&thread, object));
	CHECK_STATUS(tl_inl_ptr_release(&thread, object), TL_E_NOT_LIVE);
	CHECK_PTR(tl_inl_ptr_reuse(&thread, object, 64), NULL);
	CHECK_STATUS(tl_ref_check(ref), TL_E_NOT_LIVE);
	if (!is_fast()) return;

	void* context = context_now();
	tl_inl_retake(&thread);
	object = tl_inl_mem_alloc(&thread, 64);
	const tl_inl_search found = found_by(context, object);
	CHECK_OK(tl_inl_mem_free(&thread, object));
	CHECK(!tl_inl_op_ptr_release(context, &found, (void*)found.object));
	void* next = tl_inl_mem_alloc(&thread, 64); /* in the slot, whose record is live again */
	CHECK_PTR(next, object);
	void* reused = NULL;
	const tl_inl_search again = found_by(context, next);
	CHECK(again.record == found.record && again.life != found.life);
	CHECK(tl_inl_op_ptr_reuse(context, &again, next, 64, &reused) && reused == next);
	CHECK_COUNT(next, 1);
	CHECK_OK(tl_inl_ptr_release(&thread, next));
}

/* NULL is what nothing was found of, so it is known to be the same; and so is an object after a retake, which forgets. */
TEST(a_release_of_nothing_that_was_found)
{
	_Static_assert(sizeof(tl_inl_thread) <= 8 * sizeof(void*), "docs/inlining.md tells compilers of eight pointers");
	tl_inl_thread thread = begin();
	CHECK_OK(tl_inl_ptr_release(&thread, NULL));
	tl_inl_retake(&thread);
	CHECK(!tl_inl_ptr_is_unique(&thread, NULL));
	CHECK_OK(tl_inl_ptr_release(&thread, NULL));
	tl_inl_retake(&thread);
	void* object = tl_inl_ptr_reuse(&thread, NULL, 64);
	CHECK_COUNT(object, 1);
	tl_inl_retake(&thread);
	CHECK(tl_inl_ptr_is_unique(&thread, object));
	tl_inl_retake(&thread);
	CHECK_STATUS(tl_inl_ptr_release(&thread, (char*)object + 8), TL_E_INTERIOR_POINTER);
	CHECK_OK(tl_inl_ptr_release(&thread, object));
	CHECK_DEAD(object);
	CHECK(!tl_inl_ptr_is_unique(&thread, object));
}

struct dropped {
	void* object;
	int turns;
};

static void* drop_in_turns(void* argument)
{
	struct dropped* d = argument;
	for (int i = 0; i < d->turns; i++) CHECK_OK(tl_ptr_release(d->object));
	return NULL;
}

/* What another thread has dropped, the owner's release behind its test counts. */
TEST(what_was_found_beside_another_thread)
{
	struct dropped d = {tl_mem_alloc(64), 100};
	tl_inl_thread thread = begin();
	for (int i = 0; i < 2 * d.turns; i++) CHECK_PTR(tl_ptr_acquire(d.object), d.object);
	const pthread_t other = start_thread(drop_in_turns, &d);
	for (int i = 0; i < d.turns; i++) {
		tl_inl_retake(&thread);
		CHECK(!tl_inl_ptr_is_unique(&thread, d.object));
		CHECK_OK(tl_inl_ptr_release(&thread, d.object));
	}
	pthread_join(other, NULL);
	tl_inl_retake(&thread);
	CHECK(tl_inl_ptr_is_unique(&thread, d.object));
	CHECK_OK(tl_inl_ptr_release(&thread, d.object));
	tl_mem_purge();
	CHECK_DEAD(d.object);
}

int main(void) { return check_tests(); }
