package mempool

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/device"
	"tlruntime/runtime/status"
)

// streamed is fake with streams: an event passes when its stream is finished.
type streamed struct {
	*fake
	events map[device.Event]device.Stream // recorded and not passed: > 0
	next   device.Event
	failIn int // the call that fails, 1 being the next; 0: none
}

func newStreamed() *streamed {
	return &streamed{fake: newFake(), events: map[device.Event]device.Stream{}}
}

func (s *streamed) failing() error {
	if s.failIn--; s.failIn == 0 {
		return &device.Error{Status: status.OutOfMemory, Text: "on command"}
	}
	return nil
}

func (s *streamed) AllocateAsync(uintptr, device.Stream) (uintptr, error) {
	panic("not the pool's way")
}
func (s *streamed) DeallocateAsync(uintptr, uintptr, device.Stream) error {
	panic("not the pool's way")
}
func (s *streamed) NewStream() (device.Stream, error)      { return 0, nil }
func (s *streamed) CloseStream(device.Stream) error        { return nil }
func (s *streamed) Synchronize(device.Stream) error        { return nil }
func (s *streamed) Wait(device.Stream, device.Event) error { return nil }
func (s *streamed) Await(e device.Event) error             { s.events[e] = 0; return s.failing() }
func (s *streamed) Query(e device.Event) (bool, error)     { return s.events[e] == 0, s.failing() }
func (s *streamed) CloseEvent(e device.Event) error        { delete(s.events, e); return nil }
func (s *streamed) Record(e device.Event, of device.Stream) error {
	s.events[e] = of
	return s.failing()
}
func (s *streamed) NewEvent() (device.Event, error) {
	if err := s.failing(); err != nil {
		return 0, err
	}
	s.next++
	s.events[s.next] = 0
	return s.next, nil
}

func (s *streamed) finish(of device.Stream) {
	for e, stream := range s.events {
		if stream == of {
			s.events[e] = 0
		}
	}
}

// model is what a program knows: which blocks are live, and which are a stream's alone.
type model struct {
	live    map[uintptr]uintptr
	waiting map[uintptr]waitingBlock
}

type waitingBlock struct {
	bytes  uintptr
	stream device.Stream
}

// taken holds a new block to what others have.
func (m *model) taken(t *testing.T, at, n uintptr, s device.Stream) {
	for live, bytes := range m.live {
		require.False(t, at < live+bytes && live < at+n, "%#x is live", at)
	}
	for w, b := range m.waiting {
		if at < w+b.bytes && w < at+n {
			require.Equal(t, b.stream, s, "%#x waits for another stream", at)
			delete(m.waiting, w)
			if at > w {
				m.waiting[w] = waitingBlock{at - w, b.stream}
			}
			if end := w + b.bytes; end > at+n {
				m.waiting[at+n] = waitingBlock{end - at - n, b.stream}
			}
		}
	}
	m.live[at] = n
}

// Random calls: no block is given out that is live, or that another stream may use; the
// tables keep their invariants.
func TestStreamsNeverShareABlock(t *testing.T) {
	d := newStreamed()
	h := open(t, d, 1<<16)
	m := &model{live: map[uintptr]uintptr{}, waiting: map[uintptr]waitingBlock{}}
	random := rand.New(rand.NewPCG(7, 7))
	for range 3000 {
		s := device.Stream(1 + random.IntN(3))
		switch random.IntN(8) {
		case 0, 1, 2:
			n := uintptr(64 * (1 + random.IntN(40)))
			at, err := AllocateAsync(h, n, s)
			require.NoError(t, err)
			m.taken(t, at, n, s)
		case 3:
			n := uintptr(64 * (1 + random.IntN(40)))
			at, err := Allocate(h, n)
			require.NoError(t, err)
			m.taken(t, at, n, 0)
		case 4, 5, 6:
			for at, n := range m.live {
				delete(m.live, at)
				m.waiting[at] = waitingBlock{n, s}
				require.NoError(t, DeallocateAsync(h, at, s))
				require.Error(t, Deallocate(h, at))
				break
			}
		case 7:
			if random.IntN(20) == 0 {
				d.finish(s)
				for at, b := range m.waiting {
					if b.stream == s {
						delete(m.waiting, at)
					}
				}
			}
		}
		require.NoError(t, Check(h))
	}
	require.NoError(t, Reset(h, func() {}))
	require.NoError(t, Check(h))
	require.NoError(t, Destroy(h))
	require.Empty(t, d.events)
	require.Empty(t, d.granted)
}

