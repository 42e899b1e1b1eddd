"""The digits' network, trained by several processes that share the rows of each batch; NumPy does the arithmetic.

    mpiexec -n 4 python -m mpi4py digits_mpi.py [DIGITS.csv or DIGITS.csv.gz]

A batch is cut into a fixed number of shards, whichever number of processes there is. Trains twice: `exact` gathers the
gradients of all shards and adds them in the order of the shards, so that one process or four get the same weights to the
last bit; `reduced` has MPI add what the processes have, so that fewer bytes travel and the last bits depend on the
number of processes. In both ways the gradients of the output layer travel while those of the hidden layer are computed.

Arrays stand in the runtime's memory, and MPI reads and writes the tensors where they lie.
"""

import hashlib
import os
import pathlib
import sys
import time

# Processes share the machine: threads of the linear algebra would wait for each other more than they work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402
import tl_runtime as tl  # noqa: E402
from digits import CLASSES, DATA, HIDDEN, SEED, WANTED_ACCURACY, Digits  # noqa: E402
from mpi4py import MPI  # noqa: E402

SHARDS, SHARD_ROWS, EPOCHS, RATE, TOLERANCE = 4, 8, 20, np.float32(0.15), 1e-3
BATCH = SHARDS * SHARD_ROWS
COMM = MPI.COMM_WORLD
BOUNDS = [rank * SHARDS // COMM.size for rank in range(COMM.size + 1)]  # of the processes' shards
OWN = range(BOUNDS[COMM.rank], BOUNDS[COMM.rank + 1])


class Layer:
    """Weights, and the biases as one more row."""

    def __init__(self, random, inputs, outputs):
        limit = np.sqrt(6 / inputs)
        self.parameters = tl.zeros((inputs + 1, outputs))
        self.values = self.parameters.numpy()
        self.weights, self.bias = self.values[:-1], self.values[-1]
        self.weights[:] = random.uniform(-limit, limit, (inputs, outputs))

    def forward(self, rows):
        return rows @ self.weights + self.bias

    def gradient(self, into, rows, above):
        np.matmul(rows.T, above, out=into[:-1])
        np.sum(above, axis=0, out=into[-1])


class Exchange:
    """The gradients of a layer on their way between the processes."""

    def __init__(self, layer, exact):
        self.layer, self.exact = layer, exact
        self.tensor = tl.zeros((SHARDS if exact else 1, *layer.values.shape))
        self.rows = self.tensor.numpy()

    def add(self, shard, rows, above):
        if self.exact:
            self.layer.gradient(self.rows[shard], rows, above)
        else:
            one = np.empty_like(self.rows[0])
            self.layer.gradient(one, rows, above)
            self.rows[0] += one

    def start(self):
        if self.exact:
            size = self.rows[0].size
            counts = [size * (end - begin) for begin, end in zip(BOUNDS, BOUNDS[1:])]
            places = [size * begin for begin in BOUNDS[:-1]]
            self.request = COMM.Iallgatherv(MPI.IN_PLACE, [self.tensor, counts, places, MPI.FLOAT])
        else:
            self.request = COMM.Iallreduce(MPI.IN_PLACE, self.tensor)

    def finish(self):
        """Waits, adds the shards in their order, and takes the step."""
        self.request.Wait()
        total = self.rows[0]
        for row in self.rows[1:]:
            total += row
        self.layer.values -= RATE * total


class Network:
    def __init__(self, random):
        self.hidden, self.output = Layer(random, 64, HIDDEN), Layer(random, HIDDEN, CLASSES)

    def forward(self, images):
        hidden = np.maximum(self.hidden.forward(images), 0)
        logits = self.output.forward(hidden)
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        return hidden, shares / shares.sum(axis=1, keepdims=True)

    def step(self, images, targets, exact):
        """One batch, of which this process computes its shards."""
        output, below = Exchange(self.output, exact), Exchange(self.hidden, exact)
        passed = []
        for shard in OWN:
            rows = slice(shard * SHARD_ROWS, (shard + 1) * SHARD_ROWS)
            hidden, probabilities = self.forward(images[rows])
            above = (probabilities - targets[rows]) * np.float32(1 / BATCH)
            output.add(shard, hidden, above)
            passed.append((shard, images[rows], hidden, above))
        output.start()
        for shard, rows, hidden, above in passed:
            below.add(shard, rows, (above @ self.output.weights.T) * (hidden > 0))
            output.request.Test()  # lets MPI make progress
        below.start()
        output.finish()
        below.finish()

    def accuracy(self, digits):
        _, probabilities = self.forward(digits.pixels[digits.test])
        return float((probabilities.argmax(axis=1) == digits.labels[digits.test]).mean())


def train(digits, exact):
    random = np.random.default_rng(SEED)
    network, begin = Network(random), time.perf_counter()
    with tl.numpy_allocator():
        for _ in range(EPOCHS):
            order = random.permutation(digits.train)
            for first in range(0, len(order) - BATCH + 1, BATCH):
                rows = order[first : first + BATCH]
                network.step(digits.pixels[rows], digits.targets[rows], exact)
    return network, network.accuracy(digits), time.perf_counter() - begin


def farthest(a, b):
    return max(float(np.abs(x.values - y.values).max()) for x, y in ((a.hidden, b.hidden), (a.output, b.output)))


def trainings(path):
    digits = Digits(path)
    exact, accuracy, seconds = train(digits, exact=True)
    bits = hashlib.sha256(exact.hidden.values.tobytes() + exact.output.values.tobytes()).hexdigest()[:16]
    reduced, about, fewer = train(digits, exact=False)
    far = farthest(exact, reduced)
    same = len(set(COMM.allgather(bits))) == 1
    if COMM.rank == 0:
        print(f"processes {COMM.size}, shards {SHARDS}")
        print(f"exact    accuracy {100 * accuracy:.2f} %  weights {bits}  {seconds:.3f} s")
        print(f"reduced  accuracy {100 * about:.2f} %  at most {far:.1e} from the exact weights  {fewer:.3f} s")
    return same and far <= TOLERANCE and min(accuracy, about) >= WANTED_ACCURACY


def main(path):
    before = tl.stats()["live_objects"]
    good = trainings(path)
    left = COMM.allreduce(tl.stats()["live_objects"] - before)
    if COMM.rank == 0:
        print(f"objects leaked {left}", flush=True)
    return 0 if good and left == 0 else 1


if __name__ == "__main__":
    sys.exit(main(*(sys.argv[1:] or [DATA])))
