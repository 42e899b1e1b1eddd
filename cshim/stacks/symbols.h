/* The description of a code address for reports; capi/caller.go reads it. */
#pragma once

#include <stdint.h>

enum { TLC_SYMBOL_BYTES = 512 };

typedef struct tlc_symbol {
	char function[TLC_SYMBOL_BYTES]; /* the exported one before it; "" = unknown */
	char module[TLC_SYMBOL_BYTES];   /* file; "" = code that no file has, such as a JIT compiler's */
	uint64_t offset;                 /* in the file's own addresses, as addr2line takes them */
	uint32_t own;                    /* code of this library */
} tlc_symbol;

/* A function of the process's C++ runtime; NULL: none is loaded. Close the library when
 * the function is not needed any more, if it is not NULL. */
void* tlc_find_cxx(const char* name, void** library);

/* A C++ name as its source has it, to be freed; NULL: it is none, or there is no C++ here. */
char* tlc_demangle(const char* symbol);

void tlc_symbolize(uintptr_t pc, tlc_symbol* out);

/* The same without the function, where the C library knows the file at once. On any thread. */
void tlc_locate(uintptr_t pc, tlc_symbol* out);
