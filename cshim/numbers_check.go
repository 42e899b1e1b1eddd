package cshim

/*
#include "mempool.h"
#include "tensor.h"
*/
import "C"

import "tlruntime/runtime/layout"

// The numbers that no size of a struct shows: where C and Go differ the build stops.
var (
	_ [C.TL_PROGRAM_BITS]struct{}        = [layout.ProgramBits]struct{}{}
	_ [C.TL_MEMPOOL_SPLIT]struct{}       = [layout.MempoolSplit]struct{}{}
	_ [C.TL_MEMPOOL_LIFO]struct{}        = [layout.MempoolLifoSize]struct{}{}
	_ [C.TL_MEMPOOL_SUBBIN_BITS]struct{} = [layout.MempoolSubbinBits]struct{}{}
	_ [C.TL_MEMPOOL_SIZE_BITS]struct{}   = [layout.MempoolSizeBits]struct{}{}
	_ [C.TL_MEMPOOL_SLOTS]struct{}       = [layout.MempoolSlots]struct{}{}
	_ [C.TL_MEMPOOL_STRIDE]struct{}      = [layout.MempoolStride]struct{}{}
	_ [C.TL_MEMPOOL_TAG_SHIFT]struct{}   = [layout.MempoolTagShift]struct{}{}
)

var (
	_ [C.TL_MAX_RANK]struct{}           = [layout.MaxRank]struct{}{}
	_ [C.TL_TENSOR_HEADER]struct{}      = [layout.TensorHeaderBytes]struct{}{}
	_ [C.TL_TENSOR_CONTIGUOUS]struct{}  = [layout.TensorContiguous]struct{}{}
	_ [C.TL_TENSOR_IN_SLOT]struct{}     = [layout.TensorInSlot]struct{}{}
	_ [C.TL_TENSOR_EXTERNAL]struct{}    = [layout.TensorExternal]struct{}{}
	_ [C.TL_TENSOR_VIEW]struct{}        = [layout.TensorView]struct{}{}
	_ [C.TL_TENSOR_READ_ONLY]struct{}   = [layout.TensorReadOnly]struct{}{}
	_ [C.TL_TENSOR_ON_DEVICE]struct{}   = [layout.TensorOnDevice]struct{}{}
	_ [C.TL_TENSOR_BLOCK]struct{}       = [layout.TensorBlock]struct{}{}
	_ [C.TL_TENSOR_POOL_OFFSET]struct{} = [layout.TensorPoolOffset]struct{}{}
	_ [C.TL_TENSOR_POOL_SHARDS]struct{} = [layout.TensorPoolShards]struct{}{}
)
