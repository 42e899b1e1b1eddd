/* Devices of the program's own: registered, with tensors on them. One is out of the CPU's
 * reach and copies by functions that fail on command, one is the CPU's memory under
 * another name, one cannot be copied at all. */
#include <pthread.h>

#include "check.h"

/* Addresses of the far device are those of malloc plus this, which no processor reaches. */
static const uintptr_t FAR = (uintptr_t)1 << 61;

typedef struct memory {
	int blocks; /* given out */
	uintptr_t offset;
	int copies, fills;
	int32_t answer; /* of the next copy */
} memory;

static memory far_memory = {.offset = (uintptr_t)1 << 61}, near_memory, plain_memory;
static int32_t far_device, near_device, plain_device;

static void* allocate(void* ctx, size_t bytes)
{
	memory* m = ctx;
	if (bytes > 64 << 20) return NULL;
	char* block = aligned_alloc(64, (bytes + 63) / 64 * 64);
	if (block == NULL) return NULL;
	__atomic_add_fetch(&m->blocks, 1, __ATOMIC_RELAXED);
	return block + m->offset;
}

static void deallocate(void* ctx, void* block, size_t bytes)
{
	memory* m = ctx;
	(void)bytes;
	__atomic_sub_fetch(&m->blocks, 1, __ATOMIC_RELAXED);
	free((char*)block - m->offset);
}

static int32_t copied(memory* m, void* to, const void* from, size_t bytes)
{
	int32_t answer = __atomic_exchange_n(&m->answer, 0, __ATOMIC_RELAXED);
	__atomic_add_fetch(&m->copies, 1, __ATOMIC_RELAXED);
	if (answer == 0) memcpy(to, from, bytes);
	return answer;
}

static int32_t from_host(void* ctx, void* to, const void* from, size_t bytes)
{
	return copied(ctx, (char*)to - FAR, from, bytes);
}
static int32_t to_host(void* ctx, void* to, const void* from, size_t bytes)
{
	return copied(ctx, to, (const char*)from - FAR, bytes);
}
static int32_t within(void* ctx, void* to, const void* from, size_t bytes)
{
	return copied(ctx, (char*)to - FAR, (const char*)from - FAR, bytes);
}

static int32_t fill(void* ctx, void* to, int32_t value, size_t bytes)
{
	memset((char*)to - FAR, value, bytes);
	((memory*)ctx)->fills++;
	return TL_OK;
}

static tl_device_allocator allocator_of(memory* m, const char* name)
{
	return (tl_device_allocator){sizeof(tl_device_allocator), name, 64, m, allocate, deallocate};
}

static tl_device_copier far_copier(void)
{
	return (tl_device_copier){.struct_size = sizeof(tl_device_copier),
	                          .ctx = &far_memory,
	                          .total_bytes = 64 << 20,
	                          .from_host = from_host,
	                          .to_host = to_host,
	                          .within = within};
}

TEST(they_are_registered)
{
	tl_device_allocator a = allocator_of(&far_memory, "npu:0");
	tl_device_copier c = far_copier();
	CHECK_OK(tl_device_register(&a, &c, &far_device));
	c = (tl_device_copier){.struct_size = sizeof c, .host_access = 1};
	a = allocator_of(&near_memory, "coda:0");
	CHECK_FAILS(tl_configure("TL_DEVICE", "coda:0"), TL_E_INVALID_ARGUMENT); /* did you mean cuda? */
	CHECK_OK(tl_device_register(&a, &c, &near_device));
	CHECK_OK(tl_configure("TL_DEVICE", "coda:0"));
	a = allocator_of(&plain_memory, "plain:3");
	CHECK_OK(tl_device_register(&a, NULL, &plain_device));
	memset(&a, 0, sizeof a); /* copied */

	tl_device_properties p = {.struct_size = sizeof p};
	CHECK_OK(tl_device_info(far_device, &p));
	CHECK(strcmp(p.name, "npu:0") == 0);
	CHECK_INT(p.kind, TL_DEVICE_KIND_CUSTOM);
	CHECK_INT(p.total_bytes, 64 << 20);
	CHECK_INT(p.host_access, 0);
	CHECK_OK(tl_device_info(near_device, &p));
	CHECK_INT(p.host_access, 1);
	int32_t found;
	CHECK_OK(tl_device_by_name("plain:3", &found));
	CHECK_INT(found, plain_device);
	CHECK_OK(tl_configure("TL_DEVICE", "npu:0"));
	CHECK_OK(tl_device_default(&found));
	CHECK_INT(found, far_device);
	CHECK_OK(tl_configure("TL_DEVICE", "cpu"));
}

