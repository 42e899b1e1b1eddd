"""Failures as exceptions: class by status, text by the runtime."""

from __future__ import annotations

import pickle
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import tl_runtime as tl
from tl_runtime import _errors
from tl_runtime._binding.library import check, error_for

INCLUDE = Path(__file__).parents[2] / "include"


def test_every_status_has_an_exception() -> None:
    for status in tl.Status:
        if status != tl.Status.OK:
            error = _errors.make_error(status, "text")
            assert type(error) is not tl.Error
            assert error.status == status
            assert str(error) == "text"


def test_errors_travel() -> None:
    """Also by tblib, which asks whether an exception says itself how it is made again."""
    for error in (_errors.make_error(int(tl.Status.LIMIT), "text"), _errors.make_error(999, "text")):
        error.seen = 3  # type: ignore[attr-defined]
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), again.args, again.status, again.seen) == (type(error), ("text",), error.status, 3)
        assert type(error).__reduce__ is not BaseException.__reduce__


def test_statuses_are_those_of_the_header() -> None:
    header = INCLUDE / "tl_runtime.h"
    if not header.is_file():
        pytest.skip("an installed package has no header")
    found = re.findall(
        r"\bTL_(?:E_)?(\w+) = (\d+)[,\s]", header.read_text().split("enum tl_status_code")[1].split("}")[0]
    )
    assert {name: int(value) for name, value in found} == {status.name: status.value for status in tl.Status}


def test_status_that_this_package_does_not_know() -> None:
    error = _errors.make_error(999, "from the future")
    assert type(error) is tl.Error
    assert error.status == 999


def test_message_is_that_of_the_runtime() -> None:
    held = tl.Object.alloc(64)
    with pytest.raises(tl.InteriorPointerError) as caught:
        tl.Object(held.address + 16).release()
    text = tl.lib.tl_last_error().decode()
    assert str(caught.value) == text
    assert f"{held.address:x}" in text
    assert "64" in text
    held.free()


def test_message_of_another_failure_is_not_taken() -> None:
    """When something else failed in between, the status still tells the truth."""
    tl.lib.tl_ptr_release(16)
    error = error_for(tl.Status.BUSY)
    assert isinstance(error, tl.BusyError)
    assert str(error) == tl.lib.tl_status_string(tl.Status.BUSY).decode()


def test_clear_error() -> None:
    tl.lib.tl_ptr_release(16)
    assert tl.lib.tl_last_status() == tl.Status.UNKNOWN_POINTER
    tl.lib.tl_clear_error()
    assert tl.lib.tl_last_status() == tl.Status.OK
    assert tl.lib.tl_last_error() == b""


PROGRAM = r"""
#include <stdio.h>
#include "tl_runtime.h"
static void say(const char* what) { printf("%s|%p|%s\n", what, (void*)0, tl_last_error()); }
int main(void) {
	char* p = tl_mem_alloc(64);
	printf("%p\n", (void*)p);
	tl_ptr_release(p + 16); say("interior");
	tl_mem_unregister(p); say("unregister");
	tl_mem_free(p);
	tl_ptr_release(p); say("dead");
	tl_ptr_release((void*)16); say("unknown");
	tl_mem_exit_scope(); say("scope");
	tl_mem_get_buffer(0, 8); say("frame");
	tl_mem_function_enter(2);
	tl_mem_get_buffer(5, 8); say("slot");
	tl_mem_function_exit();
	int64_t shape[1] = {-1};
	tl_tensor_empty(0, 0, 1, shape); say("shape");
	tl_arena_alloc(8); say("arena");
	return 0;
}
"""


def python_texts() -> dict[str, str]:
    texts = {}

    def say(what: str, call: object, *arguments: object) -> None:
        with pytest.raises(tl.Error) as caught:
            call(*arguments)  # type: ignore[operator]
        texts[what] = str(caught.value)

    held = tl.Object.alloc(64)
    say("interior", tl.Object(held.address + 16).release)
    say("unregister", held.unregister)
    held.free()
    say("dead", held.release)
    say("unknown", tl.Object(16).release)
    say("scope", lambda: check(tl.lib.tl_mem_exit_scope()))
    say("frame", tl.function_frame(1).buffer, 0, 8)
    with tl.function_frame(2) as frame:
        say("slot", frame.buffer, 5, 8)
    say("shape", tl.empty, (-1,))
    say("arena", lambda: tl.arena().alloc(8))
    return {
        what: text.replace(f"{held.address:x}", "P").replace(f"{held.address + 16:x}", "P+16")
        for what, text in texts.items()
    }


def test_text_is_the_same_as_in_c(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None or not (INCLUDE / "tl_runtime.h").is_file():
        pytest.skip("needs a C compiler and the header")
    (tmp_path / "errors.c").write_text(PROGRAM)
    library = Path(tl.path()).resolve()
    program = tmp_path / "errors"
    source = str(tmp_path / "errors.c")
    subprocess.run(
        [compiler, source, f"-I{INCLUDE}", str(library), f"-Wl,-rpath,{library.parent}", "-o", str(program)], check=True
    )
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    address = int(lines[0], 16)
    texts = {}
    for line in lines[1:]:
        what, _, text = line.split("|", 2)
        texts[what] = text.replace(f"{address:x}", "P").replace(f"{address + 16:x}", "P+16")
    assert texts == python_texts()
    assert all(texts.values())
