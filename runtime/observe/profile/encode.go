package profile

import (
	"compress/gzip"
	"encoding/binary"
	"io"
)

// The messages of profile.proto (github.com/google/pprof, proto/profile.proto), as far
// as a heap profile needs them. They are written by hand, field by field: the library
// of pprof would bring the parsers of a dozen other formats into this one, and that of
// protobuf reads the program's file when it is loaded.
const (
	profileSampleType = 1
	profileSample     = 2
	profileMapping    = 3
	profileLocation   = 4
	profileFunction   = 5
	profileString     = 6
	profileTime       = 9
	profilePeriodType = 11
	profilePeriod     = 12
	profileComment    = 13
	profileDefault    = 14

	typeName = 1
	typeUnit = 2

	sampleLocations = 1
	sampleValues    = 2
	sampleLabel     = 3

	labelKey  = 1
	labelText = 2
	labelNum  = 3
	labelUnit = 4

	mappingID     = 1
	mappingStart  = 2
	mappingLimit  = 3
	mappingOffset = 4
	mappingFile   = 5
	mappingHas    = 7 // to 10: functions, files, lines, inlined functions

	locationID      = 1
	locationMapping = 2
	locationAddress = 3
	locationLine    = 4

	lineFunction = 1
	lineNumber   = 2

	functionID   = 1
	functionName = 2
	functionLink = 3
	functionFile = 4
)

// message is a message under construction. Fields that are zero are left out, which is
// what zero means.
type message []byte

// number and bytes are not inlined: their many calls would make the library larger, and nobody waits for them.
//
//go:noinline
func (m *message) number(field, value uint64) {
	if value != 0 {
		*m = binary.AppendUvarint(binary.AppendUvarint(*m, field<<3|wireVarint), value)
	}
}

//go:noinline
func (m *message) bytes(field uint64, value []byte) {
	*m = binary.AppendUvarint(binary.AppendUvarint(*m, field<<3|wireBytes), uint64(len(value)))
	*m = append(*m, value...)
}

// Types of fields on the wire.
const (
	wireVarint = 0
	wireBytes  = 2
)

// numbers is a repeated field of numbers, zeros included.
func (m *message) numbers(field uint64, values []uint64) {
	var packed []byte
	for _, v := range values {
		packed = binary.AppendUvarint(packed, v)
	}
	m.bytes(field, packed)
}

// table is the table of strings: equal ones are kept once, number 0 is "".
type table struct {
	numbers map[string]uint64
	list    []string
}

func newTable() table { return table{map[string]uint64{"": 0}, []string{""}} }

func (t *table) number(text string) uint64 {
	n, known := t.numbers[text]
	if !known {
		n = uint64(len(t.list))
		t.numbers[text] = n
		t.list = append(t.list, text)
	}
	return n
}

// writer puts a profile together.
type writer struct {
	message
	strings   table
	functions map[function]uint64
	places    map[place]uint64 // locations
	mappings  []mapping
	used      map[int]bool // of mappings; true: their locations have functions and lines
}

// function is one of a program. The linker's name is for pprof to make readable; without one it leaves the name alone.
type function struct{ name, linker, file string }

// line is a line of a function.
type line struct {
	function
	number uint64
}

// place is a location: an address of code, or a line that the program told.
type place struct {
	pc uint64
	line
}

func newWriter(mappings []mapping) *writer {
	return &writer{strings: newTable(), functions: map[function]uint64{}, places: map[place]uint64{},
		mappings: mappings,
		used:     map[int]bool{}}
}

func (w *writer) valueType(field uint64, name, unit string) {
	var m message
	m.number(typeName, w.strings.number(name))
	m.number(typeUnit, w.strings.number(unit))
	w.bytes(field, m)
}

func (w *writer) function(f function) uint64 {
	if f == (function{}) {
		return 0
	}
	id, known := w.functions[f]
	if !known {
		id = uint64(len(w.functions) + 1)
		w.functions[f] = id
		var m message
		m.number(functionID, id)
		m.number(functionName, w.strings.number(f.name))
		m.number(functionLink, w.strings.number(f.linker))
		m.number(functionFile, w.strings.number(f.file))
		w.bytes(profileFunction, m)
	}
	return id
}

// location returns the number of a location. Of several lines each is inlined in the
// next. Those that are known of the source are told to pprof to be all that there is.
func (w *writer) location(pc uintptr, lines []line, source bool) uint64 {
	p := place{pc: uint64(pc)}
	if len(lines) > 0 {
		p.line = lines[0]
	}
	id, known := w.places[p]
	if known {
		return id
	}
	id = uint64(len(w.places) + 1)
	w.places[p] = id
	var m message
	m.number(locationID, id)
	if at := find(w.mappings, pc); at >= 0 {
		w.used[at] = w.used[at] || source
		m.number(locationMapping, uint64(at+1))
	}
	m.number(locationAddress, p.pc)
	for _, at := range lines {
		w.line(&m, at)
	}
	w.bytes(profileLocation, m)
	return id
}

func (w *writer) line(to *message, at line) {
	id := w.function(at.function)
	if id == 0 {
		return
	}
	var m message
	m.number(lineFunction, id)
	m.number(lineNumber, at.number)
	to.bytes(locationLine, m)
}

func (w *writer) text(to *message, key, value string) {
	if value == "" {
		return
	}
	var m message
	m.number(labelKey, w.strings.number(key))
	m.number(labelText, w.strings.number(value))
	to.bytes(sampleLabel, m)
}

func (w *writer) size(to *message, key string, value uint64) {
	var m message
	m.number(labelKey, w.strings.number(key))
	m.number(labelNum, value)
	m.number(labelUnit, w.strings.number("bytes"))
	to.bytes(sampleLabel, m)
}

// finish writes the mappings that locations are in, and the strings, which come last.
func (w *writer) finish(to io.Writer) error {
	for i, at := range w.mappings {
		complete, used := w.used[i]
		if !used {
			continue
		}
		var m message
		m.number(mappingID, uint64(i+1))
		m.number(mappingStart, uint64(at.start))
		m.number(mappingLimit, uint64(at.limit))
		m.number(mappingOffset, at.offset)
		m.number(mappingFile, w.strings.number(at.file))
		for field := mappingHas; complete && field < mappingHas+4; field++ {
			m.number(uint64(field), 1)
		}
		w.bytes(profileMapping, m)
	}
	for _, text := range w.strings.list {
		w.bytes(profileString, []byte(text))
	}
	zip := gzip.NewWriter(to)
	if _, err := zip.Write(w.message); err != nil {
		return err
	}
	return zip.Close()
}
