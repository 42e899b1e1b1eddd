/* The inlined operations as functions, of which packaging/build_bitcode.sh makes tl_inline.ll. */
#define TL_INL_FUNCTION __attribute__((always_inline))
#include "tl_inline.h"
