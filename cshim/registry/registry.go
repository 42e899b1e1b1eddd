// Package registry is what is done with the table of foreign memory: see operations.h, where each function is
// explained. runtime/registry calls it with the memory that it has mapped; the fast path of package cshim inlines what
// is common of it. It refers to no other C. The newest table that was attached is the process's only one.
//
//	registry.go, operations.h, operations.c  what Go calls
//	table.h                                  the words, the table and its invariants
//	blocks.h, blocks.c                       records of blocks, their states and invariants
//	registry.h, registry.c                   the results, what is inlined, searches without a lock, locks around fork
//	linked.h                                 operations on entries with a record
//	lists.c                                  lists of units and entries, and the memory at hand for them
//	extents.h, enter.c                       what a block owns in all levels; tlc_enter, which registers any block
//	shared.c                                 blocks with several addresses
//	between.c                                addresses that are no multiple of 16
package registry

// #cgo CFLAGS: -std=gnu11 -Wall -Wextra -fvisibility=hidden -fexceptions -fno-plt
import "C"
