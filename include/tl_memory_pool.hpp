/* TL Runtime for C++17: a memory pool that ends by itself, and memory resources that limit, count and log.
 *
 *	tl::memory_pool pool("cpu");              // or a device's number, or a tl_device_allocator
 *	std::pmr::vector<int> numbers(&pool);
 *	void* block = *pool.try_allocate_async(4096, stream);
 *
 * Header only, over tl_memory_resource.hpp. Functions named try_ return a tl::result; those
 * without it throw tl::error, and allocate of a std::pmr::memory_resource throws std::bad_alloc.
 *
 * Resources stack as RMM's do. Each adaptor stands on another resource of these headers, which has
 * to outlive it:
 *
 *	tl::statistics_resource counted(pool);
 *	tl::limiting_resource limited(counted, 1 << 30);
 */
#ifndef TL_MEMORY_POOL_HPP
#define TL_MEMORY_POOL_HPP

#include <chrono>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory_resource>
#include <mutex>
#include <new>
#include <utility>

#include "tl_memory_resource.hpp"

TL_BEGIN_NAMESPACE

namespace detail {

/* What do_allocate makes of a failure: std::bad_alloc, or without exceptions the end of the process. */
inline void* block_or_raise(result<void*> made)
{
#ifdef TL_NO_EXCEPTIONS
	return std::move(made).value();
#else
	if (!made) {
		throw std::bad_alloc();
	}
	return *made;
#endif
}

} // namespace detail

/* A memory pool, and a memory resource over it.
 *
 * Moving hands the pool over and leaves a closed one behind; do not move a pool that containers use.
 * Any thread may use a pool, and one at a time may close or move it. The destructor closes. As
 * tl_memory_pool_destroy does, it leaves a pool alone that has live blocks: the memory stays,
 * tl_last_status is then TL_E_BUSY, and a line on standard error says so. A closed pool answers every call with TL_E_INVALID_ARGUMENT.
 */
class memory_pool : public std::pmr::memory_resource {
  public:
	static constexpr std::size_t default_bytes = TL_MEMORY_POOL_DEFAULT_BYTES;

	/* A pool over an allocator, whose functions have to stay usable for as long as the pool. */
	static result<memory_pool> try_create(const tl_device_allocator* allocator,
	                                      std::size_t initial_bytes = default_bytes)
	{
		tl_memory_pool* made = nullptr;
		const tl_status status = tl_memory_pool_create(allocator, initial_bytes, &made);
		if (status != TL_OK) {
			return failure::of(status);
		}
		return adopt(made);
	}
	/* A pool over the memory of a device, by number or by name ("cuda:0"). */
	static result<memory_pool> try_create(std::int32_t device, std::size_t initial_bytes = default_bytes)
	{
		const tl_device_allocator* allocator = tl_device_allocator_for(device);
		return allocator != nullptr ? try_create(allocator, initial_bytes) : failure::last();
	}
	static result<memory_pool> try_create(const char* device, std::size_t initial_bytes = default_bytes)
	{
		std::int32_t number = 0;
		const tl_status status = tl_device_by_name(device, &number);
		return status == TL_OK ? try_create(number, initial_bytes) : failure::of(status);
	}

	/* A closed pool. */
	memory_pool() noexcept = default;
	memory_pool(memory_pool&& other) noexcept : pool_(other.detach()) {}
	memory_pool& operator=(memory_pool&& other) noexcept
	{
		memory_pool taken(std::move(other));
		std::swap(pool_, taken.pool_);
		return *this;
	}
	memory_pool(const memory_pool&) = delete;
	memory_pool& operator=(const memory_pool&) = delete;
	~memory_pool() override
	{
		if (tl_memory_pool_destroy(pool_) == TL_E_BUSY) /* nobody else can tell */
			std::fprintf(stderr, "tl_runtime: a tl::memory_pool ends and leaves its memory: %s\n", tl_last_error());
	}

	/* Takes over a pool that the caller would have to destroy. */
	static memory_pool adopt(tl_memory_pool* pool) noexcept
	{
		memory_pool made;
		made.pool_ = pool;
		return made;
	}
	/* Gives the pool to the caller, who has to destroy it. */
	[[nodiscard]] tl_memory_pool* detach() noexcept { return std::exchange(pool_, nullptr); }

	/* The handle, for C; NULL for a closed pool. */
	tl_memory_pool* get() const noexcept { return pool_; }
	bool is_open() const noexcept { return pool_ != nullptr; }

