"""Saves a trained network as a graph, and runs it planned and compiled by `tl`.

`save` writes the network of digits.py in the JSON form of docs/graph-json.md, the held-out
images, and what training has reported. As a program this exports the graph as ONNX, plans its
memory, compiles it, runs it on those images, and compares the accuracy:

    digits_planned.py FOLDER TL
"""

import base64
import json
import pathlib
import subprocess
import sys

import numpy as np

BOUND = 64  # images in one run of the compiled function


def constant(name, array):
    data = base64.b64encode(np.ascontiguousarray(array, dtype="<f4").tobytes()).decode()
    return {"name": name, "dtype": "f32", "shape": list(array.shape), "data": data}


def save(folder, network, images, labels, accuracy):
    """Writes digits.json, images.npy, labels.npy and accuracy.json."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    hidden, last = network.hidden, network.output
    graph = {
        "tl_graph": 1,
        "name": "digits",
        "inputs": [{"name": "images", "dtype": "f32", "shape": ["images", images.shape[1]]}],
        "outputs": ["probabilities"],
        "constants": [
            constant("hidden.weights", hidden.weights), constant("hidden.bias", hidden.bias),
            constant("output.weights", last.weights), constant("output.bias", last.bias),
        ],
        "nodes": [
            {"name": "hidden", "op": "Gemm", "inputs": ["images", "hidden.weights", "hidden.bias"], "outputs": ["h"]},
            {"name": "relu", "op": "Relu", "inputs": ["h"], "outputs": ["r"]},
            {"name": "output", "op": "Gemm", "inputs": ["r", "output.weights", "output.bias"], "outputs": ["logits"]},
            {"name": "softmax", "op": "Softmax", "inputs": ["logits"], "outputs": ["probabilities"], "attrs": {"axis": 1}},
        ],
    }  # fmt: skip
    (folder / "digits.json").write_text(json.dumps(graph, indent=1))
    np.save(folder / "images.npy", np.ascontiguousarray(images, dtype=np.float32))
    np.save(folder / "labels.npy", labels)
    (folder / "accuracy.json").write_text(json.dumps(accuracy))


def main(folder, tl):
    folder = pathlib.Path(folder)
    bind = ["--bind", f"images={BOUND}"]

    def call(*arguments):
        print(f"\ntl {' '.join(map(str, arguments))}", flush=True)
        subprocess.run([tl, *map(str, arguments)], check=True)

    call("export", folder / "digits.json", folder / "digits.onnx", *bind)
    call("plan", folder / "digits.onnx", *bind, "--validate", "-o", folder / "digits.html")
    given = f"images={folder / 'images.npy'}"
    call("run", folder / "digits.onnx", *bind, "--input", given, "-o", folder, "--repeat", 3)
    labels, probabilities = np.load(folder / "labels.npy"), np.load(folder / "probabilities.npy")
    accuracy = float((probabilities.argmax(axis=1) == labels).mean())
    reported = json.loads((folder / "accuracy.json").read_text())
    same = accuracy == reported
    print(f"\naccuracy on {len(labels)} held-out images: {100 * accuracy:.1f} % planned and compiled, ", end="")
    print(f"{100 * reported:.1f} % reported by the training: {'the same' if same else 'NOT THE SAME'}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
