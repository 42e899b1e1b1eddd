package lower

import (
	"fmt"
	"testing"
	"tlruntime/runtime/lower/flow"
	"tlruntime/runtime/lower/ir"
)

func TestX(t *testing.T) {
	p, err := ir.Parse(`
struct Node { value: int, next: Node }
func build(n: int) -> Node {
	let head = none Node
	let i = 0
	while i < n {
		head = new Node{value: i, next: head}
		i = i + 1
	}
	return head
}
func Node.total(self) -> int {
	let at = self
	let s = 0
	while at is none == 0 {
		s = s + at.value
		at = at.next
	}
	return s
}
func bump(n: Node) -> Node {
	n.value = n.value + 1
	return n
}
func main() -> int {
	let l = build(10)
	let p = new Node{value: 3, next: l}
	p.value = p.next.value
	p.next = none Node
	return p.total() + bump(l).total()
}
func tensors(n: int) -> float {
	let acc = zeros tensor<f64, 2, 2>
	let i = 0
	while i < n {
		let x = fill tensor<f64, 2, 2>(float(i))
		acc = acc + x * x
		acc[0] = 1.0
		i = i + 1
	}
	return sum(acc) + acc[3]
}
`)
	if err != nil {
		t.Fatal(err)
	}
	if q, err := ir.Parse(ir.Print(p)); err != nil || ir.Print(q) != ir.Print(p) {
		t.Fatal(err, ir.Print(p))
	}
	m, err := Lower(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range m.Functions {
		fmt.Println(flow.Print(f))
	}
	fmt.Println(m.Kinds, m.Moves)
}
