#!/bin/sh
# Measures the library in BUILD_DIR beside malloc and the peers that are installed, and writes bench/RESULTS.md.
#
#   bench/run.sh BUILD_DIR
#
# TL_BENCH_ONLY="beside-one growth instructions" measures these parts again, with the sources of today, and keeps the figures
# of the others; the page says so. A part is called as its file in BUILD_DIR/bench/figures, or as its function below.
# TL_BENCH_REPETITIONS (7) and TL_BENCH_MIN_TIME (0.05 seconds each) trade time for steadiness.
# TL_BENCH_TRACE names a file with an allocation trace (src/trace.hpp) for memory_pool to replay instead of data/digits.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: bench/run.sh BUILD_DIR}" && pwd)
programs=$build/bench
figures=$build/bench/figures
repetitions=${TL_BENCH_REPETITIONS:-7}
min_time=${TL_BENCH_MIN_TIME:-0.05}
only=${TL_BENCH_ONLY:-}

# Leaves room for the thread-local storage of allocators that are opened at run time (jemalloc wants 3 KiB).
GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384
# tcmalloc beside glibc: both move the program break, and sbrk is not for two threads at once.
TCMALLOC_SKIP_SBRK=true
export GLIBC_TUNABLES TCMALLOC_SKIP_SBRK

compile() {
	cmake -S "$here" -B "$programs" -DTL_RUNTIME_LIBRARY="$build/libtl_runtime.so" >"$programs/build.log" 2>&1 ||
		{ cat "$programs/build.log"; exit 1; }
	grep -h 'skipped:' "$programs/build.log" || true
	cmake --build "$programs" --parallel 2 >>"$programs/build.log" 2>&1 || { cat "$programs/build.log"; exit 1; }
}

# wanted PART
wanted() { case " ${only:-$1} " in *" $1 "*) ;; *) return 1 ;; esac; }

# part FUNCTION
part() { if wanted "$1"; then "$1"; fi; }

# timed PROGRAM [FIGURES]
timed() {
	wanted "${2:-$1}" && [ -x "$programs/$1" ] || return 0
	echo "bench: ${2:-$1}"
	"$programs/$1" --benchmark_repetitions="$repetitions" --benchmark_min_time="$min_time" \
		--benchmark_enable_random_interleaving=true --benchmark_out_format=json \
		--benchmark_out="$figures/${2:-$1}.json" >"$figures/${2:-$1}.log" 2>"$figures/${2:-$1}.err" ||
		{ cat "$figures/${2:-$1}.err"; exit 1; }
	grep "^skipped:" "$figures/${2:-$1}.err" || true
}

resident() {
	[ -x "$programs/resident" ] || return 0
	echo "bench: resident memory"
	for way in floating vec scope glibc mimalloc jemalloc tcmalloc; do
		"$programs/resident" "$way" 2>>"$figures/resident.err"
	done >"$figures/resident.jsonl"
}

# Single pairs of a memory pool that two threads use.
pool_tails() {
	[ -x "$programs/pool_tail" ] || return 0
	echo "bench: the slowest pairs of a memory pool"
	for _ in 1 2 3 4 5; do
		for way in clock tl glibc mimalloc jemalloc tcmalloc; do
			"$programs/pool_tail" "$way" 2>>"$figures/pool_tail.err" || [ $? -eq 3 ]
		done
	done >"$figures/pool_tail.jsonl"
}

whole_values() {
	echo "bench: whole programs as a compiler emits them"
	python3 "$here/emitted.py" "$build" >"$figures/emitted.jsonl"
}

# Processor time and peak memory of objects that another thread releases.
handovers() {
	[ -x "$programs/handover" ] || return 0
	echo "bench: objects that another thread releases"
	for threads in 2 64; do
		for _ in 1 2 3 4 5; do
			for way in tl glibc mimalloc jemalloc tcmalloc; do
				"$programs/handover" "$way" "$threads" 2>>"$figures/handover.err" || [ $? -eq 3 ]
			done
		done
	done >"$figures/handover.jsonl"
}

# preloaded WAY: the library that replaces malloc, "" for glibc's.
preloaded() {
	case $1 in
	mimalloc) echo libmimalloc.so.2 ;;
	tcmalloc) echo libtcmalloc_minimal.so.4 ;;
	esac
}

