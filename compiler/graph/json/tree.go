// Package json reads and writes graphs as JSON (docs/graph-json.md).
package json

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Error is what Read found wrong, and where.
type Error struct {
	Line, Column int    // from 1; columns count bytes
	Path         string // such as nodes[3].attrs; "" for the whole
	Text         string
}

// Error returns the whole sentence.
func (e *Error) Error() string {
	path := e.Path
	if path != "" {
		path += ": "
	}
	return fmt.Sprintf("line %d, column %d: %s%s", e.Line, e.Column, path, e.Text)
}

// place is where a value stands: in an object under a key, or in an array. It holds no text of
// its own, as a key may be long and have millions of values below it.
type place struct {
	around *place // nil: that is the root
	key    string
	index  int // -1: under the key
}

// String returns the path from the root.
func (w *place) String() string {
	switch {
	case w == nil:
		return ""
	case w.index >= 0:
		return fmt.Sprintf("%s[%d]", w.around, w.index)
	}
	return strings.TrimPrefix(w.around.String()+"."+w.key, ".")
}

// element is a JSON value that knows where it stands.
type element struct {
	kind  byte   // one of { [ " 0 t n: object, array, string, number, bool, null
	at    int64  // offset of its first byte
	where *place // nil: it is the root
	text  string // of a string, number or bool
	items []element
	keys  []string // of an object's items
}

var kindWords = map[byte]string{'{': "an object", '[': "an array", '"': "a string", '0': "a number", 't': "a bool",
	'n': "null"}

// ReadingBytes is about how many bytes Read takes for a text: a value takes many times what
// its digits do, and commas part values.
func ReadingBytes(data []byte) uint64 {
	const text, value = 3, 400
	return text*uint64(len(data)) + value*uint64(bytes.Count(data, []byte(",")))
}

// maxDepth bounds how deep arrays and objects may nest.
const maxDepth = 100

// parser reads a whole document into elements.
type parser struct {
	data []byte
	dec  *json.Decoder
}

func parseJSON(data []byte) (element, *parser, error) {
	p := &parser{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	p.dec.UseNumber()
	root, err := p.value(nil, 0)
	if err != nil {
		return root, p, err
	}
	if end := p.next(); end < int64(len(data)) {
		return root, p, p.fail(end, nil, "there is more behind the graph; remove it")
	}
	return root, p, nil
}

// fail makes an error about the byte at an offset.
func (p *parser) fail(at int64, where *place, format string, args ...any) error {
	before := p.data[:min(max(at, 0), int64(len(p.data)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return &Error{line, column, where.String(), fmt.Sprintf(format, args...)}
}

func (p *parser) wrong(e *element, format string, args ...any) error {
	return p.fail(e.at, e.where, format, args...)
}

// next returns where the next token starts.
func (p *parser) next() int64 {
	at := p.dec.InputOffset()
	for at < int64(len(p.data)) && strings.IndexByte(" \t\r\n,:", p.data[at]) >= 0 {
		at++
	}
	return at
}

func (p *parser) token(where *place) (json.Token, int64, error) {
	at := p.next()
	t, err := p.dec.Token()
	if err == nil {
		return t, at, nil
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return nil, at, p.fail(max(at, syntax.Offset-1), where, "%s", syntax.Error())
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, at, p.fail(at, where, "the text ends before the graph does")
	}
	return nil, at, p.fail(at, where, "%s", err)
}

func (p *parser) value(where *place, depth int) (element, error) {
	t, at, err := p.token(where)
	if err != nil {
		return element{}, err
	}
	e := element{at: at, where: where}
	switch t := t.(type) {
	case json.Delim:
		e.kind = byte(t)
		if depth == maxDepth {
			return e, p.wrong(&e, "it nests deeper than %d levels", maxDepth)
		}
		err = p.items(&e, depth)
	case string:
		e.kind, e.text = '"', t
	case json.Number:
		e.kind, e.text = '0', t.String()
	case bool:
		e.kind, e.text = 't', fmt.Sprint(t)
	default:
		e.kind = 'n'
	}
	return e, err
}

// items reads what stands in an object or array, and its closing bracket.
func (p *parser) items(e *element, depth int) error {
	seen := map[string]bool{}
	for p.dec.More() {
		where := &place{around: e.where, index: len(e.items)}
		if e.kind == '{' {
			key, at, err := p.token(e.where)
			if err != nil {
				return err
			}
			name, _ := key.(string)
			if seen[name] {
				return p.fail(at, e.where, "the field %q stands twice", name)
			}
			seen[name] = true
			e.keys = append(e.keys, name)
			where.key, where.index = name, -1
		}
		item, err := p.value(where, depth+1)
		if err != nil {
			return err
		}
		e.items = append(e.items, item)
	}
	_, _, err := p.token(e.where)
	return err
}

// get returns a field of an object, nil when it is not there.
func (e *element) get(key string) *element {
	for i, k := range e.keys {
		if k == key {
			return &e.items[i]
		}
	}
	return nil
}
