/* To be included first where the slow path is entered and left: its frames keep frame pointers, so that the stack of a
 * program that does so too can be compared (stacks/stacks.c). */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-omit-frame-pointer")
#endif
