/* A machine without drivers: what was looked for is told, the CPU is there. */
#include "check.h"

static void check_missing(const char* name, const char* what)
{
	int32_t device = 0;
	CHECK_FAILS(tl_device_by_name(name, &device), TL_E_DEVICE);
	if (strstr(tl_last_error(), what) == NULL) {
		fprintf(stderr, "%s: %s\n", name, tl_last_error());
		CHECK(false);
	}
}

TEST(drivers_are_missing)
{
	CHECK_INT(tl_device_count(), 2);
	check_missing("cuda:0", "no CUDA driver here; looked for /nowhere/libcuda.so: cannot open shared object file");
	check_missing("opencl", "no OpenCL library here; looked for /nowhere/libOpenCL.so: cannot open");
	check_missing("npu:3", "there is no device npu:3; known devices: cpu, shared");
}

/* Memory of the CPU asks no driver, and is refused when the system refuses it. */
TEST(the_cpu_needs_no_driver)
{
	const tl_device_allocator* a = tl_device_allocator_for(TL_DEVICE_CPU);
	for (int huge = 0; huge < 2; huge++) {
		CHECK_OK(tl_configure("TL_HUGE_PAGES", huge ? "1" : "0"));
		CHECK_OK(tl_configure("TL_FAIL_MEMORY", "0"));
		CHECK_REFUSED(a->allocate(a->ctx, 4 << 20), 0, TL_E_OUT_OF_MEMORY);
		CHECK_OK(tl_configure("TL_FAIL_MEMORY", "-1"));
		char* block = a->allocate(a->ctx, 4 << 20);
		CHECK(block != NULL);
		CHECK_INT((uintptr_t)block % (huge ? 2 << 20 : 64), 0);
		CHECK(block[0] == 0 && block[(4 << 20) - 1] == 0);
		memset(block, 1, 4 << 20);
		tl_clear_error();
		a->deallocate(a->ctx, block, 4 << 20);
		CHECK_STATUS(tl_last_status(), TL_OK);
	}
}

int main(void)
{
	CHECK_FAILS(tl_configure("TL_DEVICE", "GPU"), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_configure("TL_CUDA_LIBRARY", "/nowhere/libcuda.so"));
	CHECK_OK(tl_configure("TL_OPENCL_LIBRARY", "/nowhere/libOpenCL.so"));
	return check_tests();
}
