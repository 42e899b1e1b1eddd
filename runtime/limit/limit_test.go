package limit

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/runtime/status"
)

// fresh gives a test accounts and stages of its own.
func fresh(t testing.TB) {
	t.Helper()
	for i := range accounts {
		accounts[i] = account{}
	}
	reclaimers, describers = [stages][]Reclaimer{}, nil
	wanted.soft, wanted.hard = map[string]uint64{}, map[string]uint64{}
}

// cache is a stage that holds charged bytes.
type cache struct {
	device int32
	bytes  uint64
	asked  int
}

func (c *cache) fill(t testing.TB, n uint64) {
	t.Helper()
	require.Equal(t, status.OK, Charge(c.device, n))
	c.bytes += n
}

func (c *cache) give(need Need) uint64 {
	c.asked++
	if !need.Covers(c.device) {
		return 0
	}
	n := min(c.bytes, need.Bytes)
	c.bytes -= n
	Credit(c.device, n)
	return n
}

func TestChargesStopAtTheHardLimit(t *testing.T) {
	fresh(t)
	Set(3, 0, 100)
	require.Equal(t, status.OK, Charge(3, 60))
	require.Equal(t, status.OK, Charge(3, 40))
	require.Equal(t, status.Limit, Charge(3, 1))
	require.Equal(t, status.OK, Charge(4, 1000))
	require.EqualValues(t, 100, Used(3))
	require.EqualValues(t, 1100, Used(Total))
	Set(Total, 0, 1100)
	require.Equal(t, status.Limit, Charge(4, 1))
	require.EqualValues(t, 1000, Used(4), "a charge that the sum refuses leaves nothing behind")
	Credit(3, 100)
	require.Equal(t, status.OK, Charge(4, 100))
	f := Read(3)
	require.Zero(t, f.Reserved)
	require.EqualValues(t, 100, f.Peak)
	require.EqualValues(t, 1100, Read(Total).Peak)
}

func TestALimitBelowTheUseStopsEverything(t *testing.T) {
	fresh(t)
	require.Equal(t, status.OK, Charge(CPU, 1000))
	Set(CPU, 0, 10)
	require.Equal(t, status.Limit, Charge(CPU, 1))
	Credit(CPU, 995)
	require.Equal(t, status.OK, Charge(CPU, 5))
	require.Equal(t, status.Limit, Charge(CPU, 1))
}

// threeCaches are one of each stage, in the opposite order of registration.
func threeCaches(t testing.TB) (all [stages]*cache, order *[]Stage) {
	order = &[]Stage{}
	for s := stages - 1; s >= 0; s-- {
		all[s] = &cache{device: CPU}
		all[s].fill(t, 100)
		Register(s, func(n Need) uint64 { *order = append(*order, s); return all[s].give(n) })
	}
	return all, order
}

func TestReliefGoesInOrderAndNoFurtherThanNeeded(t *testing.T) {
	fresh(t)
	all, order := threeCaches(t)
	Set(CPU, 0, 300)
	charge := func(n uint64) bool {
		st := Charge(CPU, n)
		for r := NewReclaim(CPU, n); st != status.OK && r.Step(); {
			st = Charge(CPU, n)
		}
		return st == status.OK
	}
	require.True(t, charge(40))
	require.Equal(t, []Stage{LIFOCaches}, *order)
	require.Equal(t, [3]uint64{60, 100, 100}, [3]uint64{all[0].bytes, all[1].bytes, all[2].bytes})
	require.True(t, charge(100))
	require.Equal(t, [3]uint64{0, 60, 100}, [3]uint64{all[0].bytes, all[1].bytes, all[2].bytes})
	require.True(t, charge(160))
	require.Zero(t, all[0].bytes+all[1].bytes+all[2].bytes)
	require.False(t, charge(1))
	*order = nil
	require.False(t, charge(301), "no cache is emptied for what no cache can help")
	require.Empty(t, *order)
	f := Read(CPU)
	require.EqualValues(t, 300, f.Reserved)
	require.EqualValues(t, 5, f.Relieved)
	require.EqualValues(t, 2, f.Failed)
}

