/* The inlined operations as functions, of which packaging/build_bitcode.sh makes tl_inline.ll. */
#define TL_INL_FUNCTION __attribute__((always_inline))
#include <stdbool.h>
/* The script turns it into llvm.is.constant, so the compiler of the program answers. */
bool is_constant(bool) __attribute__((const));
#define TL_INL_IS_KNOWN(what) (is_constant(what) && (what))
#include "tl_inline.h"
