package ir_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/lower/internal/programs"
	"tlruntime/compiler/lower/ir"
)

// TestPrintedProgramsAreRead prints random programs and reads them again.
func TestPrintedProgramsAreRead(t *testing.T) {
	for seed := range int64(300) {
		p, _ := programs.Make(seed, "p")
		text := ir.Print(p)
		read, err := ir.Parse(text)
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, p, read, "seed %d", seed)
	}
}

func TestText(t *testing.T) {
	for _, text := range []string{
		"a - (b - c)", "a - b - c", "(a + b) * c", "a + b * c", "(-5) + a", "a - (-5)", "-5", "-2.5", "1e+30",
		"a < b == c", "a < (b == c)",
		"(a + b) is none", "a.b.c is none", "a.m(1, b)[2]", "new P{}", "new P{x: 1, y: new P{}}.x", "none P",
		"none tensor<f32>",
		"zeros tensor<f64, 2, 3>", "fill tensor<f64>(1.0)", "tensor<f32, 2>[1.0, 2.0]", "sum(a * b)", "int(a) + int(b)",
		"float(3) / 2.0",
		"-9223372036854775808", "-0.0",
	} {
		p, err := ir.Parse("func f() { x = " + text + " }")
		require.NoError(t, err, text)
		require.Equal(t, text, ir.Text(p.Functions[0].Body[0].(*ir.Assign).Value))
	}
}

func TestSyntaxErrorsNameLineAndToken(t *testing.T) {
	for text, want := range map[string]string{
		"funk f() {}":              `line 1: struct or func expected, found "funk"`,
		"func f() {\n let 3 = 4 }": `line 2: a name expected, found "3"`,
		"func f() {\n\n x 4 }":     `line 3: "=" expected, found "4"`,
		"func f() { a + b }":       `line 1: "=" expected, found "+"`,
		"func f() { new P{} }": "line 1: a statement expected, found the expression new P{}; assign to a variable, a " +
			"variable's field or element",
		"func f() { a.b.c = 1 }": "line 1: a statement expected, found the expression a.b.c; assign to a variable, a " +
			"variable's field or element",
		"func f() { x = 99999999999999999999 }": `line 1: an int expected, found "99999999999999999999"`,
		"func f() { x = 1e999 }":                `line 1: a number expected, found "1e999"`,
		"func f() { x = - }":                    `line 1: a number expected, found "}"`,
		"func f( {":                             `line 1: a name expected, found "{"`,
		"func f() {":                            "line 1: a name expected, found the end",
		"struct S { x }":                        `line 1: ":" expected, found "}"`,
		"struct S { x: tensor<f16> }":           `line 1: "f64" expected, found "f16"`,
		"func f() { x = a is }":                 `line 1: "none" expected, found "}"`,
		"func let() {}":                         `line 1: a name expected, found "let"`,
		"func f() { x = 'a' }":                  `line 1: a name expected, found "'"`,
	} {
		_, err := ir.Parse(text)
		require.EqualError(t, err, want, text)
	}
}

func TestNestingIsBounded(t *testing.T) {
	_, err := ir.Parse("func f() { x = " + strings.Repeat("(", 100_000))
	require.ErrorContains(t, err, "nested deeper than")
	for _, link := range []string{" + x", ".x"} {
		_, err = ir.Parse("func f() { x = x" + strings.Repeat(link, 100_000) + "}")
		require.ErrorContains(t, err, "more than 5000 operators or fields in a row")
	}
}

// FuzzParse wants an error or a program whose text is read again.
func FuzzParse(f *testing.F) {
	f.Add("struct P { x: int }\nfunc P.m(self) -> int { if self is none { return -1 } else { return self.x } }")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ir.Parse(text)
		if err != nil {
			return
		}
		again, err := ir.Parse(ir.Print(p))
		if err != nil || ir.Print(again) != ir.Print(p) {
			t.Errorf("%v: %s", err, ir.Print(p))
		}
	})
}
