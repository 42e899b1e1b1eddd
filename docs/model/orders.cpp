// The steps of the library in which memory orders matter, for Relacy, which runs them in every interleaving and lets
// every relaxed load return every value that C11 allows.
//
//   orders          all protocols to the end
//   orders NUMBER   the protocol of that mutant, in which one edge is weaker: it must fail
//   orders mutants  prints how many mutants there are
//
// README.md says which words these are. Orders are the shim's; Go's atomics are sequentially consistent, and written so.
#include <relacy/relacy.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>

namespace {

using order = rl::memory_order;

constexpr order relaxed = rl::mo_relaxed, acquire = rl::mo_acquire, release = rl::mo_release;
constexpr order acq_rel = rl::mo_acq_rel, seq_cst = rl::mo_seq_cst;

int bug; // the mutant that runs, 0 = none

// An edge of the protocol; mutant n is the one in which it is weak.
order edge(int n, order strong, order weak = relaxed) { return bug == n ? weak : strong; }

void fence_unless(int n, order o)
{
	if (bug != n) rl::atomic_thread_fence(o, $);
}

enum { ALIVE = 1, MERGED = 2, ONE = 16 };
int count(int sh) { return sh / ONE; }

// ---- records ---------------------------------------------------------------------------

// An object dies and its record serves another one, while a scope entry of the first life
// is released (tlc_drop_life) and somebody looks through all records.
struct lives : rl::test_suite<lives, 3> {
	enum { FIRST = ALIVE + MERGED + 2 * ONE, SECOND = ALIVE + MERGED + 3 * ONE };
	rl::atomic<int> sh, gen, type, field;

	void before()
	{
		sh($).store(FIRST, relaxed);
		gen($).store(1, relaxed);
		type($).store(0, relaxed);
		field($).store(7, relaxed); // what the first life has left in the memory
	}

	void thread(unsigned who)
	{
		if (who == 0) live_again();
		if (who == 1) release_entry();
		if (who == 2) scan();
	}

	void live_again()
	{
		sh($).store(0, relaxed); // tlc_clear_counts
		gen($).store(2, relaxed);
		field($).store(0, relaxed);
		type($).store(16, relaxed);
		sh($).store(SECOND, edge(1, release)); // tlc_set_counts
	}

	void release_entry()
	{
		bool early = bug == 3 && gen($).load(relaxed) == 1;
		int seen = sh($).load(edge(2, acquire));
		while (count(seen) >= 2) {
			if (!early && gen($).load(relaxed) != 1) return;
			int expected = seen;
			if (sh($).compare_exchange_strong(expected, seen - ONE, acq_rel, acquire)) {
				RL_ASSERT(seen != SECOND);
				return;
			}
			seen = expected;
		}
	}

	void scan()
	{
		if (sh($).load(edge(4, acquire)) != SECOND) return;
		RL_ASSERT(type($).load(relaxed) == 16);
		RL_ASSERT(field($).load(relaxed) == 0);
	}
};

// Two threads with a reference each to an object without an owner: a tensor, or a block
// that NumPy holds. The last one reads the header before it takes the object apart.
struct last_reference : rl::test_suite<last_reference, 2> {
	rl::atomic<int> sh;
	rl::var<int> header, bytes[2];

	void before()
	{
		sh($).store(ALIVE + MERGED + 2 * ONE, relaxed);
		header($) = bytes[0]($) = bytes[1]($) = 0;
	}

	void thread(unsigned me)
	{
		bytes[me]($) = 1;
		if (me == 0) header($) = 1;
		drop();
	}

	void drop()
	{
		int seen = sh($).load(edge(5, acquire));
		for (;;) {
			if (count(seen) == 1) {
				(void)int(header($));
				if (!sh($).compare_exchange_strong(seen, 0, acq_rel, relaxed)) RL_ASSERT(!"two last ones");
				header($) = bytes[0]($) = bytes[1]($) = 2;
				return;
			}
			if (sh($).compare_exchange_strong(seen, seen - ONE, edge(6, acq_rel, acquire), edge(7, acquire))) return;
		}
	}
};

// The owner counts in loc, another thread in sh; whoever brings the sum to zero frees.
struct owner_and_other : rl::test_suite<owner_and_other, 2> {
	rl::atomic<int> loc, sh;
	rl::var<int> owners, others, freed;

