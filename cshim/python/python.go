// Package python is what C knows of Python: its frames in call stacks, NumPy's arrays, Arrow's columns.
package python

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra -fvisibility=hidden -fexceptions -fno-plt -I${SRCDIR}/../../include
*/
import "C"
