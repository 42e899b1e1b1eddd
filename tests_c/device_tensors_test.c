/* Tensors on devices: their lives, views, what is kept of them, and what a program may
 * overwrite. Copies have a test of their own. */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "fake_cuda.h"

static const int64_t square[2] = {64, 64};
enum { ELEMENTS = 64 * 64, SQUARE_BYTES = ELEMENTS * 4 };

static tl_tensor* empty_on(int32_t device, int64_t elements)
{
	tl_tensor* t = tl_tensor_empty(TL_DTYPE_F32, device, 1, &elements);
	CHECK(t != NULL);
	return t;
}

static tl_tensor* floating_on(int32_t device, int64_t elements)
{
	tl_tensor* t = empty_on(device, elements);
	CHECK_OK(tl_tensor_promote(t));
	return t;
}

TEST(they_are_described)
{
	for (int32_t d = CUDA; d < DEVICES; d++) {
		tl_tensor_info info = {.struct_size = sizeof info};
		CHECK_OK(tl_mem_enter_scope());
		tl_tensor* t = tl_tensor_new_zeroed(TL_DTYPE_F32, d, 2, square);
		CHECK(t != NULL);
		CHECK_OK(tl_tensor_info_get(t, &info));
		CHECK_INT(info.device, d);
		CHECK_INT(info.nbytes, SQUARE_BYTES);
		CHECK_INT(info.flags, TL_TENSOR_FLAG_CONTIGUOUS | TL_TENSOR_FLAG_ON_DEVICE);
		CHECK_PTR(info.data, tl_tensor_data(t));
		CHECK_INT(tl_tensor_device(t), d);
		CHECK(tl_tensor_is_contiguous(t));
		tl_tensor* here = tl_tensor_to(t, CPU);
		CHECK_INT(tl_tensor_device(here), CPU);
		for (int i = 0; i < ELEMENTS; i++) CHECK(((const float*)tl_tensor_data(here))[i] == 0);
		CHECK_OK(tl_mem_exit_scope());
		CHECK_DEAD(t);
	}
}

TEST(empty_tensors_have_no_block)
{
	const int64_t none[2] = {0, 5};
	int64_t before = tl_get_gpu_total_allocated_bytes();
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* t = tl_tensor_new_zeroed(TL_DTYPE_I64, CUDA, 2, none);
	CHECK(t != NULL);
	CHECK_REFUSED(tl_tensor_data(t), 0, TL_OK);
	CHECK(tl_tensor_to(t, CPU) != NULL);
	CHECK(tl_tensor_clone(t) != NULL);
	CHECK_INT(tl_get_gpu_total_allocated_bytes(), before);
	CHECK_OK(tl_mem_exit_scope());
}

TEST(requests_are_checked)
{
	const int64_t huge[1] = {(int64_t)1 << 40}, most[1] = {(int64_t)1 << 60}, negative[1] = {-1};
	for (int i = 0; i < 4; i++) {
		static const int32_t wrong[] = {-2, DEVICES, 256, INT32_MIN};
		CHECK_REFUSED(tl_tensor_empty(TL_DTYPE_F32, wrong[i], 2, square), 0, TL_E_DEVICE);
		CHECK_REFUSED(tl_tensor_new_zeroed(TL_DTYPE_F32, wrong[i], 2, square), 0, TL_E_DEVICE);
	}
	for (int32_t d = CUDA; d < DEVICES; d++) {
		CHECK_REFUSED(tl_tensor_empty(TL_DTYPE_U8, d, 1, huge), 0, TL_E_OUT_OF_MEMORY);
		CHECK_REFUSED(tl_tensor_new_zeroed(TL_DTYPE_U8, d, 1, huge), 0, TL_E_OUT_OF_MEMORY);
		CHECK_REFUSED(tl_tensor_empty(TL_DTYPE_U8, d, 1, most), 0, TL_E_OUT_OF_MEMORY);
		CHECK_REFUSED(tl_tensor_empty(TL_DTYPE_F32, d, 1, negative), 0, TL_E_INVALID_ARGUMENT);
		CHECK_REFUSED(tl_tensor_empty(77, d, 2, square), 0, TL_E_INVALID_ARGUMENT);
		CHECK_REFUSED(tl_tensor_empty(TL_DTYPE_F32, d, 2, NULL), 0, TL_E_INVALID_ARGUMENT);
	}
}

