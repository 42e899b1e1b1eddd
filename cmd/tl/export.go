package main

import (
	"io"

	"github.com/spf13/cobra"

	"tlruntime/cmd/tl/internal/infer"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/models"
	"tlruntime/runtime/memory"
)

func exportCommand() *cobra.Command {
	var m model
	c := &cobra.Command{
		Use:   "export MODEL FILE",
		Short: "Writes a model in another format: .onnx or .json",
		Args:  takes(2, 2),
		RunE:  func(_ *cobra.Command, args []string) error { return m.export(args[0], args[1]) },
	}
	c.Flags().StringToStringVar(&m.bind, "bind", nil,
		"`SYMBOL=NUMBER`: a number for a symbol in the shapes of inputs; needed to find the shapes of outputs")
	m.pythonFlag(c.Flags())
	return c
}

func (m *model) export(from, to string) error {
	if err := spare([]string{from}, to); err != nil {
		return err
	}
	g, err := models.Read(from, memory.Obtainable)
	if err == nil {
		err = spare(g.Files, to)
	}
	if err != nil {
		return err
	}
	bind, err := m.bound()
	if err != nil {
		return err
	}
	content, err := models.Encode(g, to, check.Options{Bind: bind, Infer: infer.New(m.python).Ask})
	if err != nil {
		return err
	}
	return create(to, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}
