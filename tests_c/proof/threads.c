/* Threads by the ten thousand: short ones that end in every way, and as many at once as there
 * may be. Each uses the library; contexts and memory are as many as are alive at once. */
#include <stdatomic.h>

#include "limited.h"
#include "prove.h"

enum { SHORT = 100000, WAVE = 50, ALIVE = 10000, LIVES = 7, TLS_OBJECTS = 3 };
enum { PAGE = 4096, MOST_CONTEXTS = 2 * WAVE };
enum { GROWTH = 24 * LIMITED_MIB }; /* 16 of them are free spans that stay (docs/limits.md) */

static pthread_key_t at_end;
static _Atomic(void*) handed_over; /* with a reference, for whoever takes it */

/* ---- lives ---------------------------------------------------------------------------- */

static void* new_counted(size_t bytes)
{
	CHECK_OK(tl_mem_enter_scope());
	char* object = tl_ptr_acquire(tl_mem_new(bytes));
	CHECK(object != NULL);
	object[bytes - 1] = 1;
	CHECK_OK(tl_mem_exit_scope());
	return object;
}

static void take_and_hand_over(void)
{
	void* object = atomic_exchange(&handed_over, new_counted(100));
	if (object != NULL) CHECK_OK(tl_ptr_release(object));
}

static void leave_scopes_open(void)
{
	for (int i = 0; i < 3; i++) {
		CHECK_OK(tl_mem_enter_scope());
		CHECK(tl_mem_new(200) != NULL && tl_vec_new(3) != NULL);
		limited_tensors();
	}
}

static void detach_and_come_back(void)
{
	for (int i = 0; i < 3; i++) {
		limited_objects();
		CHECK_OK(tl_thread_detach());
	}
	take_and_hand_over();
}

static void exit_in_a_frame(void)
{
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_function_enter(2));
	CHECK(tl_mem_get_buffer(0, 5000) != NULL);
	CHECK(tl_mem_new(64) != NULL);
	pthread_exit(NULL);
}

static void fail_and_end(void)
{
	CHECK_FAILS(tl_ptr_release((void*)0x1001), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_mem_exit_scope(), TL_E_SCOPE_UNDERFLOW);
}

/* After the context has gone, and in another order of destructors before that. */
static void call_in_a_destructor(void* rounds)
{
	for (int i = 0; i < TLS_OBJECTS; i++) {
		void* object = tl_mem_alloc(48);
		CHECK(object != NULL);
		CHECK_OK(tl_ptr_release(object));
	}
	if ((uintptr_t)rounds > 1) pthread_setspecific(at_end, (void*)((uintptr_t)rounds - 1));
}

static void* live(void* number)
{
	switch ((uintptr_t)number % LIVES) {
	case 0: return limited_thread(NULL);
	case 1: leave_scopes_open(); break;
	case 2: detach_and_come_back(); break;
	case 3: exit_in_a_frame(); break;
	case 4: take_and_hand_over(); break;
	case 5: fail_and_end(); break;
	case 6:
		pthread_setspecific(at_end, (void*)3);
		limited_objects();
		break;
	}
	return NULL;
}

/* ---- short threads ---------------------------------------------------------------------- */

static tl_stats all_stats(void)
{
	tl_stats stats = {.struct_size = sizeof stats};
	CHECK_OK(tl_stats_get(&stats));
	return stats;
}

static int64_t resident_bytes(void)
{
	long pages = 0;
	FILE* file = fopen("/proc/self/statm", "r");
	if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
	if (file != NULL) fclose(file);
	return (int64_t)pages * PAGE;
}

static void run_waves(long count)
{
	pthread_t threads[WAVE];
	for (long wave = 0; wave < count; wave++) {
		for (int i = 0; i < WAVE; i++) threads[i] = start_thread(live, (void*)(uintptr_t)(wave * WAVE + i));
		for (int i = 0; i < WAVE; i++) pthread_join(threads[i], NULL);
	}
}

static int short_threads(void)
{
	char detail[200];
	long waves = prove_share((double)SHORT / WAVE);
	long first = waves / 4 > 10 ? waves / 4 : 10;
	run_waves(first);
	CHECK_OK(tl_mem_purge());
	tl_stats before = all_stats();
	int64_t resident = resident_bytes();
	run_waves(waves);
	CHECK_OK(tl_mem_purge());
	tl_stats after = all_stats();
	int64_t growth = resident_bytes() - resident, committed = (int64_t)(after.committed_bytes - before.committed_bytes);
	CHECK(growth < GROWTH);
	CHECK(committed <
	      4 * GROWTH); /* the most at a time: a busy machine has more threads in the middle of their lives */
	CHECK(after.contexts <= MOST_CONTEXTS);
	snprintf(detail, sizeof detail,
	         "%" PRIu64 " contexts, resident memory grew by %" PRId64 " KiB after the first %ld, committed by %" PRId64,
	         after.contexts, growth / 1024, first * WAVE, committed / 1024);
	return prove_told("short threads", (first + waves) * WAVE, check_failures, detail);
}

/* ---- threads at once ---------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long arrived;
static bool may_end;

static void* wait_among_many(void* unused)
{
	void* object = tl_mem_alloc(64);
	CHECK(object != NULL);
	pthread_mutex_lock(&lock);
	arrived++;
	pthread_cond_broadcast(&changed);
	while (!may_end) pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	CHECK_OK(tl_ptr_inc_ref(object));
	CHECK_COUNT(object, 2);
	CHECK_OK(tl_ptr_release(object));
	CHECK_OK(tl_ptr_release(object));
	CHECK_FAILS(tl_ptr_release((void*)0x1001), TL_E_UNKNOWN_POINTER);
	return unused;
}

static long start_all(pthread_t threads[], long count)
{
	pthread_attr_t attributes;
	long started = 0;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
	while (started < count && pthread_create(&threads[started], &attributes, wait_among_many, NULL) == 0) started++;
	return started;
}

static int threads_at_once(void)
{
	static pthread_t threads[ALIVE];
	long wanted = prove_share(ALIVE), failures = check_failures, started = start_all(threads, wanted);
	pthread_mutex_lock(&lock);
	while (arrived < started) pthread_cond_wait(&changed, &lock);
	may_end = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	for (long i = 0; i < started; i++) pthread_join(threads[i], NULL);
	run_waves(10);
	return prove_told_skipping("threads at once", started, check_failures - failures, wanted - started, NULL);
}

int main(void)
{
	CHECK_INT(pthread_key_create(&at_end, call_in_a_destructor), 0);
	CHECK_OK(tl_init());
	int bad = short_threads();
	bad |= threads_at_once();
	void* last = atomic_exchange(&handed_over, NULL);
	if (last != NULL) CHECK_OK(tl_ptr_release(last));
	CHECK_INT(limited_short_calls, 0);
	return check_finish() | bad;
}
