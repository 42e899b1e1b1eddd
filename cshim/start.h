/* Go's start under RLIMIT_AS, and what is left of loading; see start.c. */
#ifndef TL_START_H
#define TL_START_H

#include <stdbool.h>

/* Starts Go, if that waits for address space, before the first call into it. false: there
 * is too little address space to enter Go at all. Under the gate's start lock. */
__attribute__((visibility("hidden"))) bool tlc_start_go(void);

/* Gives memory back that only loading the library needed. Once, when it has started. */
__attribute__((visibility("hidden"))) void tlc_forget_relocations(void);

#endif