	void before()
	{
		loc($).store(1, relaxed);
		sh($).store(ALIVE + ONE, relaxed);
		owners($) = others($) = freed($) = 0;
	}

	void after() { RL_ASSERT(int(freed($)) == 1); }

	void thread(unsigned who)
	{
		if (who == 0) release_own();
		else release_others();
	}

	void dispose()
	{
		owners($) = others($) = 2;
		freed($) = int(freed($)) + 1;
	}

	void release_own()
	{
		owners($) = 1;
		if (sh($).load(edge(8, acquire)) == ALIVE) return dispose();
		loc($).store(0, relaxed);
		int seen = sh($).load(relaxed); // merge, in Go
		while (!sh($).compare_exchange_strong(seen, seen + MERGED, edge(9, seq_cst), relaxed)) {}
		if (count(seen) == 0) dispose();
	}

	void release_others()
	{
		others($) = 1;
		int seen = sh($).load(acquire);
		for (;;) {
			bool last = (seen & MERGED) && count(seen) == 1;
			int next = last ? 0 : seen - ONE;
			if (sh($).compare_exchange_strong(seen, next, last ? seq_cst : edge(10, acq_rel, acquire), acquire)) {
				if (last) dispose();
				return;
			}
		}
	}
};

// ---- contexts --------------------------------------------------------------------------

enum { ACTIVE = 1, PARKED = 2, BORROWED = 3, STATE = 3, NODE = 4 };

// A thread ends and parks its context; another one delivers a node, which the owner's
// successor or the deliverer itself finds; a third adopts.
struct handover : rl::test_suite<handover, 3> {
	rl::atomic<int> word;
	rl::var<int> context, node;

	void before()
	{
		word($).store(ACTIVE, relaxed);
		context($) = node($) = 0;
	}

	void thread(unsigned who)
	{
		if (who == 0) park();
		if (who == 1) deliver();
		if (who == 2) adopt();
	}

	void park()
	{
		context($) = 1;
		int seen = word($).load(relaxed);
		while (!word($).compare_exchange_strong(seen, (seen & ~STATE) | PARKED, edge(11, seq_cst), relaxed)) {}
	}

	void deliver()
	{
		node($) = 1;
		int seen = word($).load(relaxed);
		for (;;) {
			bool borrow = (seen & STATE) == PARKED;
			int next = borrow ? BORROWED : seen + NODE;
			if (word($).compare_exchange_strong(seen, next, borrow ? edge(12, seq_cst) : edge(13, seq_cst), relaxed)) {
				if (borrow) {
					context($) = int(context($)) + 1;
					give_back();
				}
				return;
			}
		}
	}

	void give_back()
	{
		int seen = word($).load(relaxed);
		while (!word($).compare_exchange_strong(seen, (seen & ~STATE) | PARKED, edge(14, seq_cst), relaxed)) {}
	}

	void adopt()
	{
		int seen = word($).load(relaxed);
		if ((seen & STATE) != PARKED) return;
		if (!word($).compare_exchange_strong(seen, (seen & ~STATE) | ACTIVE, edge(15, seq_cst), relaxed)) return;
		context($) = int(context($)) + 1;
		if (word($).exchange(ACTIVE, edge(16, seq_cst)) >= NODE) node($) = 2; // drain
	}
};

// Two threads park with work and raise the flag; a reaper lowers it and looks. At the end
// the flag is up or all work was seen.
struct reaping : rl::test_suite<reaping, 3> {
	rl::atomic<int> word[2], flag;
	rl::var<int> seen;

	void before()
	{
		word[0]($).store(0, relaxed);
		word[1]($).store(0, relaxed);
		flag($).store(0, relaxed);
		seen($) = 0;
	}

	void after() { RL_ASSERT(flag($).load(seq_cst) == 1 || int(seen($)) == 2); }

