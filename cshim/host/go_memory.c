/* Memory for Go, mapped before Go requests it. Go ends the process when mmap fails, so the memory
 * that it may request is mapped beforehand: all that its start needs, and for later an arena of its
 * heap that is writable as a whole, the arena after it, and a pool for its tables. The memory is
 * address space until it is touched. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "go_1_26.h"
#include "start.h"

#define MIB ((size_t)1 << 20)
/* The largest page that the kernel may have: parts of mappings begin and end at one. */
#if defined(__aarch64__)
#define PAGE ((size_t)65536)
#else
#define PAGE ((size_t)4096)
#endif

#define POOL_BYTES (8 * MIB)

/* With less in reserve the entry guard refuses calls that may request more. */
#define LEAST_HEAP (24 * MIB)
#define LEAST_POOL (2 * MIB)

#define START_WRITABLE (GO_START_WRITABLE + POOL_BYTES)

enum { WRITABLE = PROT_READ | PROT_WRITE, LAZY = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE };

static void* map(size_t bytes, int protection)
{
	void* at = mmap(NULL, bytes, protection, LAZY, -1, 0);
	return at == MAP_FAILED ? NULL : at;
}

static atomic_bool refused; /* the system has refused Go memory */

/* ---- the reserve -------------------------------------------------------------------- */

/* Memory that is handed out from its start. What Go gives back of it is not used again. */
typedef struct range {
	_Atomic uintptr_t next, end;
} range;

static range writable; /* for the start; what is left of it then is the pool */
static range reserved; /* for the start alone */

/* Two arenas, aligned as Go's, for the case that Go cannot have one at the address that it
 * requests. They exist from before Go's start until the arena after its own is mapped: Go begins
 * anywhere in its first arena, even right before the end, and allocates on its own threads after a
 * start. 0: used, or given back. */
static _Atomic uintptr_t spare_arenas;
#define SPARE_BYTES (2 * GO_ARENA_BYTES)
_Static_assert(SPARE_BYTES >= TLC_CALL_WRITABLE, "a first call finds what a start has found");

static bool open_range(range* r, size_t bytes, int protection)
{
	uintptr_t at = (uintptr_t)map(bytes, protection);
	if (at == 0) return false;
	r->next = r->end = at; /* empty, whichever store is seen first */
	r->end = at + bytes;
	return true;
}

static size_t left(const range* r) { return r->end - r->next; }

static uintptr_t take(range* r, size_t bytes)
{
	bytes = (bytes + PAGE - 1) & ~(PAGE - 1);
	uintptr_t at = r->next;
	do {
		if (bytes > r->end - at) return ENOMEM;
	} while (!atomic_compare_exchange_weak(&r->next, &at, at + bytes));
	return at;
}

/* Gives the rest back, except for `kept` bytes. Go's threads may take memory from it meanwhile. */
static void trim(range* r, size_t kept)
{
	for (size_t bytes; (bytes = left(r)) > kept;) {
		uintptr_t at = take(r, bytes - kept);
		if (at != ENOMEM) munmap((void*)at, bytes - kept);
	}
}

/* Untouched pages of a mapping are resident only under mlockall(MCL_FUTURE). */
static bool is_locked(void* at)
{
	unsigned char resident = 0;
	return mincore(at, 1, &resident) == 0 && (resident & 1) != 0;
}

/* Whether a mapping can be cut in two, which needs no address space. */
static bool can_be_cut(void)
{
	static _Alignas(PAGE) char pages[3 * PAGE];
	bool cut = madvise(pages + PAGE, PAGE, MADV_DONTDUMP) == 0;
	madvise(pages + PAGE, PAGE, MADV_DODUMP);
	return cut;
}

/* Whether the system allows `count` more mappings. Pages with other permissions than their
 * neighbours are one each. */
bool tlc_has_mappings(size_t count)
{
	char* at = map(count * PAGE, PROT_NONE);
	if (at == NULL) return can_be_cut();
	bool enough = true;
	for (size_t i = 1; i < count && enough; i += 2) enough = mprotect(at + i * PAGE, PAGE, PROT_READ) == 0;
	munmap(at, count * PAGE);
	return enough;
}

static tlc_lack unless_mappings(tlc_lack lack) { return can_be_cut() ? lack : TLC_LACKS_MAPPINGS; }

