/* malloc, mmap, pthread_create and the device of this program's own, which refuse when they are
 * told to, and a system that does. A program's functions come before the C library's, for
 * the runtime as for everybody else in the process. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "faults.h"

/* ---- malloc -------------------------------------------------------------------------------- */

extern void* __libc_malloc(size_t bytes);
extern void* __libc_calloc(size_t count, size_t bytes);
extern void* __libc_realloc(void* block, size_t bytes);
extern void* __libc_memalign(size_t alignment, size_t bytes);

/* Requests that are let pass before all are refused; negative: none is refused. */
static int malloc_left = -1;
static int malloc_asked;

void host_malloc_fail(int n)
{
	__atomic_store_n(&malloc_asked, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&malloc_left, n, __ATOMIC_SEQ_CST);
}

static bool refused(void)
{
	int left = __atomic_load_n(&malloc_left, __ATOMIC_SEQ_CST);
	if (left < 0) return false;
	if (__atomic_fetch_add(&malloc_asked, 1, __ATOMIC_SEQ_CST) < left) return false;
	errno = ENOMEM;
	return true;
}

void* malloc(size_t bytes) { return refused() ? NULL : __libc_malloc(bytes); }
void* calloc(size_t count, size_t bytes) { return refused() ? NULL : __libc_calloc(count, bytes); }
void* realloc(void* block, size_t bytes) { return refused() ? NULL : __libc_realloc(block, bytes); }
void* memalign(size_t alignment, size_t bytes) { return refused() ? NULL : __libc_memalign(alignment, bytes); }
void* aligned_alloc(size_t alignment, size_t bytes) { return refused() ? NULL : __libc_memalign(alignment, bytes); }

int posix_memalign(void** out, size_t alignment, size_t bytes)
{
	void* block = refused() ? NULL : __libc_memalign(alignment, bytes);
	if (block != NULL) *out = block;
	return block != NULL ? 0 : ENOMEM;
}

/* ---- pthread_create and mmap --------------------------------------------------------------- */

static bool threads_fail;
static int maps_left = -1;

void host_threads_fail(bool fail) { __atomic_store_n(&threads_fail, fail, __ATOMIC_SEQ_CST); }
void host_maps_fail(int n) { __atomic_store_n(&maps_left, n, __ATOMIC_SEQ_CST); }

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument)
{
	static int (*real)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
	if (__atomic_load_n(&threads_fail, __ATOMIC_SEQ_CST)) return EAGAIN;
	if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "pthread_create");
	return real(thread, attributes, body, argument);
}

void* mmap(void* at, size_t bytes, int access, int flags, int file, off_t offset)
{
	int left = __atomic_load_n(&maps_left, __ATOMIC_SEQ_CST);
	if (left == 0) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	if (left > 0) __atomic_sub_fetch(&maps_left, 1, __ATOMIC_SEQ_CST);
	return (void*)syscall(SYS_mmap, at, bytes, access, flags, file, offset);
}

/* ---- a device ------------------------------------------------------------------------------ */

/* Its addresses are those of the C library plus this, which no processor reaches. */
static const uintptr_t FAR = (uintptr_t)1 << 61;

static int device_left = -1, device_blocks;

void own_device_fail(int n) { device_left = n; }

static void* device_allocate(void* ctx, size_t bytes)
{
	(void)ctx;
	if (device_left == 0 || bytes > OWN_DEVICE_BYTES) return NULL;
	if (device_left > 0) device_left--;
	char* block = __libc_memalign(64, bytes);
	if (block == NULL) return NULL;
	device_blocks++;
	return block + FAR;
}

static void device_deallocate(void* ctx, void* block, size_t bytes)
{
	(void)ctx;
	(void)bytes;
	device_blocks--;
	free((char*)block - FAR);
}

static int32_t copied(void* to, const void* from, size_t bytes)
{
	memcpy(to, from, bytes);
	return TL_OK;
}

static int32_t from_host(void* ctx, void* to, const void* from, size_t bytes)
{
	return (void)ctx, copied((char*)to - FAR, from, bytes);
}
static int32_t to_host(void* ctx, void* to, const void* from, size_t bytes)
{
	return (void)ctx, copied(to, (const char*)from - FAR, bytes);
}
static int32_t within(void* ctx, void* to, const void* from, size_t bytes)
{
	(void)ctx;
	return copied((char*)to - FAR, (const char*)from - FAR, bytes);
}

tl_device_allocator own_device_allocator(void)
{
	return (tl_device_allocator){sizeof(tl_device_allocator), "npu:0", 64, NULL, device_allocate, device_deallocate};
}

int32_t own_device_register(void)
{
	int32_t device = -1;
	tl_device_allocator allocator = own_device_allocator();
	tl_device_copier copier = {.struct_size = sizeof copier,
	                           .total_bytes = OWN_DEVICE_BYTES,
	                           .from_host = from_host,
	                           .to_host = to_host,
	                           .within = within};
	CHECK_OK(tl_device_register(&allocator, &copier, &device));
	return device;
}

void own_device_end(void) { CHECK_INT(device_blocks, 0); }

/* ---- the system ---------------------------------------------------------------------------- */

/* What the runtime maps and nobody else: zeroed memory that is not reserved anywhere. The
 * C library maps its arenas without access, Go its heap and threads their stacks with other
 * flags. And what it makes usable of the heap: whole steps of 2 MiB, which no stack is. */
enum { OURS = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, STEP = 2 << 20 };

#if defined(__x86_64__)
static const uint32_t architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
static const uint32_t architecture = AUDIT_ARCH_AARCH64;
#endif

static bool refuse_maps(void)
{
	enum { REFUSE = 11, ALLOW = 12 };
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS(at, test, value, there) BPF_JUMP(BPF_JMP | (test) | BPF_K, (uint32_t)(value), 0, (there) - (at) - 1)
	struct sock_filter code[] = {
		LOAD(arch),
		UNLESS(1, BPF_JEQ, architecture, ALLOW),
		LOAD(nr),
		UNLESS(3, BPF_JEQ, SYS_mmap, 8),
		LOAD(args[3]),
		UNLESS(5, BPF_JEQ, OURS, ALLOW),
		LOAD(args[2]),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_READ | PROT_WRITE, REFUSE - 8, ALLOW - 8),
		UNLESS(8, BPF_JEQ, SYS_mprotect, ALLOW),
		LOAD(args[1]),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, STEP - 1, ALLOW - 11, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
#undef LOAD
#undef UNLESS
	struct sock_fprog program = {sizeof code / sizeof *code, code};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool system_refuses_maps(void)
{
	static __thread bool refuses;
	if (!refuses) refuses = refuse_maps();
	return refuses;
}
