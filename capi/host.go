package main

/*
#include <stdint.h>
uint64_t tlc_descriptors_before(void);
*/
import "C"

import (
	"syscall"
	"time"
)

// What Go does to its process that a library may not do to its host.

// Go raises the soft limit of descriptors to the hard one. A host that calls select has set
// it low, and its children inherit it.
func init() {
	var limit syscall.Rlimit
	before := uint64(C.tlc_descriptors_before())
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil && before < limit.Cur {
		limit.Cur = before
		// It lowers a limit of the process's own, which is always allowed.
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
	}
}

// tlentry_wait returns when Go is ready for calls, its initialisation included.
//
//export tlentry_wait
func tlentry_wait() {}

// holdDescriptors makes Go create the descriptors of its timers. Otherwise Go
// creates them with its first timer, and ends the process if none are left by
// then.
func holdDescriptors() { time.AfterFunc(time.Hour, func() {}).Stop() }
