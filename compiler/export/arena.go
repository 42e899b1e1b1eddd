package export

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"tlruntime/compiler/plan"
)

// ArenaVersion is the number under "tl_arena" in the JSON form of an arena. It changes
// when a reader of the former version would misunderstand the new one.
const ArenaVersion = 1

type stateForm struct {
	Name   string  `json:"name"`
	DType  string  `json:"dtype"`
	Shape  []int64 `json:"shape"`
	Bytes  int64   `json:"bytes"`
	Offset int64   `json:"offset"`
}

// WriteArenaJSON writes an arena: its states, and the plan of each entry in the form of
// WriteJSON, whose offsets count from the arena's start. The rules of WriteJSON hold.
func WriteArenaJSON(w io.Writer, a *plan.Arena, content Content) error {
	if a == nil {
		return errors.New("tl_arena: there is no arena (nil) to write")
	}
	out := bufio.NewWriter(w)
	name, err := compact(a.Name)
	if err != nil {
		return fmt.Errorf("tl_arena: %w", err)
	}
	fmt.Fprintf(out, "{\n\"tl_arena\": %d,\n\"name\": %s,\n\"bytes\": %d,\n\"alignment\": %d,\n\"state_bytes\": %d,\n"+
		"\"separate_bytes\": %d", ArenaVersion, name, a.Bytes, a.Alignment, a.StateBytes, a.SeparateBytes)
	states := []stateForm{}
	for _, s := range a.States {
		states = append(states, stateForm{s.Name, s.DType.String(), full(s.Shape), s.Bytes, s.Offset})
	}
	if err := writeList(out, "states", states); err != nil {
		return err
	}
	out.WriteString(",\n\"entries\": [")
	separator := "\n"
	for _, p := range a.Entries {
		form, err := formOf(p, content)
		if err != nil {
			return fmt.Errorf("tl_arena: entry %q: %w", p.Name, err)
		}
		out.WriteString(separator)
		if err := writeForm(out, form); err != nil {
			return err
		}
		separator = ","
	}
	out.WriteString("]\n}\n")
	return out.Flush()
}

// WriteArenaHeader writes a C header with the size of an arena, the place of each state,
// and what WriteHeader writes for each entry, whose OFFSETs count from the arena's start.
//
//	PREFIX_ARENA_BYTES, PREFIX_ARENA_ALIGNMENT, PREFIX_STATE_BYTES
//	PREFIX_STATE_<name>_OFFSET, PREFIX_STATE_<name>_BYTES
//
// Prefix is the arena's name when it is empty. The macros of an entry begin with the
// prefix and its name, or with its name alone when the prefix is empty.
func WriteArenaHeader(w io.Writer, a *plan.Arena, prefix string) error {
	if a == nil {
		return errors.New("header: there is no arena (nil) to write")
	}
	whole := macroPrefix(prefix)
	if prefix == "" {
		whole = macroPrefix(a.Name)
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, `/* The arena of %[1]s: one block of memory in which %[2]d computations run in turns.
 *
 * States keep their content between calls and lie at the same place for all. What lies
 * behind them is the scratch of whichever computation runs. The arena needs ARENA_BYTES
 * bytes at a multiple of ARENA_ALIGNMENT; separate plans take %[3]s together. */
#ifndef %[4]s_ARENA_H
#define %[4]s_ARENA_H

#define %[4]s_ARENA_BYTES %[5]d
#define %[4]s_ARENA_ALIGNMENT %[6]d
#define %[4]s_STATE_BYTES %[7]d
`, comment(a.Name), len(a.Entries), size(a.SeparateBytes), whole, a.Bytes, a.Alignment, a.StateBytes)
	names := uniqueNames{}
	for i := range a.States {
		s := &a.States[i]
		macro := whole + "_STATE_" + names.claim(s.Name)
		fmt.Fprintf(out, "\n/* %s: state, %s %v */\n#define %s_OFFSET %d\n#define %[4]s_BYTES %[6]d\n", comment(s.Name),
			s.DType, full(s.Shape), macro, s.Offset, s.Bytes)
	}
	fmt.Fprintf(out, "\n#endif /* %s_ARENA_H */\n", whole)
	if err := out.Flush(); err != nil {
		return err
	}
	for _, p := range a.Entries {
		name := p.Name
		if prefix != "" {
			name = prefix + "_" + name
		}
		fmt.Fprintln(out)
		if err := out.Flush(); err != nil {
			return err
		}
		if err := WriteHeader(w, p, name); err != nil {
			return err
		}
	}
	return nil
}
