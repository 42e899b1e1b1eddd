/* Memory that ends in the middle of every call.
 *
 * For each call, and each state of memory below, request number 0, 1, 2, ... and all later ones
 * are refused until the call succeeds. A call that is refused says so, by its name, and has
 * changed nothing: all counts, contents and figures of the bystanders are what they were. When
 * memory is there again every call succeeds, what it made can be given back, and the program
 * ends with nothing live.
 *
 *     faults                all modes, each in processes of its own
 *     faults -run MODE      one of them, here
 */
#include "faults.h"

#include "prove.h"
#include "thread.h"

/* ---- all calls ---------------------------------------------------------------------------- */

static const steps* const families[] = {&object_steps, &scope_steps,  &vec_steps,      &tensor_steps,
                                        &view_steps,   &sparse_steps, &foreign_steps,  &pool_steps,
                                        &device_steps, &plan_steps,   &tracking_steps, &thread_steps};
enum { FAMILIES = sizeof families / sizeof *families, STEPS = 400 };

static const step* all[STEPS];
static int all_count;

static void collect(void)
{
	for (int f = 0; f < FAMILIES; f++)
		for (int i = 0; i < families[f]->count; i++) all[all_count++] = &families[f]->of[i];
}

refusal_note refusal;
static uint64_t seed;
static struct {
	int64_t tried, refused, failed;
} counts;

static void shuffle(void)
{
	for (int i = all_count - 1; i > 0; i--) {
		int j = (int)(check_random(&seed) % (uint64_t)(i + 1));
		const step* other = all[i];
		all[i] = all[j];
		all[j] = other;
	}
}

/* ---- one call ------------------------------------------------------------------------------ */

/* How memory is made scarce. What is NULL does nothing. */
typedef struct mode {
	const char* name;
	void (*open)(void);    /* before all calls */
	void (*spare)(int n);  /* before each: how much of the heap is left */
	void (*fill)(int n);   /* how much of the stacks is; drain undoes it */
	void (*refuse)(int n); /* from here on n requests pass; allow lifts it */
	void (*allow)(void);
	void (*drain)(void);
	void (*retake)(void); /* behind each call, when what it made is gone */
	void (*close)(void);
	int most;          /* n at most */
	uint32_t statuses; /* that a refusal may have, by bits */
} mode;

#define BIT(status) (UINT32_C(1) << (status))

static void complain(const step* s, const mode* m, int n, const char* what, const char* why)
{
	counts.failed++;
	check_failed(false);
	fprintf(stderr, "%s, %s, %d let pass: %s: %s\n", s->name, m->name, n, what, why);
}

/* A refusal says what it is, and by whom. */
static void check_refusal(const step* s, const mode* m, int n)
{
	size_t length = strlen(s->name);
	counts.refused++;
	if (refusal.status == TL_OK) {
		refusal.status = tl_last_status();
		snprintf(refusal.text, sizeof refusal.text, "%s", tl_last_error());
	}
	if (!(m->statuses & BIT(refusal.status))) complain(s, m, n, "another status", refusal.text);
	else if (strncmp(refusal.text, s->name, length) != 0 || refusal.text[length] != ':')
		complain(s, m, n, "another name in the message", refusal.text);
}

static void with(void (*f)(int), int n)
{
	if (f != NULL) f(n);
}

static void just(void (*f)(void))
{
	if (f != NULL) f();
}

/* Makes a call in a scope; true when it succeeded. */
static bool call(const step* s, const mode* m, int n)
{
	with(m->fill, n);
	snapshot* before = snapshot_take();
	with(m->refuse, n);
	tl_clear_error();
	refusal.status = TL_OK;
	bool good = s->call();
	just(m->allow);
	counts.tried++;
	if (!good) check_refusal(s, m, n);
	if (good) free(before);
	else if (!snapshot_same(before, snapshot_take(), NOTHING_CHANGED, s->name))
		complain(s, m, n, "a refused call changed something", "");
	just(m->drain);
	if (good) just(s->undo);
	return good;
}

static bool attempt(const step* s, const mode* m, int n)
{
	int64_t depth = tl_get_scope_depth();
	snapshot* before = snapshot_take();
	CHECK_OK(tl_mem_enter_scope());
	just(s->before);
	with(m->spare, n);
	CHECK_OK(tl_mem_enter_scope());
	bool good = call(s, m, n);
	CHECK_OK(tl_mem_exit_scopes_to(depth));
	just(s->finally);
	if (!snapshot_same(before, snapshot_take(), m->close != NULL ? HEAP_TAKEN : SOMETHING_DIED, s->name))
		complain(s, m, n, "something is left", "");
	just(m->retake);
	return good;
}

static bool fits(const step* s, const mode* m) { return s->not_in == NULL || strstr(s->not_in, m->name) == NULL; }

/* Lets 0, 1, 2, ... requests pass until the call succeeds. */
static void exhaust(const step* s, const mode* m)
{
	int n = 0; /* a full heap may not have what a large call needs; with enough memory it succeeds at last */
	if (!fits(s, m)) return;
	while (n <= m->most && !attempt(s, m, n)) n++;
	if (n > m->most && m->close == NULL) complain(s, m, n, "never succeeds", "");
}

