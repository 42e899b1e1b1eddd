// Package infer asks the Python package onnx for the types of a node's results.
package infer

import (
	"bufio"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/onnx"
)

//go:embed infer.py
var program string

// mostContent bounds a constant whose content the package is told: it looks into shapes
// and axes, not into weights.
const mostContent = 1 << 16

// Asker is an interpreter that is started when it is first asked, and ends with this
// process. It serves one goroutine.
type Asker struct {
	python string
	in     io.Writer
	out    *bufio.Reader
	failed error
	known  map[string][]graph.Declaration // answers by question
}

// New returns an asker for an interpreter; "" is python3.
func New(python string) *Asker {
	if python == "" {
		python = "python3"
	}
	return &Asker{python: python, known: map[string][]graph.Declaration{}}
}

// Ask is for check.Options.Infer.
func (a *Asker) Ask(q *check.Inquiry) ([]graph.Declaration, error) {
	question, err := encode(q)
	if err != nil {
		return nil, err
	}
	if list, asked := a.known[question]; asked {
		return list, nil
	}
	if a.in == nil && a.failed == nil {
		a.failed = a.start()
	}
	if a.failed != nil {
		return nil, a.failed
	}
	list, err := a.exchange(question)
	if err == nil {
		a.known[question] = list
	}
	return list, err
}

// start finds out whether the package is there before anything is asked: an import that
// fails would be an answer that does not come.
func (a *Asker) start() error {
	path, err := exec.LookPath(a.python)
	if err != nil {
		return fmt.Errorf("the Python package onnx would infer them: %w", err)
	}
	c := exec.Command(path, "-c", program)
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	a.in, a.out = in, bufio.NewReaderSize(out, 1<<16)
	return nil
}

// exchange asks and reads the answer.
func (a *Asker) exchange(question string) ([]graph.Declaration, error) {
	_, err := io.WriteString(a.in, question+"\n")
	answer := ""
	if err == nil {
		answer, err = a.out.ReadString('\n')
	}
	if err != nil {
		a.failed = fmt.Errorf("%s has not the package onnx, which would infer them; install it there (pip install onnx), "+
			"or name another interpreter by --python", a.python)
		return nil, a.failed
	}
	if why, refused := strings.CutPrefix(answer, "! "); refused {
		return nil, fmt.Errorf("onnx: %s", strings.TrimSpace(why))
	}
	content, err := base64.StdEncoding.DecodeString(strings.TrimSpace(answer))
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	g, err := onnx.Decode(content)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	return g.Declared, nil
}

// encode makes a model of the node alone. Its arguments are inputs, or constants where
// their content may matter.
func encode(q *check.Inquiry) (string, error) {
	g := &graph.Graph{Opset: q.Opset, Domains: q.Domains}
	n := *q.Node
	seen := map[string]bool{}
	for i, v := range q.Arguments {
		if v == nil || seen[n.Inputs[i]] {
			continue
		}
		seen[n.Inputs[i]] = true
		if v.Constant != nil && v.Bytes() <= mostContent {
			g.Constants = append(g.Constants, graph.Constant{Name: n.Inputs[i], Tensor: *v.Constant})
			continue
		}
		in := graph.Value{Name: n.Inputs[i], DType: v.DType}
		for _, size := range v.Shape {
			in.Shape = append(in.Shape, graph.Dim{Size: size})
		}
		g.Inputs = append(g.Inputs, in)
	}
	g.Nodes = []graph.Node{n}
	model, err := onnx.Encode(g, nil)
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(model), nil
}
