"""Several interpreters in one process: each has the package with a state of its own, over the one library."""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import subprocess
import sys
import textwrap
import weakref
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tl_runtime as tl
from tl_runtime._binding.native import fast

# run(code) runs code in an interpreter that ends afterwards: of the main one's lock, or with a lock of its own.
BEGIN = """
import sys, warnings
warnings.simplefilter("ignore")  # of NumPy, which does not like other interpreters
KIND = sys.argv[1]
try:
    if KIND == "shared":
        from _testcapi import run_in_subinterp
    elif sys.version_info < (3, 13):  # whose ctypes is of the main lock alone
        raise ImportError
    else:
        import _interpreters
except ImportError:
    raise SystemExit("SKIP")

def run(code):
    code = "import warnings; warnings.simplefilter('ignore')\\n" + textwrap.dedent(code)
    if KIND == "shared":
        if run_in_subinterp(code):
            raise SystemExit("the code in another interpreter has failed")
        return
    number = _interpreters.create()
    failed = _interpreters.run_string(number, code)
    _interpreters.destroy(number)
    if failed:
        raise SystemExit(failed.formatted)

import textwrap
"""

KINDS = pytest.mark.parametrize("kind", ["shared", "own"])


def program(kind: str, code: str, **environment: str) -> list[str]:
    """What a program prints that does not import the package by itself."""
    path = os.pathsep.join(p for p in [str(Path(tl.__file__).parents[1]), *sys.path] if p)
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + textwrap.dedent(code), kind],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": path, **environment},
        check=False,
    )
    if done.stderr.strip() == "SKIP":
        pytest.skip("this Python cannot import ctypes in an interpreter of that kind, or cannot make one")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


@KINDS
def test_each_interpreter_has_the_package_whatever_others_did(kind: str) -> None:
    lines = program(
        kind,
        """
        USE = '''
        import tl_runtime as tl
        tensor = tl.zeros((2, 3))
        assert tensor.T[1:].shape == (2, 2) and tensor.reshape(-1).shape == (6,) and type(tensor) is tl.Tensor
        assert tl.from_dlpack(tensor).address != tensor.address
        with tl.scope():
            assert tl.scope_depth() == 1
        try:
            tensor.reshape(5)
        except tl.InvalidArgumentError as error:
            assert type(error) is tl.InvalidArgumentError
        else:
            raise AssertionError
        print("used", flush=True)
        '''
        run(USE)  # before the main interpreter imports the package
        import gc
        import tl_runtime as tl
        before = tl.zeros(4)
        for _ in range(5):
            run(USE)
        assert tl.zeros(2).shape == (2,) and tl.from_dlpack(before).shape == (4,)
        del before
        gc.collect()
        assert tl.live_count() == 0
        """,
    )
    assert lines == ["used"] * 6


@KINDS
def test_interpreters_share_the_memory_of_a_tensor(kind: str) -> None:
    program(
        kind,
        """
        import tl_runtime as tl
        tensor = tl.zeros(4, "uint8")
        run(f'''
        import ctypes
        import tl_runtime as tl
        tensor = tl.Tensor.from_address({tensor.address})
        assert tensor.shape == (4,) and tensor.refcount == 2
        ctypes.memset(tensor.data, 7, 3)
        ''')
        assert bytes(tensor.__buffer__(0)) == bytes([7, 7, 7, 0])
        assert tensor.refcount == 1
        """,
    )


@KINDS
def test_an_object_outlives_the_interpreter_that_the_library_keeps_it_for(kind: str) -> None:
    program(
        kind,
        """
        import os
        reading, writing = os.pipe()
        run(f'''
        import ctypes, os
        import tl_runtime as tl
        class Array:
            def __init__(self):
                self.memory = (ctypes.c_uint8 * 3)(1, 2, 3)
                data = (ctypes.addressof(self.memory), False)
                self.__array_interface__ = dict(version=3, shape=(3,), typestr="|u1", data=data)
        ended = []
        Array.__del__ = lambda self: ended.append(self)
        tensor = tl.from_numpy(Array(), copy=False)
        del tensor
        tl.zeros(1)
        assert len(ended) == 1
        tensor = tl.from_numpy(Array(), copy=False)
        os.write({writing}, str(tl.lib.tl_ptr_acquire(tensor.address)).encode())
        del tensor  # else the class of what the library keeps has it
        ''')
        import tl_runtime as tl
        tensor = tl.Tensor._wrap(int(os.read(reading, 100)))
        assert bytes(tensor.__buffer__(0)) == bytes([1, 2, 3])
        del tensor
        assert tl.live_count() == 0
        """,
    )


