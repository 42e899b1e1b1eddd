package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/ianlancetaylor/demangle"

	"tlruntime/runtime/observe/source"
)

// located is a frame as a trace tells it while the process runs: with a name, or as a place in a module.
type located struct {
	Name, File string
	Line       int
	Module     string
	Offset     string // in hexadecimal: doubles do not hold all
	Stamp      string // of the module, as source.Stamp has it
}

// mostUnwritten is what the trace of a killed process lacks (package trace), and some more for a slow disk.
const mostUnwritten = 5 * time.Second

// resolver finds the functions of places in the files of modules.
type resolver struct {
	files   source.Files
	symbols source.Symbols
	jitted  source.PerfMap
	known   map[located][]frame
}

// resolve makes frames of places, as the end of a trace would have them. A module that is not there any more, or is
// another file now, leaves places, and so does a perf map that was changed after the end of the trace.
func resolve(stacks map[uint32][]located, pid uint64, end time.Time) map[string]frame {
	r := resolver{jitted: source.PerfMapOf(int(pid)), known: map[located][]frame{}}
	r.jitted.Until = end.Add(mostUnwritten)
	defer r.symbols.Forget()
	frames := map[string]frame{}
	callers := map[frame]string{}
	for _, site := range slices.Sorted(maps.Keys(stacks)) {
		var all []frame
		for _, f := range stacks[site] {
			all = append(all, r.at(f)...)
		}
		if len(all) == 0 {
			all = []frame{{Name: "[unknown]"}}
		}
		parent := ""
		for _, f := range slices.Backward(all[1:]) {
			f.Parent = parent
			if callers[f] == "" {
				callers[f] = "caller " + strconv.Itoa(len(callers))
				frames[callers[f]] = f
			}
			parent = callers[f]
		}
		all[0].Parent = parent
		frames[strconv.Itoa(int(site))] = all[0]
	}
	return frames
}

// at returns the functions of a place, innermost first.
func (r *resolver) at(f located) []frame {
	if f.Module == "" {
		name := f.Name
		if address, err := strconv.ParseUint(name, 0, 64); err == nil { // of code that no file has
			name = cmp.Or(r.jitted.Function(address), name)
		}
		return []frame{{Name: name, File: f.File, Line: f.Line}}
	}
	all, known := r.known[f]
	if !known {
		all = r.find(f)
		r.known[f] = all
	}
	return slices.Clone(all)
}

func (r *resolver) find(f located) (all []frame) {
	place := fmt.Sprintf("%s+%s", filepath.Base(f.Module), f.Offset)
	offset, err := strconv.ParseUint(f.Offset, 0, 64)
	if err != nil || f.Stamp == "" || source.Stamp(f.Module) != f.Stamp {
		return []frame{{Name: place}}
	}
	symbol := r.symbols.Function(f.Module, offset)
	for _, in := range r.files.Frames(f.Module, offset, symbol) {
		all = append(all, frame{Name: cmp.Or(demangle.Filter(in.Function), place), File: in.File, Line: in.Line})
	}
	if len(all) > 0 {
		return all
	}
	if symbol != "" {
		place = fmt.Sprintf("%s (%s)", demangle.Filter(symbol), place)
	}
	return []frame{{Name: place}}
}