/* A released tensor is kept with its block, and the next of its size and type has both. */
TEST(they_are_kept)
{
	CHECK_OK(tl_mem_purge());
	for (int32_t d = CUDA; d < DEVICES; d++) {
		tl_tensor* t = floating_on(d, 1000);
		void* data = tl_tensor_data(t);
		int64_t count = tl_get_gpu_free_count(), bytes = tl_get_gpu_free_bytes();
		CHECK_OK(tl_tensor_release(t));
		CHECK_INT(tl_get_gpu_free_count(), count + 1);
		CHECK(tl_get_gpu_free_bytes() >= bytes + 4000);
		CHECK_FAILS(tl_tensor_release(t), TL_E_NOT_LIVE);
		CHECK_FAILS(tl_pool_release(t, 1000, TL_DTYPE_F32, (uint8_t)d), TL_E_NOT_LIVE);

		CHECK_PTR(tl_pool_acquire(999, TL_DTYPE_F32, (uint8_t)d), NULL);
		CHECK_PTR(tl_pool_acquire(1000, TL_DTYPE_I32, (uint8_t)d), NULL);
		CHECK_PTR(tl_pool_acquire(1000, TL_DTYPE_F32, 0), NULL);
		CHECK_PTR(tl_pool_acquire(1000, TL_DTYPE_F32, (uint8_t)d), t);
		CHECK_PTR(tl_tensor_data(t), data);
		CHECK_INT(tl_tensor_device(t), d);
		CHECK_FAILS(tl_pool_release(t, 1000, TL_DTYPE_F32, 0), TL_E_INVALID_ARGUMENT);
		CHECK_OK(tl_pool_release(t, 1000, TL_DTYPE_F32, (uint8_t)d));
		CHECK_FAILS(tl_pool_release(t, 1000, TL_DTYPE_F32, (uint8_t)d), TL_E_NOT_LIVE);

		CHECK_PTR(floating_on(d, 1000), t);
		CHECK_OK(tl_tensor_release(t));
	}
	CHECK_INT(tl_get_metal_pool_count(), tl_get_gpu_free_count());
	CHECK_INT(tl_get_metal_pool_bytes(), tl_get_gpu_free_bytes());
	CHECK_INT(tl_get_metal_pool_mb(), tl_get_gpu_free_bytes() >> 20);
	CHECK(tl_get_gpu_total_allocated_bytes() >= tl_get_gpu_free_bytes()); /* blocks are rounded up */
	CHECK(tl_get_gpu_total_allocated_bytes() < tl_get_gpu_free_bytes() + 3 * 512);
	CHECK(tl_get_gpu_pool_hit_rate() > 0 && tl_get_gpu_pool_hit_rate() < 1);
	CHECK_OK(tl_dump_gpu_pool_stats());
	CHECK_OK(tl_mem_purge());
	CHECK_INT(tl_get_gpu_free_count(), 0);
	CHECK_INT(tl_get_gpu_total_allocated_bytes(), 0);
	CHECK_INT(fake_outstanding(), 0);
}

TEST(up_to_a_limit_for_each_key)
{
	enum { KEPT = 32, MORE = KEPT + 5 };
	tl_tensor* all[MORE];
	CHECK_OK(tl_mem_purge());
	for (int i = 0; i < MORE; i++) all[i] = floating_on(CUDA, 100);
	int64_t block = tl_get_gpu_total_allocated_bytes() / MORE;
	for (int i = 0; i < MORE; i++) CHECK_OK(tl_tensor_release(all[i]));
	CHECK_INT(tl_get_gpu_free_count(), KEPT);
	CHECK_INT(tl_get_gpu_total_allocated_bytes(), KEPT * block); /* the others went back to the device's pool */
}

