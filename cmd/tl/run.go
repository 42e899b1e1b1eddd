package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"tlruntime/cmd/tl/internal/compile"
	"tlruntime/cmd/tl/internal/host"
	"tlruntime/cmd/tl/internal/npy"
	"tlruntime/compiler/graph"
	"tlruntime/compiler/llvm"
	"tlruntime/compiler/models"
	"tlruntime/compiler/onnx"
	"tlruntime/compiler/plan"
)

// running is one call of `tl run`.
type running struct {
	model
	random       uint64
	repeat       int
	outputFolder string
	code
	runtime string
	on      string
	json    bool
}

func runCommand() *cobra.Command {
	var r running
	c := &cobra.Command{
		Use:   "run MODEL",
		Short: "Compiles a model and runs it on TL Runtime",
		Long: "Plans a model, compiles it with clang, llc or llvmlite, and runs it in a process of its own.\n\n" +
			"An input comes from a file of NumPy (.npy) or of ONNX's tests (.pb), else it is random. A file may " +
			"hold many\n" +
			"samples: one axis more than the input has, or more rows than the bound of its first axis.\n\n" +
			"With --on the samples are spread over the workers of Dask or the ranks of MPI, by the Python package " +
			"tl_runtime.",
		Example: "  tl run mnist.onnx --input Input3=digits.npy --output-folder results\n  tl run model.onnx --bind N=8 " +
			"--repeat 10\n  tl run model.onnx --bind N=64 --input images=big.npy -o results --on dask://localhost:8786\n" +
			"  mpiexec -n 4 tl run model.onnx --bind N=64 --input images=big.npy -o results --on mpi",
		Args: takes(1, 1),
		RunE: func(c *cobra.Command, args []string) error { return r.run(c.OutOrStdout(), args[0]) },
	}
	f := c.Flags()
	f.StringToStringVarP(&r.inputs, "input", "i", nil, "`NAME=FILE` with the content of an input, or of a constant; may be repeated")
	f.Uint64Var(&r.random, "random", 1, "seed of the inputs that come from no file")
	f.IntVar(&r.repeat, "repeat", 1, "how often all samples are run")
	f.StringVarP(&r.outputFolder, "output-folder", "o", "",
		"`FOLDER` in which each output is written as NAME.npy, or as NAME.pb where NumPy has not its type (bf16)")
	f.StringVar(&r.on, "on", "", "`ENGINE` that runs the samples: dask://HOST:PORT, or mpi under mpiexec")
	f.BoolVar(&r.json, "json", false, "print the report as JSON")
	r.model.flags(f)
	r.code.flags(f)
	f.StringVar(&r.file, "spill-file", "",
		"with --capacity, the second space lies in this `FILE`, which is written; it is there afterwards")
	c.MarkFlagsMutuallyExclusive("spill-file", "slots")
	c.MarkFlagsMutuallyExclusive("spill-file", "on")
	f.StringVar(&r.runtime, "runtime", os.Getenv("TL_RUNTIME_LIBRARY"),
		"path of libtl_runtime.so ($TL_RUNTIME_LIBRARY)")
	return c
}

// result is the report of a run.
type result struct {
	Model        string      `json:"model"`
	Compiler     string      `json:"compiler"`
	CompileNs    int64       `json:"compile_ns"` // or finding the result of an earlier time
	FrameBytes   int64       `json:"frame_bytes"`
	NaiveBytes   int64       `json:"naive_bytes"`
	ConstBytes   int64       `json:"constant_bytes"`
	Samples      int         `json:"samples"`
	Report       host.Report `json:"run"`
	outputs      []graph.Tensor
	outputsNames []string
}