func TestADeviceThatRefusesIsReliefForItselfOnly(t *testing.T) {
	fresh(t)
	mine, other := &cache{device: 1}, &cache{device: 2}
	mine.fill(t, 100)
	other.fill(t, 100)
	Register(KeptTensors, mine.give)
	Register(KeptTensors, other.give)
	for r := NewReclaim(1, 1000); r.Step(); {
	}
	require.Zero(t, mine.bytes)
	require.EqualValues(t, 100, other.bytes)
	Set(Total, 0, 100)
	r := NewReclaim(1, 50)
	require.True(t, r.Step(), "the sum of all is short: any device helps")
	require.EqualValues(t, 50, other.bytes)
}

func TestAStageThatFillsAgainIsLeftInTheEnd(t *testing.T) {
	fresh(t)
	Register(KeptTensors, func(Need) uint64 { return 1 })
	steps := 0
	for r := NewReclaim(CPU, 10); r.Step(); steps++ {
	}
	require.Equal(t, maxAsks, steps)
}

func TestASoftLimitRelievesAndIsQuietForAWhile(t *testing.T) {
	fresh(t)
	c := &cache{device: CPU}
	c.fill(t, 100)
	Register(KeptTensors, c.give)
	Set(CPU, 120, 0)
	require.EqualValues(t, 100, c.bytes)
	require.Equal(t, status.OK, Charge(CPU, 50))
	Settle(CPU)
	require.EqualValues(t, 70, c.bytes)
	require.EqualValues(t, 120, Used(CPU))
	asked := c.asked
	for range 100 {
		require.Equal(t, status.OK, Charge(CPU, 1))
		Settle(CPU)
	}
	require.Equal(t, asked, c.asked, "within 100 ms it asks once")
	at(CPU).quiet.Store(int64(time.Since(started)))
	Settle(CPU)
	require.Zero(t, c.bytes)
}

func TestNearALimit(t *testing.T) {
	fresh(t)
	Set(2, 0, 800)
	require.Equal(t, status.OK, Charge(2, 700))
	require.False(t, Near(2))
	require.Equal(t, status.OK, Charge(2, 1))
	require.True(t, Near(2))
	require.False(t, Near(3))
	Credit(2, 1)
	require.False(t, Near(2))
	Set(Total, 1, 0)
	require.True(t, Near(3), "the sum is near for all")
}

func TestOptionsNameDevices(t *testing.T) {
	fresh(t)
	ConfigureHard(Named{"": 1000, "cpu": 400, "own": 300, "cuda:0": 200})
	ConfigureSoft(Named{"cuda:0": 100})
	hard := func(device int32) uint64 { _, h := Get(device); return h }
	require.Equal(t, [4]uint64{1000, 400, 300, 0}, [4]uint64{hard(Total), hard(CPU), hard(Own), hard(1)})
	Open(1, "cuda:0")
	soft, h := Get(1)
	require.Equal(t, [2]uint64{100, 200}, [2]uint64{soft, h})
	Set(1, 0, 77)
	Open(1, "cuda:0")
	require.EqualValues(t, 77, hard(1), "a device is opened once")
	ConfigureHard(Named{"": 50})
	require.Equal(t, [4]uint64{50, 0, 0, 0}, [4]uint64{hard(Total), hard(CPU), hard(Own), hard(1)})
	soft, _ = Get(1)
	require.Zero(t, soft, "Set has replaced it")
}

