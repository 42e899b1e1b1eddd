/* Limits of the host: a process with one of them works, or is told TL_E_OUT_OF_MEMORY. It does
 * not end otherwise and does not hang, but for what README's Limits lists, which is shown.
 *
 *     host_limits                              a sample of all cases, as PROVE_SCALE says
 *     host_limits try MOMENT RESOURCE VALUE    tries one of them
 *     host_limits MOMENT RESOURCE VALUE        is one of them (limited.h)
 */
#include "host_limits.h"

static const char* program;
static long tried, failed, skipped;
static long by_result[5]; /* works, refused, short, not loaded, killed */

typedef struct limit_case {
	const char *moment, *resource;
	rlim_t value;
	const char* path;    /* TL_FASTPATH */
	const char* setting; /* more of the environment */
} limit_case;

static bool is_good(const limit_case* c, int result)
{
	switch (result) {
	case LIMITED_WORKS:
	case LIMITED_SHORT: return true;
	case LIMITED_REFUSED: return strcmp(c->moment, "before") == 0 || strcmp(c->moment, "after") == 0;
	case LIMITED_NOT_LOADED: return strcmp(c->moment, "before") == 0 || strcmp(c->moment, "raised") == 0;
	}
	return false;
}

static void count(int result)
{
	static const int results[] = {LIMITED_WORKS, LIMITED_REFUSED, LIMITED_SHORT, LIMITED_NOT_LOADED};
	for (size_t i = 0; i < sizeof results / sizeof *results; i++) by_result[i] += result == results[i];
	by_result[4] += result > LIMITED_KILLED;
}

static void judge(const char* what, int result, bool good)
{
	if (result == LIMITED_SKIPPED) {
		skipped++;
		return;
	}
	tried++;
	count(result);
	if (good) return;
	failed++;
	printf("failed: %s ended with %d\n", what, result);
}

static void try_case(const limit_case* c)
{
	char what[256], setting[64];
	setenv("TL_FASTPATH", c->path, 1);
	snprintf(setting, sizeof setting, "%s", c->setting);
	snprintf(what, sizeof what, "TL_FASTPATH=%s %s %s try %s %s %llu", c->path, c->setting, program, c->moment,
	         c->resource, (unsigned long long)c->value);
	int result = run_limited(program, c->moment, c->resource, c->value, setting);
	judge(what, result, is_good(c, result));
}

/* ---- the cases --------------------------------------------------------------------- */

enum { MOST_CASES = 20000 };

static limit_case cases[MOST_CASES];
static int case_count;

static void add(const char* moment, const char* resource, rlim_t value)
{
	static const char* const settings[] = {"GOGC=100", "GOGC=1", "GOMAXPROCS=1", "GOMAXPROCS=16"};
	for (int path = 0; path < 2; path++) {
		if (case_count == MOST_CASES) abort();
		cases[case_count] = (limit_case){moment, resource, value, path ? "1" : "0", settings[case_count % 7 % 4]};
		case_count++;
	}
}

static void add_all(void)
{
	static const char* const moments[] = {"before", "after", "used", "raised"};
	for (size_t m = 0; m < sizeof moments / sizeof *moments; m++) {
		for (rlim_t threads = 1; threads <= 48; threads++) add(moments[m], "threads", threads);
		for (rlim_t files = 3; files <= 24; files++) add(moments[m], "files", files);
		for (rlim_t data = 1; data <= 512; data += data < 32 ? 3 : 7) add(moments[m], "data", data * LIMITED_MIB);
		for (rlim_t addresses = 16; addresses <= 4096; addresses += addresses < 2048 ? 16 : 64)
			add(moments[m], "addresses", addresses * LIMITED_MIB);
	}
	for (rlim_t stack = 64; stack <= 4 << 20; stack *= 2) add("before", "stack", stack * 1024);
	add("before", "stack", RLIM_INFINITY);
}

/* In an order that the seed chooses. */
static void shuffle(void)
{
	uint64_t state = prove_seed();
	for (int i = case_count - 1; i > 0; i--) {
		int other = (int)(check_random(&state) % (uint64_t)(i + 1));
		limit_case c = cases[i];
		cases[i] = cases[other];
		cases[other] = c;
	}
}

static void try_shown(const shown* s, const char* path)
{
	setenv("TL_FASTPATH", path, 1);
	int result = s->run(program);
	judge(s->what, result, result == s->wanted);
	printf("TL_FASTPATH=%s: %s: %s\n", path, s->what,
	       result == s->wanted         ? "yes"
	       : result == LIMITED_SKIPPED ? "not on this machine"
	                                   : "no");
}

static int try_one(const char* moment, const char* resource, const char* value)
{
	int result = run_limited(program, moment, resource, strtoull(value, NULL, 10), NULL);
	printf("ended with %d\n", result);
	return is_good(&(limit_case){.moment = moment}, result) ? 0 : 1;
}

int main(int argc, char** argv)
{
	char detail[256];
	program = argv[0];
	if (argc == 5 && strcmp(argv[1], "try") == 0) return try_one(argv[2], argv[3], argv[4]);
	if (argc > 1) return host_limits_main(argc, argv);
	add_all();
	shuffle();
	long wanted = prove_share(case_count);
	for (long i = 0; i < wanted && i < case_count; i++) try_case(&cases[i]);
	for (int i = 0; i < shown_count; i++)
		for (int path = 0; path < 2; path++) try_shown(&all_shown[i], path ? "1" : "0");
	snprintf(detail, sizeof detail,
	         "%ld worked, %ld were refused, %ld had single calls refused, %ld were not loaded, %ld were killed",
	         by_result[0], by_result[1], by_result[2], by_result[3], by_result[4]);
	printf("seed %" PRIu64 "\n", prove_seed());
	return prove_told_skipping("processes under limits", tried, failed, skipped, detail);
}
