package graph

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHalfValue(t *testing.T) {
	for bits, want := range map[uint16]float64{
		0: 0, 1: math.Ldexp(1, -24), 0x3c00: 1, 0xc000: -2, 0x7bff: 65504, 0x7c00: math.Inf(1), 0xfc00: math.Inf(-1),
		0x0400: math.Ldexp(1, -14), 0x3555: 0.333251953125,
	} {
		require.Equal(t, want, halfValue(bits))
	}
	require.True(t, math.IsNaN(halfValue(0x7e00)))
}

func TestSmallFloats(t *testing.T) {
	for bits, x := range map[uint16]float64{
		0: 0, 1: math.Ldexp(1, -24), 0x3c00: 1, 0xc000: -2, 0x7bff: 65504, 0x7c00: math.Inf(1), 0x0400: math.Ldexp(1,
			-14),
		0x3555: 0.333251953125, 0x03ff: math.Ldexp(1023, -24), 0x3c01: 1 + math.Ldexp(1.2, -10), 0xfc00: -65520,
	} {
		require.Equal(t, bits, halfBits(x), "%v", x)
	}
	require.EqualValues(t, 0x7e00, halfBits(math.NaN()))
	for bits, x := range map[uint16]float64{0x3f80: 1, 0x4049: math.Pi, 0x7f80: math.Inf(1), 0xff80: math.Inf(-1)} {
		require.Equal(t, bits, shortBits(x), "%v", x)
	}
	short := NewTensor(BF16, []int64{1})
	short.SetNumber(0, math.NaN())
	require.True(t, math.IsNaN(short.FloatAt(0)))
}
