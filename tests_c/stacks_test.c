/* The stacks of tracked allocations, compared with those that the unwinder finds: functions with and without frame
 * pointers, with frames of varying size, realigned, called by the C library, from several places and on many threads.
 * Stacks that were seen before are found in another way than new ones (cshim/stacks/stacks.c). */
#include <alloca.h>
#include <stdalign.h>
#include <sys/mman.h>
#include <unwind.h>

#include "check.h"
#include "thread.h"

#if defined(__GNUC__) && !defined(__clang__)
#define WITH_FRAME_POINTER __attribute__((noinline, optimize("no-omit-frame-pointer")))
#define WITHOUT_FRAME_POINTER __attribute__((noinline, optimize("omit-frame-pointer", "O2")))
#else
#define WITH_FRAME_POINTER __attribute__((noinline))
#define WITHOUT_FRAME_POINTER __attribute__((noinline))
#endif

enum { MOST = 64, ROUNDS = 3000, THREADS = 4, DEPTH = 9 };

typedef struct path {
	uint64_t random;
	int left; /* calls to come */
	long compared;
} path;

typedef struct stack {
	uintptr_t at[MOST];
	size_t n;
} stack;

static unsigned draw(path* p, unsigned below)
{
	p->random = p->random * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(p->random >> 33) % below;
}

static _Unwind_Reason_Code note(struct _Unwind_Context* at, void* data)
{
	stack* s = data;
	int before = 0;
	uintptr_t pc = _Unwind_GetIPInfo(at, &before);
	if (pc == 0 || s->n == MOST) return _URC_END_OF_STACK;
	s->at[s->n++] = pc - !before;
	return _URC_NO_REASON;
}

static void descend(path* p);

/* The frames outside of this function are the same when it allocates and when it looks. */
WITHOUT_FRAME_POINTER static void allocate(path* p)
{
	tl_alloc_info info = {.struct_size = sizeof info};
	stack own = {.n = 0};
	size_t same = 0;
	void* object = (tl_mem_alloc)(32);
	_Unwind_Backtrace(note, &own);
	CHECK_OK(tl_mem_allocation_info(object, &info));
	while (same < info.frames && same < own.n &&
	       (uintptr_t)info.stack[info.frames - 1 - same] == own.at[own.n - 1 - same])
		same++;
	if (same != own.n - 1) fprintf(stderr, "%zu of %zu frames are the same\n", same, own.n - 1);
	CHECK_INT(same, own.n - 1);
	CHECK_OK(tl_ptr_release(object));
	p->compared++;
}

#define AFTERWARDS __asm__ volatile("" ::: "memory") /* no tail call */

WITHOUT_FRAME_POINTER static void plain(path* p)
{
	if (draw(p, 2) == 0) {
		descend(p);
		AFTERWARDS;
	} else {
		descend(p);
		AFTERWARDS;
	}
}

WITH_FRAME_POINTER static void pointed(path* p)
{
	if (draw(p, 2) == 0) descend(p);
	else plain(p);
	AFTERWARDS;
}

WITHOUT_FRAME_POINTER static void varying(path* p)
{
	volatile char* room = alloca(16 + 16 * draw(p, 6));
	room[0] = 1;
	descend(p);
	AFTERWARDS;
	room[1] = room[0];
}

WITHOUT_FRAME_POINTER static void realigned(path* p)
{
	alignas(128) volatile char room[128];
	room[draw(p, 128)] = 1;
	descend(p);
	AFTERWARDS;
	(void)room[0];
}

WITH_FRAME_POINTER static void large(path* p)
{
	volatile char room[2048];
	room[draw(p, 2048)] = 1;
	descend(p);
	AFTERWARDS;
	(void)room[0];
}

static __thread path* compared_for;

static int by_the_library(const void* a, const void* b)
{
	if (compared_for != NULL) {
		path* p = compared_for;
		compared_for = NULL;
		descend(p);
		AFTERWARDS;
	}
	return *(const int*)a - *(const int*)b;
}

WITHOUT_FRAME_POINTER static void sorted(path* p)
{
	int numbers[3] = {3, 1, 2};
	compared_for = p;
	qsort(numbers, 3, sizeof *numbers, by_the_library);
	AFTERWARDS;
}

__attribute__((noinline)) static void descend(path* p)
{
	static void (*const kinds[])(path*) = {plain, plain, pointed, varying, realigned, large, sorted};
	if (p->left-- <= 0) allocate(p);
	else kinds[draw(p, sizeof kinds / sizeof *kinds)](p);
	AFTERWARDS;
}

