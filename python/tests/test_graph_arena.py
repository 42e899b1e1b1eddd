"""Graphs that share an arena, and graphs in memory of their caller."""

import pickle

import numpy as np
import pytest
from small_model import rows

import tl_runtime as tl
from conftest import in_threads

pytestmark = pytest.mark.skipif(not hasattr(tl.lib, "tl_graph_create"), reason="the library has no graphs")

WIDTH, TOKENS, PROMPT = 8, 6, 4


def weights(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32) / 2


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


# ---- prefill and decode -------------------------------------------------------------------------

W_KEY, W_OUT = weights(1, WIDTH, WIDTH), weights(2, WIDTH, WIDTH)


def prefill():
    """Writes the keys of a prompt into the cache; its output is the last row's."""
    graph = tl.Graph("prefill")
    x = graph.input("prompt", "float32", (TOKENS, WIDTH))
    keys = graph.add("MatMul", x, graph.constant("wk", W_KEY), outputs=["present"])
    graph.output(keys, graph.add("MatMul", keys, graph.constant("wo", W_OUT), outputs=["scores"]))
    graph.state("cache", "present")
    return graph


def decode():
    """Writes one more key at its row, and attends to the cache."""
    graph = tl.Graph("decode")
    past = graph.input("past", "float32", (TOKENS, WIDTH))
    row = graph.input("row", "int64", (1, WIDTH))
    token = graph.input("token", "float32", (1, WIDTH))
    key = graph.add("MatMul", token, graph.constant("wk", W_KEY))
    present = graph.add("ScatterElements", past, row, key, axis=0, outputs=["present"])
    scores = graph.add("MatMul", token, graph.add("Transpose", present, perm=[1, 0]))
    mixed = graph.add("MatMul", graph.add("Softmax", scores, axis=1), present)
    graph.output(present, graph.add("MatMul", mixed, graph.constant("wo", W_OUT), outputs=["scores"]))
    graph.state("cache", "past", "present")
    return graph


class Reference:
    """The same by NumPy."""

    def prefill(self, prompt):
        self.cache = prompt @ W_KEY
        return self.cache @ W_OUT

    def decode(self, row, token):
        self.cache[row] = (token @ W_KEY)[0]
        return softmax(token @ self.cache.T) @ self.cache @ W_OUT


def padded(n):
    prompt = np.zeros((TOKENS, WIDTH), np.float32)
    prompt[:n] = weights(n + 10, n, WIDTH)
    return prompt


