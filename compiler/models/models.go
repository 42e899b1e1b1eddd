// Package models is what the program tl and the library's graphs share: reading graphs
// from files, writing them, and planning them with or without a capacity.
package models

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tlruntime/compiler/content"
	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/graph/json"
	"tlruntime/compiler/onnx"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
)

// now is the clock. Tests replace it.
var now = time.Now

// Read returns the graph in a file, whose ending tells its form: .onnx or .json. What there is
// no room for is a *content.MemoryError.
func Read(path string, room content.Room) (*graph.Graph, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if info.IsDir() {
		return nil, fmt.Errorf("%s is a folder: name a model in it", path)
	}
	form, err := formOf(path)
	if err != nil {
		return nil, err
	}
	if form == "onnx" {
		return onnx.Read(path, room)
	}
	data, err := content.Read(path, room)
	if err != nil {
		return nil, err
	}
	g, err := Parse(data, form, room)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return g, nil
}

// Load is Read, and the graph has the name by which its user knows it, that of the file.
func Load(path string, room content.Room) (*graph.Graph, error) {
	g, err := Read(path, room)
	if err == nil {
		g.Name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	return g, err
}

// Parse returns the graph in content of a form, onnx or json. An ONNX model that keeps tensors
// in files of their own is an error: Read finds them.
func Parse(data []byte, form string, room content.Room) (*graph.Graph, error) {
	switch form {
	case "onnx":
		return onnx.Decode(data)
	case "json":
		if err := room.Take("a graph", int64(len(data)), json.ReadingBytes(data)); err != nil {
			return nil, err
		}
		return json.Read(bytes.NewReader(data))
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
func Encode(g *graph.Graph, path string, o check.Options) ([]byte, error) {
	form, err := formOf(path)
	switch {
	case err != nil:
		return nil, err
	case form == "onnx":
		return encodeONNX(g, o)
	}
	var b bytes.Buffer
	err = json.Write(&b, g)
	return b.Bytes(), err
}

// encodeONNX finds the types of the outputs. Symbols that no number was given for count as
// 2: whether an axis is one shows when it is 3.
func encodeONNX(g *graph.Graph, o check.Options) ([]byte, error) {
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
	c, err := check.Check(g, o)
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

// Plan plans a graph. A capacity of 0 is any; with one above it fails with a *remat.CapacityError when no plan is found
// that fits, and the plan's time for offsets is the time for all that it takes. The result tells what the plan costs
// either way.
func Plan(c *graph.Checked, o remat.Options) (*remat.Result, error) {
	if o.Capacity == 0 {
		o.Capacity = math.MaxInt64
		return remat.Fit(c, o)
	}
	o.Budget, o.Plan.Budget, o.Seed = o.Plan.Budget, 0, o.Plan.Seed
	if o.Budget > 0 && o.Capacity > 0 {
		return planWithin(c, o)
	}
	return remat.Fit(c, o)
}

// planWithin gives a quarter of the time to a plan in which nothing is given up. If that fits, the rest is for better
// offsets, else for what is given up.
func planWithin(c *graph.Checked, o remat.Options) (*remat.Result, error) {
	start, p := now(), o.Plan
	p.Budget = max(1, o.Budget/4)
	given, err := plan.Build(c, p)
	if err != nil {
		return nil, err
	}
	left := max(1, o.Budget-now().Sub(start))
	if given.Frame.Bytes > o.Capacity {
		o.Given, o.Budget = given, left
		return remat.Fit(c, o)
	}
	if !given.Frame.Optimal {
		p.Budget = left
		better, err := plan.Build(c, p)
		if err != nil {
			return nil, err
		}
		if better.Frame.Bytes < given.Frame.Bytes {
			given = better
		}
	}
	return remat.AsItIs(c, given, o), nil
}

// PlanSymbolic plans a graph with the numbers that o binds as bounds: plan.BuildSymbolic says what the plan tells of
// lower ones.
func PlanSymbolic(g *graph.Graph, o check.Options, r remat.Options) (*remat.Result, error) {
	if r.Capacity > 0 {
		return nil, errors.New("what is given up for a capacity is chosen for one number of each symbol; plan for a " +
			"capacity or with symbols, not both")
	}
	check := func(bind map[string]int64) (*graph.Checked, error) {
		o := o
		o.Bind, o.Apart = bind, true
		return check.Check(g, o)
	}
	made, err := plan.BuildSymbolic(check, o.Bind, r.Plan)
	if err != nil {
		return nil, err
	}
	c, err := check(o.Bind)
	if err != nil {
		return nil, err
	}
	return remat.AsItIs(c, made, r), nil
}
