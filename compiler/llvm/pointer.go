package llvm

// Pointers have no element type from LLVM 15 on. LLVM 14 can be told to do without
// (-opaque-pointers), but its passes over loops crash on it, so that it gets typed
// ones: i8* wherever a pointer is kept, and a cast before each access.

// typed reports whether the module is for typed pointers.
func (m *module) typed() bool { return m.opts.Version < opaqueKnown }

// pointer is the type that pointers are kept as.
func (m *module) pointer() string {
	if m.typed() {
		return "i8*"
	}
	return "ptr"
}

// as returns ptr with its type, as an access to the type typ needs it.
func (c *code) as(ptr, typ string) string {
	switch {
	case !c.module.typed():
		return "ptr " + ptr
	case typ == "i8":
		return "i8* " + ptr
	}
	return typ + "* " + c.let("bitcast i8* %s to %s*", ptr, typ)
}

// at returns the address of element index of the elements of this type at ptr. It
// may lie outside the object: only what is loaded or stored has to lie inside.
func (c *code) at(ptr, typ, index string) string {
	if index == "0" {
		return ptr
	}
	to := c.let("getelementptr %s, %s, i64 %s", typ, c.as(ptr, typ), index)
	if c.module.typed() && typ != "i8" {
		return c.let("bitcast %s* %s to i8*", typ, to)
	}
	return to
}

// global returns the address of a global of this type, with the type of pointers.
func (m *module) global(name, typ string) string {
	if m.typed() {
		return "i8* bitcast (" + typ + "* @" + name + " to i8*)"
	}
	return "ptr @" + name
}
