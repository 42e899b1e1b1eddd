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
	})
}
