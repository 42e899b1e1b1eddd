/* The counting protocol of TL Runtime: biased counts, floating references, and
 * contexts that outlive their threads.  README.md says what is checked here,
 * what is argued instead, and what each mutant (BUG=n) breaks.
 *
 * A step is one access to one shared word (a load, a store, or one
 * read-modify-write) and what the thread does on its own around it.  A load and
 * a store of loc by the one thread that may write it are one access.
 *
 * NO objects, NA adopters; BT, BR, BA: how many operations the owner, the remote
 * thread and each adopter may do besides getting rid of their references; F_*:
 * which operations those are. */

#ifndef NO
#define NO 1
#endif
#ifndef NA
#define NA 2
#endif
#ifndef BT
#define BT 1
#endif
#ifndef BR
#define BR 1
#endif
#ifndef BA
#define BA 0
#endif
#ifndef BUG
#define BUG 0
#endif
#ifndef F_FLOAT
#define F_FLOAT 0   /* unregister: the reference of a scope entry floats */
#endif
#ifndef F_PLAIN
#define F_PLAIN 0   /* register something that one holds already */
#endif
#ifndef F_SHARE
#define F_SHARE 0   /* the owner turns bias off */
#endif
#ifndef F_ACQUIRE
#define F_ACQUIRE 0
#endif
#ifndef F_MOVE
#define F_MOVE 0    /* a floating reference goes to another thread */
#endif
#ifndef F_DEAD
#define F_DEAD 0    /* any operation on a dead record */
#endif
#ifndef F_AGAIN
#define F_AGAIN 0   /* release by hand under an open scope, and a second object in the same record */
#endif
#ifndef F_ROGUE
#define F_ROGUE 0   /* with F_AGAIN: the remote thread releases what it does not hold, in the worst moment; 2: it
                       comes so late that its mark may hit the second object, which is the owner's as well */
#endif
#ifndef F_WEAK
#define F_WEAK 0    /* upgrade a weak reference to the first object of a record; with F_AGAIN the second has no owner */
#endif
#ifndef F_SPLIT
#define F_SPLIT 0   /* references start out in loc and sh in more ways */
#endif

#ifndef LIMIT
#define LIMIT 3     /* of the owner's floats, and of claims */
#endif

/* record.sh = count | floats 3 | claims 2 | QUEUED | MERGED | ALIVE */
#define ALIVE     1
#define MERGED    2
#define QUEUED    4
#define CLAIM     8
#define FLOAT     32
#define ONE       256
#define CLAIMS(s) (((s) >> 3) & 3)
#define FLOATS(s) (((s) >> 5) & 7)
#define COUNT(s)  ((s) >> 8)
#define QUEUE(s)  (((s) & QUEUED) && BUG != 58 -> 1 : 0)
#define ZERO(s)   (((s) & MERGED) && COUNT(s) <= 0) /* somebody is about to kill it */

/* record.loc = owner 2 | floats 3 | count 3 */
#define LOC(owner, floats, count) ((owner) * 64 + (floats) * 8 + (count))
#define OWNER(l)   ((l) >> 6)
#define LFLOATS(l) (((l) >> 3) & 7)
#define LCOUNT(l)  ((l) & 7)

/* context.word = inbox, one bit for each node {object, generation} | state */
#define ACTIVE     1
#define PARKED     2
#define BORROWED   3
#define STATE(w)   ((w) & 3)
#define INBOX(w)   ((w) & 252)
#define PAIR(o, g) ((o) * 3 + (g))
#define NODE(o, g) (4 << PAIR(o, g))
#define LATER      2 /* in a node: generation 1, by a release that meant generation 0; there may be two nodes then */

byte loc[NO];
short sh[NO];
byte gen[NO];
byte word[3];       /* of contexts 1 and 2; 0 is no context */
byte scope[NO * 3]; /* open entries of context 1, counted by {object, generation} */
bool reap_flag;

/* What the checker knows and no thread does. */
byte holder[3];     /* the thread that holds a context */
bool freed[NO];
byte refs[NO];      /* references that threads have */
byte tokens[NO];    /* those of them that float */
byte plain[NO];     /* registrations under way that bring no floating reference along */
bool taken[NO];     /* one of them may have sunk somebody else's */
byte box[NO];       /* floating references between two threads */
byte gift;          /* references to the second object on their way to the owner of the first */
bool given;
bool window[NO];    /* the owner has seen that its reference is the last one */
byte started, done;
byte flight[2 * NO + 1]; /* under way of each object: operations on floats and releases; releases that give a float up */

hidden short x, x_count, x_floats, x_claims;
hidden byte x_dead;

#define TOUCH         assert(stale || !freed[o])
#define SET_LOC(v)    assert(!stale && OWNER(loc[o]) != 0 && holder[OWNER(loc[o])] == me); loc[o] = v
#define SET_SH(v)     assert(!stale || F_ROGUE); sh[o] = v

/* A program that registers an object while another thread's reference to it
 * floats must not release before that one has sunk: it may hold that reference. */
#define MAY_RELEASE(o) (!(taken[o] && tokens[o] > 0) && flight[NO + o] == 0)

/* A floating reference is given up by a release only when no other kind is left, and none is going. The owner gives up
 * none that another thread has let float: it does not see that float. */
#define MAY_GIVE(o) (tokens[o] == refs[o] && !taken[o] && flight[o] == 0 && \
	(BUG == 60 || !MINE(loc[o]) || LCOUNT(loc[o]) == 1 || LFLOATS(loc[o]) > 0))

