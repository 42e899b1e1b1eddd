/* The count of a shared cell (cshim/object/cells.c): threads that count and drop it until one has the last reference, writes
 * to the cell, and frees it. README.md explains it.
 *
 * A count is a positive number here; MOST is the largest that does not stick. BUG chooses a mutant. */
#ifndef BUG
#define BUG 0
#endif
#ifndef MOST
#define MOST 9
#endif

#define THREADS 3
#define OPS     2 /* of each thread, before it drops what it holds */

byte count = THREADS;
byte held = THREADS; /* references that threads have */
byte writers;        /* that believe to be alone */
bool freed, stuck;

#define SEEN assert(!freed)
#define STICKS(n) (n > MOST)
#define KEPT(n)   (STICKS(n) && BUG != 5)

/* Changes the count from n if it is still so; else n is what it is. */
inline swap(n, to, done, by)
{
	atomic {
		SEEN;
		if
		:: count == n || BUG == 1 || (BUG == 2 && to > n) ->
			count = to;
			held = held + by;
			stuck = stuck || count > MOST;
			done = true
		:: else -> n = count
		fi
	}
}

inline dup()
{
	atomic { SEEN; n = count; done = false }
	do
	:: done -> break
	:: !done && STICKS(n) -> held++; break
	:: else -> swap(n, n + 1, done, 1)
	od;
	atomic { mine++; done = false }
}

/* The last reference stays; then the thread is alone with the cell. */
inline drop()
{
	atomic { SEEN; n = count; done = false; last = false }
	do
	:: KEPT(n) -> held--; break
	:: !KEPT(n) && (n == 1 || (BUG == 3 && n == 2)) -> last = true; break
	:: !KEPT(n) && n != 1 && !(BUG == 3 && n == 2) ->
		swap(n, n - 1, done, -1);
		if
		:: done -> last = (BUG == 4 && n == 2); break
		:: else
		fi
	od;
	done = false;
	if
	:: last ->
		atomic { writers++; assert(writers == 1 && held == 1) };
		atomic { SEEN; freed = true; mine = 0; held-- }
	:: else -> mine--
	fi
}

inline look()
{
	atomic { SEEN; n = count }
	if
	:: n == 1 || (BUG == 6 && n == 2) -> atomic { assert(held == 1) } /* the cell may be changed in place */
	:: else
	fi
}

active[THREADS] proctype thread()
{
	byte mine = 1, n, ops;
	bool done, last;
	do
	:: ops < OPS && mine > 0 -> ops++; dup()
	:: ops < OPS && mine > 0 -> ops++; look()
	:: mine > 0 -> drop()
	:: mine == 0 -> break
	od
}

active proctype end() { timeout -> assert(freed || stuck) }
