"""The folder of unpacked models: what is damaged there is unpacked again, and what others may write is refused."""

import os
import pathlib

import numpy as np
import pytest
from planned import needs_tool
from small_model import expected, rows, written

import tl_runtime as tl

pytestmark = needs_tool
PARTS = ("module.so", "constants", "model.json")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "models"


@pytest.fixture
def file(tmp_path, cache):
    """A compiled model, which was unpacked; its code is not loaded."""
    model = tl.Model(written(tmp_path), bind={"batch": 4})
    path = tmp_path / "model.tlm"
    path.write_bytes(model._content)
    return path


def unpacked(cache):
    (folder,) = cache.iterdir()
    return folder


def copied(path):
    """Puts another file in the place of one, which may be mapped."""
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)
    return bytearray(content)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("at", [0, -1])
def test_a_part_that_was_damaged_at_the_same_size_is_unpacked_again(cache, file, part, at):
    path = unpacked(cache) / part
    right = path.read_bytes()
    wrong = copied(path)
    wrong[at] ^= 0x40
    path.write_bytes(wrong)
    np.testing.assert_allclose(tl.Model(file)(rows(4)), expected(rows(4)), rtol=1e-6)
    assert (unpacked(cache) / part).read_bytes() == right


@pytest.mark.parametrize("change", ["cut", "longer", "empty", "missing", "folder"])
def test_a_part_of_another_size_is_unpacked_again(cache, file, change):
    path = unpacked(cache) / "constants"
    right = copied(path)
    if change in ("missing", "folder"):
        path.unlink()
    if change == "folder":
        path.mkdir()
    if change not in ("missing", "folder"):
        path.write_bytes({"cut": right[:-1], "longer": right + b"x", "empty": b""}[change])
    np.testing.assert_allclose(tl.Model(file)(rows(4)), expected(rows(4)), rtol=1e-6)
    assert (unpacked(cache) / "constants").read_bytes() == right


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
def test_a_cache_that_others_may_write_is_refused(cache, file, mode):
    os.chmod(cache, mode)
    with pytest.raises(PermissionError, match=rf"may be written by others \(mode {mode:04o}\).*chmod go-w.*TL_CACHE"):
        tl.Model(file)
    os.chmod(cache, 0o755)
    tl.Model(file)


def test_a_model_that_others_may_write_is_unpacked_again(cache, file):
    os.chmod(unpacked(cache), 0o777)
    tl.Model(file)
    assert unpacked(cache).stat().st_mode & 0o777 == 0o700


def test_a_cache_of_another_user_is_refused(cache, file, monkeypatch):
    owner = os.stat(cache).st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    if owner == 0:
        try:
            os.chown(cache, 12345, -1)
        except OSError as error:
            pytest.skip(f"a folder cannot be given away here: {error}")
    with pytest.raises(PermissionError, match="belongs to user"):
        tl.Model(file)


def test_a_link_to_a_cache_is_looked_through(cache, file, tmp_path, monkeypatch):
    link = tmp_path / "linked"
    link.symlink_to(cache.parent)
    monkeypatch.setenv("TL_CACHE", str(link))
    tl.Model(file)
    assert isinstance(unpacked(cache), pathlib.Path)
