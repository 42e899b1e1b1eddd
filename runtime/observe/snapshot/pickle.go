package snapshot

import "encoding/binary"

// pickler writes values in Python's pickle format, protocol 4 (PEP 3154). It uses what
// any reader knows: strings, whole numbers, lists and dictionaries. Lists are written in
// parts, as Python does: readers put a part on their stack.
type pickler struct {
	out  []byte
	memo uint32 // values that may be referred to
}

const (
	opProto        = 0x80
	opStop         = '.'
	opMark         = '('
	opEmptyDict    = '}'
	opSetItems     = 'u'
	opEmptyList    = ']'
	opAppends      = 'e'
	opBinInt1      = 'K'
	opLong1        = 0x8a
	opBinUnicode   = 'X'
	opShortUnicode = 0x8c
	opMemoize      = 0x94
	opGet          = 'h'
	opLongGet      = 'j'
	opFalse        = 0x89

	listPart = 1000
)

func newPickler() *pickler { return &pickler{out: []byte{opProto, 4}} }

func (p *pickler) finish() []byte { return append(p.out, opStop) }

// number and text are not inlined: their many calls would make the library larger, and nobody waits for them.
//
//go:noinline
func (p *pickler) number(n uint64) {
	if n < 256 {
		p.out = append(p.out, opBinInt1, byte(n))
		return
	}
	p.out = binary.LittleEndian.AppendUint64(append(p.out, opLong1, 8), n)
}

//go:noinline
func (p *pickler) text(s string) {
	if len(s) < 256 {
		p.out = append(p.out, opShortUnicode, byte(len(s)))
	} else {
		p.out = binary.LittleEndian.AppendUint32(append(p.out, opBinUnicode), uint32(len(s)))
	}
	p.out = append(p.out, s...)
}

// dict writes a dictionary, whose keys and values body writes in turn.
func (p *pickler) dict(body func()) {
	p.out = append(p.out, opEmptyDict, opMark)
	body()
	p.out = append(p.out, opSetItems)
}

// list writes n elements.
func (p *pickler) list(n int, element func(i int)) {
	p.out = append(p.out, opEmptyList)
	for first := 0; first < n; first += listPart {
		p.out = append(p.out, opMark)
		for i := first; i < min(first+listPart, n); i++ {
			element(i)
		}
		p.out = append(p.out, opAppends)
	}
}

// keep makes the value that was just written one that refer can name, and returns its
// number.
func (p *pickler) keep() uint32 {
	p.out = append(p.out, opMemoize)
	p.memo++
	return p.memo - 1
}

func (p *pickler) refer(n uint32) {
	if n < 256 {
		p.out = append(p.out, opGet, byte(n))
		return
	}
	p.out = binary.LittleEndian.AppendUint32(append(p.out, opLongGet), n)
}

func (p *pickler) textOf(key, value string) {
	p.text(key)
	p.text(value)
}

func (p *pickler) numberOf(key string, value uint64) {
	p.text(key)
	p.number(value)
}
