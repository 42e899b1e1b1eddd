package timeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func (s *script) held(address uint64, by string, from uint64, site int) {
	s.event("held", "i", 9, fmt.Sprintf(`,"s":"t","sf":%d,"args":{"address":"%#x","by":%q,"from":"%#x"}`, site, address,
		by, from))
}

func TestWhoHoldsABlock(t *testing.T) {
	s := training()
	const node, vec, leaf, gone = heapAt + 64*mib, heapAt + 65*mib, heapAt + 66*mib, heapAt + 67*mib
	s.alloc(3, node, 16, "object", "Node", 1)
	s.alloc(4, vec, 32, "object", "Vec", 2)
	s.alloc(5, leaf, 100, "object", "", 3)
	s.alloc(6, gone, 100, "object", "", 3)
	s.free(7, gone)
	s.held(leaf, "element 3", vec, 0)
	s.held(vec, "field at offset 8", node, 0)
	s.held(node, "scope, thread 7", 0, 9)
	s.held(node, "acquired", 0, 0)
	s.held(gone, "nobody", 0, 0)
	trace := s.trace(t)
	assert.Equal(t, "element 3 of Vec, forward.py:14\nfield at offset 8 of Node, weights.py:3\n"+
		"scope, thread 7, entered at main\nacquired", trace.heldBy(trace.left[leaf]))
	told := 0
	for _, b := range trace.Blocks {
		if trace.heldBy(b) != "" {
			told++
		}
	}
	assert.Equal(t, 3, told, "what was released is held by nobody")
	page := textOf(t, trace)
	assert.Contains(t, page, `"field at offset 8 of Node, weights.py:3\nscope`)

	s.held(node, "field at offset 8", leaf, 0) // a ring, as only others write
	trace = s.trace(t)
	trace.left[node].holders = trace.left[node].holders[2:]
	assert.LessOrEqual(t, strings.Count(trace.heldBy(trace.left[leaf]), "\n"), mostHolders)
}
