package debug

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// context opens the runtime with a quarantine of a few slots, as TL_QUARANTINE does.
func context(t *testing.T) *object.Context {
	t.Helper()
	require.Equal(t, status.OK, object.Open(object.Config{SlowOnly: true, Debug: Guards(8 << 10)}))
	c, st := object.NewContext()
	require.Equal(t, status.OK, st)
	t.Cleanup(func() {
		require.NoError(t, object.Check(nil))
		c.Finish()
	})
	return c
}

// damaged has one damage found, which the error of the call tells, and which is told once.
func damaged(t *testing.T, c *object.Context, sentence string) {
	t.Helper()
	require.EqualValues(t, 1, CheckAll(c))
	require.Equal(t, status.Corrupted, status.Status(c.Error.Status))
	require.Contains(t, c.Message(), sentence)
	require.Zero(t, CheckAll(c))
}

func TestWritesBeyondAnObjectAreFound(t *testing.T) {
	c := context(t)
	p := c.Alloc(24)
	layout.Bytes(p, 32)[26] = 1
	damaged(t, c, "byte 2 behind its 24 bytes was written to")
	require.Equal(t, status.OK, c.Free(p))
}

func TestWritesAfterTheReleaseAreFound(t *testing.T) {
	c := context(t)
	p := c.Alloc(24)
	require.Equal(t, status.OK, c.Free(p))
	layout.Bytes(p, 24)[3] = 1
	damaged(t, c, "was released, and written to afterwards: at byte 3")
}

// A pointer stays stale while its slot waits, and the slot comes back when memory is short.
func TestTheQuarantineIsEmptiedWhenMemoryIsShort(t *testing.T) {
	c := context(t)
	waiting := func() (n int64) {
		slots, _ := guards.Quarantined()
		for _, held := range slots {
			n += held
		}
		return n
	}
	p := c.Alloc(24)
	require.Equal(t, status.OK, c.Free(p))
	for range 8 {
		require.NotEqual(t, p, c.New(24))
	}
	require.Equal(t, status.NotLive, c.Check(p))
	require.Positive(t, waiting())
	r := limit.NewReclaim(limit.CPU, 1)
	require.True(t, r.Step())
	require.Zero(t, waiting())
}

// What is larger than the quarantine does not wait.
func TestALargeObjectDoesNotWait(t *testing.T) {
	c := context(t)
	before, _ := guards.Quarantined()
	require.Equal(t, status.OK, c.Free(c.Alloc(1<<20)))
	after, spans := guards.Quarantined()
	require.Equal(t, before, after)
	require.Zero(t, spans)
}

func TestTheCheckerFindsAQuarantineThatIsMiscounted(t *testing.T) {
	c := context(t)
	require.Equal(t, status.OK, c.Free(c.Alloc(24)))
	guards.bytes++
	require.ErrorContains(t, object.Check(nil), "a quarantine of")
	guards.bytes--
}
