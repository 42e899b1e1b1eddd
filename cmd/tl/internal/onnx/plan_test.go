package onnx_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tlruntime/cmd/tl/internal/onnx"
	"tlruntime/runtime/plan"
	"tlruntime/runtime/plan/graph"
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
			g, err := onnx.Read(filepath.Join(folder, "onnx", name))
			require.NoError(t, err)
			c, err := graph.Check(g, graph.CheckOptions{})
			require.NoError(t, err)
			for _, outside := range []bool{false, true} {
				begin := time.Now()
				p, err := plan.Build(c, plan.Options{PlaceInputs: !outside, PlaceOutputs: !outside})
				require.NoError(t, err)
				took := time.Since(begin)
				require.NoError(t, plan.Validate(p))
				if !outside {
					require.NoError(t, plan.Verify(p, c))
				}
				f := p.Frame
				fmt.Printf("%-26s outside=%-5v frame %9d bound %9d optimal %-5v naive %10d instructions %4d order %d -> %d proved %v, %v\n", name, outside, f.Bytes, f.LowerBound, f.Optimal, f.NaiveBytes, len(p.Instructions), f.Order.GivenPeak, f.Order.Peak, f.Order.Proved, took.Round(time.Millisecond))
				if most > 0 && !outside {
					require.LessOrEqual(t, f.Bytes, most)
				}
			}
		})
	}
}