tlc_lack tlc_look_for_memory(size_t bytes)
{
	void* at = map(bytes, WRITABLE);
	tlc_lack lack = at != NULL ? TLC_LACKS_NOTHING : errno == EAGAIN ? TLC_LACKS_UNLOCKED : TLC_LACKS_DATA;
	if (at == NULL) at = map(bytes, PROT_NONE);
	if (at == NULL && lack == TLC_LACKS_UNLOCKED) return lack;
	if (at == NULL) return unless_mappings(TLC_LACKS_ADDRESS_SPACE);
	if (lack == TLC_LACKS_NOTHING && is_locked(at)) lack = TLC_LACKS_UNLOCKED;
	munmap(at, bytes);
	return lack;
}

static tlc_lack hold_arenas(void)
{
	uintptr_t at = (uintptr_t)map(SPARE_BYTES + GO_ARENA_BYTES, PROT_NONE);
	if (at == 0) return unless_mappings(TLC_LACKS_ADDRESS_SPACE);
	uintptr_t aligned = (at + GO_ARENA_BYTES - 1) & ~(GO_ARENA_BYTES - 1), end = aligned + SPARE_BYTES;
	if (aligned != at) munmap((void*)at, aligned - at);
	if (aligned != at + GO_ARENA_BYTES) munmap((void*)end, at + GO_ARENA_BYTES - aligned);
	spare_arenas = aligned;
	return mprotect((void*)aligned, SPARE_BYTES, WRITABLE) == 0 ? TLC_LACKS_NOTHING : unless_mappings(TLC_LACKS_DATA);
}

static void drop_arenas(void)
{
	uintptr_t at = atomic_exchange(&spare_arenas, 0);
	if (at != 0) munmap((void*)at, SPARE_BYTES);
}

static tlc_lack hold(void)
{
	if (!open_range(&writable, START_WRITABLE, WRITABLE)) return tlc_look_for_memory(START_WRITABLE);
	tlc_lack lack = hold_arenas();
	if (lack != TLC_LACKS_NOTHING) return lack;
	if (!open_range(&reserved, GO_START_RESERVED, PROT_NONE)) return unless_mappings(TLC_LACKS_ADDRESS_SPACE);
	return tlc_look_for_memory(SPARE_BYTES + TLC_MOST_STACKS); /* in addition: Go's arena and the next */
}

tlc_lack tlc_hold_memory(void)
{
	tlc_lack lack = hold();
	if (lack != TLC_LACKS_NOTHING) tlc_drop_memory();
	return lack;
}

void tlc_drop_memory(void)
{
	drop_arenas();
	trim(&writable, 0);
	trim(&reserved, 0);
}

/* ---- arenas of the heap ------------------------------------------------------------ */

/* The one that Go fills from its start; written under the lock of Go's heap. */
static struct {
	_Atomic uintptr_t top, end;
} arena;

static _Atomic uintptr_t next_arena; /* behind it, mapped already; 0: it is not */

static size_t arena_left(void) { return arena.end - arena.top; }

static size_t heap_left(void)
{
	return arena_left() + (next_arena != 0 ? GO_ARENA_BYTES : 0) + (spare_arenas != 0 ? SPARE_BYTES : 0);
}

/* Maps the arena at the address where Go will request it. It maps none if Go's heap begins at an
 * address that the kernel chose. Once it is mapped, the spare arenas are not needed. */
static void map_next_arena(void)
{
	uintptr_t wanted = arena.end, none = 0;
	if (wanted == 0) return;
	void* at = mmap((void*)wanted, GO_ARENA_BYTES, WRITABLE, LAZY | MAP_FIXED_NOREPLACE, -1, 0);
	if (at == MAP_FAILED) refused = refused || errno != EEXIST;
	else if ((uintptr_t)at != wanted || !atomic_compare_exchange_strong(&next_arena, &none, wanted))
		munmap(at, GO_ARENA_BYTES);
	else drop_arenas();
}

static bool is_arena(const void* address, size_t bytes, int protection, int flags)
{
	return address != NULL && bytes % GO_ARENA_BYTES == 0 && protection == PROT_NONE && !(flags & MAP_FIXED);
}

