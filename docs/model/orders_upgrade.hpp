// The upgrade of a weak reference, for orders.cpp.
#ifndef TL_ORDERS_UPGRADE_HPP
#define TL_ORDERS_UPGRADE_HPP

// The last counted reference goes while another thread upgrades a weak one (upgrade in object/refs.c); then the
// slot gets another object, whose counts look like those of the first.
struct upgrade : rl::test_suite<upgrade, 2> {
	enum { HELD = ALIVE + MERGED + ONE };
	rl::atomic<int> sh, gen;
	rl::var<int> content, used[2]; // what the maker of an object wrote, and what each of its holders did

	void before()
	{
		sh($).store(HELD, relaxed);
		gen($).store(1, relaxed);
		content($) = 1;
		used[0]($) = used[1]($) = 0;
	}

	void thread(unsigned who)
	{
		if (who == 0) end_and_make();
		else upgrade_and_drop();
	}

	// Whether it was the last reference: then the slot is the caller's.
	bool drop(order releasing)
	{
		int seen = sh($).load(acquire);
		for (;;) {
			const bool last = count(seen) == 1;
			if (sh($).compare_exchange_strong(seen, last ? 0 : seen - ONE, last ? acq_rel : releasing, acquire))
				return last;
		}
	}

	void dispose()
	{
		content($) = 0;
		used[0]($) = used[1]($) = 0;
	}

	void end_and_make()
	{
		used[0]($) = 1;
		if (!drop(edge(36, acq_rel, acquire))) return;
		dispose();
		gen($).store(2, relaxed);
		content($) = 2;
		sh($).store(HELD, edge(37, release)); // tlc_set_counts
	}

	void upgrade_and_drop()
	{
		int seen = sh($).load(acquire);
		do {
			if (gen($).load(relaxed) != 1 || !(seen & ALIVE) || count(seen) == 0) return;
		} while (!sh($).compare_exchange_strong(seen, seen + ONE, edge(38, acquire), acquire));
		if (gen($).load(relaxed) == 1 || bug == 39) {
			RL_ASSERT(int(content($)) == 1);
			used[1]($) = 1;
		}
		if (drop(edge(40, acq_rel, acquire))) dispose();
	}
};

#endif
