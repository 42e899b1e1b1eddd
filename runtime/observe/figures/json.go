package figures

import (
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// JSON returns the form of docs/statistics.md: what encoding/json would write with an
// indent of two blanks. That package would make the shared library 5 % larger, for
// numbers, names, structs and lists.
func (s *Snapshot) JSON() []byte {
	w := writer{}
	w.value(reflect.ValueOf(s).Elem(), "\n")
	return append(w.text, '\n')
}

type writer struct{ text []byte }

// value writes v; newline begins a line with the indent of what v stands in.
func (w *writer) value(v reflect.Value, newline string) {
	switch {
	case v.CanUint():
		w.text = strconv.AppendUint(w.text, v.Uint(), 10)
	case v.CanInt():
		w.text = strconv.AppendInt(w.text, v.Int(), 10)
	case v.Kind() == reflect.String:
		w.text = appendQuoted(w.text, v.String())
	case v.Kind() == reflect.Slice:
		w.list(v, newline)
	default:
		w.text = append(w.text, '{')
		w.fields(v, newline+"  ", true)
		w.text = append(append(w.text, newline...), '}')
	}
}

func (w *writer) list(v reflect.Value, newline string) {
	if v.Len() == 0 {
		w.text = append(w.text, "[]"...)
		return
	}
	for i := range v.Len() {
		w.text = append(append(w.text, "[,"[min(i, 1)]), (newline + "  ")...)
		w.value(v.Index(i), newline+"  ")
	}
	w.text = append(append(w.text, newline...), ']')
}

// fields writes the fields of a struct; those of an embedded one stand among them.
func (w *writer) fields(v reflect.Value, newline string, first bool) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Anonymous {
			w.fields(v.Field(i), newline, first)
		} else {
			if !first {
				w.text = append(w.text, ',')
			}
			w.text = append(w.text, newline...)
			w.text = append(appendQuoted(w.text, field.Tag.Get("json")), ": "...)
			w.value(v.Field(i), newline)
		}
		first = false
	}
}

// appendQuoted writes a string; names of types are the program's and may hold anything.
func appendQuoted(to []byte, text string) []byte {
	to = append(to, '"')
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case r == '"' || r == '\\':
			to = append(to, '\\', byte(r))
		case r < ' ' || r == 0x7F:
			const digits = "0123456789abcdef"
			to = append(to, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
		default:
			to = utf8.AppendRune(to, r)
		}
	}
	return append(to, '"')
}
