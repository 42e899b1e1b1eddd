/* The fake slow path: one size class, plain objects, no growth. It follows the
 * counting protocol of runtime/object with the memory orders that the design asks
 * for and no stronger ones, so that ThreadSanitizer sees a missing one. */
#pragma once

#include "base/go.h"
#include "object/fast.h"

enum { FAKE_BYTES = 64, FAKE_CLASS = 2, FAKE_CELL_CLASS = TL_CLASS_CELL + (FAKE_BYTES - 16 + 7) / TL_CELL_STEP };

tl_type fake_cell_type(void);

/* fake_heap.c */
int fake_heap_open(tl_globals* g);
void fake_refill(tl_context* c);                             /* puts free slots into c's magazine */
void fake_give(tl_context* me, tl_entry e);                  /* a free slot */
void fake_recycle(tl_context* me, tl_record* r, tl_entry e); /* a dead slot, available again */
void fake_registry_open(tl_globals* g);
