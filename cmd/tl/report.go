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

// reporting is what a report is made of.
type reporting struct {
	from    string // a trace
	compare string // an earlier one; may be empty
	to      string // the page; - is standard output
	title   string
	text    bool // as text on standard output
}

func reportCommand() *cobra.Command {
	var r reporting
	c := &cobra.Command{
		Use:   "report TRACE",
		Short: "Makes a page of a trace, or of what changed between two",
		Long: "Makes a page of a trace that tl_trace_start or tl.trace has written: live bytes over time, blocks by " +
			"address and time, a flame graph of the calls, the sites that held most, and the sizes that were asked " +
			"for. With --compare BEFORE it shows what grew and what shrank from one trace to the other. The page is " +
			"one file that needs no network. A trace that is damaged is an error; of one that breaks off the page " +
			"shows what is there.",
		Example: "  tl report run.json -o run.html\n  tl report --compare before.json after.json\n" +
			"  tl report --text --compare before.json after.json",
		Args: takes(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			r.from = args[0]
			if r.compare == "" && c.Flags().Changed("compare") {
				return errors.New("--compare needs the name of an earlier trace, and got an empty one")
			}
			return r.run(c.OutOrStdout())
		},
	}
	c.Flags().StringVarP(&r.to, "output", "o", "", "`FILE` that becomes the page; if not given the trace's name with "+
		".html, and with -compared.html of two traces. - is standard output")
	c.Flags().StringVar(&r.title, "title", "", "`TEXT` over the page; the name of the process if not given")
	c.Flags().StringVar(&r.compare, "compare", "", "`BEFORE`: an earlier trace; the page shows what changed since")
	c.Flags().BoolVar(&r.text, "text", false, "write figures and sites as text on standard output; "+
		"a page as well if --output names one")
	return c
}

// run reads the traces and writes what is wanted.
func (r *reporting) run(out io.Writer) error {
	if r.text && r.to == standard {
		return errors.New("--text and --output - would both write to standard output; leave one out")
	}
	if err := r.sameFile(); err != nil {
		return err
	}
	after, err := readTrace(r.from)
	if err != nil {
		return err
	}
	broken := brokenOff(r.from, after)
	page, text := func(w io.Writer) error { return after.Write(w, r.title) },
		func() error { return after.Text(out, r.from) }
	if r.compare != "" {
		before, err := readTrace(r.compare)
		if err != nil {
			return err
		}
		broken = errors.Join(brokenOff(r.compare, before), broken)
		c := timeline.Compare(before, after)
		page = func(w io.Writer) error { return c.Write(w, r.title, r.compare, r.from) }
		text = func() error { return c.Text(out, r.compare, r.from) }
	}
	if r.text {
		err = text()
	}
	if err == nil && (r.to != "" || !r.text) {
		err = r.writePage(out, page)
	}
	return errors.Join(err, broken)
}

// sameFile refuses to compare a trace with itself, and to replace a trace by its page.
func (r *reporting) sameFile() error {
	file, err := os.Stat(r.from)
	if err != nil {
		return err
	}
	if earlier, err := os.Stat(r.compare); r.compare != "" && err != nil {
		return err
	} else if r.compare != "" && os.SameFile(file, earlier) {
		return fmt.Errorf("%s and %s are the same file; name the traces of two runs", r.compare, r.from)
	}
	return spare([]string{r.from, r.compare}, r.page())
}

// page is the file that becomes the page.
func (r *reporting) page() string {
	if r.to != "" {
		return r.to
	}
	ending := ".html"
	if r.compare != "" {
		ending = "-compared.html"
	}
	return strings.TrimSuffix(r.from, filepath.Ext(r.from)) + ending
}

func (r *reporting) writePage(out io.Writer, page func(io.Writer) error) error {
	if r.to == standard {
		return page(out)
	}
	return create(r.page(), page)
}

func readTrace(name string) (*timeline.Trace, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	t, err := timeline.Read(bufio.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

// brokenOff is the error of a trace that ends too early.
func brokenOff(name string, t *timeline.Trace) error {
	if t.Broken == 0 {
		return nil
	}
	return fmt.Errorf("%s is damaged: it breaks off at byte %d; what comes before was used", name, t.Broken)
}
