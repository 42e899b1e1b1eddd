// What an operation costs beside few and beside many: live objects, types, shapes of tensors, aliases.
#include <tl_runtime.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "../peers/allocators.hpp"
#include "../peers/maps.hpp"
#include "floor_registry.hpp"
#include "harness.hpp"
#include "registry_keys.hpp"

void operator delete[](void*) noexcept {}
void operator delete[](void*, std::size_t) noexcept {}

namespace bench {
namespace {

std::string named(const char* what, std::size_t n, const std::string& who)
{
	return std::string("growth/") + what + "/" + std::to_string(n) + "/" + who;
}

class Draw {
  public:
	std::size_t below(std::size_t n)
	{
		state_ = state_ * 6364136223846793005u + 1442695040888963407u;
		return static_cast<std::size_t>(state_ >> 33) % n;
	}

  private:
	std::uint64_t state_ = 1;
};

// ---- live objects: any of n goes, another comes ----

void* make_object(std::size_t bytes) { return tl_mem_alloc(bytes); }
void drop_object(void* object) { tl_ptr_release(object); }

void replace(benchmark::State& state, const Allocator& allocator, std::size_t n)
{
	auto allocate = allocator.allocate;
	auto release = allocator.release;
	Draw draw;
	auto bytes = [&draw] { return 32 + 8 * draw.below(60); };
	std::vector<void*> live(n);
	for (void*& object : live) touch(object = allocate(bytes()));
	measure(state, [&] {
		void*& object = live[draw.below(n)];
		release(object);
		touch(object = allocate(bytes()));
	});
	for (void* object : live) release(object);
}

void add_objects()
{
	static std::vector<Allocator> all = allocators();
	all.push_back({"tl", make_object, drop_object});
	for (std::size_t n : {1000, 100000, 1000000})
		for (const Allocator& allocator : all)
			add(named("objects", n, allocator.name),
			    [&allocator, n](benchmark::State& state) { replace(state, allocator, n); });
}

// ---- types: an object of each of n in turn ----

// Types exist until the process ends.
tl_type type_number(std::size_t i)
{
	static std::vector<tl_type> types;
	while (types.size() <= i) {
		tl_type_desc description = {};
		description.size = 64;
		const std::string name = "bench.Type" + std::to_string(types.size());
		description.name = name.c_str();
		tl_type type = 0;
		if (tl_type_define(&description, &type) != TL_OK) std::abort();
		types.push_back(type);
	}
	return types[i];
}

void add_types()
{
	for (std::size_t n : {10, 1000, 10000})
		add(named("types", n, "tl"), [n](benchmark::State& state) {
			type_number(n - 1);
			std::size_t i = 0;
			measure(state, [&] {
				tl_mem_enter_scope();
				touch(tl_object_new(type_number(i = i + 1 < n ? i + 1 : 0)));
				tl_mem_exit_scope();
			});
		});
	add("growth/stats/10000/tl", [](benchmark::State& state) {
		type_number(9999);
		tl_stats stats;
		for (auto _ : state) {
			stats.struct_size = sizeof stats;
			benchmark::DoNotOptimize(tl_stats_get(&stats));
		}
	});
}

// ---- shapes: a tensor of each of n in turn, all of the same range of sizes ----

constexpr std::size_t kShapes = 100000;

struct Shape {
	int32_t dtype;
	int64_t elements;
	std::size_t bytes;
};

std::vector<Shape> shapes(std::size_t n)
{
	constexpr struct {
		int32_t dtype;
		std::size_t bytes;
	} kinds[] = {{TL_DTYPE_U8, 1}, {TL_DTYPE_I8, 1}, {TL_DTYPE_BOOL, 1}, {TL_DTYPE_F16, 2}, {TL_DTYPE_I16, 2}};
	std::vector<Shape> all;
	for (std::size_t k = 0; k < n; ++k) {
		const std::size_t elements = k * (kShapes / n) / 5 + 1;
		const auto& kind = kinds[k % 5];
		all.push_back({kind.dtype, static_cast<int64_t>(elements), elements * kind.bytes});
	}
	return all;
}

void add_shapes()
{
	for (std::size_t n : {std::size_t{1000}, kShapes}) {
		add(named("shapes", n, "tl"), [n](benchmark::State& state) {
			const std::vector<Shape> all = shapes(n);
			const auto made_and_freed = [](const Shape& shape) {
				tl_tensor* tensor = tl_tensor_empty(shape.dtype, TL_DEVICE_CPU, 1, &shape.elements);
				touch(tl_tensor_data(tensor));
				tl_tensor_free(tensor);
			};
			// A thousand shapes come back hundreds of times in a repetition, a hundred thousand not once.
			for (const Shape& shape : all) made_and_freed(shape);
			std::size_t i = 0;
			measure(state, [&] { made_and_freed(all[i = i + 1 < n ? i + 1 : 0]); });
		});
		for (const Allocator& allocator : allocators())
			add(named("shapes", n, allocator.name), [&allocator, n](benchmark::State& state) {
				const std::vector<Shape> all = shapes(n);
				std::size_t i = 0;
				measure(state, [&] {
					const Shape& shape = all[i = i + 1 < n ? i + 1 : 0];
					void* header = allocator.allocate(64);
					void* data = allocator.allocate(shape.bytes);
					touch(header);
					touch(data);
					allocator.release(data);
					allocator.release(header);
				});
			});
	}
}

// ---- aliases: any of n goes and comes back ----

constexpr std::size_t kRow = 64;

struct RuntimeAliases {
	explicit RuntimeAliases(std::size_t n)
	{
		tl_registry_register_buffer(reinterpret_cast<void*>(kBase), n * kRow, nullptr, 0, TL_ALLOC_NEW_ARRAY, &id);
		for (std::size_t i = 1; i < n; ++i) add(i);
		count = n;
	}
	~RuntimeAliases()
	{
		for (std::size_t i = 0; i < count; ++i) drop(i);
	}
	void add(std::size_t i) { tl_registry_add_alias(id, reinterpret_cast<void*>(kBase + i * kRow)); }
	void drop(std::size_t i) { tl_registry_unregister(reinterpret_cast<void*>(kBase + i * kRow)); }
	std::uint64_t id = 0;
	std::size_t count;
};

template <class Map>
struct MappedAliases {
	explicit MappedAliases(std::size_t n)
	{
		for (std::size_t i = 1; i < n; ++i) add(i);
	}
	void add(std::size_t i) { map.insert(kBase + i * kRow, kRow); }
	void drop(std::size_t i) { map.erase(kBase + i * kRow); }
	Map map;
};

// The same lists, followed by a program that checks nothing.
struct FloorAliases {
	explicit FloorAliases(std::size_t n) : registry(kBase, n * kRow, 1024 / kRow)
	{
		for (std::size_t i = 1; i < n; ++i) add(i);
	}
	void add(std::size_t i) { registry.insert(kBase + i * kRow); }
	std::size_t drop(std::size_t i) { return registry.release(kBase + i * kRow); }
	FloorRegistry registry;
};

// No pair begins before the lines of the one before have come, as for calls of so many instructions that the processor
// does not see the next one meanwhile: which alias is next depends on how many references the last one has left, none.
void aliases_in_turn(benchmark::State& state, std::size_t n)
{
	auto aliases = std::make_unique<FloorAliases>(n);
	Draw draw;
	std::size_t left = 0;
	measure(state, [&] {
		const std::size_t i = 1 + draw.below(n - 1) + left;
		left = aliases->drop(i);
		aliases->add(i);
	});
}

template <class Aliases>
void add_aliases(const std::string& who)
{
	for (std::size_t n : {1000, 1000000})
		add(named("aliases", n, who), [n](benchmark::State& state) {
			auto aliases = std::make_unique<Aliases>(n);
			Draw draw;
			measure(state, [&] {
				const std::size_t i = 1 + draw.below(n - 1);
				aliases->drop(i);
				aliases->add(i);
			});
		});
}

void add_info()
{
	for (std::size_t n : {1000, 1000000})
		add(named("info", n, "tl"), [n](benchmark::State& state) {
			RuntimeAliases aliases(n);
			Draw draw;
			for (auto _ : state) {
				tl_alloc_info info;
				info.struct_size = sizeof info;
				benchmark::DoNotOptimize(
					tl_registry_info(reinterpret_cast<void*>(kBase + draw.below(n) * kRow), &info));
			}
		});
}

} // namespace

void register_all()
{
	add_objects();
	add_types();
	add_shapes();
	add_aliases<RuntimeAliases>("tl");
	add_aliases<FloorAliases>("floor");
	for (std::size_t n : {1000, 1000000})
		add(named("aliases", n, "floor-in-turn"), [n](benchmark::State& state) { aliases_in_turn(state, n); });
	add_aliases<MappedAliases<StdMap>>("unordered_map");
#ifdef BENCH_ABSL
	add_aliases<MappedAliases<AbslMap>>("absl-flat");
#endif
	add_info();
}

} // namespace bench
