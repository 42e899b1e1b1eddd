// Package limit counts the memory that the runtime holds, by device and in all, and
// keeps it below what the user allows.
//
// Whoever obtains memory in large pieces (spans of the heap, chunks of memory pools)
// charges an account first and credits it when the piece goes back:
//
//	used(account) == sum of charges - sum of credits == spans in use + ranges as far as charged + chunks held
//	used(Total)   == sum of used over all other accounts
//	hard != 0  =>  no charge leaves used above hard
//
// When a charge is refused, or the system or a device refuses memory, a Reclaim calls
// upon the packages that own caches, in a fixed order, until there is room or nothing
// is left to give. They register themselves, as does who watches (OnPressure); this
// package imports none of them.
//
//	limit.go      accounts
//	reclaim.go     what is done when memory is short
//	describe.go   figures, and the sentence that explains a failure
//	configure.go  limits by the names of devices
//
// No function here may be called with a lock of the heap, of a pool or of the tensor
// pool held, but for Near, which takes none, and for Charge, TryCharge and Credit, whose
// lock is the heap's and comes last.
package limit

import (
	"math"
	"sync/atomic"

	"tlruntime/cshim/heap"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/status"
	"tlruntime/runtime/usdt"
)

// Accounts that are no device of their own. CPU is device 0.
const (
	CPU   = 0
	Total = -1 // the sum of all
	Own   = -2 // memory pools over allocators of the program's own
)

// maxDevices is device.MaxDevices.
const maxDevices = 256

// account is what is held of one device. All fields are atomic. The first ones are the heap's too (cshim/heap).
type account struct {
	layout.Account
	peakInUse atomic.Uint64 // the most that Read has found since ResetPeaks
	soft      atomic.Uint64 // 0 = none
	reclaimed atomic.Uint64 // requests that reclaim was tried for
	failed    atomic.Uint64 // of them, those that failed all the same
	quiet     atomic.Int64  // until then (nanoseconds) the soft limit asks for nothing
	name      atomic.Pointer[string]
}

// accounts by device, then Own and Total.
var accounts [maxDevices + 2]account

// Account returns what the heap charges, of a device, or of Own or Total.
func Account(device int32) *layout.Account { return &at(device).Account }

// at returns the account of a device, or Own or Total.
func at(device int32) *account {
	if device < 0 {
		return &accounts[maxDevices-1-device]
	}
	return &accounts[device]
}

func (a *account) used() uint64 { return atomic.LoadUint64(&a.Used) }

func (a *account) peak() uint64 { return atomic.LoadUint64(&a.Peak) }

func (a *account) obtained() uint64 {
	return atomic.LoadUint64(&a.Obtained)
}

func (a *account) hard() uint64 { return atomic.LoadUint64(&a.Hard) }

// keepPeak returns the most that was in use, of what was found before and n.
func (a *account) keepPeak(n uint64) uint64 {
	for peak := a.peakInUse.Load(); peak < n; peak = a.peakInUse.Load() {
		if a.peakInUse.CompareAndSwap(peak, n) {
			return n
		}
	}
	return a.peakInUse.Load()
}

var onPressure []func(event string, device int32, bytes uint64)

// OnPressure adds who is told that memory is short, of a device or of an account: event says
// how. It may take locks, but none of those that a charge is made under. For init functions.
func OnPressure(f func(event string, device int32, bytes uint64)) { onPressure = append(onPressure, f) }

func pressure(event string, device int32, bytes uint64) {
	for _, f := range onPressure {
		f(event, device, bytes)
	}
}

var onResetPeaks []func()

// OnResetPeaks adds what is to happen in ResetPeaks. For init functions.
func OnResetPeaks(f func()) { onResetPeaks = append(onResetPeaks, f) }

// ResetPeaks makes what is held now the peak of every account.
func ResetPeaks() {
	for _, f := range onResetPeaks {
		f()
	}
	lock := &at(Total).Lock
	layout.Lock(lock)
	defer layout.Unlock(lock)
	for i := range accounts {
		a := &accounts[i]
		atomic.StoreUint64(&a.Peak, a.used())
		a.peakInUse.Store(0)
	}
}

// Charge counts n bytes of a device that are about to be obtained; status.Limit when
// the device's hard limit, or that of all, would be passed: then nothing was counted.
func Charge(device int32, n uint64) status.Status {
	if TryCharge(device, n) {
		return status.OK
	}
	Refused(device, n)
	return status.Limit
}

// TryCharge is Charge for bytes that the caller can do without: it tells nobody of a refusal.
func TryCharge(device int32, n uint64) bool { return heap.Charge(Account(device), Account(Total), n) }

// Refused tells that an account has refused n bytes of a device: its own, or that of all.
func Refused(device int32, n uint64) {
	if at(device).short(n) == 0 {
		device = Total
	}
	pressure("limit refuses", device, n)
	usdt.Limit(device, n)
}

// Credit takes n bytes off again.
func Credit(device int32, n uint64) { heap.Credit(Account(device), Account(Total), n) }

// Near tells that a device, or all memory, is near its limit: above the soft one or
// above 7/8 of the hard one.
func Near(device int32) bool { return at(device).near() || at(Total).near() }

func (a *account) near() bool {
	highWatermark := atomic.LoadUint64(&a.HighWatermark)
	return highWatermark != 0 && a.used() > highWatermark
}

// Set replaces the limits of an account, 0 for none, and brings the memory below them
// as far as caches can.
func Set(device int32, soft, hard uint64) {
	a := at(device)
	a.set(soft, hard)
	a.quiet.Store(0)
	for r := newReclaim(device, 0); a.above(min(orNone(soft), orNone(hard))) && r.Step(); {
	}
	Settle(device)
}

func (a *account) set(soft, hard uint64) {
	a.soft.Store(soft)
	atomic.StoreUint64(&a.Hard, hard)
	atomic.StoreUint64(&a.HighWatermark, highWatermarkOf(soft, hard))
}

// highWatermarkOf is where caches stop to grow.
func highWatermarkOf(soft, hard uint64) uint64 {
	highWatermark := min(orNone(soft), orNone(hard)/8*7)
	if soft == 0 && hard == 0 {
		return 0
	}
	return max(highWatermark, 1)
}

func orNone(limit uint64) uint64 {
	if limit == 0 {
		return math.MaxUint64
	}
	return limit
}

func (a *account) above(bytes uint64) bool { return a.used() > bytes }

// Get returns the limits of an account.
func Get(device int32) (soft, hard uint64) { return at(device).soft.Load(), at(device).hard() }

// Used returns what is charged to an account.
func Used(device int32) uint64 { return at(device).used() }
