package tensor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
)

// resting makes kept tensors of two keys on the CPU and of two on the device, and returns
// where one key of each stands.
func resting(t *testing.T, c *object.Context) (s *shard, at *layout.TensorPoolKey, of *deviceCache) {
	inScope(t, c, func() {
		for _, device := range []int32{CPU, 1} {
			for _, n := range []int64{300, 300, 700} {
				require.NotZero(t, Empty(c, int32(F32), device, 1, array(t, n)))
			}
		}
	})
	k := key{300, layout.TensorPoolKind(uint8(F32), CPU)}
	s = shardOf(k)
	return s, s.find(k), deviceCacheOf(1)
}

// Each of these is a way in which the books can be wrong. It is found, and no longer once
// it is undone.
func TestTheCheckerFinds(t *testing.T) {
	c := withFar(t)
	s, at, of := resting(t, c)
	first := entry(at.Stack, 0)
	tensor := of.ring[0].entries[0].Object
	r := object.Heap().Record(first.Record)
	added := func(n *uint64) func() { return func() { *n++ } }
	swapped := func(a, b *layout.Entry) func() { return func() { *a, *b = *b, *a } }
	block := blocks.of[tensor]
	for what, damage := range map[string]struct{ do, undo func() }{
		"puts":                   {added(&s.Puts), func() { s.Puts-- }},
		"bytes":                  {added(&s.Bytes), func() { s.Bytes-- }},
		"a grant":                {added(&s.Grant), func() { s.Grant-- }},
		"a share":                {func() { s.Share += 8 }, func() { s.Share -= 8 }},
		"a limit":                {func() { s.Limit = 1 }, func() { s.Limit = defaultLimit }},
		"keys":                   {func() { s.Keys++ }, func() { s.Keys-- }},
		"a key's elements":       {func() { at.Elements = 301 }, func() { at.Elements = 300 }},
		"a tensor that lives":    {func() { r.Sh = layout.ShAlive }, func() { r.Sh = 0 }},
		"a tensor that is plain": {func() { r.TypeFlags = 0 }, func() { r.TypeFlags = layout.TypeTensor }},
		"an old generation":      {func() { r.Gen += layout.GenOne }, func() { r.Gen -= layout.GenOne }},
		"tensors that are swapped": {swapped(first, &of.ring[0].entries[0].Entry),
			swapped(first, &of.ring[0].entries[0].Entry)},
		"puts in a device cache":  {added(&of.puts), func() { of.puts-- }},
		"bytes in a device cache": {func() { of.used.Add(1) }, func() { of.giveBack(1) }},
		"a key beside the ring": {func() {
			of.stacks[key{1, 1}] = of.ring[0]
		}, func() { delete(of.stacks, key{1, 1}) }},
		"a tensor without a block": {func() { delete(blocks.of, tensor) }, func() { blocks.of[tensor] = block }},
		"bytes of own blocks":      {added(&owned.bytes), func() { owned.bytes-- }},
		"the number of own blocks": {added(&owned.live), func() { owned.live-- }},
		"the number of blocks":     {func() { blocks.count.Add(1) }, func() { blocks.count.Add(-1) }},
		"a block of nobody": {func() {
			other := block
			other.address += 64
			blocks.of[tensor] = other
		}, func() { blocks.of[tensor] = block }},
	} {
		damage.do()
		_, err := Check()
		require.Error(t, err, what)
		damage.undo()
		kept, err := Check()
		require.NoError(t, err, what)
		require.Len(t, kept, 6)
	}
}
