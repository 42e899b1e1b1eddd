package llvm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
)

// distance is how many units in the last place of a type lie between got and want.
func distance(d graph.DType, got, want float64) float64 {
	if got == want || math.IsNaN(got) && math.IsNaN(want) {
		return 0
	}
	bits, least := 24, -149
	if d == graph.F64 {
		bits, least = 53, -1074
	}
	_, exponent := math.Frexp(want)
	unit := math.Ldexp(1, max(exponent-bits, least))
	return math.Abs(got-want) / unit
}

// accuracies are the functions of mathematics with the numbers that they are tried
// on and how far from C's they may be, in units in the last place.
var accuracies = []struct {
	op        string
	low, high float64
	f         func(float64) float64
	units     float64
}{
	{"Exp", -104, 89, math.Exp, 2},
	{"Exp", -1, 1, math.Exp, 2},
	{"Log", 0, 1e6, logarithm, 2},
	{"Log", 0.5, 2, logarithm, 2},
	{"Tanh", -12, 12, math.Tanh, 4},
	{"Tanh", -1e-3, 1e-3, math.Tanh, 4},
	{"Sigmoid", -80, 80, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, 4},
	{"Erf", -5, 5, math.Erf, 4},
	{"Erf", -1e-3, 1e-3, math.Erf, 4},
	{"Sqrt", 0, 1e9, math.Sqrt, 1},
	{"Softplus", -100, 100, softplus, 4},
	{"Softplus", -1, 1, softplus, 4},
	{"Sin", -1e6, 1e6, near(math.Sin), 1},
	{"Cos", -1e6, 1e6, near(math.Cos), 1},
	{"Atan", -20, 20, math.Atan, 1},
}

// near is a function of Go's that is not so close for large numbers: they are
// not tried.
func near(f func(float64) float64) func(float64) float64 {
	return func(x float64) float64 {
		if math.Abs(x) > 1e9 && !math.IsInf(x, 0) {
			return untried
		}
		return f(x)
	}
}

const untried = 12345

// logarithm is math.Log, which is wrong below the smallest normal number on amd64.
func logarithm(x float64) float64 {
	if x > 0 && x < 0x1p-1000 {
		return math.Log(x*0x1p600) - 600*math.Ln2
	}
	return math.Log(x)
}

// special are the numbers that functions treat in their own way.
var special = []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 1e-40, -1e-40, 1e-45,
	5e-324,
	88.8, 89, -87.4, -103.9, -104, 710, -745, -746, 1e30, -1e30, math.MaxFloat32, math.MaxFloat64, 2, 0.5, 3.5, -2, -3,
	-0.5}

func TestAccuracy(t *testing.T) {
	var jobs []*job
	for _, d := range []graph.DType{graph.F32, graph.F64} {
		r := rand.New(rand.NewPCG(5, uint64(d)))
		for _, a := range accuracies {
			x := random(r, d, a.low, a.high, 20000)
			copy(x.data, special)
			x = x.rounded()
			jobs = append(jobs, accuracyJob(len(jobs), a.op, a.f, a.units, x))
		}
		jobs = append(jobs, powJobs(len(jobs), d, r)...)
	}
	run(t, jobs)
}

func accuracyJob(number int, op string, f func(float64) float64, units float64, x tensor) *job {
	s := newSpec(op, nil, []tensor{x}, zeros(x.dtype, x.shape...))
	j := s.plain(number)
	j.check = func(t *testing.T, status int32, outputs [][]byte) {
		require.Zero(t, status)
		worst, at := 0.0, 0.0
		size := x.dtype.Bytes()
		for i, v := range x.data {
			got := decode(x.dtype, outputs[0][int64(i)*size:][:size])
			want := f(v)
			if want == untried {
				continue
			}
			if x.dtype == graph.F32 && math.Abs(want) > math.MaxFloat32 {
				want = math.Inf(int(math.Copysign(1, want)))
			}
			if u := distance(x.dtype, got, want); u > worst || math.IsNaN(u) {
				worst, at = u, v
				require.LessOrEqual(t, u, units, "%s(%v) on %s is %v, not %v", op, v, x.dtype, got, want)
			}
		}
		fmt.Printf("%s on %s: at most %.2f units, at %v\n", op, x.dtype, worst, at)
	}
	return j
}

// powJobs raise each special number to each, and others. On f64, math.Pow is what
// is not so close.
func powJobs(number int, d graph.DType, r *rand.Rand) []*job {
	n := int64(len(special))
	x, y := zeros(d, n*n+20000), zeros(d, n*n+20000)
	for i := range x.data {
		x.data[i], y.data[i] = 10*r.Float64(), 40*r.Float64()-20
		if int64(i) < n*n {
			x.data[i], y.data[i] = special[int64(i)/n], special[int64(i)%n]
		}
	}
	x, y = x.rounded(), y.rounded()
	units := map[graph.DType]float64{graph.F32: 1, graph.F64: 100}[d]
	s := newSpec("Pow", nil, []tensor{x, y}, zeros(d, x.shape...))
	j := s.plain(number)
	j.check = func(t *testing.T, status int32, outputs [][]byte) {
		require.Zero(t, status)
		for i, v := range x.data {
			got := decode(d, outputs[0][int64(i)*d.Bytes():][:d.Bytes()])
			want := decode(d, encode(d, math.Pow(v, y.data[i])))
			if v == 0 {
				got, want = math.Abs(got), math.Abs(want)
			}
			require.LessOrEqual(t, distance(d, got, want), units, "Pow(%v, %v) on %s is %v, not %v", v, y.data[i], d,
				got, want)
		}
	}
	return []*job{j}
}