TEST(descriptions_are_checked)
{
	int32_t out = -7;
	tl_device_allocator good = allocator_of(&far_memory, "other:0"), a = good;
	tl_device_copier copier = far_copier(), c = copier;
	CHECK_FAILS(tl_device_register(NULL, &c, &out), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_device_register(&a, &c, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_device_register(&a, (tl_device_copier*)8, &out), TL_E_INVALID_ARGUMENT);
	a.allocate = NULL;
	CHECK_FAILS(tl_device_register(&a, &c, &out), TL_E_INVALID_ARGUMENT);
	a = good;
	a.struct_size = 8;
	CHECK_FAILS(tl_device_register(&a, &c, &out), TL_E_INVALID_ARGUMENT);
	for (size_t alignment = 0; alignment < 100; alignment += 33) {
		a = good;
		a.alignment = alignment;
		CHECK_FAILS(tl_device_register(&a, &c, &out), TL_E_INVALID_ARGUMENT);
	}
	for (int i = 0; i < 6; i++) {
		static const char* const names[] = {NULL, "", "npu", "cuda:0", "cpu:1", "Npu:0"};
		a = good;
		a.name = names[i];
		CHECK_FAILS(tl_device_register(&a, &c, &out), TL_E_INVALID_ARGUMENT);
	}
	c.struct_size = 16;
	CHECK_FAILS(tl_device_register(&good, &c, &out), TL_E_INVALID_ARGUMENT);
	tl_device_move* const needed[] = {&c.from_host, &c.to_host, &c.within};
	for (int i = 0; i < 3; i++) {
		c = copier;
		*needed[i] = NULL;
		CHECK_FAILS(tl_device_register(&good, &c, &out), TL_E_INVALID_ARGUMENT);
		*(uintptr_t*)needed[i] = 77;
		c.host_access = 1;
		CHECK_FAILS(tl_device_register(&good, &c, &out), TL_E_INVALID_ARGUMENT);
	}
	c = copier;
	*(uintptr_t*)&c.fill = 77;
	CHECK_FAILS(tl_device_register(&good, &c, &out), TL_E_INVALID_ARGUMENT);
	good.name = "npu:0";
	CHECK_FAILS(tl_device_register(&good, &copier, &out), TL_E_ALREADY_REGISTERED);
	CHECK_INT(out, -7);
}

static const int64_t shape[2] = {30, 20}, axes[2] = {1, 0};

static void tensors_live_there(int32_t device)
{
	CHECK_OK(tl_mem_enter_scope());
	float values[600];
	for (int i = 0; i < 600; i++) values[i] = (float)i;
	tl_tensor* here = tl_tensor_new(values, 2, shape);
	tl_tensor* there = tl_tensor_to(here, device);
	CHECK_INT(tl_tensor_device(there), device);
	tl_tensor* second = tl_tensor_clone(tl_view_permute(there, 2, axes));
	tl_tensor* third = tl_tensor_new_zeroed(TL_DTYPE_F32, device, 2, shape);
	CHECK(((const float*)tl_tensor_data(tl_tensor_to(third, TL_DEVICE_CPU)))[599] == 0);
	CHECK_OK(tl_tensor_copy(third, tl_view_permute(second, 2, axes)));
	const float* back = tl_tensor_data(tl_tensor_to(third, TL_DEVICE_CPU));
	for (int i = 0; i < 600; i++) CHECK(back[i] == values[i]);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_mem_purge());
}

TEST(out_of_reach)
{
	tensors_live_there(far_device);
	CHECK(far_memory.copies > 4);
	CHECK_INT(far_memory.blocks, 0);
}

TEST(in_reach)
{
	int32_t kind, ordinal;
	tensors_live_there(near_device);
	CHECK_INT(near_memory.blocks, 0);
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* t = tl_tensor_new_zeroed(TL_DTYPE_F32, near_device, 2, shape);
	((float*)tl_tensor_data(t))[3] = 5;
	CHECK_OK(tl_tensor_copy(tl_view_permute(t, 2, axes), tl_tensor_clone(tl_view_permute(t, 2, axes)))); /* into gaps */
	CHECK(((float*)tl_tensor_data(t))[3] == 5);
	CHECK_OK(tl_tensor_dlpack_device(t, &kind, &ordinal)); /* to others it is the CPU's */
	CHECK_INT(kind, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_mem_purge());
}

TEST(without_copies)
{
	int32_t kind, ordinal;
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* t = tl_tensor_empty(TL_DTYPE_F32, plain_device, 2, shape);
	CHECK(t != NULL);
	CHECK_REFUSED(tl_tensor_new_zeroed(TL_DTYPE_F32, plain_device, 2, shape), 0, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_tensor_clone(t), 0, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_tensor_to(t, TL_DEVICE_CPU), 0, TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_tensor_dlpack_device(t, &kind, &ordinal), TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_tensor_to_dlpack(t, false), 0, TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_tensor_record_stream(t, &kind), TL_E_UNSUPPORTED);
	CHECK_OK(tl_tensor_record_stream(t, NULL));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_mem_purge());
	CHECK_INT(plain_memory.blocks, 0);
}

