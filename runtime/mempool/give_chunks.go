package mempool

import (
	"errors"
	"reflect"

	core "tlruntime/cshim/mempool"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/status"
)

func init() {
	limit.Register(limit.EmptyChunks, giveChunks)
	limit.Describe(describe)
	limit.OnResetPeaks(resetPeaks)
}

// shortage returns an error that tells of a lack of memory, and nil for one that tells of
// anything else, such as a device that is broken.
func shortage(err error) *Error {
	var e *Error
	if errors.As(err, &e) && (e.Status == status.OutOfMemory || e.Status == status.Limit) {
		return e
	}
	return nil
}

func refuseTables(format string, args ...any) *Error {
	e := refuse(status.OutOfMemory, format, args...)
	e.tables = true
	return e
}

// reclaimed tries to do what needs n bytes until it succeeds or no cache has anything to
// give. No lock is held.
func (p *Pool) reclaimed(n uint64, try func() error) error {
	err := try()
	e := shortage(err)
	if e == nil {
		return err
	}
	account := p.account
	if e.tables {
		account = limit.CPU
	}
	for r := limit.NewReclaim(account, n).Of(p.device); e != nil && !e.own && r.Step(); e = shortage(err) {
		err = try()
	}
	if e = shortage(err); e == nil {
		return err
	}
	return &Error{Status: e.Status, Text: limit.Sentence(account, n, e.Text), Short: n, Device: account}
}

// giveChunks is what pools give up: chunks without a live block. Whoever is at work in a
// pool may wait for its device, so a pool in use is passed by.
func giveChunks(need limit.Need) (freed uint64) {
	for i := range slots.pools {
		p := slots.pools[i].Load()
		if p == nil || !need.Covers(p.account) || !same(need.From, p.device) || !p.mu.TryLock() {
			continue
		}
		if p.enter() {
			unlock(p.state) // p.mu keeps the pool alive
			trimmed, _ := p.trim(need.Bytes - freed)
			freed += trimmed
		}
		p.mu.Unlock()
		if freed >= need.Bytes {
			break
		}
	}
	return freed
}

// same tells whether the allocator that refused memory, if one did, is the pool's.
func same(from, device any) bool {
	if from == nil {
		return true
	}
	return reflect.TypeOf(from).Comparable() && from == device
}

// describe adds up the pools of an account, those that have ended included.
func describe(of limit.Need) (part limit.Part) {
	slots.mu.Lock()
	defer slots.mu.Unlock()
	for account, e := range slots.ended {
		if of.Covers(account) {
			part.Allocated += e.bytes
			part.Allocations += e.blocks
		}
	}
	for i := range slots.pools {
		p := slots.pools[i].Load()
		if p == nil || !of.Covers(p.account) || !p.look() {
			continue
		}
		t := p.state
		part.InUse += t.TotalAllocated - t.TotalFreed
		part.PeakInUse += t.Peak
		part.Allocated += t.TotalAllocated
		part.Allocations += t.Allocations
		part.Live += t.Allocations - t.Deallocations
		part.LargestFree = max(part.LargestFree, core.Largest(t))
		unlock(p.state)
	}
	return part
}

// resetPeaks makes what is in use now the peak of every pool.
func resetPeaks() {
	for i := range slots.pools {
		if p := slots.pools[i].Load(); p != nil && p.look() {
			p.state.Peak = p.state.TotalAllocated - p.state.TotalFreed
			unlock(p.state)
		}
	}
}
