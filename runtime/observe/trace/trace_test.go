package trace

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/runtime/limit"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/output"
	"tlruntime/runtime/status"
)

type writtenFrame struct{ Name, Parent string }

type written struct {
	Version     int
	TraceEvents []struct {
		Name, Ph, Cat string
		Ts            float64
		Tid, Sf       uint32
		Args          map[string]any
	}
	StackFrames map[string]writtenFrame
	OtherData   struct {
		Complete bool
		Dropped  uint64
	}
}

func read(t *testing.T, path string) (w written) {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &w), "%s", text)
	assert.Equal(t, 1, w.Version, "what cmd/tl/viz/timeline reads")
	return w
}

func start(t *testing.T, o Options) string {
	path := filepath.Join(t.TempDir(), "trace.json")
	began, err := Start(path, o)
	require.NoError(t, err)
	require.True(t, began)
	return path
}

func stop(t *testing.T) {
	ended, err := Stop()
	require.NoError(t, err)
	require.True(t, ended)
}

// TestThreads has many tell at once, through several parts of the file.
func TestThreads(t *testing.T) {
	path := start(t, Options{Figures: func() []Figure { return []Figure{{"live", 7}} }})
	const threads, rounds = 8, 600
	var wait sync.WaitGroup
	for id := range uint32(threads) {
		wait.Go(func() {
			for n := range uint64(rounds) {
				Begin(id, "scope", "a\"tag\n")
				Alloc(id, Allocation{Event: Event{Kind: "object", Address: n, Bytes: 8, Site: id + 1}})
				Free(id, Event{Kind: "object", Address: n, Bytes: 8})
				if Due() {
					Count()
				}
				End(id)
			}
		})
	}
	wait.Wait()
	stop(t)
	w := read(t, path)
	last, open, count := 0.0, map[uint32]int{}, map[string]int{}
	for _, e := range w.TraceEvents {
		count[e.Ph+" "+e.Name]++
		if e.Ph == "M" {
			continue
		}
		require.GreaterOrEqual(t, e.Ts, last)
		last = e.Ts
		switch e.Ph {
		case "B":
			open[e.Tid]++
			require.Equal(t, "a\"tag\n", e.Args["tag"])
		case "E":
			open[e.Tid]--
			require.GreaterOrEqual(t, open[e.Tid], 0)
		}
	}
	for _, name := range []string{"B scope", "E scope", "i alloc", "i free"} {
		assert.Equal(t, threads*rounds, count[name], name)
	}
	assert.Positive(t, count["C live"])
	assert.Len(t, w.StackFrames, threads)
	assert.True(t, w.OtherData.Complete)
	assert.Len(t, Recent(), 2*threads*rounds)
}

// TestEveryPartIsWhole reads the file while the trace runs: its end is always there.
func TestEveryPartIsWhole(t *testing.T) {
	path := start(t, Options{})
	for n := range uint64(20000) {
		if n%100 == 0 {
			Begin(1, "scope", "")
		}
		Free(1, Event{Kind: "object", Address: n, Bytes: 1})
		if n%2500 == 0 {
			w := read(t, path)
			assert.False(t, w.OtherData.Complete)
			balance := 0
			for _, e := range w.TraceEvents {
				balance += map[string]int{"B": 1, "E": -1}[e.Ph]
			}
			assert.Zero(t, balance)
		}
	}
	stop(t)
	assert.True(t, read(t, path).OtherData.Complete)
	assert.Len(t, Recent(), 20000)
}

// Package limit imports no trace: it is this package that has asked to be told.
func TestALimitThatRefusesIsInTheTrace(t *testing.T) {
	const device = 200
	limit.Set(device, 0, 4096)
	defer limit.Set(device, 0, 0)
	path := start(t, Options{})
	assert.Equal(t, status.Limit, limit.Charge(device, 4097))
	stop(t)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(text), `"limit refuses"`))
}

// A chunk that the file has no room for is left out with its end, and one that it has ends there.
func TestChunksStayBelowTheLimit(t *testing.T) {
	path := start(t, Options{Limit: 64 << 10})
	Chunk(mempool.Chunk{Pool: 1, Address: 1 << 30, Bytes: 4096}, true)
	for n := range uint64(20000) {
		Chunk(mempool.Chunk{Pool: 1, Address: n << 12, Bytes: 4096}, true)
		Chunk(mempool.Chunk{Pool: 1, Address: n << 12, Bytes: 4096}, false)
	}
	Chunk(mempool.Chunk{Pool: 1, Address: 1 << 30, Bytes: 4096}, false)
	stop(t)
	count := map[string]int{}
	for _, e := range read(t, path).TraceEvents {
		count[e.Name]++
	}
	assert.Greater(t, count["chunk obtained"], 100)
	assert.Equal(t, count["chunk obtained"], count["chunk returned"])
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Less(t, info.Size(), int64(128<<10))
}