/* Few paths, which come again and again in another order. */
THREAD(walk, seed)
{
	path p = {.random = (uintptr_t)seed};
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t rest = p.random;
		p.random = (uintptr_t)seed * 977 + draw(&p, 40);
		p.left = (int)draw(&p, DEPTH);
		descend(&p);
		p.random = rest * 6364136223846793005u + 1;
	}
	CHECK_INT(p.compared, ROUNDS);
}

static void every_stack_is_right(void)
{
	CHECK_OK(tl_configure("TL_TRACK", "1"));
	walk((void*)(uintptr_t)7);
	CHECK_OK(tl_configure("TL_TRACK", "0"));
}

WITHOUT_FRAME_POINTER static void inside(path* p, size_t bytes)
{
	volatile char* room = alloca(bytes);
	room[0] = 1;
	allocate(p);
	AFTERWARDS;
}

WITHOUT_FRAME_POINTER static void wide_inside(path* p)
{
	volatile char* room = alloca(1024 + draw(p, 1));
	room[0] = 1;
	inside(p, 4096);
	AFTERWARDS;
}

WITHOUT_FRAME_POINTER static void narrow_inside(path* p)
{
	volatile char* room = alloca(4096 + draw(p, 1));
	room[0] = 1;
	inside(p, 1024);
	AFTERWARDS;
}

/* The innermost frame is at the same place each time. Where it returned to the time before, that address still stands,
 * in memory that nobody writes to. */
static void a_frame_that_moves_is_noticed(void)
{
	void (*const kinds[])(path*) = {wide_inside, narrow_inside};
	path p = {.random = 1};
	CHECK_OK(tl_configure("TL_TRACK", "1"));
	for (int i = 0; i < 100; i++) {
		kinds[draw(&p, 2)](&p);
		AFTERWARDS;
	}
	CHECK_OK(tl_configure("TL_TRACK", "0"));
}

static void on_many_threads(void)
{
	pthread_t threads[THREADS];
	CHECK_OK(tl_configure("TL_TRACK", "1"));
	for (uintptr_t i = 0; i < THREADS; i++) threads[i] = start_thread(walk, (void*)(i + 1));
	for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
	CHECK_OK(tl_configure("TL_TRACK", "0"));
}

#if defined(__x86_64__)
/* push rbp; mov rbp, rsp; mov rax, tl_mem_alloc; call rax; pop rbp; ret */
static const unsigned char calls_alloc[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0,    0,    0,
                                            0,    0,    0,    0,    0,    0xff, 0xd0, 0x5d, 0xc3};

/* As V8 and CPython write it for perf. */
static void code_of_a_compiler_has_the_name_of_its_perf_map(void)
{
	static char report[1 << 16];
	char map_path[64], report_path[] = "/tmp/tl_stacks_XXXXXX";
	const void* callee = (const void*)(uintptr_t)(tl_mem_alloc);
	char* code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED) {
		puts("skip: this system runs no code that a program has made");
		return;
	}
	memcpy(code, calls_alloc, sizeof calls_alloc);
	memcpy(code + 6, &callee, sizeof callee);
	snprintf(map_path, sizeof map_path, "/tmp/perf-%d.map", (int)getpid());
	FILE* map = fopen(map_path, "w");
	fprintf(map, "%lx %zx jitted_grow\n", (unsigned long)code, sizeof calls_alloc);
	fclose(map);
	close(mkstemp(report_path));
	CHECK_OK(tl_configure("TL_TRACK", "1"));
	const uint64_t before = *tl_track_count();
	void* object = ((void* (*)(size_t))(uintptr_t)code)(77);
	CHECK_INT(tl_leak_report_since(report_path, before), 1);
	CHECK_OK(tl_configure("TL_TRACK", "0"));
	FILE* file = fopen(report_path, "r");
	report[fread(report, 1, sizeof report - 1, file)] = 0;
	fclose(file);
	unlink(report_path);
	unlink(map_path);
	CHECK(strstr(report, " in jitted_grow ") != NULL);
	CHECK_OK(tl_ptr_release(object));
	munmap(code, 4096);
}
#endif

int main(void)
{
#if defined(__x86_64__)
	RUN(code_of_a_compiler_has_the_name_of_its_perf_map);
#endif
	RUN(every_stack_is_right);
	RUN(a_frame_that_moves_is_noticed);
	RUN(on_many_threads);
	return check_finish();
}
