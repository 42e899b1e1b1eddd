package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tlruntime/cmd/tl/internal/infer"
	"tlruntime/compiler/graph"
	"tlruntime/compiler/onnx"
)

func exportCommand() *cobra.Command {
	var m model
	c := &cobra.Command{
		Use:   "export MODEL FILE",
		Short: "Writes a model in another format: .onnx or .json",
		Args:  cobra.ExactArgs(2),
		RunE:  func(_ *cobra.Command, args []string) error { return m.export(args[0], args[1]) },
	}
	c.Flags().StringToStringVar(&m.bind, "bind", nil,
		"`SYMBOL=NUMBER`: a number for a symbol in the shapes of inputs; needed to find the shapes of outputs")
	m.pythonFlag(c.Flags())
	return c
}

func (m *model) export(from, to string) error {
	g, err := read(from)
	if err != nil {
		return err
	}
	var content []byte
	switch strings.ToLower(filepath.Ext(to)) {
	case ".json":
		var b bytes.Buffer
		err = graph.WriteJSON(&b, g)
		content = b.Bytes()
	case ".onnx":
		content, err = m.encode(g)
	default:
		err = fmt.Errorf("%s: a model is a file that ends in .onnx or .json", to)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}

// encode finds the types of the outputs, which an ONNX model has to declare. Symbols
// that no number was given for count as 2: whether an axis is one shows when it is 3.
func (m *model) encode(g *graph.Graph) ([]byte, error) {
	bind, err := m.bound()
	if err != nil {
		return nil, err
	}
	for _, in := range g.Inputs {
		for _, d := range in.Shape {
			if d.Symbol != "" && bind[d.Symbol] == 0 {
				bind[d.Symbol] = 2
			}
		}
	}
	o := graph.CheckOptions{Bind: bind, Infer: infer.New(m.python).Ask}
	c, err := graph.Check(g, o)
	if err != nil {
		return nil, err
	}
	follow := symbolic(g, o, c)
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
