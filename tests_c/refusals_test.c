/* Pointers that are nobody's: C refuses them, and the error is what it would be from Go.
 *
 * A process prints what each function says about each kind of address; the same program does so over the slow path, and
 * with TL_DEBUG, and the texts have to be the same but for the numbers. */
#include <pthread.h>

#include "check.h"

enum { CALLS = 2000, LINES = 20000, LINE = 400 };

/* ---- addresses -------------------------------------------------------------------------- */

typedef struct place {
	const char* name;
	void* at;
} place;

enum { PLACES = 16 };

static char *small, *large, *of_other_thread;

static void* in_another_arena(void* barrier)
{
	tl_arena_init(1 << 16);
	of_other_thread = tl_arena_alloc(64);
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	tl_arena_free();
	return NULL;
}

static void* released(size_t bytes)
{
	void* object = tl_mem_alloc(bytes);
	CHECK_OK(tl_ptr_release(object));
	return object;
}

/* An object that is alone on its slab shows what lies behind the last slot. */
static void places(place all[PLACES], char* on_stack)
{
	small = tl_mem_alloc(96);
	large = tl_mem_alloc(1 << 20);
	CHECK_OK(tl_arena_init(1 << 16));
	char* beyond = tl_arena_alloc(64);
	tl_arena_free();
	place made[PLACES] = {{"stack", on_stack},
	                      {"odd", on_stack + 1},
	                      {"by eight", on_stack + 8},
	                      {"number", (void*)0x1230},
	                      {"one", (void*)1},
	                      {"highest", (void*)~(uintptr_t)31},
	                      {"interior", small + 32},
	                      {"odd interior", small + 1},
	                      {"large interior", large + 64},
	                      {"large later span", large + 70000},
	                      {"dead", released(224)},
	                      {"dead of 2000", released(2000)},
	                      {"dead of 60000", released(60000)},
	                      {"dead large", released(3 << 20)},
	                      {"other arena", of_other_thread},
	                      {"dead arena", beyond}};
	memcpy(all, made, sizeof made);
}

/* ---- functions --------------------------------------------------------------------------- */

/* Each is called with an address p, and gives a number. */
#define FUNCTIONS(F)                                       \
	F(tl_ptr_acquire, tl_ptr_acquire(p) == p)              \
	F(tl_ptr_inc_ref, tl_ptr_inc_ref(p))                   \
	F(tl_ptr_release, tl_ptr_release(p))                   \
	F(tl_ptr_release_bool, tl_ptr_release_bool(p))         \
	F(tl_ptr_dec_ref, tl_ptr_dec_ref(p))                   \
	F(tl_ptr_refcount, tl_ptr_refcount(p))                 \
	F(tl_ptr_check, tl_ptr_check(p))                       \
	F(tl_ptr_share, tl_ptr_share(p))                       \
	F(tl_ptr_make_immortal, tl_ptr_make_immortal(p))       \
	F(tl_mem_free, tl_mem_free(p))                         \
	F(tl_mem_dealloc, tl_mem_dealloc(p))                   \
	F(tl_free_tmp, tl_free_tmp(p))                         \
	F(tl_mem_register_ptr, tl_mem_register_ptr(p))         \
	F(tl_mem_register_tensor, tl_mem_register_tensor(p))   \
	F(tl_mem_register_vec_ptr, tl_mem_register_vec_ptr(p)) \
	F(tl_mem_unregister, tl_mem_unregister(p))             \
	F(tl_mem_deep_clone, tl_mem_deep_clone(p) != 0)        \
	F(tl_ref_of, tl_ref_of(p) != 0)                        \
	F(tl_weak_of, tl_weak_of(p) != 0)                      \
	F(tl_weak_share, tl_weak_share(p) != 0)                \
	F(tl_vec_push, tl_vec_push(p, NULL))                   \
	F(tl_vec_get, tl_vec_get(p, 0) != 0)                   \
	F(tl_vec_set, tl_vec_set(p, 0, NULL))                  \
	F(tl_vec_pop, tl_vec_pop(p) != 0)                      \
	F(tl_vec_len, tl_vec_len(p))                           \
	F(tl_vec_reserve, tl_vec_reserve(p, 4))                \
	F(tl_vec_clear, tl_vec_clear(p))                       \
	F(tl_tensor_clone, tl_tensor_clone(p) != 0)            \
	F(tl_tensor_acquire, tl_tensor_acquire(p) == p)        \
	F(tl_tensor_release, tl_tensor_release(p))             \
	F(tl_tensor_release_safe, tl_tensor_release_safe(p))   \
	F(tl_tensor_promote, tl_tensor_promote(p))             \
	F(tl_tensor_free, tl_tensor_free(p))                   \
	F(tl_tensor_data, tl_tensor_data(p) != 0)              \
	F(tl_tensor_nbytes, tl_tensor_nbytes(p))               \
	F(tl_tensor_numel, tl_tensor_numel(p))                 \
	F(tl_tensor_len, tl_tensor_len(p))                     \
	F(tl_tensor_rank, tl_tensor_rank(p))                   \
	F(tl_tensor_shape, tl_tensor_shape(p) != 0)            \
	F(tl_tensor_strides, tl_tensor_strides(p) != 0)        \
	F(tl_tensor_dtype, tl_tensor_dtype(p))                 \
	F(tl_tensor_device, tl_tensor_device(p))               \
	F(tl_tensor_is_contiguous, tl_tensor_is_contiguous(p)) \
	F(tl_tensor_dim, tl_tensor_dim(p, 0))                  \
	F(tl_tensor_base, tl_tensor_base(p) != 0)