#define OWNING  1
#define REMOTE  2
#define LAST    9 /* the slow call that somebody makes after all threads have ended */
#define MAKER   (F_ROGUE == 1 -> 2 : 1) /* the context that makes the second object */

/* Whether a release of what one does not hold takes a reference that nobody misses: in the window, or given back. */
#define MAY_MARK (window[o] || (F_ROGUE == 2 && gen[o] != g && x == ALIVE))

/* Ways to serve a context. */
#define POLLS   1
#define ADOPTS  2
#define BORROWS 3
#define REAPS   4
#if BUG == 29
#define CLOSES (mode == ADOPTS || mode == REAPS)
#elif BUG == 30
#define CLOSES (mode == ADOPTS || mode == BORROWS)
#else
#define CLOSES (mode >= ADOPTS)
#endif

#define AS       (serve != 0 -> serve : ctx)
#define MINE(l)  (AS != 0 && OWNER(l) == AS)
#define HERE(o)  scope[PAIR(o, gen[o])]
#define HOLDS(o) (acq[o] + tok[o] + ent[o] > 0 || (ctx == 1 && HERE(o) > 0))
#define NONE(o)  (acq[o] + tok[o] + ent[o] + box[o] == 0)
#if NO == 1
#define BOTH(condition) condition(0)
#define SCOPES   (scope[0] + scope[1] + scope[2])
#else
#define BOTH(condition) (condition(0) && condition(1))
#define SCOPES   (scope[0] + scope[1] + scope[2] + scope[3] + scope[4] + scope[5])
#endif
#define OPEN(c)  ((c) == 1 && SCOPES > 0)
#define DRAINED  (mode == ADOPTS || INBOX(word[serve]) == 0)

mtype = { NEXT, START, CHECK, REG, REG_OWN, REG_MORE, REG_LOOK, REG_LATE, REG_SINK, REG_CLAIM, REG_COUNT, REG_WAIT,
	LATE, REG_CLEAR, REG_MERGE, UNREG, UNREG_OWN, UNREG_CLEAR, UNREG_MERGE, UNREG_SUM, ACQ, REL, REL_LOOK, REL_WAIT, REL_SAME,
	REL_OWN, REL_FLOAT, REL_LAST, REL_ZERO, REL_MERGE, REL_OTHER, KILL, KILLED,
	DELIVER, DELIVER_LATE, DELIVER_PUSH, DELIVER_FLAG, DELIVER_REAP, WEAK, WEAK_LOC, WEAK_OWN, WEAK_COUNT,
	WEAK_READ, WEAK_LOOK, WEAK_TRY, WEAK_CONFIRM, REL_PLAIN, TAKE, SETTLE, BACK, SHARE, SHARE_MERGE, PARK,
	PARK_LATE, PARK_FLAG, ADOPTED, REAP, REAP_LOOK, ALLOC, ALLOC_LIVE };

#define LESS  flight[kind] = (kind < 2 * NO -> flight[kind] - 1 : 0); kind = 2 * NO
#define MORE  kind = o; flight[kind]++
#define GIVES kind = NO + o; flight[kind]++

/* The end of an operation, and of a poll or an adoption with nothing left to do. */
#define REST \
	l = 0; s = 0; w = 0; g = 0; o = 0; tkn = false; gives = false; stale = false; LESS; pc = NEXT; \
	serve = (nodes == 0 && (mode == POLLS || (mode == ADOPTS && !OPEN(serve))) -> 0 : serve); \
	mode = (serve == 0 -> 0 : mode)
#define NOT_LIVE assert(stale); REST
#define REST_OR_KILL if :: x_dead -> pc = KILL :: else -> REST fi

inline free() {
	assert(!freed[o] && refs[o] == 0 && loc[o] == 0 && sh[o] == 0);
	freed[o] = true;
#if BUG != 28
	gen[o]++
#endif
}

/* Memory is given back with no context borrowed: a destructor may take its time. */
inline died() {
	if
	:: mode >= BORROWS -> dead = dead | (1 << o)
	:: else -> free()
	fi
}

/* Whether sh tells the owner that floats of its own are taken, or that it has to read its inbox. */
#define NEWS(s) (CLAIMS(s) > 0 || (((s) & QUEUED) && BUG != 38))

/* In one word: no more floats than references, of which the queue's is none. */
inline clamp() {
	x_floats = (x_floats > x_count - QUEUE(x) -> x_count - QUEUE(x) : x_floats);
	x_floats = (x_floats < 0 -> 0 : x_floats)
}

/* References and floats of both words, s and what loc is. */
inline sum() {
	x_claims = (CLAIMS(s) < LFLOATS(loc[o]) -> CLAIMS(s) : LFLOATS(loc[o]));
	x_count = LCOUNT(loc[o]) + COUNT(s) - x_claims - ((s & QUEUED) -> 1 : 0);
	x_floats = LFLOATS(loc[o]) + FLOATS(s) - x_claims
}

/* The one place where loc and sh become one: count and floats of loc are added,
 * and each claim that meets a float of the owner gives back its count. */
