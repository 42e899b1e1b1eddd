package main

import (
	"fmt"
	"strings"
)

// renderKinds lists the functions whose steady state needs no slow call, for the test that drives each of them.
func renderKinds(s *source) (string, error) {
	var b strings.Builder
	b.WriteString("/* " + notice + " */\n#define KINDS(ROW)")
	for _, e := range s.functions() {
		if k := e.kind(); k != "slow call" {
			fmt.Fprintf(&b, " \\\n\tROW(%s, %s)", e.name, strings.ToUpper(k))
		}
	}
	b.WriteString("\n")
	return b.String(), nil
}
