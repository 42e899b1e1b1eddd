/* What can be told of the host's memory without touching it. */
#ifndef TL_HOST_MEMORY_H
#define TL_HOST_MEMORY_H

#include "entry_guard.h"

#pragma GCC visibility push(hidden)

/* Pages that can be read, as far as they were looked at: region << 16 | a bit for each of
 * its pages. A region has its place by its number, and drives out the one that was there.
 * A block with a mapping of its own, which goes with it, starts one in the C library:
 * behind a header of 16 bytes. Its page is looked at each time. */
enum { TLC_PAGE_BITS = 12, TLC_REGION_BITS = 16, TLC_KNOWN_REGIONS = 2048, TLC_HEADER_BYTES = 16 };
extern _Atomic uint64_t tlc_known_pages[TLC_KNOWN_REGIONS];

static inline bool tlc_knows_page(uintptr_t p)
{
	uint64_t region = p >> TLC_REGION_BITS, page = 1ull << (p >> TLC_PAGE_BITS & 15);
	uint64_t known = TLC_LOAD(tlc_known_pages[region % TLC_KNOWN_REGIONS]) ^ region << 16;
	return known >> 16 == 0 && (known & page) != 0;
}

/* Whether p can be a block of malloc's: an address that it returns, and memory that can be
 * read, with what stands before it, where malloc_usable_size looks. More cannot be told. A
 * call of the system for a page that is not known. */
bool tlc_may_be_malloced(uintptr_t p);

/* The same without asking; false: that is not known. Budget: 1 load, 3 branches. */
static inline bool tlc_is_known(uintptr_t p)
{
	const uintptr_t aligned = 15, in_page = (1u << TLC_PAGE_BITS) - 1;
	return TLC_LIKELY((p & aligned) == 0 && (p & in_page) > TLC_HEADER_BYTES && tlc_knows_page(p));
}

#pragma GCC visibility pop

#endif