/* ---- modes ---------------------------------------------------------------------------------- */

static void fail_memory(int n)
{
	char text[16];
	snprintf(text, sizeof text, "%d", n);
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", text));
}

static void no_requests(void) { fail_memory(0); }
static void all_requests(void) { fail_memory(-1); }
static void no_requests_at_all(int n)
{
	(void)n;
	fail_memory(0);
}

static void use_memory(int n)
{
	(void)n;
	dirty();
}

static void drop_idle_memory(int n)
{
	(void)n;
	CHECK_OK(tl_mem_purge());
}

static void fill_without_requests(void)
{
	heap_fill(no_requests);
	all_requests();
}

static void retake_without_requests(void)
{
	no_requests();
	heap_retake();
	all_requests();
}

static void limit_here(void)
{
	tl_mem_usage_info usage = {.struct_size = sizeof usage};
	CHECK_OK(tl_mem_usage(TL_DEVICE_CPU, &usage));
	CHECK_OK(tl_mem_set_limit(TL_DEVICE_CPU, 0, usage.reserved));
}

static void no_limit(void) { CHECK_OK(tl_mem_set_limit(TL_DEVICE_CPU, 0, 0)); }
static void limited(int n)
{
	(void)n;
	limit_here();
}

static void fill_below_a_limit(void)
{
	heap_fill(limit_here);
	no_limit();
}

static void retake_below_a_limit(void)
{
	limit_here();
	heap_retake();
	no_limit();
}

static void entries(int n) { stack_fill(SCOPE_ENTRIES, n); }
static void marks(int n) { stack_fill(MARKS, n); }
static void frames(int n) { stack_fill(FRAMES, n); }
static void device_again(void) { own_device_fail(-1); }
static void host_again(void) { host_malloc_fail(-1); }
static void maps_again(void) { host_maps_fail(-1); }
static void no_threads(int n) { host_threads_fail(n >= 0); }
static void threads_again(void) { host_threads_fail(false); }

static const mode modes[] = {
	{.name = "used",
     .spare = use_memory,
     .refuse = fail_memory,
     .allow = all_requests,
     .most = 64,
     .statuses = BIT(TL_E_OUT_OF_MEMORY)},
	{.name = "idle",
     .spare = drop_idle_memory,
     .refuse = fail_memory,
     .allow = all_requests,
     .most = 64,
     .statuses = BIT(TL_E_OUT_OF_MEMORY)},
	{.name = "heap",
     .open = fill_without_requests,
     .spare = heap_spare,
     .refuse = no_requests_at_all,
     .allow = all_requests,
     .retake = retake_without_requests,
     .close = heap_release,
     .most = 11,
     .statuses = BIT(TL_E_OUT_OF_MEMORY)},
	{.name = "limit",
     .open = fill_below_a_limit,
     .spare = heap_spare,
     .refuse = limited,
     .allow = no_limit,
     .retake = retake_below_a_limit,
     .close = heap_release,
     .most = 11,
     .statuses = BIT(TL_E_LIMIT)},
	{.name = "entries", .fill = entries, .drain = stack_release, .most = 16, .statuses = BIT(TL_E_ARENA_EXHAUSTED)},
	{.name = "marks", .fill = marks, .drain = stack_release, .most = 16, .statuses = BIT(TL_E_ARENA_EXHAUSTED)},
	{.name = "frames", .fill = frames, .drain = stack_release, .most = 64, .statuses = BIT(TL_E_ARENA_EXHAUSTED)},
	{.name = "device",
     .refuse = own_device_fail,
     .allow = device_again,
     .most = 16,
     .statuses = BIT(TL_E_OUT_OF_MEMORY)},
	{.name = "malloc",
     .refuse = host_malloc_fail,
     .allow = host_again,
     .most = 64,
     .statuses = BIT(TL_E_OUT_OF_MEMORY)},
	{.name = "maps",
     .spare = use_memory,
     .refuse = host_maps_fail,
     .allow = maps_again,
     .most = 64,
     .statuses = BIT(TL_E_OUT_OF_MEMORY)},
	{.name = "threads", .spare = use_memory, .refuse = no_threads, .allow = threads_again},
};
enum { MODES = sizeof modes / sizeof *modes };
static const mode plenty = {.name = "plenty"};

/* How many of the calls, which are shuffled, are tried: a sample leaves some out. */
static int sampled(int of)
{
	int some = of / 3 + (int)prove_share(of);
	return some < of ? some : of;
}

static void run_mode(const mode* m)
{
	just(m->open);
	for (int i = 0; i < sampled(all_count); i++) exhaust(all[i], m);
	just(m->close);
}

/* ---- the system ------------------------------------------------------------------------------ */

static bool no_seccomp;

static void without_maps(int n)
{
	(void)n;
	if (!system_refuses_maps()) no_seccomp = true;
}

