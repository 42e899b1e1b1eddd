/* Where the library writes to descriptors: standard error and the files of runtime/output. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Writes the pieces, a list of strings that ends with NULL, to standard error as one text of whole lines. It keeps
 * errno, takes no lock and asks for no memory: the caller may be a forked child or a signal handler. */
void tlc_tell(const char* piece, ...) __attribute__((sentinel));

/* The same for a text of Go's, which has no end. */
void tlc_tell_text(const void* text, size_t bytes);

/* For a forked child: lines that standard error did not take are its parent's, who tells of them. */
void tlc_forget_lost(void);

/* Writes bytes to a file: at an offset, or, where that is negative, where the descriptor is. Returns how many bytes
 * were written, and in *error why not all were: no signal tells of it. */
size_t tlc_write_file(int file, const void* text, size_t bytes, int64_t offset, int* error);

#pragma GCC visibility pop
