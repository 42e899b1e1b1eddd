/* What stands in programs for the parts of the library that the files inline_*.h name (inline_records.h). The library does
 * not compile this file: tools/gen puts it in front of them in include/tl_inline.h. */
#ifndef TL_INLINE_CLIENT_H
#define TL_INLINE_CLIENT_H

#define TLC_LIKELY(x) __builtin_expect(!!(x), 1)
#define TLC_UNLIKELY(x) __builtin_expect(!!(x), 0)

#define TLC_LOAD(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)
#define TLC_LOAD_ACQUIRE(word) __atomic_load_n(&(word), __ATOMIC_ACQUIRE)
#define TLC_STORE(word, value) __atomic_store_n(&(word), (value), __ATOMIC_RELAXED)

/* A context has copies, so that emitted code needs the address of no variable. */
#define TLC_FIXED(c, what) ((c)->what)

/* What lies between the heap's start and p. */
static inline uintptr_t tlc_heap_offset(const tl_context* c, uintptr_t p) { return p - c->heap_base; }

#endif
