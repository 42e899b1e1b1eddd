package llvm

import (
	"cmp"
	"fmt"
	"strings"

	"tlruntime/compiler/plan"
)

// ArenaModule returns one module with a function for each entry of an arena, of the kind
// that Caller says: the caller's scratch is the arena. Functions are called as the
// entries, with Options.Name and _ in front where that is set. Entries share kernels and
// embedded constants that are equal.
//
// A state is not given by arrays: its entry among inputs and outputs is not looked at.
// Errors are those of Module, and name the entry.
func ArenaModule(a *plan.Arena, o Options) (string, error) {
	list, err := functionsOf(a, o)
	if err != nil {
		return "", err
	}
	for i, m := range list {
		if err := m.function(); err != nil {
			return "", fmt.Errorf("entry %q: %w", a.Entries[i].Name, err)
		}
	}
	return list[0].text(arenaName(a, o)), nil
}

// functionsOf places what each entry needs, all in one text.
func functionsOf(a *plan.Arena, o Options) ([]*module, error) {
	if len(a.Entries) == 0 {
		return nil, fmt.Errorf("the arena has no entries")
	}
	prefix, u := o.Name, newUnit()
	if prefix != "" {
		prefix += "_"
	}
	var list []*module
	taken := map[string]string{}
	for _, p := range a.Entries {
		o.Memory, o.Name = Caller, prefix+p.Name
		m, err := newModule(p, o, u)
		if err == nil && p.Outside > 0 {
			err = fmt.Errorf("it moves values to a second space, and an arena has none")
		}
		if err != nil {
			return nil, fmt.Errorf("entry %q: %w", p.Name, err)
		}
		if other, twice := taken[m.name]; twice {
			return nil, fmt.Errorf("entries %q and %q both become function %s; call one of them otherwise", other, p.Name,
				m.name)
		}
		taken[m.name] = p.Name
		list = append(list, m)
	}
	return list, nil
}

func arenaName(a *plan.Arena, o Options) string {
	return nameOf(&plan.ExecutionPlan{Name: cmp.Or(a.Name, "arena")}, o)
}

// ArenaHeader returns a C header for what ArenaModule defines: how large the arena is,
// where each state lies in it, and the functions.
func ArenaHeader(a *plan.Arena, o Options) (string, error) {
	list, err := functionsOf(a, o)
	if err != nil {
		return "", err
	}
	name := arenaName(a, o)
	return guarded(name+"_arena", func(b *strings.Builder) {
		fmt.Fprintf(b, "#define %s_ARENA_BYTES %d\n#define %[1]s_ARENA_ALIGNMENT %[3]d\n\n#define %[1]s_STATES %[4]d\n", name,
			a.Bytes, list[0].alignment(), len(a.States))
		for i, s := range a.States {
			fmt.Fprintf(b, "#define %s_STATE%d_OFFSET %d /* %s: %s %v */\n#define %[1]s_STATE%[2]d_BYTES %[7]d\n", name, i,
				s.Offset, plainText(s.Name), s.DType, s.Shape, s.Bytes)
		}
		for _, m := range list {
			info := m.describe()
			b.WriteString("\n")
			declareFunction(b, &info)
		}
	}), nil
}
