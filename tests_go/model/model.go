// Package model is what the runtime has to do, written down as simply as it can
// be: Go values instead of memory, searches instead of tables, no fast path. It
// follows the documented behaviour of the C interface and shares no code with the
// implementation, so that the two can only agree by both being right.
//
// A Model draws random operations and notes each as a Step: a line of text that a
// machine executes (tests_c/driver.c through the library, Machine inside a Go
// process), and the reply that is right. Whoever runs the steps compares replies:
// with the model, and those of the fast path with those of the slow one.
//
// Objects are named by handles, small numbers, so replies hold no addresses. Where
// the interface leaves an answer open the expected reply lists alternatives.
package model

import (
	"fmt"

	"pgregory.net/rapid"
)

// Step is one operation and the reply that is right for it.
type Step struct {
	Line string
	// Want holds tokens: "3", "3|4", "2..5", "*", or "~" where even the paths may differ.
	Want string
	// Stale allows the reply "reused": the address of a dead object that the step
	// names belongs to a newer one by now, so the machine left the call out.
	Stale bool
}

// Model is the state that the steps so far have led to.
type Model struct {
	Steps []Step
	// Host allows memory of malloc, Remote a second thread.
	Host, Remote bool
	// Wild lets programs break their promises: release what others hold, free what is
	// referred to. Replies are not promised then, only that nothing breaks.
	Wild bool

	threads   []*thread
	me        *thread
	objects   []*object
	handles   []*handle
	destroyed int
	skipped   span
	deaths    int
	noticed   int // deaths that settle has seen
}

type span struct{ min, max int }

func (s span) String() string {
	if s.min == s.max {
		return fmt.Sprint(s.min)
	}
	return fmt.Sprintf("%d..%d", s.min, s.max)
}

// New returns the model of a process in which nothing has happened.
func New(host, remote bool) *Model {
	m := &Model{Host: host, Remote: remote, threads: []*thread{{id: 0}}}
	if remote {
		m.threads = append(m.threads, &thread{id: 1})
	}
	m.me = m.threads[0]
	return m
}

// do notes a step.
func (m *Model) do(want, format string, args ...any) *Step {
	line := fmt.Sprintf(format, args...)
	if m.Remote {
		line = fmt.Sprintf("@%d %s", m.me.id, line)
	}
	m.Steps = append(m.Steps, Step{Line: line, Want: want})
	return &m.Steps[len(m.Steps)-1]
}

// on notes a step that names an operand.
func (m *Model) on(o operand, want, format string, args ...any) {
	s := m.do(want, format, args...)
	s.Stale = o.stale
}

// settle tells the machine which handles died, so that it can tell reuse of their
// memory from memory that was given out twice.
func (m *Model) settle() {
	for k, h := range m.handles {
		if !h.told && h.gone() {
			h.told = true
			m.Steps = append(m.Steps, Step{Line: fmt.Sprintf("dead %d", k), Want: "."})
		}
	}
	if m.Remote && m.deaths > m.noticed {
		m.poll(nil)
	}
	m.noticed = m.deaths
}

// poll lets the threads notice what others left for them. What ended on the wrong
// thread is gone only then; all else has to be the same before and after.
func (m *Model) poll(*rapid.T) { m.Steps = append(m.Steps, Step{Line: "poll", Want: "."}) }
