"""tl.Model: models that the program tl compiles, in this process."""

import json
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from planned import TOOL, needs_tool
from small_model import expected, rows, written

import tl_runtime as tl
from conftest import in_threads

pytestmark = needs_tool
PAIR = {
    "tl_graph": 1,
    "inputs": [{"name": "a", "dtype": "i64", "shape": [3]}, {"name": "b", "dtype": "i64", "shape": [3]}],
    "outputs": ["sum", "product"],
    "nodes": [
        {"op": "Add", "inputs": ["a", "b"], "outputs": ["sum"]},
        {"op": "Mul", "inputs": ["a", "b"], "outputs": ["product"]},
    ],
}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TL_CACHE", str(tmp_path / "cache"))


def perceptron(folder, bound=4):
    return tl.Model(written(folder), bind={"batch": bound})


def test_describes_itself(tmp_path):
    model = perceptron(tmp_path)
    assert model.name == "perceptron"
    assert model.inputs == (tl.ModelTensor("x", tl.DType.FLOAT32, (4, 2), "batch"),)
    assert str(model.outputs[0]) == "y: float32[batch, 3]"
    assert repr(model) == "<tl_runtime.Model perceptron: x: float32[batch, 2] -> y: float32[batch, 3]>"
    assert model.bounds == {"batch": 4}
    assert model.frame_bytes >= 0


@pytest.mark.parametrize("rows", [1, 3, 4, 5, 8, 11])
def test_any_number_of_rows(tmp_path, rows):
    x = np.random.default_rng(rows).standard_normal((rows, 2)).astype(np.float32)
    model = perceptron(tmp_path)
    np.testing.assert_allclose(model(x), expected(x), rtol=1e-6)
    np.testing.assert_allclose(model(x=x), expected(x), rtol=1e-6)
    np.testing.assert_array_equal(model.map(x), model(x))
    np.testing.assert_array_equal(model.map(x, batch=5), model(x))


def test_samples_along_an_axis_of_their_own(tmp_path):
    model = tl.Model(written(tmp_path, PAIR, "pair"))
    a, b = np.arange(12).reshape(4, 3), np.array([2, 3, 4])
    total, product = model(a, b)
    np.testing.assert_array_equal(total, a + b)
    np.testing.assert_array_equal(product, a * b)
    total, product = model.map(a, b=b, batch=3)
    np.testing.assert_array_equal(total, a + b)
    np.testing.assert_array_equal(product, a * b)
    assert model(b, b)[0].shape == (3,)


def test_arrays_that_are_not_contiguous(tmp_path):
    x = np.random.default_rng(1).standard_normal((2, 9)).astype(np.float32).T
    np.testing.assert_allclose(perceptron(tmp_path)(x), expected(x), rtol=1e-6)


def test_tensors_are_arrays(tmp_path):
    x = tl.full((4, 2), 0.5, "float32")
    np.testing.assert_allclose(perceptron(tmp_path)(x), expected(x.numpy()), rtol=1e-6)


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_a_pickle_holds_the_whole_model(tmp_path, protocol):
    model = perceptron(tmp_path)
    x = np.ones((4, 2), np.float32)
    stream = pickle.dumps(model, protocol)
    assert b"tl_runtime._model" in stream and b"load_model" in stream  # as every version has named it
    again = pickle.loads(stream)
    assert again.hash == model.hash
    np.testing.assert_array_equal(again(x), model(x))


def test_a_compiled_file_needs_no_compiler(tmp_path):
    source, file = written(tmp_path), tmp_path / "p.tlm"
    subprocess.run([TOOL, "compile", source, "--bind", "batch=4", "-o", file], check=True, capture_output=True)
    again = tmp_path / "q.tlm"
    subprocess.run([TOOL, "compile", source, "--bind", "batch=4", "-o", again], check=True, capture_output=True)
    assert file.read_bytes() == again.read_bytes()
    x = np.ones((4, 2), np.float32)
    model = tl.Model(file)
    np.testing.assert_allclose(model(x), expected(x))
    assert model.hash == perceptron(tmp_path).hash  # the name of the file does not count, that of the model does


def test_threads_call_one_model(tmp_path):
    model, wrong = perceptron(tmp_path), []

    def call(seed):
        x = np.random.default_rng(seed).standard_normal((50, 2)).astype(np.float32)
        if not all(np.allclose(model(x), expected(x)) for _ in range(50)):
            wrong.append(seed)

    in_threads(call, [(seed,) for seed in range(4)])
    assert wrong == []


