package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"tlruntime/cmd/tl/viz/picture"
	"tlruntime/compiler/export"
	"tlruntime/compiler/llvm"
	"tlruntime/compiler/models"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
)

// planning is one call of `tl plan`.
type planning struct {
	model
	outputs  []string
	name     string
	version  int
	slots    bool
	caller   bool
	validate bool
	states   []string
	symbolic bool
	slices   bool    // what to plan is a list of buffers, also where it ends in .json
	hints    []int64 // where the buffers of a list might lie well; nil: it does not say
}

func planCommand() *cobra.Command {
	var p planning
	c := &cobra.Command{
		Use:   "plan MODEL...",
		Short: "Tells how much memory a model needs, and where each buffer lies",
		Long: "Plans the memory of a model (.onnx, .json), the arena of a TensorFlow Lite model (.tflite), or a list of " +
			"buffers:\n" +
			"a .csv with the columns id, lower, upper, size, in which a buffer is alive from lower to upper - 1,\nor, with --slices, a .json.\n\n" +
			"Several models are planned for one arena, in which they run in turns. States lie at one place for all.",
		Example: "  tl plan squeezenet.onnx -o plan.html -o plan.h\n  tl plan model.onnx --bind N=8 --budget 2s -o plan.ll\n" +
			"  tl plan prefill.onnx decode.onnx --state cache=past,present -o chat.h -o chat.ll",
		Args: takes(1, math.MaxInt),
		RunE: func(c *cobra.Command, args []string) error {
			p.writes = p.outputs
			if err := spare(p.read(args...), p.writes...); err != nil {
				return err
			}
			if len(args) > 1 || len(p.states) > 0 {
				return p.arena(c.OutOrStdout(), args)
			}
			return p.run(c.OutOrStdout(), args[0])
		},
	}
	f := c.Flags()
	f.BoolVar(&p.slices, "slices", false, "the file is a list of buffers, .csv or .json, as a compiler has it")
	f.StringArrayVarP(&p.outputs, "output", "o", nil,
		"`FILE` to write; its ending tells what: .json, .h, .ll, .svg, .html (or .csv for buffers); may "+
			"be repeated")
	p.model.flags(f)
	f.BoolVar(&p.options.PlaceInputs, "place-inputs", false, "inputs have a place in the frame too")
	f.BoolVar(&p.options.PlaceOutputs, "place-outputs", false, "outputs have a place in the frame too")
	f.BoolVar(&p.validate, "validate", false, "check the plan once more with code that shares nothing with the planner")
	f.StringVar(&p.name, "name", "", "of the function in .ll and of the macros in .h (default: the model's)")
	f.IntVar(&p.version, "llvm", 0, "major version of LLVM that reads the .ll (default: 16 and newer)")
	f.BoolVar(&p.slots, "slots", false, "the .ll takes its memory by slots of a function's frame instead of one block")
	f.BoolVar(&p.caller, "caller-memory", false,
		"the .ll is given its memory by its caller and calls nothing of the runtime; the .h declares the function")
	f.StringArrayVar(&p.states, "state", nil,
		"`NAME=VALUE,...`: inputs, outputs and constants of the models that are one tensor, which keeps its content "+
			"between calls;\nwithout values it is that of this name; may be repeated")
	f.BoolVar(&p.symbolic, "symbolic", false,
		"the .json and the .h tell sizes and places as functions of the symbols that are bound, which are bounds then")
	c.MarkFlagsMutuallyExclusive("slots", "caller-memory")
	c.MarkFlagsMutuallyExclusive("slots", "state")
	return c
}

// memory is how the code of the plan comes to its memory.
func (p *planning) memory() llvm.Memory {
	switch {
	case p.caller:
		return llvm.Caller
	case p.slots:
		return llvm.Slots
	}
	return llvm.OneFrame
}