func TestCallersAreShared(t *testing.T) {
	c := resolve(map[uint32]bool{1: true, 2: true, 3: true}, func(site uint32) []Frame {
		if site == 3 {
			return nil
		}
		return []Frame{{Name: "leaf", Line: int(site)}, {Name: "middle"}, {Name: "main"}}
	})
	var frames map[string]writtenFrame
	require.NoError(t, json.Unmarshal(c.text, &frames))
	require.Len(t, frames, 5)
	require.Equal(t, frames["1"].Parent, frames["2"].Parent)
	require.Equal(t, "middle", frames[frames["1"].Parent].Name)
	require.Equal(t, "main", frames[frames[frames["1"].Parent].Parent].Name)
	require.Equal(t, "[unknown]", frames["3"].Name)
}

func TestTexts(t *testing.T) {
	for _, text := range []string{"", "plain", "\"\\\x00\x1f\x7f\n", "µ\u2028€😀", "a\xffb"} {
		var back string
		require.NoError(t, json.Unmarshal(appendString(nil, text), &back))
		require.Equal(t, strings.ToValidUTF8(text, "\uFFFD"), back)
	}
}

func TestTheNewestAreKept(t *testing.T) {
	var r recent
	for n := range uint64(recentEvents + 5) {
		r.add(Event{Address: n})
	}
	r.name(recentEvents+4, 9)
	require.Len(t, r.ring, recentEvents)
	recorder.recent = r
	all := Recent()
	require.EqualValues(t, 5, all[0].Address)
	require.Equal(t, Event{Address: recentEvents + 4, Site: 9}, all[recentEvents-1])
	recorder.recent = recent{}
}

// fullDisk is a file that has room for so many bytes.
type fullDisk struct {
	*output.File
	room int64
}

var errFull = errors.New("no space left on the disk")

func (d *fullDisk) WriteAt(text []byte, at int64) (int, error) {
	if at+int64(len(text)) <= d.room {
		return d.File.WriteAt(text, at)
	}
	n, err := d.File.WriteAt(text[:max(d.room-at, 0)], at)
	return n, errors.Join(err, errFull)
}

// TestTheNextTraceHasTheRingOfTheLast: new pages cost a trace 2 us an event while it fills them.
func TestTheNextTraceHasTheRingOfTheLast(t *testing.T) {
	var r recent
	r.clear()
	r.add(Event{Address: 1})
	first := &r.ring[0]
	r.clear()
	require.Empty(t, r.ring)
	r.add(Event{Address: 2})
	require.Same(t, first, &r.ring[0])
	require.Equal(t, recentEvents, cap(r.ring))
}

// TestAFullDiskLeavesAWholeFile has the disk become full in the middle of a trace: what is not in
// the file is counted there.
func TestAFullDiskLeavesAWholeFile(t *testing.T) {
	path := start(t, Options{})
	recorder.file.f = &fullDisk{recorder.file.f.(*output.File), 700 << 10}
	Begin(1, "outermost", "")
	for n := range uint64(20000) {
		Begin(1, "scope", "")
		Free(1, Event{Kind: "object", Address: n, Bytes: 1})
		End(1)
	}
	ended, err := Stop()
	require.True(t, ended)
	require.ErrorIs(t, err, errFull)
	require.ErrorContains(t, err, " events were lost: ")
	w, balance := read(t, path), 0
	assert.False(t, w.OtherData.Complete)
	assert.Greater(t, len(w.TraceEvents), 4000)
	told := w.OtherData.Dropped
	for _, e := range w.TraceEvents {
		balance += map[string]int{"B": 1, "E": -1}[e.Ph]
		if e.Ph == "B" || e.Name == "free" {
			told++
		}
	}
	assert.Zero(t, balance)
	assert.EqualValues(t, 1+2*20000, told)
}

// TestATraceThatCannotBegin leaves the file of an earlier one.
func TestATraceThatCannotBegin(t *testing.T) {
	path := start(t, Options{})
	stop(t)
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	defer func(write func(int, []byte, int64) (int, error)) { output.System.Write = write }(output.System.Write)
	output.System.Write = func(int, []byte, int64) (int, error) { return 0, errFull }
	began, err := Start(path, Options{})
	require.ErrorIs(t, err, errFull)
	require.False(t, began)
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)
}
