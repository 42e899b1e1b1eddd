/* How the clock takes what a tensor has left of its room, which the owner grows into without a call (cshim/tensor/grow.c,
 * takeTails in runtime/heap/ranges.go); README.md explains it. BUG chooses a mutant. */
#ifndef BUG
#define BUG 0
#endif

#define MOST 3 /* bytes */
#define OPS  4 /* of the owner */

chan late = [3] of { byte }; /* stores of nbytes that nobody else has seen yet */
#define BARRIER empty(late)

byte nbytes = MOST, room = MOST; /* of the header, as everybody sees them */
byte used = MOST;                /* of the range */
byte has = MOST;                 /* what the program was told that it has, and writes to */
bool held;                       /* the lock of ranges */
bool finished;

proctype Memory()
{
	byte value;
end:
	do
	:: atomic { late?value -> nbytes = value; value = 0 }
	od
}

proctype Owner()
{
	byte n, own = MOST, seen, ops;
	do
	:: ops == OPS -> break
	:: ops < OPS ->
		ops++;
		select(n : 0 .. MOST);
		seen = room;
		if
		:: n > seen -> goto ask
		:: n <= own -> has = n; late!n; own = n
		:: else ->
			late!n;
			if
			:: room == seen || BUG == 1 -> has = n; own = n
			:: else ->
				late!own;
				goto ask
			fi
		fi;
		goto next;
	ask:
		atomic { !held && BARRIER -> held = true };
		used = MOST;
		room = MOST;
		has = n;
		if
		:: BUG == 2 -> held = false; late!n
		:: else -> nbytes = n; held = false
		fi;
		own = n;
	next:
		seen = 0
	od;
	BARRIER;
	finished = true
}

proctype Clock()
{
	byte size, turn;
	do
	:: turn == 2 || finished -> break
	:: turn < 2 ->
		turn++;
		atomic { !held -> held = true };
		size = nbytes;
		if
		:: size < used ->
			room = size;
			if
			:: BUG == 3
			:: else -> BARRIER
			fi;
			if
			:: nbytes <= room || BUG == 4 -> atomic { assert(has <= room); used = room }
			:: else -> room = used
			fi
		:: else
		fi;
		size = 0;
		held = false
	od
}

init
{
	atomic { run Memory(); run Owner(); run Clock() }
	atomic { finished && !held -> assert(has <= used && room == used && has == nbytes) }
}
