// Command tl plans the memory of models and runs them on TL Runtime.
//
//	tl plan MODEL          how much memory a model needs, and where each buffer lies
//	tl run MODEL           compiles a model and runs it
//	tl export MODEL FILE   writes a model in another format
//	tl report TRACE        makes a page of a trace: what the memory did over time
//
// A model is a file in the ONNX format, or in the JSON form of docs/graph-json.md.
package main

import (
	"os"

	"github.com/spf13/cobra"
)

func main() {
	root := &cobra.Command{
		Use:          "tl",
		Short:        "Plans the memory of models and runs them on TL Runtime",
		SilenceUsage: true,
	}
	root.AddCommand(planCommand(), runCommand(), exportCommand(), reportCommand())
	if root.Execute() != nil {
		os.Exit(1)
	}
}
