/* Tensors that other processes map: what is shared, and what a receiver refuses. Here one process does both. */
#include <sys/resource.h>
#include <sys/wait.h>

#include "sharing.h"

static int32_t at(const tl_tensor* t, int64_t i, int64_t j)
{
	const int64_t* strides = tl_tensor_strides(t);
	return ((const int32_t*)tl_tensor_data(t))[i * strides[0] + j * strides[1]];
}

/* Both tensors have one memory, and it lasts as long as one of them. */
TEST(memory_is_shared)
{
	const int before = open_descriptors();
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* sent = counting(3, 4, 100);
	tl_tensor_shared s = shared_of(sent, 0);
	CHECK(s.fd > 2 && (fcntl(s.fd, F_GETFD) & FD_CLOEXEC) != 0);
	CHECK_INT(s.rank, 2);
	CHECK_INT(s.flags, 0);
	tl_tensor* opened = open_and_close(&s);
	CHECK(opened != NULL && opened != sent && tl_tensor_data(opened) != tl_tensor_data(sent));
	CHECK_INT(tl_tensor_device(opened), TL_DEVICE_SHARED);
	CHECK_INT(tl_tensor_dtype(opened), TL_DTYPE_I32);
	CHECK(tl_tensor_is_contiguous(opened));
	CHECK_INT(at(opened, 2, 3), 111);
	((int32_t*)tl_tensor_data(opened))[0] = 7;
	CHECK_INT(at(sent, 0, 0), 7);
	CHECK_OK(tl_tensor_free(sent));
	CHECK_INT(at(opened, 0, 0), 7);
	CHECK_INT(shared_mappings(), 1);
	s = shared_of(opened, 0); /* what was received is sent on */
	CHECK_OK(tl_tensor_free(opened));
	opened = open_and_close(&s);
	CHECK_INT(at(opened, 0, 0) + at(opened, 2, 3), 118);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(shared_mappings(), 0);
	CHECK_INT(open_descriptors(), before);
}

/* No tensor gets the memory of another one, and a new one is zeros that nothing has touched. */
TEST(memory_is_never_pooled)
{
	const int64_t shape[1] = {1 << 20};
	const int before = open_descriptors();
	for (int i = 0; i < 10; i++) {
		CHECK_OK(tl_mem_enter_scope());
		tl_tensor* t = i % 2 ? tl_tensor_empty(TL_DTYPE_U8, TL_DEVICE_SHARED, 1, shape)
		                     : tl_tensor_new_zeroed(TL_DTYPE_U8, TL_DEVICE_SHARED, 1, shape);
		const uint8_t* bytes = tl_tensor_data(t);
		CHECK(bytes[0] == 0 && bytes[shape[0] - 1] == 0);
		memset(tl_tensor_data(t), 0xFF, (size_t)shape[0]);
		CHECK_INT(open_descriptors(), before + 1);
		CHECK_OK(tl_mem_exit_scope());
		CHECK_INT(open_descriptors(), before);
		CHECK_INT(shared_mappings(), 0);
	}
}

TEST_IN_SCOPE(views_are_shared)
{
	tl_tensor* t = counting(100, 100, 0); /* ten pages */
	tl_tensor* views[] = {
		tl_view_slice(t, 0, 90, 95, 1),
		tl_view_transpose(t, 0, 1),
		tl_view_slice(t, 1, 99, -101, -3),
		tl_view_slice(tl_view_transpose(t, 0, 1), 0, 1, 2, 1),
		tl_tensor_clone(tl_view_slice(t, 0, 5, 9, 1)),
	};
	for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
		tl_tensor_shared s = shared_of(views[i], 0);
		tl_tensor* opened = open_and_close(&s);
		CHECK(opened != NULL);
		if (opened == NULL) continue;
		CHECK_INT(tl_tensor_is_contiguous(opened), tl_tensor_is_contiguous(views[i]));
		for (int64_t row = 0; row < tl_tensor_dim(views[i], 0); row++)
			for (int64_t column = 0; column < tl_tensor_dim(views[i], 1); column++)
				if (at(opened, row, column) != at(views[i], row, column)) CHECK_INT(row * 1000 + column, -1);
		s = shared_of(opened, 0); /* and on */
		tl_tensor* again = open_and_close(&s);
		CHECK_INT(at(again, 0, 1), at(views[i], 0, 1));
	}
	const int64_t wide[2] = {1 << 20, 100};
	tl_tensor_shared s = shared_of(tl_view_broadcast_to(tl_view_slice(t, 0, 3, 4, 1), 2, wide), 0);
	tl_tensor* repeated = open_and_close(&s);
	CHECK_INT(at(repeated, wide[0] - 1, 99), 399);
}

