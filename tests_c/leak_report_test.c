/* The leak report: what is a leak, what is none, and how it is written. What the end of a
 * process makes of it: leak_exit_test.c. */
#include <fcntl.h>
#include <unistd.h>

#include "leak_reader.h"
#include "no_file.h"

/* Takes the report out of the file that has the name, which is another one than before. */
static void take_report(const char* path)
{
	int file = open(path, O_RDONLY);
	CHECK(file >= 0);
	ssize_t n = read(file, report, sizeof report - 1);
	report[n > 0 ? n : 0] = 0;
	close(file);
	unlink(path);
}

/* The leaks that have come since a mark, and their report in `report`. */
static int64_t leaks_since(uint64_t mark)
{
	char path[] = "/tmp/tl_leaks_XXXXXX";
	close(mkstemp(path));
	int64_t leaked = tl_leak_report_since(path, mark);
	take_report(path);
	return leaked;
}

static uint64_t mark(void) { return *tl_track_count(); }

TEST(a_clean_program_leaks_nothing)
{
	uint64_t before = mark();
	tl_mem_enter_scope();
	void* held = tl_mem_new(64);
	CHECK_OK(tl_mem_free(forgetful(40)));
	void* vec = tl_vec_new(2);
	CHECK_OK(tl_vec_push(vec, held));
	CHECK_INT(leaks_since(before), 0); /* the scope holds them */
	CHECK_INT(strlen(report), 0);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(leaks_since(before), 0);
}

TEST(a_float_that_nobody_takes)
{
	uint64_t before = mark();
	void *a = forgetful(40), *b = forgetful(40);
	CHECK_INT(leaks_since(before), 2);
	CHECK(shows("ERROR: LeakSanitizer: detected memory leaks\n"));
	CHECK(shows("nobody took its floating reference"));
	CHECK(shows("    #0 0x"));
	CHECK(shows(" in forgetful "));
	CHECK(shows(" in a_float_that_nobody_takes "));
	CHECK(shows("SUMMARY: LeakSanitizer: 80 byte(s) leaked in 2 allocation(s).\n"));
	CHECK(hides("libtl_runtime"));
	CHECK_OK(tl_mem_free(a));
	CHECK_OK(tl_mem_free(b));
}

TEST(groups_come_by_site_the_largest_first)
{
	uint64_t before = mark();
	void* all[7];
	for (int i = 0; i < 6; i++) all[i] = tl_track_site(forgetful(32), "small.tl", 3);
	all[6] = tl_track_site(forgetful(4000), "large.tl", 7);
	CHECK_INT(leaks_since(before), 7);
	CHECK(shows("Direct leak of 192 byte(s) in 6 object(s) allocated from:\n    #0 0x"));
	CHECK(shows(" in forgetful small.tl:3\n"));
	CHECK(shows(" in forgetful large.tl:7\n"));
	const char *large = strstr(report, "large.tl:7"), *small = strstr(report, "small.tl:3");
	CHECK(large != NULL && small != NULL && large < small);
	for (int i = 0; i < 7; i++) CHECK_OK(tl_mem_free(all[i]));
}

TEST(tools_can_read_it)
{
	uint64_t before = mark();
	int groups = 0, frames = 0;
	void* one = forgetful(40);
	void* other = tl_track_site(forgetful(24), "model.tl", 12);
	tl_mem_enter_scope();
	void* vec = tl_ptr_acquire(tl_vec_new(0));
	CHECK_OK(tl_vec_push(vec, tl_mem_new(200)));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(leaks_since(before), 4);
	CHECK_INT(read_as_leak_sanitizers(&groups, &frames), 4);
	CHECK_INT(groups, 4);
	CHECK(frames >= 4);
	CHECK(strstr(report, "\n    #0 ") != NULL);
	CHECK_OK(tl_mem_free(one));
	CHECK_OK(tl_mem_free(other));
	CHECK_OK(tl_ptr_release(vec));
}

