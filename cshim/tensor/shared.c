/* Memory of other processes in a child of fork(): runtime/tensor/share.go is what every other process does.
 *
 * A pool of processes that fork() made sends tensors both ways, and such a child has no Go. It shares what it has
 * inherited, of which the header says in which file it is, and opens what it is sent as memory that this file ends. Memory is
 * charged to no account here. What is wrong with an argument is not told: the slow path answers TL_E_FORKED. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tensor.h"
#include "dlpack.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

enum { READ_ONLY_SEALS = F_SEAL_FUTURE_WRITE | F_SEAL_WRITE, TMPFS = 0x01021994 };

/* What a tensor that was opened here keeps: the deleter's context. */
typedef struct mapping {
	void* start; /* of whole pages; NULL: no elements */
	size_t bytes;
	int fd;
	uint64_t offset; /* of the tensor's data in the file */
} mapping;

void tlc_shared_end(void* data, void* ctx)
{
	mapping* m = ctx;
	(void)data;
	if (m->start != NULL) munmap(m->start, m->bytes);
	close(m->fd);
	free(m);
}

/* ---- out ---------------------------------------------------------------------------- */

/* The file of a tensor that has memory of its own, and where its data is there; false: it has none. */
static bool find_file(const tl_tensor_header* owner, int* fd, uint64_t* offset)
{
	if ((owner->flags & TL_TENSOR_ON_DEVICE) != 0 && owner->device == TL_DEVICE_SHARED) {
		*fd = (int)owner->deleter - 1;
		*offset = owner->deleter_context;
		return true;
	}
	if ((owner->flags & TL_TENSOR_EXTERNAL) == 0 || owner->deleter != (uintptr_t)tlc_shared_end) return false;
	const mapping* m = (const mapping*)owner->deleter_context;
	*fd = m->fd;
	*offset = m->offset;
	return true;
}

static bool share(const tl_tensor* tensor, uint32_t flags, tl_tensor_shared* out)
{
	const tl_tensor_header *h = tlc_tensor_on_heap(tlc_tls, tensor), *owner = h;
	int fd;
	uint64_t offset;
	if ((uintptr_t)out < TL_LOWEST_ADDRESS || out->struct_size < sizeof *out || (flags & ~TL_TENSOR_READ_ONLY) != 0)
		return false;
	if (h == NULL || h->rank > TL_MAX_RANK || h->numel == 0) return false;
	if ((h->flags & TL_TENSOR_VIEW) != 0) owner = tlc_tensor_on_heap(tlc_tls, (const tl_tensor*)h->base);
	if (owner == NULL || !find_file(owner, &fd, &offset)) return false;
	const int seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return false;
	bool read_only = (h->flags & TL_TENSOR_READ_ONLY) != 0 || (seals & READ_ONLY_SEALS) != 0;
	if (flags != 0 && (seals & READ_ONLY_SEALS) == 0) {
		if (fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) != 0) return false;
		read_only = true;
	}
	const int other = fcntl(fd, F_DUPFD_CLOEXEC, TL_FIRST_DESCRIPTOR);
	if (other < 0) return false;
	*out = (tl_tensor_shared){
		.struct_size = sizeof *out,
		.fd = other,
		.flags = read_only ? TL_TENSOR_READ_ONLY : 0,
		.offset = offset + (h->data - owner->data),
		.dtype = h->dtype,
		.rank = h->rank,
	};
	for (int i = 0; i < h->rank; i++) {
		out->shape[i] = h->shape[i];
		out->strides[i] = h->strides[i];
	}
	return true;
}

tl_status tl_tensor_share(const tl_tensor* tensor, uint32_t flags, tl_tensor_shared* out_shared)
{
	if (TLC_UNLIKELY(tlc_forked()) && share(tensor, flags, out_shared)) return TL_OK;
	return slow_tensor_share(tensor, flags, out_shared);
}

/* ---- in ----------------------------------------------------------------------------- */