/* One mapping of a few pages stands for a row of a large tensor. */
TEST_IN_SCOPE(only_pages_with_elements_are_mapped)
{
	tl_mem_usage_info reserved = {.struct_size = sizeof reserved};
	tl_tensor* t = counting(1000, 1000, 0);
	tl_tensor_shared s = shared_of(tl_view_slice(t, 0, 500, 501, 1), 0);
	CHECK_OK(tl_mem_usage(TL_DEVICE_SHARED, &reserved));
	const uint64_t before = reserved.reserved;
	tl_tensor* row = open_and_close(&s);
	CHECK_INT(at(row, 0, 999), 500999);
	CHECK_OK(tl_mem_usage(TL_DEVICE_SHARED, &reserved));
	CHECK(reserved.reserved - before <= 3 * (uint64_t)sysconf(_SC_PAGESIZE));
}

TEST(a_tensor_without_elements_is_shared)
{
	const int64_t shape[3] = {4, 0, 5};
	const int before = open_descriptors();
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* t = tl_tensor_empty(TL_DTYPE_F64, TL_DEVICE_SHARED, 3, shape);
	CHECK_INT(open_descriptors(), before);
	tl_tensor_shared s = shared_of(t, 0);
	tl_tensor* opened = open_and_close(&s);
	CHECK_INT(tl_tensor_dim(opened, 2), 5);
	CHECK_INT(tl_tensor_numel(opened), 0);
	CHECK_PTR(tl_tensor_data(opened), NULL);
	CHECK_INT(tl_tensor_device(opened), TL_DEVICE_SHARED);
	s = shared_of(tl_view_slice(counting(3, 3, 0), 0, 3, 3, 1), 0);
	CHECK_INT(tl_tensor_numel(open_and_close(&s)), 0);
	s = shared_of(counting(1, 1, 5), 0);
	CHECK_INT(at(open_and_close(&s), 0, 0), 5);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(open_descriptors(), before);
}

/* ---- read-only ------------------------------------------------------------------------ */

static bool faults(int32_t* where)
{
	int how;
	const pid_t child = fork();
	if (child == 0) {
		signal(SIGSEGV, SIG_DFL);
		signal(SIGBUS, SIG_DFL);
		*(volatile int32_t*)where = 1;
		_exit(0);
	}
	return waitpid(child, &how, 0) == child && WIFSIGNALED(how) && WTERMSIG(how) == SIGSEGV;
}

/* Nobody writes to memory that was shared for reading but those who could before. */
TEST(read_only_is_enforced)
{
	char name[64];
	const size_t bytes = 3 * 4 * sizeof(int32_t);
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* t = counting(3, 4, 100);
	tl_tensor_shared s = shared_of(t, TL_TENSOR_FLAG_READ_ONLY);
	CHECK_INT(s.flags, TL_TENSOR_FLAG_READ_ONLY);
	CHECK(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s.fd, 0) == MAP_FAILED && errno == EPERM);
	CHECK(write(s.fd, "x", 1) == -1 && errno == EPERM);
	CHECK(ftruncate(s.fd, 0) == -1 && ftruncate(s.fd, 1 << 20) == -1 && errno == EPERM);
	CHECK(fallocate(s.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == -1);
	snprintf(name, sizeof name, "/proc/self/fd/%d", s.fd);
	const int again = open(name, O_RDWR | O_CLOEXEC);
	CHECK(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0) == MAP_FAILED && errno == EPERM);
	close(again);
	s.flags = 0; /* a receiver that would write */
	tl_tensor* opened = open_and_close(&s);
	tl_tensor_info info = {.struct_size = sizeof info};
	CHECK_OK(tl_tensor_info_get(opened, &info));
	CHECK((info.flags & TL_TENSOR_FLAG_READ_ONLY) != 0);
	CHECK_INT(at(opened, 2, 3), 111);
	CHECK(faults(tl_tensor_data(opened)));
	const uintptr_t page = (uintptr_t)tl_tensor_data(opened) & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
	CHECK(mprotect((void*)page, bytes, PROT_READ | PROT_WRITE) == -1 && errno == EACCES);
	CHECK_FAILS(tl_tensor_copy(opened, t), TL_E_UNSUPPORTED);
	CHECK_OK(tl_tensor_info_get(tl_view_slice(opened, 0, 1, 2, 1), &info));
	CHECK((info.flags & TL_TENSOR_FLAG_READ_ONLY) != 0);
	((int32_t*)tl_tensor_data(t))[0] = 9; /* who shares it goes on writing */
	CHECK_INT(at(opened, 0, 0), 9);
	s = shared_of(t, 0); /* for good */
	CHECK_INT(s.flags, TL_TENSOR_FLAG_READ_ONLY);
	close(s.fd);
	s = shared_of(opened, 0);
	CHECK_INT(s.flags, TL_TENSOR_FLAG_READ_ONLY);
	close(s.fd);
	CHECK_OK(tl_mem_exit_scope());
}