def test_two_processes_unpack_at_once(tmp_path):
    source = written(tmp_path)
    program = f"import tl_runtime as tl; print(tl.Model({str(source)!r}, bind={{'batch': 4}}).hash)"
    running = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) for _ in range(3)]
    hashes = {process.communicate()[0] for process in running}
    assert all(process.returncode == 0 for process in running)
    assert len(hashes) == 1
    assert len(list((tmp_path / "cache" / "models").iterdir())) == 1


@pytest.mark.parametrize(
    "arrays, named, message",
    [
        ((), {}, "perceptron needs x as well"),
        ((np.ones((4, 2), np.float32),), {"z": 1}, "no input 'z'; it has x"),
        ((np.ones((4, 2), np.float32),), {"x": 1}, "the input 'x' was passed twice"),
        ((1, 2), {}, "perceptron has 1 inputs, and 2 arrays were passed"),
        ((np.ones((4, 2)),), {}, "'x' has elements of type float64; it wants float32"),
        ((np.ones((4, 3), np.float32),), {}, r"x: float32\[batch, 2\] got an array of shape \[4, 3\]"),
        ((np.ones((0, 2), np.float32),), {}, "'x' has no sample"),
    ],
)
def test_arrays_that_do_not_fit(tmp_path, arrays, named, message):
    model = perceptron(tmp_path)
    with pytest.raises(TypeError, match=f"tl.Model: .*{message}"):
        model(*arrays, **named)


def test_a_sample_of_rows_for_all_samples(tmp_path):
    """map returns what a call does where one sample of a symbol's rows serves all samples of another input."""
    graph = {
        "tl_graph": 1,
        "inputs": [
            {"name": "x", "dtype": "f32", "shape": ["batch", 2]},
            {"name": "scale", "dtype": "f32", "shape": [2]},
        ],
        "outputs": ["y"],
        "nodes": [{"op": "Mul", "inputs": ["x", "scale"], "outputs": ["y"]}],
    }
    model = tl.Model(written(tmp_path, graph, "scaled"), bind={"batch": 4})
    x, scales = rows(4), rows(5)
    np.testing.assert_array_equal(model(x, scales), x * scales[:, None])
    for batch in (None, 1, 8, 100):
        np.testing.assert_array_equal(model.map(x, scales, batch=batch), model(x, scales))


def test_samples_of_different_numbers(tmp_path):
    model = tl.Model(written(tmp_path, PAIR, "pair"))
    with pytest.raises(TypeError, match="'b' has 3 samples, another one 2"):
        model(np.ones((2, 3), np.int64), np.ones((3, 3), np.int64))


def test_engines_that_are_none(tmp_path):
    model, x = perceptron(tmp_path), np.ones((4, 2), np.float32)
    with pytest.raises(ValueError, match="'spark' names no engine"):
        model.map(x, on="spark")
    with pytest.raises(ValueError, match="'dask://' names no engine"):
        model.map(x, on="dask://")
    with pytest.raises(TypeError, match="on is a int"):
        model.map(x, on=3)
    with pytest.raises(ValueError, match="batch is 0"):
        model.map(x, batch=0)
    for wrong in (2.5, "64"):
        with pytest.raises(TypeError, match="tl.Model.map: batch is .*; it is a whole number"):
            model.map(x, batch=wrong)


def test_files_that_are_no_models(tmp_path):
    with pytest.raises(ValueError, match="tl.Model: .*the symbol"):
        tl.Model(written(tmp_path))
    with pytest.raises(ValueError, match="bind, freeze and options are for its source"):
        tl.Model(tmp_path / "p.tlm", bind={"batch": 4})
    with pytest.raises(FileNotFoundError):
        tl.Model(tmp_path / "p.tlm")
    file = tmp_path / "p.tlm"
    file.write_bytes(b"no zip")
    with pytest.raises(ValueError, match="p.tlm is no compiled model"):
        tl.Model(file)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("module.so", b"")
    with pytest.raises(ValueError, match="p.tlm is no compiled model"):
        tl.Model(file)


def changed(folder, **about):
    """A compiled model whose description says something else."""
    content = perceptron(folder)._content
    whole, file = folder / "whole.tlm", folder / "changed.tlm"
    whole.write_bytes(content)
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(file, "w") as archive:
        for name in source.namelist():
            part = source.read(name)
            archive.writestr(name, json.dumps(json.loads(part) | about) if name == "model.json" else part)
    return file


