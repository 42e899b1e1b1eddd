// Command tl plans the memory of models, runs them on TL Runtime, and lowers the programs
// of compilers to it.
//
//	tl plan MODEL          how much memory a model needs, and where each buffer lies
//	tl run MODEL           compiles a model and runs it
//	tl compile MODEL       compiles a model to one file
//	tl export MODEL FILE   writes a model in another format
//	tl lower FILE          writes a compiler's program as LLVM IR that counts references
//	tl tflite MODEL        plans the arena of a TensorFlow Lite model, and writes the plan into it
//	tl operators           lists the operators that there are
//	tl metrics STATS.json  writes statistics of the runtime as OpenMetrics text
//	tl report TRACE        makes a page of a trace, or of what changed between two
//	tl version             prints the version
//
// A model is a file in the ONNX format, or in the JSON form of docs/graph-json.md.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"tlruntime"
)

func main() {
	if rootCommand().Execute() != nil {
		os.Exit(1)
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:          "tl",
		Short:        "Plans the memory of models, lowers programs, runs both on TL Runtime, and reads its statistics",
		SilenceUsage: true,
		Version:      tlruntime.Version,
	}
	root.SetVersionTemplate("tl {{.Version}}\n")
	root.AddCommand(planCommand(), runCommand(), compileCommand(), exportCommand(), tfliteCommand(), lowerCommand(),
		reportCommand(), operatorsCommand(), metricsCommand(), versionCommand())
	root.SetFlagErrorFunc(flagError)
	for _, c := range root.Commands() {
		plainDefaults(c.Flags())
	}
	return root
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Prints the version, as --version does",
		Args:  takes(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "tl %s\n", c.Root().Version)
			return err
		},
	}
}