/* Where the sender did not seal it, the receiver's own mapping is read-only. */
TEST_IN_SCOPE(a_receiver_asks_for_read_only)
{
	tl_tensor* t = counting(2, 2, 0);
	tl_tensor_shared s = shared_of(t, 0);
	s.flags = TL_TENSOR_FLAG_READ_ONLY;
	CHECK(faults(tl_tensor_data(open_and_close(&s))));
	s = shared_of(t, 0);
	CHECK_INT(s.flags, 0);
	char name[64];
	snprintf(name, sizeof name, "/proc/self/fd/%d", s.fd);
	const int reader = open(name, O_RDONLY | O_CLOEXEC);
	close(s.fd);
	s.fd = reader;
	CHECK(faults(tl_tensor_data(open_and_close(&s))));
}

/* ---- refusals ---------------------------------------------------------------------------- */

TEST(what_cannot_be_shared)
{
	const int64_t shape[1] = {8};
	int64_t lent[8];
	const int before = open_descriptors();
	tl_tensor_shared s = {.struct_size = sizeof s, .fd = -77};
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* t = counting(2, 4, 0);
	CHECK_FAILS(tl_tensor_share(NULL, 0, &s), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_tensor_share(t, 0, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_tensor_share(t, 1, &s), TL_E_INVALID_ARGUMENT);
	s.struct_size = 8;
	CHECK_FAILS(tl_tensor_share(t, 0, &s), TL_E_INVALID_ARGUMENT);
	s.struct_size = sizeof s;
	CHECK_FAILS(tl_tensor_share((tl_tensor*)0x1234560, 0, &s), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_tensor_share((tl_tensor*)((char*)t + 8), 0, &s), TL_E_INTERIOR_POINTER);
	CHECK_FAILS(tl_tensor_share(tl_mem_new(64), 0, &s), TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_tensor_share(tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 1, shape), 0, &s), TL_E_UNSUPPORTED);
	CHECK(strstr(tl_last_error(), "tl_tensor_to") != NULL);
	tl_tensor* wrapped = tl_tensor_from_buffer(TL_DTYPE_I64, TL_DEVICE_SHARED, 1, shape, lent, NULL, NULL, NULL);
	CHECK_FAILS(tl_tensor_share(wrapped, 0, &s), TL_E_UNSUPPORTED);
	CHECK_OK(tl_mem_function_enter(1));
	tl_tensor* in_slot = tl_tensor_in_slot(0, TL_DTYPE_F32, 1, shape);
	CHECK_FAILS(tl_tensor_share(in_slot, 0, &s), TL_E_UNSUPPORTED);
	CHECK_OK(tl_mem_function_exit());
	CHECK_OK(tl_tensor_free(t));
	CHECK_FAILS(tl_tensor_share(t, 0, &s), TL_E_NOT_LIVE);
	CHECK_INT(s.fd, -77); /* a failing call changes nothing */
	t = tl_tensor_to(tl_tensor_new_zeroed(TL_DTYPE_F32, TL_DEVICE_CPU, 1, shape), TL_DEVICE_SHARED);
	s = shared_of(t, 0);
	close(s.fd);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(open_descriptors(), before);
}