/* The bytes that elements are spread over, and how many of them lie before the first; false: there is no such tensor. */
static bool spread_of(const tl_tensor_shared* s, uint64_t* first, uint64_t* span)
{
	if ((uint32_t)s->dtype >= TL_DTYPES || (uint32_t)s->rank > TL_MAX_RANK) return false;
	const uint64_t size = tlc_dtype_bytes[s->dtype];
	uint64_t numel;
	if (size == 0 || s->offset % size != 0 || tlc_measure(size, s->rank, s->shape, &numel) >= 0) return false;
	if (tlc_check_strides(size, s->rank, s->shape, s->strides) >= 0) return false;
	*first = *span = 0;
	if (numel != 0) *span = tlc_span(size, s->rank, s->shape, s->strides, first);
	return *first <= s->offset;
}

/* fstat() of a library that was built here would need glibc 2.33. */
static bool look_at(int fd, struct stat* about) { return syscall(SYS_fstat, fd, about) == 0; }

/* Whether the memory of a descriptor stays as large as it is, and has bytes from an offset on. */
static bool has_room(int fd, uint64_t offset, uint64_t bytes, bool* read_only)
{
	struct stat about;
	struct statfs kind;
	const int seals = fcntl(fd, F_GET_SEALS), mode = fcntl(fd, F_GETFL);
	if (seals < 0 || mode < 0 || (seals & F_SEAL_SHRINK) == 0 || (mode & O_ACCMODE) == O_WRONLY) return false;
	if (!look_at(fd, &about) || fstatfs(fd, &kind) != 0 || kind.f_type != TMPFS || !S_ISREG(about.st_mode))
		return false;
	*read_only |= (seals & READ_ONLY_SEALS) != 0 || (mode & O_ACCMODE) == O_RDONLY;
	return offset <= (uint64_t)about.st_size && bytes <= (uint64_t)about.st_size - offset;
}

/* Maps the pages that have bytes from an offset on. */
static bool map(mapping* m, int fd, uint64_t offset, uint64_t bytes, bool read_only)
{
	const uint64_t before = offset % (uint64_t)sysconf(_SC_PAGESIZE);
	*m = (mapping){.start = NULL,
	               .bytes = before + bytes,
	               .fd = fcntl(fd, F_DUPFD_CLOEXEC, TL_FIRST_DESCRIPTOR),
	               .offset = offset};
	if (m->fd < 0) return false;
	if (bytes == 0) return true;
	void* p = mmap(NULL, m->bytes, read_only ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, m->fd,
	               (off_t)(offset - before));
	if (p != MAP_FAILED) m->start = p;
	else close(m->fd);
	return m->start != NULL;
}

static tl_tensor* open_shared(const tl_tensor_shared* given)
{
	if ((uintptr_t)given < TL_LOWEST_ADDRESS || given->struct_size < sizeof *given) return NULL;
	const tl_tensor_shared s = *given;
	bool read_only = s.flags == TL_TENSOR_READ_ONLY;
	uint64_t first, span;
	if ((s.flags & ~TL_TENSOR_READ_ONLY) != 0 || !spread_of(&s, &first, &span)) return NULL;
	if (!has_room(s.fd, s.offset - first, span, &read_only)) return NULL;
	mapping* m = malloc(sizeof *m);
	if (m == NULL) return NULL;
	if (!map(m, s.fd, s.offset - first, span, read_only)) {
		free(m);
		return NULL;
	}
	const size_t before = m->bytes - span;
	char* data = m->start == NULL ? NULL : (char*)m->start + before + first;
	m->offset += first;
	const tl_dl_tensor what = {.data = data,
	                           .device_type = TL_DL_CPU,
	                           .ndim = s.rank,
	                           .dtype = tlc_dl_types[s.dtype],
	                           .shape = (int64_t*)(uintptr_t)s.shape,
	                           .strides = (int64_t*)(uintptr_t)s.strides};
	tl_tensor* made = tlc_borrow(&what, read_only ? TL_TENSOR_READ_ONLY : 0, tlc_shared_end, m);
	if (made == NULL) tlc_shared_end(NULL, m);
	else ((tl_tensor_header*)(void*)made)->device = TL_DEVICE_SHARED;
	return made;
}

tl_tensor* tl_tensor_open(const tl_tensor_shared* shared)
{
	tl_tensor* made = TLC_UNLIKELY(tlc_forked()) ? open_shared(shared) : NULL;
	return made != NULL ? made : slow_tensor_open(shared);
}