TEST(a_reference_that_was_not_released)
{
	uint64_t before = mark();
	tl_mem_enter_scope();
	CHECK_OK(tl_tag_push("phase"));
	void* p = tl_ptr_acquire(tl_mem_new(48));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(leaks_since(before), 1);
	CHECK(shows("a reference was acquired and never released; tag phase\n"));
	CHECK_OK(tl_ptr_release(p));
	CHECK_INT(leaks_since(before), 0);
}

typedef struct node {
	struct node* next;
	void* payload;
} node;

static tl_type node_type(void)
{
	static tl_type type;
	static const size_t offsets[] = {offsetof(node, next), offsetof(node, payload)};
	tl_type_desc description = {"node", sizeof(node), offsets, 2, NULL, 0};
	if (type == 0) CHECK_OK(tl_type_define(&description, &type));
	return type;
}

TEST(cycles_are_named_and_what_hangs_on_them_is_indirect)
{
	uint64_t before = mark();
	tl_mem_enter_scope();
	node* ring[3];
	for (int i = 0; i < 3; i++) ring[i] = tl_object_new(node_type());
	for (int i = 0; i < 3; i++) ring[i]->next = tl_ptr_acquire(ring[(i + 1) % 3]);
	ring[0]->payload = tl_ptr_acquire(tl_mem_new(100));
	node* itself = tl_object_new(node_type());
	itself->next = tl_ptr_acquire(itself);
	CHECK_INT(leaks_since(before), 0);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(leaks_since(before), 5);
	CHECK(shows("node; a cycle: only what it refers to refers to it; tl_mem_collect_cycles frees it"));
	CHECK(shows("Direct leak of 16 byte(s) in 1 object(s)"));
	CHECK(shows("Indirect leak of 32 byte(s) in 2 object(s)"));
	CHECK(hides("tag phase"));
	CHECK(shows("Indirect leak of 100 byte(s) in 1 object(s)"));
	CHECK_INT(tl_mem_collect_cycles(), 5);
	CHECK_INT(leaks_since(before), 0);
}

/* How many objects the group of `report` has that an expression finds. */
static long objects_of(const char* kind, const char* why)
{
	char expression[256];
	regex_t compiled;
	regmatch_t at[2];
	long n = 0;
	snprintf(expression, sizeof expression,
	         "%s leak of [0-9]+ byte\\(s\\) in ([0-9]+) object\\(s\\) allocated from:\n(    #[^\n]*\n)+    %s", kind,
	         why);
	CHECK(regcomp(&compiled, expression, REG_EXTENDED) == 0);
	for (const char* from = report; regexec(&compiled, from, 2, at, 0) == 0; from += at[0].rm_eo)
		n += atol(from + at[1].rm_so);
	regfree(&compiled);
	return n;
}

TEST(one_object_of_each_cycle_is_named)
{
	enum { N = 100 };
	uint64_t before = mark();
	tl_mem_enter_scope();
	node* list[N]; /* doubly linked: a cycle of two between any two neighbours */
	for (int i = 0; i < N; i++) list[i] = tl_object_new(node_type());
	for (int i = 0; i + 1 < N; i++) {
		list[i]->next = tl_ptr_acquire(list[i + 1]);
		list[i + 1]->payload = tl_ptr_acquire(list[i]);
	}
	node *below = tl_object_new(node_type()), *tail = tl_object_new(node_type());
	list[N - 1]->next = tl_ptr_acquire(below); /* a cycle that another one leads to, and a tail */
	below->next = tl_ptr_acquire(below);
	below->payload = tl_ptr_acquire(tail);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(leaks_since(before), N + 2);
	CHECK_INT(objects_of("Direct", "node; a cycle"), 1);
	CHECK_INT(objects_of("Indirect", "node; only another leak"), N + 1);
	tl_ptr_acquire(tail); /* what is held by a caller leads to no cycle, and is a leak of its own */
	CHECK_INT(leaks_since(before), N + 2);
	CHECK_INT(objects_of("Direct", "node; a cycle"), 1);
	CHECK_INT(objects_of("Direct", "node; a reference was acquired"), 1);
	tl_ptr_acquire(below); /* and now the cycles below it are no more than what it leads to */
	CHECK_INT(leaks_since(before), N + 2);
	CHECK_INT(objects_of("Direct", "node; a cycle"), 1);
	CHECK_OK(tl_ptr_release(tail));
	CHECK_OK(tl_ptr_release(below));
	CHECK_INT(tl_mem_collect_cycles(), N + 2);
	CHECK_INT(leaks_since(before), 0);
}