/* Keys that are asked for no more make room for those that are. */
TEST(and_of_bytes_for_each_device)
{
	enum { BIG = 16 << 20 };
	CHECK_OK(tl_mem_purge());
	for (int i = 0; i < 40; i++) CHECK_OK(tl_tensor_release(floating_on(CUDA, (BIG >> 2) + i * 64)));
	CHECK(tl_get_gpu_free_bytes() <= 256 << 20);
	CHECK(tl_get_gpu_free_bytes() > 200 << 20);
	tl_tensor* t = floating_on(CUDA, (BIG >> 2) + 39 * 64);
	CHECK_OK(tl_tensor_release(t));
	CHECK_PTR(floating_on(CUDA, (BIG >> 2) + 39 * 64), t); /* the newest was not given up */
	CHECK_OK(tl_tensor_release(t));
	CHECK_OK(tl_mem_purge());
}

/* Kept tensors go when the device has nothing else. */
TEST(pressure_empties_what_is_kept)
{
	CHECK_OK(tl_mem_purge());
	for (int i = 0; i < 10; i++) CHECK_OK(tl_tensor_release(floating_on(CUDA, (20 << 18) + i * 64)));
	CHECK_INT(tl_get_gpu_free_count(), 10);
	tl_tensor* large = floating_on(CUDA, 225 << 20); /* 900 of 1024 MiB */
	CHECK_INT(tl_get_gpu_free_count(), 0);
	CHECK_OK(tl_tensor_release(large));
	CHECK_OK(tl_mem_purge());
}

TEST(views_share_the_block)
{
	const int64_t axes[2] = {1, 0}, row[1] = {64};
	CHECK_OK(tl_mem_purge());
	for (int32_t d = CUDA; d < DEVICES; d++) {
		CHECK_OK(tl_mem_enter_scope());
		tl_tensor* t = tl_tensor_empty(TL_DTYPE_F32, d, 2, square);
		float values[ELEMENTS];
		for (int i = 0; i < ELEMENTS; i++) values[i] = (float)i;
		CHECK_OK(tl_device_copy(d, tl_tensor_data(t), CPU, values, sizeof values));
		tl_tensor* turned = tl_view_permute(t, 2, axes);
		tl_tensor* third = tl_view_slice(t, 0, 3, 4, 1);
		tl_tensor* line = tl_view_reshape(third, 1, row);
		tl_tensor* back = tl_view_slice(line, 0, INT64_MAX, INT64_MIN, -2);
		CHECK_INT(tl_tensor_device(turned), d);
		CHECK_PTR(tl_tensor_data(third), (char*)tl_tensor_data(t) + 3 * 64 * 4);
		CHECK_PTR(tl_tensor_base(line), t);
		CHECK_COUNT(t, 5);
		CHECK_OK(tl_tensor_free(t)); /* the views keep it */
		const float* here = tl_tensor_data(tl_tensor_to(turned, CPU));
		for (int i = 0; i < ELEMENTS; i++) CHECK(here[i] == (float)(i % 64 * 64 + i / 64));
		here = tl_tensor_data(tl_tensor_to(back, CPU));
		for (int i = 0; i < 32; i++) CHECK(here[i] == (float)(3 * 64 + 63 - 2 * i));
		tl_tensor* packed = tl_tensor_clone(turned);
		CHECK_INT(tl_tensor_device(packed), d);
		CHECK(tl_tensor_is_contiguous(packed));
		CHECK_OK(tl_tensor_acquire(line) == line ? TL_OK : TL_E_INTERNAL);
		CHECK_OK(tl_mem_exit_scope());
		CHECK_COUNT(t, 1);
		CHECK_OK(tl_tensor_release(line));
		CHECK_DEAD(t);
	}
	CHECK_INT(tl_get_gpu_total_allocated_bytes(), tl_get_gpu_free_bytes());
}

TEST(the_default_is_an_option)
{
	int64_t n = 8;
	static const struct {
		const char* name;
		int32_t device;
	} wanted[] = {{"cpu", CPU}, {"cuda:1", OTHER_CUDA}, {"opencl", OPENCL}, {"cpu:0", CPU}};
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		CHECK_OK(tl_mem_enter_scope());
		CHECK_OK(tl_configure("TL_DEVICE", wanted[i].name));
		CHECK_INT(tl_tensor_device(tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_DEFAULT, 1, &n)), wanted[i].device);
		CHECK_INT(tl_tensor_device(tl_tensor_new_zeroed(TL_DTYPE_F32, TL_DEVICE_DEFAULT, 1, &n)), wanted[i].device);
		CHECK_INT(tl_tensor_device(tl_tensor_to(tl_tensor_empty(TL_DTYPE_F32, CUDA, 1, &n), TL_DEVICE_DEFAULT)),
		          wanted[i].device);
		CHECK_OK(tl_mem_exit_scope());
	}
	CHECK_OK(tl_configure("TL_DEVICE", "cuda:7"));
	CHECK_REFUSED(tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_DEFAULT, 1, &n), 0, TL_E_DEVICE);
	CHECK_OK(tl_configure("TL_DEVICE", "cpu"));
}