func (p *planning) run(out io.Writer, path string) error {
	ending := strings.ToLower(filepath.Ext(path))
	if p.slices && ending != ".csv" && ending != ".json" {
		return fmt.Errorf("%s: a list of slices ends in .csv or .json", path)
	}
	switch {
	case ending == ".csv" || p.slices:
		return p.buffers(out, path)
	case ending == ".tflite":
		_, _, err := p.interpreterArena(out, path)
		return err
	}
	c, e, err := p.planned(path)
	if err != nil {
		return err
	}
	if p.validate {
		if err := plan.Validate(e); err != nil {
			return fmt.Errorf("%s: the plan is wrong, which is a defect: %w", path, err)
		}
	}
	for _, file := range p.outputs {
		if err := p.write(e, file); err != nil {
			return err
		}
	}
	return summary(out, c, e)
}

// planned plans the model in a file, with its symbols as bounds where that is asked for.
func (p *planning) planned(path string) (*checked, *plan.ExecutionPlan, error) {
	if !p.symbolic {
		return p.build(path)
	}
	if p.limit != "" {
		return nil, nil, errors.New("--capacity and --symbolic: what is computed again is chosen for one number of each symbol; " +
			"leave one of them out")
	}
	c, err := p.check(path)
	if err != nil {
		return nil, nil, err
	}
	c.fit, err = models.PlanSymbolic(c.graph, c.options, remat.Options{Plan: p.options})
	if err != nil {
		return nil, nil, fileError{path, err}
	}
	return c, c.fit.Plan, nil
}

// write writes one artefact.
func (p *planning) write(e *plan.ExecutionPlan, path string) error {
	return create(path, func(w io.Writer) error {
		switch strings.ToLower(filepath.Ext(path)) {
		case ".json":
			return export.WriteJSON(w, e, export.WithoutContent)
		case ".h":
			return p.writeHeader(w, e)
		case ".ll":
			return writeLLVM(w, e, llvm.Options{Name: p.name, Version: p.version, Memory: p.memory()})
		case ".svg":
			return picture.WriteSVG(w, picture.FromPlan(e))
		case ".html":
			return picture.WriteHTML(w, picture.FromPlan(e))
		}
		return fmt.Errorf("%s: a plan is written as .json, .h, .ll, .svg or .html", path)
	})
}

// writeHeader writes the places of the buffers, and the function where its caller has to know how much memory it takes.
func (p *planning) writeHeader(w io.Writer, e *plan.ExecutionPlan) error {
	if err := export.WriteHeader(w, e, p.name); err != nil || !p.caller {
		return err
	}
	text, err := llvm.Header(e, llvm.Options{Name: p.name, Memory: llvm.Caller})
	if err == nil {
		_, err = io.WriteString(w, "\n"+text)
	}
	return err
}

// writeLLVM writes a plan as a function.
func writeLLVM(w io.Writer, e *plan.ExecutionPlan, o llvm.Options) error {
	text, err := llvm.Module(e, o)
	if err != nil {
		return withoutKernels(err)
	}
	_, err = io.WriteString(w, text)
	return err
}

// withoutKernels adds to what a module lacks where to look.
func withoutKernels(err error) error {
	var missing llvm.MissingError
	if !errors.As(err, &missing) {
		return err
	}
	return fmt.Errorf("%w; `tl plan` plans the model without them, `tl operators` lists those that there are", err)
}

// create writes a file beside its place and moves it there when it is whole: what
// stood there before stays when something fails. A link stays one. A device or a pipe
// is written to: a file renamed over it would replace it for every program.
func create(path string, body func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // /dev/stdout may be a pipe without a name
		return written(path, os.O_WRONLY, body)
	}
	path = linked(path)
	folder, name := filepath.Split(path)
	beside := fmt.Sprintf("%s.%s.%d", folder, name, os.Getpid())
	err := written(beside, os.O_RDWR|os.O_CREATE|os.O_TRUNC, body)
	if err == nil {
		err = os.Rename(beside, path)
	}
	if err != nil {
		os.Remove(beside)
	}
	return ofFile(err, beside, path)
}

// ofFile has an error of the system tell the name that a user knows instead of that beside it.
func ofFile(err error, beside, path string) error {
	var file *os.PathError
	if errors.As(err, &file) && file.Path == beside {
		file.Path = path
	}
	var names *os.LinkError
	if errors.As(err, &names) && names.Old == beside {
		return &os.PathError{Op: "replace", Path: path, Err: names.Err}
	}
	return err
}

