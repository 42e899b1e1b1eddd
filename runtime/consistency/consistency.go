// Package consistency runs the checkers of the packages that manage memory, and compares
// what they have between them. Tests call it; a build with -tags tlcheck does so by itself.
package consistency

import (
	"errors"

	"tlruntime/runtime/invariant"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
	"tlruntime/runtime/tensor"
)

// Check verifies everything. No context but the caller's may act meanwhile, and that one
// may not be in the middle of the drain.
func Check() error {
	kept, inPool := tensor.Check()
	held := map[int32]uint64{}
	return errors.Join(object.Check(kept), inPool, mempool.CheckAll(held), accounts(held))
}

// CheckBeside verifies what holds while other threads are on the fast path: the caller's
// own stacks, the heap's books, the registry, and all pools. No other goroutine may be in
// the runtime. The heap charges accounts on the fast path, so nothing is said of them here.
func CheckBeside(c *object.Context) error {
	_, tensors := tensor.Check()
	return errors.Join(c.CheckStacks(), object.Heap().Check(func(uint32) {}), object.Registry().CheckBeside(),
		tensors, mempool.CheckAll(map[int32]uint64{}))
}

// accounts compares the accounts of limits with what is held by device, of which the pools' part is given.
//
//	used(account) == bytes of spans in use, of ranges, of chunks, of memory that processes share
//	used(Total)   == sum of used over all other accounts
func accounts(held map[int32]uint64) error {
	ranges, _ := object.Heap().Ranges()
	held[limit.CPU] += object.Heap().Usage().Slabs + ranges
	tensor.AddOwnBlocks(held)
	var found invariant.Found
	total := uint64(0)
	for _, account := range limit.Accounts() {
		if account == limit.Total {
			continue
		}
		found.Want(limit.Used(account) == held[account], "account %d: %d bytes are charged, %d are held", account,
			limit.Used(account),
			held[account])
		total += limit.Used(account)
	}
	found.Want(limit.Used(limit.Total) == total, "%d bytes are charged in all, the accounts have %d",
		limit.Used(limit.Total), total)
	return found.Err()
}
