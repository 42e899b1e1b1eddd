package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLimitsAreReadByName(t *testing.T) {
	o := New()
	require.Empty(t, o.Limits("TL_MEM_LIMIT"))
	require.NoError(t, o.Set("TL_MEM_LIMIT", "8GiB, cpu=4GiB,cuda=20GiB,own=1MiB,npu:3=7", "test"))
	require.Equal(t, map[string]uint64{"": 8 << 30, "cpu": 4 << 30, "cuda:0": 20 << 30, "own": 1 << 20, "npu:3": 7},
		o.Limits("TL_MEM_LIMIT"))
	for _, bad := range []string{"much", "cpu=", "=1GiB", "1GiB,2GiB", "cpu=1,cpu=2", "cuda=1,cuda:0=2", "cpu=1,cpu:0=2", "cpu:1=1GiB", "shared:1=1GiB", "cuda:01=1GiB", "cpuu=1GiB", "cpu=1GiB;2", "1,5GiB", "cpu=1,5GiB", "8GiB,cpu=1, 5GiB",
		"-1", ","} {
		require.Error(t, o.Set("TL_MEM_LIMIT", bad, "test"), bad)
	}
	require.ErrorContains(t, o.Set("TL_MEM_LIMIT", "1,5GiB", "test"), `"1,5GiB" may have a decimal comma`)
	require.ErrorContains(t, o.Set("TL_MEM_LIMIT", "1GiB,2GiB", "test"), "two limits for all memory")
	require.NoError(t, o.Set("TL_MEM_LIMIT", "cpu=4GiB,8GiB", "test"))
	require.NoError(t, o.Set("TL_MEM_SOFT_LIMIT", "", "test"))
}

// A decimal comma was dropped, and the size was ten times what was meant.
func TestASizeHasNoComma(t *testing.T) {
	for text, want := range map[string]uint64{"65536": 65536, "64KiB": 64 << 10, "1.5GiB": 3 << 29, "1.5 GB": 1500000000} {
		n, err := ParseSize(text)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	for _, text := range []string{"1,5GiB", "1,536", "1.000,5KiB", ",5KiB", "5,", "", "much", "-1"} {
		_, err := ParseSize(text)
		require.Error(t, err, text)
	}
	o := New()
	for text, says := range map[string]string{"TL_HEAP_RESERVE=1KiB": "not from 1.0 MiB to 1.0 TiB",
		"TL_HEAP_RESERVE=1EiB": "not from", "TL_ARENA_BYTES=0": "not from 64 KiB to 1.0 TiB", "TL_ARENA_BYTES=1EiB": "not from"} {
		name, value, _ := strings.Cut(text, "=")
		require.ErrorContains(t, o.Set(name, value, "test"), says)
	}
	require.NoError(t, o.Set("TL_HEAP_RESERVE", "0", "test"))
	for name, option := range o.all {
		if option.kind == bytes {
			require.ErrorContains(t, o.Set(name, "1,5MiB", "test"), "not a size such as 64MiB or 1.5GiB", name)
		}
	}
}

func TestTheTensorPoolHasTwoLimits(t *testing.T) {
	o := New()
	perKey, bytes := o.Room("TL_TENSOR_POOL")
	require.Equal(t, [2]uint64{32, 256 << 20}, [2]uint64{perKey, bytes})
	require.NoError(t, o.Set("TL_TENSOR_POOL", "0, 1 GiB", "test"))
	perKey, bytes = o.Room("TL_TENSOR_POOL")
	require.Equal(t, [2]uint64{0, 1 << 30}, [2]uint64{perKey, bytes})
	for _, bad := range []string{"", "32", "1025,1GiB", "-1,1GiB", "x,1", "1,x", "1,2,3", "1,1,5GiB"} {
		require.Error(t, o.Set("TL_TENSOR_POOL", bad, "test"), bad)
	}
}