@pytest.mark.parametrize(
    "about, message",
    [
        ({"processor": ["avx9000"]}, "compiled for a processor with avx9000, which this one has not"),
        ({"machine": "pdp11"}, "compiled for pdp11; this is"),
        ({"format": 7}, "has format 7; this package reads 1"),
    ],
)
def test_code_for_other_machines_is_refused(tmp_path, about, message):
    with pytest.raises(ValueError, match=message):
        tl.Model(changed(tmp_path, **about))


def test_the_frame_is_given_back(tmp_path):
    model = perceptron(tmp_path)
    before = tl.live_count()
    for _ in range(10):
        model(np.ones((4, 2), np.float32))
    assert tl.live_count() == before


@pytest.mark.parametrize("part", ["constants", "module.so", "model.json"])
def test_a_damaged_cache_is_made_again(tmp_path, part):
    model, x = perceptron(tmp_path), np.ones((4, 2), np.float32)
    want = model(x)
    file = tmp_path / "cache" / "models" / model.hash / part
    file.unlink()
    file.write_bytes(b"")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model))(x), want)
    file.unlink()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model))(x), want)


@pytest.mark.parametrize(
    "about",
    [
        {"constants": [2**62]},
        {"constants": [-1]},
        {"constants": ["a"]},
        {"outputs": [{"name": "y", "dtype": "f32", "shape": [1, 1], "bytes": 48}]},
        {"outputs": [{"name": "y", "dtype": "f33", "shape": [4, 3], "bytes": 48}]},
        {"inputs": 5},
        {"function": None},
    ],
)
def test_a_description_that_cannot_be_is_refused(tmp_path, about):
    with pytest.raises((ValueError, TypeError, AttributeError), match="no compiled model|function|name"):
        tl.Model(changed(tmp_path, **about))


def test_bfloat16_is_two_bytes_and_nothing_else(tmp_path):
    graph = {
        "tl_graph": 1,
        "inputs": [{"name": "x", "dtype": "bf16", "shape": [2, 2]}],
        "outputs": ["y"],
        "nodes": [{"op": "Transpose", "inputs": ["x"], "outputs": ["y"]}],
    }
    model = tl.Model(written(tmp_path, graph, "bf"))
    x = np.arange(4, dtype=np.uint16).reshape(2, 2)
    np.testing.assert_array_equal(model(x.view("V2")).view(np.uint16), x.T)
    for wrong in ("f2", "i2", "u2", "S2"):
        with pytest.raises(TypeError, match="it wants bfloat16"):
            model(x.view(wrong))


def with_module(change, from_file, to_file):
    """Writes a compiled model whose machine code was changed, as a valid file."""
    with zipfile.ZipFile(from_file) as old, zipfile.ZipFile(to_file, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(old.read(name)) if name == "module.so" else old.read(name))


@pytest.mark.parametrize("cut", [lambda m: b"", lambda m: m[:40], lambda m: m[:3000], lambda m: m[: len(m) - 60],
                                 lambda m: b"text" * 500, lambda m: m[:5]])  # fmt: skip
def test_machine_code_that_was_cut_is_refused(tmp_path, cut):
    source, file, damaged = written(tmp_path), tmp_path / "p.tlm", tmp_path / "damaged.tlm"
    subprocess.run([TOOL, "compile", source, "--bind", "batch=4", "-o", file], check=True, capture_output=True)
    with_module(cut, file, damaged)
    with pytest.raises(ValueError, match=r"damaged.tlm is damaged: its module.so has \d+ bytes .*compile the model again"):
        tl.Model(damaged)
    with_module(lambda module: module, file, damaged)
    assert tl.Model(damaged)(np.ones((4, 2), np.float32)) is not None


def test_compiled_code_in_the_cache_that_was_cut_is_made_again(tmp_path):
    source, file = written(tmp_path), tmp_path / "p.tlm"
    command = [TOOL, "compile", source, "--bind", "batch=4", "-o", file]
    subprocess.run(command, check=True, capture_output=True)
    first = file.read_bytes()
    (module,) = (tmp_path / "cache").glob("*.so")
    module.write_bytes(module.read_bytes()[:5000])
    subprocess.run(command, check=True, capture_output=True)
    assert file.read_bytes() == first
    model = ["run", source, "--bind", "batch=4", "--runtime", tl.path()]
    for _ in range(2):
        subprocess.run([TOOL, *model], check=True, capture_output=True)
        for path in [module, *(tmp_path / "cache").glob("host-*")]:
            path.write_bytes(path.read_bytes()[:3000])
