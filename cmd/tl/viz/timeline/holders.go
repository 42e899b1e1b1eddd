package timeline

import "strings"

// holder is who holds a block at the end of a trace.
type holder struct {
	by   string // a scope, or where in an object the reference stands
	from uint64 // the address of that object, 0 = none
	site uint32 // where a scope was entered
}

// mostHolders bounds a path of references.
const mostHolders = 12

// heldBy is the path of references by which a block is held, a line each, the nearest first; "" = not told.
func (t *Trace) heldBy(b *Block) string {
	var path []string
	for b != nil && len(b.holders) > 0 {
		if len(path) >= mostHolders {
			path = append(path, "…")
			break
		}
		from := t.left[b.holders[0].from]
		for _, h := range b.holders {
			path = append(path, t.holderText(h, from))
		}
		b = from
	}
	return strings.Join(path, "\n")
}

// holderText is a line of a path: "field at offset 8 of Node, net.c:5 make".
func (t *Trace) holderText(h holder, from *Block) string {
	text, site := h.by, h.site
	if from != nil {
		typ, _, _ := strings.Cut(typeText(from), "\n")
		text, site = text+" of "+typ, from.Site
	}
	if code := t.code(site); len(code) > 0 && from != nil {
		text += ", " + code[0].text()
	} else if len(code) > 0 {
		text += ", entered at " + code[0].text()
	}
	return text
}
