package leak

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/trace"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/status"
)

// TestATraceOfSeveralContexts has goroutines work while a trace runs: each release has
// its allocation, and what lived before is told of first.
func TestATraceOfSeveralContexts(t *testing.T) {
	c, st := object.NewContext()
	require.Equal(t, status.OK, st)
	defer c.Finish()
	before := c.Alloc(48)
	path := filepath.Join(t.TempDir(), "trace.json")
	since := track.Count()
	began, err := trace.Start(path, trace.Options{})
	require.NoError(t, err)
	require.True(t, began)
	require.Equal(t, status.OK, track.SetTracing(true))
	c.HonourTracking()
	require.Equal(t, status.OK, TraceLive(c, since))
	const workers, rounds = 4, 50
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			w, st := object.NewContext()
			assert.Equal(t, status.OK, st)
			defer w.Finish()
			for range rounds {
				assert.Equal(t, status.OK, w.EnterScope())
				assert.Equal(t, status.OK, track.PushTag(w, "round"))
				assert.NotZero(t, w.New(100))
				assert.Equal(t, status.OK, w.ExitScope())
			}
		})
	}
	wait.Wait()
	require.Equal(t, status.OK, c.Free(before))
	_, err = trace.Stop()
	require.NoError(t, err)
	require.Equal(t, status.OK, track.SetTracing(false))
	c.HonourTracking()
	require.Zero(t, track.Period())

	var w struct {
		TraceEvents []struct {
			Name, Ph string
			Args     struct {
				Address, Kind, Tag string
				Bytes, Before      uint64
			}
		}
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &w))
	live, count := map[string]uint64{}, map[string]int{}
	for _, e := range w.TraceEvents {
		count[e.Ph+" "+e.Name]++
		switch e.Name {
		case "alloc":
			require.NotContains(t, live, e.Args.Address)
			live[e.Args.Address] = e.Args.Bytes
			if e.Args.Before == 0 {
				assert.Equal(t, "round", e.Args.Tag)
			}
		case "free":
			require.Equal(t, live[e.Args.Address], e.Args.Bytes)
			delete(live, e.Args.Address)
		}
	}
	for _, name := range []string{"B scope", "E scope", "b round", "e round"} {
		assert.Equal(t, workers*rounds, count[name], name)
	}
	assert.GreaterOrEqual(t, count["i free"], workers*rounds+1)
}
