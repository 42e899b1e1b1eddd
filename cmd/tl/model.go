package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"tlruntime/cmd/tl/internal/infer"
	"tlruntime/cmd/tl/internal/npy"
	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/models"
	"tlruntime/compiler/onnx"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
	"tlruntime/runtime/memory"
)

// model is how a model is read and planned: what the flags of `plan` and `run` say.
type model struct {
	bind   map[string]string
	freeze map[string]string
	thaw   []string          // constants that become inputs
	inputs map[string]string // files with the content of inputs; a constant that has one becomes an input
	fitting
	writes  []string // files that the command writes, where their names are known before
	python  string   // interpreter that may have llvmlite and onnx
	options plan.Options
}

func (m *model) flags(f *pflag.FlagSet) {
	f.StringToStringVar(&m.bind, "bind", nil,
		"`SYMBOL=NUMBER`: a number for a symbol in the shapes of inputs, such as the batch; the plan holds up to it")
	f.StringToStringVar(&m.freeze, "freeze", nil, "`INPUT=FILE`: an input that becomes a constant, or a constant's other content")
	f.StringSliceVar(&m.thaw, "thaw", nil, "`CONSTANT,...`: constants that become inputs, whose content the caller gives")
	m.fitting.flags(f)
	m.pythonFlag(f)
	o := &m.options
	o.ShareConstants = true // nobody changes them
	m.searchFlags(f)
	f.Int64Var(&o.Alignment, "alignment", 0, "of every buffer, in bytes (default 64)")
	f.BoolVar(&o.NoViews, "no-views", false, "reshapes, transposes and slices copy")
	f.BoolVar(&o.NoInPlace, "no-in-place", false, "no result takes over its argument's buffer")
	f.BoolVar(&o.NoConcat, "no-concat", false, "concatenations and splits copy")
	f.BoolVar(&o.NoReorder, "no-reorder", false, "nodes stay in the order in which the model has them")
	f.SortFlags = false
}

// searchFlags are how long and how to look for offsets.
func (m *model) searchFlags(f *pflag.FlagSet) {
	o := &m.options
	f.DurationVar(&o.Budget, "budget", 0,
		"how long planning may take: order, what is given up for a capacity, and offsets together (default: fixed "+
			"numbers of steps)")
	f.Int64Var(&o.MaxSteps, "max-steps", 0, "how many steps to look for better offsets (default 20000)")
	f.Uint64Var(&o.Seed, "seed", 0, "of the search for offsets")
}

func (m *model) pythonFlag(f *pflag.FlagSet) {
	f.StringVar(&m.python, "python", os.Getenv("TL_PYTHON"),
		"interpreter that may have llvmlite, and onnx for shapes that a model does not tell (default: python3, "+
			"and for llvmlite those of make demo and make venv beside build/tl; $TL_PYTHON)")
}

// checked is a graph, and the same with types for all its values.
type checked struct {
	graph   *graph.Graph
	options check.Options
	*graph.Checked
	fit *remat.Result // nil before it is planned
}

func (m *model) check(path string) (*checked, error) {
	g, err := m.load(path)
	if err != nil {
		return nil, err
	}
	for _, name := range m.thaw {
		if !slices.ContainsFunc(g.Inputs, func(in graph.Value) bool { return in.Name == name }) {
			return nil, fmt.Errorf("--thaw %s: the model has no constant of that name", name)
		}
	}
	bind, err := m.bound()
	if err != nil {
		return nil, err
	}
	frozen, err := m.frozen()
	if err != nil {
		return nil, err
	}
	return m.checkWith(path, g, check.Options{Bind: bind, Freeze: frozen})
}

// load reads the graph in a file. A constant that is frozen is one with other content.
func (m *model) load(path string) (*graph.Graph, error) {
	if err := m.sound(); err != nil {
		return nil, err
	}
	if err := spare(m.read(path), m.writes...); err != nil {
		return nil, err
	}
	g, err := models.Load(path, memory.Obtainable)
	if err == nil {
		err = spare(g.Files, m.writes...)
	}
	if err != nil {
		return nil, err
	}
	models.Thaw(g, func(constant string) bool {
		_, frozen := m.freeze[constant]
		_, given := m.inputs[constant]
		return frozen || given || slices.Contains(m.thaw, constant)
	})
	return g, nil
}

func (m *model) checkWith(path string, g *graph.Graph, o check.Options) (*checked, error) {
	o.Infer = infer.New(m.python).Ask
	c, err := check.Check(g, o)
	if err != nil {
		return nil, fileError{path, err}
	}
	return &checked{g, o, c, nil}, nil
}

// build plans the model in a file.
func (m *model) build(path string) (*checked, *plan.ExecutionPlan, error) {
	c, err := m.check(path)
	if err != nil {
		return nil, nil, err
	}
	o, err := m.fitting.options(m.options)
	if err != nil {
		return nil, nil, err
	}
	c.fit, err = models.Plan(c.Checked, o)
	if err != nil {
		return nil, nil, fileError{path, m.tooSmall(err)}
	}
	c.Checked = c.fit.Graph
	return c, c.fit.Plan, nil
}

// sound refuses what no flag may be.
func (m *model) sound() error {
	if m.options.Budget < 0 {
		return fmt.Errorf("--budget %v: time cannot be negative", m.options.Budget)
	}
	if a := m.options.Alignment; a < 0 || a&(a-1) != 0 {
		return fmt.Errorf("--alignment %d: an alignment is a power of two, such as 64", a)
	}
	return nil
}

func (m *model) bound() (map[string]int64, error) {
	bind := map[string]int64{}
	for symbol, text := range m.bind {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("--bind %s=%s: a symbol is bound to a number from 0", symbol, text)
		}
		bind[symbol] = n
	}
	return bind, nil
}

func (m *model) frozen() (map[string]graph.Tensor, error) {
	frozen := map[string]graph.Tensor{}
	for input, path := range m.freeze {
		t, err := readTensor(path)
		if err != nil {
			return nil, fmt.Errorf("--freeze %s: %w", input, err)
		}
		frozen[input] = t
	}
	return frozen, nil
}

// readTensor reads a file of NumPy (.npy) or of ONNX's tests (.pb).
func readTensor(path string) (graph.Tensor, error) {
	f, err := os.Open(path)
	if err != nil {
		return graph.Tensor{}, err
	}
	defer f.Close()
	var t graph.Tensor
	switch strings.ToLower(filepath.Ext(path)) {
	case ".npy":
		t, err = npy.Read(f)
	case ".pb":
		t, err = onnx.ReadTensor(f)
	default:
		err = fmt.Errorf("a tensor is a file that ends in .npy or .pb")
	}
	if err != nil {
		return graph.Tensor{}, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}
