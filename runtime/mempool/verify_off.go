//go:build !tlcheck

package mempool

// verifier is nothing where verify does nothing.
type verifier struct{}

// verify and verifyUnlocked check nothing; build with -tags tlcheck for the checker after operations.
func (p *Pool) verify()         {}
func (p *Pool) verifyUnlocked() {}
