package training

import (
	"bytes"
	"embed"
	"fmt"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/json"
)

// written are training steps of JAX, which jax_step.py has written.
//
//go:embed recorded
var written embed.FS

func read(path string) *graph.Graph {
	content, err := written.ReadFile(path)
	if err == nil {
		var g *graph.Graph
		if g, err = json.Read(bytes.NewReader(content)); err == nil {
			return g
		}
	}
	panic(fmt.Sprintf("%s: %v", path, err))
}

// Models are the training steps, by name.
var Models = map[string]func() *graph.Graph{
	"mlp":       func() *graph.Graph { return MLP(12, 512, 128) },
	"mlp_small": func() *graph.Graph { return MLP(5, 512, 128) },
	"resnet":    func() *graph.Graph { return ResNet(4, 8, 16, 32) },
	"jax_mlp":   func() *graph.Graph { return read("recorded/jax_mlp.json") },
	"jax_cnn":   func() *graph.Graph { return read("recorded/jax_cnn.json") },
}

// MLP is a perceptron with layers of one width.
func MLP(layers int, batch, width int64) *graph.Graph {
	t := newTape(fmt.Sprint("mlp", layers))
	x := t.input("x", batch, width)
	for range layers {
		x = t.tanh(t.dense(x, width))
	}
	return t.finish(x)
}

// ResNet has blocks of two convolutions around which the picture is added, and is halved once.
func ResNet(blocks int, batch, channels, size int64) *graph.Graph {
	t := newTape(fmt.Sprint("resnet", blocks))
	x := t.relu(t.conv(t.input("x", batch, 3, size, size), channels, 3))
	for i := range blocks {
		if i == blocks/2 {
			channels *= 2
			x = t.relu(t.conv(t.halved(x), channels, 1))
		}
		y := t.conv(t.relu(t.conv(x, channels, 3)), channels, 3)
		x = t.relu(t.add(x, y))
	}
	features := x.shape[1] * x.shape[2] * x.shape[3]
	return t.finish(t.dense(t.reshape(x, batch, features), 10))
}
