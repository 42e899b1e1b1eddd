package main

/*
#include "../cshim/symbols.h"
*/
import "C"

import (
	"sync"

	"tlruntime/runtime/leak"
)

// reportMutex keeps reports apart that are written to the same place.
var reportMutex sync.Mutex

// symbolMutex guards the symbol table of the file that was looked into last: messages of
// TL_DEBUG name functions, too, on the thread that asks for one.
var symbolMutex sync.Mutex

func init() { leak.Resolve = resolve }

// resolve finds out about an address of the host's code.
func resolve(pc uintptr) leak.Frame {
	var s C.tlc_symbol
	symbolMutex.Lock()
	defer symbolMutex.Unlock()
	C.tlc_symbolize(C.uintptr_t(pc), &s)
	return leak.Frame{Function: C.GoString(&s.function[0]), Module: C.GoString(&s.module[0]), Offset: uint64(s.offset), Own: s.own != 0}
}
