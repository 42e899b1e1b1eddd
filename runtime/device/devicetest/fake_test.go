package devicetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/status"
)

func TestConformFake(t *testing.T) { Conform(t, NewFake("fake:0", 1<<30)) }

func TestFakeFailsOnCommand(t *testing.T) {
	f := NewFake("fake:0", 1<<20)
	f.FailAt(Allocate, 2)
	first := take(t, f, 100)
	_, err := f.Allocate(100)
	refused(t, err, status.OutOfMemory)
	require.Equal(t, 2, f.Calls(Allocate))
	second := take(t, f, 100) // only that one fails
	f.FailAt(Deallocate, 1)
	refused(t, f.Deallocate(first, 100), status.Device)
	require.NoError(t, f.Deallocate(first, 100))
	require.NoError(t, f.Deallocate(second, 100))
	require.Empty(t, f.Faults())
}

func TestFakeNoticesWrongReturns(t *testing.T) {
	f := NewFake("fake:0", 1<<20)
	block := take(t, f, 100)
	for _, wrong := range [][2]uintptr{{block, 99}, {block + 1, 100}, {12345, 100}} {
		require.Error(t, f.Deallocate(wrong[0], wrong[1]))
	}
	blocks, bytes := f.Outstanding()
	require.Equal(t, 1, blocks)
	require.EqualValues(t, 100, bytes)
	require.NoError(t, f.Deallocate(block, 100))
	require.Error(t, f.Deallocate(block, 100))
	require.Len(t, f.Faults(), 4)
}

func TestFakeIsFull(t *testing.T) {
	f := NewFake("fake:0", 1000)
	block := take(t, f, 600)
	_, err := f.Allocate(401)
	refused(t, err, status.OutOfMemory)
	require.NoError(t, f.Deallocate(block, 600))
	block = take(t, f, 1000)
	require.NoError(t, f.Deallocate(block, 1000))
}

func TestFakeRepeatsItsAddresses(t *testing.T) {
	a, b := NewFake("fake:0", 1<<20), NewFake("fake:0", 1<<20)
	for _, n := range []uintptr{1, 300, 4096} {
		require.Equal(t, take(t, a, n), take(t, b, n))
	}
}
