package main

/*
#include "../cshim/symbols.h"
*/
import "C"

import (
	"sync"

	"tlruntime/runtime/leak"
)

// reportMutex guards the symbol table of the file that was looked into last.
var reportMutex sync.Mutex

func init() { leak.Resolve = resolve }

// resolve finds out about an address of the host's code.
func resolve(pc uintptr) leak.Frame {
	var s C.tlc_symbol
	C.tlc_symbolize(C.uintptr_t(pc), &s)
	return leak.Frame{Function: C.GoString(&s.function[0]), Module: C.GoString(&s.module[0]), Offset: uint64(s.offset), Own: s.own != 0}
}
