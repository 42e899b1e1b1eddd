package llvm

import (
	"math"

	"tlruntime/compiler/graph"
)

// widened and narrowed convert the bits of f16 and bf16 to f32 and back, as not
// every target has instructions, or functions, for it.
func (l lanes) widened(v string) string {
	f := l.of(elems[graph.F32])
	bits := l.of(elems[graph.U32])
	wide := l.of(elems[graph.U16]).cast("zext", v, bits)
	if l.dtype == graph.BF16 {
		return bits.cast("bitcast", bits.bin("shl", wide, bits.repeat("16")), f)
	}
	// The exponent is moved to its place; multiplying by 2^112 sets its bias right and
	// makes subnormal numbers normal. What was infinite or NaN gets all exponent bits.
	sign := bits.bin("shl", bits.bin("and", wide, bits.repeat("32768")), bits.repeat("16"))
	rest := bits.bin("shl", bits.bin("and", wide, bits.repeat("32767")), bits.repeat("13"))
	scaled := f.cast("bitcast", f.mul(bits.cast("bitcast", rest, f), f.number(math.Exp2(112))), bits)
	special := bits.cmp("ge", rest, bits.repeat("260046848")) // exponent 31
	finite := bits.pick(special, bits.bin("or", rest, bits.repeat("2139095040")), scaled)
	return bits.cast("bitcast", bits.bin("or", finite, sign), f)
}

func (l lanes) narrowed(v string) string {
	f, bits, short := l.of(elems[graph.F32]), l.of(elems[graph.U32]), l.of(elems[graph.U16])
	b := f.cast("bitcast", v, bits)
	if l.dtype == graph.BF16 {
		even := bits.bin("and", bits.bin("lshr", b, bits.repeat("16")), bits.repeat("1"))
		rounded := bits.add(b, bits.add(even, bits.repeat("32767")))
		rounded = bits.pick(f.cmp("ne", v, v), bits.repeat("2143289344"), rounded)
		return bits.cast("trunc", bits.bin("lshr", rounded, bits.repeat("16")), short)
	}
	sign := bits.bin("and", bits.bin("lshr", b, bits.repeat("16")), bits.repeat("32768"))
	r := bits.bin("or", l.halfMagnitude(bits.bin("and", b, bits.repeat("2147483647")), f, bits), sign)
	return bits.cast("trunc", r, short)
}

// halfMagnitude rounds the magnitude with these bits to f16, ties to even. Normal
// results are rounded in integers; subnormal ones by adding 0.5, whose last bit is
// worth as much as theirs.
func (l lanes) halfMagnitude(b string, f, bits lanes) string {
	const smallestNormal, infinite, overflows = "947912704", "2139095040", "1199566848" // 2^-14, inf, 65520
	even := bits.bin("and", bits.bin("lshr", b, bits.repeat("13")), bits.repeat("1"))
	rebiased := bits.sub(b, bits.repeat("939524096")) // 112 << 23
	normal := bits.bin("lshr", bits.add(rebiased, bits.add(even, bits.repeat("4095"))), bits.repeat("13"))
	sum := f.let("fadd %s %s, %s", f.typ(), bits.cast("bitcast", b, f), f.number(0.5))
	subnormal := bits.sub(f.cast("bitcast", sum, bits), bits.repeat("1056964608")) // 0.5
	r := bits.pick(bits.cmp("lt", b, bits.repeat(smallestNormal)), subnormal, normal)
	r = bits.pick(bits.cmp("ge", b, bits.repeat(overflows)), bits.repeat("31744"), r)
	return bits.pick(bits.cmp("gt", b, bits.repeat(infinite)), bits.repeat("32256"), r)
}