@KINDS
def test_functions_that_c_would_call_are_refused_beside_the_main_interpreter(kind: str) -> None:
    program(
        kind,
        """
        run('''
        import tl_runtime as tl
        from tl_runtime._tensor.devices import DeviceAllocator
        refused = []
        for call in (
            lambda: tl.set_out_of_memory_callback(lambda *asked: True),
            lambda: DeviceAllocator(lambda nbytes: 0, lambda address, nbytes: None),
            lambda: tl.Plan().solve(progress=lambda told: False),
        ):
            try:
                call()
            except tl.UnsupportedError as error:
                assert str(error).endswith("only the main interpreter can set it"), error
                refused.append(error)
        assert len(refused) == 3
        ''')
        import tl_runtime as tl
        asked = []
        tl.set_out_of_memory_callback(lambda *more: asked.append(more))
        run('''
        import tl_runtime as tl
        try:
            tl.set_out_of_memory_callback(None)
        except tl.UnsupportedError:
            pass
        ''')
        try:
            tl.empty(1 << 50)
        except MemoryError:
            pass
        assert asked, "the callback is the main interpreter's still"
        """,
    )


@KINDS
def test_an_interpreter_is_told_of_its_dead_objects(kind: str) -> None:
    lines = program(
        kind,
        """
        run('''
        import sys
        import tl_runtime as tl
        def tell(contents):
            print("told of", len(contents), flush=True)
        def fail(contents):
            raise ValueError
        sys.unraisablehook = lambda shown: print("shown", shown.exc_type.__name__, flush=True)
        for name, destructor in (("told", tell), ("failing", fail)):
            kind = tl.define_type(name, 16, destructor=destructor)
            with tl.scope():
                tl.lib.tl_object_new(kind)
        ''')
        """,
    )
    hook_is_found = sys.version_info >= (3, 12)  # before, ctypes takes the main interpreter's
    assert lines == ["told of 16", "shown ValueError"][: 1 + hook_is_found]


@KINDS
def test_tracking_names_the_line_of_an_interpreter(kind: str) -> None:
    program(
        kind,
        """
        LINE = '''
        import tl_runtime as tl
        tensor = tl.zeros(5)
        info = tl.allocation_info(tensor.address)
        assert (info.file, info.line) == ("<string>", 4), info
        '''
        run(LINE)
        import tl_runtime
        run(LINE)
        """,
        TL_TRACK="1",
    )


def test_interpreters_with_locks_of_their_own_run_at_the_same_time() -> None:
    program(
        "own",
        """
        import threading
        import tl_runtime as tl
        HAMMER = '''
        import tl_runtime as tl
        for round in range(300):
            with tl.scope():
                kept = [tl.zeros((round % 7 + 1, 3)) for _ in range(20)]
                views = [tensor.T[:2] for tensor in kept]
                copies = [tl.from_dlpack(view) for view in views]
        '''
        threads = [threading.Thread(target=run, args=(HAMMER,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        exec(textwrap.dedent(HAMMER), {})
        for thread in threads:
            thread.join()
        assert tl.live_count() == 0
        """,
    )


def test_the_same_interpreter_imports_as_often_as_it_likes() -> None:
    lines = program(
        "shared",
        """
        import sys
        for all_of_it in (False, False, True, True):
            import tl_runtime as tl
            tensor = tl.zeros(3)
            print(tensor.shape)
            kept = () if all_of_it else ("tl_runtime._fast",)
            for name in [name for name in sys.modules if name.startswith("tl_runtime") and name not in kept]:
                del sys.modules[name]
        del tensor
        """,
    )
    assert lines == ["(3,)"] * 4


@pytest.mark.skipif(fast is None, reason="the extension module is not used")
def test_a_module_that_nothing_has_started_refuses_and_goes() -> None:
    spec = importlib.util.spec_from_file_location("tl_runtime._fast", fast.__file__)
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module is not fast
    scope = module.scope_type(SimpleNamespace(scopes=[]))()
    calls = [
        *(partial(module.empty, 3), partial(module.zeros, 3), partial(module.from_dlpack, tl.zeros(3))),
        *(partial(module.own, 8), partial(module.own, None), scope.__enter__, partial(scope.__exit__, *[None] * 3)),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="not imported yet"):
            call()
    for wrong in ({}, 5):
        with pytest.raises(TypeError):
            module.start(wrong)
    assert module.living() == []
    gone = weakref.ref(module)
    del module, scope, calls, call, spec
    gc.collect()
    assert gone() is None


@pytest.mark.skipif(fast is None, reason="the extension module is not used")
def test_an_interpreter_may_have_another_library(tmp_path: Path) -> None:
    other = shutil.copy(tl.path(), tmp_path / "other.so")
    lines = program(
        "shared",
        """
        import os
        import tl_runtime as tl
        run(f'''
        import os
        os.environ["TL_RUNTIME_LIBRARY"] = {os.environ['OTHER']!r}
        import tl_runtime as tl
        print(tl.path(), tl.zeros(3).shape, tl.live_count(), flush=True)
        ''')
        print(tl.zeros(2).shape)
        """,
        OTHER=str(other),
    )
    assert lines == [f"{other} (3,) 0", "(2,)"]
