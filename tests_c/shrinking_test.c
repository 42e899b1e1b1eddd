/* Tensors that become smaller: what they leave of their room, which they may take again until somebody else has it. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

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
static void what_is_left_is_taken_from_those_that_stand_still(void)
{
	enum { ROWS = 3000 };
	uint64_t state = 11;
	pthread_t other;
	CHECK_OK(tl_mem_enter_scope());
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
	CHECK_OK(tl_mem_exit_scope());
}

/* Nobody calls meanwhile. */
static void what_is_left_goes_back_by_itself(void)
{
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = with_room(64 << 10);
	CHECK_OK(tl_tensor_resize(tensor, 32 << 10));
	const uint64_t before = charged();
	CHECK_OK(tl_tensor_resize(tensor, 20));
	for (int turn = 0; turn < 3000 && charged() + (30 << 20) > before; turn++) usleep(20000);
	CHECK(charged() + (30 << 20) <= before);
	CHECK_OK(tl_mem_exit_scope());
}

int main(void)
{
	RUN(what_is_left_is_taken_from_those_that_stand_still);
	RUN(what_is_left_goes_back_by_itself);
	return check_finish();
}
