/* What the clock does for a thread that rests (cshim/heap/idle.c, runtime/object/rest.go); README.md explains it.
 *
 *	INBOX=0: it takes slots out of a magazine while the owner pops and pushes
 *	INBOX=1: it ends an object that waits in the inbox of an owner that sleeps
 *
 * BUG chooses a mutant. */
#ifndef BUG
#define BUG 0
#endif
#ifndef INBOX
#define INBOX 0
#endif

#if !INBOX

#define ROOM  4 /* of the magazine */
#define SLOTS 6
#define OPS   5 /* of the owner */

#define BIT(s) (1 << (s))

/* Words that the owner stores late, in order; and cells, which may come even later than those (arm64). */
mtype = { TOP, ALLOCS, MOVING };
chan late = [4] of { mtype, byte };
chan late_cells = [4] of { byte, byte };
#define EMPTY(t, bound) (t == bound || (t < bound && BUG != 9))
#define FULL(t, bound) (t == bound || (t > bound && BUG != 7))
#define BARRIER (empty(late) && empty(late_cells))

byte base, limit = 4, top = 3, allocs, moving, taking, taken; /* as everybody sees them */
byte cell[ROOM];
byte depot = BIT(4), hand = BIT(5) | BIT(6);
bool finished;

/* After everything: each slot is in one place. */
inline check_all(t)
{
	n = base;
	do
	:: n < t ->
		assert(own[n] == cell[n] && !((hand | depot) & BIT(cell[n])));
		depot = depot | BIT(cell[n]);
		n++
	:: else -> break
	od;
	assert((hand & depot) == 0 && (hand | depot) == BIT(SLOTS + 1) - 2)
}

inline store(what, value) { late!what(value) }

/* The words come at some time; a barrier waits for them. */
proctype Memory()
{
	mtype what;
	byte value, at;
end:
	do
	:: atomic { late?what(value) ->
		if
		:: what == TOP -> top = value
		:: what == ALLOCS -> allocs = value
		:: what == MOVING -> moving = value
		fi;
		what = 0; value = 0 }
	:: atomic { late_cells?at(value) -> cell[at] = value; at = 0; value = 0 }
	od
}

/* Three slots are in the magazine, one is in the depot, two in the program's hand. */
proctype Owner()
{
	byte t, count, ops, bound, slot, n;
	byte own[ROOM]; /* what the owner sees of cells: its own stores */
	atomic { own[0] = 1; own[1] = 2; own[2] = 3; t = 3 }
	do
	:: ops == OPS -> break
	:: ops < OPS -> /* take a slot */
		ops++;
		bound = base;
		if
		:: EMPTY(t, bound) -> goto refill
		:: else -> count++; store(ALLOCS, count); t--; store(TOP, t);
			slot = own[t];
			assert(slot != 0 && !(depot & BIT(slot)) && !(hand & BIT(slot)));
			hand = hand | BIT(slot); slot = 0
		fi;
		bound = 0
	:: ops < OPS && hand != 0 -> /* put one back */
		ops++;
		bound = limit;
		if
		:: FULL(t, bound) -> goto room
		:: else ->
			assert(t < ROOM);
			slot = 1;
			do :: slot < SLOTS -> slot++ :: slot == SLOTS && !(hand & BIT(slot)) -> slot = 1 :: hand & BIT(slot) -> break od;
			hand = hand & ~BIT(slot);
			own[t] = slot; late_cells!t(slot);
			t++; store(TOP, t); slot = 0
		fi;
		bound = 0
	od;
	goto over;
refill:
	bound = 0;
	store(MOVING, 1);
	if
	:: taking && BUG != 3 -> store(MOVING, 0); (!taking); goto refill
	:: else
	fi;
	atomic { BARRIER; /* the depot's lock */
		if
		:: t <= base || BUG == 8 -> t = base - taken; top = t; base = t; taken = 0; slot = 1
		:: else -> slot = SLOTS + 1 /* the clock has given back what it was about to take */
		fi;
		assert(slot > SLOTS || t == 0);
		do :: slot <= SLOTS && !(depot & BIT(slot)) -> slot++ :: else -> break od;
		if
		:: slot <= SLOTS -> depot = depot & ~BIT(slot); own[0] = slot; cell[0] = slot; t = 1; top = 1; limit = 2
		:: else
		fi;
		slot = 0 }
	store(MOVING, 0);
	goto back;
room:
	bound = 0;
	store(MOVING, 1);
	if
	:: taking && BUG != 3 -> store(MOVING, 0); (!taking); goto room
	:: else
	fi;
	atomic { BARRIER; n = base }
	atomic {
		if
		:: t < ROOM -> limit = (limit > t -> limit : t + 1); n = 0
		:: else -> /* all go to the depot */
			do
			:: n < t -> assert(!(depot & BIT(own[n]))); depot = depot | BIT(own[n]); n++
			:: else -> break
			od;
			n = 0; t = 0; top = 0; base = 0; taken = 0; limit = 2
		fi }
	store(MOVING, 0);
back:
	do
	:: ops == OPS -> break
	:: else -> /* as above */
		ops++;
		if
		:: bound = base;
			if
			:: EMPTY(t, bound) -> goto refill
			:: else -> count++; store(ALLOCS, count); t--; store(TOP, t);
				slot = own[t];
				assert(slot != 0 && !(depot & BIT(slot)) && !(hand & BIT(slot)));
				hand = hand | BIT(slot); slot = 0
			fi
		:: hand != 0 -> bound = limit;
			if
			:: FULL(t, bound) -> goto room
			:: else ->
				assert(t < ROOM);
				slot = 1;
				do :: slot < SLOTS -> slot++ :: slot == SLOTS && !(hand & BIT(slot)) -> slot = 1 :: hand & BIT(slot) -> break od;
				hand = hand & ~BIT(slot);
				own[t] = slot; late_cells!t(slot);
				t++; store(TOP, t); slot = 0
			fi
		fi;
		bound = 0
	od;
over:
	atomic { BARRIER && finished; check_all(t) }
}

