package export

import (
	"encoding/json"
	"math"

	"tlruntime/compiler/plan"
)

// The types here are the JSON form, member by member: docs/planner-artefacts.md
// documents them. Lists are never null.

type planForm struct {
	Version      int               `json:"tl_plan"`
	Name         string            `json:"name"`
	Symbols      map[string]int64  `json:"symbols"`
	Frame        frameForm         `json:"frame"`
	Outside      int64             `json:"outside,omitempty"` // bytes of the second space
	Inputs       []operandForm     `json:"inputs"`
	Outputs      []operandForm     `json:"outputs"`
	Buffers      []bufferForm      `json:"buffers"`
	Instructions []instructionForm `json:"instructions"`
	Symbolic     *symbolicForm     `json:"symbolic,omitempty"`
}

// symbolicForm has sizes and places as functions of symbols. A term of a size is a list:
// the coefficient, and the power of each symbol.
type symbolicForm struct {
	Symbols []symbolForm `json:"symbols"`
	Proved  bool         `json:"proved"`
	Sizes   [][][]int64  `json:"sizes"`
	Below   [][]int      `json:"below"`
}

type symbolForm struct {
	Name string `json:"name"`
	From int64  `json:"from"`
	To   int64  `json:"to"`
}

type frameForm struct {
	Bytes      int64     `json:"bytes"`
	Alignment  int64     `json:"alignment"`
	LowerBound int64     `json:"lower_bound"`
	Optimal    bool      `json:"optimal"`
	NaiveBytes int64     `json:"naive_bytes"`
	Order      orderForm `json:"order"`
}

type orderForm struct {
	GivenPeak int64 `json:"given_peak"`
	Peak      int64 `json:"peak"`
	Proved    bool  `json:"proved"`
}

type bufferForm struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`
	DType   string   `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Bytes   int64    `json:"bytes"`
	First   int      `json:"first"`
	Last    int      `json:"last"`
	Offset  *int64   `json:"offset"`            // null: not in the frame
	Outside int64    `json:"outside,omitempty"` // in the second space, for kind outside
	Values  []string `json:"values"`

	Constant *tensorForm `json:"constant,omitempty"`
}

type tensorForm struct {
	DType string  `json:"dtype"`
	Shape []int64 `json:"shape"`
	Data  []byte  `json:"data"` // base64
}

type instructionForm struct {
	Node    string              `json:"node"`
	Op      string              `json:"op"`
	Attrs   map[string]attrForm `json:"attrs"`
	Inputs  []operandForm       `json:"inputs"`
	Outputs []operandForm       `json:"outputs"`
	Scratch *operandForm        `json:"scratch,omitempty"` // none: it needs no temporary memory
	Bodies  []bodyForm          `json:"bodies,omitempty"`
}

// bodyForm is a graph that an instruction runs. Places are bytes of the temporary memory.
type bodyForm struct {
	Name     string   `json:"name"`
	Frame    int64    `json:"frame"`
	Inputs   []int64  `json:"inputs"`
	Outputs  []int64  `json:"outputs"`
	Captures []int    `json:"captures"`
	Plan     planForm `json:"plan"`
}

type operandForm struct {
	Name    string  `json:"name"`
	Buffer  int     `json:"buffer"`
	Shape   []int64 `json:"shape"`
	Strides []int64 `json:"strides"`
	Offset  int64   `json:"offset"`
}

// attrForm is an attribute's value: exactly one member is there, and its name is
// the type. A bare number could not tell 1 from 1.0.
type attrForm struct {
	Int     *int64      `json:"int,omitempty"`
	Float   *number     `json:"float,omitempty"`
	String  *string     `json:"string,omitempty"`
	Ints    *[]int64    `json:"ints,omitempty"`
	Floats  *[]number   `json:"floats,omitempty"`
	Strings *[]string   `json:"strings,omitempty"`
	Tensor  *tensorForm `json:"tensor,omitempty"`
}

// number is a float64 that may also be "NaN", "Infinity" or "-Infinity", which
// JSON has no numbers for. All NaNs are written alike.
type number float64

// MarshalJSON writes the shortest form that reads back to the same number.
func (n number) MarshalJSON() ([]byte, error) {
	switch f := float64(n); {
	case math.IsNaN(f):
		return []byte(`"NaN"`), nil
	case math.IsInf(f, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(f, -1):
		return []byte(`"-Infinity"`), nil
	default:
		return json.Marshal(f)
	}
}

var kindNames = map[plan.Kind]string{
	plan.Activation: "activation", plan.Input: "input", plan.Output: "output", plan.Constant: "constant",
	plan.State: "state", plan.Outside: "outside",
}

// KindName returns how the artefacts call a kind of buffer: "activation", "input",
// "output", "constant", "state" or "outside"; "?" when there is no such kind.
func KindName(kind plan.Kind) string {
	if name, ok := kindNames[kind]; ok {
		return name
	}
	return "?"
}
