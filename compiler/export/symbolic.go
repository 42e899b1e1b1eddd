package export

import (
	"bufio"
	"fmt"
	"strings"

	"tlruntime/compiler/plan"
)

func symbolicOf(s *plan.Symbolic) *symbolicForm {
	if s == nil {
		return nil
	}
	f := &symbolicForm{Symbols: []symbolForm{}, Proved: s.Proved, Sizes: [][][]int64{}, Below: [][]int{}}
	for _, symbol := range s.Symbols {
		f.Symbols = append(f.Symbols, symbolForm(symbol))
	}
	for i := range s.Sizes {
		terms := [][]int64{}
		for _, t := range s.Sizes[i] {
			term := []int64{t.Coefficient}
			for _, power := range t.Powers {
				term = append(term, int64(power))
			}
			terms = append(terms, term)
		}
		f.Sizes, f.Below = append(f.Sizes, terms), append(f.Below, full(s.Below[i]))
	}
	return f
}

// symbolic is the header's part about symbols while it is written.
type symbolic struct {
	*bufio.Writer
	plan      *plan.ExecutionPlan
	prefix    string
	function  string // the prefix in lower case
	words     []string
	variables []string // of the symbols
	place     map[int]int
}

// writeSymbolic writes functions that compute the frame's size and the places of its
// buffers from the numbers of the symbols. Words are what the buffers' macros begin with.
func writeSymbolic(out *bufio.Writer, p *plan.ExecutionPlan, prefix string, words []string) {
	w := &symbolic{Writer: out, plan: p, prefix: prefix, function: strings.ToLower(prefix), words: words,
		place: map[int]int{}}
	names := uniqueNames{}
	for _, symbol := range p.Symbolic.Symbols {
		w.variables = append(w.variables, "n_"+strings.ToLower(names.claim(symbol.Name)))
	}
	w.about()
	for at, i := range p.FromBelow() {
		w.place[i] = at
		fmt.Fprintf(w, "#define %s_PLACE %d\n", words[i], at)
	}
	fmt.Fprintf(w, "#define %s_FRAME_PLACES %d\n\n#ifndef __ASSEMBLER__\n#include <stdint.h>\n\n", prefix, len(w.place))
	w.offsets()
	w.frameBytes()
	fmt.Fprintf(w, "#endif\n")
}

func (w *symbolic) about() {
	var ranges []string
	for i, s := range w.plan.Symbolic.Symbols {
		ranges = append(ranges, fmt.Sprintf(" *     %s (%s): %d to %d\n", w.variables[i], comment(s.Name), s.From, s.To))
	}
	compared := "All of these numbers were"
	if !w.plan.Symbolic.Proved {
		compared = "A sample of these numbers was"
	}
	fmt.Fprintf(w, `
/* The frame as a function of symbols:
%s * A lower number counts as the first one. %s compared with plans of their own.
 *
 * %s_offsets fills in where each buffer in the frame begins, under its PLACE, and returns
 * the frame's size. %[3]s_frame_bytes returns the size alone. */
`, strings.Join(ranges, ""), compared, w.function)
}

// places is the length of an array for all buffers in the frame, which C wants above 0.
func (w *symbolic) places() int { return max(len(w.place), 1) }

func (w *symbolic) parameters() string {
	text := ""
	for _, v := range w.variables {
		text += "int64_t " + v + ", "
	}
	return text
}

func (w *symbolic) offsets() {
	fmt.Fprintf(w, "static inline int64_t %s_offsets(%sint64_t* offsets)\n{\n\tint64_t frame = 0, end[%d];\n", w.function,
		w.parameters(), w.places())
	for i, s := range w.plan.Symbolic.Symbols {
		fmt.Fprintf(w, "\tif (%s < %d) %[1]s = %[2]d;\n", w.variables[i], s.From)
	}
	for at, i := range w.plan.FromBelow() {
		fmt.Fprintf(w, "\toffsets[%d] = 0;\n", at)
		for _, j := range w.plan.Symbolic.Below[i] {
			fmt.Fprintf(w, "\tif (end[%d] > offsets[%d]) offsets[%[2]d] = end[%[1]d];\n", w.place[j], at)
		}
		fmt.Fprintf(w, "\tend[%d] = offsets[%[1]d] + ((%s + %d) & ~(int64_t)%[3]d);\n", at,
			inC(w.plan.Symbolic.Sizes[i], w.variables), w.plan.Frame.Alignment-1)
		fmt.Fprintf(w, "\tif (end[%d] > frame) frame = end[%[1]d];\n", at)
	}
	fmt.Fprintf(w, "\t(void)end;\n\t(void)offsets;\n\treturn frame;\n}\n\n")
}

func (w *symbolic) frameBytes() {
	parameters, arguments := strings.TrimSuffix(w.parameters(), ", "), ""
	if parameters == "" {
		parameters = "void"
	}
	for _, v := range w.variables {
		arguments += v + ", "
	}
	fmt.Fprintf(w, "static inline int64_t %s_frame_bytes(%s)\n{\n\tint64_t offsets[%d];\n\treturn %[1]s_offsets(%[4]soffsets);\n}\n",
		w.function, parameters, w.places(), arguments)
}

// inC writes a size in C.
func inC(p plan.Polynomial, variables []string) string {
	if len(p) == 0 {
		return "0"
	}
	var terms []string
	for _, t := range p {
		term := fmt.Sprintf("(int64_t)%d", t.Coefficient)
		for s, power := range t.Powers {
			term += strings.Repeat(" * "+variables[s], power)
		}
		terms = append(terms, term)
	}
	return strings.Join(terms, " + ")
}
