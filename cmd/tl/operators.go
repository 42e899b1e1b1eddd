package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/ops"
	"tlruntime/compiler/llvm"
)

func operatorsCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "operators [NAME...]",
		Short: "Lists the operators that there are, their element types, and whether there is a kernel",
		Long: "Lists the operators that models may have: what they take and give, and for which element types there are\n" +
			"kernels. An operator that is not listed is planned by the types that the model declares, and cannot be run.",
		Example: "  tl operators\n  tl operators Conv Resize --json",
		RunE:    func(c *cobra.Command, args []string) error { return listOperators(c.OutOrStdout(), args, asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the list as JSON")
	return c
}

// operatorForm is an operator as `tl operators --json` prints it.
type operatorForm struct {
	Name       string              `json:"name"`
	Inputs     []string            `json:"inputs"`
	Outputs    []string            `json:"outputs"`
	Types      map[string][]string `json:"types"`             // by the letter that stands for them in the arguments
	Kernel     []string            `json:"kernel"`            // element types of the deciding argument; none: no kernel
	Becomes    string              `json:"becomes,omitempty"` // what stands in its place in a plan
	Attributes []string            `json:"attributes"`
}

func listOperators(out io.Writer, names []string, asJSON bool) error {
	all := describedOperators()
	for _, name := range names {
		if _, known := all[name]; !known {
			return fmt.Errorf("there is no operator %q here; a model that has it can be planned, and not run", name)
		}
	}
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(all))
	}
	list := []operatorForm{}
	for _, name := range names {
		list = append(list, formOf(all[name]))
	}
	if asJSON {
		return json.NewEncoder(out).Encode(list)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "OPERATOR\tKERNEL\tELEMENT TYPES\n")
	for _, o := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\n", o.Name, o.kernel(), o.types())
	}
	return w.Flush()
}

// describedOperators are all operators that there are, by name.
func describedOperators() map[string]ops.Operator {
	all := map[string]ops.Operator{}
	for _, name := range ops.Operators() {
		all[name], _ = ops.Normal(name)
	}
	for _, o := range ops.Runners() {
		all[o.Name] = o
	}
	return all
}

func formOf(o ops.Operator) operatorForm {
	f := operatorForm{Name: o.Name, Inputs: signature(o.Inputs), Outputs: signature(o.Outputs), Becomes: o.Becomes,
		Types: map[string][]string{}, Kernel: []string{}, Attributes: []string{}}
	for _, a := range slices.Concat(o.Inputs, o.Outputs) {
		if a.Types != 0 {
			f.Types[a.Type] = strings.Fields(a.Types.String())
		}
	}
	for _, d := range llvm.KernelTypes(o.Name) {
		f.Kernel = append(f.Kernel, d.String())
	}
	for _, a := range o.Accepts {
		f.Attributes = append(f.Attributes, a.Name)
	}
	return f
}

// signature writes arguments as "X T", "B T?", "data T*", "shape i64!": one that may be left
// out, one or more, one that has to be constant.
func signature(list []ops.Argument) []string {
	words := make([]string, len(list))
	for i, a := range list {
		words[i] = a.String()
	}
	return words
}

// types are those that the letters of the arguments stand for or, where there are none,
// those of the first argument.
func (o *operatorForm) types() string {
	var parts []string
	for _, letter := range []string{"T", "U"} {
		if list := o.Types[letter]; list != nil {
			parts = append(parts, letter+": "+strings.Join(list, " "))
		}
	}
	switch {
	case len(parts) == 1:
		return strings.TrimPrefix(parts[0], "T: ")
	case len(parts) == 0 && len(o.Inputs) > 0:
		return strings.Join(o.Types[strings.Trim(strings.Fields(o.Inputs[0])[1], "?*!")], " ")
	}
	return strings.Join(parts, "; ")
}

// kernel tells in a word whether the operator can be run, on all types that it takes or on
// some. Types that are only passed on have no kernels at all.
func (o *operatorForm) kernel() string {
	missing := func(name string) bool {
		d, _ := graph.ParseDType(name)
		return !d.Passed() && !slices.Contains(o.Kernel, name)
	}
	switch {
	case o.Becomes != "":
		return "becomes " + o.others()
	case len(o.Kernel) == 0:
		return "none"
	case slices.ContainsFunc(o.Types["T"], missing):
		return strings.Join(o.Kernel, " ")
	}
	return "yes"
}

// others are the operators that stand in the place of this one, as far as a word says it;
// --json has the whole text.
func (o *operatorForm) others() string {
	const mostWords = 2
	words := strings.Fields(strings.Trim(strings.SplitN(o.Becomes, ":", 2)[0], "."))
	if len(words) > mostWords {
		return "others"
	}
	return strings.Join(words, " ")
}
