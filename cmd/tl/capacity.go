package main

import (
	"fmt"
	"io"
	"math"
	"os"

	"github.com/dustin/go-humanize"
	"github.com/spf13/pflag"

	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
	"tlruntime/runtime/config"
)

// fitting is how a plan is made to fit into less memory: what --capacity and the flags beside it say.
type fitting struct {
	limit string // --capacity
	cost  string // --cost
	spill string // --spill
}

// inMemory is --spill without a bandwidth.
const inMemory = "memory"

// spillRate is --spill. Its help shows that the rate may be left out: pflag writes what that stands for,
// unless it is the "true" of a flag.
type spillRate string

const withoutRate = "true"

func (r *spillRate) String() string { return string(*r) }

func (r *spillRate) Type() string { return "bool" }

func (r *spillRate) Set(text string) error {
	if *r = spillRate(text); text == withoutRate {
		*r = inMemory
	}
	return nil
}

func (m *fitting) flags(f *pflag.FlagSet) {
	f.StringVar(&m.limit, "capacity", "",
		"the most `BYTES` of the frame, such as 1048576 or 64MiB; values are computed again where that is needed")
	f.StringVar(&m.cost, "cost", "",
		"`FILE` with the rates by which --capacity weighs time, as bench/planner/cost writes it (default: those of one "+
			"server)")
	f.Var((*spillRate)(&m.spill), "spill",
		"with --capacity, values may be moved to a second space too, so many bytes a second as `[=BYTES]` says, such as 12GB "+
			"(default: as a copy in memory)")
	f.Lookup("spill").NoOptDefVal = withoutRate
}

// capacity is what --capacity says, 0 without it.
func (m *fitting) capacity() (int64, error) {
	if m.limit == "" {
		return 0, nil
	}
	n, err := config.ParseSize(m.limit)
	if err != nil || n == 0 || n > math.MaxInt64/2 {
		return 0, fmt.Errorf("--capacity %s: it is a number of bytes above 0, such as 1048576 or 64MiB", m.limit)
	}
	return int64(n), nil
}

// options are those of remat.Fit.
func (m *fitting) options(p plan.Options) (o remat.Options, err error) {
	o.Plan = p
	if o.Capacity, err = m.capacity(); err != nil {
		return o, err
	}
	if m.limit == "" && (m.cost != "" || m.spill != "") {
		return o, fmt.Errorf("--cost and --spill are for plans with a capacity: add --capacity BYTES")
	}
	if m.cost != "" {
		f, err := os.Open(m.cost)
		if err != nil {
			return o, fmt.Errorf("--cost: %w", err)
		}
		defer f.Close()
		rates, err := remat.ReadRates(f)
		if err != nil {
			return o, fmt.Errorf("--cost %s: %w", m.cost, jsonError(err))
		}
		o.Cost = rates.Node
	}
	switch m.spill {
	case "":
	case inMemory:
		o.Outside = &remat.Outside{}
	default:
		n, err := config.ParseSize(m.spill)
		if err != nil || n == 0 {
			return o, fmt.Errorf("--spill=%s: it is a number of bytes a second above 0, such as 12GB", m.spill)
		}
		o.Outside = &remat.Outside{Bandwidth: float64(n)}
	}
	return o, nil
}

// fitted prints what it took to fit.
func fitted(out io.Writer, r *remat.Result) {
	if r == nil || len(r.Again)+len(r.Moved) == 0 {
		return
	}
	if n := len(r.Again); n > 0 {
		fmt.Fprintf(out, "  %d of the operators compute values again\n", n)
	}
	if n := len(r.Moved); n > 0 {
		sum := int64(0)
		for _, m := range r.Moved {
			sum += m.Bytes
		}
		fmt.Fprintf(out, "  %d transfers move %s; the second space has %s\n", n, humanize.IBytes(uint64(sum)),
			humanize.IBytes(uint64(r.Plan.Outside)))
	}
	fmt.Fprintf(out, "  the time is estimated to be %.3f x that of all once; in this order at least %.3f x\n", r.Cost/r.Given,
		r.LeastCost/r.Given)
}