/* What a function answers is the status of the call, and nothing is left behind. */
TEST(failures_are_told)
{
	static const struct {
		int32_t answer;
		tl_status want;
	} answers[] = {{TL_E_OUT_OF_MEMORY, TL_E_OUT_OF_MEMORY},
	               {TL_E_UNSUPPORTED, TL_E_UNSUPPORTED},
	               {TL_E_INVALID_ARGUMENT, TL_E_INVALID_ARGUMENT},
	               {TL_E_DEVICE, TL_E_DEVICE},
	               {12345, TL_E_DEVICE},
	               {-1, TL_E_DEVICE}};
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* t = tl_tensor_new_zeroed(TL_DTYPE_F32, far_device, 2, shape);
	int64_t before = tl_get_refcount_count();
	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
		far_memory.answer = answers[i].answer;
		CHECK_REFUSED(tl_tensor_to(t, TL_DEVICE_CPU), 0, answers[i].want);
		far_memory.answer = answers[i].answer;
		CHECK_REFUSED(tl_tensor_clone(t), 0, answers[i].want);
		far_memory.answer = answers[i].answer;
		CHECK_REFUSED(tl_tensor_new_zeroed(TL_DTYPE_F32, far_device, 2, shape), 0, answers[i].want);
		far_memory.answer = answers[i].answer;
		CHECK_REFUSED(tl_tensor_clone(tl_view_permute(t, 2, axes)), 0, answers[i].want);
		CHECK_INT(tl_get_refcount_count(), before + 1 + (int64_t)i);
	}
	far_memory.answer = 0;
	/* Addresses that are none of the device's do not reach its functions. */
	int copies = far_memory.copies;
	CHECK_FAILS(tl_device_copy(far_device, &before, TL_DEVICE_CPU, &before, 8), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_device_fill(far_device, &before, 0, 8), TL_E_UNKNOWN_POINTER);
	CHECK_INT(far_memory.copies, copies);
	int64_t too_many = 65 << 20;
	CHECK_REFUSED(tl_tensor_empty(TL_DTYPE_U8, far_device, 1, &too_many), 0, TL_E_OUT_OF_MEMORY);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_mem_purge());
	CHECK_INT(far_memory.blocks, 0);
}

static void* busy_thread(void* number)
{
	int32_t device = (uintptr_t)number % 2 ? far_device : near_device;
	for (int i = 0; i < 300; i++) {
		int64_t n = 1 + i % 7 * 50;
		CHECK_OK(tl_mem_enter_scope());
		tl_tensor* t = tl_tensor_new_zeroed(TL_DTYPE_U8, device, 1, &n);
		CHECK_INT(*(uint8_t*)tl_tensor_data(tl_tensor_to(t, TL_DEVICE_CPU)), 0);
		CHECK_OK(tl_mem_exit_scope());
	}
	return NULL;
}

TEST(threads_share_them)
{
	pthread_t threads[4];
	for (uintptr_t i = 0; i < 4; i++) CHECK_OK(pthread_create(&threads[i], NULL, busy_thread, (void*)i));
	for (int i = 0; i < 4; i++) CHECK_OK(pthread_join(threads[i], NULL));
	CHECK_OK(tl_mem_purge());
}

/* covers: tl_device_register TL_E_LIMIT */
TEST(as_many_as_there_are_numbers)
{
	char name[16];
	tl_device_allocator a = allocator_of(&far_memory, name);
	tl_device_copier c = far_copier();
	int32_t device = 0;
	tl_status status = TL_OK;
	c.fill = fill;
	for (int i = 1; i < 300 && status == TL_OK; i++) {
		snprintf(name, sizeof name, "many:%d", i);
		status = tl_device_register(&a, &c, &device);
	}
	CHECK_STATUS(status, TL_E_LIMIT);
	CHECK_INT(device, 255);
	tensors_live_there(255);
	CHECK(far_memory.fills > 0);
	CHECK_INT(far_memory.blocks, 0);
}

int main(void)
{
	CHECK_OK(tl_configure("TL_CUDA_LIBRARY", "/nowhere/libcuda.so"));
	CHECK_OK(tl_configure("TL_OPENCL_LIBRARY", "/nowhere/libOpenCL.so"));
	check_run();
	CHECK_INT(tl_get_gpu_total_allocated_bytes(), 0);
	CHECK_INT(far_memory.blocks + near_memory.blocks + plain_memory.blocks, 0);
	return check_finish();
}