inline merge(count, floats, clear) {
	x = sh[o];
	x_claims = (CLAIMS(x) < (floats) || BUG == 34 -> CLAIMS(x) : (floats));
	x_count = COUNT(x) + (count) - x_claims;
	x_floats = FLOATS(x) + (floats) - x_claims;
#if BUG == 14
	x_floats = (floats) - x_claims;
#elif BUG == 15
	x_floats = FLOATS(x);
#elif BUG == 16
	x_count = COUNT(x) + (count);
	x_floats = FLOATS(x) + (floats) - CLAIMS(x);
#elif BUG == 17
	x_count = COUNT(x) + (count) - (clear -> x_claims : 0);
#elif BUG == 35
	x_count = COUNT(x) + (count) - (clear -> 0 : x_claims);
#endif
	x = (x & QUEUED & ~(clear)) | MERGED | ALIVE;
	x_dead = x_count <= 0 && !(x & QUEUED);
	assert(F_ROGUE || (x_count >= 0 && x_floats >= 0 && (x_floats <= x_count + (pc == REL_MERGE -> 1 : 0) || refs[o] == 0)));
	clamp();
	SET_SH(x_count * ONE + x_floats * FLOAT + x)
}

inline register() {
	TOUCH;
	if
	:: MINE(loc[o]) ->
		s = sh[o];
		pc = (NEWS(s) -> REG_CLEAR : (FLOATS(s) > 0 && (LFLOATS(loc[o]) == 0 || BUG != 36) -> REG_SINK : REG_OWN));
#if BUG == 16
		pc = (LFLOATS(loc[o]) + FLOATS(s) > CLAIMS(s) -> REG_OWN : REG_MORE);
#elif BUG == 19
		pc = REG_OWN;
#endif
		s = (pc == REG_OWN || pc == REG_MORE -> 0 : s)
	:: else ->
#if BUG == 22
		l = loc[o];
		pc = REG_LATE
#else
		s = sh[o];
		if
		:: !(s & ALIVE) && BUG != 23 || ZERO(s) && BUG != 33 -> NOT_LIVE
		:: else -> pc = (FLOATS(s) > 0 -> REG_SINK : ((s & MERGED) -> REG_COUNT : REG_LOOK))
		fi
#endif
	fi
}

/* A registration ends with an entry in the scope of the thread. */
inline registered() {
	if
	:: tkn -> tok[o]--; tokens[o]--; taken[o] = taken[o] && tokens[o] > 0
	:: else -> plain[o]--; refs[o]++
	fi;
	if
	:: ctx == 1 -> HERE(o)++
	:: else -> ent[o]++
	fi;
	REST
}

inline unregister() {
	TOUCH;
	if
	:: MINE(loc[o]) ->
		s = sh[o];
		pc = (NEWS(s) && BUG != 16 && BUG != 20 -> UNREG_CLEAR : UNREG_OWN);
		s = 0
	:: !MINE(loc[o]) && (!(sh[o] & ALIVE) || ZERO(sh[o])) -> NOT_LIVE
	:: else ->
#if BUG == 40
		l = loc[o]; pc = UNREG_SUM
#else
		SET_SH(sh[o] + FLOAT); tok[o]++; REST
#endif
	fi
}

inline acquire() {
	TOUCH;
	if
	:: MINE(loc[o]) -> SET_LOC(loc[o] + 1); acq[o]++; refs[o]++; REST
	:: !MINE(loc[o]) && (!(sh[o] & ALIVE) && BUG != 24 || ZERO(sh[o]) && BUG != 33) -> NOT_LIVE
	:: else -> SET_SH(sh[o] + ONE); acq[o]++; refs[o]++; REST
	fi
}

/* For the thread itself, or for the context that it serves. When every reference floats, a float goes with the reference,
 * in the same step. The owner does not look at sh while none floats in loc. */
inline release() {
	TOUCH;
	l = loc[o];
	if
	:: !MINE(l) -> w = OWNER(l); g = gen[o]; l = 0; pc = REL_OTHER
	:: MINE(l) && LCOUNT(l) > 1 && LFLOATS(l) == 0 -> SET_LOC(l - 1); REST
	:: MINE(l) && LCOUNT(l) > 1 && LFLOATS(l) > 0 -> pc = REL_OWN
	:: MINE(l) && LCOUNT(l) == 1 -> pc = REL_LAST
	fi
}

/* Whether the float that may have to go with a reference of sh, which s is, cannot be seen there. */
#define MUST_LOOK(s) (((s) & (MERGED | ALIVE)) == ALIVE && (CLAIMS(s) > 0 || FLOATS(s) > 0 || COUNT(s) <= 0))

/* What floats in s or in loc is a counted reference's from now on. */
#define SUNK(s) (FLOATS(s) > 0 -> (s) - FLOAT : (s) + ONE + (CLAIMS(s) < LIMIT -> CLAIM : 0))

inline share() { TOUCH; l = loc[o]; s = (BUG == 57 -> sh[o] : 0); SET_LOC(0); pc = SHARE_MERGE }

inline take() { nodes = INBOX(word[serve]); word[serve] = STATE(word[serve]); REST }

inline borrow(c, how) {
	assert(holder[c] == 0 && serve == 0);
	holder[c] = me; word[c] = word[c] | BORROWED; serve = c; mode = how
}

inline adopt() {
	assert(holder[1] == 0);
	holder[1] = me; word[1] = INBOX(word[1]) | ACTIVE; ctx = 1; serve = 1; mode = ADOPTS; pc = ADOPTED;
#if BUG == 3
	word[1] = ACTIVE;
#elif BUG == 7
	ctx = 2; serve = 0; mode = 0; word[2] = ACTIVE; holder[2] = me; pc = NEXT;
#endif
	skip
}

