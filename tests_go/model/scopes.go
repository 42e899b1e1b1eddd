package model

import (
	"fmt"

	"pgregory.net/rapid"
)

func (m *Model) scopeActions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"enter_scope": m.enterScope, "enter_scope2": m.enterScope, "exit_scope": m.exitScope,
		"exit_scope2":    m.exitScope,
		"exit_scopes_to": m.exitScopesTo, "depth": m.askDepth, "shutdown": m.shutdownSometimes,
	}
}

func (m *Model) enterScope(*rapid.T) {
	m.me.open(scope)
	m.do("0 0", "enter_scope")
}

func (m *Model) exitScope(*rapid.T) {
	n := len(m.me.marks)
	if n == 0 || m.me.marks[n-1].kind != scope {
		m.do("7 7", "exit_scope")
		return
	}
	m.close(n - 1)
	m.do("0 0", "exit_scope")
}

func (m *Model) exitScopesTo(t *rapid.T) {
	have := m.me.depth()
	to := rapid.IntRange(-1, have+1).Draw(t, "depth")
	switch {
	case to < 0:
		m.do("1 1", "exit_scopes_to %d", to)
	case to > have:
		m.do("7 7", "exit_scopes_to %d", to)
	default:
		m.leaveTo(to)
		m.do("0 0", "exit_scopes_to %d", to)
	}
}

// leaveTo closes the newest marks until depth scopes are open.
func (m *Model) leaveTo(depth int) {
	for m.me.depth() > depth {
		m.close(len(m.me.marks) - 1)
	}
}

func (m *Model) askDepth(*rapid.T) { m.do(fmt.Sprintf("%d 0", m.me.depth()), "depth") }

func (m *Model) shutdownSometimes(t *rapid.T) {
	if rapid.IntRange(0, 4).Draw(t, "rarely") == 4 {
		m.shutdown()
	}
}

// shutdown leaves everything, root scope included. Destructors may register into
// the root scope meanwhile; whether that goes too is not promised, so a second
// shutdown follows.
func (m *Model) shutdown() {
	for _, other := range m.threads {
		if other != m.me && len(other.marks) > 0 {
			m.do("17 17", "shutdown")
			return
		}
	}
	m.close(0)
	m.unwind(0)
	m.grow()
	m.forgetStale()
	m.do("0 0", "shutdown")
	m.do("0 0", "shutdown")
}
