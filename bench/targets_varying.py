"""Targets of what varies: sizes, shapes and lengths."""

from __future__ import annotations

from bounds import Beside, Plain, Ratio, Row, Table

OBJECTS = {
    "object-60000": "object of 60,000 bytes",
    "object-70000": "object of 70,000 bytes",
    "object-131072": "object of 128 KiB",
    "object-1048576": "object of 1 MiB",
    "object-3145728": "object of 3 MiB",
    "object-8388608": "object of 8 MiB",
    "object-25165824": "object of 24 MiB",
    "object-67108864": "object of 64 MiB",
    "object-to-4096": "objects of 1 byte to 4 KiB",
    "object-to-262144": "objects of 1 byte to 256 KiB",
    "object-to-33554432": "objects of 1 byte to 32 MiB",
    "tensor-64": "tensors of n x 64, n from 1 to 2048",
    "tensor-1024": "tensors of n x 1024",
    "tensor-4096": "tensors of n x 4096",
    "dec-ref": "tl_ptr_dec_ref to 0 and tl_mem_free, 64 bytes",
    "realloc-by-17": "a string that grows by 17 bytes to 4,000, a step",
    "realloc-by-8": "the same by 8 bytes to 112",
    "realloc-by-half": "two blocks that grow by half to 64 KiB in turn, a step",
    "realloc-twice": "a block that doubles to 32 MiB, a step",
}
BEYOND_GLIBC = 3


def beside(name: str, factor: float) -> Ratio:
    return Ratio(factor, f"varying/{name}/glibc")


VARYING = Table(
    "What varies",
    "Sizes are log-uniform, and drawn the same for the peer. Objects and blocks are not written to, tensors neither; a block "
    "that grows is copied where it moves; of two in turn the peer's move, too, and not the last one of its heap in place. The "
    "peer of a tensor is one block without a header.",
    [
        *(Row(what, f"varying/{name}/tl", beside(name, BEYOND_GLIBC)) for name, what in OBJECTS.items()),
        Row("leaf with a destructor, in a scope", "varying/destructor/tl", beside("destructor", 2)),
        Row("typed object that floats: new, unregister, release", "varying/floating/tl", Plain(15)),
        Row("Vec of four: new, push, drop", "varying/vec-of-4/tl", Plain(100)),
        Row("Vec of 1,000: push and clear, an element", "varying/vec-of-1000/tl", Plain(10)),
        Row("tl_tensor_from_buffer and free", "varying/from-buffer/tl", Plain(100)),
        Row("out to DLPack and in again", "varying/dlpack/tl", Plain(180)),
        Row("tl_ptr_share, with the object's allocation and release", "varying/share/tl", Plain(50)),
        Row("a pointer that is nobody's", "varying/unknown/tl", Plain(30)),
        Row("aligned block of 4 KiB", "varying/aligned/tl", beside("aligned", 2)),
        Row("tl_registry_new_array of 4,000 bytes", "varying/array/tl", beside("array", 4)),
        Row("the same of 1 byte to 1 KiB", "varying/array-to-1024/tl", beside("array-to-1024", 4)),
        Row("the same of 1 byte to 64 KiB", "varying/array-to-65536/tl", beside("array-to-65536", 4)),
        Row("the same of 1 byte to 32 MiB", "varying/array-to-33554432/tl", beside("array-to-33554432", 4)),
        Row("memory pool, 4096 bytes", "varying/pool-4096/tl"),
        Row("two threads on one pool, 4096 bytes", "varying/pool-4096/tl@2", Plain(30)),
        Row("the same, 1 byte to 64 KiB", "varying/pool/tl@2", Beside("varying/pool/tl")),
    ],
)

MIB = 1 << 20
PROGRAMS = {
    "shapes": "activations of [L, 1024], L to 1024",
    "shapes-wide": "the same, L to 2048, four times as wide",
    "decode": "decode, 2 MiB live, a step",
    "decode-wide": "decode, 23 MiB live, a step",
    "live": "100,000 live objects, a pair",
    "burst": "a million live objects, a pair",
}
# Over mimalloc's and tcmalloc's time, and over mimalloc's peak; the latter's may be so much more.
TIME, TIME_TCMALLOC, PEAK, PEAK_MORE = 1.2, 2.0, 1.3, 16 * MIB
TIME_LIVE = 2.0
GROWN = 1.3
BURST_STAYS = 24 * MIB
