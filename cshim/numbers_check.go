package cshim

/*
#include "pool.h"
#include "tensor.h"
*/
import "C"

import "tlruntime/runtime/layout"

// The numbers that no size of a struct shows: where C and Go differ the build stops.
var (
	_ [C.TL_PROGRAM_BITS]struct{}     = [layout.ProgramBits]struct{}{}
	_ [C.TL_POOL_SPLIT]struct{}       = [layout.PoolSplit]struct{}{}
	_ [C.TL_POOL_REPLAYS]struct{}     = [layout.PoolReplays]struct{}{}
	_ [C.TL_POOL_SUBBIN_BITS]struct{} = [layout.PoolSubbinBits]struct{}{}
	_ [C.TL_POOL_SIZE_BITS]struct{}   = [layout.PoolSizeBits]struct{}{}
	_ [C.TL_POOL_SLOTS]struct{}       = [layout.PoolSlots]struct{}{}
	_ [C.TL_POOL_STRIDE]struct{}      = [layout.PoolStride]struct{}{}
	_ [C.TL_POOL_TAG_SHIFT]struct{}   = [layout.PoolTagShift]struct{}{}
)

var (
	_ [C.TL_MAX_RANK]struct{}          = [layout.MaxRank]struct{}{}
	_ [C.TL_TENSOR_HEADER]struct{}     = [layout.TensorHeaderBytes]struct{}{}
	_ [C.TL_TENSOR_CONTIGUOUS]struct{} = [layout.TensorContiguous]struct{}{}
	_ [C.TL_TENSOR_IN_SLOT]struct{}    = [layout.TensorInSlot]struct{}{}
	_ [C.TL_TENSOR_EXTERNAL]struct{}   = [layout.TensorExternal]struct{}{}
	_ [C.TL_TENSOR_VIEW]struct{}       = [layout.TensorView]struct{}{}
	_ [C.TL_TENSOR_READ_ONLY]struct{}  = [layout.TensorReadOnly]struct{}{}
	_ [C.TL_TENSOR_ON_DEVICE]struct{}  = [layout.TensorOnDevice]struct{}{}
	_ [C.TL_TENSOR_BLOCK]struct{}      = [layout.TensorBlock]struct{}{}
	_ [C.TL_POOL_OFFSET]struct{}       = [layout.PoolOffset]struct{}{}
	_ [C.TL_POOL_SHARDS]struct{}       = [layout.PoolShards]struct{}{}
)
