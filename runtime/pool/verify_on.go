//go:build tlcheck

package pool

// verify runs the checker after every operation. The lock of the state is held.
func (p *Pool) verify() {
	if err := p.check(); err != nil {
		panic(err)
	}
}
