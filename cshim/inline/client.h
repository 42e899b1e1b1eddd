/* What stands in programs for the parts of the library that the files of inline/ name (records.h). The library does
 * not compile this file: tools/gen puts it in front of them in include/tl_inline.h. */
#ifndef TL_INLINE_CLIENT_H
#define TL_INLINE_CLIENT_H

#define TLC_LIKELY(x) __builtin_expect(!!(x), 1)
#define TLC_UNLIKELY(x) __builtin_expect(!!(x), 0)

#define TLC_LOAD(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)
#define TLC_LOAD_ACQUIRE(word) __atomic_load_n(&(word), __ATOMIC_ACQUIRE)
#define TLC_STORE(word, value) __atomic_store_n(&(word), (value), __ATOMIC_RELAXED)

/* Ordinary accesses, which the compiler may join: two operations on one object need one search for its record, and one
 * store of its count. A word that the thread's own operations change alone has no other value in between. Of the
 * others the value of an earlier operation is as good, and none turns into the thread's own by itself: so it does no
 * harm either when the compiler reads such a word twice. */
#if defined(__SANITIZE_THREAD__)
#define TLC_JOINED 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TLC_JOINED 0
#endif
#endif
#ifndef TLC_JOINED
#define TLC_JOINED 1
#endif
#if TLC_JOINED
#define TLC_PEEK(word) (word)
#define TLC_SET_OWN(word, value) ((word) = (value))
#else
#define TLC_PEEK(word) TLC_LOAD(word)
#define TLC_SET_OWN(word, value) TLC_STORE(word, value)
#endif

/* Whether the compiler knows, when it has inlined everything, that this is so. */
#ifndef TLC_IS_KNOWN
#define TLC_IS_KNOWN(what) (__builtin_constant_p(what) && (what))
#endif

/* The base of a magazine, read anew. */
#define TLC_BASE(m) TLC_LOAD((m)->base)

/* A context has copies, so that emitted code needs the address of no variable. */
#define TLC_FIXED(c, what) ((c)->what)

/* What lies between the heap's start and p. */
static inline uintptr_t tlc_heap_offset(const tl_context* c, uintptr_t p) { return p - c->heap_base; }

#endif
