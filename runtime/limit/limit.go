// Package limit counts the memory that the runtime holds, by device and in all, and
// keeps it below what the user allows.
//
// Whoever obtains memory in large pieces (spans of the heap, chunks of memory pools)
// charges an account first and credits it when the piece goes back:
//
//	used(account) == sum of charges - sum of credits == spans in use + chunks held
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
// pool held, but for Charge, Credit and Near, which take none.
package limit

import (
	"math"
	"sync/atomic"

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

// account is what is held of one device. All fields are atomic.
type account struct {
	used, peak    atomic.Uint64
	obtained      atomic.Uint64 // sum of all charges; less used: sum of all credits
	peakInUse     atomic.Uint64 // the most that Read has found since ResetPeaks
	soft, hard    atomic.Uint64 // 0 = none
	highWatermark atomic.Uint64 // above it caches keep nothing new; 0 = nowhere
	reclaimed     atomic.Uint64 // requests that reclaim was tried for
	failed        atomic.Uint64 // of them, those that failed all the same
	quiet         atomic.Int64  // until then (nanoseconds) the soft limit asks for nothing
	name          atomic.Pointer[string]
}

// accounts by device, then Own and Total.
var accounts [maxDevices + 2]account

// at returns the account of a device, or Own or Total.
func at(device int32) *account {
	if device < 0 {
		return &accounts[maxDevices-1-device]
	}
	return &accounts[device]
}

// Valid tells whether a number names an account.
func Valid(device int32) bool { return device >= Own && device < maxDevices }

// add counts n more bytes unless that would pass the hard limit, and returns the sum.
func (a *account) add(n uint64) (sum uint64, ok bool) {
	for {
		used := a.used.Load()
		if hard := a.hard.Load(); hard != 0 && (used > hard || n > hard-used) {
			return 0, false
		}
		if a.used.CompareAndSwap(used, used+n) {
			return used + n, true
		}
	}
}

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
	for i := range accounts {
		a := &accounts[i]
		a.peak.Store(a.used.Load())
		a.peakInUse.Store(0)
	}
}

// grown notes that a charge of n bytes has succeeded and brought the account to sum.
func (a *account) grown(sum, n uint64) {
	a.obtained.Add(n)
	for peak := a.peak.Load(); peak < sum && !a.peak.CompareAndSwap(peak, sum); peak = a.peak.Load() {
	}
}

func (a *account) sub(n uint64) { a.used.Add(-n) }

// Charge counts n bytes of a device that are about to be obtained; status.Limit when
// the device's hard limit, or that of all, would be passed: then nothing was counted.
func Charge(device int32, n uint64) status.Status {
	one, all := at(device), at(Total)
	sum, ok := one.add(n)
	if !ok {
		refused(device, n)
		return status.Limit
	}
	total, ok := all.add(n)
	if !ok {
		one.sub(n)
		refused(Total, n)
		return status.Limit
	}
	one.grown(sum, n)
	all.grown(total, n)
	return status.OK
}

func refused(device int32, n uint64) {
	pressure("limit refuses", device, n)
	usdt.Limit(device, n)
}

// Credit takes n bytes off again.
func Credit(device int32, n uint64) {
	at(device).sub(n)
	at(Total).sub(n)
}

// Near tells that a device, or all memory, is near its limit: above the soft one or
// above 7/8 of the hard one.
func Near(device int32) bool { return at(device).near() || at(Total).near() }

func (a *account) near() bool {
	highWatermark := a.highWatermark.Load()
	return highWatermark != 0 && a.used.Load() > highWatermark
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
	a.hard.Store(hard)
	a.highWatermark.Store(highWatermarkOf(soft, hard))
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

func (a *account) above(bytes uint64) bool { return a.used.Load() > bytes }

// Get returns the limits of an account.
func Get(device int32) (soft, hard uint64) { return at(device).soft.Load(), at(device).hard.Load() }

// Used returns what is charged to an account.
func Used(device int32) uint64 { return at(device).used.Load() }
