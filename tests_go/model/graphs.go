package model

import (
	"fmt"

	"pgregory.net/rapid"
)

// deepClone copies what an object refers to, each object once. Foreign memory is
// shared by count.
func (m *Model) deepClone(t *rapid.T) {
	o := m.draw(t, wantAny)
	want, k := "0 "+o.refusal(), m.next()
	switch o.at {
	case stack:
		want = "0 15"
	case stackMaybe:
		want = "0 4|15"
	case alive:
		graph := reachable(o.object)
		if m.Remote || len(graph) > 40 || holdsRegions(graph) {
			return
		}
		if len(graph) > 1 {
			m.forgetStale()
		}
		want = m.cloneOf(o.object, graph) + " 0"
	}
	m.on(o, want, "deep_clone %d %s", k, o.text)
}

// reachable lists what a container refers to, itself first.
func reachable(o *object) []*object {
	seen := map[*object]bool{o: true}
	list := []*object{o}
	for i := 0; i < len(list); i++ {
		for _, r := range list[i].refs {
			if r.object != nil && !seen[r.object] {
				seen[r.object] = true
				list = append(list, r.object)
			}
		}
	}
	return list
}

func holdsRegions(graph []*object) bool {
	for _, o := range graph {
		for _, r := range o.refs {
			if r.region != nil {
				return true
			}
		}
	}
	return false
}

func (m *Model) cloneOf(root *object, graph []*object) string {
	if root.kind == foreign {
		root.count++
		m.me.entries = append(m.me.entries, root)
		return m.bindObject(root)
	}
	copies := map[*object]*object{}
	for _, o := range graph {
		copies[o] = o
		if o.kind != foreign {
			copies[o] = m.add(&object{kind: o.kind, typ: o.typ, bytes: o.bytes, content: o.content})
		}
	}
	for _, o := range graph {
		for _, r := range o.refs {
			child := copies[r.object]
			if child != nil {
				child.retain()
			}
			copies[o].refs = append(copies[o].refs, ref{object: child})
		}
	}
	copies[root].count++
	m.me.entries = append(m.me.entries, copies[root])
	return m.bindObject(copies[root])
}

// collect frees the containers of this thread that nothing outside refers to.
func (m *Model) collect(*rapid.T) {
	if m.Remote {
		return
	}
	garbage := m.garbage()
	before := m.deaths
	if len(garbage) > 0 {
		m.forgetStale()
	}
	for _, o := range garbage {
		o.state = ended
	}
	for _, o := range garbage {
		m.die(o)
	}
	m.do(fmt.Sprintf("%d..%d 0", len(garbage), m.deaths-before), "collect")
}

// garbage returns the containers that are held by one another alone: those that no
// container with a reference from elsewhere reaches. What was ever shared counts as
// held.
func (m *Model) garbage() (list []*object) {
	candidates, inner := map[*object]bool{}, map[*object]int{}
	for _, o := range m.objects {
		candidates[o] = (o.kind == typed || o.kind == vec) && o.state == live && !o.shared && !o.immortal &&
			o.owner == m.me
	}
	for _, o := range m.objects {
		for _, r := range o.refs {
			if candidates[o] && r.object != nil {
				inner[r.object]++
			}
		}
	}
	for _, o := range m.objects {
		if candidates[o] && o.count > inner[o] {
			for _, kept := range reachable(o) {
				delete(candidates, kept)
			}
		}
	}
	for _, o := range m.objects {
		if candidates[o] {
			list = append(list, o)
		}
	}
	return list
}
