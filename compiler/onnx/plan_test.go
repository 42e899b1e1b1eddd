package onnx_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/onnx"
	"tlruntime/compiler/plan"
)

// frames are what the plans of real networks have to fit in, inputs and outputs
// included: what is alive at once when views and results in place share memory.
var frames = map[string]int64{
	"light_inception_v1.onnx": 3985664,
	"light_resnet50.onnx":     7225344,
	"light_squeezenet.onnx":   3928576,
	"light_densenet121.onnx":  7225344,
	"mnist.onnx":              0,
	"ultraface_rfb320.onnx":   0,
}

// TestFramesOfModels plans the networks of TL_TEST_DATA/onnx. With -v it prints the
// figures of docs/planner.md.
func TestFramesOfModels(t *testing.T) {
	folder := os.Getenv("TL_TEST_DATA")
	if folder == "" {
		t.Skip("TL_TEST_DATA is not set: no models to plan")
	}
	for name, most := range frames {
		t.Run(name, func(t *testing.T) {
			g, err := onnx.Read(filepath.Join(folder, "onnx", name), nil)
			require.NoError(t, err)
			c, err := check.Check(g, check.Options{})
			require.NoError(t, err)
			inside := plan.Options{PlaceInputs: true, PlaceOutputs: true}
			p := framesOf(t, name, c, inside)
			require.NoError(t, plan.Validate(p))
			require.NoError(t, plan.Verify(p, c))
			if most > 0 {
				require.LessOrEqual(t, p.Frame.Bytes, most)
			}
			framesOf(t, name, c, plan.Options{})
			printSwitches(t, name, c, inside)
		})
	}
}

func framesOf(t *testing.T, name string, c *graph.Checked, o plan.Options) *plan.ExecutionPlan {
	begin := time.Now()
	p, err := plan.Build(c, o)
	require.NoError(t, err)
	f := p.Frame
	fmt.Printf("%-23s inputs and outputs in the frame: %-5v frame %8d, bound %8d, optimal %v, naive %9d, %d "+
		"instructions, order %d -> %d proved %v, %v\n",
		name, o.PlaceInputs, f.Bytes, f.LowerBound, f.Optimal, f.NaiveBytes, len(p.Instructions), f.Order.GivenPeak,
		f.Order.Peak, f.Order.Proved, time.Since(begin).Round(time.Millisecond))
	return p
}

// printSwitches shows what each way of sharing brings.
func printSwitches(t *testing.T, name string, c *graph.Checked, o plan.Options) {
	off := map[string]func(*plan.Options){
		"views":    func(o *plan.Options) { o.NoViews = true },
		"in place": func(o *plan.Options) { o.NoInPlace = true },
		"concat":   func(o *plan.Options) { o.NoConcat = true },
		"reorder":  func(o *plan.Options) { o.NoReorder = true },
		"all":      func(o *plan.Options) { o.NoViews, o.NoInPlace, o.NoConcat, o.NoReorder = true, true, true, true },
	}
	line := fmt.Sprintf("%-23s without", name)
	for _, what := range slices.Sorted(maps.Keys(off)) {
		without := o
		off[what](&without)
		p, err := plan.Build(c, without)
		require.NoError(t, err)
		line += fmt.Sprintf(" %s %d (%d instructions),", what, p.Frame.Bytes, len(p.Instructions))
	}
	fmt.Println(line)
}
