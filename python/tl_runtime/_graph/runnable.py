"""Compiled functions over arrays: how many samples the arrays of a call hold, and one call of the function for each."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._binding.library import error_for
from .._dtype import DType
from .._errors import Status, make_error

if TYPE_CHECKING:
    import numpy

_ALIGNED = 64  # memory of a caller, at least

Arrays = Any  # of NumPy, or what NumPy makes an array of


@dataclass(frozen=True)
class ModelTensor:
    """An input or an output of a model, of one sample.

    symbol is the symbol whose number the first axis is, else "": a caller may pass any number of rows of it.
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    symbol: str = ""

    def __str__(self) -> str:
        axes = [self.symbol or str(n) for n in self.shape[:1]] + [str(n) for n in self.shape[1:]]
        return f"{self.name}: {self.dtype}[{', '.join(axes)}]"


class Runnable:
    """A compiled function over arrays: what tl.Model and the functions of tl.Execution share."""

    _kind: str  # for messages
    name: str
    inputs: tuple[ModelTensor, ...]
    outputs: tuple[ModelTensor, ...]
    bounds: Mapping[str, int]
    _function: Any
    _constant_pointers: Any

    def _refusal(self) -> str:
        """Returns what the function looks at while it runs; llvm.Refusal has the sentence."""
        raise NotImplementedError

    def __call__(self, *arrays: Arrays, **named: Arrays) -> Any:
        """Runs the model on one sample or many, and returns its output, or a tuple of them.

        The arrays come in the order of the inputs, or by their names. An array may have one axis more than its input,
        or any number of rows where its first axis is a symbol; the outputs then have as many. Raises TypeError for
        arrays that do not fit, and tl.Error when the runtime refuses, such as for want of memory.
        """
        return self._result(self._run(self._batch(self._by_name(arrays, named))))

    # ---- batches -----------------------------------------------------------------------------

    def _by_name(self, arrays: Sequence[Arrays], named: Mapping[str, Arrays]) -> list[numpy.ndarray]:
        import numpy

        names = [t.name for t in self.inputs]
        if len(arrays) > len(names):
            raise TypeError(f"{self._kind}: {self.name} has {len(names)} inputs, and {len(arrays)} arrays were passed")
        given = dict(zip(names, arrays))
        for name, array in named.items():
            if name not in names:
                raise TypeError(f"{self._kind}: {self.name} has no input {name!r}; it has {', '.join(names)}")
            if name in given:
                raise TypeError(f"{self._kind}: the input {name!r} was passed twice")
            given[name] = array
        missing = [name for name in names if name not in given]
        if missing:
            raise TypeError(f"{self._kind}: {self.name} needs {', '.join(missing)} as well")
        return [numpy.asarray(given[name]) for name in names]

    def _batch(self, arrays: list[numpy.ndarray]) -> Batch:
        """Tells how many samples the arrays hold; the rule is that of `tl run` (cmd/tl/batch.go)."""
        rows: dict[str, int] = {}
        samples, kinds = 1, []
        for about, array in zip(self.inputs, arrays):
            self._check_dtype(about, array)
            kind, n = self._count(about, array.shape)
            if kind == "rows":
                if rows.setdefault(about.symbol, array.shape[0]) != array.shape[0]:
                    raise TypeError(
                        f"{self._kind}: the inputs of the symbol {about.symbol} have different numbers of rows"
                    )
            if n == 0:
                raise TypeError(f"{self._kind}: the input {about.name!r} has no sample")
            if n > 1 and samples > 1 and n != samples:
                raise TypeError(f"{self._kind}: the input {about.name!r} has {n} samples, another one {samples}")
            samples = max(samples, n)
            kinds.append(kind)
        for symbol, n in rows.items():
            bound = self.bounds[symbol]
            if -(-n // bound) != samples and n != bound:
                raise TypeError(
                    f"{self._kind}: the inputs have {n} rows of the symbol {symbol}, which is {-(-n // bound)} samples of "
                    f"{bound}, and {samples} samples of others; pass as many of each"
                )
        return Batch(arrays, kinds, samples, rows)

    def _count(self, about: ModelTensor, shape: tuple[int, ...]) -> tuple[str, int]:
        if about.symbol and about.shape[0] and len(shape) == len(about.shape) and shape[1:] == about.shape[1:]:
            return "rows", -(-shape[0] // about.shape[0])
        if shape == about.shape:
            return "one", 1
        if shape[1:] == about.shape:
            return "samples", shape[0]
        raise TypeError(f"{self._kind}: the input {about} got an array of shape {list(shape)}")

    def _run(self, batch: Batch) -> Outputs:
        import numpy

        outputs = [numpy.empty((batch.samples, *t.shape), t.dtype.dtype) for t in self.outputs]
        held = [self._ready(t, a, kind) for t, a, kind in zip(self.inputs, batch.arrays, batch.kinds)]
        steps = [0 if a.shape[0] == 1 else a.strides[0] for a in held]
        inputs = (ctypes.c_void_p * max(len(held), 1))()
        results = (ctypes.c_void_p * max(len(outputs), 1))()
        for sample in range(batch.samples):
            for i, array in enumerate(held):
                inputs[i] = array.ctypes.data + sample * steps[i]
            for i, array in enumerate(outputs):
                results[i] = array.ctypes.data + sample * array.strides[0]
            status = self._function(inputs, results, self._constant_pointers)
            if status:
                raise self._refused(status)
        return Outputs(outputs, batch.samples, batch.rows)

    def _refused(self, status: int) -> Exception:
        """Returns the exception for a call that the function has refused. For arguments it records no message itself."""
        if status != Status.INVALID_ARGUMENT:
            return error_for(status)
        why = self._refusal() or "it does not say why"
        return make_error(status, f"{self._kind}: {self.name}: TL_E_INVALID_ARGUMENT: the call was refused; {why}")

    @staticmethod
    def _ready(about: ModelTensor, array: numpy.ndarray, kind: str) -> numpy.ndarray:
        """Returns the array as samples after each other, the last one filled up with zeros."""
        import numpy

        array = numpy.ascontiguousarray(array).view(about.dtype.dtype)
        count = 1 if kind == "one" else array.shape[0]
        if kind == "rows":
            count = -(-count // about.shape[0])
            missing = count * about.shape[0] - array.shape[0]
            if missing:
                array = numpy.concatenate([array, numpy.zeros((missing, *about.shape[1:]), array.dtype)])
        return array.reshape(count, *about.shape)

    def _result(self, made: Outputs) -> Any:
        """Gives outputs the shapes that a caller expects: rows of padding go, a single sample has no axis of its own."""
        results = []
        for about, array in zip(self.outputs, made.arrays):
            rows = made.rows.get(about.symbol) if about.symbol else None
            if rows is not None and -(-rows // self.bounds[about.symbol]) == made.samples:
                results.append(array.reshape(-1, *about.shape[1:])[:rows])
            else:
                results.append(array[0] if made.samples == 1 else array)
        return results[0] if len(results) == 1 else tuple(results)

    def _check_dtype(self, about: ModelTensor, array: numpy.ndarray) -> None:
        if about.dtype == DType.BFLOAT16 and (array.dtype.name == "bfloat16" or array.dtype.str == about.dtype.dtype.str):
            return  # as ml_dtypes has them, or as two bytes
        if array.dtype != about.dtype.dtype:
            raise TypeError(
                f"{self._kind}: the input {about.name!r} has elements of type {array.dtype}; it wants {about.dtype}"
            )


@dataclass
class Batch:
    """Arrays for all inputs, what they hold, how many samples that is, and how many rows by symbol."""

    arrays: list[numpy.ndarray]
    kinds: list[str]  # "rows", "samples", or "one" for all
    samples: int
    rows: dict[str, int]

    def part(self, model: Runnable, first: int, end: int) -> Batch:
        """Returns the samples from first to end; arrays of one sample stay whole."""
        arrays, rows = [], {}
        for about, array, kind in zip(model.inputs, self.arrays, self.kinds):
            if kind == "rows" and array.shape[0] > about.shape[0]:
                array = array[first * about.shape[0] : end * about.shape[0]]
            elif kind == "samples" and array.shape[0] > 1:
                array = array[first:end]
            if kind == "rows":
                rows[about.symbol] = array.shape[0]
            arrays.append(array)
        return Batch(arrays, self.kinds, end - first, rows)


@dataclass
class Outputs:
    """The outputs of some samples, along an axis of their own, and how many rows these had by symbol."""

    arrays: list[numpy.ndarray]
    samples: int
    rows: dict[str, int]


def joined(parts: Sequence[Outputs], whole: Batch) -> Outputs:
    """Puts the outputs of all parts of a batch together."""
    import numpy

    if len(parts) == 1:
        return parts[0]
    arrays = [numpy.concatenate(arrays) for arrays in zip(*(part.arrays for part in parts))]
    return Outputs(arrays, whole.samples, whole.rows)


def aligned(nbytes: int, alignment: int) -> numpy.ndarray:
    """Makes zeroed memory whose address is a multiple of the alignment, and of 64."""
    import numpy

    alignment = max(alignment, _ALIGNED)
    block = numpy.zeros(nbytes + alignment, numpy.uint8)
    first = -block.ctypes.data % alignment
    return block[first : first + nbytes]


def checked_memory(memory: Any, nbytes: int, alignment: int) -> numpy.ndarray:
    """Returns memory of the caller's as an array; ValueError when a graph cannot run there."""
    import numpy

    alignment = max(alignment, _ALIGNED)
    if not isinstance(memory, numpy.ndarray) or memory.dtype.hasobject:
        raise ValueError("memory for a graph: it is a NumPy array of bytes or numbers, such as scratch() makes")
    array = memory
    if not (array.flags.c_contiguous and array.flags.writeable):
        raise ValueError("memory for a graph: the array cannot be written, or has gaps")
    if array.nbytes < nbytes:
        raise ValueError(f"memory for a graph: the array has {array.nbytes} bytes; {nbytes} are needed")
    if nbytes and array.ctypes.data % alignment:
        raise ValueError(f"memory for a graph: the array is not at a multiple of {alignment}; scratch() makes one that is")
    return array
