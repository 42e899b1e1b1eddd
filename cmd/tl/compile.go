package main

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tlruntime/cmd/tl/internal/compile"
	"tlruntime/cmd/tl/internal/host"
	"tlruntime/compiler/llvm"
	"tlruntime/compiler/models"
	"tlruntime/compiler/plan"
)

// code is how a plan becomes machine code: what the flags of `compile` and `run` say.
type code struct {
	compiler string
	slots    bool
	file     string // of the second space, which the function then takes from its caller as the frame
}

// memory is how the code comes to the memory of a plan.
func (c *code) memory(e *plan.ExecutionPlan) llvm.Memory {
	switch {
	case c.spills(e):
		return llvm.Caller
	case c.slots:
		return llvm.Slots
	}
	return llvm.OneFrame
}

// spills reports whether the plan moves values to a file.
func (c *code) spills(e *plan.ExecutionPlan) bool { return c.file != "" && e.Outside > 0 }

func (c *code) flags(f *pflag.FlagSet) {
	f.BoolVar(&c.slots, "slots", false, "take the memory by slots of a function's frame instead of one block")
	f.StringVar(&c.compiler, "compiler", os.Getenv("TL_COMPILER"),
		"clang, llc or llvmlite (default: the first that is there; $TL_COMPILER)")
}

// function is the name of the compiled function: the same for all models, so that two
// of the same content are compiled once.
const function = "tl_model"

// shared returns the path of the compiled plan, and what compiled it.
func (c *code) shared(python string, e *plan.ExecutionPlan) (path, compiler string, err error) {
	if missing := llvm.Missing(e); missing != nil {
		return "", "", withoutKernels(missing)
	}
	found, err := compile.Find(c.compiler, python)
	if err != nil {
		return "", "", err
	}
	o := llvm.Options{Name: function, Memory: c.memory(e)}
	path, err = found.Shared(func(w io.Writer, version int) error {
		o.Version = version
		return writeLLVM(w, e, o)
	})
	return path, fmt.Sprintf("%s, LLVM %d", found.Kind, found.LLVM), err
}

var errNoOutput = errors.New("-o FILE is needed: the file that is written")

// compiling is one call of `tl compile`.
type compiling struct {
	model
	code
	output string
}

func compileCommand() *cobra.Command {
	var r compiling
	c := &cobra.Command{
		Use:   "compile MODEL",
		Short: "Compiles a model to one file, which tl.Model of Python runs",
		Long: "Plans a model, compiles it with clang, llc or llvmlite, and writes machine code, constants and a " +
			"description to\none file. The code is for processors with the instructions that this one has.",
		Example: "  tl compile model.onnx --bind N=64 -o model.tlm",
		Args:    takes(1, 1),
		RunE:    func(c *cobra.Command, args []string) error { return r.run(c.OutOrStdout(), args[0]) },
	}
	f := c.Flags()
	f.StringVarP(&r.output, "output", "o", "", "`FILE` that is written; its name ends in .tlm")
	r.model.flags(f)
	r.code.flags(f)
	return c
}

func (r *compiling) run(out io.Writer, path string) error {
	if r.output == "" {
		return errNoOutput
	}
	r.writes = []string{r.output}
	c, e, err := r.build(path)
	if err != nil {
		return err
	}
	module, compiler, err := r.shared(r.python, e)
	if err != nil {
		return err
	}
	if err := create(r.output, func(w io.Writer) error { return writeBundle(w, module, c, e) }); err != nil {
		return err
	}
	about, err := os.Stat(r.output)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s: %s, compiled by %s; frame %s\n", r.output, humanize.IBytes(uint64(about.Size())),
		compiler, humanize.IBytes(uint64(e.Frame.Bytes)))
	return err
}

// bundleFormat is the version of the file; python/tl_runtime/_engines/model.py reads it.
const bundleFormat = 1

// bundle describes a compiled model: model.json of the file.
type bundle struct {
	Format     int              `json:"format"`
	Name       string           `json:"name"`
	Function   string           `json:"function"`
	Machine    string           `json:"machine"`   // as Go names it
	Processor  []string         `json:"processor"` // sets of instructions that the code may use
	FrameBytes int64            `json:"frame_bytes"`
	NaiveBytes int64            `json:"naive_bytes"`
	Constants  []int64          `json:"constants"` // where each begins in the file of constants
	Bounds     map[string]int64 `json:"bounds"`    // of symbols
	Inputs     []bundleTensor   `json:"inputs"`
	Outputs    []bundleTensor   `json:"outputs"`
	Refusal    string           `json:"refusal,omitempty"` // llvm.Refusal
}

// bundleTensor is an input or an output of one sample.
type bundleTensor struct {
	Name   string  `json:"name"`
	DType  string  `json:"dtype"`
	Shape  []int64 `json:"shape"`
	Bytes  int64   `json:"bytes"`
	Symbol string  `json:"symbol,omitempty"` // whose number the first axis is
}

// writeBundle writes a zip file. Its parts are stored as they are, and no time is noted, so that equal models make
// equal files.
func writeBundle(w io.Writer, module string, c *checked, e *plan.ExecutionPlan) error {
	about := bundle{Format: bundleFormat, Name: e.Name, Function: function, Machine: runtime.GOARCH,
		Processor: compile.Instructions(), FrameBytes: e.Frame.Bytes, NaiveBytes: e.Frame.NaiveBytes, Bounds: c.Symbols,
		Refusal: llvm.Refusal(e)}
	follow := models.Symbolic(c.graph, c.options, c.Checked)
	for _, in := range e.Inputs {
		b := &e.Buffers[in.Buffer]
		about.Inputs = append(about.Inputs, bundleTensor{in.Name, b.DType.String(), b.Shape, b.Bytes,
			firstSymbol(c.graph, in.Name)})
	}
	for i, o := range e.Outputs {
		b, symbol := &e.Buffers[o.Buffer], ""
		if len(follow[i]) > 0 {
			symbol = follow[i][0]
		}
		about.Outputs = append(about.Outputs, bundleTensor{o.Name, b.DType.String(), o.View.Shape, b.Bytes, symbol})
	}
	z := zip.NewWriter(w)
	var section host.Section
	parts := []struct {
		name  string
		write func(io.Writer) error
	}{
		{"module.so", func(to io.Writer) error { return copyFile(to, module) }},
		{"constants", func(to io.Writer) error { return writeConstants(to, &section, e) }},
		{"model.json", func(to io.Writer) error {
			about.Constants = section.Offsets
			return json.NewEncoder(to).Encode(about)
		}},
	}
	for _, part := range parts {
		to, err := z.CreateHeader(&zip.FileHeader{Name: part.name, Method: zip.Store})
		if err == nil {
			err = part.write(to)
		}
		if err != nil {
			return err
		}
	}
	return z.Close()
}

func copyFile(to io.Writer, path string) error {
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	_, err = io.Copy(to, from)
	return err
}
