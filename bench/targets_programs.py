"""Targets of whole programs, and of operations that stand beside the fastest ones."""

from __future__ import annotations

from bounds import Beside, Plain, Ratio, Row, Table

AST = Table(
    "A program: syntax trees, built, rewritten and dropped",
    "Time of one node. Ours holds new nodes in scopes and counts every reference from a field; the peers count by hand and "
    "hand new nodes over uncounted.",
    [Row("ours, typed objects", "ast/tl", Ratio(1.0, "ast/glibc"))],
    [
        ("counts by hand over glibc malloc", "ast/glibc"),
        ("over mimalloc", "ast/mimalloc"),
        ("over jemalloc", "ast/jemalloc"),
        ("over tcmalloc", "ast/tcmalloc"),
    ],
)

BESIDE = Table(
    "One step beside the fastest call",
    "A tensor has 4096 numbers of f32 (rank 0: one), a view is of (64, 64); each is freed again. Glibc's are a header of 64 "
    "bytes and the data, whose addresses the program knows; that of a tensor's data it has to ask for. A hundred tensors of a "
    "scope are freed by hand. One thread alone uses the library, but where a second one is named: from then on the last reference "
    "of a tensor takes a compare-and-swap. The peer of aliases and deleters is sixteen maps that count, each behind a mutex.",
    [
        *(Row(f"tensor of rank {n}", f"beside/tensor{n}/tl", Ratio(0.75, f"beside/tensor{n}/glibc")) for n in range(5)),
        *(
            Row(f"tensor of rank {n} and where its data is", f"beside/tensor{n}-data/tl", Beside(f"beside/tensor{n}/glibc"))
            for n in range(2)
        ),
        *(
            Row(f"tensor of rank {n}, after a second thread", f"beside/later{n}/tl", Beside(f"beside/later{n}/glibc"))
            for n in range(2)
        ),
        Row("two threads, one shape", "beside/one-shape/tl@2", Ratio(1 / 1.8, "beside/one-shape/tl")),
        Row("two threads, a shape each", "beside/two-shapes/tl@2", Ratio(1 / 1.8, "beside/two-shapes/tl")),
        Row("a scope's tensors, newest first", "beside/newest-first/tl"),
        Row("a scope's tensors, oldest first", "beside/oldest-first/tl", Ratio(1.5, "beside/newest-first/tl")),
        Row("tl_tensor_new of a scalar", "beside/new-scalar/tl", Ratio(1.3, "beside/tensor0-data/tl")),
        Row("tl_tensor_new_i64 of four numbers", "beside/new-i64/tl", Ratio(1.3, "beside/tensor1-data/tl")),
        Row("tl_tensor_clone of four numbers", "beside/clone/tl", Ratio(1.3, "beside/tensor1-data/tl")),
        *(Row(f"tl_view_{view}", f"beside/{view}/tl", Plain(50)) for view in ("reshape", "transpose", "slice")),
        Row("tl_registry_add_alias + unregister", "beside/alias/tl", Plain(40)),
        Row("tl_registry_register_custom + unregister", "beside/custom/tl", Plain(50)),
    ],
    [
        ("floor after a second thread: a header, an entry of a scope, a compare-and-swap", "beside/tensor0/floor"),
        ("alias, unordered_map", "beside/alias/unordered_map"),
        ("deleter, unordered_map", "beside/custom/unordered_map"),
    ],
)

PROGRAMS = Table(
    "Whole programs",
    "A training step: eight layers, each with an activation, two views and two gradients, in a scope; the peers count by hand over "
    "a header and a block of data. Rows: a buffer with 4096 names, a graph that holds two rows a node, everything dropped; "
    "the peers are sixteen maps that count, each behind a mutex; the floor follows the same lists as ours and checks nothing. "
    "Time of a step, and of a graph.",
    [
        Row("training step with views", "program/training/tl", Ratio(0.6, "program/training/glibc")),
        Row("graph over rows", "program/rows/tl", Ratio(1.5, "program/rows/floor", "was <= 0.5 x program/rows/unordered_map")),
    ],
    [
        (f"{what}, {who}", f"program/{name}/{who}")
        for what, name, peers in (
            ("training step", "training", ("mimalloc", "jemalloc", "tcmalloc")),
            ("graph over rows", "rows", ("floor", "unordered_map", "boost-flat", "absl-flat")),
        )
        for who in peers
    ],
)

INLINED = (
    ("acquire + release of one object", "pair", 0.7),
    ("an empty scope", "scope", 0.5),
    ("alloc + release, 64 bytes", "alloc", None),
    ("a scope with one object", "scope-of-one", None),
    ("list of 1,000 cells, each", "list", 0.8),
    ("tree of 1,023 nodes, each", "tree", 0.8),
    ("step of a product of matrices of 4 x 4", "matrix", None),
)