TEST(what_a_leak_leads_to_is_indirect)
{
	uint64_t before = mark();
	int64_t shape[] = {4};
	tl_mem_enter_scope();
	void* vec = tl_ptr_acquire(tl_vec_new(0));
	CHECK_OK(tl_vec_push(vec, tl_mem_new(200)));
	tl_tensor* whole = tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 1, shape);
	CHECK_OK(tl_vec_push(vec, tl_view_slice(whole, 0, 1, 3, 1)));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(leaks_since(before), 5 - 1); /* the Vec, what it holds, and what the view shows */
	CHECK(shows("Vec; a reference was acquired and never released"));
	CHECK(shows("Indirect leak of 200 byte(s) in 1 object(s)"));
	CHECK(shows("tensor; only another leak refers to it"));
	CHECK_OK(tl_ptr_release(vec));
	CHECK_INT(leaks_since(before), 0);
}

static void free_block(void* block, void* ctx)
{
	(void)ctx;
	free(block);
}

TEST(foreign_memory_and_its_aliases)
{
	uint64_t before = mark(), id;
	char *block = malloc(64), *buffer = malloc(300);
	void* aliases[] = {buffer + 100, buffer + 200};
	CHECK_OK(tl_registry_register(block, 64, TL_ALLOC_MALLOC));
	CHECK_OK(tl_registry_register_buffer(buffer, 300, aliases, 2, TL_ALLOC_MALLOC, &id));
	CHECK_INT(leaks_since(before), 2);
	CHECK(shows("memory of malloc; a reference was acquired and never released"));
	CHECK(shows("Direct leak of 300 byte(s) in 1 object(s)"));
	CHECK(hides("aliases of it are left"));
	CHECK_OK(tl_registry_unregister(buffer));
	CHECK_OK(tl_registry_unregister(block));
	CHECK_INT(leaks_since(before), 1);
	CHECK(shows("a buffer whose own address was unregistered and of which aliases are left"));
	CHECK(shows(" in foreign_memory_and_its_aliases "));
	CHECK_OK(tl_registry_unregister(aliases[0]));
	CHECK_OK(tl_registry_unregister(aliases[1]));
	CHECK_INT(leaks_since(before), 0);
	block = malloc(48);
	CHECK_OK(tl_registry_register_custom(block, 48, free_block, NULL));
	CHECK_INT(leaks_since(before), 1);
	CHECK(shows("buffer with a deleter; a reference was acquired and never released"));
	CHECK_OK(tl_registry_unregister(block));
}

TEST(what_the_host_has_back_is_no_leak)
{
	uint64_t before = mark();
	void* p = malloc(80);
	tl_mem_enter_scope();
	CHECK_OK(tl_mem_register_struct(p));
	CHECK_OK(tl_mem_unregister(p));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(leaks_since(before), 0);
	CHECK(shows("No leak, handed back to the host: "));
	CHECK(hides("ERROR"));
	tl_mem_enter_scope();
	CHECK_OK(tl_mem_register_struct(p));
	CHECK_OK(tl_mem_exit_scope());
}

TEST(at_zero_and_not_freed)
{
	uint64_t before = mark();
	void* p = forgetful(72);
	CHECK_INT(tl_ptr_dec_ref(p), 1);
	CHECK_INT(leaks_since(before), 1);
	CHECK(shows("held by nobody, and not freed"));
	CHECK_OK(tl_mem_free(p));
	void* aligned = tl_aligned_alloc(100, 64);
	CHECK_INT(leaks_since(before), 1);
	CHECK_OK(tl_aligned_free(aligned));
	CHECK_INT(leaks_since(before), 0);
}