	/* A block, which deallocate takes back with the same size and alignment. */
	result<void*> try_allocate(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t))
	{
		if (pool_ == nullptr) {
			return detail::refusal("tl::memory_pool::try_allocate", "the pool is closed");
		}
		return pmr_resource(pool_).try_allocate(bytes, alignment);
	}

	/* As tl_memory_pool_deallocate, for blocks aligned to at most 64 bytes: deallocate reports no failure. */
	result<void> try_deallocate(void* block) { return result<void>::of(tl_memory_pool_deallocate(pool_, block)); }

	/* As tl_memory_pool_allocate_async and tl_memory_pool_deallocate_async: in the order of a stream. */
	result<void*> try_allocate_async(std::size_t bytes, void* stream)
	{
		return try_check((tl_memory_pool_allocate_async)(pool_, bytes, stream));
	}
	result<void> try_deallocate_async(void* block, void* stream)
	{
		return result<void>::of(tl_memory_pool_deallocate_async(pool_, block, stream));
	}

	/* The counters, all at one moment. */
	result<tl_memory_pool_stats> try_stats() const
	{
		tl_memory_pool_stats counters{};
		counters.struct_size = sizeof counters;
		const tl_status status = tl_memory_pool_stats_get(pool_, &counters);
		if (status != TL_OK) {
			return failure::of(status);
		}
		return counters;
	}

	/* Bounds the bytes of all chunks; 0 is no bound. */
	result<void> try_set_limit(std::size_t bytes) { return result<void>::of(tl_memory_pool_set_limit(pool_, bytes)); }
	/* Gives chunks without a live block back to the device. */
	result<void> try_trim() { return result<void>::of(tl_memory_pool_trim(pool_)); }
	/* Takes all blocks back at once. */
	result<void> try_reset() { return result<void>::of(tl_memory_pool_reset(pool_)); }
	/* Ends the pool; TL_E_BUSY while blocks are live. Closing twice is fine. */
	result<void> try_close()
	{
		const tl_status status = tl_memory_pool_destroy(pool_);
		if (status != TL_E_BUSY) { /* also where the device did not take a chunk back */
			pool_ = nullptr;
		}
		return result<void>::of(status);
	}

#ifndef TL_NO_EXCEPTIONS
	explicit memory_pool(const tl_device_allocator* allocator, std::size_t initial_bytes = default_bytes)
		: memory_pool(try_create(allocator, initial_bytes).value())
	{
	}
	explicit memory_pool(std::int32_t device, std::size_t initial_bytes = default_bytes)
		: memory_pool(try_create(device, initial_bytes).value())
	{
	}
	explicit memory_pool(const char* device, std::size_t initial_bytes = default_bytes)
		: memory_pool(try_create(device, initial_bytes).value())
	{
	}
	void* allocate_async(std::size_t bytes, void* stream) { return try_allocate_async(bytes, stream).value(); }
	void deallocate_async(void* block, void* stream) { try_deallocate_async(block, stream).value(); }
	tl_memory_pool_stats stats() const { return try_stats().value(); }
	void set_limit(std::size_t bytes) { try_set_limit(bytes).value(); }
	void trim() { try_trim().value(); }
	void reset() { try_reset().value(); }
	void close() { try_close().value(); }
#endif

  private:
	void* do_allocate(std::size_t bytes, std::size_t alignment) override
	{
		return detail::block_or_raise(try_allocate(bytes, alignment));
	}
	void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override
	{
		if (pool_ != nullptr) { /* else pmr_resource would be one over the heap */
			pmr_resource(pool_).deallocate(block, bytes, alignment);
		}
	}
	bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

	tl_memory_pool* pool_ = nullptr;
};

/* A resource that asks another one, which has to outlive it and have try_allocate, and looks at what it hands out.
 * Derived has before(bytes), a result<void>, and after(block, bytes) and returned(block, bytes). */
template <class Derived, class Upstream>
class resource_adaptor : public std::pmr::memory_resource {
  public:
	explicit resource_adaptor(Upstream& upstream) noexcept : upstream_(&upstream) {}
	resource_adaptor(const resource_adaptor&) = delete;
	resource_adaptor& operator=(const resource_adaptor&) = delete;

	Upstream& upstream() const noexcept { return *upstream_; }

	/* A block, which deallocate takes back with the same size and alignment. */
	result<void*> try_allocate(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t))
	{
		const result<void> allowed = derived().before(bytes);
		if (!allowed) {
			return allowed.error();
		}
		result<void*> made = upstream_->try_allocate(bytes, alignment);
		derived().after(made ? *made : nullptr, bytes);
		return made;
	}

  private:
	Derived& derived() noexcept { return static_cast<Derived&>(*this); }

	void* do_allocate(std::size_t bytes, std::size_t alignment) override
	{
		return detail::block_or_raise(try_allocate(bytes, alignment));
	}
	void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override
	{
		derived().returned(block, bytes); /* before another thread may get the address */
		upstream_->deallocate(block, bytes, alignment);
	}
	bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

	Upstream* upstream_;
};