func (r *running) run(out io.Writer, path string) error {
	if r.repeat < 1 {
		return fmt.Errorf("--repeat %d: a model is run at least once", r.repeat)
	}
	if r.on != "" {
		return r.runOn(path)
	}
	if err := r.intoFile(); err != nil {
		return err
	}
	c, e, err := r.build(path)
	if err != nil {
		return err
	}
	files := r.outputFiles(e)
	if err := spare(append(r.read(path), c.graph.Files...), files...); err != nil {
		return err
	}
	batch, err := r.batch(c, e)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	res, err := r.execute(e, batch)
	if err != nil {
		return err
	}
	if err := r.save(c, res, batch, files); err != nil {
		return err
	}
	if r.json {
		return json.NewEncoder(out).Encode(res)
	}
	return res.print(out)
}

// execute compiles the plan and runs it.
func (r *running) execute(e *plan.ExecutionPlan, b *batch) (*result, error) {
	res := &result{Model: e.Name, FrameBytes: e.Frame.Bytes, NaiveBytes: e.Frame.NaiveBytes,
		ConstBytes: kindBytes(e, plan.Constant), Samples: b.samples}
	library, err := r.findRuntime()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	module, compiler, err := r.shared(r.python, e)
	if err != nil {
		return nil, err
	}
	res.Compiler, res.CompileNs = compiler, time.Since(start).Nanoseconds()
	folder, err := os.MkdirTemp("", "tl-run-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	job := &host.Job{Runtime: library, Module: module, Function: function, Samples: b.samples, Repeat: r.repeat}
	if r.spills(e) {
		if err := makeSpill(r.file, e); err != nil {
			return nil, err
		}
		job.Spill, job.FrameBytes = r.file, e.Frame.Bytes
	}
	if err := writeSections(job, folder, e, b); err != nil {
		return nil, err
	}
	return res, res.start(job, e)
}

// start runs the job and reads what it has written.
func (res *result) start(job *host.Job, e *plan.ExecutionPlan) error {
	folder, err := compile.Folder()
	if err != nil {
		return err
	}
	cc, err := compile.CC()
	if err != nil {
		return err
	}
	program, err := host.Build(cc, folder)
	if err != nil {
		return err
	}
	report, err := host.Run(program, job)
	if err != nil && job.Runtime == runtimeLibrary && strings.Contains(err.Error(), runtimeLibrary) {
		return fmt.Errorf("%w; build the library with make lib, and tell its path by --runtime or $TL_RUNTIME_LIBRARY",
			err)
	}
	if err != nil {
		return explained(err, e)
	}
	res.Report = *report
	content, err := os.ReadFile(job.Outputs.Path)
	if err != nil {
		return err
	}
	for i, o := range e.Outputs {
		res.outputsNames = append(res.outputsNames, o.Name)
		res.outputs = append(res.outputs, gather(content, &job.Outputs, i, e, job.Samples))
	}
	return nil
}

// explained adds to an invalid argument that a run found what the plan looks at while it runs.
func explained(err error, e *plan.ExecutionPlan) error {
	if why := llvm.Refusal(e); why != "" && strings.Contains(err.Error(), "status 1: ") {
		return fmt.Errorf("%w; %s", err, why)
	}
	return err
}

// runtimeLibrary is also what is asked for where no path is known.
const runtimeLibrary = "libtl_runtime.so"

// findRuntime looks for the library where it was said to be, beside this program, where
// `make install` and pip put it, in build/ of the working folder, and at last where the
// system looks.
func (r *running) findRuntime() (string, error) {
	if r.runtime != "" {
		if _, err := os.Stat(r.runtime); err != nil {
			return "", fmt.Errorf("--runtime: %w", err)
		}
		return filepath.Abs(r.runtime)
	}
	places := []string{"build"}
	if program, err := os.Executable(); err == nil {
		folder := filepath.Dir(program)
		var around []string
		for _, place := range []string{".", "../lib*", "../lib/*", "../lib/python3*/*-packages/tl_runtime", "../tl_runtime"} {
			around = append(around, filepath.Join(folder, place))
		}
		places = append(around, places...)
	}
	for _, place := range places {
		if found, _ := filepath.Glob(filepath.Join(place, runtimeLibrary)); len(found) > 0 {
			return filepath.Abs(found[0])
		}
	}
	return runtimeLibrary, nil
}

// outputFiles are the files that the outputs are written to.
func (r *running) outputFiles(e *plan.ExecutionPlan) []string {
	names := make([]string, len(e.Outputs))
	for i, o := range e.Outputs {
		names[i] = o.Name
	}
	files := r.inFolder(fileNames(names))
	for i, o := range e.Outputs {
		if e.Buffers[o.Buffer].DType == graph.BF16 {
			files[i] = strings.TrimSuffix(files[i], ".npy") + ".pb"
		}
	}
	return files
}

// inFolder are the paths of files in the folder of outputs; "" without one.
func (r *running) inFolder(names []string) []string {
	paths := make([]string, len(names))
	for i, name := range names {
		if r.outputFolder != "" {
			paths[i] = filepath.Join(r.outputFolder, name)
		}
	}
	return paths
}

func (r *running) save(c *checked, res *result, b *batch, files []string) error {
	follow := models.Symbolic(c.graph, c.options, c.Checked)
	for i := range res.outputs {
		res.outputs[i] = b.trim(res.outputs[i], follow[i])
	}
	if r.outputFolder == "" {
		return nil
	}
	if err := os.MkdirAll(r.outputFolder, 0o755); err != nil {
		return err
	}
	for i, t := range res.outputs {
		write := npy.Write
		if t.DType == graph.BF16 {
			write = onnx.WriteTensor
		}
		if err := create(files[i], func(w io.Writer) error { return write(w, t) }); err != nil {
			return fmt.Errorf("output %q: %w", res.outputsNames[i], err)
		}
	}
	return nil
}

// fileNames gives each output a file, the same to one that is listed twice. What no
// name of a file can hold becomes an underscore; names that become equal, also where
// the case of letters does not count, get _2, _3 and so on.
func fileNames(outputs []string) []string {
	files := make([]string, len(outputs))
	taken, known := map[string]bool{}, map[string]string{}
	for i, name := range outputs {
		if files[i] = known[name]; files[i] != "" {
			continue
		}
		plain := strings.NewReplacer("/", "_", "\x00", "_").Replace(name)
		file := plain + ".npy"
		for n := 2; taken[strings.ToLower(file)]; n++ {
			file = fmt.Sprintf("%s_%d.npy", plain, n)
		}
		taken[strings.ToLower(file)] = true
		files[i], known[name] = file, file
	}
	return files
}

// runs tells which times there were.
func runs(n *host.Report) string {
	if n.Runs == 1 {
		return "of one run"
	}
	return fmt.Sprintf("median of %d runs; first %s, best %s", n.Runs, milliseconds(n.FirstNs), milliseconds(n.MinimumNs))
}

func (res *result) print(out io.Writer) error {
	n := &res.Report
	fmt.Fprintf(out, "%s: compiled by %s in %s\n", res.Model, res.Compiler, milliseconds(res.CompileNs))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "  time\t%s\t%s\n", milliseconds(n.MedianNs), runs(n))
	fmt.Fprintf(w, "  frame\t%s\t%s without reuse\n", humanize.IBytes(uint64(res.FrameBytes)),
		humanize.IBytes(uint64(res.NaiveBytes)))
	fmt.Fprintf(w, "  constants\t%s\t\n", humanize.IBytes(uint64(res.ConstBytes)))
	fmt.Fprintf(w, "  allocations\t%d\tduring the runs, and %d calls of malloc\n", n.Allocations, n.Mallocs)
	fmt.Fprintf(w, "  peak resident\t%s\tof the whole process\n", humanize.IBytes(n.PeakResidentBytes))
	for i, t := range res.outputs {
		fmt.Fprintf(w, "  %s\t%s %v\t%s\n", res.outputsNames[i], t.DType, t.Shape, preview(t))
	}
	return w.Flush()
}