/* A memory file of so many bytes with some seals. */
static int memory_file(off_t bytes, int seals, unsigned more)
{
	const int fd = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING | more);
	if (fd < 0) return -1;
	CHECK_INT(ftruncate(fd, bytes), 0);
	if (seals != 0) CHECK_INT(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

/* A receiver refuses s, and nothing is left of the attempt. The descriptor is closed. */
static void refused(tl_tensor_shared s, const char* why, int line)
{
	const int mappings = shared_mappings(), before = open_descriptors();
	tl_clear_error();
	check_pointer(tl_tensor_open(&s), NULL, __FILE__, line, "opened");
	check_status(tl_last_status(), TL_E_INVALID_ARGUMENT, __FILE__, line, "opened");
	const char* text = tl_last_error();
	if (check_failed(strncmp(text, "tl_tensor_open: ", 16) == 0 && strstr(text, why) != NULL))
		fprintf(stderr, "%s:%d: not about \"%s\": %s\n", __FILE__, line, why, text);
	check_int(shared_mappings(), mappings, __FILE__, line, "mappings");
	check_int(open_descriptors(), before, __FILE__, line, "descriptors");
	if (s.fd > 2) close(s.fd);
}

#define REFUSED(s, why) refused(s, why, __LINE__)

static tl_tensor_shared from(int fd)
{
	return (tl_tensor_shared){sizeof(tl_tensor_shared), fd, 0, 0, TL_DTYPE_F32, 1, {1000}, {1}};
}

TEST(other_descriptors_are_refused)
{
	int pipes[2], sockets[2];
	CHECK_INT(pipe2(pipes, O_CLOEXEC), 0);
	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
	REFUSED(from(-1), "no open file descriptor");
	REFUSED(from(INT32_MIN), "no open file descriptor");
	REFUSED(from(INT32_MAX), "no open file descriptor");
	close(pipes[1]);
	const int closed = pipes[1];
	REFUSED(from(pipes[0]), "no memory file");
	tl_tensor_shared s = from(closed);
	CHECK_REFUSED(tl_tensor_open(&s), 0, TL_E_INVALID_ARGUMENT);
	REFUSED(from(sockets[0]), "no memory file");
	REFUSED(from(sockets[1]), "no memory file");
	REFUSED(from(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), "no memory file");
	REFUSED(from(open("/dev/zero", O_RDWR | O_CLOEXEC)), "no memory file");
	REFUSED(from(open("/proc/self/exe", O_RDONLY | O_CLOEXEC)), "no memory file");
	char name[] = "/tmp/tl_sharing_XXXXXX";
	const int file = mkostemp(name, O_CLOEXEC);
	unlink(name);
	CHECK_INT(ftruncate(file, 1 << 20), 0);
	refused(from(file), "descriptor", __LINE__); /* "no memory file" or, where /tmp is a tmpfs, not sealed */
	const int writer = memory_file(1 << 20, F_SEAL_SHRINK, 0);
	snprintf(name, sizeof name, "/proc/self/fd/%d", writer);
	REFUSED(from(open(name, O_WRONLY | O_CLOEXEC)), "cannot be read");
	REFUSED(from(open(name, O_PATH | O_CLOEXEC)), "no memory file");
	close(writer);
}

TEST(memory_that_can_shrink_is_refused)
{
	REFUSED(from(memory_file(1 << 20, 0, 0)), "not sealed against shrinking");
	REFUSED(from(memory_file(1 << 20, F_SEAL_GROW, 0)), "not sealed against shrinking");
	REFUSED(from(memfd_create("unsealable", MFD_CLOEXEC)), "not sealed against shrinking");
	const int huge = memory_file(2 << 20, F_SEAL_SHRINK | F_SEAL_GROW, MFD_HUGETLB);
	if (huge >= 0) REFUSED(from(huge), "huge pages");
	else printf("skip: no huge pages (%s)\n", strerror(errno));
}

TEST(memory_that_is_too_small_is_refused)
{
	tl_tensor_shared s;
	const int64_t page = sysconf(_SC_PAGESIZE);
	REFUSED(from(memory_file(0, F_SEAL_SHRINK, 0)), "more than the 0 of the memory");
	REFUSED(from(memory_file(3999, F_SEAL_SHRINK, 0)), "more than the 3999 of the memory");
	for (int i = 0; i < 7; i++) {
		s = from(memory_file(page, F_SEAL_SHRINK, 0));
		static const uint64_t offsets[] = {UINT64_MAX - 3, (uint64_t)INT64_MAX - 3, 1ull << 62, 4096, 1 << 20, 96 + 4,
		                                   1ull << 40};
		s.offset = offsets[i];
		if (offsets[i] + 4000 > (uint64_t)page || offsets[i] > (uint64_t)page) REFUSED(s, "more than");
		else close(s.fd);
	}
	s = from(memory_file(page, F_SEAL_SHRINK, 0));
	s.strides[0] = 2;
	REFUSED(s, "more than");
	s = from(memory_file(page, F_SEAL_SHRINK, 0));
	s.strides[0] = -1;
	REFUSED(s, "before the first one");
	s = from(memory_file(4000, F_SEAL_SHRINK, 0)); /* not whole pages: others' files need not be ours */
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* t = open_and_close(&s);
	CHECK(t != NULL && ((float*)tl_tensor_data(t))[999] == 0);
	CHECK_OK(tl_mem_exit_scope());
}

TEST(descriptions_are_checked)
{
	const int fd = memory_file(1 << 20, F_SEAL_SHRINK | F_SEAL_GROW, 0);
	const tl_tensor_shared good = from(fd);
	tl_tensor_shared s;
	CHECK_REFUSED(tl_tensor_open(NULL), 0, TL_E_INVALID_ARGUMENT);
#define WRONG(...)                                                   \
	do {                                                             \
		s = good;                                                    \
		__VA_ARGS__;                                                 \
		CHECK_REFUSED(tl_tensor_open(&s), 0, TL_E_INVALID_ARGUMENT); \
	} while (0)
	WRONG(s.struct_size = 152);
	WRONG(s.struct_size = 0);
	WRONG(s.flags = 1);
	WRONG(s.flags = UINT32_MAX);
	WRONG(s.dtype = 7);
	WRONG(s.dtype = -1);
	WRONG(s.dtype = INT32_MAX);
	WRONG(s.rank = 9);
	WRONG(s.rank = -1);
	WRONG(s.shape[0] = -1);
	WRONG(s.shape[0] = INT64_MAX);
	WRONG(s.shape[0] = INT64_MIN);
	WRONG(s.strides[0] = INT64_MIN);
	WRONG(s.strides[0] = INT64_MAX);
	WRONG(s.offset = 2);
	WRONG(s.rank = 8; for (int i = 0; i < 8; i++) s.shape[i] = 1 << 20);
	WRONG(s.rank = 2; s.shape[1] = 3; s.strides[0] = INT64_MIN; s.strides[1] = INT64_MIN);
	WRONG(s.rank = 2; s.shape[0] = s.shape[1] = (int64_t)1 << 31; s.strides[0] = 0; s.strides[1] = 0;
	      s.dtype = TL_DTYPE_C128);
#undef WRONG
	close(fd);
}

/* ---- shortages ------------------------------------------------------------------------------ */

static tl_tensor* small_one(void)
{
	const int64_t shape[1] = {1000};
	return tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_SHARED, 1, shape);
}

