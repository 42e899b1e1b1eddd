//go:build tlcheck

package mempool

// verifier paces the checker, which walks all records and all bins: a pool is checked
// after so many of its operations as pay for the walk.
type verifier struct{ operations uint32 } // since the last check; guarded by the state's lock

const (
	leastOperations     = 16
	recordsPerOperation = 64
)

// verifyUnlocked is verify without the lock.
func (p *Pool) verifyUnlocked() {
	if p.enter() {
		p.verify()
		unlock(p.state)
	}
}

// verify runs the checker when it is due. The lock of the state is held.
func (p *Pool) verify() {
	if p.verifier.operations++; p.verifier.operations < leastOperations+p.state.Fresh/recordsPerOperation {
		return
	}
	p.verifier.operations = 0
	if err := p.check(); err != nil {
		panic(err)
	}
}
