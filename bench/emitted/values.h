/* Values as a compiler of a functional language emits them: owned, consumed by the function that they are given to, with
 * drops that are specialised for their type (Perceus, Reinking et al., 2021). One program is compiled for each model:
 *
 *   MODEL_CALLED    objects of the runtime, by calls
 *   MODEL_INLINED   objects of the runtime, inlined
 *   MODEL_CELLS     cells, inlined
 *   MODEL_COUNTED   a count in front of malloc's memory, inlined: the peer, with mimalloc preloaded
 *
 * NEW(bytes) is a value with one reference, DUP(value) another reference. IS_UNIQUE(value) tells whether there is one
 * alone; then FREE(value) ends it, whose fields the program has taken, and else DROP(value) drops a reference. A function
 * begins its first of these with BEGIN, and goes on behind calls, and where a loop's body begins, with RETAKE: the rules of
 * docs/inlining.md. Cells have a thread for NEW and FREE alone, and begin each. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(WITH_THREADS)
#include <pthread.h>
#include <time.h>
#endif

#if !defined(MODEL_COUNTED)
#include <tl_runtime.h>
#include <tl_inline.h>

#if defined(WITH_THREADS)
static __thread void* const* the_thread;
#else
static void* const* the_thread;
#endif

#define ON_THREAD(call)                       \
	({                                        \
		tl_inl_thread thread;                 \
		tl_inl_begin_at(&thread, the_thread); \
		call;                                 \
	})
static inline void begin(void) { the_thread = tl_context_address(TL_INLINE_VERSION); }
#endif

#if defined(MODEL_CALLED)
#define NEW(bytes) tl_mem_alloc(bytes)
#define DUP(value) tl_ptr_acquire(value)
#define IS_UNIQUE(value) tl_ptr_is_unique(value)
#define FREE(value) tl_ptr_release(value)
#define DROP(value) tl_ptr_release(value)
#elif defined(MODEL_INLINED)
#define BEGIN             \
	tl_inl_thread thread; \
	tl_inl_begin_at(&thread, the_thread)
#define RETAKE tl_inl_retake(&thread)
#define NEW(bytes) tl_inl_mem_alloc(&thread, bytes)
#define DUP(value) tl_inl_ptr_acquire(&thread, value)
#define IS_UNIQUE(value) tl_inl_ptr_is_unique(&thread, value)
#define FREE(value) tl_inl_ptr_release(&thread, value)
#define DROP(value) FREE(value)
#elif defined(MODEL_CELLS)
#define NEW(bytes) ON_THREAD(tl_inl_cell_new(&thread, bytes))
#define DUP(value) tl_inl_cell_dup(value)
#define IS_UNIQUE(value) tl_inl_cell_is_unique(value)
#define FREE(value) ON_THREAD(tl_inl_cell_free(&thread, value))
#define DROP(value) ((void)tl_inl_cell_drop(value))
#else
typedef struct head {
	int32_t count, tag;
} head;

static inline void begin(void) {}
static inline head* head_of(void* value) { return (head*)value - 1; }
static inline void* NEW(size_t bytes)
{
	head* h = malloc(bytes + sizeof *h);
	h->count = 1;
	return h + 1;
}
static inline void* DUP(void* value)
{
	head_of(value)->count++;
	return value;
}
static inline bool IS_UNIQUE(void* value) { return head_of(value)->count == 1; }
static inline void FREE(void* value) { free(head_of(value)); }
static inline void DROP(void* value) { head_of(value)->count--; }
#endif

#if !defined(BEGIN)
#define BEGIN ((void)0)
#define RETAKE ((void)0)
#endif

/* What a constructor builds in: the memory of a value that has just ended, or new memory. */
#if defined(WITH_REUSE)
#define TOKEN(value) ((void*)(value))
#define BUILD(token, bytes) ((token) != NULL ? (token) : NEW(bytes))
#else
#define TOKEN(value) (FREE(value), NULL)
#define BUILD(token, bytes) ((void)(token), NEW(bytes))
#endif

#define NOINLINE __attribute__((noinline))

/* Of this program alone: what wait4 tells has the memory of the process before exec in it. */
static long peak_kilobytes(void)
{
	char line[256];
	long found = 0;
	FILE* status = fopen("/proc/self/status", "r");
	while (status != NULL && fgets(line, sizeof line, status) != NULL)
		if (sscanf(line, "VmHWM: %ld", &found) == 1) break;
	if (status != NULL) fclose(status);
	return found;
}

/* The program, once; the result shows that all models compute the same. */
static int64_t run(int64_t size);

static int64_t times, size;

static void* repeat(void* result)
{
	begin();
	for (int64_t i = 0; i < times; i++) *(int64_t*)result = run(size);
	return NULL;
}

/* times, size, and with WITH_THREADS how many threads do the same; the last line has the seconds. */
int main(int argc, char** argv)
{
	int64_t result = 0;
	times = argc > 1 ? atol(argv[1]) : 1;
	size = argc > 2 ? atol(argv[2]) : 1;
#if defined(WITH_THREADS)
	enum { MOST = 64 };
	pthread_t threads[MOST];
	int64_t results[MOST] = {0};
	struct timespec from, to;
	const int n = argc > 3 ? atoi(argv[3]) : 1;
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < n && i < MOST; i++) pthread_create(&threads[i], NULL, repeat, &results[i]);
	for (int i = 0; i < n && i < MOST; i++) pthread_join(threads[i], NULL);
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("%lld\n%f\n", (long long)results[0],
	       (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec));
#else
	repeat(&result);
	printf("%lld\npeak %ld\n", (long long)result, peak_kilobytes());
#endif
	return 0;
}