TEST_IN_SCOPE(descriptors_run_out)
{
	struct rlimit all;
	tl_tensor* t = counting(10, 10, 0);
	tl_tensor_shared s = shared_of(t, 0), none = {.struct_size = sizeof none};
	CHECK_INT(getrlimit(RLIMIT_NOFILE, &all), 0);
	struct rlimit few = (struct rlimit){(rlim_t)s.fd + 1, all.rlim_max};
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &few), 0);
	const int gap = dup(0); /* the lowest numbers may be free */
	int taken[64], n = 0;
	for (int fd = gap; fd >= 0 && n < 64; fd = dup(0)) taken[n++] = fd;
	CHECK_REFUSED(small_one(), 0, TL_E_OUT_OF_MEMORY);
	CHECK(strstr(tl_last_error(), "no file descriptor left") != NULL);
	CHECK_FAILS(tl_tensor_share(t, 0, &none), TL_E_OUT_OF_MEMORY);
	CHECK(strstr(tl_last_error(), "no file descriptor left") != NULL);
	CHECK_REFUSED(tl_tensor_open(&s), 0, TL_E_OUT_OF_MEMORY);
	CHECK(strstr(tl_last_error(), "no file descriptor left") != NULL);
	while (n > 0) close(taken[--n]);
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &all), 0);
	CHECK_INT(at(open_and_close(&s), 9, 9), 99);
}

