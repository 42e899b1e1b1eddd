package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLimitsAreReadByName(t *testing.T) {
	o := New()
	require.Empty(t, o.Limits("TL_MEM_LIMIT"))
	require.NoError(t, o.Set("TL_MEM_LIMIT", "8GiB, cpu=4GiB,cuda=20GiB,own=1MiB,npu:3=7", "test"))
	require.Equal(t, map[string]uint64{"": 8 << 30, "cpu": 4 << 30, "cuda:0": 20 << 30, "own": 1 << 20, "npu:3": 7},
		o.Limits("TL_MEM_LIMIT"))
	for _, bad := range []string{"much", "cpu=", "=1GiB", "1GiB,2GiB", "cpu=1,cpu=2", "cuda=1,cuda:0=2", "cpu=1GiB;2",
		"-1", ","} {
		require.Error(t, o.Set("TL_MEM_LIMIT", bad, "test"), bad)
	}
	require.NoError(t, o.Set("TL_MEM_SOFT_LIMIT", "", "test"))
}

func TestTheTensorPoolHasTwoLimits(t *testing.T) {
	o := New()
	perKey, bytes := o.Room("TL_TENSOR_POOL")
	require.Equal(t, [2]uint64{32, 256 << 20}, [2]uint64{perKey, bytes})
	require.NoError(t, o.Set("TL_TENSOR_POOL", "0, 1 GiB", "test"))
	perKey, bytes = o.Room("TL_TENSOR_POOL")
	require.Equal(t, [2]uint64{0, 1 << 30}, [2]uint64{perKey, bytes})
	for _, bad := range []string{"", "32", "1025,1GiB", "-1,1GiB", "x,1", "1,x"} {
		require.Error(t, o.Set("TL_TENSOR_POOL", bad, "test"), bad)
	}
}
