package main

import (
	"fmt"
	"io"
	"os"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"tlruntime/cmd/tl/internal/tflite"
	"tlruntime/runtime/offsets"
)

func tfliteCommand() *cobra.Command {
	var p planning
	var to string
	c := &cobra.Command{
		Use:   "tflite MODEL.tflite -o OUT.tflite",
		Short: "Plans the arena of a TensorFlow Lite model, and writes the plan into it",
		Long: "Plans where each tensor lies in the arena, and writes the model with the offsets in its metadata\n" +
			"(OfflineMemoryAllocation), from which TensorFlow Lite Micro takes them. What kernels take for themselves it places\n" +
			"around them when it starts: compare what the interpreter says of both arenas.",
		Example: "  tl tflite model.tflite -o planned.tflite\n  tl plan model.tflite -o arena.html",
		Args:    takes(1, 1),
		RunE:    func(c *cobra.Command, args []string) error { return p.tflite(c.OutOrStdout(), args[0], to) },
	}
	f := c.Flags()
	f.StringVarP(&to, "output", "o", "", "`FILE` that the model is written to")
	p.searchFlags(f)
	f.BoolVar(&p.validate, "validate", false, "check the plan once more with code that shares nothing with the planner")
	return c
}

func (p *planning) tflite(out io.Writer, from, to string) error {
	if to == "" {
		return errNoOutput
	}
	if err := spare([]string{from}, to); err != nil {
		return err
	}
	model, places, err := p.interpreterArena(out, from)
	if err != nil {
		return err
	}
	file, err := model.Write(places)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return create(to, func(w io.Writer) error {
		_, err := w.Write(file)
		return err
	})
}

// interpreterArena plans the arena of a TensorFlow Lite model.
func (p *planning) interpreterArena(out io.Writer, path string) (*tflite.Model, []int64, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	model, err := tflite.Read(file)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if p.options.Alignment%tflite.Alignment != 0 {
		return nil, nil, fmt.Errorf("--alignment %d: the interpreter aligns to %d bytes", p.options.Alignment, tflite.Alignment)
	}
	what := english.Plural(len(model.Buffers), "tensor", "") + " in the arena"
	if model.Online > 0 {
		what += fmt.Sprintf(", %s placed by the interpreter", english.Plural(model.Online, "tensor", ""))
	}
	solution, err := p.solve(out, path, &offsets.Problem{Buffers: model.Buffers}, what)
	if err != nil {
		return nil, nil, err
	}
	return model, solution.Offsets, nil
}
