package host

// #include "sanitizer.h"
import "C"

import "tlruntime/runtime/memory"

func init() {
	if C.tlc_has_sanitizer() {
		memory.Shade = func(address, bytes uintptr, closed bool) {
			C.tlc_shade(C.uintptr_t(address), C.size_t(bytes), C.bool(closed))
		}
	}
}
