"""The recorder of training steps, bench/planner/training/lifetimes.py, and the models of real depth beside it."""

import gzip
import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="skip: no PyTorch")
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "bench/planner/training"
sys.path.insert(0, str(FOLDER))
deep = pytest.importorskip("deep")
lifetimes = pytest.importorskip("lifetimes")

OWN_MODEL = """
import torch

def build():
    layer = torch.nn.Linear(4, 2, bias=False)
    data = torch.zeros(8, 4)

    def step():
        layer.weight.grad = None
        layer(data).sum().backward()

    return step
"""


def rows(path):
    with gzip.open(path, "rt") as file:
        header, *lines = file.read().splitlines()
    assert header == "begin,life,bytes"
    return [tuple(map(int, line.split(","))) for line in lines]


def test_lives_end_behind_the_last_use_of_any_view():
    def build():
        given = torch.zeros(16)

        def step():
            doubled = given * 2  # operator 0
            view = doubled.view(4, 4)  # 1
            torch.ones(3)  # 2, is never used
            other = view + 1  # 3
            other.add_(view.t())  # 4 is the transposition, 5 the sum
            given.add_(1)  # 6, was there before
            torch.empty(0)  # 7, has no bytes

        return step

    assert lifetimes.record(build, 1) == [(0, 6, 64), (2, 3, 12), (3, 6, 64)]
    assert lifetimes.record(build, 2)[3:] == [(8, 14, 64), (10, 11, 12), (11, 14, 64)]


def test_results_of_one_operator_begin_together():
    def build():
        given = torch.zeros(6, 4)
        return lambda: torch.max(given, 1)

    assert sorted(lifetimes.record(build, 1)) == [(0, 1, 24), (0, 1, 48)]


def network():
    torch.manual_seed(0)
    layers = [torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU(inplace=True)]
    model = torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(64, 5))
    images, labels = torch.zeros(2, 3, 4, 4), torch.zeros(2, dtype=torch.int64)
    return deep.training(model, lambda: torch.nn.functional.cross_entropy(model(images), labels), micro=2)


def test_fake_tensors_live_as_real_ones():
    """The same operators on memory, where every value is computed."""
    real = lifetimes.Recorder()
    with lifetimes.unprofiled():
        step = network()
        step()
        with real:
            step()
    fake = lifetimes.record(network, 1)
    assert fake == real.buffers()
    assert len(fake) > 60


def test_a_training_step_keeps_what_backward_reads():
    """The result of the first layer is read by the last operators of the backward pass."""
    fake = lifetimes.record(network, 1)
    last = max(end for _, end, _ in fake)
    convolved = 2 * 4 * 4 * 4 * 4  # bytes of the first result
    lives = [end - first for first, end, size in fake if size == convolved]
    assert max(lives) > 10
    assert all(0 <= first < end <= last for first, end, _ in fake)
    assert fake == sorted(fake, key=lambda buffer: buffer[0])


def test_sets_are_written_by_difference_and_without_a_time(tmp_path):
    buffers = [(2, 5, 10), (2, 3, 7), (9, 30, 1)]
    for name in ("a.csv.gz", "b.csv.gz"):
        lifetimes.write(str(tmp_path / name), buffers)
    assert rows(tmp_path / "a.csv.gz") == [(2, 3, 10), (0, 1, 7), (7, 21, 1)]
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_a_model_of_ones_own_is_recorded(tmp_path):
    (tmp_path / "mine.py").write_text(OWN_MODEL)
    command = [sys.executable, FOLDER / "lifetimes.py", "mine:build", "mine.csv.gz", "--times", "3"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    made = rows(tmp_path / "mine.csv.gz")
    assert done.stdout == f"mine.csv.gz: {len(made)} buffers\n"
    assert [size for _, _, size in made].count(8 * 2 * 4) >= 3  # the layer's results
    assert len(made) % 3 == 0


@pytest.mark.parametrize("arguments", [["mine"], ["mine", "out.csv.gz"], ["mine:build", "out.csv.gz", "--times", "0"]])
def test_wrong_arguments_are_told(tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["lifetimes.py", *arguments])
    with pytest.raises(SystemExit, match="2"):
        lifetimes.main()
    assert "usage: lifetimes.py" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_experts_are_recorded():
    def build():
        model, tokens = deep.Mixture(2, 64, 2), torch.zeros(2, 8, dtype=torch.int64)
        return deep.training(model, lambda: model(tokens).sum())

    assert len(lifetimes.record(build, 1)) > 200


def test_a_unet_is_recorded():
    def build():
        model, noisy, time = deep.UNet((32, 64), blocks=1), torch.zeros(1, 4, 8, 8), torch.zeros(1, 1024)
        return deep.training(model, lambda: model(noisy, time).sum())

    assert len(lifetimes.record(build, 1)) > 500


def test_networks_of_transformers_are_recorded(tmp_path):
    pytest.importorskip("transformers", reason="skip: no transformers")

    def build():
        return deep.gpt2(1, 64, 1, batch=1, micro=1)

    one, two = lifetimes.record(build, 1), lifetimes.record(build, 2)
    assert len(two) == 2 * len(one)
