package trace

// open is what has begun and not ended yet, in the file's view: what began before the
// trace, or was dropped, is not in it, and neither is its end.
type open struct {
	scopes map[uint32][]scope // by context, innermost last
	tags   map[tagKey]tag
	number uint64 // of the newest tag
	chunks map[uint64]bool
}

type scope struct {
	name    string
	thread  uint32
	written bool
}

type tagKey struct{ context, depth uint32 }

type tag struct {
	name   string
	thread uint32
	number uint64
}

func (o *open) clear() {
	*o = open{scopes: map[uint32][]scope{}, tags: map[tagKey]tag{}, chunks: map[uint64]bool{}}
}

// Begin tells that a context has opened something. tags are those that hold.
func Begin(context uint32, name, tags string) {
	with(func(r *recording) {
		s := scope{name: name, written: !r.full()}
		if s.written {
			s.thread = r.thread(context, 0)
			r.begin(name, "B", s.thread)
			if tags != "" {
				r.args()
				r.text("tag", tags)
			}
			r.end()
		}
		r.open.scopes[context] = append(r.open.scopes[context], s)
	})
}

// End tells that a context has closed what it opened last.
func End(context uint32) {
	with(func(r *recording) {
		all := r.open.scopes[context]
		if len(all) == 0 {
			return // opened before the trace
		}
		s := all[len(all)-1]
		r.open.scopes[context] = all[:len(all)-1]
		s.end(r)
	})
}

func (s scope) end(r *recording) {
	if s.written {
		r.begin(s.name, "E", s.thread)
		r.end()
	}
}

// TagPushed tells that a context has pushed a tag, at that depth of its tags.
func TagPushed(context, depth uint32, name string) {
	with(func(r *recording) {
		if r.full() {
			return
		}
		r.open.number++
		t := tag{name, r.thread(context, 0), r.open.number}
		r.open.tags[tagKey{context, depth}] = t
		t.write(r, "b")
	})
}

// TagPopped tells that the tag at that depth has ended.
func TagPopped(context, depth uint32) {
	with(func(r *recording) {
		key := tagKey{context, depth}
		if t, begun := r.open.tags[key]; begun {
			delete(r.open.tags, key)
			t.write(r, "e")
		}
	})
}

func (t tag) write(r *recording, phase string) {
	r.begin(t.name, phase, t.thread)
	r.text("cat", "tag")
	r.number("id", t.number)
	r.end()
}

// mostOpen bounds the ends that stand behind a part of the file: they are written anew
// with each. A file that nobody completes lacks those of deeper recursions.
const mostOpen = 4096

// closeAll writes the ends of what is open, which it goes on being.
func (o *open) closeAll(r *recording, complete bool) {
	scopes := 0
	for _, all := range o.scopes {
		scopes += len(all)
	}
	if scopes > mostOpen && !complete {
		return
	}
	for _, all := range o.scopes {
		for i := len(all) - 1; i >= 0; i-- {
			all[i].end(r)
		}
	}
	for _, t := range o.tags {
		t.write(r, "e")
	}
}
