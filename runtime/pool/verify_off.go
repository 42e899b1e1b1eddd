//go:build !tlcheck

package pool

// verify checks nothing; build with -tags tlcheck for the checker after every operation.
func (p *Pool) verify() {}