	void thread(unsigned who)
	{
		if (who < 2) return park(who);
		if (flag($).exchange(0, edge(17, acq_rel)) == 0) return;
		seen($) = word[0]($).load(relaxed) + word[1]($).load(relaxed);
	}

	void park(unsigned me)
	{
		word[me]($).store(1, relaxed);
		if (bug == 18) flag($).store(1, release); // ends the release sequence of the other one's
		else flag($).exchange(1, edge(19, seq_cst));
	}
};

// ---- locks and versions -------------------------------------------------------------------

// A shard of the registry: written under its lock, read without by its version, and locked
// at the version that was read.
struct versions : rl::test_suite<versions, 2> {
	rl::atomic<unsigned> lock;
	rl::atomic<int> covers, starts;
	rl::var<int> entry;

	void before()
	{
		lock($).store(0, relaxed);
		covers($).store(0, relaxed);
		starts($).store(0, relaxed);
		entry($) = 0;
	}

	void thread(unsigned who)
	{
		if (who == 0) write();
		else read();
	}

	void write()
	{
		for (int i = 1; i <= 2; i++) {
			unsigned v = lock($).load(relaxed);
			if ((v & 1) || !lock($).compare_exchange_strong(v, v + 1, acquire, relaxed)) return;
			fence_unless(20, release);
			covers($).store(i, relaxed);
			entry($) = i;
			starts($).store(i, relaxed);
			lock($).store(v + 2, edge(21, release));
		}
	}

	void read()
	{
		unsigned v = lock($).load(edge(22, acquire));
		if (v & 1) return;
		int c = covers($).load(relaxed), s = starts($).load(relaxed);
		fence_unless(23, acquire);
		if (lock($).load(relaxed) != v) return;
		RL_ASSERT(c == s);
		unsigned expected = v;
		if (!lock($).compare_exchange_strong(expected, v + 1, acquire, relaxed)) return;
		RL_ASSERT(int(entry($)) == c); // what was seen without the lock holds under it
		lock($).store(v + 2, release);
	}
};

// A pool's lock: compare and swap, store.
struct pool_lock : rl::test_suite<pool_lock, 2> {
	rl::atomic<int> lock;
	rl::var<int> tables;

	void before()
	{
		lock($).store(0, relaxed);
		tables($) = 0;
	}

	void thread(unsigned)
	{
		int open = 0;
		if (!lock($).compare_exchange_strong(open, 1, edge(24, acquire), relaxed)) return;
		tables($) = int(tables($)) + 1;
		lock($).store(0, edge(25, release));
	}
};

// ---- the process ---------------------------------------------------------------------------

// The first call of one thread fills the shim's copy of the globals; another one, which has no
// context, classifies a low address meanwhile, and one inside the heap.
struct start : rl::test_suite<start, 3> {
	static constexpr unsigned long long nowhere = 1ull << 63, base = 1ull << 40;
	rl::atomic<unsigned long long> heap_base, heap_bytes;
	rl::var<int> spans;

	void before()
	{
		heap_base($).store(bug == 26 ? 0 : nowhere, relaxed);
		heap_bytes($).store(0, relaxed);
		spans($) = 0;
	}

	void thread(unsigned who)
	{
		if (who == 1) classify(64 << 10);
		if (who == 2) classify(base + 64);
		if (who != 0) return;
		heap_bytes($).store(1 << 30, relaxed);
		spans($) = 1;
		heap_base($).store(base, edge(27, release));
	}

	void classify(unsigned long long p)
	{
		unsigned long long offset = p - heap_base($).load(edge(28, acquire));
		if (offset < heap_bytes($).load(relaxed)) RL_ASSERT(int(spans($)) == 1);
	}
};

// The ring of listener.c. A pair is n, n; it comes round after three.
struct listener : rl::test_suite<listener, 2> {
	enum { RING = 3, SET = 4 };
	rl::atomic<unsigned> newest;
	rl::atomic<int> callback[RING], ctx[RING];

