package backends

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/device"
	"tlruntime/runtime/device/devicetest"
)

func machine() *device.Set { return New(Options{HugePages: func() bool { return false }}) }

// Every device of this machine passes the suite under the name and number that
// programs know it by.
func TestConform(t *testing.T) {
	s := machine()
	for id, d := range s.All() {
		t.Run(d.Name(), func(t *testing.T) {
			named, err := s.ByName(d.Name())
			require.NoError(t, err)
			require.EqualValues(t, id, named)
			devicetest.Conform(t, d)
		})
	}
	for _, name := range []string{"cuda", "opencl", "metal"} {
		if _, err := s.ByName(name); err != nil {
			t.Logf("skip: %v", err)
		}
	}
}

func TestNamedLibrariesAreTheOnlyOnes(t *testing.T) {
	s := New(Options{CUDALibrary: "/nowhere/a.so", OpenCLLibrary: "/nowhere/b.so"})
	require.Len(t, s.All(), 2, "the CPU, and memory that processes share")
	_, err := s.ByName("cuda")
	require.ErrorContains(t, err, "/nowhere/a.so")
	_, err = s.ByName("opencl")
	require.ErrorContains(t, err, "/nowhere/b.so")
}

// Copies between every two devices of this machine.
func TestCopies(t *testing.T) {
	const n = 1<<20 + 3
	all := machine().All()
	blocks := make([]uintptr, len(all))
	for i, d := range all {
		block, err := d.Allocate(n)
		require.NoError(t, err)
		blocks[i] = block
		defer func() { require.NoError(t, d.Deallocate(block, n)) }()
	}
	for i, from := range all {
		for j, to := range all {
			if i == j {
				continue
			}
			require.NoError(t, device.Fill(from, blocks[i], byte(16*i+j+1), n))
			require.NoError(t, device.Copy(to, blocks[j], from, blocks[i], n))
			last := make([]byte, 1)
			require.NoError(t, to.ToHost(devicetest.Host(t, last), blocks[j]+n-1, 1))
			require.Equal(t, byte(16*i+j+1), last[0], "%s to %s", from.Name(), to.Name())
		}
	}
}

// Allocation of 4096 bytes and its return on each device of this machine:
//
//	go test -run Conform -bench . ./runtime/device/...
func BenchmarkDevices(b *testing.B) {
	for _, d := range machine().All() {
		b.Run(d.Name(), func(b *testing.B) { devicetest.Benchmark(b, d) })
	}
}
