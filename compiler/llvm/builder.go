package llvm

import (
	"fmt"
	"strconv"

	"tlruntime/compiler/llvm/text"
)

// code is the body of one LLVM function while it is written. Its first block is
// "entry".
type code struct {
	text.Code
	module *module
	label  string // block that is being written; "" is entry
}

// value is a register or a literal with its type.
type value struct{ typ, ref string }

// let emits an instruction with a result and returns its register.
func (c *code) let(format string, args ...any) string { return c.Give(c.Name("%v"), format, args...) }

func (c *code) current() string {
	if c.label == "" {
		return "entry"
	}
	return c.label
}

// begin starts a block. The one before must have ended in a branch.
func (c *code) begin(label string) {
	fmt.Fprintf(&c.Text, "%s:\n", label)
	c.label = label
}

// aside returns what body writes, instead of writing it.
func (c *code) aside(body func()) string {
	outer := c.Text.String()
	c.Text.Reset()
	body()
	written := c.Text.String()
	c.Text.Reset()
	c.Text.WriteString(outer)
	return written
}

// loop runs body for i = 0 ... n-1. A loop of one turn is its body.
func (c *code) loop(n int64, body func(i string)) {
	c.fold(n, nil, func(i string, _ []string) []string { body(i); return nil })
}

// fold runs body n times. It carries one value for each of init from turn to turn
// and returns the last ones.
func (c *code) fold(n int64, init []value, body func(i string, carried []string) []string) []string {
	switch n {
	case 0:
		return refs(init)
	case 1:
		return body("0", refs(init))
	}
	return c.turns("0", strconv.FormatInt(n, 10), init, body)
}

// span is fold for i = low ... high-1, which are known at run time only, are not
// negative, and may hold no number at all.
func (c *code) span(low, high string, init []value, body func(i string, carried []string) []string) []string {
	into, after, before := c.Name("b"), c.Name("b"), c.current()
	any := c.let("icmp slt i64 %s, %s", low, high)
	c.Do("br i1 %s, label %%%s, label %%%s", any, into, after)
	c.begin(into)
	last := c.turns(low, high, init, body)
	from := c.current()
	c.Do("br label %%%s", after)
	c.begin(after)
	for i, v := range init {
		last[i] = c.let("phi %s [ %s, %%%s ], [ %s, %%%s ]", v.typ, v.ref, before, last[i], from)
	}
	return last
}

// turns is a loop of one turn or more. LLVM is told not to unroll it: bodies of long
// loops are blocks of vectors already, or become so, and copies of them would take
// most of the time of a compilation.
func (c *code) turns(low, high string, init []value, body func(i string, carried []string) []string) []string {
	before, head, after := c.current(), c.Name("b"), c.Name("b")
	i, next := c.Name("%i"), c.Name("%i")
	carried := make([]string, len(init))
	for k := range init {
		carried[k] = c.Name("%v")
	}
	var last []string
	written := c.aside(func() {
		c.label = head
		last = body(i, carried)
	})
	latch := c.current()
	c.Do("br label %%%s", head)
	c.begin(head)
	c.Do("%s = phi i64 [ %s, %%%s ], [ %s, %%%s ]", i, low, before, next, latch)
	for k, v := range init {
		c.Do("%s = phi %s [ %s, %%%s ], [ %s, %%%s ]", carried[k], v.typ, v.ref, before, last[k], latch)
	}
	c.Text.WriteString(written)
	c.Do("%s = add nuw nsw i64 %s, 1", next, i)
	again := c.let("icmp slt i64 %s, %s", next, high)
	c.Do("br i1 %s, label %%%s, label %%%s, !llvm.loop !0", again, head, after)
	c.begin(after)
	return last
}

func refs(list []value) []string {
	r := make([]string, len(list))
	for i, v := range list {
		r[i] = v.ref
	}
	return r
}

func literal(ref string) (int64, bool) {
	n, err := strconv.ParseInt(ref, 10, 64)
	return n, err == nil
}

// scaled returns i * k, folded where it is known.
func (c *code) scaled(i string, k int64) string {
	if n, ok := literal(i); ok {
		return strconv.FormatInt(n*k, 10)
	}
	switch k {
	case 0:
		return "0"
	case 1:
		return i
	}
	return c.let("mul nsw i64 %s, %d", i, k)
}

// plus returns a + b, folded where it is known.
func (c *code) plus(a, b string) string {
	m, known := literal(a)
	n, both := literal(b)
	switch {
	case known && both:
		return strconv.FormatInt(m+n, 10)
	case known && m == 0:
		return b
	case both && n == 0:
		return a
	}
	return c.let("add nsw i64 %s, %s", a, b)
}

// shifted returns i + k.
func (c *code) shifted(i string, k int64) string { return c.plus(i, strconv.FormatInt(k, 10)) }

// higher and lower return the higher and the lower of two numbers, folded where
// they are known.
func (c *code) higher(a, b string) string { return c.either("sgt", a, b) }

func (c *code) lower(a, b string) string { return c.either("slt", a, b) }

func (c *code) either(order, a, b string) string {
	m, known := literal(a)
	n, both := literal(b)
	if known && both {
		if (order == "sgt") == (m > n) {
			return a
		}
		return b
	}
	return c.let("select i1 %s, i64 %s, i64 %s", c.let("icmp %s i64 %s, %s", order, a, b), a, b)
}