@pytest.mark.parametrize("compiler", ["llvmlite", "clang"])
def test_prefill_and_decode_share_a_cache(compiler):
    arena = tl.plan_together([prefill(), decode()])
    arena.validate()
    assert repr(arena) == f"<tl_runtime.GraphArena prefill_decode: 2 entries in {arena.nbytes} bytes>"
    (cache,) = arena.states
    assert (cache.name, cache.shape, cache.nbytes, cache.offset) == ("cache", (TOKENS, WIDTH), 4 * TOKENS * WIDTH, 0)
    assert cache.begin is None
    assert arena.state_bytes <= arena.nbytes < arena.separate_bytes
    assert {b.kind for b in arena.entries["decode"].buffers} >= {"state", "constant", "input", "output"}
    try:
        chat = arena.compile(compiler)
    except ImportError as error:
        pytest.skip(str(error))
    assert repr(chat) == f"<tl_runtime.CompiledArena prefill, decode in {arena.nbytes} bytes>"
    assert [t.name for t in chat["decode"].inputs] == ["row", "token"]
    assert [t.name for t in chat["decode"].outputs] == ["scores"]
    for n in (PROMPT, 2):
        reference = Reference()
        np.testing.assert_allclose(chat["prefill"](padded(n)), reference.prefill(padded(n)), rtol=1e-4, atol=1e-5)
        for row in range(n, TOKENS):
            token = weights(row, 1, WIDTH)
            got = chat["decode"](np.full((1, WIDTH), row), token)
            np.testing.assert_allclose(got, reference.decode(row, token), rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(chat.states["cache"], reference.cache, rtol=1e-4, atol=1e-5)


def test_the_same_code_in_two_conversations():
    chat = tl.plan_together({"prefill": prefill(), "decode": decode()}).compile()
    other, references = chat.another(), (Reference(), Reference())
    for model, reference, n in ((chat, references[0], 4), (other, references[1], 3)):
        np.testing.assert_allclose(model["prefill"](padded(n)), reference.prefill(padded(n)), rtol=1e-4, atol=1e-5)
    for row in (3, 4, 5):
        for model, reference in ((chat, references[0]), (other, references[1])):
            token = weights(row, 1, WIDTH)
            got = model["decode"](row=np.full((1, WIDTH), row), token=token)
            np.testing.assert_allclose(got, reference.decode(row, token), rtol=1e-4, atol=1e-5)
    chat.reset()
    assert not chat.states["cache"].any()
    assert other.states["cache"].any()


# ---- train and eval -----------------------------------------------------------------------------


def score(graph, x, w):
    return graph.add("Tanh", graph.add("MatMul", x, w), outputs=["y"])


def train():
    """One step of gradient descent on tanh(x w) and its squared error, with w as a state."""
    graph = tl.Graph("train")
    x, target = graph.input("x", "float32", (16, WIDTH)), graph.input("target", "float32", (16, 1))
    w = graph.constant("w", weights(5, WIDTH, 1))
    y = score(graph, x, w)
    error = graph.add("Sub", y, target)
    slope = graph.add("Sub", graph.constant("one", np.float32(1)), graph.add("Mul", y, y))
    gradient = graph.add("MatMul", graph.add("Transpose", x, perm=[1, 0]), graph.add("Mul", error, slope))
    step = graph.add("Mul", gradient, graph.constant("rate", np.float32(0.05)))
    graph.output(graph.add("Sub", w, step, outputs=["w_next"]))
    graph.output(graph.add("ReduceMean", graph.add("Mul", error, error), keepdims=0, outputs=["loss"]))
    graph.state("weights", "w", "w_next")
    return graph


def evaluate():
    graph = tl.Graph("eval")
    graph.output(score(graph, graph.input("x", "float32", (2, WIDTH)), graph.input("w", "float32", (WIDTH, 1))))
    graph.state("weights", "w")
    return graph


def test_training_and_evaluation_share_weights():
    arena = tl.plan_together([train(), evaluate()])
    (state,) = arena.states
    w = weights(5, WIDTH, 1)
    assert state.begin == w.tobytes()
    assert "define i32 @both_eval(" in arena.llvm("both")
    assert "#define BOTH_STATE_WEIGHTS_OFFSET 0" in arena.header("both")
    assert arena.json().startswith('{\n"tl_arena": 1')
    both = arena.compile()
    x, seen = weights(7, 16, WIDTH), weights(9, 2, WIDTH)
    target = np.sign(x @ weights(8, WIDTH, 1))
    losses = []
    for _ in range(20):
        np.testing.assert_allclose(both["eval"](seen), np.tanh(seen @ w), rtol=1e-4, atol=1e-5)
        losses.append(float(both["train"](x, target)))
        y = np.tanh(x @ w)
        np.testing.assert_allclose(losses[-1], ((y - target) ** 2).mean(), rtol=1e-4)
        w = w - 0.05 * x.T @ ((y - target) * (1 - y * y))
        np.testing.assert_allclose(both.states["weights"], w, rtol=1e-4, atol=1e-5)
    assert losses[-1] < losses[0] / 2
    both.reset()
    np.testing.assert_array_equal(both.states["weights"], weights(5, WIDTH, 1))
    both.states["weights"][:] = 0
    assert not both["eval"](seen).any()


def test_samples_of_one_call_run_one_after_the_other():
    both = tl.plan_together([train(), evaluate()]).compile()
    x, target = weights(7, 3, 16, WIDTH), np.sign(weights(8, 3, 16, 1))
    losses = both["train"](x, target)
    after = both.states["weights"].copy()
    both.reset()
    singly = [both["train"](x[i], target[i]) for i in range(3)]
    np.testing.assert_array_equal(losses, singly)
    np.testing.assert_array_equal(after, both.states["weights"])


def test_threads_take_turns():
    """What one call keeps between its layers would be another one's."""
    n = 192
    graph = tl.Graph("layers")
    x = graph.input("x", "float32", (n, n))
    w = graph.constant("w", weights(5, n, n) / np.float32(n**0.5))
    graph.output(graph.add("MatMul", graph.add("Tanh", graph.add("MatMul", x, w)), w))
    network = tl.plan_together([graph]).compile()["layers"]
    given = [weights(20 + i, n, n) for i in range(4)]
    want = [network(x) for x in given]
    failed = []

    def work(i):
        try:
            for _ in range(15):
                np.testing.assert_array_equal(network(given[i]), want[i])
        except BaseException as error:
            failed.append(error)

    in_threads(work, [(i,) for i in range(4)])
    assert not failed


def test_what_is_wrong_with_states_is_told():
    with pytest.raises(tl.InvalidArgumentError, match="an array of 0 graphs"):
        tl.plan_together([])
    with pytest.raises(tl.InvalidArgumentError, match="a name of its own"):
        tl.plan_together([train(), train()])
    with pytest.raises(tl.InvalidArgumentError, match='is state "cache" already'):
        decode().state("other", "past")
    graph = evaluate()
    graph.state("nobody")
    with pytest.raises(tl.InvalidArgumentError, match='"nobody" should be state "nobody"'):
        tl.plan_together([graph])
    with pytest.raises(tl.InvalidArgumentError, match="a capacity"):
        tl.plan_together([train()], capacity=1 << 20)
    arena = tl.plan_together([train()])
    for thing in (arena, arena.compile()["train"]):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(thing)
    with pytest.raises(tl.InvalidArgumentError, match="which the caller brings"):
        arena.entries["train"].compile()


# ---- memory of the caller -----------------------------------------------------------------------


def layers(alignment=0):
    graph = tl.Graph("layers")
    h = graph.input("x", "float32", (4, 2))
    for i, shape in enumerate(((2, 64), (64, 64), (64, 3))):
        h = graph.add("Tanh", graph.add("MatMul", h, graph.constant(f"w{i}", weights(i, *shape))))
    graph.output(h)
    return graph.plan(alignment=alignment)


def through(x):
    for i, shape in enumerate(((2, 64), (64, 64), (64, 3))):
        x = np.tanh(x @ weights(i, *shape))
    return x


@pytest.mark.parametrize("alignment", [0, 16, 4096])
def test_memory_of_the_caller(alignment):
    execution = layers(alignment)
    scratch = execution.scratch()
    assert scratch.nbytes == execution.frame_bytes > 0
    assert scratch.ctypes.data % max(execution.alignment, 64) == 0
    network = execution.compile(memory=scratch)
    before = tl.stats()
    np.testing.assert_allclose(network(rows(4)), through(rows(4)), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(network(rows(8).reshape(2, 4, 2))[1], through(rows(8)[4:]), rtol=1e-4, atol=1e-5)
    before["slow_calls"] += 1  # stats itself
    assert tl.stats() == before, "the function calls nothing of the runtime"
    assert scratch.any(), "the values between lie in the memory"
    other = execution.scratch()
    np.testing.assert_allclose(network.within(other)(rows(4)), through(rows(4)), rtol=1e-4, atol=1e-5)
    assert other.any()
    assert "tl_mem_frame_enter" not in execution.llvm(memory="caller")
    if alignment <= 64:
        assert "tl_mem_get_buffer" in execution.llvm(memory="slots")
    assert "void* scratch);" in execution.header("mine", memory="caller")


def test_memory_has_to_be_enough():
    execution = layers()
    room = execution.scratch()
    for wrong, says in (
        (room[:-1], "are needed"),
        (np.concatenate([room, room])[1:], "a multiple of 64"),
        (np.concatenate([room, room])[::2], "has gaps"),
        (bytes(room), "cannot be written"),
        ([0] * 4096, "is a NumPy array"),
        (np.full(4096, None), "is a NumPy array"),
    ):
        with pytest.raises(ValueError, match=says):
            execution.compile(memory=np.frombuffer(wrong, np.uint8) if isinstance(wrong, bytes) else wrong)
    with pytest.raises(ValueError, match="has its memory from the runtime"):
        execution.compile().within(room)
    for function in (execution.llvm, execution.header):
        with pytest.raises(ValueError, match="memory is 'heap'"):
            function(memory="heap")
