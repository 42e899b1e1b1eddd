#include "textflag.h"

// func pause(n uint32), with what tlc_pause of cshim/base/lock.h has
TEXT ·pause(SB), NOSPLIT, $0-4
	MOVWU n+0(FP), R0
again:
	ISB $15
	SUBW $1, R0
	CBNZ R0, again
	RET
