package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tlruntime/cmd/tl/viz/timeline"
)

func reportCommand() *cobra.Command {
	var to, title string
	c := &cobra.Command{
		Use:   "report TRACE",
		Short: "Makes a page of a trace: live bytes over time, blocks by address, sites, sizes",
		Long: "Makes a page of a trace that tl_trace_start or tl.trace has written: live bytes over time, blocks by " +
			"address and " +
			"time, the sites that held most, and the sizes that were asked for. The page is one file that needs no " +
			"network. " +
			"A trace that is damaged is an error; of one that breaks off the page shows what is there.",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if to == "" {
				to = strings.TrimSuffix(args[0], filepath.Ext(args[0])) + ".html"
			}
			return report(args[0], to, title)
		},
	}
	c.Flags().StringVarP(&to, "output", "o", "",
		"`FILE` that becomes the page; the trace's name with .html if not given, - is standard output")
	c.Flags().StringVar(&title, "title", "", "`TEXT` over the page; the name of the process if not given")
	return c
}

func report(from, to, title string) (err error) {
	file, err := os.Open(from)
	if err != nil {
		return err
	}
	defer file.Close()
	t, err := timeline.Read(bufio.NewReader(file))
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	out := io.WriteCloser(os.Stdout)
	if to != "-" {
		if out, err = os.Create(to); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, out.Close()) }()
	}
	if err := t.Write(out, title); err != nil {
		return err
	}
	if t.Broken > 0 {
		return fmt.Errorf("%s is damaged: it breaks off at byte %d; the page shows what comes before", from, t.Broken)
	}
	return nil
}
