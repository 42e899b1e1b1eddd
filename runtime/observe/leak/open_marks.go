package leak

import (
	"fmt"
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/track"
)

// marks is scopes, functions and planned frames that were never left.
type marks struct {
	ofThreads int64 // of threads that have ended
	ofCaller  int64 // of the thread that ends the process
	newest    string
	site      uint32 // where it was entered, 0 = not known
}

// add counts what a context has open.
func (m *marks) add(c *object.Context, count *int64) {
	n := c.OpenMarks()
	if n == 0 {
		return
	}
	*count += int64(n)
	m.newest, m.site = c.MarkName(n-1), track.EnteredAt(layout.Address(c), n-1)
}

// OpenAtEnd tells of what is open at the end of the process, "" of nothing, and how much of it threads that have ended
// have left. What the thread that ends the process has open may be right: it may have called exit in the middle.
func OpenAtEnd(c *object.Context) (text string, ofThreads int64) {
	leftOpen.mu.Lock()
	m := leftOpen.marks
	leftOpen.mu.Unlock()
	object.EachContext(func(other *object.Context) {
		if atomic.LoadUint64(&other.Word)&layout.CtxState == layout.CtxParked {
			m.add(other, &m.ofThreads)
		}
	})
	m.add(c, &m.ofCaller)
	switch {
	case m.ofThreads+m.ofCaller == 0:
		return "", 0
	case m.ofThreads == 0:
		text = open(m.ofCaller, "are") + atEnd
	case m.ofCaller == 0:
		text = open(m.ofThreads, "were") + " when their threads ended"
	default:
		text = open(m.ofCaller, "are") + atEnd + fmt.Sprintf(", and %d when their threads ended", m.ofThreads)
	}
	text += "; the newest is a " + m.newest
	if m.site == 0 {
		return text + ", and TL_DEBUG=1 tells where it was entered", m.ofThreads
	}
	return text + ", entered at\n" + Brief(m.site), m.ofThreads
}

const atEnd = " at the end of the process"

// open tells how many scopes and frames are open, or were.
func open(n int64, verb string) string {
	if n == 1 {
		return "one scope or frame " + map[string]string{"are": "is", "were": "was"}[verb] + " open"
	}
	return fmt.Sprintf("%d scopes or frames %s open", n, verb)
}
