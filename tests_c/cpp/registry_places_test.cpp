// Blocks at random places, of every size and alignment that makes a difference to the table's units and regions,
// beside a list that is searched from end to end. Half of the calls go through the slow path, so that both paths
// work on one table.
//
//   registry_places_test [SEED [STEPS]]
#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "../check.h"

// What the registry calls for the blocks of this test, at which nothing is.
void operator delete[](void*) noexcept {}
void operator delete[](void*, std::size_t) noexcept {}

namespace {

constexpr std::uintptr_t kBase = std::uintptr_t{1} << 44;
constexpr std::size_t kMost = 300;

struct Block {
	std::uintptr_t start;
	std::size_t bytes;
};

std::vector<Block> live;
std::mt19937_64 random_bits;

std::uint64_t below(std::uint64_t n) { return random_bits() % n; }
void* at(std::uintptr_t p) { return reinterpret_cast<void*>(p); }
std::uintptr_t granules_end(const Block& b) { return (b.start + b.bytes + 15) & ~std::uintptr_t{15}; }

bool overlap(const Block& a, const Block& b) { return a.start < granules_end(b) && b.start < granules_end(a); }

// Is there a block that begins where b fills 64 KiB? The registry does not look for those.
bool swallows(const Block& b)
{
	constexpr std::uintptr_t filled = 65536;
	const std::uintptr_t first = (b.start + filled - 1) / filled * filled, end = granules_end(b) / filled * filled;
	return std::any_of(live.begin(), live.end(), [&](const Block& x) { return x.start >= first && x.start < end; });
}

// Near the ends of units (1 KiB), regions (64 KiB) and those of the levels above, or anywhere in a few of them.
Block draw()
{
	static const std::uintptr_t edges[] = {16, 64, 1024, 4096, 65536, std::uintptr_t{1} << 22, std::uintptr_t{1} << 28};
	const std::uintptr_t edge = edges[below(7)];
	std::uintptr_t p = kBase + edge * (1 + below(48)) + 16 * (below(5) - 2);
	std::size_t bytes = 1 + below(200);
	if (below(4) == 0) bytes = edges[below(7)] * (1 + below(3)) + below(33) - 16;
	return {p, std::max<std::size_t>(bytes, 1)};
}

// Over the edge of a unit into the next, or between two such, in three regions: lists of units are full, and move.
Block draw_straddling()
{
	constexpr std::uintptr_t unit = 1024;
	if (below(3) == 0) return {kBase + 16 * below(190 * 64), 1 + below(100)};
	const std::uintptr_t edge = kBase + unit * (1 + below(190)), p = edge - 16 * (1 + below(40));
	return {p, edge - p + 1 + below(600)};
}

void enter(const Block& b)
{
	if (swallows(b)) return;
	const bool taken = std::any_of(live.begin(), live.end(), [&](const Block& x) { return overlap(x, b); });
	void* p = at(b.start);
	const tl_status got = below(2) ? tl_registry_register(p, b.bytes, TL_ALLOC_NEW_ARRAY)
	                               : tl_registry_register_many(&p, &b.bytes, 1, TL_ALLOC_NEW_ARRAY);
	CHECK_INT(got, taken ? TL_E_ALREADY_REGISTERED : TL_OK);
	if (!taken) live.push_back(b);
}

void leave(std::size_t i)
{
	void* p = at(live[i].start);
	if (below(2)) CHECK_OK(tl_registry_unregister(p));
	else CHECK_INT(tl_registry_unregister_many(&p, 1), 1);
	CHECK(!tl_registry_is_registered(p));
	live[i] = live.back();
	live.pop_back();
}

void look(std::uintptr_t p)
{
	const bool known = std::any_of(live.begin(), live.end(), [&](const Block& x) { return x.start == p; });
	CHECK_INT(tl_registry_is_registered(at(p)), known);
}

void as_the_list_says(Block (*draw)(), std::uint64_t seed, long steps)
{
	random_bits.seed(seed);
	std::size_t target = kMost;
	for (long i = 0; i < steps; ++i) {
		if (i % 5000 == 0) target = 1 + below(kMost); // fills, empties
		if (live.size() < target || live.empty()) enter(draw());
		else leave(below(live.size()));
		look(draw().start);
		if (!live.empty()) look(live[below(live.size())].start + 16 * below(2));
		if (check_failures > 0) {
			std::fprintf(stderr, "seed %llu, step %ld\n", static_cast<unsigned long long>(seed), i);
			std::exit(1);
		}
	}
	std::size_t bytes = 0;
	for (const Block& b : live) bytes += b.bytes;
	CHECK_INT(tl_registry_num_pointers(), live.size());
	CHECK_INT(tl_registry_total_bytes(), bytes);
	while (!live.empty()) leave(live.size() - 1);
	CHECK_INT(tl_registry_num_pointers(), 0);
}

// ---- threads beside each other in memory ----

constexpr std::uintptr_t kThreads = 4;
std::atomic<long> wrong{0};

void expect(bool good)
{
	if (!good) wrong++;
}

// Over an edge that is this thread's: of units of one list, or of regions, with what fills the units there.
Block own_block(std::mt19937_64& bits, std::uintptr_t me)
{
	const bool large = bits() % 4 == 0;
	const std::uintptr_t step = large ? 65536 : 1024, from = large ? kBase + (std::uintptr_t{1} << 32) : kBase;
	const std::uintptr_t edge = from + step * (1 + me + kThreads * (bits() % 30)), reach = step / 16 / 2 - 1;
	const std::uintptr_t p = edge - 16 * (1 + bits() % reach);
	return {p, edge - p + 1 + bits() % (16 * reach)};
}

void come_and_go(std::uintptr_t me)
{
	std::mt19937_64 bits(me);
	for (int round = 0; round < 3000; ++round) {
		Block b = own_block(bits, me);
		void* p = at(b.start);
		expect((bits() % 8 != 0 ? tl_registry_register(p, b.bytes, TL_ALLOC_NEW_ARRAY)
		                        : tl_registry_register_many(&p, &b.bytes, 1, TL_ALLOC_NEW_ARRAY)) == TL_OK);
		expect(tl_registry_is_registered(p));
		if (bits() % 2 != 0) {
			expect(tl_ptr_acquire(p) == p);
			expect(tl_ptr_release(p) == TL_OK);
		}
		if (bits() % 8 != 0) expect(tl_registry_unregister(p) == TL_OK);
		else expect(tl_registry_unregister_many(&p, 1) == 1);
		expect(!tl_registry_is_registered(p));
	}
}

void threads_at_neighbouring_edges()
{
	std::vector<std::thread> threads;
	for (std::uintptr_t me = 0; me < kThreads; ++me) threads.emplace_back(come_and_go, me);
	for (std::thread& thread : threads) thread.join();
	CHECK_INT(wrong.load(), 0);
	CHECK_INT(tl_registry_num_pointers(), 0);
	CHECK_INT(tl_registry_total_bytes(), 0);
}

} // namespace

int main(int argc, char** argv)
{
	CHECK_OK(tl_init());
	const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 1;
	const long steps = argc > 2 ? std::strtol(argv[2], nullptr, 0) : 60000;
	as_the_list_says(draw, seed, steps);
	as_the_list_says(draw_straddling, seed, steps);
	threads_at_neighbouring_edges();
	return check_finish();
}