/* These may take what lies on the stack for malloc's. */
#define ADOPTING(F)                                                       \
	F(tl_mem_register, tl_mem_register(p))                                \
	F(tl_mem_register_struct, tl_mem_register_struct(p))                  \
	F(tl_mem_register_struct_named, tl_mem_register_struct_named(p, "x")) \
	F(tl_registry_unregister, tl_registry_unregister(p))                  \
	F(tl_aligned_free, tl_aligned_free(p))

typedef struct function {
	const char* name;
	int64_t (*call)(void* p);
	bool enters_go; /* for some of the places */
} function;

#define DEFINE(name, call) \
	static int64_t call_##name(void* p) { return (int64_t)(call); }
FUNCTIONS(DEFINE)
ADOPTING(DEFINE)
#define ROW(name, call) {#name, call_##name, false},
#define ADOPTING_ROW(name, call) {#name, call_##name, true},
static const function functions[] = {FUNCTIONS(ROW) ADOPTING(ADOPTING_ROW)};
enum { COUNT = sizeof functions / sizeof *functions };

/* ---- the table ---------------------------------------------------------------------------- */

/* Numbers of addresses become 0x. */
static void print_masked(const char* text)
{
	while (*text != 0) {
		putchar(*text);
		if (text[0] == '0' && text[1] == 'x') {
			putchar('x');
			for (text += 2; strchr("0123456789abcdef", *text) != NULL && *text != 0;) text++;
		} else {
			text++;
		}
	}
	putchar('\n');
}

static void with_places(void (*body)(const place* all))
{
	/* neither the beginning of a page, which is looked at each time, nor what looks like malloc's */
	char room[8192] __attribute__((aligned(64))) = {0};
	char* on_stack = (char*)(((uintptr_t)room + 4095) & ~(uintptr_t)4095) + 512;
	pthread_t thread;
	pthread_barrier_t barrier;
	place all[PLACES];
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, in_another_arena, &barrier);
	pthread_barrier_wait(&barrier);
	places(all, on_stack);
	body(all);
	CHECK_OK(tl_ptr_release(small));
	CHECK_OK(tl_ptr_release(large));
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&barrier);
}

static void print_all(const place* all)
{
	for (int f = 0; f < COUNT; f++) {
		for (int i = 0; i < PLACES; i++) {
			tl_clear_error();
			int64_t result = functions[f].call(all[i].at);
			printf("%s, %s: %d %d ", functions[f].name, all[i].name, (int)result, (int)tl_last_status());
			print_masked(tl_last_error());
		}
		tl_clear_error();
		int64_t result = functions[f].call(NULL);
		printf("%s, NULL: %d %d ", functions[f].name, (int)result, (int)tl_last_status());
		print_masked(tl_last_error());
	}
}

static char program[4096];