TEST(blocks_of_pools)
{
	uint64_t before = mark();
	tl_memory_pool* pool;
	CHECK_OK(tl_memory_pool_create(tl_device_allocator_for(0), 1 << 20, &pool));
	void* block = tl_memory_pool_allocate(pool, 4096);
	CHECK_OK(tl_memory_pool_deallocate(pool, tl_memory_pool_allocate(pool, 64)));
	CHECK_INT(leaks_since(before), 1);
	CHECK(shows("block of a memory pool; not given back to its pool"));
	CHECK_OK(tl_memory_pool_deallocate(pool, block));
	CHECK_INT(leaks_since(before), 0);
	CHECK(tl_memory_pool_allocate(pool, 512) != NULL);
	CHECK_OK(tl_memory_pool_reset(pool));
	CHECK_INT(leaks_since(before), 0);
	CHECK_OK(tl_memory_pool_destroy(pool));
}

static void immortals_are_no_leak(void)
{
	uint64_t before = mark();
	void* p = forgetful(64);
	CHECK_OK(tl_ptr_make_immortal(p));
	check_immortals++;
	CHECK_INT(leaks_since(before), 0);
}

/* As leaks_since, where the caller knows of references of its own. */
static int64_t leaks_except(uint64_t mark, void* const* held, size_t n)
{
	char path[] = "/tmp/tl_leaks_XXXXXX";
	close(mkstemp(path));
	int64_t leaked = tl_leak_report_except(path, mark, held, n);
	take_report(path);
	return leaked;
}

TEST(what_the_caller_holds_is_no_leak)
{
	uint64_t before = mark();
	const int64_t shape[] = {10};
	tl_mem_enter_scope();
	tl_tensor *kept = tl_tensor_new_zeroed(TL_DTYPE_F32, TL_DEVICE_CPU, 1, shape),
			  *view = tl_view_reshape(kept, 1, shape);
	void *vec = tl_vec_new(1), *inner = tl_mem_new(48), *block = malloc(16);
	CHECK_OK(tl_vec_push(vec, inner));
	CHECK_OK(tl_registry_register(block, 16, TL_ALLOC_MALLOC));
	void* held[] = {tl_tensor_acquire(view), tl_tensor_acquire(view), tl_ptr_acquire(vec), block};
	CHECK_OK(tl_mem_exit_scope());

	CHECK_INT(leaks_since(before), 5); /* the tensor and what the Vec has are indirect ones */
	CHECK_INT(leaks_except(before, held, 4), 0);
	CHECK_INT(leaks_except(UINT64_MAX, held, 4), tl_leak_report("/dev/null") - 5);
	CHECK_INT(leaks_except(before, held, 0), 5);
	CHECK(hides("variables"));
	CHECK_INT(leaks_except(before, NULL, 0), 5);
	CHECK_INT(leaks_except(before, held + 1, 3), 1); /* a second reference to the view that nobody knows of */
	CHECK(shows("a reference was acquired and never released"));
	CHECK(shows(" allocation(s) that scopes of running threads or variables hold."));
	void* strange[] = {held[0], held[1], held[2], held[3], NULL, (void*)16, (char*)inner + 8, &before};
	CHECK_INT(leaks_except(before, strange, 8), 0);
	tl_tensor_release(held[0]);
	tl_tensor_release(held[1]);
	tl_ptr_release(vec);
	CHECK_OK(tl_registry_unregister(block));
	CHECK_INT(leaks_except(before, held, 3), 0); /* they are gone */
}

static size_t nothing_held(void* ctx, void* const** out_held)
{
	(void)ctx;
	*out_held = NULL;
	return 0;
}

static size_t held_nowhere(void* ctx, void* const** out_held)
{
	(void)ctx;
	(void)out_held;
	return 1;
}

/* What a caller holds, and what it does while it is asked. */
typedef struct caller {
	void* held[2];
	size_t n;
	void *made, *taken; /* meanwhile */
	void* from_scope;
	int asked;
} caller;

static size_t ask(void* ctx, void* const** out_held)
{
	caller* of = ctx;
	if (of->asked++ == 0) {
		of->made = tl_mem_alloc(32);
		of->taken = tl_ptr_acquire(of->from_scope);
	}
	*out_held = of->held;
	return of->n;
}