inline less() { left = (left > 0 -> left - 1 : 0) }

#define FLOATED(x) tokens[x]++; taken[x] = taken[x] || plain[x] > 0

/* What a thread may do next with object x.  What gets rid of its references
 * costs nothing, floating ones first; everything else uses up what is left. */
#define CHOICES(x) \
	:: tok[x] > 0 && flight[NO + x] == 0 -> o = x; tkn = true; MORE; pc = REG \
	:: tok[x] > 0 && MAY_GIVE(x) -> o = x; tok[x]--; tokens[x]--; refs[x]--; GIVES; pc = REL \
	:: tok[x] == 0 && acq[x] > 0 && MAY_RELEASE(x) -> o = x; acq[x]--; refs[x]--; MORE; pc = REL \
	:: tok[x] == 0 && ent[x] > 0 && MAY_RELEASE(x) -> o = x; ent[x]--; refs[x]--; MORE; pc = REL \
	:: tok[x] == 0 && ctx == 1 && HERE(x) > 0 && MAY_RELEASE(x) -> o = x; HERE(x)--; refs[x]--; MORE; pc = REL \
	:: F_MOVE && box[x] > 0 -> box[x]--; tok[x]++ \
	:: left > 0 && F_MOVE && tok[x] > 0 -> left--; tok[x]--; box[x]++ \
	:: left > 0 && F_ACQUIRE && HOLDS(x) && flight[NO + x] == 0 -> left--; o = x; MORE; pc = ACQ \
	:: left > 0 && F_PLAIN && HOLDS(x) && tok[x] == 0 && flight[NO + x] == 0 -> \
		left--; o = x; MORE; plain[x]++; taken[x] = taken[x] || tokens[x] > 0; pc = REG \
	:: left > 0 && F_FLOAT && ent[x] > 0 -> left--; o = x; ent[x]--; MORE; FLOATED(x); pc = UNREG \
	:: left > 0 && F_FLOAT && ctx == 1 && HERE(x) > 0 -> left--; o = x; HERE(x)--; MORE; FLOATED(x); pc = UNREG \
	:: left > 0 && F_SHARE && HOLDS(x) && MINE(loc[x]) -> left--; o = x; pc = SHARE \
	:: left > 0 && F_WEAK && !HOLDS(x) && flight[NO + x] == 0 -> left--; o = x; MORE; pc = WEAK \
	:: left > 0 && F_DEAD && !HOLDS(x) && (sh[x] == 0 || sh[x] == (MERGED | ALIVE)) -> \
		left--; o = x; stale = true; if :: pc = REG :: pc = UNREG :: pc = ACQ :: pc = REL fi \
	:: left > 0 && F_AGAIN && ctx == 1 && refs[x] == 1 && HERE(x) == 1 && loc[x] == LOC(1, 0, 1) && sh[x] == ALIVE -> \
		left--; o = x; refs[x]--; pc = REL \
	:: F_AGAIN && ctx == MAKER && freed[x] && refs[x] == 0 && !given && (left > 0 || F_ROGUE) -> \
		less(); o = x; freed[x] = false; pc = ALLOC \
	:: F_ROGUE && gift > 0 && me == OWNING -> gift--; acq[x]++ \
	:: F_ROGUE && left > 0 && me == REMOTE && window[x] && !given -> left--; o = x; stale = true; pc = REL

/* Whether no thread is inside an operation. */
#define IDLE(p) (Thread[p]:pc == NEXT && Thread[p]:serve == 0 && Thread[p]:dead == 0)
#if NA == 0
#define QUIET   (IDLE(1) && IDLE(2))
#elif NA == 1
#define QUIET   (IDLE(1) && IDLE(2) && IDLE(3))
#else
#define QUIET   (IDLE(1) && IDLE(2) && IDLE(3) && IDLE(4))
#endif

/* The words tell how many references there are, and how many of them float. */
inline count_right() {
	if
	:: QUIET && !freed[o] && !F_ROGUE && !taken[o] ->
		s = sh[o];
		sum();
		assert(x_count == refs[o] && (x_floats == tokens[o] || refs[o] == 0));
		s = 0
	:: else
	fi
}

