/* A malloc of the test program's own, in place of the C library's: blocks of one size stand side by side without
 * anything between them, those of 8 bytes 8 apart, those of 24 bytes 24. It ends the process when it is given
 * what is not its own. With SMALL_MALLOC_BARE the program replaces no more than a program has to. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { SMALL_PAGE = 1 << 16, SMALL_PAGES = 4096 };

static char small_memory[SMALL_PAGES][SMALL_PAGE] __attribute__((aligned(1 << 16)));
static uint32_t
	small_sizes[SMALL_PAGES]; /* of the blocks of a page; from SMALL_PAGE on of one block that begins there */
static bool small_lives[SMALL_PAGES][SMALL_PAGE / 8];
static void* small_free[SMALL_PAGE / 8 + 1];
static uint32_t small_used; /* pages */
static int small_lock;

static void small_fail(const char* what)
{
	if (write(2, what, strlen(what)) < 0) _exit(98);
	_exit(97);
}

static bool* small_life(const void* p)
{
	uintptr_t at = (uintptr_t)p - (uintptr_t)small_memory;
	if (at >= sizeof small_memory || at % 8 != 0) return NULL;
	uint32_t page = (uint32_t)(at / SMALL_PAGE), in_page = at % SMALL_PAGE, size = small_sizes[page];
	if (size == 0 || in_page % size != 0 || (size >= SMALL_PAGE && in_page != 0)) return NULL;
	return &small_lives[page][in_page / 8];
}

static bool small_is_live(const void* p)
{
	const bool* life = small_life(p);
	return life != NULL && *life;
}

/* 8 and 24 have blocks of their own; all others are aligned to 16 at least. */
static size_t small_size(size_t bytes)
{
	if (bytes <= 8) return 8;
	if (bytes > 16 && bytes <= 24) return 24;
	return bytes <= SMALL_PAGE / 2 ? (bytes + 15) & ~(size_t)15 : (bytes + SMALL_PAGE - 1) / SMALL_PAGE * SMALL_PAGE;
}

static uint32_t small_take_pages(size_t n)
{
	uint32_t first = small_used;
	if (n > SMALL_PAGES - small_used) small_fail("small_malloc: no memory\n");
	small_used += (uint32_t)n;
	return first;
}

static void small_fill(size_t size)
{
	uint32_t page = small_take_pages(1);
	small_sizes[page] = (uint32_t)size;
	for (size_t at = SMALL_PAGE / size * size; at > 0; at -= size) {
		void* block = &small_memory[page][at - size];
		memcpy(block, &small_free[size / 8], sizeof(void*));
		small_free[size / 8] = block;
	}
}

static void* small_take(size_t bytes)
{
	size_t size = small_size(bytes);
	char* block;
	while (__atomic_exchange_n(&small_lock, 1, __ATOMIC_ACQUIRE) != 0) {}
	if (size >= SMALL_PAGE) {
		uint32_t page = small_take_pages(size / SMALL_PAGE);
		small_sizes[page] = (uint32_t)size;
		block = small_memory[page];
	} else {
		if (small_free[size / 8] == NULL) small_fill(size);
		block = small_free[size / 8];
		memcpy(&small_free[size / 8], block, sizeof(void*));
	}
	*small_life(block) = true;
	__atomic_store_n(&small_lock, 0, __ATOMIC_RELEASE);
	return block;
}

static size_t small_room(const void* p)
{
	if (!small_is_live(p)) small_fail("small_malloc: this is not a live block of mine\n");
	return small_sizes[((uintptr_t)p - (uintptr_t)small_memory) / SMALL_PAGE];
}

void* malloc(size_t bytes) { return small_take(bytes); }

void* calloc(size_t count, size_t each)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, each, &bytes)) return NULL;
	return memset(small_take(bytes), 0, bytes);
}

void free(void* p)
{
	if (p == NULL) return;
	size_t size = small_room(p);
	while (__atomic_exchange_n(&small_lock, 1, __ATOMIC_ACQUIRE) != 0) {}
	*small_life(p) = false;
	if (size < SMALL_PAGE) { /* those of whole pages are not used again */
		memset(p, 0xDD, size);
		memcpy(p, &small_free[size / 8], sizeof(void*));
		small_free[size / 8] = p;
	}
	__atomic_store_n(&small_lock, 0, __ATOMIC_RELEASE);
}

void* realloc(void* p, size_t bytes)
{
	size_t had = p != NULL ? small_room(p) : 0;
	if (had != 0 && bytes <= had) return p;
	void* to = small_take(bytes);
	if (had != 0) memcpy(to, p, had);
	free(p);
	return to;
}

#ifndef SMALL_MALLOC_BARE
size_t malloc_usable_size(void* p) { return p != NULL ? small_room(p) : 0; }

int posix_memalign(void** out, size_t alignment, size_t bytes)
{
	if (alignment > SMALL_PAGE) return ENOMEM;
	*out = small_take(alignment <= 16 ? (bytes + 15) & ~(size_t)15 : bytes + SMALL_PAGE);
	return 0;
}

void* aligned_alloc(size_t alignment, size_t bytes)
{
	void* p = NULL;
	return posix_memalign(&p, alignment, bytes) == 0 ? p : NULL;
}

void* memalign(size_t alignment, size_t bytes) { return aligned_alloc(alignment, bytes); }
#endif
