#include "trace.hpp"

#include <cmath>
#include <sstream>
#include <stdexcept>

namespace bench {

std::uint64_t Random::size(double low, double high)
{
	double part = static_cast<double>(next() >> 11) / 9007199254740992.0;
	return static_cast<std::uint64_t>(low * std::exp(part * std::log(high / low)));
}

namespace {

// Gives out IDs and keeps a trace well formed.
class Recorder {
  public:
	explicit Recorder(std::string name) { trace_.name = std::move(name); }

	std::uint32_t allocate(std::uint64_t bytes)
	{
		std::uint32_t id = trace_.ids;
		if (free_.empty()) {
			++trace_.ids;
		} else {
			id = free_.back();
			free_.pop_back();
		}
		trace_.events.push_back({id, bytes});
		return id;
	}

	void release(std::uint32_t id)
	{
		free_.push_back(id);
		trace_.events.push_back({id, 0});
	}

	std::size_t size() const { return trace_.events.size(); }
	Trace take() { return std::move(trace_); }

  private:
	Trace trace_;
	std::vector<std::uint32_t> free_;
};

constexpr std::size_t kEvents = 1000000;

Trace make_random(Random& random)
{
	Recorder record("random");
	std::vector<std::uint32_t> live;
	for (int i = 0; i < 10000; ++i) live.push_back(record.allocate(random.size(256, 4 << 20)));
	while (record.size() < kEvents - live.size()) {
		std::uint32_t& id = live[random.below(live.size())];
		record.release(id);
		id = record.allocate(random.size(256, 4 << 20));
	}
	for (std::uint32_t id : live) record.release(id);
	return record.take();
}

Trace make_mixed(Random& random)
{
	Recorder record("mixed");
	constexpr std::uint64_t kActivations[] = {4096, 16384, 65536, 262144, 1 << 20};
	std::vector<std::uint32_t> live;
	for (int i = 0; i < 2000; ++i) live.push_back(record.allocate(random.size(1024, 16 << 20)));
	const std::size_t weights = live.size();
	while (record.size() < kEvents / 2) {
		if (live.size() < 10000 && random.below(2) == 0) {
			std::uint64_t bytes = random.below(4) ? kActivations[random.below(5)] : random.size(256, 1 << 20);
			live.push_back(record.allocate(bytes));
		} else if (live.size() > weights) {
			std::uint32_t& id = live[weights + random.below(live.size() - weights)];
			record.release(id);
			id = live.back();
			live.pop_back();
		}
	}
	for (std::uint32_t id : live) record.release(id);
	return record.take();
}

void step(Recorder& record, Random& random, const std::vector<std::uint64_t>& layers, std::uint64_t batch)
{
	std::vector<std::uint32_t> kept;
	for (std::uint64_t bytes : layers) {
		kept.push_back(record.allocate(bytes * batch));
		record.release(record.allocate(random.size(256, 65536))); // scratch
	}
	std::uint32_t gradient = record.allocate(layers.back() * batch);
	for (std::size_t i = kept.size(); i-- > 0;) {
		std::uint32_t next = record.allocate(layers[i] * batch);
		record.release(gradient);
		record.release(kept[i]);
		gradient = next;
	}
	record.release(gradient);
}

Trace make_phases(Random& random)
{
	Recorder record("phases");
	std::vector<std::uint64_t> layers;
	for (int i = 0; i < 100; ++i) layers.push_back(random.size(256, 65536));
	std::vector<std::uint32_t> weights;
	for (std::uint64_t bytes : layers) weights.push_back(record.allocate(bytes * 4));
	for (int at = 0; record.size() < kEvents / 2; ++at) step(record, random, layers, 8 + 8 * (at / 20 % 5));
	for (std::uint32_t id : weights) record.release(id);
	return record.take();
}

[[noreturn]] void wrong(const std::string& name, std::size_t line, const char* what)
{
	throw std::runtime_error(name + ":" + std::to_string(line) + ": " + what);
}

} // namespace

const std::vector<std::string>& trace_kinds()
{
	static const std::vector<std::string> kinds{"random", "mixed", "phases"};
	return kinds;
}

Trace make_trace(const std::string& kind, std::uint64_t seed)
{
	Random random(seed);
	if (kind == "random") return make_random(random);
	if (kind == "mixed") return make_mixed(random);
	if (kind == "phases") return make_phases(random);
	throw std::runtime_error("no kind of trace: " + kind);
}

Trace read_trace(std::istream& in, const std::string& name)
{
	Trace trace{name, {}, 0};
	std::vector<bool> live;
	std::string text;
	for (std::size_t line = 1; std::getline(in, text); ++line) {
		std::istringstream words(text.substr(0, text.find('#')));
		char what = 0;
		Event event{0, 0};
		if (!(words >> what)) continue;
		if (what != 'a' && what != 'f') wrong(name, line, "a line begins with a or f");
		if (!(words >> event.id) || event.id > 100000000) wrong(name, line, "an ID is needed, at most 100000000");
		if (what == 'a' && (!(words >> event.bytes) || event.bytes == 0)) wrong(name, line, "a needs bytes");
		if (event.id >= live.size()) live.resize(event.id + 1);
		if (live[event.id] == (what == 'a')) wrong(name, line, "the ID is in use already, or not in use");
		live[event.id] = what == 'a';
		trace.events.push_back(event);
	}
	trace.ids = static_cast<std::uint32_t>(live.size());
	for (std::uint32_t id = 0; id < trace.ids; ++id)
		if (live[id]) trace.events.push_back({id, 0});
	return trace;
}

void write_trace(std::ostream& out, const Trace& trace)
{
	for (const Event& event : trace.events) {
		if (event.bytes) out << "a " << event.id << ' ' << event.bytes << '\n';
		else out << "f " << event.id << '\n';
	}
}

std::string trace_stem(const std::string& path)
{
	const std::string file = path.substr(path.find_last_of('/') + 1); // npos + 1 is 0
	return file.substr(0, file.find('.'));
}

} // namespace bench