/* Forgets what it holds when it is asked for the first time, or for the second time. */
static size_t ask_a_forgetful_one(void* ctx, void* const** out_held)
{
	caller* of = ctx;
	*out_held = of->held;
	return ++of->asked % 2 == (int)of->n ? 1 : 0;
}

static int64_t leaks_asking(uint64_t mark, tl_leak_holders holders, caller* of)
{
	char path[] = "/tmp/tl_leaks_XXXXXX";
	close(mkstemp(path));
	int64_t leaked = tl_leak_report_asking(path, mark, holders, of);
	take_report(path);
	return leaked;
}

TEST(what_comes_after_the_list_is_no_leak)
{
	uint64_t before = mark();
	void* lost = forgetful(64);
	tl_mem_enter_scope();
	void* kept = tl_ptr_acquire(tl_mem_new(40));
	tl_mem_exit_scope();
	tl_mem_enter_scope();
	caller of = {.held = {kept}, .n = 1, .from_scope = tl_mem_new(16)};
	CHECK_INT(leaks_asking(before, ask, &of), 1); /* neither `made` nor what `taken` refers to */
	CHECK(shows("64 byte(s) in 1 object(s)"));
	CHECK(shows("in 3 allocation(s) that scopes")); /* `kept`, `made`, and what `taken` refers to */
	CHECK_INT(of.asked, 2);
	tl_ptr_release(of.taken);
	void* first = of.made;
	CHECK_OK(tl_mem_free(lost));
	for (of.asked = 0, of.n = 0; of.n < 2; of.n++, of.asked = 0)
		CHECK_INT(leaks_asking(before, ask_a_forgetful_one, &of), 1); /* `first`; `kept` was held in one answer */
	lost = forgetful(64);
	of.asked = 0;
	of.n = 0;
	CHECK_INT(leaks_asking(before, ask, &of), 3); /* the first call's `made` is older than the second list */
	tl_ptr_release(of.taken);
	CHECK_OK(tl_mem_exit_scope());
	tl_ptr_release(kept);
	void* all[] = {lost, first, of.made};
	for (size_t i = 0; i < 3; i++) CHECK_OK(tl_mem_free(all[i]));
	CHECK_INT(leaks_since(before), 0);
}

TEST(mistakes_are_told)
{
	CHECK_REFUSED(tl_leak_report(no_file()), -1, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_leak_report((const char*)16), -1, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_leak_report_since(no_file(), 0), -1, TL_E_INVALID_ARGUMENT);
	void* held[1] = {NULL};
	CHECK_REFUSED(tl_leak_report_except(no_file(), 0, held, 1), -1, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_leak_report_except("/dev/null", 0, NULL, 1), -1, TL_E_INVALID_ARGUMENT);
	caller of = {.n = 0};
	CHECK_REFUSED(leaks_asking(0, NULL, &of), -1, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_leak_report_asking(no_file(), 0, nothing_held, &of), -1, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(leaks_asking(0, held_nowhere, &of), -1, TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_configure("TL_TRACK", "0"));
	CHECK_REFUSED(leaks_asking(0, nothing_held, &of), -1, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_leak_report_except("/dev/null", 0, held, 1), -1, TL_E_INVALID_ARGUMENT);
	CHECK(tl_leak_report_except("/dev/null", UINT64_MAX, held, 1) >= 0);
	CHECK_REFUSED(tl_leak_report_since(NULL, 0), -1, TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_configure("TL_TRACK", "1"));
}

static void no_memory_to_look_is_an_answer(void)
{
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "0"));
	void* one = forgetful(64);
	CHECK_REFUSED(tl_leak_report("/dev/null"), -1, TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_leak_report_since("/dev/null", 0), -1, TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_leak_report_except("/dev/null", 0, &one, 1), -1, TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_leak_report_asking("/dev/null", 0, nothing_held, NULL), -1, TL_E_OUT_OF_MEMORY);
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "-1"));
	CHECK_OK(tl_mem_free(one));
}

int main(void)
{
	CHECK_OK(tl_init());
	CHECK_OK(tl_configure("TL_TRACK", "1"));
	no_memory_to_look_is_an_answer(); /* before the tables exist */
	check_run();
	immortals_are_no_leak();
	return check_finish();
}
