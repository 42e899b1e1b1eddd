package tensor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
)

// A full shard looks through all of its keys for one to give up. It must not do so for each
// new key: a program with very many shapes would pay for all of them at each release.
func TestAFullShardDoesNotSearchItsKeysForEachNewOne(t *testing.T) {
	const limit = 8
	var keys [16]layout.TensorPoolKey
	var stacks [limit]layout.Entry
	s := &shard{layout.TensorPoolShard{Cells: layout.Address(&keys[0]), Mask: uint32(len(keys) - 1), KeyLimit: limit,
		Limit: 1, Room: 1, FreshStack: layout.Address(&stacks[0])}}
	add := func(elements uint64) *layout.TensorPoolKey {
		return s.insert(key{elements, layout.TensorPoolKind(0, CPU)}, 64)
	}
	for i := range uint64(limit) {
		s.push(add(i+1), layout.Entry{Object: uintptr(i + 1)})
	}
	require.Nil(t, add(100), "no key is without tensors")
	first := s.find(key{1, layout.TensorPoolKind(0, CPU)})
	s.pop(first)
	for range limit {
		require.Nil(t, add(100), "refused without a search")
	}
	require.NotNil(t, add(100), "the key without tensors has gone")
	s.push(s.find(key{100, layout.TensorPoolKind(0, CPU)}), layout.Entry{Object: 100})
	require.Nil(t, add(200))
	s.evictOne(s.find(key{2, layout.TensorPoolKind(0, CPU)}))
	require.NotNil(t, add(200), "an eviction is reason enough to search")
}