/* Refuses what would be more than so many bytes at a time, with TL_E_LIMIT. */
template <class Upstream>
class limiting_resource : public resource_adaptor<limiting_resource<Upstream>, Upstream> {
  public:
	limiting_resource(Upstream& upstream, std::size_t limit) noexcept
		: resource_adaptor<limiting_resource, Upstream>(upstream), limit_(limit)
	{
	}

	std::size_t limit() const noexcept { return limit_; }
	/* Bytes of the blocks that are out. */
	std::size_t allocated() const
	{
		const std::lock_guard<std::mutex> lock(mutex_);
		return allocated_;
	}

  private:
	friend class resource_adaptor<limiting_resource, Upstream>;

	result<void> before(std::size_t bytes)
	{
		const std::lock_guard<std::mutex> lock(mutex_);
		if (bytes > limit_ - allocated_) {
			return failure{TL_E_LIMIT, "tl::limiting_resource::try_allocate: TL_E_LIMIT: " + std::to_string(bytes) +
			                               " bytes beside " + std::to_string(allocated_) +
			                               " that are out are more than the limit of " + std::to_string(limit_)};
		}
		allocated_ += bytes;
		return {};
	}
	void after(const void* block, std::size_t bytes)
	{
		if (block == nullptr) {
			returned(block, bytes);
		}
	}
	void returned(const void*, std::size_t bytes)
	{
		const std::lock_guard<std::mutex> lock(mutex_);
		allocated_ -= bytes;
	}

	mutable std::mutex mutex_; /* guards allocated_, which is at most limit_ */
	std::size_t limit_, allocated_ = 0;
};

/* What a statistics_resource has counted; bytes are those that were requested. */
struct resource_statistics {
	std::uint64_t current_bytes, current_count; /* of the blocks that are out */
	std::uint64_t peak_bytes, peak_count;       /* the most that these were */
	std::uint64_t total_bytes, total_count;     /* of all blocks that were given out */
};

/* Counts blocks and bytes. */
template <class Upstream>
class statistics_resource : public resource_adaptor<statistics_resource<Upstream>, Upstream> {
  public:
	explicit statistics_resource(Upstream& upstream) noexcept
		: resource_adaptor<statistics_resource, Upstream>(upstream)
	{
	}

	/* The counters, all at one moment. */
	resource_statistics statistics() const
	{
		const std::lock_guard<std::mutex> lock(mutex_);
		return counted_;
	}
	/* Lets the peaks begin at what is out now. */
	void reset_peak()
	{
		const std::lock_guard<std::mutex> lock(mutex_);
		counted_.peak_bytes = counted_.current_bytes;
		counted_.peak_count = counted_.current_count;
	}

  private:
	friend class resource_adaptor<statistics_resource, Upstream>;

	static result<void> before(std::size_t) { return {}; }
	void after(const void* block, std::size_t bytes)
	{
		if (block == nullptr) {
			return;
		}
		const std::lock_guard<std::mutex> lock(mutex_);
		counted_.total_bytes += bytes;
		counted_.total_count++;
		counted_.current_bytes += bytes;
		counted_.current_count++;
		if (counted_.current_bytes > counted_.peak_bytes) {
			counted_.peak_bytes = counted_.current_bytes;
		}
		if (counted_.current_count > counted_.peak_count) {
			counted_.peak_count = counted_.current_count;
		}
	}
	void returned(const void*, std::size_t bytes)
	{
		const std::lock_guard<std::mutex> lock(mutex_);
		counted_.current_bytes -= bytes;
		counted_.current_count--;
	}

	mutable std::mutex mutex_; /* guards counted_ */
	resource_statistics counted_{};
};

/* Writes a line of CSV for each block that comes and goes, to a file that stays the caller's:
 * microseconds since the log began, action, address, bytes. */
template <class Upstream>
class logging_resource : public resource_adaptor<logging_resource<Upstream>, Upstream> {
  public:
	logging_resource(Upstream& upstream, std::FILE* log) noexcept
		: resource_adaptor<logging_resource, Upstream>(upstream), log_(log)
	{
		std::fputs("Time,Action,Pointer,Size\n", log_);
	}

  private:
	friend class resource_adaptor<logging_resource, Upstream>;

	static result<void> before(std::size_t) { return {}; }
	void after(const void* block, std::size_t bytes) { write(block ? "allocate" : "allocate failure", block, bytes); }
	void returned(const void* block, std::size_t bytes) { write("free", block, bytes); }

	void write(const char* action, const void* block, std::size_t bytes)
	{
		using std::chrono::duration_cast;
		const auto passed = duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begun_);
		/* One call, which the file's own lock keeps whole. */
		std::fprintf(log_, "%" PRId64 ",%s,%#" PRIxPTR ",%zu\n", static_cast<std::int64_t>(passed.count()), action,
		             reinterpret_cast<std::uintptr_t>(block), bytes);
	}

	std::FILE* log_;
	std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

TL_END_NAMESPACE

#endif
