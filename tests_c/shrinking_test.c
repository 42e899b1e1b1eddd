/* Tensors that become smaller: what they leave of their room, which they may take again until somebody else has it. */
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

enum { WIDTH = 256 }; /* a row is 1 KiB */

static tl_tensor* with_room(int64_t rows)
{
	const int64_t shape[2] = {1, WIDTH};
	tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_I32, TL_DEVICE_CPU, 2, shape);
	CHECK_OK(tl_tensor_reserve(tensor, rows));
	return tensor;
}

static uint64_t charged(void)
{
	tl_mem_usage_info usage = {.struct_size = sizeof usage};
	CHECK_OK(tl_mem_usage(TL_DEVICE_CPU, &usage));
	return usage.reserved;
}

static atomic_bool purges;

static void* purge_always(void* unused)
{
	(void)unused;
	while (atomic_load(&purges)) CHECK_OK(tl_mem_purge());
	return NULL;
}

/* Extents below the capacity change without a call, while somebody takes what is left each time. */
TEST_IN_SCOPE(what_is_left_is_taken_from_those_that_stand_still)
{
	enum { ROWS = 3000 };
	uint64_t state = 11;
	pthread_t other;
	tl_tensor* tensor = with_room(ROWS);
	int32_t* data = NULL;
	atomic_store(&purges, true);
	CHECK_INT(pthread_create(&other, NULL, purge_always, NULL), 0);
	for (int64_t i = 0, n = 0; i < 5000; i++) {
		const int64_t to = (int64_t)(check_random(&state) % (ROWS + 1));
		CHECK_OK(tl_tensor_resize(tensor, to));
		if (to > 0) data = tl_tensor_data(tensor);
		for (int64_t row = n; row < to; row++) data[row * WIDTH] = (int32_t)row + 1;
		int64_t wrong = 0;
		for (int64_t row = 0; row < to; row++) wrong += data[row * WIDTH] != (int32_t)row + 1;
		CHECK_INT(wrong, 0);
		n = to;
	}
	atomic_store(&purges, false);
	CHECK_INT(pthread_join(other, NULL), 0);
	CHECK_OK(tl_tensor_resize(tensor, 1));
	CHECK_OK(tl_mem_purge());
	const uint64_t before = charged();
	CHECK_OK(tl_tensor_resize(tensor, ROWS));
	CHECK(charged() >= before + ROWS * WIDTH * 4 - (64 << 10));
	CHECK_OK(tl_tensor_resize(tensor, 1));
	CHECK_OK(tl_mem_purge());
	CHECK_INT(charged(), before);
}

/* Nobody calls meanwhile. */
TEST_IN_SCOPE(what_is_left_goes_back_by_itself)
{
	tl_tensor* tensor = with_room(64 << 10);
	CHECK_OK(tl_tensor_resize(tensor, 32 << 10));
	const uint64_t before = charged();
	CHECK_OK(tl_tensor_resize(tensor, 20));
	for (int turn = 0; turn < 3000 && charged() + (30 << 20) > before; turn++) usleep(20000);
	CHECK(charged() + (30 << 20) <= before);
}

/* A growth that is refused, and a reserve, change nothing of what is left; and what is left pays for others. */
TEST_IN_SCOPE(calls_between_leave_it)
{
	tl_tensor* tensor = with_room(1 << 20);
	const uint64_t before = charged();
	CHECK_OK(tl_tensor_resize(tensor, 64 << 10)); /* 64 MiB */
	CHECK_OK(tl_tensor_resize(tensor, 1));
	CHECK_OK(tl_mem_set_limit(TL_DEVICE_CPU, 0, before + (100 << 20)));
	CHECK_FAILS(tl_tensor_resize(tensor, 200 << 10), TL_E_LIMIT);
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_mem_new(60 << 20) != NULL);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_mem_set_limit(TL_DEVICE_CPU, 0, 0));
	CHECK_OK(tl_mem_purge());
	CHECK(charged() < before + (1 << 20));

	CHECK_OK(tl_tensor_resize(tensor, 64 << 10));
	CHECK_OK(tl_tensor_resize(tensor, 1));
	CHECK_OK(tl_tensor_reserve(tensor, 1000));
	CHECK_OK(tl_tensor_resize(tensor, 3));
	CHECK_OK(tl_mem_purge());
	CHECK(charged() < before + (1 << 20));
}

/* Shrinking once more while somebody takes the tail loses nothing. */
TEST_IN_SCOPE(what_many_leave_goes_back)
{
	enum { MANY = 200 };
	tl_tensor* tensors[MANY];
	pthread_t other;
	for (int i = 0; i < MANY; i++) tensors[i] = with_room(2000);
	CHECK_OK(tl_mem_purge());
	const uint64_t before = charged();
	atomic_store(&purges, true);
	CHECK_INT(pthread_create(&other, NULL, purge_always, NULL), 0);
	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < MANY; i++) CHECK_OK(tl_tensor_resize(tensors[i], 2000));
		for (int i = 0; i < MANY; i++) CHECK_OK(tl_tensor_resize(tensors[i], 800));
		for (int i = 0; i < MANY; i++) CHECK_OK(tl_tensor_resize(tensors[i], 1));
	}
	atomic_store(&purges, false);
	CHECK_INT(pthread_join(other, NULL), 0);
	CHECK_OK(tl_mem_purge());
	CHECK(charged() <= before + (4 << 20));
}

/* Small steps while the clock runs: it does not stop before it has taken what is left. */
TEST_IN_SCOPE(steps_down_while_the_clock_runs)
{
	tl_tensor* tensor = with_room(64 << 10);
	const uint64_t before = charged();
	CHECK_OK(tl_tensor_resize(tensor, 64 << 10));
	for (int i = 0; i < 6; i++) {
		CHECK_OK(tl_tensor_resize(tensor, 64));
		CHECK_OK(tl_tensor_resize(tensor, 1));
		usleep(100000);
	}
	for (int turn = 0; turn < 3000 && charged() > before + (4 << 20); turn++) usleep(20000);
	CHECK(charged() <= before + (4 << 20));
}

/* What a header says of its room, and its flags, are not believed. */
TEST_IN_SCOPE(headers_that_were_overwritten)
{
	for (int word = 0; word < 8; word++) {
		for (int bit = 0; bit < 64; bit++) {
			tl_tensor* tensor = with_room(2000);
			CHECK_OK(tl_tensor_resize(tensor, 2000));
			CHECK_OK(tl_tensor_resize(tensor, 1));
			uint64_t* header = (uint64_t*)(void*)tensor;
			header[word] ^= 1ull << bit;
			CHECK_OK(tl_mem_purge());
			(void)tl_tensor_resize(tensor, 2);
			header[word] ^= 1ull << bit;
			(void)tl_tensor_free(tensor);
		}
	}
	tl_tensor* tensor = with_room(2000);
	CHECK_OK(tl_tensor_resize(tensor, 2000));
	CHECK_OK(tl_tensor_resize(tensor, 1));
	((uint32_t*)(void*)tensor)[7] |= 4; /* lent memory, whose deleter the clock's word is not */
	(void)tl_tensor_free(tensor);
}

int main(void) { return check_tests(); }
