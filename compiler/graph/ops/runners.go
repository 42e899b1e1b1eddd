package ops

// runners are the operators that run bodies. Their results have the types that the bodies
// give; they have no normal form besides, and none of the fields that a planner reads.
var runners = []entry{
	{name: "If", in: "cond bool", out: "outputs any*",
		result: "What then_branch gives where cond is true, else what else_branch gives; both give the same types. A branch " +
			"whose condition is constant stands in the place of the If."},
	{name: "Loop", in: "M i64?, cond bool?, v_initial any*", out: "v_final_and_scan_outputs any*",
		result: "Runs body for the turns 0, 1 ... until there were M of them, or a condition is false: cond before the " +
			"first turn, then what body gave. What is carried has one type and shape in all turns. What a turn gives " +
			"besides is a part of a result, along axis 0: the model states how many turns there are, or M does, and a run " +
			"with another number of them is an error of the run. A Loop of up to 256 turns, whose M and conditions are " +
			"constant, is written out where a body cannot have one shape for all turns."},
	{name: "Scan", in: "initial_state_and_scan_inputs any*", out: "final_state_and_scan_outputs any*",
		accepts: "num_scan_inputs int, scan_input_axes ints, scan_input_directions ints, scan_output_axes ints, " +
			"scan_output_directions ints, directions ints",
		result: "Runs body for each part of the last num_scan_inputs arguments, along scan_input_axes, backwards with " +
			"direction 1. What is carried has one type and shape in all turns; what a turn gives besides is a part of a " +
			"result. Before operator set 9 it goes over axis 1, for each sample of axis 0."},
}

// Runners returns the operators that run bodies and that Check knows. Normal does not have them.
func Runners() []Operator {
	list := make([]Operator, len(runners))
	for i, e := range runners {
		list[i] = *operatorOf(e)
	}
	return list
}
