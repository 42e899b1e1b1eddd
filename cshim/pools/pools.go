// Package pools is the fast path of memory pools; package mempool has the operations.
package pools

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra -fvisibility=hidden -fexceptions -fno-plt -I${SRCDIR}/../../include
*/
import "C"
