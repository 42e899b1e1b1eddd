package llvm

var leakyReluKernel = elementwise(floats, leakyRelu)

func leakyRelu(k *kernel, l lanes, x []string) string {
	below := l.mul(x[0], l.number(k.Attrs.Float("alpha")))
	return l.pick(l.cmp("lt", x[0], l.number(0)), below, x[0])
}
