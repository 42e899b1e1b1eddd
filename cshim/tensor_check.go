package cshim

/*
#include "tensor.h"

enum {
	tlc_tensor_size_tensor_header = sizeof(tl_tensor_header),
	tlc_tensor_at_tensor_header_data = offsetof(tl_tensor_header, data),
	tlc_tensor_at_tensor_header_numel = offsetof(tl_tensor_header, numel),
	tlc_tensor_at_tensor_header_nbytes = offsetof(tl_tensor_header, nbytes),
	tlc_tensor_at_tensor_header_dtype = offsetof(tl_tensor_header, dtype),
	tlc_tensor_at_tensor_header_device = offsetof(tl_tensor_header, device),
	tlc_tensor_at_tensor_header_rank = offsetof(tl_tensor_header, rank),
	tlc_tensor_at_tensor_header_flags = offsetof(tl_tensor_header, flags),
	tlc_tensor_at_tensor_header_base = offsetof(tl_tensor_header, base),
	tlc_tensor_at_tensor_header_deleter = offsetof(tl_tensor_header, deleter),
	tlc_tensor_at_tensor_header_deleter_context = offsetof(tl_tensor_header, deleter_context),
	tlc_tensor_at_tensor_header_mark = offsetof(tl_tensor_header, mark),
	tlc_tensor_at_tensor_header_shape = offsetof(tl_tensor_header, shape),
	tlc_tensor_at_tensor_header_strides = offsetof(tl_tensor_header, strides),
	tlc_tensor_size_pool_key = sizeof(tl_pool_key),
	tlc_tensor_at_pool_key_elements = offsetof(tl_pool_key, elements),
	tlc_tensor_at_pool_key_bytes = offsetof(tl_pool_key, bytes),
	tlc_tensor_at_pool_key_kind = offsetof(tl_pool_key, kind),
	tlc_tensor_at_pool_key_count = offsetof(tl_pool_key, count),
	tlc_tensor_at_pool_key_stack = offsetof(tl_pool_key, stack),
	tlc_tensor_at_pool_key_hot = offsetof(tl_pool_key, hot),
	tlc_tensor_size_pool_shard = sizeof(tl_pool_shard),
	tlc_tensor_at_pool_shard_lock = offsetof(tl_pool_shard, lock),
	tlc_tensor_at_pool_shard_mask = offsetof(tl_pool_shard, mask),
	tlc_tensor_at_pool_shard_keys = offsetof(tl_pool_shard, keys),
	tlc_tensor_at_pool_shard_key_limit = offsetof(tl_pool_shard, key_limit),
	tlc_tensor_at_pool_shard_limit = offsetof(tl_pool_shard, limit),
	tlc_tensor_at_pool_shard_room = offsetof(tl_pool_shard, room),
	tlc_tensor_at_pool_shard_fresh_stack = offsetof(tl_pool_shard, fresh_stack),
	tlc_tensor_at_pool_shard_free_stack = offsetof(tl_pool_shard, free_stack),
	tlc_tensor_at_pool_shard_cells = offsetof(tl_pool_shard, cells),
	tlc_tensor_at_pool_shard_puts = offsetof(tl_pool_shard, puts),
	tlc_tensor_at_pool_shard_given_up = offsetof(tl_pool_shard, given_up),
	tlc_tensor_at_pool_shard_bytes = offsetof(tl_pool_shard, bytes),
	tlc_tensor_at_pool_shard_grant = offsetof(tl_pool_shard, grant),
	tlc_tensor_at_pool_shard_hits = offsetof(tl_pool_shard, hits),
	tlc_tensor_at_pool_shard_misses = offsetof(tl_pool_shard, misses),
	tlc_tensor_tl_max_rank = TL_MAX_RANK,
	tlc_tensor_tl_tensor_header = TL_TENSOR_HEADER,
	tlc_tensor_tl_tensor_contiguous = TL_TENSOR_CONTIGUOUS,
	tlc_tensor_tl_tensor_in_slot = TL_TENSOR_IN_SLOT,
	tlc_tensor_tl_tensor_external = TL_TENSOR_EXTERNAL,
	tlc_tensor_tl_tensor_view = TL_TENSOR_VIEW,
	tlc_tensor_tl_tensor_read_only = TL_TENSOR_READ_ONLY,
	tlc_tensor_tl_tensor_on_device = TL_TENSOR_ON_DEVICE,
	tlc_tensor_tl_pool_offset = TL_POOL_OFFSET,
	tlc_tensor_tl_pool_shards = TL_POOL_SHARDS,
};
*/
import "C"

