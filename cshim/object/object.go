// Package object is the fast path of objects, counts, scopes, arenas, Vecs and registered blocks.
//
//	object.go, fast.h, held.h        what the files share
//	alloc.c, heap.c, arena.c         memory: from magazines, from the heap, in the arena
//	counts.c, refs.c                 tl_ptr_*, tl_ref_* and tl_weak_*
//	scopes.c, register.c             scopes, and what is put into them
//	inbox.c, inbox.h                 objects of another thread
//	typed.c, typed.h, deferred.c     the ends of objects with a type
//	vec.c                            Vecs
//	cells.c, cells.h, cells_typed.c  cells
//	foreign.c, deleters.c            memory of malloc and others
//	typed_blocks.c, foreign_typed.c  blocks of malloc's with a type
//	findings.c                       what a refused address is
package object

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra -fvisibility=hidden -fexceptions -fno-plt -I${SRCDIR}/../../include
*/
import "C"