# Programs whose sizes vary. Where a library to preload is missing the loader says so, and the program would run with
# glibc's malloc.
varying_programs() {
	echo "bench: programs whose sizes vary"
	for way in tl glibc mimalloc tcmalloc copy resize resize-unreserved; do
		library=$(preloaded "$way")
		if [ -n "$library" ] && LD_PRELOAD=$library true 2>&1 | grep -q .; then
			echo "skipped: $way is not installed" >&2
			continue
		fi
		for program in shapes shapes-wide decode decode-wide live burst; do
			case $way,$program in copy,decode* | resize*,decode*) ;; copy,* | resize*,*) continue ;; esac
			for _ in 1 2 3 4 5; do
				printf '{"way": "%s", ' "$way"
				LD_PRELOAD=$library "$programs/varying_programs" "$program" "$way"
			done
		done
	done >"$figures/varying_programs.jsonl"
}

from_python() {
	echo "bench: from Python"
	PYTHONPATH="$here/../python" TL_RUNTIME_LIBRARY="$build/libtl_runtime.so" \
		python3 "$here/python_handover.py" "$figures/python.json"
	echo "bench: calls from Python"
	PYTHONPATH="$here/../python" TL_RUNTIME_LIBRARY="$build/libtl_runtime.so" \
		python3 "$here/python_calls.py" "$figures/calls.json" "$figures/python_memory.jsonl"
	echo "bench: sparse matrices"
	PYTHONPATH="$here/../python" TL_RUNTIME_LIBRARY="$build/libtl_runtime.so" \
		python3 "$here/sparse.py" "$figures/sparse.json" "$figures/sparse_memory.jsonl"
}

between_processes() {
	echo "bench: tensors between processes"
	PYTHONPATH="$here/../python" TL_RUNTIME_LIBRARY="$build/libtl_runtime.so" \
		python3 "$here/python_processes.py" "$figures/processes.json"
}

# Dask is in the environment that .ci/scale makes, or in Python's own.
engines() {
	for python in "$build/venv-scale/bin/python" python3; do
		"$python" -c 'import dask.array, distributed' 2>/dev/null || continue
		echo "bench: tensors on Dask"
		PYTHONPATH="$here/../python" TL_RUNTIME_LIBRARY="$build/libtl_runtime.so" \
			"$python" "$here/scale_dask.py" "$figures/scale_dask.jsonl" >"$figures/scale_dask.log"
		return
	done
	echo "skipped: tensors on Dask: distributed is missing"
}

# Whole models want build/tl, and packages that Python may lack.
whole_models() {
	[ -x "$build/tl" ] && python3 -c 'import onnx, onnxruntime' 2>/dev/null ||
		{ echo "skipped: whole models: build/tl, or the Python package onnx or onnxruntime, is missing"; return 0; }
	echo "bench: whole models"
	TL_RUNTIME_LIBRARY="$build/libtl_runtime.so" python3 "$here/models.py" "$build/tl" "$figures/models.jsonl"
}

# The instances are those of $TL_TEST_DATA/planner.
placement() {
	echo "bench: placing buffers at offsets"
	[ -d "${TL_TEST_DATA:-}/planner" ] || echo "skipped: instances of the planner: TL_TEST_DATA names no folder with planner/"
	(cd "$here/.." && go build -o "$programs/planner" ./bench/planner)
	set -- -budget 5s -generate 1000000 -json "$figures/planner.jsonl"
	[ -d "${TL_TEST_DATA:-}/planner" ] && set -- "$@" "$TL_TEST_DATA/planner"
	"$programs/planner" "$@" >"$figures/planner.log"
}

# Large instances of every shape, and the lifetimes of a training.
shapes() {
	echo "bench: placing a million buffers"
	(cd "$here/.." && go build -o "$programs/planner" ./bench/planner)
	"$programs/planner" -shapes 1000000 -trace "$here/data/digits.trace.gz" -json "$figures/shapes.jsonl" >"$figures/shapes.log"
}

# Training steps that were recorded from PyTorch, and packings whose optimum is known.
sets() {
	echo "bench: placing training steps, and pieces of a rectangle"
	(cd "$here/.." && go build -o "$programs/planner" ./bench/planner)
	"$programs/planner" -sets "$here/data/sets" -json "$figures/sets.jsonl" >"$figures/sets.log"
	"$programs/planner" -packings 3 -json "$figures/packings.jsonl" >"$figures/packings.log"
}

# What each part of the search for offsets is good for. The instances of $TL_TEST_DATA/planner are among them.
ablation() {
	echo "bench: placing buffers without each part of the search"
	(cd "$here/.." && go build -o "$programs/planner" ./bench/planner)
	set -- -ablation -sets "$here/data/sets" -shapes 30000 -packings 2 -json "$figures/ablation.jsonl"
	[ -d "${TL_TEST_DATA:-}/planner" ] && set -- "$@" "$TL_TEST_DATA/planner"
	"$programs/planner" "$@" >"$figures/ablation.log"
}

