package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tlruntime/compiler/remat"
)

// takes wants as many arguments as a command's line of usage names, and tells that line where it gets others.
func takes(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if n := len(args); n < least || n > most {
			return fmt.Errorf("got %s; usage: %s", english.Plural(n, "argument", ""), c.UseLine())
		}
		return nil
	}
}

// plainDefaults hides the defaults of flags that are lists: pflag writes an empty one as Go does.
func plainDefaults(f *pflag.FlagSet) {
	f.VisitAll(func(flag *pflag.Flag) {
		if flag.DefValue == "[]" {
			flag.DefValue = ""
		}
	})
}

// parser is what Go's functions put before the reason why they take no flag's value.
var parser = regexp.MustCompile(`strconv\.\w+: parsing ".*": |time: `)

func flagError(_ *cobra.Command, err error) error {
	return errors.New(parser.ReplaceAllString(err.Error(), ""))
}

// packageName is what the errors of a package of this module begin with: users know files and options.
var packageName = regexp.MustCompile(`^(offsets|order|plan|remat): `)

// fileError is an error about a file of the user's.
type fileError struct {
	path string
	err  error
}

func (e fileError) Error() string {
	return e.path + ": " + packageName.ReplaceAllString(e.err.Error(), "")
}

func (e fileError) Unwrap() error { return e.err }

// tooSmall adds the option to an error about the capacity that it gives.
func (m *fitting) tooSmall(err error) error {
	var capacity *remat.CapacityError
	if errors.As(err, &capacity) {
		return fmt.Errorf("--capacity %s: %w", m.limit, err)
	}
	return err
}

// jsonError says what is wrong with a text in JSON without the names of Go's types.
func jsonError(err error) error {
	var t *json.UnmarshalTypeError
	if !errors.As(err, &t) {
		return err
	}
	name := "it"
	if t.Field != "" {
		name = t.Field
	}
	return fmt.Errorf("at byte %d: %s is JSON's %s and has to be %s", t.Offset, name, t.Value, jsonKind(t.Type))
}

// jsonKind is what JSON has for values of a type.
func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Pointer:
		return jsonKind(t.Elem())
	}
	return "a whole number that fits"
}

// milliseconds writes a time in full, with three digits where it is short.
func milliseconds(ns int64) string {
	ms := float64(ns) / 1e6
	if ms >= 100 {
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.3g ms", ms)
}
