package consistency

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/device/cpu"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

// shape is that of a tensor. What a function holds may lie in a stack, which moves.
var shape = int64(500)

// A program with something in every account; each account that is wrong is found.
func TestAccountsAreWhatIsHeld(t *testing.T) {
	c, st := object.NewContext()
	require.Equal(t, status.OK, st)
	defer c.Finish()
	require.Equal(t, status.OK, mempool.Open())
	ours, err := mempool.Create(cpu.New(func() bool { return false }), limit.CPU, 1<<16)
	require.NoError(t, err)
	own, err := mempool.Create(cpu.New(func() bool { return false }), limit.Own, 1<<20)
	require.NoError(t, err)
	require.Equal(t, status.OK, c.EnterScope())
	c.New(100)
	c.New(1 << 20)
	require.NotZero(t, tensor.Empty(c, int32(tensor.F32), tensor.CPU, 1, layout.Address(&shape)))
	require.NoError(t, Check())
	require.NoError(t, CheckBeside(c))
	require.Equal(t, status.OK, c.ExitScope())
	require.NoError(t, Check())
	for _, account := range []int32{limit.CPU, limit.Own} {
		require.Equal(t, status.OK, limit.Charge(account, 64))
		require.ErrorContains(t, Check(), "charged")
		limit.Credit(account, 64)
		require.NoError(t, Check())
	}
	require.NoError(t, mempool.Destroy(ours))
	require.NoError(t, mempool.Destroy(own))
	require.NoError(t, Check())
}
