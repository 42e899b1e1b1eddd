/* The inlined operations as functions, of which packaging/build_bitcode.sh makes tl_inline.ll. */
#define TL_INL_FUNCTION __attribute__((always_inline))
#include <stdbool.h>
/* What is known, is so where a program has them inlined: the script makes it llvm.is.constant. */
bool is_constant(bool) __attribute__((const));
#define TL_INL_IS_KNOWN(what) (is_constant(what) && (what))
#include "tl_inline.h"
