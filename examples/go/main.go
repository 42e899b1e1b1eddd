// Command go shows the runtime from Go: a context is explicit where a C thread has one of its own.
package main

import (
	"fmt"
	"os"

	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

func main() {
	c, st := object.NewContext()
	if st != status.OK {
		fmt.Fprintln(os.Stderr, st)
		os.Exit(1)
	}
	defer c.Finish()
	point, _ := c.Define(object.Type{Name: "Point", Size: 16, Offsets: []uintptr{0},
		OnDestroy: func(uintptr) { fmt.Println("point destroyed") }})
	c.EnterScope()
	a := c.New(64)
	p := c.ObjectNew(point)
	*object.Field(p, 0) = a // a field holds a reference of its own
	c.Acquire(a)
	fmt.Println("references to a:", c.Refcount(a))
	c.ExitScope()
	fmt.Println("live objects:", object.ReadStats().LiveObjects)
	fmt.Println("releasing again:", c.Release(a))
}
