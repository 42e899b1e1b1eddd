"""Reads models of one node, a line each in base64, and answers each with the model and the types of its results."""

import base64
import sys

sys.path[:] = [folder for folder in sys.path if folder]  # no folder "onnx" that happens to be the working folder's

import onnx  # noqa: E402

for line in sys.stdin:
    try:
        model = onnx.load_model_from_string(base64.b64decode(line))
        answer = base64.b64encode(onnx.shape_inference.infer_shapes(model, data_prop=True).SerializeToString()).decode()
    except Exception as error:  # noqa: BLE001 (what the package refuses is the answer)
        answer = "! " + " ".join(str(error).split())
    print(answer, flush=True)
