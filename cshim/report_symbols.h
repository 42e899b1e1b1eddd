/* The description of a code address for reports; capi/symbols.go reads it. */
#ifndef TL_SYMBOLS_H
#define TL_SYMBOLS_H

#include <stdint.h>

enum { TLC_SYMBOL_BYTES = 512 };

typedef struct tlc_symbol {
	char function[TLC_SYMBOL_BYTES]; /* as the linker knows it; "" = unknown */
	char module[TLC_SYMBOL_BYTES];   /* file; "" = code that no file has, such as a JIT compiler's */
	uint64_t offset;                 /* in the file's own addresses, as addr2line takes them */
	uint32_t own;                    /* code of this library */
} tlc_symbol;

/* A C++ name as in its source, to be freed by the caller; NULL: not a C++ name, or no C++ library
 * in the process. */
char* tlc_demangle(const char* symbol);

void tlc_symbolize(uintptr_t pc, tlc_symbol* out);

#endif
