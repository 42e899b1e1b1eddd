"""Every test ends with nothing live, and runs through the path that TL_FASTPATH names.

`make test` runs the suite with TL_FASTPATH=1 and 0; --call-path=fast|slow does the same by hand.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import subprocess
import sys
import textwrap
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).resolve().parents[1]

# Tests with libraries that the package does not need run where those are installed: .ci/ecosystem.
collect_ignore = [] if os.environ.get("TL_ECOSYSTEM") else ["ecosystem"]


def in_threads(work: Callable[..., object], calls: Iterable[tuple[Any, ...]] = ((),)) -> None:
    """Calls work on a thread of its own for each of the arguments, all at once, and waits for them."""
    threads = [threading.Thread(target=work, args=arguments) for arguments in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--call-path", choices=["fast", "slow"], help="fast: TL_FASTPATH=1, slow: TL_FASTPATH=0")


def pytest_configure(config: pytest.Config) -> None:
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = "127.0.0.1,localhost"  # where the servers of tests are
    # Before anything imports the package: the library reads its environment when it is loaded.
    path = config.getoption("--call-path")
    if path:
        os.environ["TL_FASTPATH"] = "1" if path == "fast" else "0"
    if importlib.util.find_spec("tl_runtime") is None:  # not installed
        sys.path.insert(0, str(PACKAGE))
    try:
        import tl_runtime  # noqa: F401
    except ImportError as error:
        pytest.exit(str(error), returncode=4)


def pytest_report_header() -> str:
    import tl_runtime as tl

    from tl_runtime._binding.native import fast

    path = "slow" if os.environ.get("TL_FASTPATH") == "0" else "fast"
    way = "ctypes" if fast is None else "_fast"
    return f"tl_runtime {tl.version} from {tl.path()}, {path} path, by {way}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many of ONNX's node tests pass, and why others do not apply."""
    outcomes = {
        outcome: [
            report
            for report in terminalreporter.stats.get(outcome, [])
            if "test_onnx_nodes.py::test_node[" in getattr(report, "nodeid", "")
        ]
        for outcome in ("passed", "failed", "error", "skipped")
    }
    if not any(outcomes.values()):
        return
    # An error beside a test that passed or failed, when it is torn down, is not one more test.
    decided = {report.nodeid for outcome in ("passed", "failed", "error") for report in outcomes[outcome]}
    bad = {report.nodeid for outcome in ("failed", "error") for report in outcomes[outcome]}
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in outcomes["skipped"])
    line = f"ONNX node tests: {len(decided - bad)} of {len(decided)} applicable pass"
    if reasons:
        listed = ", ".join(f"{reason} ({count})" for reason, count in reasons.most_common())
        line += f"; {sum(reasons.values())} are not applicable: {listed}"
    terminalreporter.write_line(line)


def live() -> dict[str, int]:
    """What is live and open, by kind."""
    import tl_runtime as tl

    gc.collect()
    stats = tl.stats()
    kinds = ("live_objects", "live_bytes", "foreign_live", "tensors_live")
    return {"depth": tl.scope_depth(), **{kind: stats[kind] for kind in kinds}}


@pytest.fixture(autouse=True, scope="session")
def quick_collections() -> None:
    """Takes what pytest itself holds out of the collections that every test makes."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """No test leaves an object, a byte, a tensor or an open scope behind."""
    before = live()
    yield
    assert live() == before


# Python 3.12 and newer warn of fork in a process with threads, of which the library has some.
_FORK_MAY = ("-W", "ignore:This process:DeprecationWarning")

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def python(tmp_path: Path) -> Run:
    """Runs a program in an interpreter of its own, which must end by itself and in time."""

    def run(code: str, *options: str, ok: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
        script = tmp_path / "program.py"
        script.write_text("import tl_runtime as tl\n" + textwrap.dedent(code))
        path = os.pathsep.join(p for p in sys.path if p)
        result = subprocess.run(
            [sys.executable, *_FORK_MAY, *options, str(script)],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "PYTHONPATH": path, **environment},
        )
        if ok:
            assert (result.returncode, result.stderr) == (0, ""), result.stdout + result.stderr
        return result

    return run
