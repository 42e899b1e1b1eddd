/* No function that says `Cost: fast` calls the slow path more than once in twenty calls, whatever varies.
 *
 *     kinds_test                   every function, by one and by two threads
 *     kinds_test NAME...           these functions, with their figures
 *     kinds_test instructions OBJECTS NAME...
 *                                  for callgrind (scripts/kinds.sh): beside so many live objects, a dump for each function */
#include <pthread.h>

#include "kinds.h"
#include "thread.h"

enum { FAST = 20, GROWS = 10 }; /* calls, of which one may be slow */
enum { WARM_ROUNDS = 6, ROUNDS = 15, STEPS = 100, TOUCHED = 24 << 20 };

static const struct {
	const char* name;
	int calls;
	void (*drive)(kinds_world* w);
} functions[] = {
#define ROW(name, kind) {#name, kind, drive_##name},
	KINDS(ROW)
#undef ROW
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static bool is_slow_path(void) /* all calls are slow there */
{
	const char* fast = getenv("TL_FASTPATH");
	return fast != NULL && *fast == '0';
}

static bool is_sampled(void) { return !is_slow_path() && getenv("TL_TRACK_SAMPLE") != NULL; }

typedef struct run {
	kinds_world world;
	void (*drive)(kinds_world* w);
	pthread_barrier_t* start;
} run;

static void round_of(run* r)
{
	kinds_world* w = &r->world;
	kinds_open_scope(w, (int64_t)kinds_log_uniform(w, KINDS_ENTRIES));
	for (int i = 0; i < STEPS && w->touched < TOUCHED; i++) r->drive(w);
	kinds_close_scope(w);
}

THREAD(rounds, of)
{
	run* r = of;
	kinds_world* w = &r->world;
	w->entries = malloc(KINDS_ENTRIES * sizeof *w->entries);
	pthread_barrier_wait(r->start);
	for (int i = 0; i < (is_slow_path() ? 1 : WARM_ROUNDS); i++) round_of(r);
	w->calls = w->entered = 0;
	w->sampled = 0;
	for (int i = 0; i < (is_slow_path() ? 1 : ROUNDS) && w->apart == NULL; i++) round_of(r);
	tl_arena_free();
	free(w->entries);
}

/* How many calls of the slow path there are for each that may be. */
static double measure(int function, int threads, bool shown)
{
	static kinds_held held;
	static run runs[2];
	pthread_t thread[2];
	pthread_barrier_t start;
	double calls = 0, entered = 0, sampled = 0;
	pthread_barrier_init(&start, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++) {
		memset(&runs[i], 0, sizeof *runs);
		runs[i].world.random = 88172645463325252u + (uint64_t)function * 7919 + (uint64_t)i * 104729;
		runs[i].world.largest = KINDS_LARGEST;
		runs[i].world.held = &held;
		runs[i].world.period = is_sampled() ? 512 << 10 : 0;
		runs[i].drive = functions[function].drive;
		runs[i].start = &start;
		thread[i] = start_thread(rounds, &runs[i]);
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		calls += (double)runs[i].world.calls;
		entered += (double)runs[i].world.entered;
		sampled += runs[i].world.sampled;
	}
	pthread_barrier_destroy(&start);
	kinds_release_held(&held);
	if (runs->world.apart != NULL) {
		if (threads == 1) printf("skip: %s: %s\n", functions[function].name, runs->world.apart);
		return 0;
	}
	CHECK(calls >= (is_slow_path() ? 1 : STEPS));
	double may = calls / functions[function].calls + sampled * 1.1;
	if (shown)
		printf("%-32s %d thread%s %8.0f calls %8.4f slow, %.4f may be\n", functions[function].name, threads,
		       threads == 1 ? " " : "s", calls, entered / calls, may / calls);
	return entered / may;
}

static bool judge(int function, bool shown)
{
	const char* name = functions[function].name;
	double one = measure(function, 1, shown), two = measure(function, 2, shown), more = one > two ? one : two;
	const bool good = more <= 1 || is_slow_path();
	if (!good) printf("%s: %.1f times as many slow calls as may be\n", name, more);
	fflush(stdout);
	return good;
}

static bool is_asked(const char* name, char** names)
{
	if (*names == NULL) return true;
	while (*names != NULL && strcmp(*names, name) != 0) names++;
	return *names != NULL;
}

/* Sizes are small here: what counts is how the cost grows with what is there. */
static void instructions(int64_t objects, char** names)
{
	enum { WARM_CALLS = 200, CALLS = 20 };
	static kinds_held held;
	static kinds_world world;
	kinds_world* w = &world;
	if (!KINDS_COUNTS_INSTRUCTIONS) printf("no callgrind.h\n");
	w->largest = 4096;
	w->random = 1;
	w->held = &held;
	w->entries = malloc((size_t)objects * sizeof *w->entries);
	kinds_open_scope(w, objects);
	for (int f = 0; f < FUNCTIONS; f++) {
		if (!is_asked(functions[f].name, names)) continue;
		w->random = 88172645463325252u + (uint64_t)f;
		for (int i = 0; i < WARM_CALLS; i++) functions[f].drive(w);
		CALLGRIND_ZERO_STATS;
		for (int i = 0; i < CALLS; i++) functions[f].drive(w);
		CALLGRIND_DUMP_STATS_AT(functions[f].name);
		kinds_end_lasting(w);
		kinds_release_held(&held);
	}
	kinds_close_scope(w);
	tl_arena_free();
	free(w->entries);
}

int main(int count, char** arguments)
{
	int broken = 0;
	CHECK_OK(tl_init());
	kinds_start();
	if (count > 2 && strcmp(arguments[1], "instructions") == 0) {
		instructions(atoll(arguments[2]), arguments + 3);
	} else {
		for (int f = 0; f < FUNCTIONS; f++)
			if (is_asked(functions[f].name, arguments + 1) && !judge(f, count > 1)) broken++;
	}
	CHECK_OK(tl_memory_pool_destroy(kinds_pool));
	if (broken > 0) printf("%d functions are not what capi/ says\n", broken);
	return check_finish() != 0 || broken > 0;
}