INLINING = Table(
    "Inlined operations beside the same calls",
    "The same program with calls, and as a compiler emits it, with the operations of tl_inl_*, both by clang with -O3. Lists and "
    "trees are built, summed and dropped, with a scope for each body of a function or a loop and a reference for each variable. "
    "The peers count inline in front of malloc, without atomic operations and without a check.",
    [
        Row(what, f"inline/{name}/emitted", Ratio(factor, f"inline/{name}/called") if factor else Beside(f"inline/{name}/called"))
        for what, name, factor in INLINED
    ]
    + [
        Row("acquire + release of one object by a tl_ref", "inline/ref-pair/emitted", Ratio(0.3, "inline/pair/called")),
        Row("the same, called", "inline/ref-pair/called", Beside("inline/pair/called")),
        Row("the address of a tl_ref's object", "inline/ref-get/emitted", Beside("inline/ref-get/called")),
    ]
    + [
        Row(f"{what}, by the ordinary names with TL_INLINE", f"inline/{name}/inlined", Beside(f"inline/{name}/called"))
        for what, name, _ in INLINED
    ],
    [("tree, the recursion and the nodes alone, without an operation", "inline/tree/alone")]
    + [
        (f"{what}, inline count over {who}", f"inline/{name}/{who}")
        for what, name, _ in INLINED if name in ("list", "tree", "matrix")
        for who in ("glibc", "mimalloc", "jemalloc", "tcmalloc")
    ],
)

# Operations of src/calls_inlined.c, and the most instructions that each may take.
INLINED_OPERATIONS = {
    "inlined_acquire_release": ("inlined: tl_ptr_acquire + tl_ptr_release, by the owner", 35),
    "inlined_ref_acquire_release": ("inlined: tl_ref_acquire + tl_ref_release, by the owner", 21),
    "inlined_ref_get": ("inlined: tl_ref_get", 39),
    "inlined_scope": ("inlined: tl_mem_enter_scope + tl_mem_exit_scope", 24),
    "inlined_alloc_release": ("inlined: tl_mem_alloc + tl_ptr_release, 64 bytes", 80),
    "inlined_unique_release": ("inlined: the same, and tl_ptr_is_unique in between", 92),
    "inlined_scope_of_8": ("inlined: a scope of eight tl_mem_new of 64 bytes, whose end is a call", 419),
    "inlined_function": ("inlined: tl_mem_function_enter + tl_mem_function_exit, no slots", 50),
}

ALLOCATORS = ("glibc", "mimalloc", "jemalloc", "tcmalloc")


def _growth_rows() -> list[Row]:
    rows = []
    for n in (1000, 100000, 1000000):
        name = f"growth/objects/{n}"
        rows.append(Row(f"an object of 32 to 512 bytes replaced, any of {n:,} live", name + "/tl", Beside(name + "/tcmalloc")))
    for n in (10, 1000, 10000):
        rows.append(Row(f"scope with a typed object, of {n:,} types in turn", f"growth/types/{n}/tl"))
    rows.append(Row("tl_stats_get beside 10,000 types", "growth/stats/10000/tl", Plain(100_000)))
    rows.append(Row("tensor made and freed, 1,000 shapes in turn", "growth/shapes/1000/tl", Beside("growth/shapes/1000/glibc")))
    rows.append(Row("the same, 100,000 shapes", "growth/shapes/100000/tl", Ratio(3, "growth/shapes/1000/tl")))
    rows.append(Row("alias dropped and added, any of 1,000", "growth/aliases/1000/tl", Beside("growth/aliases/1000/unordered_map")))
    was = "was <= 3 x growth/aliases/1000/tl"
    rows.append(Row("alias dropped and added, any of 1,000,000", "growth/aliases/1000000/tl",
                    Ratio(1.5, "growth/aliases/1000000/floor-in-turn", was)))
    rows.append(Row("tl_registry_info of an alias, any of 1,000", "growth/info/1000/tl"))
    rows.append(Row("the same, any of 1,000,000", "growth/info/1000000/tl", Plain(1000)))
    return rows


GROWTH_TABLE = Table(
    "Growth: the same operation beside few and beside many",
    "Shapes are of the same range of sizes, up to 40 KB; a peer allocates a header of 64 bytes and the data. Any of a "
    "million is a cache miss or several for everybody. The floor of aliases follows the same lists as ours and checks nothing; in "
    "turn, no pair begins before the lines of the one before have come.",
    _growth_rows(),
    [
        (f"{words}, {n:,}: {who}", f"growth/{what}/{n}/{who}")
        for what, words, sizes, peers in (
            ("objects", "objects", (1000, 100000, 1000000), ALLOCATORS),
            ("shapes", "header and data", (1000, 100000), ALLOCATORS),
            ("aliases", "aliases", (1000, 1000000), ("floor", "floor-in-turn", "unordered_map", "absl-flat")),
        )
        for who in peers
        for n in sizes
    ],
)

# Processor time and peak memory over glibc's in the same run, when another thread releases.
HANDOVER = 1.3
