// Command prove runs the proof suite and writes docs/proof.md from what it printed.
//
//	prove -build build [-scale 0.01] [-only matrix,model] [-seed 1] [-page docs/proof.md]
//
// The parts stand in parts.go. Each is one or more programs. A program reads PROVE_SCALE
// (1 is the whole proof, smaller is a sample) and PROVE_SEED from its environment, exits
// with 0 when nothing failed, and prints what it has tried:
//
//	proof: 931840 cells tried, 0 failed, 12 skipped: TLS destructors do not run under qemu
//
// The numbers of skipped cases and the text behind the colon may be missing. A program
// that cannot run on this machine exits with 77 and prints a line that begins with "skip:".
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	var o options
	only := flag.String("only", "", "parts, or programs such as builds/arm64, separated by commas; all when empty")
	flag.StringVar(&o.build, "build", "build", "where the programs are, and where logs go")
	flag.Float64Var(&o.scale, "scale", 1, "how much of the whole proof is tried")
	flag.Int64Var(&o.seed, "seed", time.Now().Unix(), "where random sequences start")
	page := flag.String("page", "", "write this page from the last run of every part")
	flag.Parse()
	if err := prove(o, *only, *page); err != nil {
		fmt.Fprintln(os.Stderr, "prove:", err)
		os.Exit(1)
	}
}

// options is what a run of the suite was asked for.
type options struct {
	build string
	scale float64
	seed  int64
}

func prove(o options, only, page string) error {
	chosen, err := choose(parts, only)
	if err != nil {
		return err
	}
	if o.build, err = filepath.Abs(o.build); err != nil {
		return err
	}
	known, err := readResults(o.build)
	if err != nil {
		return err
	}
	var failed []string
	for _, p := range chosen {
		for _, r := range p.Runs {
			if r.Whole && o.scale < sample {
				continue
			}
			result := o.run(p, r)
			fmt.Println(result.line(p, r))
			if result.bad() {
				failed = append(failed, p.Name+"/"+r.Name)
			}
			known.Runs[p.Name+"/"+r.Name] = result
			if err := known.write(o.build); err != nil {
				return err
			}
		}
	}
	if page != "" {
		if err := writePage(page, known); err != nil {
			return err
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("failed: %s; logs are in %s", strings.Join(failed, ", "), logs(o.build))
	}
	return nil
}

// choose returns the parts with these names, in the order of the table. A name such as builds/arm64 is one program.
func choose(all []part, names string) ([]part, error) {
	if names == "" {
		return all, nil
	}
	wanted := strings.Split(names, ",")
	var known []string
	var chosen []part
	for _, p := range all {
		known = append(known, p.Name)
		runs := p.Runs
		p.Runs = nil
		for _, r := range runs {
			program := p.Name + "/" + r.Name
			known = append(known, program)
			if slices.Contains(wanted, p.Name) || slices.Contains(wanted, program) {
				p.Runs = append(p.Runs, r)
			}
		}
		if len(p.Runs) > 0 {
			chosen = append(chosen, p)
		}
	}
	for _, name := range wanted {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no part or program %q; the parts are %s", name,
				strings.Join(nameAll(all), ", "))
		}
	}
	return chosen, nil
}

func nameAll(all []part) (names []string) {
	for _, p := range all {
		names = append(names, p.Name)
	}
	return names
}
