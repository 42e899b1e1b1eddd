"""Turns the figures of one run into bench/RESULTS.md.

    report.py FIGURES_DIRECTORY OUTPUT
"""

from __future__ import annotations

import datetime
import json
import pathlib
import platform
import re
import statistics
import subprocess
import sys

import emitted
import report_capacity
import report_planner
import report_scale
import report_varying
import targets
import targets_instructions
import targets_python


def load_times(path: pathlib.Path) -> dict[str, float]:
    """Median ns per operation by benchmark name; two threads are marked @2. Figures may stand in parts, NAME-PART.json."""
    parts = [path] if path.exists() else sorted(path.parent.glob(path.stem + "-*.json"))
    samples: dict[str, list[float]] = {}
    for entry in (entry for part in parts for entry in json.loads(part.read_text())["benchmarks"]):
        if entry["run_type"] == "iteration" and not entry.get("error_occurred"):
            samples.setdefault(short_name(entry["run_name"]), []).append(nanoseconds(entry))
    return {name: statistics.median(values) for name, values in samples.items()}


def nanoseconds(entry: dict) -> float:
    """Time of one operation: of the items that an iteration counts, or the iteration's own."""
    return 1e9 / entry["items_per_second"] if "items_per_second" in entry else entry["real_time"]


def short_name(run_name: str) -> str:
    name = re.sub(r"/(real_time|manual_time|iterations:\d+)", "", run_name)
    return re.sub(r"/threads:(\d+)", r"@\1", name)


