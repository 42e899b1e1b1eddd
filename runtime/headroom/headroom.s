#include "textflag.h"

// A frame of headroom.Bytes that nobody writes to: the assembler's check in front of it
// grows the stack.
TEXT ·Reserve(SB), 0, $131072-0
	RET
