"""Real models for tests and benchmarks of the planner, and onnxruntime to run them beside."""

import os
import pathlib

import numpy as np


def find(name):
    """The file of a model, of the folder onnx/ in TL_TEST_DATA or of those that the package onnx carries; None if neither."""
    import onnx

    carried = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    folders = [pathlib.Path(os.environ.get("TL_TEST_DATA", "")) / "onnx", carried]
    return next((folder / name for folder in folders if (folder / name).exists()), None)


def session(model):
    """A session of onnxruntime with one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def with_weights(path, random):
    """The model with random weights where it has a node that makes a constant of each.

    They are scaled so that activations keep their size from layer to layer (He et al., 2015).
    """
    import onnx

    model = onnx.load(path)
    shapes = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    positive = {node.input[i] for node in model.graph.node if node.op_type == "BatchNormalization" for i in (1, 4)}
    kept = []
    for node in model.graph.node:
        if node.op_type != "ConstantOfShape" or node.input[0] not in shapes:
            kept.append(node)
            continue
        shape = tuple(shapes[node.input[0]])
        if node.output[0] in positive:
            array = random.uniform(0.5, 1.5, shape)
        elif len(shape) > 1:
            array = random.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))
        else:
            array = random.standard_normal(shape) * 0.1
        model.graph.initializer.append(onnx.numpy_helper.from_array(array.astype(np.float32), node.output[0]))
    assert len(kept) < len(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend(kept)
    return model
