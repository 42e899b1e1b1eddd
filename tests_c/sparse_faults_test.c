/* Sparse matrices when memory ends: a full scope stack, a full heap, and a system that
 * refuses its n-th call, for every n. Each call says why, nothing leaks, the retry works.
 *
 *     sparse_faults_test             everything
 *     sparse_faults_test work N      one process in which N calls about memory succeed
 */
#include <sys/wait.h>
#include <unistd.h>

#include "sparse.h"

enum { SMALL_ARENA = 1 << 20, SMALL_HEAP = 64 << 20, ROWS = 300, LENGTH = 20000 };

static int64_t lengths[ROWS];
static tl_sparse* sample;

static bool create(void) { return tl_sparse_create(0, ROWS, LENGTH, 1, 3, lengths, NULL) != NULL; }
static bool slice(void) { return tl_sparse_slice(sample, 1, 4) != NULL; }
static bool transpose(void) { return tl_sparse_transpose(sample) != NULL; }
static bool from_csr(void) { return sparse_sample() != NULL; }

static bool from_csc(void)
{
	return tl_sparse_from_csc(SPARSE_COLUMNS, SPARSE_ROWS, SPARSE_NONZEROS, TL_DTYPE_F64, TL_DTYPE_I32, sparse_values,
	                          sparse_indices, sparse_offsets, &sparse_small) != NULL;
}

static bool wrap(void)
{
	return tl_sparse_wrap(TL_SPARSE_CSR, SPARSE_ROWS, SPARSE_COLUMNS, SPARSE_NONZEROS, TL_DTYPE_F64, TL_DTYPE_I32,
	                      sparse_values, sparse_indices, sparse_offsets, 0, NULL, NULL) != NULL;
}

static bool to_contiguous(void)
{
	tl_tensor *v, *i, *o;
	return tl_sparse_to_contiguous(sample, &v, &i, &o) == TL_OK;
}

static bool block_tensors(void)
{
	tl_tensor *v, *i, *o;
	return tl_sparse_block_tensors(sample, 1, &v, &i, &o) == TL_OK;
}

static bool (*const makers[])(void) = {create,   slice, transpose,     from_csr,
                                       from_csc, wrap,  to_contiguous, block_tensors};
enum { MAKERS = sizeof makers / sizeof makers[0] };

/* Fills the scope stack but for a number of entries. */
static void fill_scope_stack(int spare)
{
	void* object = tl_mem_new(64);
	while (tl_mem_register_struct(object) == TL_OK) {}
	while (spare-- > 0) {
		CHECK_OK(tl_mem_unregister(object));
		CHECK_OK(tl_ptr_release(object));
	}
}

TEST_IN_SCOPE(the_scope_stack_is_full)
{
	sample = sparse_sample();
	for (int i = 0; i < ROWS; i++) lengths[i] = 1;
	for (int spare = 0; spare < 3; spare++) {
		CHECK_OK(tl_mem_enter_scope());
		fill_scope_stack(spare);
		/* covers: tl_sparse_create TL_E_ARENA_EXHAUSTED */
		/* covers: tl_sparse_slice TL_E_ARENA_EXHAUSTED */
		/* covers: tl_sparse_transpose TL_E_ARENA_EXHAUSTED */
		/* covers: tl_sparse_from_csr TL_E_ARENA_EXHAUSTED */
		/* covers: tl_sparse_from_csc TL_E_ARENA_EXHAUSTED */
		/* covers: tl_sparse_wrap TL_E_ARENA_EXHAUSTED */
		/* covers: tl_sparse_to_contiguous TL_E_ARENA_EXHAUSTED */
		/* covers: tl_sparse_block_tensors TL_E_ARENA_EXHAUSTED */
		for (int i = spare == 0 ? 0 : MAKERS - 2; i < MAKERS; i++)
			CHECK_REFUSED(makers[i](), false, TL_E_ARENA_EXHAUSTED);
		CHECK_OK(tl_mem_exit_scope());
	}
	CHECK_COUNT(sample, 1);
}

