/* Static probes (USDT) for perf, bpftrace and SystemTap: docs/probes.md.
 *
 * A probe is one nop in the code, and a note of its address, its name and where its arguments are, in the
 * section .note.stapsdt, which no running program reads. A tool replaces the nop by a breakpoint. The form
 * of the note is SystemTap's:
 *
 *   words  name size, descriptor size, type 3; then "stapsdt"
 *   quads  address of the nop, address of the section .stapsdt.base, address of a semaphore (none)
 *   texts  provider, probe, arguments as "size@operand" with spaces between them
 *
 * .stapsdt.base is one byte: tools compare its address with the noted one and so learn by how much a linker
 * that came later has moved the code.
 *
 * Arguments are values that are in registers or in memory anyway; the constraints let the compiler name the
 * place, so that a probe costs its nop and no instruction more (ctest: instructions). clang would store an
 * operand that may be in memory, so it gets the choice only where the value is there.
 *
 * TLC_NO_PROBES leaves them out, where this code becomes part of other programs.
 */
#pragma once

#include <stdint.h>

#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(TLC_NO_PROBES)

/* With "?" the note goes where its function goes: a linker that drops the function drops both. */
#define TLC_PROBE_NOTE(name, arguments)                                   \
	"990: nop\n"                                                          \
	".pushsection .note.stapsdt,\"?\",%%note\n"                           \
	".balign 4\n"                                                         \
	".4byte 992f - 991f, 994f - 993f, 3\n"                                \
	"991: .asciz \"stapsdt\"\n"                                           \
	"992: .balign 4\n"                                                    \
	"993: .8byte 990b, _.stapsdt.base, 0\n"                               \
	".asciz \"tl_runtime\"\n"                                             \
	".asciz \"" #name "\"\n"                                              \
	".asciz \"" arguments "\"\n"                                          \
	"994: .balign 4\n"                                                    \
	".popsection\n"                                                       \
	".ifndef _.stapsdt.base\n"                                            \
	".pushsection .stapsdt.base,\"aG\",%%progbits,.stapsdt.base,comdat\n" \
	".weak _.stapsdt.base\n"                                              \
	".hidden _.stapsdt.base\n"                                            \
	"_.stapsdt.base: .space 1\n"                                          \
	".size _.stapsdt.base, 1\n"                                           \
	".popsection\n"                                                       \
	".endif\n"

/* inline: for the compiler's estimate of sizes this is one instruction, as it is for the processor. */
#define TLC_PROBE_TWO(name, place, one, two)                                                   \
	__asm__ __volatile__ __inline__(TLC_PROBE_NOTE(name, "8@%0 8@%1")::place((uint64_t)(one)), \
	                                TLC_PROBE_PLACE((uint64_t)(two)))
#define TLC_PROBE_ONE(name, place, one) __asm__ __volatile__ __inline__(TLC_PROBE_NOTE(name, "8@%0")::place(one))

#else

#define TLC_PROBE_TWO(name, place, one, two) ((void)(one), (void)(two))
#define TLC_PROBE_ONE(name, place, one) ((void)(one))

#endif

#ifdef __clang__
#define TLC_PROBE_PLACE "nr"
#else
#define TLC_PROBE_PLACE "nor"
#endif

/* Memory was handed out: its address and the bytes that were asked for. */
#define TLC_PROBE_ALLOCATE(object, bytes) TLC_PROBE_TWO(allocate, TLC_PROBE_PLACE, object, bytes)

/* Memory was taken back: its address; the second takes it from where it is stored, a uintptr_t. */
#define TLC_PROBE_FREE(object) TLC_PROBE_ONE(free, TLC_PROBE_PLACE, (uint64_t)(object))
#define TLC_PROBE_FREE_STORED(object) TLC_PROBE_ONE(free, "m", object)

/* A call goes from C into Go: the public function's name and its number. The name is loaded, since perf reads no
 * operand with an index. */
#define TLC_PROBE_CGO_CALL(name, function) TLC_PROBE_TWO(cgo_call, "r", (uintptr_t)(name), function)

/* The tensor pool had no tensor: elements and element type. */
#define TLC_PROBE_POOL_MISS(elements, dtype) TLC_PROBE_TWO(pool_miss, TLC_PROBE_PLACE, elements, dtype)

/* A limit refused bytes: the device (-1: all together), and how many. */
#define TLC_PROBE_LIMIT(device, bytes) TLC_PROBE_TWO(limit, TLC_PROBE_PLACE, device, bytes)

/* The same for Go (runtime/usdt). */
#pragma GCC visibility push(hidden)
void tlc_probe_allocate(uint64_t object, uint64_t bytes);
void tlc_probe_free(uint64_t object, uint64_t unused);
void tlc_probe_pool_miss(uint64_t elements, uint64_t dtype);
void tlc_probe_limit(uint64_t device, uint64_t bytes);
#pragma GCC visibility pop
