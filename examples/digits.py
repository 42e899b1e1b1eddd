"""Trains a perceptron on handwritten digits: NumPy does the arithmetic, every array stands in the runtime's memory.

    digits.py [DIGITS.csv or DIGITS.csv.gz [FOLDER]]

There are two ways to the runtime's memory, and the program shows both: it makes tensors and has NumPy work on their
arrays (TensorMemory), and it trains the same network unchanged under tl.numpy_allocator() (AllocatorMemory). With a
folder, the trained network is saved there, for digits_planned.py. Tells what the memory did, and times the same training
both ways and with NumPy's own memory. Exit status 0 when the network is at least 95 % right and nothing was leaked.
"""

import contextlib
import gzip
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import time

# The matrices are small: threads of the linear algebra would wait for each other more than they work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import digits_planned  # noqa: E402
import numpy as np  # noqa: E402

EPOCHS, BATCH, SEED, RATE, RUNS = 40, 16, 20, np.float32(0.08), 3
HIDDEN, CLASSES = 64, 10
WANTED_ACCURACY = 0.95
DATA = pathlib.Path(__file__).parent / "data" / "digits.csv.gz"


class TensorMemory:
    """Arrays over tensors of the runtime; a tensor goes back to the pool with its last array."""

    def __init__(self):
        import tl_runtime

        self.tl, self.created = tl_runtime, 0

    def empty(self, *shape):
        self.created += 1
        return self.tl.empty(shape, "float32").numpy()

    def scope(self):
        return self.tl.scope()

    def everywhere(self):
        return contextlib.nullcontext()


class NumpyMemory:
    """The same program over NumPy's own memory."""

    def empty(self, *shape):
        return np.empty(shape, np.float32)

    def scope(self):
        return contextlib.nullcontext()

    def everywhere(self):
        return contextlib.nullcontext()


class AllocatorMemory(NumpyMemory):
    """NumPy's arrays, all of them in the runtime's memory: the program does not change."""

    def everywhere(self):
        import tl_runtime

        return tl_runtime.numpy_allocator()


MEMORIES = {"runtime": TensorMemory, "allocator": AllocatorMemory, "numpy": NumpyMemory}


class Digits:
    """All images and labels, a fifth of them held out by a fixed shuffle."""

    def __init__(self, path):
        opened = gzip.open(path, "rt") if str(path).endswith(".gz") else open(path)
        with opened as lines:
            table = np.loadtxt(lines, delimiter=",", dtype=np.float32)
        self.pixels, self.labels = table[:, :-1] / 16, table[:, -1].astype(int)
        self.targets = np.eye(CLASSES, dtype=np.float32)[self.labels]
        order = np.random.default_rng(SEED).permutation(len(table))
        held_out = len(table) // 5
        self.train, self.test = order[:-held_out], order[-held_out:]


class Layer:
    def __init__(self, memory, random, inputs, outputs):
        limit = np.sqrt(6 / inputs)
        self.memory = memory
        self.weights, self.bias = memory.empty(inputs, outputs), memory.empty(outputs)
        self.weights[:] = random.uniform(-limit, limit, (inputs, outputs))
        self.bias[:] = 0

    def forward(self, images):
        product = np.matmul(images, self.weights, out=self.memory.empty(len(images), self.bias.size))
        return np.add(product, self.bias, out=self.memory.empty(*product.shape))

    def backward(self, images, above):
        """The gradient of the layer below; the layer's own weights take a step down theirs."""
        new = self.memory.empty
        below = np.matmul(above, self.weights.T, out=new(*images.shape))
        weights = np.matmul(images.T, above, out=new(*self.weights.shape))
        bias = np.sum(above, axis=0, out=new(self.bias.size))
        self.weights = np.subtract(self.weights, np.multiply(weights, RATE, out=weights), out=new(*weights.shape))
        self.bias = np.subtract(self.bias, np.multiply(bias, RATE, out=bias), out=new(bias.size))
        return below


class Network:
    def __init__(self, memory):
        random = np.random.default_rng(SEED)
        self.memory = memory
        self.hidden, self.output = Layer(memory, random, 64, HIDDEN), Layer(memory, random, HIDDEN, CLASSES)

    def forward(self, images):
        hidden = self.hidden.forward(images)
        np.maximum(hidden, 0, out=hidden)
        logits = self.output.forward(hidden)
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        return hidden, logits

    def step(self, images, targets):
        """One step of gradient descent; returns the loss before it."""
        hidden, probabilities = self.forward(images)
        loss = -np.log((probabilities * targets).sum(axis=1)).mean()
        above = np.subtract(probabilities, targets, out=self.memory.empty(*targets.shape))
        above /= len(images)
        below = self.output.backward(hidden, above)
        below *= hidden > 0
        self.hidden.backward(images, below)
        return float(loss)

    def accuracy(self, digits):
        _, probabilities = self.forward(digits.pixels[digits.test])
        return float((probabilities.argmax(axis=1) == digits.labels[digits.test]).mean())


