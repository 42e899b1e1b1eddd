/* Devices: what is there, memory of them, and copies. The drivers are those of the
 * tests' own (runtime/device/.../testdata): two CUDA devices, and an OpenCL device
 * whose buffers have no addresses. */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

#include "check.h"

enum { CPU, SHARED, CUDA, OTHER_CUDA, OPENCL, DEVICES };
enum { BYTES = 100003 };

/* Of the fake CUDA driver. */
static void (*fail_at)(const char* name, int call, int result);
static void (*set_hook)(void (*f)(void));
static int (*outstanding)(void);
static int (*pushed)(void);

static char in[BYTES], out[BYTES];

static void* take(int32_t device, size_t bytes)
{
	const tl_device_allocator* a = tl_device_allocator_for(device);
	void* block = a->allocate(a->ctx, bytes);
	CHECK(block != NULL);
	CHECK_INT((uintptr_t)block % a->alignment, 0);
	return block;
}

static void give(int32_t device, void* block, size_t bytes)
{
	const tl_device_allocator* a = tl_device_allocator_for(device);
	tl_clear_error();
	a->deallocate(a->ctx, block, bytes);
	CHECK_STATUS(tl_last_status(), TL_OK);
}

static void check_properties(int32_t device, const char* name, int32_t kind, uint32_t host, uint32_t ordered)
{
	tl_device_properties p = {.struct_size = sizeof p};
	CHECK_OK(tl_device_info(device, &p));
	CHECK_INT(p.struct_size, sizeof p);
	CHECK(strcmp(p.name, name) == 0);
	CHECK(strlen(p.description) > 0 && strlen(p.driver) > 0);
	CHECK_INT(p.device, device);
	CHECK_INT(p.kind, kind);
	CHECK_INT(p.host_access, host);
	CHECK_INT(p.stream_ordered, ordered);
	CHECK(p.total_bytes >= 1u << 30);
	CHECK(p.alignment >= 64);
}

TEST(devices_are_described)
{
	tl_device_properties p = {.struct_size = 24};
	CHECK_INT(tl_device_count(), DEVICES);
	check_properties(CPU, "cpu", TL_DEVICE_KIND_CPU, 1, 0);
	check_properties(SHARED, "shared", TL_DEVICE_KIND_SHARED, 1, 0);
	check_properties(CUDA, "cuda:0", TL_DEVICE_KIND_CUDA, 0, 1);
	check_properties(OTHER_CUDA, "cuda:1", TL_DEVICE_KIND_CUDA, 0, 1);
	check_properties(OPENCL, "opencl:0", TL_DEVICE_KIND_OPENCL, 0, 0);

	CHECK_OK(tl_device_info(CUDA, &p)); /* a caller that knows three fields gets three */
	CHECK_INT(p.struct_size, 24);
	CHECK(strcmp(p.description, "Fake Device 0") == 0);
	CHECK_PTR(p.driver, NULL);
	CHECK_FAILS(tl_device_info(CUDA, NULL), TL_E_INVALID_ARGUMENT);
	p.struct_size = 8;
	CHECK_FAILS(tl_device_info(CUDA, &p), TL_E_INVALID_ARGUMENT);
	for (int i = 0; i < 4; i++) {
		static const int32_t wrong[] = {-1, DEVICES, 256, INT32_MIN};
		p.struct_size = sizeof p;
		CHECK_FAILS(tl_device_info(wrong[i], &p), TL_E_DEVICE);
		CHECK(strstr(tl_last_error(), "known devices: cpu, shared, cuda:0, cuda:1, opencl:0") != NULL);
	}
}

