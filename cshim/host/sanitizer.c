/* The program's AddressSanitizer, which TL_DEBUG tells of memory that the program may not touch. */
#define _GNU_SOURCE
#include "sanitizer.h"

#include <dlfcn.h>

typedef void marks(const volatile void* memory, size_t bytes);

static marks *poisons, *unpoisons;

bool tlc_find_sanitizer(void)
{
	*(void**)&poisons = dlsym(RTLD_DEFAULT, "__asan_poison_memory_region");
	*(void**)&unpoisons = dlsym(RTLD_DEFAULT, "__asan_unpoison_memory_region");
	if (poisons == NULL) dlerror(); /* no message is left for the program's next one */
	return poisons != NULL && unpoisons != NULL;
}

void tlc_shade(uintptr_t memory, size_t bytes, bool closed)
{
	(closed ? poisons : unpoisons)((const volatile void*)memory, bytes);
}
