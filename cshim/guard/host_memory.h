/* What the runtime can know of the host's memory without touching it. */
#pragma once

#include "guard.h"
#include "../host/allocator.h"

#pragma GCC visibility push(hidden)

/* Pages that were found to be readable, a word for 64 KiB: number of the 64 KiB << 16 | a bit for
 * each of its pages. The number decides which word, and replaces another one there. The C library
 * gives a large block a mapping of its own that ends with the block. Such a block starts 16 bytes
 * behind the mapping's first page boundary, so an address there is looked at each time. */
enum { TLC_PAGE_BITS = 12, TLC_REGION_BITS = 16, TLC_KNOWN_REGIONS = 2048, TLC_HEADER_BYTES = 16 };
extern _Atomic uint64_t tlc_known_pages[TLC_KNOWN_REGIONS];

static inline bool tlc_knows_page(uintptr_t p)
{
	uint64_t region = p >> TLC_REGION_BITS, page = 1ull << (p >> TLC_PAGE_BITS & 15);
	uint64_t known = TLC_LOAD(tlc_known_pages[region % TLC_KNOWN_REGIONS]) ^ region << 16;
	return known >> 16 == 0 && (known & page) != 0;
}

/* Can p be a block of malloc's? It can when malloc might return the address and the memory can be
 * read, with the header before it, which the C library's malloc_usable_size reads. More cannot be known. A page
 * that is not known yet takes a system call. */
bool tlc_may_be_malloced(uintptr_t p);

/* Whether the byte at p can be read; a system call, but for memory below the program's break. */
bool tlc_is_readable(uintptr_t p);

/* Is the page of p known, and does p not stand at its beginning? */
static inline bool tlc_knows(uintptr_t p)
{
	return (p & ((1u << TLC_PAGE_BITS) - 1)) > TLC_HEADER_BYTES && tlc_knows_page(p);
}

/* The same for addresses that the fast path adopts, multiples of 16, without a system call.
 * Budget: 1 load, 3 branches. */
static inline bool tlc_is_known(uintptr_t p) { return TLC_LIKELY((p & 15) == 0 && tlc_knows(p)); }

#pragma GCC visibility pop
