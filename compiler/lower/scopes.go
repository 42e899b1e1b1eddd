package lower

import "tlruntime/compiler/lower/flow"

// findScopes decides which scopes the runtime has to open: those in which something
// is registered. A statement has one of its own only when its target is changed in
// parts afterwards, because then a reference that a scope still has would force a
// copy.
func (f *function) findScopes() {
	inParts := flow.NewSet(len(f.Vars))
	f.Each(func(o *flow.Op) {
		if o.Updates() {
			inParts.Add(o.Dst)
		}
	})
	for i := range f.Scopes {
		if s := &f.Scopes[i]; s.Kind == flow.StatementScope {
			s.Runtime = f.owned(s.Target) && inParts.Has(s.Target)
		}
	}
	f.registers = make([]bool, len(f.Scopes))
	f.Each(func(o *flow.Op) {
		if o.Dst != flow.NoVar && f.kinds[o.Dst] == Held {
			f.registers[f.RuntimeScope(o.Scope)] = true
		}
	})
}

// opens tells whether the runtime opens a scope other than the function's.
func (f *function) opens(scope int) bool {
	return scope != 0 && f.Scopes[scope].Runtime && f.registers[scope]
}

// hasFrame tells whether the function needs a frame of the runtime: for slots, for
// what it registers, and so that one exit closes all scopes in it.
func (f *function) hasFrame() bool {
	for _, r := range f.registers {
		if r {
			return true
		}
	}
	return len(f.Slots) > 0
}
