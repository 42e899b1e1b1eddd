package base

// #include "probe.h"
import "C"

import "tlruntime/runtime/usdt"

func init() {
	usdt.Functions.Allocate = uintptr(C.tlc_probe_allocate)
	usdt.Functions.Free = uintptr(C.tlc_probe_free)
	usdt.Functions.PoolMiss = uintptr(C.tlc_probe_pool_miss)
	usdt.Functions.Limit = uintptr(C.tlc_probe_limit)
}
