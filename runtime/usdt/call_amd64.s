#include "textflag.h"

// func call(function, one, two uintptr)
TEXT ·call(SB), 0, $256-24
	MOVQ function+0(FP), AX
	TESTQ AX, AX
	JZ none
	MOVQ one+8(FP), DI
	MOVQ two+16(FP), SI
	MOVQ SP, BX // which C keeps
	ANDQ $~15, SP
	CALL AX
	MOVQ BX, SP
none:
	RET
