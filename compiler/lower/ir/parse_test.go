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
		"-9223372036854775808", "-0.0", "new vec<vec<P>>", "none vec<tensor<f32>>", "v[i + 1][0].x", "len(v) % 2 * 3",
	} {
		p, err := ir.Parse("func f() { x = " + text + " }")
		require.NoError(t, err, text)
		require.Equal(t, text, ir.Text(p.Functions[0].Body[0].(*ir.Assign).Value))
	}
}

func TestSyntaxErrorsNamePlaceAndToken(t *testing.T) {
	for text, want := range map[string]string{
		"funk f() {}":              `1:1: struct, func or extern expected, found "funk"`,
		"func f() {\n let 3 = 4 }": `2:6: a name expected, found "3"`,
		"func f() {\n\n x 4 }":     `3:4: "=" expected, found "4"`,
		"func f() { a + b }":       `1:14: "=" expected, found "+"`,
		"func f() { new P{} }": "1:12: a statement expected, found the expression new P{}; assign to a variable, a " +
			"variable's field or element",
		"func f() { a.b.c = 1 }": "1:12: a statement expected, found the expression a.b.c; assign to a variable, a " +
			"variable's field or element",
		"func f() { x = 99999999999999999999 }": "1:16: 99999999999999999999 is outside of what an int holds",
		"func f() { x = -9223372036854775809 }": "1:17: -9223372036854775809 is outside of what an int holds",
		"func f() { x = 1e999 }":                "1:16: 1e999 is outside of what a float holds",
		"func f() { x = 0x10 }":                 `1:16: "0x10" is not written as a decimal number, such as 42, 2.5 or 1e-3`,
		"func f() { x = 0x1p4 }":                `1:16: "0x1p4" is not written as a decimal number, such as 42, 2.5 or 1e-3`,
		"func f() { x = 1_0.5 }":                `1:16: "1_0.5" is not written as a decimal number, such as 42, 2.5 or 1e-3`,
		"func f() { x = - }":                    `1:18: a number expected, found "}"`,
		"func f( {":                             `1:9: a name expected, found "{"`,
		"func f() {":                            "1:11: a name expected, found the end",
		"struct S { x }":                        `1:14: ":" expected, found "}"`,
		"struct S { x: tensor<f16> }":           `1:22: "f64" expected, found "f16"`,
		"func f() { x = a is }":                 `1:21: "none" expected, found "}"`,
		"func let() {}":                         `1:6: a name expected, found "let", which is a word of the language`,
		"func f() { x = 'a' }":                  `1:16: a name expected, found "'"`,
		"extern f()":                            `1:8: "func" expected, found "f"`,
		"extern func P.f()":                     `1:14: "(" expected, found "."`,
		"struct S { x: vec<int }":               `1:23: ">" expected, found "}"`,
		"func f() { push a 1 }":                 `1:19: "," expected, found "1"`,
		"func f() { x = 1 \x00 }":               "1:18: invalid character NUL",
	} {
		_, err := ir.Parse(text)
		require.EqualError(t, err, want, text)
	}
}

// TestEveryDeclarationHasItsError reads on behind what is wrong.
func TestEveryDeclarationHasItsError(t *testing.T) {
	_, err := ir.Parse(`func a() { let 1 }
struct S { x int }
func right() { let x = (1 + 2) * 3 }
func b() { if x { y = { } }
extern func c(x: int) -> int
func d() { x = 'a
func e() { } }
func g(`)
	require.EqualError(t, err, `1:16: a name expected, found "1"
2:14: ":" expected, found "int"
4:23: a name expected, found "{"
6:16: a name expected, found "'"
7:14: struct, func or extern expected, found "}"
8:8: a name expected, found the end`)
}

// TestErrorsHavePlaces verifies texts and wants the place of what is wrong.
func TestErrorsHavePlaces(t *testing.T) {
	for text, want := range map[string]string{
		"func f() {\n\tlet a = 1\n\tb = a\n}":               "x.tl:3:2: function f: there is no variable b",
		"func f() {\n\tlet a = 1 + 2 *\n\t  b\n}":           "x.tl:3:4: function f: there is no variable b",
		"func f() { let a = 1 + 2.0 }":                      "x.tl:1:24: function f: the right operand is of type float",
		"func f(a: P) { }":                                  "x.tl:1:8: function f: parameter a: there is no struct P",
		"struct P {\n\tx: int\n\tq: Q\n}":                   "x.tl:3:2: struct P, field q: there is no struct Q",
		"func f() -> int {\n}":                              "x.tl:1:6: function f: a path ends without a return",
		"func f() {\n\tif 1 { break }\n\tcontinue\n}":       "x.tl:2:9: function f: there is no loop around it",
		"func f() {\n\twhile 1 { break }\n\tcontinue\n}":    "x.tl:3:2: function f: there is no loop around it",
		"struct P { x: int } func f(p: P) { p.x = p.y }":    "x.tl:1:44: function f: struct P has no field y",
		"struct P { x: int } func f(p: P) { p.x = p.g(1) }": "x.tl:1:44: function f: there is no function P.g",
		"func f() { g(1) }":                                 "x.tl:1:12: function f: there is no function g",
		"func f() { }\nfunc f() { }":                        "x.tl:2:6: function f: defined twice",
	} {
		p, source, err := ir.ParseSource(text)
		require.NoError(t, err, text)
		_, err = ir.Verify(p)
		require.Error(t, err, text)
		require.ErrorContains(t, source.Locate("x.tl", err)[0], want, text)
	}
}

// TestEveryPartHasAPlace parses random programs and asks for the place of everything.
func TestEveryPartHasAPlace(t *testing.T) {
	made, _ := programs.Make(3, "p")
	p, source, err := ir.ParseSource(ir.Print(made))
	require.NoError(t, err)
	info, err := ir.Verify(p)
	require.NoError(t, err)
	require.Greater(t, len(info.Types), 50)
	for e := range info.Types {
		require.Positive(t, source.Pos(e).Column, ir.Text(e))
	}
	for _, s := range p.Structs {
		require.Positive(t, source.Pos(s).Line)
		require.Positive(t, source.Pos(&s.Fields[0]).Line)
	}
	require.Zero(t, source.Pos(made))
	require.Zero(t, (*ir.Source)(nil).Pos(p))
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
	f.Add("extern func p(v: vec<vec<P>>) func f(v: vec<P>) { push v, v[0] pop v p(v[len(v) % 2]) v[1] = none P }")
	f.Add("struct P { x: int }\nfunc P.m(self) -> int { if self is none { return -1 } else { return self.x } }")
	f.Fuzz(func(t *testing.T, text string) {
		p, source, err := ir.ParseSource(text)
		if err != nil {
			for _, e := range source.Locate("f", err) {
				if e.Pos.Line < 1 || e.Pos.Column < 1 {
					t.Errorf("no place: %v", e)
				}
			}
			return
		}
		ir.Verify(p)
		again, err := ir.Parse(ir.Print(p))
		if err != nil || ir.Print(again) != ir.Print(p) {
			t.Errorf("%v: %s", err, ir.Print(p))
		}
	})
}
