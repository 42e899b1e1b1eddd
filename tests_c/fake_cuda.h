/* The CUDA driver of the tests' own, from the tests' side: two devices of 1 GiB, failures
 * and events on command. */
#pragma once

#include <dlfcn.h>

#include "check.h"

/* Numbers of the devices that prepare_devices leaves. */
enum { CPU, SHARED, CUDA, OTHER_CUDA, OPENCL, DEVICES };

static void (*fake_fail)(const char* name, int call, int result);
static void (*fake_hold)(int on);
static void (*fake_finish)(void* stream);
static void* (*fake_stream)(void);
static const char* (*fake_failed)(void);
static void* (*fake_left)(size_t* bytes);
static int (*fake_outstanding)(void);
static int (*fake_events)(void);
static int (*fake_synchronized)(void);
static int (*fake_waited)(void* stream, void* other);

static inline void* fake_symbol(void* driver, const char* name)
{
	void* found = dlsym(driver, name);
	if (found == NULL) {
		fprintf(stderr, "%s is missing\n", name);
		exit(1);
	}
	return found;
}

static inline void prepare_devices(void)
{
	void* driver = dlopen(FAKE_CUDA, RTLD_NOW);
	if (driver == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	*(void**)&fake_fail = fake_symbol(driver, "fakecuda_fail");
	*(void**)&fake_hold = fake_symbol(driver, "fakecuda_hold");
	*(void**)&fake_finish = fake_symbol(driver, "fakecuda_finish");
	*(void**)&fake_stream = fake_symbol(driver, "fakecuda_stream");
	*(void**)&fake_failed = fake_symbol(driver, "fakecuda_failed");
	*(void**)&fake_left = fake_symbol(driver, "fakecuda_left");
	*(void**)&fake_outstanding = fake_symbol(driver, "fakecuda_outstanding");
	*(void**)&fake_events = fake_symbol(driver, "fakecuda_events");
	*(void**)&fake_synchronized = fake_symbol(driver, "fakecuda_synchronized");
	*(void**)&fake_waited = fake_symbol(driver, "fakecuda_waited");
	setenv("FAKECUDA_DEVICES", "2", 1);
	setenv("FAKECL_SVM", "0", 1);
	CHECK_OK(tl_configure("TL_CUDA_LIBRARY", FAKE_CUDA));
	CHECK_OK(tl_configure("TL_OPENCL_LIBRARY", FAKE_OPENCL));
	CHECK_INT(tl_device_count(), DEVICES);
}

/* Gives back all that is idle. Each event of a stream is not ready when first asked. */
static inline void purge_devices(void)
{
	for (int i = 0; i < 8; i++) CHECK_OK(tl_mem_purge());
}

/* The end of a program: nothing is left on any device. */
static inline int finish_devices(void)
{
	purge_devices();
	CHECK_INT(tl_get_gpu_total_allocated_bytes(), 0);
	CHECK_INT(tl_get_gpu_free_count(), 0);
	CHECK_INT(fake_outstanding(), 0);
	return check_finish();
}
