package offsets

// Part is a set of parts of the search.
type Part uint

// The parts without which there is still an answer.
const (
	PartOrders    Part = 1 << iota // all but the one by size
	PartSkyline                    // the lowest valley first
	PartOutward                    // sweeps from the largest load to both ends of time
	PartChains                     // of ejections in an outward sweep
	PartMending                    // putting what is highest elsewhere
	PartEjections                  // the guided ejection search of problems that are not large
	PartTree                       // branch and bound
	PartNotFirst                   // inference in the tree
	PartMemory                     // of the tree: states that failed
)

// NamedPart is a part with its name.
type NamedPart struct {
	Name string
	Part Part
}

// Parts are all of them.
var Parts = []NamedPart{
	{"orders", PartOrders}, {"skyline", PartSkyline}, {"outward sweeps", PartOutward},
	{"chains in sweeps", PartChains}, {"mending", PartMending},
	{"ejection search", PartEjections}, {"tree", PartTree}, {"not-first", PartNotFirst}, {"memory", PartMemory},
}

// lacks says that a part is left out.
func (in *instance) lacks(p Part) bool { return in.without&p != 0 }