import (
	"unsafe"

	"tlruntime/runtime/layout"
)

// As in layout_check.go: where the two views of a tensor or of the pool differ
// the build stops and shows both.
var _ [C.tlc_tensor_size_tensor_header]struct{} = [unsafe.Sizeof(layout.TensorHeader{})]struct{}{}
var _ [C.tlc_tensor_at_tensor_header_data]struct{} = [unsafe.Offsetof(layout.TensorHeader{}.Data)]struct{}{}
var _ [C.tlc_tensor_at_tensor_header_numel]struct{} = [unsafe.Offsetof(layout.TensorHeader{}.Numel)]struct{}{}
var _ [C.tlc_tensor_at_tensor_header_nbytes]struct{} = [unsafe.Offsetof(layout.TensorHeader{}.Nbytes)]struct{}{}
var _ [C.tlc_tensor_at_tensor_header_dtype]struct{} = [unsafe.Offsetof(layout.TensorHeader{}.Dtype)]struct{}{}
var _ [C.tlc_tensor_at_tensor_header_device]struct{} = [unsafe.Offsetof(layout.TensorHeader{}.Device)]struct{}{}
var _ [C.tlc_tensor_at_tensor_header_rank]struct{} = [unsafe.Offsetof(layout.TensorHeader{}.Rank)]struct{}{}
var _ [C.tlc_tensor_at_tensor_header_flags]struct{} = [unsafe.Offsetof(layout.TensorHeader{}.Flags)]struct{}{}
var _ [C.tlc_tensor_at_tensor_header_base]struct{} = [unsafe.Offsetof(layout.TensorHeader{}.Base)]struct{}{}
var _ [C.tlc_tensor_at_tensor_header_deleter]struct{} = [unsafe.Offsetof(layout.TensorHeader{}.Deleter)]struct{}{}
var _ [C.tlc_tensor_at_tensor_header_deleter_context]struct{} = [unsafe.Offsetof(layout.TensorHeader{}.DeleterContext)]struct{}{}
var _ [C.tlc_tensor_at_tensor_header_mark]struct{} = [unsafe.Offsetof(layout.TensorHeader{}.Mark)]struct{}{}
var _ [C.tlc_tensor_at_tensor_header_shape]struct{} = [unsafe.Offsetof(layout.TensorHeader{}.Shape)]struct{}{}
var _ [C.tlc_tensor_at_tensor_header_strides]struct{} = [unsafe.Offsetof(layout.TensorHeader{}.Strides)]struct{}{}

var _ [C.tlc_tensor_size_pool_key]struct{} = [unsafe.Sizeof(layout.PoolKey{})]struct{}{}
var _ [C.tlc_tensor_at_pool_key_elements]struct{} = [unsafe.Offsetof(layout.PoolKey{}.Elements)]struct{}{}
var _ [C.tlc_tensor_at_pool_key_bytes]struct{} = [unsafe.Offsetof(layout.PoolKey{}.Bytes)]struct{}{}
var _ [C.tlc_tensor_at_pool_key_kind]struct{} = [unsafe.Offsetof(layout.PoolKey{}.Kind)]struct{}{}
var _ [C.tlc_tensor_at_pool_key_count]struct{} = [unsafe.Offsetof(layout.PoolKey{}.Count)]struct{}{}
var _ [C.tlc_tensor_at_pool_key_stack]struct{} = [unsafe.Offsetof(layout.PoolKey{}.Stack)]struct{}{}
var _ [C.tlc_tensor_at_pool_key_hot]struct{} = [unsafe.Offsetof(layout.PoolKey{}.Hot)]struct{}{}

