/* Every call of the driver fails once, at every place: the status tells, nothing leaks,
 * the same work succeeds afterwards. */
#include "fake_cuda.h"

static const int results[] = {2, 700};
static const int64_t shape[2] = {16, 16}, axes[2] = {1, 0};
static void* stream;

/* Whether the work succeeded; when it did not, *why is the status of the call that failed. */
typedef bool (*work)(tl_status* why);

static bool told(bool good, tl_status* why)
{
	if (!good) *why = tl_last_status();
	return good;
}

static bool tensors(tl_status* why)
{
	float values[256];
	for (int i = 0; i < 256; i++) values[i] = (float)i;
	tl_tensor* here = tl_tensor_new(values, 2, shape);
	tl_tensor* there = tl_tensor_to(here, CUDA);
	if (!told(there != NULL, why)) return false;
	tl_tensor* second = tl_tensor_new_zeroed(TL_DTYPE_F32, OTHER_CUDA, 2, shape);
	if (!told(second != NULL, why)) return false;
	tl_tensor* turned = tl_tensor_clone(tl_view_permute(there, 2, axes));
	if (!told(turned != NULL, why)) return false;
	if (!told(tl_tensor_copy(second, turned) == TL_OK, why)) return false;
	tl_tensor* back = tl_tensor_to(second, CPU);
	if (!told(back != NULL, why)) return false;
	const float* got = tl_tensor_data(back);
	for (int i = 0; i < 256; i++) CHECK(got[i] == values[i % 16 * 16 + i / 16]);
	return true;
}

static bool recorded(tl_status* why)
{
	tl_tensor* t = tl_tensor_empty(TL_DTYPE_F32, CUDA, 2, shape);
	if (!told(t != NULL, why)) return false;
	if (!told(tl_tensor_record_stream(t, stream) == TL_OK, why)) return false;
	return told(tl_tensor_sync_stream(t, NULL) == TL_OK, why);
}

static bool torch(tl_status* why)
{
	void* block = tl_torch_malloc(100000, 0, stream);
	if (!told(block != NULL, why)) return false;
	tl_clear_error();
	tl_torch_free(block, 100000, 0, stream);
	if (tl_last_status() == TL_OK) return true;
	*why = tl_last_status();
	tl_torch_free(block, 100000, 0, stream); /* still the caller's */
	return false;
}

static bool blocks(tl_status* why)
{
	tl_memory_pool* pool = NULL;
	*why = tl_memory_pool_create(tl_device_allocator_for(CUDA), 1 << 20, &pool);
	if (*why != TL_OK) return false;
	bool good = true;
	for (int i = 0; i < 3; i++) {
		void* block = tl_memory_pool_allocate_async(pool, 600000, stream);
		if (!told(block != NULL, why)) good = false;
		else if (!told(tl_memory_pool_deallocate_async(pool, block, i % 2 ? stream : NULL) == TL_OK, why)) {
			good = false;
			CHECK_OK(tl_memory_pool_deallocate(pool, block));
		}
	}
	tl_status ended = tl_memory_pool_destroy(pool);
	if (ended != TL_OK) *why = ended;
	return good && ended == TL_OK;
}

static bool run(work body, tl_status* why)
{
	CHECK_OK(tl_mem_enter_scope());
	*why = TL_OK;
	bool good = body(why);
	CHECK_OK(tl_mem_exit_scope());
	CHECK(good || *why != TL_OK);
	return good;
}

static int times_that_failed;

/* A chunk that the driver refused to take back is still known, and can be returned;
 * everything else came back. */
static void check_outstanding(const char* failed)
{
	bool may_be_left =
		failed != NULL && (strcmp(failed, "cuMemFree_v2") == 0 || strcmp(failed, "cuCtxPushCurrent_v2") == 0);
	CHECK(fake_outstanding() <= may_be_left);
	if (fake_outstanding() == 1) {
		const tl_device_allocator* a = tl_device_allocator_for(CUDA);
		size_t bytes = 0;
		void* left = fake_left(&bytes);
		tl_clear_error();
		a->deallocate(a->ctx, left, bytes);
		CHECK_STATUS(tl_last_status(), TL_OK);
		CHECK_INT(fake_outstanding(), 0);
	}
}

static void fails_at(work body, int k, int result)
{
	tl_status why;
	int64_t before = tl_get_gpu_total_allocated_bytes() - tl_get_gpu_free_bytes();
	fake_fail("*", k, result);
	if (!run(body, &why)) {
		times_that_failed++;
		CHECK(why == TL_E_OUT_OF_MEMORY || why == TL_E_DEVICE);
		CHECK(result != 700 || why == TL_E_DEVICE);
	}
	const char* failed = fake_failed();
	fake_fail("none", 1, 0);
	CHECK_INT(tl_get_gpu_total_allocated_bytes() - tl_get_gpu_free_bytes(), before);
	CHECK(run(body, &why));
	purge_devices();
	check_outstanding(failed);
}

static void every_call(work body, int most)
{
	for (size_t r = 0; r < sizeof results / sizeof *results; r++) {
		times_that_failed = 0;
		for (int k = 1; k <= most; k++) fails_at(body, k, results[r]);
		CHECK(times_that_failed > (results[r] == 2 ? 0 : 2)); /* a lack of memory is often got over */
	}
}

TEST(tensors_survive) { every_call(tensors, 60); }
TEST(recorded_survive) { every_call(recorded, 30); }
TEST(torch_survives) { every_call(torch, 25); }
TEST(blocks_survive) { every_call(blocks, 50); }

int main(void)
{
	prepare_devices();
	stream = fake_stream();
	check_run();
	return finish_devices();
}