/* a: it has an acquired reference to each object, t: a floating one. */
proctype Thread(byte me, ctx, left; byte a, t) {
	mtype pc = (me == LAST -> START : NEXT);
	byte o, g, w, l;         /* object, generation, context, and loc as it was read */
	short s;                 /* sh as it was read */
	byte serve, mode, nodes; /* the context that is served, how, and what came from its inbox */
	byte scan, dead;         /* the context that is being looked at; objects whose memory is to be freed */
	byte kind = 2 * NO;      /* where it is counted in flight */
	byte acq[NO] = a, tok[NO] = t, ent[NO];
	bool tkn, gives, stale, fresh = me > REMOTE && me < LAST;

	do
	/* Between operations.  Adopters are alike: they start in their order. */
	:: atomic { pc == NEXT && serve == 0 && dead == 0 && !(fresh && started < me - 3) ->
		count_right();
		if
		CHOICES(0)
#if NO > 1
		CHOICES(1)
#endif
		:: left > 0 && ctx != 0 && INBOX(word[ctx]) != 0 -> left--; serve = ctx; mode = POLLS; pc = TAKE
		:: fresh && reap_flag -> pc = REAP
		:: fresh && (STATE(word[1]) == PARKED || (BUG == 9 && STATE(word[1]) == BORROWED)) -> adopt()
		:: ctx != 0 && BOTH(MAY_RELEASE) && (!F_ROGUE || (given && (gift == 0 || me == REMOTE))) -> pc = PARK
		:: ctx == 0 && scan != 0 -> scan = (scan + 1) % 3; pc = (scan != 0 -> REAP_LOOK : NEXT)
		:: ctx == 0 && scan == 0 && BOTH(NONE) -> if :: me == LAST -> pc = CHECK :: else -> done++; break fi
		fi;
		started = (fresh -> me - 2 : started);
		fresh = false;
		if
		:: pc == REG -> register()
		:: pc == UNREG -> unregister()
		:: pc == ACQ -> acquire()
		:: pc == REL -> release()
		:: pc == SHARE -> share()
		:: pc == TAKE -> take()
		:: else
		fi }

	/* Register. */
	:: d_step { pc == REG -> register() }
	:: d_step { pc == REG_OWN || pc == REG_MORE ->
		TOUCH;
		SET_LOC((LFLOATS(loc[o]) > 0 && pc == REG_OWN -> loc[o] - LOC(0, 1, 0) : loc[o] + 1));
		registered() }
	:: d_step { pc == REG_LOOK -> /* does a reference of the owner's float, or is it on its way into sh? */
		TOUCH;
		assert(LFLOATS(loc[o]) <= LIMIT || BUG == 39);
		pc = (OWNER(loc[o]) == 0 && BUG != 21 -> REG_WAIT :
			(LFLOATS(loc[o]) > (BUG == 16 -> CLAIMS(s) : 0) -> REG_CLAIM : REG_COUNT)) }
#if BUG == 22
	:: d_step { pc == REG_LATE ->
		s = sh[o];
		pc = (FLOATS(s) > 0 -> REG_SINK : ((s & MERGED) -> REG_COUNT :
			(OWNER(l) == 0 -> REG_WAIT : (LFLOATS(l) > 0 -> REG_CLAIM : REG_COUNT))));
		l = 0 }
#endif
	:: d_step { pc == REG_SINK || pc == REG_CLAIM || pc == REG_COUNT ->
		TOUCH;
		if
		:: sh[o] != s && pc != REG_COUNT -> s = 0; pc = REG
		:: sh[o] == s && pc == REG_SINK -> SET_SH(s - FLOAT); registered()
		:: sh[o] == s && pc == REG_CLAIM ->
			SET_SH(s + (CLAIMS(s) < LIMIT -> CLAIM : 0) + (BUG == 16 || BUG == 37 -> 0 : ONE)); registered()
		:: pc == REG_COUNT && (sh[o] & ALIVE) && !ZERO(sh[o]) -> SET_SH(sh[o] + ONE); registered()
		:: pc == REG_COUNT && !((sh[o] & ALIVE) && !ZERO(sh[o])) -> NOT_LIVE
		fi }
	:: d_step { pc == REG_WAIT && sh[o] != s -> s = 0; pc = REG } /* the merge is under way */

	/* Unregister: the entry has gone, its reference floats. */
	:: d_step { pc == UNREG -> unregister() }
	:: d_step { pc == UNREG_OWN ->
		TOUCH;
		if
		:: (LFLOATS(loc[o]) < LIMIT || BUG == 39) && (LFLOATS(loc[o]) < LCOUNT(loc[o]) || BUG == 59) -> SET_LOC(loc[o] + LOC(0, 1, 0))
		:: else -> SET_SH(sh[o] + FLOAT)
		fi;
		tok[o]++;
		REST }

#if BUG == 40
	:: d_step { pc == UNREG_SUM ->
		x = sh[o];
		x_claims = (CLAIMS(x) < LFLOATS(l) -> CLAIMS(x) : LFLOATS(l));
		x_floats = FLOATS(x) + LFLOATS(l) - x_claims;
		x_count = COUNT(x) + LCOUNT(l) - x_claims - ((x & QUEUED) -> 1 : 0);
		SET_SH((x_floats >= x_count -> x : x + FLOAT));
		tok[o]++;
		REST }
#endif

	/* The owner that finds news merges, or claims would meet floats made later. */
	:: d_step { pc == REG_CLEAR || pc == UNREG_CLEAR ->
		TOUCH; l = loc[o]; s = 0; SET_LOC(0); pc = (pc == REG_CLEAR -> REG_MERGE : UNREG_MERGE) }
	:: d_step { pc == REG_MERGE || pc == UNREG_MERGE ->
		TOUCH;
		merge(LCOUNT(l), LFLOATS(l), 0);
		l = 0;
		pc = (pc == REG_MERGE -> REG : UNREG) }

	/* Release. */
	:: d_step { pc == REL -> release() }
	:: d_step { pc == REL_OWN -> /* the floats of loc stay within its count */
		TOUCH;
		x = sh[o];
		if
		:: !NEWS(x) && LFLOATS(l) < LCOUNT(l) && LFLOATS(l) + FLOATS(x) < LCOUNT(l) + COUNT(x) -> SET_LOC(l - 1); REST
		:: x == ALIVE && LFLOATS(l) == LCOUNT(l) -> SET_LOC(l - LOC(0, 1, 1)); REST
		:: !NEWS(x) && LFLOATS(l) < LCOUNT(l) && LFLOATS(l) + FLOATS(x) >= LCOUNT(l) + COUNT(x) -> SET_LOC(l - 1); pc = REL_FLOAT
		:: else -> pc = REL_ZERO
		fi }
	:: d_step { pc == REL_FLOAT -> /* a float of sh goes along, if others have left one */
		TOUCH;
		x = sh[o];
		if
		:: FLOATS(x) > 0 && !NEWS(x) -> SET_SH(x - FLOAT); REST
		:: else -> pc = SHARE
		fi }
	:: d_step { pc == REL_LAST ->
		TOUCH;
		x = (BUG == 6 -> ALIVE : sh[o]);
		pc = (x == ALIVE -> KILL : (BUG == 13 -> REL_MERGE : REL_ZERO));
		window[o] = F_ROGUE && x == ALIVE }
#if BUG == 13
	:: d_step { pc == REL_MERGE -> TOUCH; merge(LCOUNT(l) - 1, LFLOATS(l), 0); g = x_dead; pc = REL_ZERO }
	:: d_step { pc == REL_ZERO -> SET_LOC(0); x_dead = g; REST_OR_KILL }
#else
	:: d_step { pc == REL_ZERO -> TOUCH; SET_LOC(0); pc = REL_MERGE }
	:: d_step { pc == REL_MERGE -> TOUCH; merge(LCOUNT(l) - 1, LFLOATS(l), 0); REST_OR_KILL }
#endif
	/* Does every reference float? loc is read while sh stays what it is. */
	:: d_step { pc == REL_LOOK ->
		TOUCH;
		sum();
		gives = x_count > 1 && x_floats >= x_count;
#if BUG == 54
		gives = x_count > 1 && x_floats > 0;
#elif BUG == 55
		gives = gives && FLOATS(s) > 0;
#endif
		pc = (OWNER(loc[o]) == 0 && BUG != 5 -> REL_WAIT : REL_SAME) }
	:: d_step { pc == REL_WAIT && sh[o] != s -> s = 0; gives = false; pc = REL_OTHER } /* the merge is under way */
	:: d_step { pc == REL_OTHER || pc == REL_SAME ->
		TOUCH;
		x = sh[o];
		gives = gives && (x == s || BUG == 56);
		pc = (pc == REL_SAME && x != s && BUG != 56 -> REL_OTHER : pc);
		s = 0;
		if
		:: pc == REL_OTHER && MUST_LOOK(x) && !stale -> s = x; pc = REL_LOOK
		:: pc == REL_SAME || !(MUST_LOOK(x) && !stale) ->
		if
		:: F_ROGUE && stale && !MAY_MARK -> REST
		:: !(F_ROGUE && stale && !MAY_MARK) && (!(x & ALIVE) || ZERO(x)) && BUG != 25 -> NOT_LIVE
		:: else ->
			x = (gives -> SUNK(x) : x);
			x_count = (BUG == 16 || BUG == 18 -> 0 : CLAIMS(x));
			if
			:: (!(x & QUEUED) || BUG == 12) && !(x & MERGED) && COUNT(x) <= x_count && w != 0 ->
				SET_SH(x | QUEUED); gives = false; pc = (F_ROGUE == 2 && stale -> LATE : DELIVER)
#if BUG == 48
			:: (x & MERGED) && !(x & QUEUED) && COUNT(x) == 1 -> pc = REL_PLAIN
#endif
			:: else ->
				x_count = COUNT(x) - 1;
				x_dead = (x & MERGED) && (x_count <= 0 && !(x & QUEUED) || x_count == 1 && (x & QUEUED) && BUG == 10);
				x_floats = FLOATS(x);
				if
				:: x & MERGED -> clamp()
				:: else
				fi;
				SET_SH(x_count * ONE + x_floats * FLOAT + (x & (FLOAT - 1)));
				REST_OR_KILL
			fi
		fi
		fi }

#if BUG == 48
	:: d_step { pc == REL_PLAIN -> SET_SH(0); died(); REST }
#endif

	/* A later object that was marked gets the queue's reference as one more, if its owner has not stored over the mark. */
	:: d_step { pc == LATE ->
		if
		:: gen[o] == g || BUG == 51 -> pc = DELIVER
		:: gen[o] != g && BUG != 51 && ((sh[o] & QUEUED) || BUG == 50) ->
			SET_SH(sh[o] + (BUG == 52 -> 0 : ONE)); g = LATER; pc = DELIVER
		:: else -> NOT_LIVE
		fi }

	/* Upgrade a weak reference to the object that was first in this record. */
	:: d_step { pc == WEAK -> if :: gen[o] == 0 -> pc = WEAK_LOC :: else -> REST fi }
	:: d_step { pc == WEAK_LOC -> pc = (MINE(loc[o]) -> WEAK_OWN : WEAK_READ) }
	:: d_step { pc == WEAK_OWN -> /* what waits for this thread has no reference left */
		TOUCH;
		x = sh[o];
		x_claims = (CLAIMS(x) < LFLOATS(loc[o]) -> CLAIMS(x) : LFLOATS(loc[o]));
		x_count = LCOUNT(loc[o]) + COUNT(x) - x_claims - ((x & QUEUED) -> 1 : 0);
		if
		:: x_count > 0 -> pc = WEAK_COUNT
		:: else -> REST
		fi }
	:: d_step { pc == WEAK_COUNT -> TOUCH; SET_LOC(loc[o] + 1); acq[o]++; refs[o]++; REST }
	:: d_step { pc == WEAK_READ -> s = sh[o]; pc = WEAK_LOOK }
	:: d_step { pc == WEAK_LOOK -> /* gone, or another thread's */
		if
		:: gen[o] != 0 || !(s & ALIVE) || (ZERO(s) && BUG != 47) || (!(s & MERGED) && BUG != 43) -> REST
		:: else -> pc = WEAK_TRY
		fi }
	:: d_step { pc == WEAK_TRY ->
		if
		:: sh[o] != s && BUG != 49 -> s = sh[o]; pc = WEAK_LOOK
		:: else -> sh[o] = sh[o] + ONE; refs[o] = refs[o] + (gen[o] == 0 -> 1 : 0); pc = WEAK_CONFIRM
		fi }
	:: d_step { pc == WEAK_CONFIRM ->
		if
		:: gen[o] == 0 || BUG == 44 -> assert(gen[o] == 0 && !freed[o]); acq[o]++; REST
		:: gen[o] != 0 && BUG == 45 -> REST
		:: gen[o] != 0 && BUG == 46 -> SET_SH(sh[o] - ONE); REST
		:: else -> s = 0; w = OWNER(loc[o]); g = gen[o]; pc = REL_OTHER
		fi }

	/* Who brought the count to zero kills: sh is exchanged with 0, then loc goes. */
	:: d_step { pc == KILL ->
		TOUCH;
		x = sh[o];
		window[o] = false;
		SET_SH(0);
		if
		:: (x & ALIVE) && OWNER(loc[o]) != 0 -> pc = KILLED
		:: (x & ALIVE) && OWNER(loc[o]) == 0 -> died(); REST
		:: else -> REST
		fi }
	:: d_step { pc == KILLED -> SET_LOC(0); died(); REST }

	/* Deliver the node to the owner, or do what a parked owner cannot. */
	:: d_step { pc == DELIVER ->
		assert(!(word[w] & NODE(o, g)));
#if BUG == 1
		if
		:: STATE(word[w]) == PARKED -> serve = w; mode = POLLS; nodes = NODE(o, g)
		:: else -> word[w] = word[w] | NODE(o, g)
		fi;
		REST }
#elif BUG == 8
		s = STATE(word[w]);
		pc = DELIVER_LATE }
	:: d_step { pc == DELIVER_LATE ->
		word[w] = word[w] | NODE(o, g);
		if :: s == PARKED && STATE(word[w]) == PARKED -> borrow(w, BORROWS) :: else fi;
		REST }