static const mode system_mode = {.name = "system",
                                 .open = fill_without_requests,
                                 .spare = heap_spare,
                                 .refuse = without_maps,
                                 .close = heap_release,
                                 .most = 11,
                                 .statuses = BIT(TL_E_OUT_OF_MEMORY)};

static struct {
	const step* step;
	int n;
	bool good;
} there;

/* The filter stays with the thread, so each attempt has one of its own, with a heap that it
 * has filled itself. */
THREAD(attempt_there, argument)
{
	CHECK_OK(tl_arena_init(4096));
	just(system_mode.open);
	there.good = attempt(there.step, &system_mode, there.n);
	just(system_mode.close);
	CHECK_OK(tl_arena_free());
}

static void run_system(void)
{
	int some = sampled(all_count / 3); /* a heap is filled for each attempt */
	for (int i = 0; i < some && !no_seccomp; i++) {
		there.step = all[i];
		there.good = !fits(there.step, &system_mode);
		for (there.n = 0; there.n <= system_mode.most && !there.good && !no_seccomp; there.n++)
			run_thread(attempt_there, NULL);
	}
}

/* ---- a process ------------------------------------------------------------------------------- */

/* The first calls may be refused: FAULTS_START requests pass. Afterwards everything works. */
static void start(void)
{
	const char* requests = getenv("FAULTS_START");
	if (requests == NULL) return;
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", requests));
	for (int i = 0; i < 3; i++) {
		tl_status status = tl_init();
		counts.tried++;
		counts.refused += status != TL_OK;
		if (status != TL_OK) CHECK_STATUS(status, TL_E_OUT_OF_MEMORY);
	}
	all_requests();
	CHECK_OK(tl_init());
}

static int run(const char* name)
{
	setenv("TL_CUDA_LIBRARY", FAKE_CUDA, 1);
	setenv("TL_OPENCL_LIBRARY", "none", 1);
	setenv("FAKECUDA_DEVICES", "1", 1);
	start();
	CHECK_OK(tl_device_by_name("cuda:0", &w.cuda));
	w.far_device = own_device_register();
	world_make();
	shuffle();
	for (int i = 0; i < sampled(all_count); i++) exhaust(all[i], &plenty);
	for (int i = 0; i < MODES; i++)
		if (strcmp(modes[i].name, name) == 0) run_mode(&modes[i]);
	if (strcmp(name, "system") == 0) run_system();
	for (int i = 0; i < all_count; i++) exhaust(all[i], &plenty);
	world_end();
	for (int i = 0; i < 8; i++) CHECK_OK(tl_mem_purge());
	CHECK_INT(tl_get_gpu_total_allocated_bytes(), 0);
	own_device_end();
	int status = check_finish();
	printf("counts %" PRId64 " %" PRId64 " %" PRId64 "\n", counts.tried, counts.refused, counts.failed);
	if (no_seccomp) printf("no seccomp\n");
	return status;
}

/* ---- all processes --------------------------------------------------------------------------- */

static const char* program;
static int skipped;

/* What a child printed is added up; it has failed when it did not end well. */
static int64_t child(const char* name, const char* setting, int value)
{
	char command[512], line[256];
	int64_t tried = 0, refused = 0, failed = 0;
	bool told = false;
	snprintf(command, sizeof command, "%s=%d PROVE_SEED=%" PRIu64 " '%s' -run %s", setting, value, check_random(&seed),
	         program, name);
	FILE* out = popen(command, "r");
	if (out == NULL) return 0;
	while (fgets(line, sizeof line, out) != NULL) {
		if (sscanf(line, "counts %" SCNd64 " %" SCNd64 " %" SCNd64, &tried, &refused, &failed) == 3) told = true;
		skipped += strcmp(line, "no seccomp\n") == 0;
	}
	int status = pclose(out);
	counts.tried += tried;
	counts.refused += refused;
	counts.failed += failed;
	if (status != 0 || !told) {
		counts.failed += failed == 0;
		fprintf(stderr, "status %d of: %s\n", status, command);
	}
	return refused;
}

static void all_processes(void)
{
	for (long round = prove_share(8); round > 0; round--) {
		for (int i = 0; i < MODES; i++)
			child(modes[i].name, "TL_ARENA_BYTES", modes[i].fill != NULL ? 131072 : 1 << 20);
		child("system", "TL_ARENA_BYTES", 1 << 20);
	}
	int n = 0;
	for (; n < 1000 && child("start", "FAULTS_START", n) > 0; n++) {}
	CHECK(n > 10);
}

int main(int argc, char** argv)
{
	char detail[128];
	seed = prove_seed() * 2 + 1;
	program = argv[0];
	collect();
	if (argc == 3 && strcmp(argv[1], "-run") == 0) return run(argv[2]);
	all_processes();
	snprintf(detail, sizeof detail, "%" PRId64 " of them were refused%s", counts.refused,
	         skipped > 0 ? "; this machine has no seccomp, so that the system itself refused none" : "");
	return prove_told("calls", counts.tried, counts.failed, detail);
}