func TestTheSentenceHasEverythingAndFits(t *testing.T) {
	fresh(t)
	probe, keys := Probe, Keys
	t.Cleanup(func() { Probe, Keys = probe, keys })
	Probe = func(int32) (uint64, uint64) { return 300 << 20, 79 << 30 }
	Keys = func(int32) []Key {
		key := Key{1 << 20, "f32", 32, 128 << 20}
		return []Key{key, key, key, key}
	}
	Describe(func(Need) Part {
		return Part{InUse: 38 << 30, Idle: 1 << 30, LargestFree: 512 << 20, Waiting: 100 << 20, WaitingObjects: 1600}
	})
	Open(5, "cuda:0")
	require.Equal(t, status.OK, Charge(5, 39<<30))
	Set(5, 0, 40<<30)
	Set(Total, 0, 64<<30)
	text := Sentence(5, 4<<30, "the driver says no")
	for _, part := range []string{"4.0 GiB requested of cuda:0 (the driver says no)", "in use 37 GiB", "cached 2.0 GiB",
		"reserved 39 GiB", "largest free block 512 MiB; 100 MiB in 1600 objects, released by other threads, wait for",
		"tl_ptr_share", "tl_thread_detach", "limit 40 GiB, in all 39 GiB of 64 GiB",
		"device free 300 MiB of 79 GiB", "largest keys (1048576, f32) x 32 = 128 MiB, ("} {
		require.Contains(t, text, part)
	}
	require.Equal(t, 3, strings.Count(text, "f32"))
	Open(6, strings.Repeat("long", 20))
	require.Less(t, len(Sentence(6, 1<<40, strings.Repeat("why ", 500))), 600)
	require.Contains(t, Sentence(Own, 1, ""), "1 B requested of an allocator; in use")
}

// TestAccountsAgainstAModel runs random charges, credits and limits and compares every
// outcome with a sum.
func TestAccountsAgainstAModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		fresh(t)
		devices := []int32{CPU, 1, 255, Own}
		used, hard, peak := map[int32]uint64{}, map[int32]uint64{}, map[int32]uint64{}
		device := rapid.SampledFrom(devices)
		size := rapid.Uint64Range(0, 100)
		r.Repeat(map[string]func(*rapid.T){
			"charge": func(r *rapid.T) {
				d, n := device.Draw(r, "device"), size.Draw(r, "bytes")
				fits := func(d int32) bool { return hard[d] == 0 || used[d]+n <= hard[d] }
				ok := fits(d) && fits(Total)
				if got := Charge(d, n) == status.OK; got != ok {
					r.Fatalf("charge of %d to %d: %v, the model says %v", n, d, got, ok)
				}
				if ok {
					used[d], used[Total] = used[d]+n, used[Total]+n
					peak[d], peak[Total] = max(peak[d], used[d]), max(peak[Total], used[Total])
				}
			},
			"credit": func(r *rapid.T) {
				d := device.Draw(r, "device")
				n := rapid.Uint64Range(0, used[d]).Draw(r, "bytes")
				Credit(d, n)
				used[d], used[Total] = used[d]-n, used[Total]-n
			},
			"limit": func(r *rapid.T) {
				d := rapid.SampledFrom(append(devices, Total)).Draw(r, "account")
				hard[d] = rapid.Uint64Range(0, 300).Draw(r, "hard")
				Set(d, 0, hard[d])
			},
			"": func(r *rapid.T) {
				for _, d := range append(devices, Total) {
					if Used(d) != used[d] || Read(d).Peak != peak[d] {
						r.Fatalf("account %d has %d (peak %d), want %d (%d)", d, Used(d), Read(d).Peak, used[d],
							peak[d])
					}
				}
			},
		})
	})
}

func TestAccountsAddUpAcrossThreads(t *testing.T) {
	fresh(t)
	Set(Total, 500, 1000)
	Register(EmptyChunks, func(Need) uint64 { return 0 })
	var wait sync.WaitGroup
	for worker := range 4 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			d := int32(worker % 2)
			held := uint64(0)
			for i := range uint64(5000) {
				if n := i*7%100 + 1; Charge(d, n) == status.OK {
					held += n
					Settle(d)
				}
				if i%3 == 0 {
					Credit(d, held)
					held = 0
				}
			}
			Credit(d, held)
		}()
	}
	wait.Wait()
	require.Zero(t, Used(0)+Used(1)+Used(Total))
	require.LessOrEqual(t, Read(Total).Peak, uint64(1000))
}