#else
		word[w] = word[w] | NODE(o, g);
		if :: STATE(word[w]) == PARKED -> borrow(w, BORROWS) :: else fi;
		REST }
#endif
	/* Or raise the flag for a parked owner, and reap it. */
	:: d_step { pc == DELIVER && ctx == 0 && BUG != 1 && BUG != 8 ->
#if BUG == 42
		if :: STATE(word[w]) == PARKED -> pc = DELIVER_PUSH :: else -> word[w] = word[w] | NODE(o, g); REST fi;
		reap_flag = reap_flag || pc == DELIVER_PUSH }
	:: d_step { pc == DELIVER_PUSH -> word[w] = word[w] | NODE(o, g); REST; pc = DELIVER_REAP }
#else
		word[w] = word[w] | NODE(o, g);
		s = STATE(word[w]);
		if :: s == PARKED && BUG != 41 -> REST; pc = DELIVER_FLAG :: else -> REST fi }
	:: d_step { pc == DELIVER_FLAG -> reap_flag = true; pc = DELIVER_REAP }
#endif
	:: d_step { pc == DELIVER_REAP -> pc = (reap_flag -> REAP : NEXT) }

	/* Serve a context: its inbox, then its open scopes. */
	:: d_step { pc == ADOPTED || pc == TAKE -> take() }
	:: d_step { pc == NEXT && serve != 0 && nodes == 0 && mode >= BORROWS && INBOX(word[serve]) != 0 -> take() }
	:: d_step { pc == NEXT && serve != 0 && nodes != 0 ->
		do
		:: !(nodes & NODE(o, g)) -> o = o + g / 2; g = (g + 1) % 3
		:: else -> break
		od;
		nodes = nodes - NODE(o, g);
		g = (g == LATER -> 1 : g);
		if
		:: gen[o] == g && !(sh[o] & QUEUED) && (sh[o] & MERGED) && BUG != 53 -> l = 0; w = 0; pc = REL_OTHER
		:: (gen[o] == g || BUG == 26) && (sh[o] & QUEUED) ->
			l = loc[o];
			if
			:: OWNER(l) != 0 -> SET_LOC(0)
			:: else -> l = 0
			fi;
			pc = SETTLE
		:: else -> REST
		fi }
	:: d_step { pc == SETTLE ->
		TOUCH;
		merge(LCOUNT(l) - (BUG == 11 -> 0 : 1), LFLOATS(l), QUEUED);
		REST_OR_KILL }
	:: d_step { pc == NEXT && serve != 0 && nodes == 0 && OPEN(serve) && CLOSES && DRAINED && flight[NO] + flight[2 * NO - 1] == 0 ->
		do
		:: scope[PAIR(o, g)] == 0 -> o = o + g / 2; g = (g + 1) % 3
		:: else -> break
		od;
		scope[PAIR(o, g)]--;
		if
		:: gen[o] == g -> refs[o]--; MORE; pc = REL
		:: gen[o] != g && BUG == 27 -> pc = REL
		:: gen[o] != g && BUG != 27 -> REST
		fi }
	:: d_step { pc == NEXT && serve != 0 && nodes == 0 && mode >= BORROWS && DRAINED && !(OPEN(serve) && CLOSES) ->
		if
		:: BUG == 4 -> pc = BACK
		:: else -> holder[serve] = 0; word[serve] = PARKED; serve = 0; mode = 0
		fi }
	:: d_step { pc == BACK -> holder[serve] = 0; word[serve] = PARKED; serve = 0; mode = 0; pc = NEXT }
	:: d_step { pc == NEXT && serve == 0 && dead != 0 -> o = (dead & 1 -> 0 : 1); dead = dead & ~(1 << o); free(); o = 0 }

	/* Share. */
	:: d_step { pc == SHARE -> share() }
	:: d_step { pc == SHARE_MERGE ->
		TOUCH;
#if BUG == 57
		sh[o] = s;
#endif
		merge(LCOUNT(l), LFLOATS(l), 0);
		REST }

	/* The end of a thread. */
	:: d_step { pc == PARK && BUG == 2 && INBOX(word[ctx]) != 0 -> serve = ctx; mode = POLLS; take() }
	:: d_step { pc == PARK && BUG == 2 && INBOX(word[ctx]) == 0 -> pc = PARK_LATE }
	:: d_step { pc == PARK && BUG == 31 ->
		reap_flag = reap_flag || INBOX(word[ctx]) != 0 || OPEN(ctx); pc = PARK_LATE }
	:: d_step { (pc == PARK && BUG != 2 && BUG != 31) || pc == PARK_LATE ->
		holder[ctx] = 0;
		word[ctx] = (BUG == 2 -> 0 : INBOX(word[ctx])) | PARKED;
		pc = ((INBOX(word[ctx]) != 0 || OPEN(ctx)) && BUG != 31 -> PARK_FLAG : NEXT);
		ctx = 0 }
	:: d_step { pc == PARK_FLAG -> reap_flag = true; pc = NEXT }

	/* Reap: lower the flag, then look. */
	:: d_step { pc == REAP -> reap_flag = reap_flag && BUG == 32; scan = 1; pc = REAP_LOOK }
	:: d_step { pc == NEXT && BUG == 32 && scan == 2 && serve == 0 && reap_flag -> reap_flag = false }
	:: d_step { pc == REAP_LOOK -> if :: STATE(word[scan]) == PARKED -> borrow(scan, REAPS) :: else fi; pc = NEXT }

	/* A second object in the record of the first. */
	:: d_step { pc == ALLOC ->
		assert(sh[o] == 0 && loc[o] == 0 && holder[ctx] == me);
		loc[o] = (F_WEAK -> 0 : (F_ROGUE -> LOC(ctx, 0, 3 - F_ROGUE) : LOC(ctx, 1, 1)));
		pc = ALLOC_LIVE }
	:: d_step { pc == ALLOC_LIVE ->
		sh[o] = (F_WEAK -> ONE | MERGED | ALIVE : ALIVE);
		given = true;
		if
		:: F_WEAK -> acq[o] = 1; refs[o] = 1
		:: F_ROGUE -> acq[o] = 1; gift = 2 - F_ROGUE; refs[o] = 3 - F_ROGUE
		:: !F_WEAK && !F_ROGUE -> tok[o] = 1; tokens[o] = 1; refs[o] = 1
		fi;
		REST }

	/* After everything. */
	:: d_step { pc == START && done == 2 + NA -> pc = (reap_flag -> REAP : CHECK) }
	:: d_step { pc == CHECK ->
		assert(!reap_flag && holder[1] == 0 && holder[2] == 0 && INBOX(word[1]) == 0 && INBOX(word[2]) == 0);
		assert(SCOPES == 0 && freed[0] && freed[NO - 1]) } -> break
	od
}