proctype Clock()
{
	byte t, b, l, a, n, rounds;
	do
	:: rounds == 2 -> break
	:: else ->
		rounds++;
		taking = 1;
		if :: BUG != 5 -> BARRIER :: else fi;
		if
		:: moving && BUG != 2 -> goto next
		:: else
		fi;
		if
		:: BUG != 10 -> a = allocs; t = top
		:: else -> t = top; a = allocs
		fi;
		b = base; l = limit;
		if
		:: t > b + 1 -> base = (BUG == 1 -> t : t - 1); limit = (l < t + 1 -> l : t + 1)
		:: else -> goto next
		fi;
		if :: BUG != 4 -> BARRIER :: else fi;
		if
		:: top == t && (allocs == a || BUG == 6) ->
			n = b;
			do
			:: n < base ->
				atomic {
					assert(cell[n] != 0 && !(hand & BIT(cell[n])) && !(depot & BIT(cell[n])));
					depot = depot | BIT(cell[n]);
					n++ }
			:: else -> break
			od;
			taken = taken + (base - b)
		:: else -> base = b; limit = l
		fi;
next:
		t = 0; b = 0; l = 0; a = 0; n = 0;
		taking = 0
	od;
	finished = true
}

init { atomic { cell[0] = 1; cell[1] = 2; cell[2] = 3; run Memory(); run Owner(); run Clock() } }

#else

/* An object of the owner's, of which the queue holds a reference: one of those that the own_word word counts. */
#define OPS 4
byte own_word = 1, shared_word; /* counts of the two words */
byte owners, others;    /* references of the two threads */
bool ended, ran, inside;

#define LEFT (own_word + shared_word - 1) /* references but the queue's */

proctype Owner()
{
	byte ops, seen;
	do
	:: ops == OPS -> break
	:: ops < OPS && owners != 0 -> atomic { ops++; ran = true; assert(!ended); own_word++; owners++ }
	:: ops < OPS && owners != 0 && own_word > 1 -> atomic { ops++; ran = true; assert(!ended); own_word--; owners-- }
	:: ops < OPS && owners != 0 -> atomic { ops++; ran = true; owners--; others++ } /* handed over */
	:: ops < OPS -> /* a weak reference */
		atomic { ops++; ran = true; inside = true; seen = (ended -> 0 : LEFT) }
		if
		:: seen == 0 -> skip
		:: else -> atomic { ran = true; assert(!ended); own_word++; owners++ }
		fi;
		atomic { ran = true; inside = false; seen = 0 }
	od
}

proctype Other()
{
	byte ops;
	do
	:: ops == OPS + 1 -> break
	:: ops < OPS + 1 && others != 0 -> atomic { ops++; assert(!ended); shared_word++; others++ }
	:: ops < OPS + 1 && others != 0 && shared_word != 0 -> atomic { ops++; assert(!ended); shared_word--; others-- }
	:: ops < OPS + 1 && others != 0 -> atomic { ops++; others--; owners++ }
	:: others == 0 && ops < OPS + 1 -> ops++
	od
}

proctype Clock()
{
	byte s, l, rounds;
	do
	:: rounds == 2 || ended -> break
	:: else ->
		rounds++;
		ran = false;
		s = shared_word;
		l = own_word;
		atomic {
			if
			:: (ran && BUG != 11) || (inside && BUG != 12) -> skip
			:: else ->
				if
				:: l + (BUG == 13 -> 0 : s) - 1 == 0 -> assert(owners == 0 && others == 0 && LEFT == 0); ended = true
				:: else
				fi
			fi;
			s = 0; l = 0 }
	od
}

/* Either thread may have a reference, counted in either word. */
init {
	atomic {
		if :: owners = 1; own_word++ :: others = 1; shared_word++ :: others = 1; own_word++ fi;
		run Owner(); run Other(); run Clock()
	}
}
#endif