	void before()
	{
		newest($).store(0, relaxed);
		for (int i = 0; i < RING; i++) {
			callback[i]($).store(0, relaxed);
			ctx[i]($).store(0, relaxed);
		}
	}

	void thread(unsigned who)
	{
		if (who == 1) return call();
		for (int n = 1; n <= SET; n++) {
			fence_unless(29, release);
			callback[n % RING]($).store(n, relaxed);
			ctx[n % RING]($).store(n, relaxed);
			newest($).store(n, edge(30, release));
		}
	}

	void call()
	{
		for (int i = 0; i < 2; i++) {
			unsigned n = newest($).load(edge(31, acquire));
			int f = callback[n % RING]($).load(relaxed), c = ctx[n % RING]($).load(relaxed);
			fence_unless(32, acquire);
			if (newest($).load(relaxed) - n >= (bug == 33 ? RING : RING - 1)) continue;
			RL_ASSERT(f == c);
			return;
		}
	}
};

// tl_deferred_push and tl_deferred_take.
struct deferred : rl::test_suite<deferred, 3> {
	rl::atomic<int> list;
	rl::var<int> node[2];

	void before()
	{
		list($).store(0, relaxed);
		node[0]($) = node[1]($) = 0;
	}

	void thread(unsigned who)
	{
		if (who == 2) return take();
		int first = list($).load(relaxed);
		do node[who]($) = first;
		while (!list($).compare_exchange_strong(first, who + 1, edge(34, release), relaxed));
	}

	void take()
	{
		for (int n = list($).exchange(0, edge(35, acquire)); n != 0;) n = int(node[n - 1]($));
	}
};

enum { MUTANTS = 44 };
#include "orders_alone.hpp"
#include "orders_upgrade.hpp"

// ---- running ---------------------------------------------------------------------------------

// Runs a protocol, and tells how it failed where somebody wants to know.
template <class protocol>
rl::test_params outcome(std::ostream& why)
{
	static std::ostream quiet(nullptr);
	rl::test_params p;
	p.search_type = rl::sched_full;
	p.iteration_count = 50000000;
	p.output_stream = &why;
	p.progress_stream = &quiet;
	rl::simulate<protocol>(p);
	return p;
}

// Whether a protocol holds in every execution; or, of the mutants first to last, the one that runs.
template <class protocol>
bool holds(const char* name, int first, int last)
{
	if (bug != 0 && (bug < first || bug > last)) return true;
	std::ostream quiet(nullptr);
	const rl::test_params p = outcome<protocol>(quiet);
	const bool good = p.test_result == rl::test_result_success, whole = p.stop_iteration < p.iteration_count;
	if (bug != 0) {
		std::printf("mutant %-2d  %-16s %s\n", bug, name, good ? "SURVIVED" : rl::test_result_str(p.test_result));
		return good;
	}
	std::printf("%-16s %9llu executions  %s\n", name, static_cast<unsigned long long>(p.stop_iteration),
	            !good   ? rl::test_result_str(p.test_result)
	            : whole ? "no error"
	                    : "NOT EXHAUSTIVE");
	if (!good) outcome<protocol>(std::cerr);
	return good && whole;
}

} // namespace

int main(int argc, char** argv)
{
	if (argc > 1 && std::strcmp(argv[1], "mutants") == 0) return std::printf("%d\n", MUTANTS) < 0;
	bug = argc > 1 ? std::atoi(argv[1]) : 0;
	bool good = holds<lives>("lives", 1, 4);
	good &= holds<last_reference>("last reference", 5, 7);
	good &= holds<owner_and_other>("owner and other", 8, 10);
	good &= holds<handover>("handover", 11, 16);
	good &= holds<reaping>("reaping", 17, 19);
	good &= holds<versions>("versions", 20, 23);
	good &= holds<pool_lock>("pool lock", 24, 25);
	good &= holds<start>("start", 26, 28);
	good &= holds<listener>("listener", 29, 33);
	good &= holds<deferred>("deferred", 34, 35);
	good &= holds<upgrade>("upgrade", 36, 40);
	good &= holds<alone>("alone", 41, 44);
	return good == (bug != 0); // a mutant has to fail
}
