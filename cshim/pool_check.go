package cshim

// #include "pool.h"
import "C"

import "tlruntime/runtime/layout"

// The numbers of pool.h that no size of a struct shows: where the two sides differ the
// build stops.
var (
	_ [C.TL_POOL_SPLIT]struct{}       = [layout.PoolSplit]struct{}{}
	_ [C.TL_POOL_REPLAYS]struct{}     = [layout.PoolReplays]struct{}{}
	_ [C.TL_POOL_SUBBIN_BITS]struct{} = [layout.PoolSubbinBits]struct{}{}
	_ [C.TL_POOL_SIZE_BITS]struct{}   = [layout.PoolSizeBits]struct{}{}
	_ [C.TL_POOL_SLOTS]struct{}       = [layout.PoolSlots]struct{}{}
	_ [C.TL_POOL_STRIDE]struct{}      = [layout.PoolStride]struct{}{}
	_ [C.TL_POOL_TAG_SHIFT]struct{}   = [layout.PoolTagShift]struct{}{}
	_ [C.TL_POOL_GENERATION]struct{}  = [layout.PoolGeneration]struct{}{}
)