static void** fill_heap(void)
{
	static const size_t sizes[] = {1 << 20, 65536, 4096, 256, 64, 32};
	void** newest = NULL;
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		void** block;
		while ((block = tl_mem_alloc(sizes[i])) != NULL) {
			*block = newest;
			newest = block;
		}
	}
	return newest;
}

/* A maker succeeds while slots of its sizes are left over, and then never again. */
TEST(the_heap_is_full)
{
	void** blocks;
	CHECK_OK(tl_mem_enter_scope());
	sample = sparse_sample();
	blocks = fill_heap();
	/* covers: tl_sparse_create TL_E_OUT_OF_MEMORY */
	/* covers: tl_sparse_slice TL_E_OUT_OF_MEMORY */
	/* covers: tl_sparse_transpose TL_E_OUT_OF_MEMORY */
	/* covers: tl_sparse_from_csr TL_E_OUT_OF_MEMORY */
	/* covers: tl_sparse_from_csc TL_E_OUT_OF_MEMORY */
	/* covers: tl_sparse_wrap TL_E_OUT_OF_MEMORY */
	/* covers: tl_sparse_to_contiguous TL_E_OUT_OF_MEMORY */
	/* covers: tl_sparse_block_tensors TL_E_OUT_OF_MEMORY */
	for (int i = 0; i < MAKERS; i++) {
		int made = 0;
		while (made < 10000 && makers[i]()) made++;
		CHECK(made < 10000);
		CHECK_REFUSED(makers[i](), false, TL_E_OUT_OF_MEMORY);
	}
	CHECK_OK(tl_mem_exit_scope());
	while (blocks != NULL) {
		void** next = *blocks;
		CHECK_OK(tl_ptr_release(blocks));
		blocks = next;
	}
}

/* ---- the system refuses ---------------------------------------------------------------- */

/* How many of the makers were refused, each for the one reason. */
static int make_all(void)
{
	int refused = 0;
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < MAKERS; i++) {
		if (makers[i]()) continue;
		refused++;
		check_status(tl_last_status(), TL_E_OUT_OF_MEMORY, __FILE__, i, "reason");
	}
	CHECK_OK(tl_mem_exit_scope());
	return refused;
}

static int work(const char* allowed)
{
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < ROWS; i++) lengths[i] = LENGTH;
	sample = tl_sparse_create(TL_SPARSE_CSR, 40, LENGTH, TL_DTYPE_F64, TL_DTYPE_I64, lengths, NULL);
	check_balance before = check_take_balance();
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", allowed));
	int refused = make_all();
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "-1"));
	check_same_balance(before, "after refusals");
	CHECK_INT(make_all(), 0);
	check_same_balance(before, "after the retry");
	CHECK_OK(tl_mem_exit_scope());
	if (check_finish() != 0) return 1;
	return refused > 0 ? 2 : 0;
}

/* Exit status of one process: 0 nothing was refused, 2 something was, 1 wrong. */
static int with_calls(const char* program, int allowed)
{
	int status = -1;
	char text[16];
	snprintf(text, sizeof text, "%d", allowed);
	pid_t child = fork();
	if (child == 0) {
		freopen("/dev/null", "w", stdout);
		execl(program, program, "work", text, (char*)NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
	return WEXITSTATUS(status);
}

static void every_call_is_refused_once(const char* program)
{
	enum { MAX = 2000 };
	int allowed = 0, result = 2;
	for (; allowed < MAX && result != 0; allowed++) {
		result = with_calls(program, allowed);
		if (check_failed(result == 0 || result == 2))
			fprintf(stderr, "after %d system calls: exit status %d\n", allowed, result);
	}
	CHECK_INT(result, 0);
	CHECK(allowed > 3);
	printf("%d system calls, each refused once\n", allowed - 1);
}

int main(int argc, char** argv)
{
	char text[32];
	if (argc > 2) return work(argv[2]);
	every_call_is_refused_once(argv[0]);
	snprintf(text, sizeof text, "%d", SMALL_ARENA);
	setenv("TL_ARENA_BYTES", text, 1);
	snprintf(text, sizeof text, "%d", SMALL_HEAP);
	setenv("TL_HEAP_RESERVE", text, 1);
	return check_tests();
}