def take(memory, source, rows):
    return np.take(source, rows, axis=0, out=memory.empty(len(rows), source.shape[1]), mode="clip")


def train(memory, digits, after_epoch=lambda *figures: None):
    network, random = Network(memory), np.random.default_rng(SEED)
    total, accuracy = 0.0, 0.0
    for epoch in range(1, EPOCHS + 1):
        begin = time.perf_counter()
        order, losses = random.permutation(digits.train), []
        for first in range(0, len(order) - BATCH + 1, BATCH):
            rows = order[first : first + BATCH]
            with memory.scope():
                losses.append(network.step(take(memory, digits.pixels, rows), take(memory, digits.targets, rows)))
        accuracy = network.accuracy(digits)
        seconds = time.perf_counter() - begin
        total += seconds
        after_epoch(epoch, np.mean(losses), accuracy, seconds)
    return total, accuracy, network


def peak_bytes():
    status = pathlib.Path("/proc/self/status").read_text()
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def time_only(kind, path=DATA):
    """One training in this process, as JSON: what `beside_numpy` starts."""
    memory = MEMORIES[kind]()
    with memory.everywhere():
        seconds, accuracy, _ = train(memory, Digits(path))
    print(json.dumps({"seconds": seconds, "accuracy": accuracy, "peak": peak_bytes()}))


def beside_numpy(path):
    def run(kind):
        command = [sys.executable, __file__, "--time", kind, str(path)]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    runs = [[run(kind) for kind in MEMORIES] for _ in range(RUNS)]
    print(f"\nThe same training, best of {RUNS} alternating runs, a process each")
    print(f"  {'':28}{'tensors':>14}{'tl.numpy_allocator()':>22}{'NumPy alone':>14}")
    seconds = [1e3 * min(way["seconds"] for way in column) for column in zip(*runs)]
    peaks = [max(way["peak"] for way in column) / 2**20 for column in zip(*runs)]
    print(f"  {'time':28}{seconds[0]:11.0f} ms{seconds[1]:19.0f} ms{seconds[2]:11.0f} ms")
    print(f"  {'peak memory, whole process':28}{peaks[0]:10.1f} MiB{peaks[1]:18.1f} MiB{peaks[2]:10.1f} MiB")


def main(path, folder=None):
    memory, digits, history = TensorMemory(), Digits(path), []
    tl = memory.tl
    begin = tl.stats()

    def after_epoch(epoch, loss, accuracy, seconds):
        history.append(tl.stats()["system_calls"])
        if epoch == 1 or epoch % 10 == 0:
            print(f"{epoch:5}   {loss:.4f}   {100 * accuracy:5.1f} %   {1e3 * seconds:6.1f}", flush=True)

    print(f"Handwritten digits from Python: {len(digits.train)} to train, {len(digits.test)} held out\n")
    print("epoch     loss   held out      ms")
    _, accuracy, network = train(memory, digits, after_epoch)
    if folder:
        digits_planned.save(folder, network, digits.pixels[digits.test], digits.labels[digits.test], accuracy)
    del network
    end = tl.stats()
    live = end["tensors_live"] - begin["tensors_live"]
    print(f"\naccuracy: {100 * accuracy:.1f} %\n\nTL Runtime")
    print(f"  {'tensors created':42}{memory.created:12}")
    print(f"  {'tensors released':42}{memory.created - live:12}")
    print(f"  {'peak memory of this process':42}{peak_bytes() / 2**20:8.1f} MiB")
    print(f"  {'calls to the operating system, last epoch':42}{history[-1] - history[-2]:12}")
    print(f"  {'objects leaked':42}{live:12}")
    beside_numpy(path)
    if importlib.util.find_spec("tl_runtime._fast") is None:
        print("  Each call went through ctypes, which takes several times as long: the extension module was not built, for")
        print("  want of a C compiler, of CPython 3.11 or newer, or of its headers (Debian's python3-dev).")
    return 0 if accuracy >= WANTED_ACCURACY and live == 0 else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--time"]:
        time_only(*sys.argv[2:])
    else:
        sys.exit(main(*(sys.argv[1:] or [DATA])))
