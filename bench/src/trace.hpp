// Allocation traces: made from a seed, or read from a file of lines
//
//   a ID BYTES     allocate; IDs are small numbers, each in use once at a time
//   f ID           release
//
// in which every block is released at the end. `#` begins a comment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <ostream>
#include <string>
#include <vector>

namespace bench {

struct Event {
	std::uint32_t id;
	std::uint64_t bytes; // 0: release
};

struct Trace {
	std::string name;
	std::vector<Event> events;
	std::uint32_t ids = 0; // all are below
};

// random: 10,000 live blocks of 256 B to 4 MiB, evenly over the powers of two; each step replaces one.
// mixed: long-lived weights, short-lived activations of a few sizes, and scratch memory of any size.
// phases: training steps that allocate forwards and release backwards, with another batch size every 20 steps.
const std::vector<std::string>& trace_kinds();
Trace make_trace(const std::string& kind, std::uint64_t seed);

// Throws std::runtime_error with the line that is wrong.
Trace read_trace(std::istream& in, const std::string& name);
void write_trace(std::ostream& out, const Trace& trace);
// The name of a trace that stands in a file: "digits" for "data/digits.trace".
std::string trace_stem(const std::string& path);

// xorshift64*, so that a seed means the same everywhere.
class Random {
  public:
	explicit Random(std::uint64_t seed) : state_(seed * 2 + 1) {}
	std::uint64_t next()
	{
		state_ ^= state_ >> 12;
		state_ ^= state_ << 25;
		state_ ^= state_ >> 27;
		return state_ * UINT64_C(2685821657736338717);
	}
	std::uint64_t below(std::uint64_t n) { return (next() >> 11) % n; }
	// Between two sizes, evenly over their logarithms.
	std::uint64_t size(double low, double high);

  private:
	std::uint64_t state_;
};

} // namespace bench
