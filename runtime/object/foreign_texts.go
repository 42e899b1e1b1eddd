package object

// The texts of the registry's own functions.
var (
	textOurMemory       = text("%#x lies in the runtime's own memory; the registry is for memory that the runtime did not allocate")
	textForeignBytes    = text("%#x cannot be a block of %v bytes of this process")
	textForeignKind     = text("kind %d is not one of TL_ALLOC_*, or none that a block is registered with here")
	textNoDeleter       = text("%#x could not be freed: no C++ runtime is loaded in this process, so there is no operator delete")
	textNoFunctionGiven = text("%#x has no deleter: pass a function, or register the block by its kind")
	textRegistered      = text("%#x is registered already; every address has one owner")
	textAliasOutside    = text("%#x is not an address inside the buffer that it should be an alias of")
	textNoBuffer        = text("%v is not the id of a live buffer")
	textNoBlock         = text("a shared buffer needs a block, and its address is NULL")
	textAlignment       = text("alignment %v is not a power of two that the system can give")
	textProduct         = text("%v times %v bytes are more than a process can have")
	textNotAligned      = text("%#x is not live memory of tl_aligned_alloc; what is registered goes with tl_registry_unregister")
	textWorkspaceEmpty  = text("a workspace of %v blocks of %v bytes has nothing to give")
	textNotWorkspace    = text("%#x is not a live workspace")
	textBlockOverlaps   = text("%#x begins inside a registered block, or one begins inside its %v bytes")
	textOtherObject     = text("%#x is memory of the runtime without that type; make objects of a type with tl_object_new") // of typed.go and compiler_vecs.go
	textOtherType       = text("%#x is registered already, with type %d; a block has one type")
	textTypedSmall      = text("%#x is a block of %v bytes, too small for a type of %v bytes")
	textNotVecType      = text("type %d is not that of a Vec; define one with tl_type_define_vec")
	textVecNumbers      = text("length and capacity have 4 or 8 bytes, not %v")
	textVecPart         = text("offset %v is not a multiple of %v, or that part of a Vec does not fit into its header " +
		"of %v bytes")
	textVecOverlap  = text("the parts of a Vec at offsets %v and %v overlap")
	textVecPointers = text("elements that are references have 8 bytes (not %v) and no type")
	textVecElement  = text("type %d cannot be that of elements: it is a Vec's or has a destructor; make the elements " +
		"references to objects of it")
	textVecBytes   = text("an element of %v bytes is too small for its type, too large, or puts references at odd addresses")
	textVecDamaged = text("%#x has length %v, capacity %v and data at %#x, and no Vec of its type can be like that; " +
		"what it refers to is not touched")
)
