// Package report tells of errors, statistics and sampled allocations.
package report

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra -fvisibility=hidden -fexceptions -fno-plt -I${SRCDIR}/../../include
*/
import "C"