/* The owner has an entry or a floating reference, the remote thread a floating
 * or an acquired one, adopters acquired ones; some of the counts are in sh. */
init {
	byte i, c, f, n, to, tr;
	atomic {
		n = 1;
#if !F_AGAIN
		n = 2 + NA;
		if :: to = 0 :: to = 1 fi;
		if :: tr = 0 :: tr = 1 fi;
#endif
		if :: c = 0 :: n > 1 -> c = 1 :: F_SPLIT && n > 2 -> c = n - 1 fi;
		f = (to + tr > LIMIT || to + tr > n - c);
		if :: true :: F_SPLIT && to + tr > 0 && c > 0 -> f = 1 fi;
		do
		:: i < NO ->
			loc[i] = LOC(1, to + tr - f, n - c);
			sh[i] = c * ONE + f * FLOAT + ALIVE;
			refs[i] = n; tokens[i] = to + tr; scope[PAIR(i, 0)] = 1 - to;
			i++
		:: else -> break
		od;
		word[1] = ACTIVE; holder[1] = OWNING;
		word[2] = (F_ROGUE == 1) * ACTIVE; holder[2] = (F_ROGUE == 1) * REMOTE;
		run Thread(OWNING, 1, BT, 0, to);
		run Thread(REMOTE, (F_ROGUE == 1) * 2, BR, (F_AGAIN -> 0 : 1 - tr), tr);
		i = 0;
		do
		:: i < NA -> run Thread(3 + i, 0, BA, 1 - F_AGAIN, 0); i++
		:: else -> break
		od;
		run Thread(LAST, 0, 0, 0, 0);
		i = 0; c = 0; f = 0; n = 0; to = 0; tr = 0
	}
}