static int lines_of(const char* environment, char (*lines)[LINE])
{
	char command[5000];
	int n = 0;
	snprintf(command, sizeof command, "%s '%s' table", environment, program);
	FILE* f = popen(command, "r");
	while (n < LINES && fgets(lines[n], LINE, f) != NULL) n++;
	CHECK_INT(pclose(f), 0);
	return n;
}

static void compare(const char* one, const char* other)
{
	static char a[LINES][LINE], b[LINES][LINE];
	int n = lines_of(one, a);
	CHECK(n >= COUNT * (PLACES + 1)); /* TL_DEBUG adds lines */
	CHECK_INT(lines_of(other, b), n);
	for (int i = 0; i < n; i++)
		if (check_failed(strcmp(a[i], b[i]) == 0)) fprintf(stderr, "%s: %s%s: %s", one, a[i], other, b[i]);
}

static void paths(void)
{
	compare("TL_FASTPATH=1", "TL_FASTPATH=0");
	compare("TL_FASTPATH=1 TL_DEBUG=1", "TL_FASTPATH=0 TL_DEBUG=1");
}

/* ---- slow calls ---------------------------------------------------------------------------- */

static void count_all(const place* all)
{
	for (int f = 0; f < COUNT; f++) {
		if (functions[f].enters_go) continue;
		for (int i = -1; i < PLACES; i++) {
			if (i >= 0 && strcmp(all[i].name, "dead large") == 0) continue; /* Go knows what its memory was */
			void* p = i < 0 ? NULL : all[i].at;
			uint64_t before = check_slow_calls();
			for (int n = 0; n < CALLS; n++) functions[f].call(p);
			uint64_t slow = check_slow_calls() - before - 1;
			if (check_failed(slow * 20 <= CALLS))
				fprintf(stderr, "%s, %s: %d of %d calls are slow\n", functions[f].name, i < 0 ? "NULL" : all[i].name,
				        (int)slow, (int)CALLS);
		}
	}
}

static void stay_fast(void) { with_places(count_all); }

static void adopting_stays_fast(void)
{
	_Alignas(64) static char memory[256];
	uint64_t before = check_slow_calls();
	for (int n = 0; n < CALLS; n++) {
		CHECK_STATUS(tl_mem_register_struct(memory + 1), TL_E_INVALID_ARGUMENT);
		CHECK_STATUS(tl_mem_register_struct((void*)0x1230), TL_E_INVALID_ARGUMENT);
		CHECK_OK(tl_mem_register_struct(NULL));
		CHECK_OK(tl_aligned_free(NULL));
		CHECK_STATUS(tl_registry_unregister(memory), TL_E_UNKNOWN_POINTER);
	}
	CHECK((check_slow_calls() - before - 1) * 20 <= 5 * (uint64_t)CALLS);
}

/* ---- the moment of the failure --------------------------------------------------------------- */

static void later_owners(void)
{
	char text[64];
	void* p = malloc(48);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_FAILS(tl_ptr_inc_ref(p), TL_E_UNKNOWN_POINTER);
	CHECK_OK(tl_mem_register_struct(p));
	snprintf(text, sizeof text, "%p is an address that the runtime never gave out", p);
	CHECK(strstr(tl_last_error(), text) != NULL);
	CHECK(strstr(tl_last_error(), "tl_ptr_inc_ref: ") == tl_last_error());
	CHECK_OK(tl_mem_exit_scope());

	void* object = released(700);
	CHECK_FAILS(tl_ptr_release(object), TL_E_NOT_LIVE);
	void* next = tl_mem_alloc(700);
	CHECK_PTR(next, object);
	CHECK(strstr(tl_last_error(), "is the start of an object that was released already") != NULL);
	CHECK_OK(tl_ptr_release(next));

	object = tl_mem_alloc(700);
	tl_ref gone = tl_ref_of(object);
	CHECK_OK(tl_ptr_release(object));
	CHECK_FAILS(tl_ref_check(gone), TL_E_NOT_LIVE);
	next = tl_mem_alloc(700);
	CHECK(strstr(tl_last_error(), "was released already; forget") != NULL);
	CHECK_FAILS(tl_ref_check(gone), TL_E_NOT_LIVE);
	CHECK_OK(tl_ptr_release(next));
	CHECK(strstr(tl_last_error(), "belongs to another object now") != NULL);
}

