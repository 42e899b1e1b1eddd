package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tlruntime/compiler/lower"
	"tlruntime/compiler/lower/flow"
	"tlruntime/compiler/lower/ir"
	"tlruntime/compiler/lower/llvm"
)

// lowering is one call of `tl lower`.
type lowering struct {
	output  string
	emit    string
	stats   io.Writer // nil: none are asked for
	options lower.Options
	module  llvm.Options
}

// unversioned is the dialect that is written where no version is named: every LLVM
// from this one on reads it.
const unversioned = 16

func lowerCommand() *cobra.Command {
	var l lowering
	var stats bool
	c := &cobra.Command{
		Use:   "lower FILE",
		Short: "Decides who holds which reference in a program, and writes it as LLVM IR",
		Long: "Reads functions over structs, vecs and tensors in the text form of docs/lowering-text.md, and writes " +
			"LLVM IR that\ncalls the runtime: borrows, moves at last uses, slots for tensors that stay. FILE may be - " +
			"for standard input.\n\nEvery error is a line FILE:LINE:COLUMN: MESSAGE on standard error.",
		Example: "  tl lower list.tl -o list.ll\n  compiler list.src | tl lower - --llvm 15 | clang-15 -x ir - -c -o " +
			"list.o",
		Args: takes(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			if stats {
				l.stats = c.ErrOrStderr()
			}
			return l.run(c, args[0])
		},
	}
	f := c.Flags()
	f.StringVarP(&l.output, "output", "o", "-", "`FILE` to write; - is standard output")
	f.StringVar(&l.emit, "emit", "llvm",
		"what is written: llvm, operations (of the runtime, for reading) or text (what was read, in its usual form)")
	f.IntVar(&l.module.Version, "llvm", unversioned,
		fmt.Sprintf("major version of LLVM that reads the module, %d to %d; newer ones read that of %d", llvm.Oldest,
			llvm.Newest, llvm.Newest))
	f.StringVar(&l.module.Init, "init", "module_init", "`NAME` of the function that defines the module's types")
	f.BoolVar(&l.module.Inline, "inline", false,
		"call the operations of tl_inline.ll, for a module that is linked with it")
	f.BoolVar(&stats, "stats", false, "write what counting costs each function to standard error")
	f.BoolVar(&l.options.Cells, "cells", false,
		"make structs cells, whose counts are in front of them, except those in vecs and of other modules")
	f.BoolVar(&l.options.NoReuse, "no-reuse", false, "with --cells, allocate new memory for every cell")
	f.BoolVar(&l.options.NoMoves, "no-moves", false, "acquire every reference that is stored")
	f.BoolVar(&l.options.NoBorrows, "no-borrows", false, "give every variable a reference")
	f.BoolVar(&l.options.NoSlots, "no-slots", false, "allocate every tensor on the heap")
	f.BoolVar(&l.options.NoCancel, "no-cancel", false, "keep pairs of an acquire and a release that cancel out")
	return c
}

func (l *lowering) run(c *cobra.Command, path string) error {
	if err := l.check(); err != nil {
		return err
	}
	if err := spare([]string{path}, l.output); err != nil {
		return err
	}
	text, err := readText(c.InOrStdin(), path)
	if err != nil {
		return err
	}
	program, source, err := ir.ParseSource(string(text))
	if err == nil {
		var written string
		if written, err = l.write(program); err == nil {
			return l.save(c.OutOrStdout(), written)
		}
	}
	found := source.Locate(path, err)
	for _, e := range found {
		fmt.Fprintln(c.ErrOrStderr(), e)
	}
	if len(found) == 1 {
		return fmt.Errorf("%s has an error", path)
	}
	return fmt.Errorf("%s has %d errors", path, len(found))
}

// check refuses what no file is needed to refuse.
func (l *lowering) check() error {
	if l.emit != "llvm" && l.emit != "operations" && l.emit != "text" {
		return fmt.Errorf("--emit %s: choose llvm, operations or text", l.emit)
	}
	if v := l.module.Version; v < llvm.Oldest || v > llvm.Newest {
		return fmt.Errorf("--llvm %d: the text is for versions %d to %d; newer ones read that of %d", v, llvm.Oldest,
			llvm.Newest, llvm.Newest)
	}
	return nil
}

func readText(in io.Reader, path string) ([]byte, error) {
	if path == standard {
		return io.ReadAll(in)
	}
	return os.ReadFile(path)
}

// write returns what is asked for. The program is verified whatever that is.
func (l *lowering) write(p *ir.Program) (string, error) {
	m, err := lower.Lower(p, l.options)
	if err != nil {
		return "", err
	}
	if l.stats != nil {
		if err := writeStats(l.stats, m); err != nil {
			return "", err
		}
	}
	switch l.emit {
	case "text":
		return ir.Print(p), nil
	case "operations":
		texts := make([]string, len(m.Functions))
		for i, f := range m.Functions {
			texts[i] = flow.Print(f)
		}
		return strings.Join(texts, "\n"), nil
	}
	return llvm.Emit(m, l.module)
}

func (l *lowering) save(out io.Writer, text string) error {
	body := func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
	if l.output == standard {
		return body(out)
	}
	return create(l.output, body)
}

// writeStats writes a row for each function, and the sums: what stands in the text, not how often it runs.
func writeStats(to io.Writer, m *lower.Module) error {
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, figures []string) {
		fmt.Fprintf(t, "%s\t%s\t\n", strings.Join(figures, "\t"), name)
	}
	texts := func(s lower.Stats) (texts []string) {
		for _, n := range s {
			texts = append(texts, strconv.Itoa(n))
		}
		return texts
	}
	row("", lower.Figures[:])
	var all lower.Stats
	for i, f := range m.Functions {
		s := m.StatsOf(i)
		for at, n := range s {
			all[at] += n
		}
		row(f.Symbol, texts(s))
	}
	row("in all", texts(all))
	return t.Flush()
}
