package main

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

func stories() []*story {
	return []*story{scopeStory(), fieldStory(), returnStory(), givenStory(), takenStory(), passedStory()}
}

// made turns a pointer into a status, after noting it as object i.
func (w *world) made(i int, p uintptr) status.Status {
	w.p[i] = p
	if p == 0 {
		return status.OutOfMemory
	}
	return status.OK
}

// leave leaves a scope as the C function does, which looks into the inbox, too.
func leave(c *object.Context) status.Status {
	st := c.ExitScope()
	c.Poll()
	return st
}

func held(by ...string) []string { return by }

func scopeStory() *story {
	return &story{name: "scope", title: "One object, its scope and its user", objects: []string{"p"}, steps: []step{
		{"", "p = alloc", "nobody holds it yet", func(w *world) status.Status {
			w.a.EnterScope()
			return w.made(0, w.a.Alloc(64))
		}, [][]string{held(floating)}},
		{"", "register(p)", "the scope takes it", func(w *world) status.Status { return w.a.Register(w.p[0]) },
			[][]string{held("scope")}},
		{"", "acquire(p)", "one more", func(w *world) status.Status { return w.a.Acquire(w.p[0]) },
			[][]string{held("scope", "user")}},
		{"", "unregister(p)", "same count", func(w *world) status.Status { return w.a.Unregister(w.p[0]) },
			[][]string{held(floating, "user")}},
		{"", "exit_scope", "finds nothing of p", func(w *world) status.Status { return leave(w.a) },
			[][]string{held(floating, "user")}},
		{"", "release(p)", "a held one first", func(w *world) status.Status { return w.a.Release(w.p[0]) },
			[][]string{held(floating)}},
		{"", "release(p)", "then a floating one", func(w *world) status.Status { return w.a.Release(w.p[0]) },
			[][]string{held()}},
	}}
}

func fieldStory() *story {
	return &story{name: "field", title: "Point{x: a}, returned", objects: []string{"a", "p"}, steps: []step{
		{"point()", "a = new", "", func(w *world) status.Status {
			w.a.EnterScope()
			w.a.FunctionEnter(0)
			return w.made(0, w.a.New(64))
		}, [][]string{held("scope"), held()}},
		{"point()", "p = object_new", "a Point", func(w *world) status.Status {
			return w.made(1, w.a.ObjectNew(w.typ))
		},
			[][]string{held("scope"), held("scope")}},
		{"point()", "p->x = a", "acquire(a)", func(w *world) status.Status {
			*object.Field(w.p[1], 0) = w.p[0]
			return w.a.Acquire(w.p[0])
		}, [][]string{held("scope", "p->x"), held("scope")}},
		{"point()", "unregister(p)", "a is not touched", func(w *world) status.Status { return w.a.Unregister(w.p[1]) },
			[][]string{held("scope", "p->x"), held(floating)}},
		{"point()", "function_exit", "releases a once", func(w *world) status.Status { return w.a.FunctionExit() },
			[][]string{held("p->x"), held(floating)}},
		{"its caller", "register(p)", "", func(w *world) status.Status { return w.a.Register(w.p[1]) },
			[][]string{held("p->x"), held("scope")}},
		{"its caller", "exit_scope", "p goes, then p->x", func(w *world) status.Status { return leave(w.a) },
			[][]string{held(), held()}},
	}}
}

func returnStory() *story {
	return &story{name: "return", title: "Returned through two functions: the count stays 1, the holder changes",
		objects: []string{"x"}, steps: []step{
			{"inner()", "x = new", "", func(w *world) status.Status {
				w.a.EnterScope()
				w.a.FunctionEnter(0)
				w.a.FunctionEnter(0)
				return w.made(0, w.a.New(64))
			}, [][]string{held("inner's scope")}},
			{"inner()", "unregister(x)", "", func(w *world) status.Status { return w.a.Unregister(w.p[0]) },
				[][]string{held(floating)}},
			{"inner()", "function_exit", "return x", func(w *world) status.Status { return w.a.FunctionExit() },
				[][]string{held(floating)}},
			{"middle()", "register(x)", "", func(w *world) status.Status { return w.a.Register(w.p[0]) },
				[][]string{held("middle's scope")}},
			{"middle()", "unregister(x)", "", func(w *world) status.Status { return w.a.Unregister(w.p[0]) },
				[][]string{held(floating)}},
			{"middle()", "function_exit", "return x", func(w *world) status.Status { return w.a.FunctionExit() },
				[][]string{held(floating)}},
			{"main()", "register(x)", "", func(w *world) status.Status { return w.a.Register(w.p[0]) },
				[][]string{held("main's scope")}},
			{"main()", "exit_scope", "", func(w *world) status.Status { return leave(w.a) },
				[][]string{held()}},
		}}
}

func givenStory() *story {
	return &story{name: "given", title: "A gives B a reference: the last release waits for the owner, A",
		objects: []string{"p"}, steps: []step{
			{"thread A", "p = new", "A owns p", func(w *world) status.Status {
				w.a.EnterScope()
				return w.made(0, w.a.New(64))
			}, [][]string{held("A's scope")}},
			{"thread A", "acquire(p)", "on behalf of B", func(w *world) status.Status { return w.a.Acquire(w.p[0]) },
				[][]string{held("A's scope", "B")}},
			{"thread A", "exit_scope", "", func(w *world) status.Status { return leave(w.a) }, [][]string{held("B")}},
			{"thread B", "release(p)", "B cannot free it", func(w *world) status.Status { return w.b.Release(w.p[0]) },
				[][]string{held(inbox)}},
			{"thread A", "exit_scope", "empties the inbox", func(w *world) status.Status {
				w.a.EnterScope()
				return leave(w.a)
			}, [][]string{held()}},
		}}
}

func takenStory() *story {
	return &story{name: "taken", title: "B takes a reference itself: the last release frees at once",
		objects: []string{"p"}, steps: []step{
			{"thread A", "p = new", "A owns p", func(w *world) status.Status {
				w.a.EnterScope()
				return w.made(0, w.a.New(64))
			}, [][]string{held("A's scope")}},
			{"thread B", "acquire(p)", "in the shared word", func(w *world) status.Status {
				return w.b.Acquire(w.p[0])
			},
				[][]string{held("A's scope", "B")}},
			{"thread A", "exit_scope", "A's last: bias ends", func(w *world) status.Status { return leave(w.a) },
				[][]string{held("B")}},
			{"thread B", "release(p)", "freed here", func(w *world) status.Status { return w.b.Release(w.p[0]) },
				[][]string{held()}},
		}}
}

func passedStory() *story {
	return &story{name: "passed", title: "A passes a floating reference: the count stays 1",
		objects: []string{"p"}, steps: []step{
			{"thread A", "p = alloc", "A owns p", func(w *world) status.Status { return w.made(0, w.a.Alloc(64)) },
				[][]string{held(floating)}},
			{"thread B", "register(p)", "B takes it", func(w *world) status.Status {
				w.b.EnterScope()
				return w.b.Register(w.p[0])
			}, [][]string{held("B's scope")}},
			{"thread B", "exit_scope", "B cannot free it", func(w *world) status.Status { return leave(w.b) },
				[][]string{held(inbox)}},
			{"thread A", "exit_scope", "empties the inbox", func(w *world) status.Status {
				w.a.EnterScope()
				return leave(w.a)
			}, [][]string{held()}},
		}}
}
