package training

import (
	"bytes"
	"embed"
	"fmt"

	"tlruntime/compiler/graph"
)

// written are training steps of JAX and PyTorch; jax_step.py and torch_step.py write them.
//
//go:embed recorded
var written embed.FS

func read(path string) *graph.Graph {
	content, err := written.ReadFile(path)
	if err == nil {
		var g *graph.Graph
		if g, err = graph.ReadJSON(bytes.NewReader(content)); err == nil {
			return g
		}
	}
	panic(fmt.Sprintf("%s: %v", path, err))
}

// Models are the training steps, by name.
var Models = map[string]func() *graph.Graph{
	"mlp":         func() *graph.Graph { return MLP(12, 512, 128) },
	"mlp_small":   func() *graph.Graph { return MLP(5, 512, 128) },
	"resnet":      func() *graph.Graph { return ResNet(4, 8, 16, 32) },
	"transformer": func() *graph.Graph { return Transformer(3, 256, 64, 4) },
	"unet":        func() *graph.Graph { return UNet(3, 4, 8, 32) },

	"jax_mlp":         func() *graph.Graph { return read("recorded/jax_mlp.json") },
	"jax_cnn":         func() *graph.Graph { return read("recorded/jax_cnn.json") },
	"jax_transformer": func() *graph.Graph { return read("recorded/jax_transformer.json") },

	"torch_mlp":         func() *graph.Graph { return read("recorded/torch_mlp.json") },
	"torch_cnn":         func() *graph.Graph { return read("recorded/torch_cnn.json") },
	"torch_transformer": func() *graph.Graph { return read("recorded/torch_transformer.json") },
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

// Transformer has blocks of attention and a perceptron, each after a normalisation and around which rows are added.
// One sequence of rows, of so many heads.
func Transformer(blocks int, length, width, heads int64) *graph.Graph {
	t := newTape(fmt.Sprint("transformer", blocks))
	x := t.input("x", length, width)
	head := func(x *value) *value { return t.transpose(t.reshape(x, length, heads, width/heads), 1, 0, 2) }
	for range blocks {
		n := t.normalise(x)
		q, k, v := head(t.dense(n, width)), head(t.dense(n, width)), head(t.dense(n, width))
		scores := t.softmax(t.scaled(t.matmul(q, t.transpose(k, 0, 2, 1)), 0.25))
		mixed := t.reshape(t.transpose(t.matmul(scores, v), 1, 0, 2), length, width)
		x = t.add(x, t.dense(mixed, width))
		x = t.add(x, t.dense(t.silu(t.dense(t.normalise(x), 4*width)), width))
	}
	return t.finish(t.dense(x, width))
}

// UNet goes down by halving and up again, where it takes what it had on the way down.
func UNet(levels int, batch, channels, size int64) *graph.Graph {
	t := newTape(fmt.Sprint("unet", levels))
	x := t.input("x", batch, 3, size, size)
	var kept []*value
	for range levels {
		x = t.relu(t.conv(t.relu(t.conv(x, channels, 3)), channels, 3))
		kept = append(kept, x)
		x = t.halved(x)
		channels *= 2
	}
	x = t.relu(t.conv(x, channels, 3))
	for i := levels - 1; i >= 0; i-- {
		channels /= 2
		x = t.joined(t.doubled(x), kept[i])
		x = t.relu(t.conv(t.relu(t.conv(x, channels, 3)), channels, 3))
	}
	return t.finish(t.conv(x, 3, 1))
}