var _ [C.tlc_tensor_size_pool_shard]struct{} = [unsafe.Sizeof(layout.PoolShard{})]struct{}{}
var _ [C.tlc_tensor_at_pool_shard_lock]struct{} = [unsafe.Offsetof(layout.PoolShard{}.Lock)]struct{}{}
var _ [C.tlc_tensor_at_pool_shard_mask]struct{} = [unsafe.Offsetof(layout.PoolShard{}.Mask)]struct{}{}
var _ [C.tlc_tensor_at_pool_shard_keys]struct{} = [unsafe.Offsetof(layout.PoolShard{}.Keys)]struct{}{}
var _ [C.tlc_tensor_at_pool_shard_key_limit]struct{} = [unsafe.Offsetof(layout.PoolShard{}.KeyLimit)]struct{}{}
var _ [C.tlc_tensor_at_pool_shard_limit]struct{} = [unsafe.Offsetof(layout.PoolShard{}.Limit)]struct{}{}
var _ [C.tlc_tensor_at_pool_shard_room]struct{} = [unsafe.Offsetof(layout.PoolShard{}.Room)]struct{}{}
var _ [C.tlc_tensor_at_pool_shard_fresh_stack]struct{} = [unsafe.Offsetof(layout.PoolShard{}.FreshStack)]struct{}{}
var _ [C.tlc_tensor_at_pool_shard_free_stack]struct{} = [unsafe.Offsetof(layout.PoolShard{}.FreeStack)]struct{}{}
var _ [C.tlc_tensor_at_pool_shard_cells]struct{} = [unsafe.Offsetof(layout.PoolShard{}.Cells)]struct{}{}
var _ [C.tlc_tensor_at_pool_shard_puts]struct{} = [unsafe.Offsetof(layout.PoolShard{}.Puts)]struct{}{}
var _ [C.tlc_tensor_at_pool_shard_given_up]struct{} = [unsafe.Offsetof(layout.PoolShard{}.GivenUp)]struct{}{}
var _ [C.tlc_tensor_at_pool_shard_bytes]struct{} = [unsafe.Offsetof(layout.PoolShard{}.Bytes)]struct{}{}
var _ [C.tlc_tensor_at_pool_shard_grant]struct{} = [unsafe.Offsetof(layout.PoolShard{}.Grant)]struct{}{}
var _ [C.tlc_tensor_at_pool_shard_hits]struct{} = [unsafe.Offsetof(layout.PoolShard{}.Hits)]struct{}{}
var _ [C.tlc_tensor_at_pool_shard_misses]struct{} = [unsafe.Offsetof(layout.PoolShard{}.Misses)]struct{}{}

var _ [C.tlc_tensor_tl_max_rank]struct{} = [layout.MaxRank]struct{}{}
var _ [C.tlc_tensor_tl_tensor_header]struct{} = [layout.TensorHeaderBytes]struct{}{}
var _ [C.tlc_tensor_tl_tensor_contiguous]struct{} = [layout.TensorContiguous]struct{}{}
var _ [C.tlc_tensor_tl_tensor_in_slot]struct{} = [layout.TensorInSlot]struct{}{}
var _ [C.tlc_tensor_tl_tensor_external]struct{} = [layout.TensorExternal]struct{}{}
var _ [C.tlc_tensor_tl_tensor_view]struct{} = [layout.TensorView]struct{}{}
var _ [C.tlc_tensor_tl_tensor_read_only]struct{} = [layout.TensorReadOnly]struct{}{}
var _ [C.tlc_tensor_tl_tensor_on_device]struct{} = [layout.TensorOnDevice]struct{}{}
var _ [C.tlc_tensor_tl_pool_offset]struct{} = [layout.PoolOffset]struct{}{}
var _ [C.tlc_tensor_tl_pool_shards]struct{} = [layout.PoolShards]struct{}{}
