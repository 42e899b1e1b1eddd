/* Copies and fills at addresses that cannot be used, in a host with a handler for SIGSEGV
 * of its own: they are refused from end to end, and nothing faults or changes. */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_cuda.h"

enum { PAGE = 4096, PAGES = 600, BYTES = PAGES * PAGE };

static char *memory, *good; /* of which one has bad pages */
static sigjmp_buf expected;
static volatile sig_atomic_t is_expected;

/* What Python's faulthandler does, but for the report. */
static void on_fault(int signal, siginfo_t* info, void* context)
{
	static const char text[] = "the library has faulted\n";
	(void)info, (void)context;
	if (is_expected) siglongjmp(expected, signal);
	if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(4);
	_exit(3);
}

static void install_the_handler(void)
{
	struct sigaction action;
	memset(&action, 0, sizeof action);
	action.sa_sigaction = on_fault;
	action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
	CHECK_INT(sigaction(SIGSEGV, &action, NULL), 0);
	CHECK_INT(sigaction(SIGBUS, &action, NULL), 0);
}

static void check_unchanged(const char* what, char value, size_t from, size_t bytes)
{
	for (size_t i = from; i < from + bytes; i++) {
		if (what[i] == value) continue;
		CHECK_INT(what[i], value);
		return;
	}
}

/* A range that can be read, or not even that. */
static void check_refused(void* bad, size_t bytes, bool readable)
{
	static char block[4096];
	void* there = tl_device_allocator_for(CUDA)->allocate(tl_device_allocator_for(CUDA)->ctx, BYTES);
	memset(good, 7, BYTES);
	CHECK_FAILS(tl_device_copy(CPU, bad, CPU, good, bytes), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_device_fill(CPU, bad, 9, bytes), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_device_copy(CPU, bad, CUDA, there, bytes), TL_E_INVALID_ARGUMENT);
	if (!readable) {
		CHECK_FAILS(tl_device_copy(CPU, good, CPU, bad, bytes), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_device_copy(CPU, block, CPU, bad, bytes), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_device_copy(CUDA, there, CPU, bad, bytes), TL_E_INVALID_ARGUMENT);
	} else if (bytes <= BYTES) {
		CHECK_OK(tl_device_copy(CUDA, there, CPU, bad, bytes));
	}
	check_unchanged(good, 7, 0, BYTES);
	tl_device_allocator_for(CUDA)->deallocate(tl_device_allocator_for(CUDA)->ctx, there, BYTES);
}

/* Pages in the middle that cannot be written, or not be read either, and a hole. */
TEST(bad_pages_in_the_middle)
{
	static const size_t around[] = {0, 1, 20, 290};
	char* page = memory + 300 * PAGE;
	for (int kind = 0; kind < 3; kind++) {
		memset(memory, 5, BYTES);
		CHECK_INT(kind == 2 ? munmap(page, PAGE) : mprotect(page, PAGE, kind == 0 ? PROT_READ : PROT_NONE), 0);
		for (int i = 0; i < 4; i++) {
			size_t bytes = (2 * around[i] + 1) * PAGE;
			check_refused(page - around[i] * PAGE, bytes, kind == 0);
		}
		check_refused(page - 1, 2, kind == 0);
		check_unchanged(memory, 5, 0, 300 * PAGE);
		check_unchanged(memory, 5, 301 * PAGE, 299 * PAGE);
		CHECK_OK(tl_device_fill(CPU, memory, 6, 300 * PAGE)); /* up to there it can be used */
		CHECK_OK(tl_device_copy(CPU, page + PAGE, CPU, memory, 299 * PAGE));
		check_unchanged(memory, 6, 301 * PAGE, 299 * PAGE);
		CHECK_PTR(mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), page);
	}
}

/* Lengths far beyond what is mapped, and such that no address follows. */
TEST(lengths_that_no_memory_has)
{
	memset(memory, 5, BYTES);
	for (int shift = 42; shift < 64; shift++) check_refused(memory, (size_t)1 << shift, false);
	check_refused(memory, SIZE_MAX, false);
	check_refused(memory, SIZE_MAX - (uintptr_t)memory + 1, false);
	check_refused((void*)(SIZE_MAX - 4095), 8192, false);
	check_refused((void*)(SIZE_MAX - 4095), 4096, false);
	check_unchanged(memory, 5, 0, BYTES);
}

/* A mapping that goes on behind the end of its file. */
TEST(behind_the_end_of_a_file)
{
	FILE* file = tmpfile();
	CHECK(file != NULL && ftruncate(fileno(file), 100 * PAGE) == 0);
	char* shown = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
	CHECK(shown != MAP_FAILED);
	check_refused(shown, BYTES, false);
	check_refused(shown + 99 * PAGE, 2 * PAGE, false);
	check_unchanged(shown, 0, 0, 100 * PAGE);
	CHECK_OK(tl_device_fill(CPU, shown, 1, 100 * PAGE));
	CHECK_INT(munmap(shown, BYTES), 0);
	fclose(file);
}

static void* no_blocks(void* ctx, size_t bytes)
{
	(void)ctx, (void)bytes;
	return NULL;
}

static void nothing(void* ctx, void* block, size_t bytes) { (void)ctx, (void)block, (void)bytes; }

static int copies_of_the_program;

static tl_status copied(void* ctx, void* to, const void* from, size_t bytes)
{
	(void)ctx, (void)to, (void)from, (void)bytes;
	copies_of_the_program++;
	return TL_OK;
}

/* A device of the program's own is not asked to copy what cannot be read. */
TEST(devices_of_the_programs_own)
{
	tl_device_allocator a = {sizeof a, "npu:0", 64, NULL, no_blocks, nothing};
	tl_device_copier c = {
		.struct_size = sizeof c, .host_access = 1, .from_host = copied, .to_host = copied, .within = copied};
	int32_t npu;
	CHECK_OK(tl_device_register(&a, &c, &npu));
	CHECK_INT(mprotect(memory + 300 * PAGE, PAGE, PROT_NONE), 0);
	CHECK_FAILS(tl_device_copy(npu, good, CPU, memory, BYTES), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_device_copy(CPU, memory, npu, good, BYTES), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_device_copy(npu, memory, npu, good, BYTES), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_device_fill(npu, memory, 1, BYTES), TL_E_INVALID_ARGUMENT);
	CHECK_INT(copies_of_the_program, 0);
	CHECK_INT(mprotect(memory + 300 * PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
}

/* The host's faults are its own. */
TEST(the_handler_goes_on_working)
{
	volatile char* page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	is_expected = 1;
	int signal = sigsetjmp(expected, 1);
	if (signal == 0) *page = 1;
	is_expected = 0;
	CHECK_INT(signal, SIGSEGV);
	CHECK_INT(munmap((void*)page, PAGE), 0);
}

int main(void)
{
	prepare_devices();
	CHECK_OK(tl_init());
	install_the_handler();
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	good = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return check_tests();
}