// linked is where the links of a name lead, also where nothing is there yet.
func linked(path string) string {
	const most = 40 // as Linux has it
	for range most {
		target, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	return path
}

func written(path string, flag int, body func(io.Writer) error) error {
	f, err := os.OpenFile(path, flag, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(body(f), f.Close())
}

// summary prints what a plan comes to.
func summary(out io.Writer, c *checked, e *plan.ExecutionPlan) error {
	f := &e.Frame
	fmt.Fprintf(out, "%s: %d operators, %d instructions, %d buffers\n", e.Name, len(c.Nodes), len(e.Instructions),
		len(e.Buffers))
	fitted(out, c.fit)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name string, bytes int64, remark string) {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", name, humanize.IBytes(uint64(bytes)), humanize.Comma(bytes), remark)
	}
	row("frame", f.Bytes, verdict(f.Bytes, f.LowerBound, f.Optimal))
	if e.Symbolic != nil {
		if err := symbolicRow(row, e); err != nil {
			return err
		}
	}
	row("lower bound", f.LowerBound, "")
	row("without reuse", f.NaiveBytes, reuse(f))
	row("constants", kindBytes(e, plan.Constant), "")
	row("inputs", kindBytes(e, plan.Input), "")
	row("outputs", kindBytes(e, plan.Output), "")
	row("peak of the order", f.Order.Peak, orderVerdict(&f.Order))
	if err := w.Flush(); err != nil {
		return err
	}
	return kernelSummary(out, e)
}

// symbolicRow tells the frame for the smallest numbers of the symbols, and for which numbers the plan is.
func symbolicRow(row func(name string, bytes int64, remark string), e *plan.ExecutionPlan) error {
	var least []int64
	var ranges []string
	for _, s := range e.Symbolic.Symbols {
		least = append(least, s.From)
		ranges = append(ranges, fmt.Sprintf("%s from %d to %d", s.Name, s.From, s.To))
	}
	bytes, _, err := e.Places(least)
	if err != nil {
		return err
	}
	compared := " (all compared)"
	if !e.Symbolic.Proved {
		compared = " (a sample compared)"
	}
	row("smallest frame", bytes, strings.Join(ranges, ", ")+compared)
	return nil
}

// kernelSummary tells how many operators have no kernel, and of how many nodes each is.
func kernelSummary(out io.Writer, e *plan.ExecutionPlan) error {
	missing := llvm.Missing(e)
	if len(missing) == 0 {
		return nil
	}
	nodes := map[string]int{}
	for _, m := range missing {
		nodes[m.Op]++
	}
	var list []string
	for _, op := range slices.Sorted(maps.Keys(nodes)) {
		list = append(list, fmt.Sprintf("%s (%d)", op, nodes[op]))
	}
	_, err := fmt.Fprintf(out, "  no kernel for %s (%s), so the model cannot be run: %s\n",
		english.Plural(len(nodes), "operator", ""), english.Plural(len(missing), "node", ""), strings.Join(list, ", "))
	return err
}

func verdict(bytes, bound int64, optimal bool) string {
	switch {
	case optimal:
		return "no placement is smaller (proved)"
	case bound > 0:
		return fmt.Sprintf("at most %.2f %% above the smallest", 100*float64(bytes-bound)/float64(bound))
	}
	return ""
}

func reuse(f *plan.Frame) string { return ratio(f.NaiveBytes, f.Bytes, "the frame") }

func ratio(bytes, to int64, what string) string {
	if to == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f x %s", float64(bytes)/float64(to), what)
}

func orderVerdict(o *plan.Order) string {
	switch {
	case o.Proved && o.Peak == o.GivenPeak:
		return "that of the model; no order is better (proved)"
	case o.Proved:
		return fmt.Sprintf("%s in the order of the model; no order is better (proved)", humanize.Comma(o.GivenPeak))
	}
	return fmt.Sprintf("%s in the order of the model", humanize.Comma(o.GivenPeak))
}

func kindBytes(e *plan.ExecutionPlan, k plan.Kind) int64 {
	sum := int64(0)
	for i := range e.Buffers {
		if e.Buffers[i].Kind == k {
			sum += e.Buffers[i].Bytes
		}
	}
	return sum
}
