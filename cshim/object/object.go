// Package object is the fast path of objects, counts, scopes, arenas, Vecs and registered blocks.
package object

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra -fvisibility=hidden -fexceptions -fno-plt -I${SRCDIR}/../../include
*/
import "C"
