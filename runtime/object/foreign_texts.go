package object

import "maps"

// The texts of the registry's own functions; they begin where no other text is.
const (
	textOurMemory Text = 1000 + iota
	textForeignBytes
	textForeignKind
	textNoDeleter
	textNoFunctionGiven
	textRegistered
	textAliasOutside
	textNoBuffer
	textNoBlock
	textAlignment
	textProduct
	textNoArray
	textNotAligned
	textWorkspaceEmpty
	textNotWorkspace
	textBlockOverlaps
	textOtherObject // of typed.go and compiler_vecs.go
	textOtherType
	textTypedSmall
	textNotVecType
	textVecNumbers
	textVecPart
	textVecOverlap
	textVecPointers
	textVecElement
	textVecBytes
	textVecDamaged
)

func init() {
	maps.Copy(sentences, map[Text]string{
		textOurMemory:       "%#x lies in the runtime's own memory; the registry is for memory that the runtime did not allocate",
		textForeignBytes:    "%#x cannot be a block of %v bytes of this process",
		textForeignKind:     "kind %d is not one of TL_ALLOC_*, or none that a block is registered with here",
		textNoDeleter:       "%#x could not be freed: no C++ runtime is loaded in this process, so there is no operator delete",
		textNoFunctionGiven: "%#x has no deleter: pass a function, or register the block by its kind",
		textRegistered:      "%#x is registered already; every address has one owner",
		textBlockOverlaps:   "%#x begins inside a registered block, or one begins inside its %v bytes",
		textAliasOutside:    "%#x is not an address inside the buffer that it should be an alias of",
		textNoBuffer:        "%v is not the id of a live buffer",
		textNoBlock:         "a shared buffer needs a block, and its address is NULL",
		textAlignment:       "alignment %v is not a power of two that the system can give",
		textProduct:         "%v times %v bytes are more than a process can have",
		textNoArray:         "an array of %v values is needed and NULL was passed",
		textNotAligned:      "%#x is not live memory of tl_aligned_alloc; what is registered goes with tl_registry_unregister",
		textWorkspaceEmpty:  "a workspace of %v blocks of %v bytes has nothing to give",
		textNotWorkspace:    "%#x is not a live workspace",
		textOtherObject:     "%#x is memory of the runtime without that type; make objects of a type with tl_object_new",
		textOtherType:       "%#x is registered already, with type %d; a block has one type",
		textTypedSmall:      "%#x is a block of %v bytes, too small for a type of %v bytes",
		textNotVecType:      "type %d is not that of a Vec; define one with tl_type_define_vec",
		textVecNumbers:      "length and capacity have 4 or 8 bytes, not %v",
		textVecPart: "offset %v is not a multiple of %v, or that part of a Vec does not fit into its header " +
			"of %v bytes",
		textVecOverlap:  "the parts of a Vec at offsets %v and %v overlap",
		textVecPointers: "elements that are references have 8 bytes (not %v) and no type",
		textVecElement: "type %d cannot be that of elements: it is a Vec's or has a destructor; make the elements " +
			"references to objects of it",
		textVecBytes: "an element of %v bytes is too small for its type, too large, or puts references at odd addresses",
		textVecDamaged: "%#x has length %v, capacity %v and data at %#x, and no Vec of its type can be like that; " +
			"what it refers to is not touched",
	})
}
