package interp_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/lower/interp"
	"tlruntime/compiler/lower/ir"
)

func run(t *testing.T, text string) (any, error) {
	t.Helper()
	p,
		err := ir.Parse("struct P { x: int, y: float, next: P, t: tensor<f32, 2> }\nfunc P.set(self, n: int) -> P { " +
		"self.x = n return self }\n" + text)
	require.NoError(t, err)
	info, err := ir.Verify(p)
	require.NoError(t, err)
	return interp.Run(info, "f", 10_000)
}

func TestResults(t *testing.T) {
	for body, want := range map[string]any{
		"-> int { return 2 + 3 * 4 }":                                                                  int64(14),
		"-> int { return 9223372036854775807 + 1 }":                                                    int64(math.MinInt64),
		"-> int { return (1 < 2) + (2 <= 2) + (3 > 4) + (4 >= 4) + (1 == 1) + (1 != 1) }":              int64(4),
		"-> int { return (0.0 / 0.0 == 0.0 / 0.0) + (0.0 / 0.0 != 0.0) * 2 }":                          int64(2),
		"-> float { return 1.0 / 0.0 - 2.5 }":                                                          math.Inf(1),
		"-> int { return int(2.9) + int(-2.9) * 10 + int(0.0 / 0.0) }":                                 int64(-18),
		"-> int { return int(1e300) }":                                                                 int64(math.MaxInt64),
		"-> int { return int(-1e300) }":                                                                int64(math.MinInt64),
		"-> float { return float(7) / 2.0 }":                                                           3.5,
		"-> int { let p = none P return p.next.next.x + (p.next is none) }":                            int64(1),
		"-> int { let p = none P p.x = 3 return p.x + (p is none) }":                                   int64(3),
		"-> int { let p = new P{x: 1} let q = p q.x = 2 return p.x * 10 + q.x }":                       int64(12),
		"-> int { let p = new P{x: 1} p.next = p p.x = 2 return p.next.x * 10 + p.x }":                 int64(12),
		"-> int { let p = new P{x: 1} let q = p.set(5) return p.x * 10 + q.x }":                        int64(15),
		"-> float { let t = none tensor<f32, 2> t[1] = 0.1 return t[0] + t[1] }":                       float64(float32(0.1)),
		"-> float { let t = none tensor<f64, 2> return sum(t + fill tensor<f64, 2>(1.5)) }":            3.0,
		"-> float { let t = tensor<f64, 2>[1.0, 2.0] let u = t u[0] = 5.0 return t[0] * 10.0 + u[0] }": 15.0,
		"-> float { return sum(fill tensor<f32, 3>(16777217.0)) }":                                     3 * 16777216.0,
		"-> int { let i = 0 let s = 0 while i < 10 { i = i + 1 if i == 3 { continue } if i == 6 { break } s = s + i " +
			"} return s }": int64(12),
		"-> int { let a = 1 block { let a = 2 a = 3 } return a }": int64(1),
		"-> int { while 1 { block { return 4 } } return 5 }":      int64(4),
		"{ return }":              nil,
		"-> P { return new P{} }": nil,
	} {
		got, err := run(t, "func f() "+body)
		require.NoError(t, err, body)
		require.Equal(t, want, got, body)
	}
}

func TestLimits(t *testing.T) {
	for _, text := range []string{
		"func f() { while 1 { } }",
		"func f() { f() }",
		"func f() { let p = new P{} while 1 { p = new P{next: p} } }",
	} {
		_, err := run(t, text)
		require.ErrorIs(t, err, interp.ErrLimit, text)
	}
	_, err := run(t, "func g() { return }")
	require.EqualError(t, err, "there is no function f without parameters")
}
