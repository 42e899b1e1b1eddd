// The first thread ends tensors without a compare-and-swap until a second one comes, for orders.cpp.
#ifndef TL_ORDERS_ALONE_HPP
#define TL_ORDERS_ALONE_HPP

// The first thread drops the only reference of an object (tlc_tensor_end in tensor.h) while the second one gets its
// context (countIn in runtime/object/alone.go) and upgrades a weak reference to that object (upgrade in object/refs.c).
// The processor's barrier that the second thread has the first one pass, and the compiler's fence there, order what two
// sequentially consistent fences would order, one in each thread (Goldblatt, WG21 P1202, 2018).
struct alone : rl::test_suite<alone, 2> {
	enum { HELD = ALIVE + MERGED + ONE };
	rl::atomic<int> is_alone, busy, sh;
	rl::var<int> content; // of the object, as long as somebody has a reference
	bool upgraded, ended;

	void before()
	{
		is_alone($).store(1, relaxed);
		busy($).store(0, relaxed);
		sh($).store(HELD, relaxed);
		content($) = 1;
		upgraded = ended = false;
	}

	void after() { RL_ASSERT(upgraded != ended); }

	void thread(unsigned who)
	{
		if (who == 0) first();
		else second();
	}

	void first()
	{
		ended = end();
		if (ended) content($) = 0;
	}

	bool end()
	{
		int seen = sh($).load(acquire);
		if (seen != HELD) return false;
		if (is_alone($).load(relaxed)) {
			busy($).store(1, relaxed);
			fence_unless(41, seq_cst);
			const bool still = bug == 42 || is_alone($).load(relaxed);
			if (still) sh($).store(0, release);
			busy($).store(0, release);
			if (still) return true;
		}
		return sh($).compare_exchange_strong(seen, 0, acq_rel, relaxed);
	}

	void second()
	{
		is_alone($).store(0, seq_cst);
		fence_unless(43, seq_cst);
		while (bug != 44 && busy($).load(seq_cst)) rl::yield(1, $);
		int seen = sh($).load(acquire);
		do {
			if (count(seen) == 0) return;
		} while (!sh($).compare_exchange_strong(seen, seen + ONE, acquire, acquire));
		upgraded = true;
		RL_ASSERT(int(content($)) == 1);
	}
};

#endif
