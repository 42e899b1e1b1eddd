/* Where Go's heap begins: Go takes a chunk of its first arena at random, and the last chunk is
 * the one with the least room behind it. With TL_TEST_SEED in its environment a process goes on
 * where the seed leads there, and ends where it does not. */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HEAP_PLACE_CHUNK = 4 << 20, HEAP_PLACE_ARENA = 64 << 20 };
enum { HEAP_PLACE_OTHER = 80 }; /* how a process ends whose heap begins elsewhere */

static bool heap_place_is_chosen;

/* Before Go is loaded: its seed is the random number that the kernel gives each program, in the
 * auxiliary vector behind the environment. */
static inline void heap_place_choose(char** environment)
{
	static const char name[] = "TL_TEST_SEED=";
	uint32_t words[4] = {0, 1, 1, 1};
	for (; *environment != NULL; environment++)
		if (strncmp(*environment, name, sizeof name - 1) == 0) {
			heap_place_is_chosen = true;
			words[0] = (uint32_t)atoi(*environment + sizeof name - 1);
		}
	if (!heap_place_is_chosen) return;
	for (const Elf64_auxv_t* entry = (const Elf64_auxv_t*)(environment + 1); entry->a_type != AT_NULL; entry++)
		if (entry->a_type == AT_RANDOM) memcpy((void*)entry->a_un.a_val, words, sizeof words);
}

/* Whether a call of mmap is Go's first for a chunk of its arena. */
static inline bool heap_place_is_last(const void* address, size_t bytes, int flags)
{
	static uintptr_t arena;
	if (!heap_place_is_chosen || address == NULL) return false;
	uintptr_t at = (uintptr_t)address;
	if (bytes == HEAP_PLACE_ARENA && !(flags & MAP_FIXED) && arena == 0) arena = at;
	if (!(flags & MAP_FIXED) || at - arena >= HEAP_PLACE_ARENA) return false;
	if (at - arena != HEAP_PLACE_ARENA - HEAP_PLACE_CHUNK) _exit(HEAP_PLACE_OTHER);
	heap_place_is_chosen = false;
	return true;
}
