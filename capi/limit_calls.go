package main

import (
	"tlruntime/runtime/limit"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

func init() {
	limit.Probe = func(device int32) (free, total uint64) {
		d, err := devices().At(device)
		if err != nil {
			return 0, 0
		}
		if free, total, err = d.Memory(); err != nil {
			return 0, 0
		}
		return free, total
	}
}

// account makes sure that a number names an account, and that one of a device has the
// limits that options give it.
func account(o *object.Context, device int32) status.Status {
	if device == limit.Total || device == limit.Own {
		return status.OK
	}
	d, err := devices().At(device)
	if err == nil {
		limit.Open(device, d.Name())
	}
	return deviceStatus(o, err)
}

func setLimit(o *object.Context, device int32, soft, hard uint64) status.Status {
	if st := account(o, device); st != status.OK {
		return st
	}
	if hard != 0 && soft > hard {
		return fail(o, status.InvalidArgument, "the soft limit of %d bytes is above the hard one of %d", soft, hard)
	}
	limit.Set(device, soft, hard)
	return status.OK
}

func getLimit(o *object.Context, device int32, outSoft, outHard uintptr) status.Status {
	if !usable(outSoft) || !usable(outHard) {
		return fail(o, status.InvalidArgument, "out_soft_bytes and out_hard_bytes are both needed")
	}
	if st := account(o, device); st != status.OK {
		return st
	}
	soft, hard := limit.Get(device)
	store(outSoft, soft)
	store(outHard, hard)
	return status.OK
}

func memUsage(o *object.Context, device int32, out uintptr) status.Status {
	if st := account(o, device); st != status.OK {
		return st
	}
	return fillStruct(o, out, "tl_mem_usage_info", func() tl_mem_usage_info {
		f := limit.Read(device)
		return tl_mem_usage_info{0, f.InUse, f.Cached, f.Reserved, f.Peak, f.Soft, f.Hard, f.Relieved, f.Failed,
			f.LargestFree, f.Waiting, f.WaitingObjects}
	})
}

func poolKeyStats(o *object.Context, rank, out uintptr) status.Status {
	return fillStruct(o, out, "tl_pool_key_stats", func() tl_pool_key_stats {
		k := tensor.ReadPoolKey(rank)
		return tl_pool_key_stats{0, k.Elements, k.Tensors, k.Bytes, k.Dtype, k.Device}
	})
}

// configureLimits applies the options about memory.
func configureLimits(o *object.Context, name string) status.Status {
	switch name {
	case "TL_MEM_LIMIT":
		limit.ConfigureHard(options.Limits(name))
	case "TL_MEM_SOFT_LIMIT":
		limit.ConfigureSoft(options.Limits(name))
	case "TL_TENSOR_POOL":
		perKey, bytes := options.Room(name)
		return tensor.SetPoolLimits(o, perKey, bytes)
	}
	return status.OK
}

// openLimits applies them before the first context.
func openLimits() {
	limit.ConfigureHard(options.Limits("TL_MEM_LIMIT"))
	limit.ConfigureSoft(options.Limits("TL_MEM_SOFT_LIMIT"))
	tensor.ConfigurePool(options.Room("TL_TENSOR_POOL"))
}
