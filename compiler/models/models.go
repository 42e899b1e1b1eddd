// Package models is what the program tl and the library's graphs share: reading graphs
// from files, writing them, and planning them with or without a capacity.
package models

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/onnx"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
)

// Read returns the graph in a file, whose ending tells its form: .onnx or .json.
func Read(path string) (*graph.Graph, error) {
	form, err := formOf(path)
	if err != nil {
		return nil, err
	}
	if form == "onnx" {
		return onnx.Read(path)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	g, err := Parse(content, form)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return g, nil
}

// Load is Read, and the graph has the name by which its user knows it, that of the file.
func Load(path string) (*graph.Graph, error) {
	g, err := Read(path)
	if err == nil {
		g.Name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	return g, err
}

// Parse returns the graph in content of a form, onnx or json. An ONNX model that keeps tensors
// in files of their own is an error: Read finds them.
func Parse(content []byte, form string) (*graph.Graph, error) {
	switch form {
	case "onnx":
		return onnx.Decode(content, "")
	case "json":
		return graph.ReadJSON(bytes.NewReader(content))
	}
	return nil, fmt.Errorf("the form %q is unknown; there are onnx and json", form)
}

func formOf(path string) (string, error) {
	switch ending := strings.ToLower(filepath.Ext(path)); ending {
	case ".onnx", ".json":
		return ending[1:], nil
	}
	return "", fmt.Errorf("%s: a model is a file that ends in .onnx or .json", path)
}

// Encode returns the content of a file for a graph. ONNX wants the types of the outputs
// declared; o is how the graph is checked for them.
func Encode(g *graph.Graph, path string, o graph.CheckOptions) ([]byte, error) {
	form, err := formOf(path)
	switch {
	case err != nil:
		return nil, err
	case form == "onnx":
		return encodeONNX(g, o)
	}
	var b bytes.Buffer
	err = graph.WriteJSON(&b, g)
	return b.Bytes(), err
}

// encodeONNX finds the types of the outputs. Symbols that no number was given for count as
// 2: whether an axis is one shows when it is 3.
func encodeONNX(g *graph.Graph, o graph.CheckOptions) ([]byte, error) {
	o.Bind = maps.Clone(o.Bind)
	if o.Bind == nil {
		o.Bind = map[string]int64{}
	}
	for _, in := range g.Inputs {
		for _, d := range in.Shape {
			if d.Symbol != "" && o.Bind[d.Symbol] == 0 {
				o.Bind[d.Symbol] = 2
			}
		}
	}
	c, err := graph.Check(g, o)
	if err != nil {
		return nil, err
	}
	follow := Symbolic(g, o, c)
	types := make([]graph.Value, len(c.Outputs))
	for i, id := range c.Outputs {
		v := &c.Values[id]
		types[i] = graph.Value{Name: g.Outputs[i], DType: v.DType}
		for axis, n := range v.Shape {
			types[i].Shape = append(types[i].Shape, graph.Dim{Size: n, Symbol: follow[i][axis]})
		}
	}
	return onnx.Encode(g, types)
}

// Fitting are the options of a plan within a capacity: its time for offsets is that for all it takes.
func Fitting(o plan.Options, capacity int64) remat.Options {
	budget := o.OffsetBudget
	o.OffsetBudget = 0
	return remat.Options{Plan: o, Capacity: capacity, Budget: budget, Seed: o.Seed}
}

// Plan plans a graph. With a capacity above 0 values are computed again where the frame
// would not fit into it otherwise; it fails with a *remat.CapacityError when none is found.
func Plan(c *graph.Checked, o plan.Options, capacity int64) (*remat.Result, error) {
	if capacity > 0 {
		return remat.Fit(c, Fitting(o, capacity))
	}
	e, err := plan.Build(c, o)
	if err != nil {
		return nil, err
	}
	return &remat.Result{Graph: c, Plan: e}, nil
}