/* What a program writes over a header reaches no block but the tensor's own. */
TEST(headers_may_be_overwritten)
{
	CHECK_OK(tl_mem_purge());
	for (int at = 0; at < 192; at += 4) {
		for (int value = 0; value < 3; value++) {
			static const uint32_t values[] = {0, 1, 0xFFFFFFFF};
			tl_tensor* other = floating_on(CUDA, 500);
			tl_tensor* t = floating_on(CUDA, 700);
			void* data = tl_tensor_data(other);
			memcpy((char*)t + at, &values[value], 4);
			tl_tensor_release(t);
			CHECK_PTR(tl_tensor_data(other), data);
			CHECK_COUNT(other, 1);
			CHECK_OK(tl_tensor_release(other));
			CHECK_OK(tl_mem_purge());
			tl_tensor* again = floating_on(CUDA, 700);
			CHECK_OK(tl_device_fill(CUDA, tl_tensor_data(again), 1, 2800));
			CHECK_OK(tl_tensor_release(again));
		}
	}
	CHECK_OK(tl_mem_purge());
	CHECK_INT(tl_get_gpu_free_count(), 0);
}

static void* busy_thread(void* number)
{
	uint64_t random = (uintptr_t)number + 1;
	for (int i = 0; i < 300; i++) {
		int32_t d = (int32_t)(check_random(&random) % DEVICES);
		int64_t n = 1 + (int64_t)(check_random(&random) % 8) * 100;
		CHECK_OK(tl_mem_enter_scope());
		tl_tensor* t = tl_tensor_new_zeroed(TL_DTYPE_U8, d, 1, &n);
		CHECK(t != NULL);
		if (i % 3 == 0) CHECK_OK(tl_device_fill(d, tl_tensor_data(t), (uint8_t)i, (size_t)n));
		tl_tensor* view = tl_view_slice(t, 0, n - 1, n, 1);
		tl_tensor* here = tl_tensor_to(view, CPU);
		CHECK_INT(*(uint8_t*)tl_tensor_data(here), i % 3 == 0 ? (uint8_t)i : 0);
		if (i % 50 == 0) CHECK_OK(tl_mem_purge());
		CHECK_OK(tl_mem_exit_scope());
	}
	return NULL;
}

TEST(threads_share_them)
{
	pthread_t threads[6];
	for (uintptr_t i = 0; i < 6; i++) CHECK_OK(pthread_create(&threads[i], NULL, busy_thread, (void*)i));
	for (int i = 0; i < 6; i++) CHECK_OK(pthread_join(threads[i], NULL));
}

static void* release_elsewhere(void* tensor)
{
	CHECK_OK(tl_tensor_release(tensor));
	return NULL;
}

TEST(the_last_reference_may_go_anywhere)
{
	pthread_t thread;
	tl_tensor* t = floating_on(CUDA, 64);
	CHECK_OK(pthread_create(&thread, NULL, release_elsewhere, t));
	CHECK_OK(pthread_join(thread, NULL));
	CHECK_DEAD(t);
}

TEST(their_memory_is_in_the_leak_report)
{
	char path[] = "/tmp/tl_leaks_XXXXXX", text[4096] = "";
	close(mkstemp(path));
	tl_tensor* t = floating_on(CUDA, 1000);
	CHECK_INT(tl_leak_report(path), 1);
	int file = open(path, O_RDONLY);
	CHECK(file >= 0);
	CHECK(read(file, text, sizeof text - 1) > 0);
	CHECK(strstr(text, "Direct leak of 4000 byte(s) in 1 object(s)") != NULL); /* 1000 floats */
	close(file);
	unlink(path);
	CHECK_OK(tl_tensor_release(t));
}

int main(void)
{
	prepare_devices();
	check_run();
	return finish_devices();
}
