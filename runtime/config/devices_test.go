package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// `cpuu=10KiB`, `cpu:0=10KiB` and `shared=1MiB` were limits of no device, and nothing said so.
func TestNamesOfDevices(t *testing.T) {
	o := New()
	for text, want := range map[string]string{"cpu": "cpu", "cpu:0": "cpu", "shared": "shared", "shared:0": "shared",
		"cuda": "cuda:0", "cuda:3": "cuda:3", "npu": "npu:0", "gpu:1": "gpu:1"} {
		name, err := o.deviceName(text)
		require.NoError(t, err, text)
		require.Equal(t, want, name)
	}
	for text, says := range map[string]string{"cpuu": "did you mean cpu?", "cup": "did you mean cpu?",
		"coda:1": "did you mean cuda?", "opencll": "did you mean opencl?", "cpu:1": "there is one device cpu",
		"cuda:01": "is not a name such as", "CUDA": "is not a name such as", "": "is not a name such as"} {
		_, err := o.deviceName(text)
		require.ErrorContains(t, err, says, text)
		require.ErrorContains(t, o.Set("TL_DEVICE", text, "test"), says, text)
		require.ErrorContains(t, o.Set("TL_MEM_LIMIT", text+"=1GiB", "test"), says, text)
	}
	o.Registered = func(family string) bool { return family == "coda" }
	require.NoError(t, o.Set("TL_DEVICE", "coda:1", "test"), "a device of the program's own")
	require.NoError(t, o.Set("TL_MEM_LIMIT", "1GiB,cpu:0=4,own=1GiB,cuda=1,shared=2GiB", "test"))
	require.Equal(t, uint64(4), o.Limits("TL_MEM_LIMIT")["cpu"])
	require.Equal(t, uint64(2<<30), o.Limits("TL_MEM_LIMIT")["shared"])
	require.Equal(t, map[string][]string{"TL_DEVICE": {"coda:1"}, "TL_MEM_LIMIT": {"cpu", "cuda:0", "shared"}},
		o.Devices())
}
