/* AddressSanitizer, where the program was compiled with it; see sanitizer.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Whether the program has it. */
bool tlc_has_sanitizer(void);

/* Marks memory that the program's code may not touch, or may touch again. Only after tlc_has_sanitizer said yes. */
void tlc_shade(uintptr_t memory, size_t bytes, bool closed);

#pragma GCC visibility pop