TEST_IN_SCOPE(the_system_refuses_memory)
{
	tl_tensor_shared s = shared_of(counting(10, 10, 0), 0);
	for (int calls = 0; calls < 2; calls++) {
		CHECK_OK(tl_configure("TL_FAIL_MEMORY", calls ? "1" : "0"));
		CHECK_REFUSED(small_one(), 0, TL_E_OUT_OF_MEMORY);
		CHECK_OK(tl_configure("TL_FAIL_MEMORY", calls ? "1" : "0"));
		CHECK_REFUSED(tl_tensor_open(&s), 0, TL_E_OUT_OF_MEMORY);
		CHECK_OK(tl_configure("TL_FAIL_MEMORY", "-1"));
	}
	const int64_t huge[1] = {(int64_t)1 << 55};
	CHECK_REFUSED(tl_tensor_empty(TL_DTYPE_U8, TL_DEVICE_SHARED, 1, huge), 0, TL_E_OUT_OF_MEMORY);
	struct rlimit all;
	CHECK_INT(getrlimit(RLIMIT_FSIZE, &all), 0);
	struct rlimit few = (struct rlimit){100, all.rlim_max};
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &few), 0);
	CHECK_REFUSED(small_one(), 0, TL_E_OUT_OF_MEMORY);
	CHECK(strstr(tl_last_error(), "RLIMIT_FSIZE") != NULL);
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &all), 0);
	CHECK_INT(at(open_and_close(&s), 9, 9), 99);
}

/* What is mapped counts for the limits of each process that maps it. */
TEST(limits_count_what_is_mapped)
{
	tl_mem_usage_info m = {.struct_size = sizeof m};
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* t = counting(256, 1024, 0); /* 1 MiB */
	CHECK_OK(tl_mem_usage(TL_DEVICE_SHARED, &m));
	CHECK_INT(m.reserved, 1 << 20);
	CHECK_INT(m.in_use, 1 << 20);
	tl_tensor_shared s = shared_of(t, 0);
	CHECK_OK(tl_mem_set_limit(TL_DEVICE_SHARED, 0, (1 << 20) + 4096));
	CHECK_REFUSED(tl_tensor_open(&s), 0, TL_E_OUT_OF_MEMORY);
	CHECK(strstr(tl_last_error(), "requested of shared") != NULL);
	const int64_t shape[1] = {8192};
	CHECK_REFUSED(tl_tensor_empty(TL_DTYPE_U8, TL_DEVICE_SHARED, 1, shape), 0, TL_E_OUT_OF_MEMORY);
	CHECK(small_one() != NULL);
	CHECK_OK(tl_mem_set_limit(TL_DEVICE_SHARED, 0, 0));
	CHECK(open_and_close(&s) != NULL);
	CHECK_OK(tl_mem_usage(TL_DEVICE_SHARED, &m));
	CHECK_INT(m.reserved, (2 << 20) + 4096);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_mem_usage(TL_DEVICE_SHARED, &m));
	CHECK_INT(m.reserved, 0);
	CHECK_INT(m.in_use, 0);
}

TEST_IN_SCOPE(the_scope_stack_is_full)
{
	tl_tensor* t = counting(10, 10, 0);
	tl_tensor_shared s = shared_of(t, 0);
	const int before = open_descriptors();
	CHECK_OK(tl_mem_enter_scope());
	while (tl_tensor_register(t) == TL_OK) {}
	CHECK_STATUS(tl_last_status(), TL_E_ARENA_EXHAUSTED);
	CHECK_REFUSED(tl_tensor_open(&s), 0, TL_E_ARENA_EXHAUSTED);
	CHECK_INT(open_descriptors(), before);
	CHECK_INT(shared_mappings(), 1);
	close(s.fd);
	CHECK_OK(tl_mem_exit_scope());
}

int main(void)
{
	CHECK_OK(tl_configure("TL_ARENA_BYTES", "1MiB"));
	return check_tests();
}