static void begin_arena(uintptr_t at, size_t bytes)
{
	arena.top = at;
	arena.end = at + bytes;
}

static void* map_arena(void* address, size_t bytes, int flags)
{
	uintptr_t ready = atomic_exchange(&next_arena, 0);
	void* at = (void*)ready;
	if (at != address || bytes != GO_ARENA_BYTES) {
		if (ready != 0) munmap((void*)ready, GO_ARENA_BYTES);
		at = mmap(address, bytes, WRITABLE, flags | MAP_NORESERVE, -1, 0);
	}
	if (at == MAP_FAILED) at = mmap(address, bytes, PROT_NONE, flags, -1, 0);
	if (at == address) begin_arena((uintptr_t)at, bytes);
	return at;
}

static void fill_arena(uintptr_t from, size_t bytes)
{
	if (from < arena.top || from >= arena.end) return;
	arena.top = from + bytes;
	if (next_arena == 0 && arena_left() < GO_ARENA_BYTES / 2) map_next_arena();
}

/* ---- requests of Go ----------------------------------------------------------------- */

void tlc_keep_memory(void)
{
	trim(&reserved, 0);
	trim(&writable, POOL_BYTES);
	refused = false;
	if (next_arena == 0 && arena_left() <= GO_ARENA_BYTES) map_next_arena();
}

static bool has_reserve(void) { return heap_left() >= LEAST_HEAP && left(&writable) >= LEAST_POOL; }

/* A refusal is forgotten only when the reserve is complete again: otherwise the next refused
 * request would be served from what is left of it. */
bool tlc_go_has_room(void)
{
	if (!atomic_load_explicit(&refused, memory_order_relaxed) || has_reserve()) return true;
	if (tlc_look_for_memory(GO_ARENA_BYTES + POOL_BYTES) != TLC_LACKS_NOTHING) return false;
	if (next_arena == 0) map_next_arena();
	if (has_reserve()) refused = false;
	return true;
}

/* Lets Go use zeros inside its own reservation. Where its heap passes a boundary of 2 GiB it needs one page more of
 * tables. RLIMIT_DATA refuses that where it is used up; pages of the pool that move there are counted already. */
static bool allow(void* address, size_t bytes, int protection)
{
	if (mprotect(address, bytes, protection) == 0) return true;
	const uintptr_t spare = protection == WRITABLE ? take(&writable, bytes) : ENOMEM;
	return spare != ENOMEM && mremap((void*)spare, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, address) == address;
}

/* Serves a request from the reserve, after the system has refused it. */
static uintptr_t serve(void* address, size_t bytes, int protection, int flags)
{
	refused = true;
	if (flags & MAP_FIXED) return allow(address, bytes, protection) ? (uintptr_t)address : ENOMEM;
	if (address != NULL) return ENOMEM;
	if (protection == PROT_NONE && bytes == SPARE_BYTES) { /* after all addresses that Go has tried */
		uintptr_t at = atomic_exchange(&spare_arenas, 0);
		if (at != 0) begin_arena(at, bytes);
		return at != 0 ? at : ENOMEM;
	}
	return take(protection == PROT_NONE ? &reserved : &writable, bytes);
}

/* Returns the address, or the number of the error, as runtime/cgo does. */
uintptr_t __wrap_x_cgo_mmap(void* address, uintptr_t bytes, int32_t protection, int32_t flags, int32_t file,
                            uint32_t offset)
{
	bool arena_wanted = file < 0 && is_arena(address, bytes, protection, flags);
	void* at = arena_wanted ? map_arena(address, bytes, flags) : mmap(address, bytes, protection, flags, file, offset);
	if (file >= 0) return at != MAP_FAILED ? (uintptr_t)at : (uintptr_t)errno;
	uintptr_t result = at != MAP_FAILED ? (uintptr_t)at : serve(address, bytes, protection, flags);
	if (flags & MAP_FIXED && result == (uintptr_t)address) fill_arena(result, bytes);
	return result;
}

/* The system refuses only if a mapping would be cut in two and there are too many mappings. Go does
 * not use the range any more, so its pages are given back and its addresses stay mapped. */
void __wrap_x_cgo_munmap(void* address, uintptr_t bytes)
{
	if (munmap(address, bytes) != 0) madvise(address, bytes, MADV_DONTNEED);
}