// A block that a stream was lent and never used comes back to what it waited for, by
// whatever way.
func TestLentBlocksWaitOn(t *testing.T) {
	for _, back := range []func(h Handle, at uintptr) error{
		Deallocate,
		func(h Handle, at uintptr) error { return DeallocateAsync(h, at, 2) },
	} {
		d := newStreamed()
		h := open(t, d, 1<<12)
		at, err := Allocate(h, 1<<12)
		require.NoError(t, err)
		require.NoError(t, DeallocateAsync(h, at, 1))
		lent, err := AllocateAsync(h, 1<<11, 1)
		require.NoError(t, err)
		require.Equal(t, at, lent)
		require.NoError(t, back(h, lent))
		require.Error(t, back(h, lent))
		require.NoError(t, Check(h))
		for s := device.Stream(0); s < 4; s++ {
			other, err := AllocateAsync(h, 1<<11, s)
			require.NoError(t, err)
			require.Equal(t, s == 1, other >= at && other < at+1<<12, "memory that stream 1 uses, for stream %d", s)
		}
		require.NoError(t, Reset(h, func() {}))
		require.NoError(t, Destroy(h))
		require.Empty(t, d.events)
	}
}

// When the wait is over a lent block is one like any other.
func TestLentBlocksSettle(t *testing.T) {
	d := newStreamed()
	h := open(t, d, 1<<12)
	at, err := Allocate(h, 1<<12)
	require.NoError(t, err)
	require.NoError(t, DeallocateAsync(h, at, 1))
	lent, err := AllocateAsync(h, 1<<12, 1)
	require.NoError(t, err)
	require.Equal(t, at, lent)
	d.finish(1)
	s, err := ReadStats(h)
	require.NoError(t, err)
	require.EqualValues(t, 1<<12, s.CurrentUsage)
	require.NoError(t, Check(h))
	require.NoError(t, Deallocate(h, lent))
	s, err = ReadStats(h)
	require.NoError(t, err)
	require.EqualValues(t, 1<<12, s.LargestFreeBlock)
	require.NoError(t, Destroy(h))
	require.Empty(t, d.events)
}

// A block that several streams use waits for all of them.
func TestABlockWaitsForAllItsStreams(t *testing.T) {
	d := newStreamed()
	h := open(t, d, 1<<12)
	at, err := Allocate(h, 1<<12)
	require.NoError(t, err)
	require.NoError(t, DeallocateAsync(h, at, 1, 2, 1))
	require.Len(t, d.events, 2)
	for _, s := range []device.Stream{1, 2} {
		other, err := AllocateAsync(h, 64, s)
		require.NoError(t, err)
		require.NotEqual(t, at, other, "another stream uses it")
		d.finish(1)
	}
	d.finish(2)
	again, err := Allocate(h, 1<<12)
	require.NoError(t, err)
	require.Equal(t, at, again)
	require.NoError(t, Reset(h, func() {}))
	require.NoError(t, Destroy(h))
}

// Tables that grow leave blocks that wait, and lent ones, out of the chains.
func TestTablesGrowWhileBlocksWait(t *testing.T) {
	d := newStreamed()
	h := open(t, d, 1<<20)
	at, lent := take(t, h, 4096), take(t, h, 1<<12)
	require.NoError(t, DeallocateAsync(h, at, 2))
	require.NoError(t, DeallocateAsync(h, lent, 1))
	again, err := AllocateAsync(h, 1<<12, 1)
	require.NoError(t, err)
	require.Equal(t, lent, again)
	for range 5000 {
		take(t, h, 64)
	}
	require.NoError(t, Check(h))
	require.Error(t, Deallocate(h, at))
	require.NoError(t, Deallocate(h, lent))
	require.NoError(t, Reset(h, func() {}))
	require.NoError(t, Destroy(h))
}

// What the driver refuses changes nothing.
func TestOrderFailures(t *testing.T) {
	d := newStreamed()
	h := open(t, d, 1<<12)
	at, err := Allocate(h, 1<<12)
	require.NoError(t, err)
	for k := range 2 { // a new event, then one to record
		d.failIn = k + 1
		var refused *Error
		require.ErrorAs(t, DeallocateAsync(h, at, 1), &refused)
		require.Equal(t, status.OutOfMemory, refused.Status)
		require.NoError(t, Check(h))
	}
	require.NoError(t, DeallocateAsync(h, at, 1))
	d.finish(1)
	d.failIn = 1 // nobody knows whether it has passed: it waits on
	s, err := ReadStats(h)
	require.NoError(t, err)
	require.EqualValues(t, 1, s.WaitingBlocks)
	d.failIn = 1
	require.Error(t, Reset(h, func() {}))
	require.NoError(t, Check(h))
	d.failIn = 1
	require.Error(t, Destroy(h), "it has ended all the same")
	require.Empty(t, d.events)
	require.Empty(t, d.granted)
}
