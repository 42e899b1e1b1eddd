package main

/*
#include <stdint.h>

extern uintptr_t tlc_call_outside(uintptr_t function, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d);
*/
import "C"

// callProgram calls a function of the program's, with integers and addresses of C, on the stack that the program's call
// came from: hosts compare the stack pointer with the bounds of a thread.
func callProgram(function, a, b, c, d uintptr) uintptr {
	return uintptr(C.tlc_call_outside(C.uintptr_t(function), C.uintptr_t(a), C.uintptr_t(b), C.uintptr_t(c),
		C.uintptr_t(d)))
}