TEST(devices_have_names)
{
	static const struct {
		const char* name;
		int32_t device;
	} names[] = {{"cpu", CPU}, {"cpu:0", CPU}, {"cuda", CUDA}, {"cuda:1", OTHER_CUDA}, {"opencl:0", OPENCL}};
	static const char* const wrong[] = {"", "CUDA", "cuda:", "cuda:x", "cuda:01", ":0", "cuda:0 ", "a b"};
	int32_t device = -7;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		CHECK_OK(tl_device_by_name(names[i].name, &device));
		CHECK_INT(device, names[i].device);
	}
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		CHECK_FAILS(tl_device_by_name(wrong[i], &device), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_device_by_name(NULL, &device), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_device_by_name("cpu", NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_device_by_name("cuda:2", &device), TL_E_DEVICE);
	CHECK_FAILS(tl_device_by_name("metal:0", &device), TL_E_DEVICE);
	CHECK(strstr(tl_last_error(), "Metal exists on macOS only") != NULL);

	CHECK_OK(tl_device_default(&device));
	CHECK_INT(device, CPU);
	CHECK_OK(tl_configure("TL_DEVICE", "cuda:1"));
	CHECK_OK(tl_device_default(&device));
	CHECK_INT(device, OTHER_CUDA);
	CHECK_OK(tl_configure("TL_DEVICE", "cuda:9"));
	CHECK_FAILS(tl_device_default(&device), TL_E_DEVICE);
	CHECK_FAILS(tl_configure("TL_DEVICE", "Cuda"), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_configure("TL_DEVICE", "cpu"));
	CHECK_FAILS(tl_device_default(NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_configure("TL_CUDA_LIBRARY", "x"), TL_E_BUSY);
}

TEST(memory_is_measured)
{
	uint64_t available = 0, total = 0, before;
	for (int32_t d = 0; d < DEVICES; d++) {
		CHECK_OK(tl_device_memory_info(d, &available, &total));
		CHECK(available > 0 && available <= total);
	}
	CHECK_OK(tl_device_memory_info(CUDA, &before, &total));
	void* block = take(CUDA, 1 << 20);
	CHECK_OK(tl_device_memory_info(CUDA, &available, &total));
	CHECK_INT(before - available, 1 << 20);
	give(CUDA, block, 1 << 20);

	CHECK_FAILS(tl_device_memory_info(CPU, NULL, &total), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_device_memory_info(CPU, &available, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_device_memory_info(DEVICES, &available, &total), TL_E_DEVICE);
	fail_at("cuMemGetInfo_v2", 1, 2);
	CHECK_FAILS(tl_device_memory_info(CUDA, &available, &total), TL_E_OUT_OF_MEMORY);
	fail_at("cuMemGetInfo_v2", 1, 801);
	CHECK_FAILS(tl_device_memory_info(CUDA, &available, &total), TL_E_UNSUPPORTED);
	CHECK(strstr(tl_last_error(), "tl_device_memory_info: TL_E_UNSUPPORTED: cuMemGetInfo_v2 (cuda:0) answered") !=
	      NULL);
}

/* A call of an allocator's function that leaves this status. */
static void check_deallocate(const tl_device_allocator* a, void* block, size_t bytes, tl_status want, int line)
{
	tl_clear_error();
	a->deallocate(a->ctx, block, bytes);
	check_status(tl_last_status(), want, __FILE__, line, "deallocate");
}

/* covers: tl_device_allocator_for TL_E_OUT_OF_MEMORY, TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER
 * covers: tl_device_allocator_for TL_E_INVALID_ARGUMENT */
TEST(allocators_refuse)
{
	for (int32_t d = 0; d < DEVICES; d++) {
		const tl_device_allocator* a = tl_device_allocator_for(d);
		char* block = take(d, 4096);
		CHECK_PTR(tl_device_allocator_for(d), a);
		CHECK_INT(a->struct_size, sizeof *a);
		CHECK_REFUSED(a->allocate(a->ctx, 0), 0, TL_OK);
		CHECK_REFUSED(a->allocate(a->ctx, (size_t)1 << 55), 0, TL_E_OUT_OF_MEMORY);
		CHECK_REFUSED(a->allocate(a->ctx, SIZE_MAX), 0, TL_E_OUT_OF_MEMORY);
		CHECK_REFUSED(a->allocate((void*)0x12345, 64), 0, TL_E_DEVICE);
		CHECK_REFUSED(a->allocate((void*)200, 64), 0, TL_E_DEVICE);
		check_deallocate(a, NULL, 64, TL_OK, __LINE__);
		check_deallocate(a, &a, 64, TL_E_UNKNOWN_POINTER, __LINE__);
		check_deallocate(a, block + 64, 4096, TL_E_INTERIOR_POINTER, __LINE__);
		check_deallocate(a, block, 4095, TL_E_INVALID_ARGUMENT, __LINE__);
		give(d, block, 4096);
		check_deallocate(a, block, 4096, TL_E_UNKNOWN_POINTER, __LINE__);
	}
	CHECK_REFUSED(tl_device_allocator_for(-1), 0, TL_E_DEVICE);
	CHECK_REFUSED(tl_device_allocator_for(DEVICES), 0, TL_E_DEVICE);
	CHECK_REFUSED(tl_device_allocator_for(256), 0, TL_E_DEVICE);
	fail_at("cuMemAlloc_v2", 1, 801);
	CHECK_REFUSED(tl_device_allocator_for(CUDA)->allocate(tl_device_allocator_for(CUDA)->ctx, 64), 0, TL_E_UNSUPPORTED);
}

TEST(memory_can_be_pinned)
{
	const tl_device_allocator* a = tl_device_pinned_allocator_for(CUDA);
	char* block = a->allocate(a->ctx, 4096);
	CHECK(a != tl_device_allocator_for(CUDA));
	CHECK(strcmp(a->name, "cuda:0 pinned") == 0);
	memset(block, 7, 4096); /* the CPU's */
	check_deallocate(tl_device_allocator_for(CUDA), block, 4096, TL_E_UNKNOWN_POINTER, __LINE__);
	check_deallocate(a, block, 4096, TL_OK, __LINE__);
	CHECK_REFUSED(tl_device_pinned_allocator_for(CPU), 0, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_device_pinned_allocator_for(OPENCL), 0, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_device_pinned_allocator_for(DEVICES), 0, TL_E_DEVICE);
	CHECK_REFUSED(tl_device_pinned_allocator_for(-1), 0, TL_E_DEVICE);
}

/* From every device to every device, at odd places. */
TEST(copies_arrive)
{
	char* blocks[DEVICES];
	char* seconds[DEVICES];
	for (int d = 0; d < DEVICES; d++) {
		blocks[d] = take(d, BYTES);
		seconds[d] = take(d, BYTES);
	}
	for (int from = 0; from < DEVICES; from++) {
		for (int to = 0; to < DEVICES; to++) {
			for (int i = 0; i < BYTES; i++) in[i] = (char)(i * 7 + from * 31 + to * 17);
			CHECK_OK(tl_device_fill(to, seconds[to], 0x55, BYTES));
			CHECK_OK(tl_device_copy(from, blocks[from], CPU, in, BYTES));
			CHECK_OK(tl_device_copy(to, seconds[to] + 3, from, blocks[from] + 1, BYTES - 5));
			CHECK_OK(tl_device_copy(CPU, out, to, seconds[to], BYTES));
			CHECK(memcmp(out + 3, in + 1, BYTES - 5) == 0);
			CHECK(out[2] == 0x55 && out[BYTES - 2] == 0x55);
		}
	}
	for (int d = 0; d < DEVICES; d++) {
		give(d, blocks[d], BYTES);
		give(d, seconds[d], BYTES);
	}
}

/* covers: tl_device_copy TL_E_OUT_OF_MEMORY, TL_E_UNSUPPORTED
 * covers: tl_device_fill TL_E_OUT_OF_MEMORY, TL_E_UNSUPPORTED */
TEST(copies_are_refused)
{
	static const struct {
		int result;
		tl_status status;
	} driver[] = {{1, TL_E_INVALID_ARGUMENT}, {2, TL_E_OUT_OF_MEMORY}, {700, TL_E_DEVICE}, {801, TL_E_UNSUPPORTED}};
	char *cuda = take(CUDA, 4096), *opencl = take(OPENCL, 4096);
	for (int i = 0; i < 4; i++) {
		fail_at("cuMemcpyHtoD_v2", 1, driver[i].result);
		CHECK_FAILS(tl_device_copy(CUDA, cuda, CPU, in, 64), driver[i].status);
		fail_at("cuMemsetD8_v2", 1, driver[i].result);
		CHECK_FAILS(tl_device_fill(CUDA, cuda, 1, 64), driver[i].status);
	}
	CHECK_OK(tl_device_copy(CUDA, NULL, CPU, NULL, 0));
	CHECK_OK(tl_device_fill(CUDA, NULL, 1, 0));
	CHECK_FAILS(tl_device_copy(CUDA, NULL, CPU, in, 1), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_device_copy(CUDA, cuda, CPU, in, SIZE_MAX), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_device_copy(CUDA, cuda + 4000, CPU, in, 97), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_device_copy(OPENCL, opencl + 4000, CPU, in, 97), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_device_copy(OPENCL, in, CPU, out, 64), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_device_fill(OPENCL, in, 1, 64), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_device_copy(DEVICES, cuda, CPU, in, 64), TL_E_DEVICE);
	CHECK_FAILS(tl_device_copy(CPU, in, -1, cuda, 64), TL_E_DEVICE);
	CHECK_FAILS(tl_device_fill(DEVICES, cuda, 1, 64), TL_E_DEVICE);
	give(CUDA, cuda, 4096);
	give(OPENCL, opencl, 4096);
}

/* Numbers instead of addresses, and memory that is not mapped, for the CPU too. */
TEST(bad_addresses_are_refused)
{
	char* page = mmap(NULL, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const tl_device_allocator* a = tl_device_allocator_for(CPU);
	for (uintptr_t p = 1; p < 4096; p += 3) {
		CHECK_FAILS(tl_device_copy(CPU, (void*)p, CPU, in, 8), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_device_copy(CUDA, in, CPU, (void*)p, 8), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_device_fill(OPENCL, (void*)p, 1, 8), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_device_by_name((const char*)p, (int32_t*)out), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_device_by_name("cpu", (int32_t*)p), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_device_info(CPU, (tl_device_properties*)p), TL_E_INVALID_ARGUMENT);
		check_deallocate(a, (void*)p, 8, TL_E_UNKNOWN_POINTER, __LINE__);
	}
	CHECK_FAILS(tl_device_copy(CPU, page, CPU, in, 64), TL_E_INVALID_ARGUMENT); /* not to be written */
	CHECK_OK(munmap(page, 65536));
	CHECK_FAILS(tl_device_copy(CPU, page, CPU, in, 64), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_device_copy(CPU, in, CPU, page, 64), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_device_copy(CUDA, in, CPU, page, 64), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_device_fill(CPU, page, 1, 64), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_device_copy(CPU, (void*)0xFF00000000000000, CPU, in, 64), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_device_copy(CPU, (void*)0x4180000000000000, CPU, in, 64), TL_E_INVALID_ARGUMENT);
}

static void* busy_thread(void* number)
{
	uint64_t random = (uintptr_t)number + 1;
	for (int i = 0; i < 200; i++) {
		int32_t d = (int32_t)(check_random(&random) % DEVICES);
		size_t bytes = 1 + check_random(&random) % 5000;
		unsigned char value = (unsigned char)check_random(&random), seen = (unsigned char)~value;
		char* block = take(d, bytes);
		CHECK_OK(tl_device_fill(d, block, value, bytes));
		CHECK_OK(tl_device_copy(CPU, &seen, d, block + bytes - 1, 1));
		CHECK_INT(seen, value);
		give(d, block, bytes);
	}
	return NULL;
}

TEST(threads_share_devices)
{
	pthread_t threads[6];
	for (uintptr_t i = 0; i < 6; i++) CHECK_OK(pthread_create(&threads[i], NULL, busy_thread, (void*)i));
	for (int i = 0; i < 6; i++) CHECK_OK(pthread_join(threads[i], NULL));
}

static void* wrapped;

/* Called while the thread is inside the library, as a wrapped allocator is. */
static void allocate_inside(void)
{
	CHECK_STATUS(tl_ptr_check(in), TL_E_BUSY);
	CHECK_PTR(tl_device_allocator_for(CPU), NULL);
	const tl_device_allocator* a = wrapped;
	wrapped = a->allocate(a->ctx, 4096);
	CHECK(wrapped != NULL);
	memset(wrapped, 1, 4096);
	CHECK_PTR(a->allocate(a->ctx, SIZE_MAX), NULL);
}

TEST(allocators_can_be_wrapped)
{
	wrapped = (void*)tl_device_allocator_for(CPU);
	set_hook(allocate_inside);
	void* block = take(CUDA, 4096);
	set_hook(NULL);
	give(CUDA, block, 4096);
	give(CPU, wrapped, 4096);
}

static pthread_key_t last_key;
static tl_status inside_at_end;
static void* block_at_end;

static void allocate_at_end(void)
{
	const tl_device_allocator* a = tl_device_allocator_for(CPU);
	inside_at_end = a == NULL ? tl_last_status() : TL_OK;
}

/* Runs when the thread has given its context back, and shares one with others like it. */
static void use_at_end(void* unused)
{
	(void)unused;
	set_hook(allocate_at_end);
	block_at_end = take(CUDA, 64);
	set_hook(NULL);
}

static void* end_with_use(void* unused)
{
	CHECK_OK(tl_mem_enter_scope()); /* attached: the runtime's own end comes first */
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(pthread_setspecific(last_key, &last_key));
	return unused;
}

/* A call inside a call is refused there too; it does not wait for itself. */
TEST(ending_threads_are_served)
{
	pthread_t thread;
	CHECK_OK(pthread_key_create(&last_key, use_at_end));
	CHECK_OK(pthread_create(&thread, NULL, end_with_use, NULL));
	CHECK_OK(pthread_join(thread, NULL));
	CHECK_STATUS(inside_at_end, TL_E_BUSY);
	give(CUDA, block_at_end, 64);
	CHECK_OK(pthread_key_delete(last_key));
}

TEST(forked_children_are_told)
{
	const tl_device_allocator* a = tl_device_allocator_for(CUDA);
	pid_t child = fork();
	if (child == 0) {
		bool told = a->allocate(a->ctx, 64) == NULL && tl_last_status() == TL_E_FORKED;
		tl_clear_error();
		a->deallocate(a->ctx, (void*)a, 64);
		_exit(told && tl_last_status() == TL_E_FORKED && tl_device_count() == 1 ? 0 : 1);
	}
	CHECK_INT(check_exit_of(child), 0);
}

static void prepare(void)
{
	void* driver = dlopen(FAKE_CUDA, RTLD_NOW);
	if (driver == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	*(void**)&fail_at = dlsym(driver, "fakecuda_fail");
	*(void**)&set_hook = dlsym(driver, "fakecuda_hook");
	*(void**)&outstanding = dlsym(driver, "fakecuda_outstanding");
	*(void**)&pushed = dlsym(driver, "fakecuda_pushed");
	setenv("FAKECUDA_DEVICES", "2", 1);
	setenv("FAKECL_SVM", "0", 1);
	CHECK_OK(tl_configure("TL_CUDA_LIBRARY", FAKE_CUDA));
	CHECK_OK(tl_configure("TL_OPENCL_LIBRARY", FAKE_OPENCL));
}

int main(void)
{
	prepare();
	check_run();
	CHECK_INT(outstanding(), 0);
	CHECK_INT(pushed(), 0);
	return check_finish();
}
