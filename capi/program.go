package main

// #include "../cshim/entry_stack.h"
import "C"

// callProgram calls a function of the program's, with integers and addresses of C, on the stack that the program's call
// came from: hosts compare the stack pointer with the bounds of a thread.
func callProgram(function, a, b, c, d uintptr) uintptr {
	return uintptr(C.tlc_call_program(C.uintptr_t(function), C.uintptr_t(a), C.uintptr_t(b), C.uintptr_t(c),
		C.uintptr_t(d)))
}
