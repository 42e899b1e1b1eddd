/* The program's AddressSanitizer, which TL_DEBUG tells of memory that the program may not touch. Weak references find it:
 * a search by name that fails would leave a message, which the next search frees by the program's free(). */
#include "sanitizer.h"

void __asan_poison_memory_region(const volatile void* memory, size_t bytes) __attribute__((weak));
void __asan_unpoison_memory_region(const volatile void* memory, size_t bytes) __attribute__((weak));

bool tlc_has_sanitizer(void) { return __asan_poison_memory_region != NULL && __asan_unpoison_memory_region != NULL; }

void tlc_shade(uintptr_t memory, size_t bytes, bool closed)
{
	(closed ? __asan_poison_memory_region : __asan_unpoison_memory_region)((const volatile void*)memory, bytes);
}