# The rates of kernels, and what they say of models: the instances of $TL_TEST_DATA/onnx that have their weights.
rates() {
	[ -x "$build/tl" ] || { echo "skipped: rates of kernels: build/tl is missing"; return 0; }
	echo "bench: rates of kernels"
	(cd "$here/.." && go build -o "$programs/cost" ./bench/planner/cost)
	set --
	for model in mnist ultraface_rfb320; do
		[ -f "${TL_TEST_DATA:-}/onnx/$model.onnx" ] && set -- "$@" "$TL_TEST_DATA/onnx/$model.onnx"
	done
	TL_RUNTIME_LIBRARY="$build/libtl_runtime.so" "$programs/cost" -tl "$build/tl" -rates "$figures/rates.json" \
		-json "$figures/cost.jsonl" "$@"
}

# Checkmate wants the Python package scipy.
capacity() {
	echo "bench: less memory than a model needs"
	(cd "$here/.." && go build -o "$programs/capacity" ./bench/planner/capacity)
	"$programs/capacity" -python python3 -checkmate "$here/planner/capacity/checkmate.py" -json "$figures/capacity.jsonl"
}

# By MPI, where it and mpi4py are: .ci/scale makes the environment.
several_processes() {
	python=$build/venv-scale/bin/python
	command -v mpiexec >/dev/null && command -v mpicc >/dev/null && "$python" -c 'import mpi4py, numpy' 2>/dev/null ||
		{ echo "skipped: several processes: MPI, or mpi4py in $build/venv-scale, is missing (.ci/scale installs it)"; return 0; }
	echo "bench: several processes"
	make --no-print-directory -C "$here/../examples/mpi" BUILD="$build" all >>"$programs/build.log" 2>&1
	PYTHONPATH="$here/../python" TL_RUNTIME_LIBRARY="$build/libtl_runtime.so" \
		"$python" "$here/scale_mpi.py" "$figures/scale_mpi.jsonl" "$build/examples/mpi/digits_mpi" "$build/digits.csv"
}

trainings() {
	echo "bench: trainings that are observed"
	make --no-print-directory -C "$here/../examples/digits" BUILD="$build" all >>"$programs/build.log" 2>&1
	PYTHONPATH="$here/../python" TL_RUNTIME_LIBRARY="$build/libtl_runtime.so" \
		python3 "$here/training.py" "$build" "$figures/training.json"
}

startup() {
	echo "bench: start-up and size"
	for _ in 1 2 3 4 5 6 7 8 9 10 11; do
		"$programs/startup" "$build/libtl_runtime.so"
	done >"$figures/startup.jsonl"
	strip -o "$figures/stripped.so" "$build/libtl_runtime.so"
	printf '{"stripped_bytes": %d}\n' "$(wc -c <"$figures/stripped.so")" >"$figures/library.jsonl"
}

footprints() {
	"$programs/footprint" >"$figures/footprint.jsonl"
	"$programs/footprint" "$programs/digits.trace" >>"$figures/footprint.jsonl"
}

registry_memory() {
	for keys in 64 4096; do
		for who in tl unordered_map absl-flat; do "$programs/registry_memory" "$who" "$keys" || [ $? -eq 3 ]; done
	done >"$figures/registry_memory.jsonl"
}

instructions() {
	echo "bench: instructions"
	python3 "$here/instructions.py" "$programs/calls" "$build" "$figures/instructions.json"
}

mkdir -p "$programs"
compile
if [ -n "$only" ]; then
	[ -f "$figures/instructions.json" ] || { echo "$0: TL_BENCH_ONLY needs the figures of a whole run" >&2; exit 1; }
	echo "$only" | tr ' ' '\n' >>"$figures/again"
	sort -u -o "$figures/again" "$figures/again"
else
	rm -rf "$figures"
	mkdir -p "$figures"
	echo "$repetitions" >"$figures/repetitions"
	cut -d' ' -f1 /proc/loadavg >"$figures/load"
fi
part startup
gzip -dc "$here/data/digits.trace.gz" >"$programs/digits.trace"
TL_BENCH_TRACE=${TL_BENCH_TRACE:-$programs/digits.trace}
export TL_BENCH_TRACE
for program in counting scopes frames allocation tensors memory_pool workspace observing inlining programs_ast; do timed "$program"; done
part footprints
for live in 1000 100000 1000000; do
	TL_BENCH_LIVE=$live
	export TL_BENCH_LIVE
	timed registry "registry-$live"
done
part registry_memory
for program in training rows; do timed "program_$program" "programs-$program"; done
timed growth
timed varying
part varying_programs
timed beside beside-one
timed beside_threads beside-threads
for function in whole_values pool_tails handovers from_python between_processes several_processes engines trainings placement shapes sets ablation \
	rates capacity whole_models resident
do
	part "$function"
done
part instructions
python3 "$here/report.py" "$figures" "$here/RESULTS.md"
