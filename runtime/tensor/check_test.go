package tensor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
)

// resting makes kept tensors of two keys on the CPU and of two on the device.
func resting(t *testing.T, c *object.Context) (here, far *cache) {
	inScope(t, c, func() {
		for _, n := range []int64{300, 300, 700} {
			require.NotZero(t, Empty(c, int32(F32), 1, 1, array(t, n)))
		}
	})
	keepTensors(t, c, 2, 300)
	keepTensors(t, c, 1, 700)
	return cacheOf(CPU), cacheOf(1)
}

// Each of these is a way in which the books can be wrong. It is found, and no longer once
// it is undone.
func TestTheCheckerFinds(t *testing.T) {
	c := withFar(t)
	here, of := resting(t, c)
	first := &here.ring[0].entries[0]
	tensor := of.ring[0].entries[0].Object
	r := object.Heap().Record(first.Record)
	added := func(n *uint64) func() { return func() { *n++ } }
	swapped := func(a, b *layout.Entry) func() { return func() { *a, *b = *b, *a } }
	block := blocks.of[tensor]
	for what, damage := range map[string]struct{ do, undo func() }{
		"puts":                   {added(&here.puts), func() { here.puts-- }},
		"bytes":                  {added(&here.used), func() { here.used-- }},
		"bytes of slots":         {added(&here.heap), func() { here.heap-- }},
		"a limit":                {func() { limits.perKey.Store(1) }, func() { limits.perKey.Store(defaultLimit) }},
		"a limit of bytes":       {func() { limits.bytes.Store(1) }, func() { limits.bytes.Store(byteLimit) }},
		"a slot's bytes":         {added(&first.bytes), func() { first.bytes-- }},
		"a key's elements":       {func() { here.ring[0].key.elements = 1 << 20 }, func() { here.ring[0].key.elements = 300 }},
		"a tensor that lives":    {func() { r.Sh = layout.ShAlive }, func() { r.Sh = 0 }},
		"a tensor that is plain": {func() { r.TypeFlags = 0 }, func() { r.TypeFlags = layout.TypeTensor }},
		"an old generation":      {func() { r.Gen += layout.GenOne }, func() { r.Gen -= layout.GenOne }},
		"tensors that are swapped": {swapped(&first.Entry, &of.ring[0].entries[0].Entry),
			swapped(&first.Entry, &of.ring[0].entries[0].Entry)},
		"puts in a device cache":  {added(&of.puts), func() { of.puts-- }},
		"bytes in a device cache": {added(&of.used), func() { of.used-- }},
		"a key beside the ring": {func() {
			of.stacks[key{1, 1, 1}] = of.ring[0]
		}, func() { delete(of.stacks, key{1, 1, 1}) }},
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