static void newest_error(void)
{
	char* object = tl_mem_alloc(96);
	CHECK_FAILS(tl_ptr_inc_ref(object + 8), TL_E_INTERIOR_POINTER);
	CHECK_STATUS(tl_ptr_check(&object), TL_E_UNKNOWN_POINTER);
	CHECK(strstr(tl_last_error(), "tl_ptr_check: ") == tl_last_error());
	CHECK_STATUS(tl_last_status(), TL_E_UNKNOWN_POINTER);
	CHECK_STATUS(tl_ptr_dec_ref(object + 8) == 0 ? tl_last_status() : TL_OK, TL_E_INTERIOR_POINTER);
	CHECK(strstr(tl_last_error(), "is 8 bytes inside a 96-byte slot that starts at") != NULL);
	CHECK_OK(tl_ptr_release(object));
	CHECK(strstr(tl_last_error(), "is 8 bytes inside a 96-byte slot") != NULL);
	tl_clear_error();
	CHECK(strcmp(tl_last_error(), "") == 0);
}

/* ---- reports ----------------------------------------------------------------------------------- */

static char told[400];
static long tellings;

static void listen(tl_status status, const char* message, void* expected)
{
	CHECK_STATUS(status, *(tl_status*)expected);
	snprintf(told, sizeof told, "%s", message);
	tellings++;
}

static void callbacks(void)
{
	tl_status expected = TL_E_UNKNOWN_POINTER;
	char text[128];
	int local = 0;
	CHECK_OK(tl_set_error_callback(listen, &expected));
	for (int n = 1; n <= 100; n++) {
		CHECK_STATUS(tl_ptr_inc_ref(&local), TL_E_UNKNOWN_POINTER);
		CHECK_INT(tellings, n);
	}
	snprintf(text, sizeof text, "tl_ptr_inc_ref: TL_E_UNKNOWN_POINTER: %p is an address", (void*)&local);
	CHECK(strncmp(told, text, strlen(text)) == 0);
	CHECK(strcmp(told, tl_last_error()) == 0);
	CHECK_OK(tl_set_error_callback(NULL, NULL));
	CHECK_STATUS(tl_ptr_inc_ref(&local), TL_E_UNKNOWN_POINTER);
	CHECK_INT(tellings, 100);
}

/* ---- threads ------------------------------------------------------------------------------------- */

static void* fail_often(void* number)
{
	char own[64], text[80];
	for (int n = 0; n < CALLS; n++) {
		void* p = own + n % 64;
		CHECK_STATUS(tl_ptr_acquire(p) == p ? tl_last_status() : TL_OK, TL_E_UNKNOWN_POINTER);
		if (n % 64 != 0) continue;
		snprintf(text, sizeof text, "%p is an address", p);
		CHECK(strstr(tl_last_error(), text) != NULL);
	}
	return number;
}

/* Another thread registers neighbours meanwhile, so that looks at the registry meet writers. */
static void* register_often(void* stop)
{
	while (!__atomic_load_n((bool*)stop, __ATOMIC_RELAXED)) {
		void* p = malloc(64);
		CHECK_OK(tl_registry_register(p, 64, TL_ALLOC_MALLOC));
		CHECK(tl_registry_is_registered(p));
		CHECK_OK(tl_registry_unregister(p));
	}
	return NULL;
}

static void threads(void)
{
	pthread_t failing[2], registering;
	bool stop = false;
	pthread_create(&registering, NULL, register_often, &stop);
	for (int i = 0; i < 2; i++) pthread_create(&failing[i], NULL, fail_often, NULL);
	for (int i = 0; i < 2; i++) pthread_join(failing[i], NULL);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(registering, NULL);
}

int main(int argc, char** argv)
{
	if (argc == 2 && strcmp(argv[1], "table") == 0) {
		with_places(print_all);
		return check_failures != 0;
	}
	ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
	CHECK(n > 0);
	const char* path = getenv("TL_FASTPATH");
	const bool is_debug = getenv("TL_DEBUG") != NULL;
	RUN(threads);
	if (!is_debug) { /* it keeps what was released, changes sizes and adds to texts */
		RUN(later_owners);
		RUN(newest_error);
		RUN(callbacks);
	}
	if (!is_debug && (path == NULL || strcmp(path, "0") != 0)) {
		RUN(stay_fast);
		RUN(adopting_stays_fast);
		RUN(paths);
	}
	return check_finish();
}