def load_lines(path: pathlib.Path) -> list[dict]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def number(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 1000 else f"{value:,.0f}"


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return ["| " + " | ".join(cells) + " |" for cells in [header, rule, *rows]] + [""]


class Score:
    """Counts the targets that were met, and remembers the others."""

    def __init__(self) -> None:
        self.met = 0
        self.missed: list[str] = []
        self.restated: list[str] = []

    def judge(self, what: str, reached: bool, by: str) -> str:
        if reached:
            self.met += 1
            return "yes"
        self.missed.append(f"{what} ({by})")
        return "**no**"


def bound(target, times: dict[str, float]) -> tuple[str, float | None, str]:
    """The target in words, the largest time that meets it here, and the peer that it is measured against."""
    if isinstance(target, targets.Plain):
        return f"<= {target.limit:g} ns", target.limit, ""
    if isinstance(target, targets.Beside):
        return "", None, target.peer
    factor = target.factor if isinstance(target, targets.Ratio) else target.limit / target.there
    words = f"<= {factor:.2f} x"
    if isinstance(target, targets.Scaled):
        words += f" ({target.limit:g} ns where the peer takes {target.there:.3g})"
    peer = times.get(target.peer)
    return words, None if peer is None else factor * peer, target.peer


def row_cells(row: targets.Row, times: dict[str, float], score: Score) -> list[str]:
    ours = times.get(row.ours)
    if ours is None:
        return [row.what, "not measured", "", "", "", "", ""]
    if row.target is None:
        return [row.what, number(ours), "", "", "", "", ""]
    words, limit, peer = bound(row.target, times)
    if isinstance(row.target, targets.Beside) and peer in times:
        return [row.what, number(ours), peer, number(times[peer]), f"{ours / times[peer]:.2f}", "", ""]
    if limit is None:
        return [row.what, number(ours), peer, "skipped", "", words, ""]
    met = score.judge(row.what, ours <= limit, f"{number(ours)} ns, target {number(limit)}")
    if isinstance(row.target, targets.Ratio) and row.target.was:
        verdict = "met" if ours <= limit else "missed"
        score.restated.append(f"{row.what}: {row.target.was}; now {words} {peer} ({number(times[peer])} ns), {verdict}")
        words += ", restated"
    if not peer:
        return [row.what, number(ours), "", "", "", words, met]
    return [row.what, number(ours), peer, number(times[peer]), f"{ours / times[peer]:.2f}", words, met]


def times_section(spec: targets.Table, times: dict[str, float], score: Score) -> list[str]:
    lines = [f"## {spec.title}", ""]
    if not times:
        return lines + [f"Not measured ({spec.needs} is not installed).", ""]
    if spec.note:
        lines += [spec.note, ""]
    header = ["ours", "ns", "peer", "its ns", "ratio", "target", "met"]
    lines += table(header, [row_cells(row, times, score) for row in spec.rows])
    peers = [[what, number(times[name]) if name in times else "skipped"] for what, name in spec.peers]
    return lines + (table(["peers", "ns"], peers) if peers else [])


def in_columns(cells: list[list[str]], columns: int) -> list[list[str]]:
    """Folds a long list of rows into several columns, read downwards."""
    height = -(-len(cells) // columns)
    cells = cells + [[""] * len(cells[0])] * (height * columns - len(cells))
    return [sum((cells[column * height + i] for column in range(columns)), []) for i in range(height)]


def classes_section(times: dict[str, float], score: Score) -> list[str]:
    sizes = sorted({int(m[1]) for m in (re.fullmatch(r"scope8/(\d+)/tl", name) for name in times) if m})
    if not sizes:
        return []
    pairs = {size: (times[f"scope8/{size}/tl"], times[f"scope8/{size}/glibc"]) for size in sizes}
    ratios = {size: ours / theirs for size, (ours, theirs) in pairs.items()}
    worst = max(ratios, key=ratios.get)
    by = f"{ratios[worst]:.2f} at {worst} bytes"
    met = score.judge("a scope of eight at every size class", ratios[worst] < 1, by)
    lines = ["### The same at every size class, over glibc malloc x 8 + free x 8", ""]
    lines += [f"Worst: {by}; target below 1; met: {met}.", ""]
    cells = [[str(size), number(pairs[size][0]), number(pairs[size][1]), f"{ratios[size]:.2f}"] for size in sizes]
    return lines + table(["bytes", "ours ns", "glibc ns", "ratio"] * 3, in_columns(cells, 3))


def resident_section(lines_read: list[dict], score: Score) -> list[str]:
    lines = ["## Memory: ten million live objects of 64 bytes", "", "Resident bytes over payload.", ""]
    rows = []
    for entry in lines_read:
        ratio = entry["resident"] / entry["payload"]
        limit = targets.RESIDENT.get(entry["way"])
        met = score.judge(f"resident memory, {entry['way']}", ratio <= limit, f"{ratio:.2f}") if limit else ""
        who, words = (f"ours, {entry['way']}", f"<= {limit}") if limit else (entry["way"], "")
        rows.append([who, f"{ratio:.2f}", words, met])
    return lines + table(["held", "resident / payload", "target", "met"], rows)


def process_section(starts: list[dict], library: list[dict], score: Score) -> list[str]:
    if not starts or not library:
        return []
    milliseconds = statistics.median(entry["milliseconds"] for entry in starts)
    idle = statistics.median(entry["resident_kib"] for entry in starts)
    size = library[0]["stripped_bytes"]
    rows = [
        ["dlopen to the end of the first allocation, ms", f"{milliseconds:.1f}", f"<= {targets.STARTUP_MILLISECONDS}",
         score.judge("start-up", milliseconds <= targets.STARTUP_MILLISECONDS, f"{milliseconds:.1f} ms")],
        ["library, stripped, MiB", f"{size / 2**20:.2f}", f"<= {targets.LIBRARY_BYTES / 2**20:g}",
         score.judge("library size", size <= targets.LIBRARY_BYTES, f"{size / 2**20:.2f} MiB")],
        ["idle resident memory added, MiB", f"{idle / 1024:.2f}", f"<= {targets.IDLE_KIB / 1024:g}",
         score.judge("idle memory", idle <= targets.IDLE_KIB, f"{idle / 1024:.2f} MiB")],
    ]
    return ["## Whole process", ""] + table(["", "measured", "target", "met"], rows)


def footprint_section(lines_read: list[dict], score: Score) -> list[str]:
    if not lines_read:
        return []
    lines = ["### Peak footprint over peak live", "", "The highest end of a block in one chunk without bounds.", ""]
    rows = []
    for entry in lines_read:
        by = f"{entry['ours']:.4f}, exact best fit {entry['best_fit']:.4f}"
        met = score.judge(f"footprint, trace {entry['trace']}", entry["ours"] <= entry["best_fit"], by)
        rows.append([entry["trace"], f"{entry['ours']:.4f}", f"{entry['best_fit']:.4f}",
                     str(entry["places_that_differ"]), met])
    return lines + table(["trace", "ours", "exact best fit", "blocks placed elsewhere", "met"], rows)


def sparse_memory_section(lines_read: list[dict], score: Score) -> list[str]:
    if not lines_read:
        return []
    lines = ["### Memory over payload", "", "Payload is what values, indices and offsets need in three arrays.", ""]
    rows = []
    for entry in lines_read:
        for what, held in (("counted by the heap", entry["counted"]), ("resident", entry["resident"])):
            ratio = held / entry["payload"]
            name = f"{entry['matrix']}, {entry['blocks']} blocks, {what}"
            met = score.judge(f"sparse memory, {what}", ratio <= targets.SPARSE_OVERHEAD, f"{ratio:.3f}")
            rows.append([name, f"{ratio:.3f}", f"<= {targets.SPARSE_OVERHEAD}", met])
    return lines + table(["matrix", "bytes / payload", "target", "met"], rows)


def churn_section(lines_read: list[dict], score: Score) -> list[str]:
    grown = {entry["kind"]: entry for entry in lines_read}
    if len(grown) < 2:
        return []
    lines = ["### Memory of a program that churns arrays", "", "500 arrays of 64 bytes to 240 KB are replaced in an order of "]
    lines[-1] += "chance, 100,000 times: peak resident memory of the process, and what of it came after the imports."
    rows = []
    for key, what, limit in (("peak", "peak", targets_python.CHURN), ("grown", "of it, after the imports", None)):
        ours, theirs = (grown[kind][key] for kind in ("allocator", "numpy"))
        ratio = ours / theirs
        met = score.judge(f"churning arrays, {what} of memory", ratio <= limit, f"{ratio:.2f}") if limit else ""
        cells = [f"{ours / 2**20:.1f}", f"{theirs / 2**20:.1f}", f"{ratio:.2f}", f"<= {limit}" if limit else "", met]
        rows.append([what, *cells])
    return lines + [""] + table(["", "tl.numpy_allocator(), MiB", "NumPy's own, MiB", "ratio", "target", "met"], rows)


def training_section(path: pathlib.Path, score: Score) -> list[str]:
    if not path.exists():
        return []
    lines = ["### A whole training, observed", "", "Digits, as in `make demo`; time over that of a training without "]
    lines[-1] += "options right before or after, median and quartiles; and instructions over those without, by valgrind."
    rows = []
    for language, figures in json.loads(path.read_text()).items():
        lines[-1] += f" {language}: {1e3 * figures['plain']:.0f} ms without, {figures['rounds']} rounds."
        for way, found in figures["ways"].items():
            limit = targets.OBSERVED_TRAININGS.get(way)
            what = f"{language}, {targets.OBSERVED[way]}"
            by = f"{found['ratio']:.3f}"
            met = score.judge(f"training, {what}", found["ratio"] <= limit, by) if limit else ""
            counted = f"{found['instructions']:.4f}" if "instructions" in found else ""
            rows.append([what, by, f"{found['low']:.3f} - {found['high']:.3f}", counted, f"<= {limit}" if limit else "", met])
    return lines + [""] + table(["observed", "time over plain", "quartiles", "instructions", "target", "met"], rows)


def pool_tail_section(lines_read: list[dict]) -> list[str]:
    if not lines_read:
        return []
    lines = ["### Single pairs, two threads on one pool", "", "Nanoseconds of a pair of 4096 bytes, written to, and of reading "]
    lines[-1] += "the clock around it; quantiles of two million pairs, medians of five processes."
    names = {"tl": "ours, one pool", "clock": "the clock alone"}
    rows = []
    for way in dict.fromkeys(entry["way"] for entry in lines_read):
        runs = [entry for entry in lines_read if entry["way"] == way]
        quantiles = [statistics.median(entry[key] for entry in runs) for key in ("p50", "p99", "p999", "p9999")]
        rows.append([names.get(way, way), *(f"{ns:,.0f}" for ns in quantiles)])
    return lines + [""] + table(["", "median", "99 %", "99.9 %", "99.99 %"], rows)


def handover_section(lines_read: list[dict], score: Score) -> list[str]:
    if not lines_read:
        return []
    lines = ["## Objects that another thread releases", "", "256 bytes, from producers to as many consumers, in batches of 1024; "]
    lines[-1] += "processor time of an object, and peak resident memory. Medians of five processes each."
    rows = []
    for threads in sorted({entry["threads"] for entry in lines_read}):
        found: dict[str, list[dict]] = {}
        for entry in lines_read:
            if entry["threads"] == threads:
                found.setdefault(entry["way"], []).append(entry)
        medians = {way: {key: statistics.median(e[key] for e in runs) for key in ("cpu_ns", "peak")} for way, runs in found.items()}
        for way, figures in medians.items():
            cells = [f"{'ours' if way == 'tl' else way}, {threads} threads", number(figures["cpu_ns"]), f"{figures['peak'] / 2**20:.1f}"]
            for key, what in (("cpu_ns", "processor time"), ("peak", "peak memory")):
                ratio = figures[key] / medians["glibc"][key]
                met = ""
                if way == "tl":
                    met = score.judge(f"release by another thread, {threads} threads, {what}", ratio <= targets.HANDOVER, f"{ratio:.2f}")
                cells += [f"{ratio:.2f}", met]
            rows.append(cells)
    header = ["", "ns", "peak MiB", "time over glibc", f"<= {targets.HANDOVER}", "peak over glibc", f"<= {targets.HANDOVER}"]
    return lines + [""] + table(header, rows)


def registry_section(lines_read: list[dict], score: Score) -> list[str]:
    if not lines_read:
        return []
    lines = ["### Memory for each of a million pointers", "", "Resident bytes. A KiB in use takes 40 bytes beside the "]
    lines[-1] += "entries, which what stands alone in its page has to itself, and a bucket of the table is for 64 KiB."
    rows = []
    for entry in lines_read:
        ours, limit = entry["who"] == "tl", targets.REGISTRY_BYTES
        what = f"{'ours' if ours else '16 x ' + entry['who']}, multiples of {entry['keys']}"
        met = score.judge("memory a registered pointer, " + what, entry["bytes"] <= limit, f"{entry['bytes']:.1f}") if ours else ""
        rows.append([what, f"{entry['bytes']:.1f}", f"<= {limit}" if ours else "", met])
    return lines + [""] + table(["", "bytes", "target", "met"], rows)


def instructions_section(path: pathlib.Path, score: Score) -> list[str]:
    lines = ["## Instructions per operation", ""]
    if not path.exists():
        return lines + ["Skipped: valgrind is not installed, or could not run the library.", ""]
    counted = json.loads(path.read_text())
    lines += ["Counted by valgrind as the difference between N and 2N operations, the driver's loop taken off. Each",
              "row is the whole operation that it names, the calls themselves included.", ""]
    rows = [[what, f"{counted[name]:.0f}"] for name, what in targets_instructions.INSTRUCTIONS.items() if name in counted]
    factor, many, few = targets.GROWTH
    if many in counted and few in counted:
        ratio = counted[many] / counted[few]
        met = score.judge("instructions of the memory pool, 1e3 to 1e6 live blocks", ratio <= factor, f"{ratio:.2f} x")
        lines += [f"Memory pool, 1e3 to 1e6 live blocks: {ratio:.2f} x; target <= {factor} x; met: {met}.", ""]
    return lines + table(["operation", "instructions"], rows)


def load_text(path: pathlib.Path) -> str:
    return path.read_text() if path.exists() else ""


def first_match(path: str, pattern: str) -> str:
    try:
        found = re.search(pattern, pathlib.Path(path).read_text(), re.MULTILINE)
    except OSError:
        return "unknown"
    return found[1].strip() if found else "unknown"


def compiler() -> str:
    shown = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=False).stdout
    return shown.splitlines()[0] if shown else "unknown"


def heading(figures: pathlib.Path) -> list[str]:
    repetitions, load = ((figures / name).read_text().strip() for name in ("repetitions", "load"))
    libc, version = platform.libc_ver()
    cores = len(re.findall(r"^processor", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE))
    return [
        "# Benchmark results",
        "",
        f"{datetime.date.today().isoformat()}, {first_match('/proc/cpuinfo', '^model name.*: (.*)$')}, {cores} cores, "
        f"Linux {platform.release()}, {libc} {version}, {compiler()} -O2; load average before the run {load}.",
        "",
        f"Written by `make bench`. Times are medians of {repetitions} interleaved repetitions, in nanoseconds of one "
        "operation; a second thread is alive in every run. With two threads: wall time over the operations of both.",
        "A target that was set in nanoseconds was set on another machine; it is carried over as a ratio to the peer in "
        "the same run.",
        "",
        *measured_again(figures),
    ]


def measured_again(figures: pathlib.Path) -> list[str]:
    """Says which parts are younger than the rest of the page (TL_BENCH_ONLY)."""
    names = load_text(figures / "again").split()
    return [f"Measured after the rest, with later sources: {', '.join(names)}.", ""] if names else []


def summary(score: Score) -> list[str]:
    lines = [f"**{score.met} of {score.met + len(score.missed)} targets met.**"]
    if score.missed:
        lines += ["", "Missed:", ""] + [f"* {what}" for what in score.missed]
    if score.restated:
        lines += ["", "Restated against a floor that was measured in the same run, a program of the same accesses to memory:", ""]
        lines += [f"* {what}" for what in score.restated]
    return lines + [""]


def main() -> None:
    figures, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    score = Score()
    body: list[str] = []
    for name, spec in targets.TABLES.items():
        times = load_times(figures / f"{name}.json")
        body += times_section(spec, times, score)
        if name == "scopes":
            body += classes_section(times, score)
        if name == "memory_pool":
            body += footprint_section(load_lines(figures / "footprint.jsonl"), score)
            body += pool_tail_section(load_lines(figures / "pool_tail.jsonl"))
        if name == "sparse":
            body += sparse_memory_section(load_lines(figures / "sparse_memory.jsonl"), score)
        if name == "calls":
            body += churn_section(load_lines(figures / "python_memory.jsonl"), score)
        if name == "observing":
            body += training_section(figures / "training.json", score)
        if name == "varying":
            body += report_varying.section(load_lines(figures / "varying_programs.jsonl"), score, table)
        if name == "registry":
            body += registry_section(load_lines(figures / "registry_memory.jsonl"), score)
    body += emitted.section(load_lines(figures / "emitted.jsonl"), score, table)
    body += handover_section(load_lines(figures / "handover.jsonl"), score)
    body += report_planner.models_section(load_lines(figures / "models.jsonl"), score, table)
    body += report_planner.offsets_section(load_lines(figures / "planner.jsonl"), score, table)
    body += report_planner.shapes_section(load_lines(figures / "shapes.jsonl"), score, table)
    body += report_planner.sets_section(load_lines(figures / "sets.jsonl"), score, table)
    body += report_planner.packings_section(load_lines(figures / "packings.jsonl"), score, table)
    body += report_planner.ablation_section(load_lines(figures / "ablation.jsonl"), table)
    body += report_capacity.cost_section(load_lines(figures / "cost.jsonl"), table)
    body += report_capacity.capacity_section(load_lines(figures / "capacity.jsonl"), table)
    body += report_scale.mpi_section(load_lines(figures / "scale_mpi.jsonl"), table)
    body += report_scale.dask_section(load_lines(figures / "scale_dask.jsonl"), score, table)
    body += resident_section(load_lines(figures / "resident.jsonl"), score)
    body += process_section(load_lines(figures / "startup.jsonl"), load_lines(figures / "library.jsonl"), score)
    body += instructions_section(figures / "instructions.json", score)
    lines = heading(figures) + summary(score) + body
    output.write_text("\n".join(lines).rstrip() + "\n")
    print(f"{output}: {score.met} of {score.met + len(score.missed)} targets met")


main()
