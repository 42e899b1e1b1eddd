package registry

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pair is two blocks of a malloc that aligns to 8, the second where the first ends.
type pair struct{ first, bytes, second, secondBytes uintptr }

func pairs() (all []pair) {
	for _, bytes := range []uintptr{8, 24, 40, 1000, 1016, 1032, 2040, 4104, 1<<16 - 8, 1<<16 + 8, 1<<20 + 8} {
		for _, at := range []uintptr{base, base + 1008, base + 1<<16 - 16} {
			all = append(all, pair{at, bytes, at + bytes, 8}, pair{at, bytes, at + bytes, 24},
				pair{at + 8, bytes + 8, at + bytes + 16, 8}) // both begin between granules
		}
	}
	return all
}

func TestTwoBlocksOfOneGranuleComeAndGoInAnyOrder(t *testing.T) {
	for _, b := range pairs() {
		table := open64(t)
		in := func(p, bytes uintptr) { adopt(t, table, p, bytes); require.NoError(t, table.Check()) }
		out := func(p uintptr) {
			_, r := table.Release(p)
			assert.Equal(t, Gone, r, "%#x", p)
			require.NoError(t, table.Check())
		}
		for range 2 {
			in(b.first, b.bytes)
			in(b.second, b.secondBytes)
			assert.EqualValues(t, 1, table.Count(b.first))
			assert.EqualValues(t, 1, table.Count(b.second))
			out(b.first)
			assert.EqualValues(t, 1, table.Count(b.second))
			in(b.first, b.bytes)
			out(b.second)
			in(b.second, b.secondBytes)
			out(b.first)
			out(b.second)
			in(b.second, b.secondBytes)
			in(b.first, b.bytes)
			out(b.second)
			out(b.first)
		}
		assert.Zero(t, table.Totals().Pointers)
		table.Close()
	}
}

func TestTheInsideBetweenGranulesIsRefused(t *testing.T) {
	for _, b := range pairs() {
		table := open64(t)
		adopt(t, table, b.first, b.bytes)
		for p := b.first + 8; p < b.second; p += max(8, (b.bytes/50)&^7) {
			_, r := table.Adopt(p, 8)
			assert.Equal(t, Refused, r, "%#x in %#x + %d", p, b.first, b.bytes)
			assert.True(t, table.Covered(p))
		}
		assert.False(t, table.Covered(b.second), "%#x, behind %#x + %d", b.second, b.first, b.bytes)
		table.Close()
	}
}

func TestBetweenGranulesOfASharedBlock(t *testing.T) {
	table := open64(t)
	id, _, _, r := table.InsertShared(Block{Real: base, Bytes: 24, Kind: 1}, []uintptr{base + 8, base + 12, base + 16})
	require.Equal(t, OK, r)
	_, r = table.Adopt(base+24, 8)
	assert.Equal(t, OK, r)
	fresh, r := table.AddAlias(id, base+20)
	assert.True(t, fresh)
	assert.Equal(t, OK, r)
	_, r = table.AddAlias(id, base+24)
	assert.Equal(t, Outside, r)
	for _, p := range []uintptr{base + 24, base + 8, base, base + 12, base + 20} {
		_, r = table.Release(p)
		assert.Equal(t, Gone, r)
		require.NoError(t, table.Check())
	}
	assert.True(t, table.Covered(base+8), "one alias is left")
	assert.False(t, table.Covered(base+32))
	_, r = table.Release(base + 16)
	assert.Equal(t, Gone, r)
	assert.Zero(t, table.Totals().Pointers)
}

// The owner of a granule may have a deleter, and between it and an address entries may be dead.
func TestBetweenGranulesOfWhatIsNotMallocs(t *testing.T) {
	table := open64(t)
	gen := adopt(t, table, base+16, 8)
	require.Equal(t, OK, second(table.Float(base+16, gen)))
	require.Equal(t, OK, table.InsertCustom(custom(base, 40)))
	_, r := table.Adopt(base+24, 8)
	assert.Equal(t, Refused, r, "a dead entry is nobody's end")
	assert.True(t, table.Covered(base+24))
	require.Equal(t, Zero, table.DecRef(base))
	assert.True(t, table.Covered(base+8))
	assert.False(t, table.Covered(base+40))
	adopt(t, table, base+40, 8)
	require.NoError(t, table.Check())
}
