package export

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"tlruntime/compiler/plan"
)

// WriteHeader writes a C header with the plan's frame and the place of each of its
// buffers, as macros whose values are plain decimal constants: they serve in #if,
// in C from C99, in C++ from C++11, and in assembly.
//
// Macros begin with prefix, or with the plan's name when prefix is empty, in upper
// case, with an underscore for whatever is no letter or digit:
//
//	PREFIX_FRAME_BYTES, PREFIX_FRAME_ALIGNMENT
//	PREFIX_<buffer>_OFFSET   for buffers in the frame
//	PREFIX_<buffer>_BYTES    for every buffer
//
// A plan with symbols (plan.Symbolic) has functions too, for C and C++: prefix_offsets and
// prefix_frame_bytes, in lower case, of the symbols' numbers.
//
// Buffers whose names become equal get _2, _3 and so on, in the plan's order. The
// plan stays the caller's; an error is w's, or tells that there is no plan.
func WriteHeader(w io.Writer, p *plan.ExecutionPlan, prefix string) error {
	if p == nil {
		return errors.New("header: there is no plan (nil) to write")
	}
	if prefix == "" {
		prefix = p.Name
	}
	prefix = macroPrefix(prefix)
	out := bufio.NewWriter(w)
	writeFrame(out, p, prefix)
	// FRAME is what the frame's own macros are called.
	names := uniqueNames{"FRAME": 1}
	words := make([]string, len(p.Buffers))
	for i := range p.Buffers {
		b := &p.Buffers[i]
		words[i] = prefix + "_" + names.claim(b.Name)
		writeBuffer(out, b, words[i])
	}
	if p.Symbolic != nil {
		writeSymbolic(out, p, prefix, words)
	}
	fmt.Fprintf(out, "\n#endif /* %s_FRAME_H */\n", prefix)
	return out.Flush()
}

func writeFrame(out *bufio.Writer, p *plan.ExecutionPlan, prefix string) {
	fmt.Fprintf(out, `/* The memory frame of %[1]s: where its buffers lie in one block of memory.
 *
 * Written by the planner of TL Runtime from an execution plan of %[2]d instructions and
 * %[3]d buffers. Write it again when the plan changes; what is changed here by hand is lost.
 *
 * A buffer begins at the frame's address plus its OFFSET. The frame needs FRAME_BYTES bytes
 * at a multiple of FRAME_ALIGNMENT. Buffers that are never alive together may share bytes:
 * the steps beside each name tell when its content holds. Buffers without an OFFSET are the
 * caller's or the module's.
 *
 * Frame: %[4]s (%[5]s). A buffer for each value: %[6]s. */
#ifndef %[7]s_FRAME_H
#define %[7]s_FRAME_H

#define %[7]s_FRAME_BYTES %[8]d
#define %[7]s_FRAME_ALIGNMENT %[9]d
`, comment(p.Name), len(p.Instructions), len(p.Buffers), size(p.Frame.Bytes), quality(&p.Frame),
		size(p.Frame.NaiveBytes), prefix, p.Frame.Bytes, p.Frame.Alignment)
}

func writeBuffer(out *bufio.Writer, b *plan.Buffer, macro string) {
	fmt.Fprintf(out, "\n/* %s: %s, %s %v, steps %d to %d */\n", comment(b.Name), KindName(b.Kind), b.DType,
		full(b.Shape),
		b.First, b.Last)
	if b.Offset >= 0 {
		fmt.Fprintf(out, "#define %s_OFFSET %d\n", macro, b.Offset)
	}
	fmt.Fprintf(out, "#define %s_BYTES %d\n", macro, b.Bytes)
}

func quality(f *plan.Frame) string {
	if f.Optimal {
		return "no placement is smaller"
	}
	return "no placement is below " + size(f.LowerBound)
}

func size(bytes int64) string { return humanize.IBytes(uint64(max(bytes, 0))) }

// comment quotes text so that it cannot end a comment, open another, splice lines,
// or reorder them in an editor.
func comment(text string) string {
	quoted := strconv.QuoteToASCII(text)
	return strings.NewReplacer("*/", "* /", "/*", "/ *", "??", "? ?").Replace(quoted)
}

// longestMacro bounds a buffer's part of a macro's name: compilers bound identifiers
// as well, some at two thousand characters.
const longestMacro = 200

// macroWord turns text into an upper-case part of an identifier. Underscores stand
// alone, as C++ reserves two in a row.
func macroWord(text string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToUpper(text) {
		if (r < 'A' || r > 'Z') && (r < '0' || r > '9') {
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte('_')
		}
		gap = false
		b.WriteRune(r)
		if b.Len() >= longestMacro {
			break
		}
	}
	return b.String()
}

// macroPrefix is macroWord for the first part of an identifier.
func macroPrefix(text string) string {
	word := macroWord(text)
	switch {
	case word == "":
		return "MODEL"
	case word[0] <= '9':
		return "MODEL_" + word
	}
	return word
}

// uniqueNames are the parts of macro names that are taken, each with the number to
// try for the next buffer of that name.
type uniqueNames map[string]int

// claim returns a part that nobody else has. Parts that differ give macros that
// differ: all macros of a part are it and one of two endings.
func (u uniqueNames) claim(name string) string {
	word := macroWord(name)
	if word == "" {
		word = "BUFFER"
	}
	free := word
	for u[free] != 0 {
		u[word] = max(u[word], 1) + 1
		free = word + "_" + strconv.Itoa(u[word])
	}
	u[free] = 1
	return free
}
