/* TL Runtime for C++17: a memory resource over the runtime's heap or a memory pool.
 *
 * tl_registry.hpp includes this header.
 */
#ifndef TL_MEMORY_RESOURCE_HPP
#define TL_MEMORY_RESOURCE_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <new>

#include "tl_result.hpp"

TL_BEGIN_NAMESPACE

/* A memory resource over the runtime's heap, or over a memory pool, which must
 * outlive it and serve memory of the host. Memory may be freed by any thread. Two of the same class
 * over the same memory are equal. */
class pmr_resource : public std::pmr::memory_resource {
  public:
	pmr_resource() noexcept = default;
	explicit pmr_resource(tl_memory_pool* pool) noexcept : pool_(pool) {}

	/* As allocate, which throws std::bad_alloc, and without exceptions ends the process: it has no way to
	 * return a failure. alignment is a power of two. */
	result<void*> try_allocate(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t))
	{
		if (!is_possible(bytes, alignment)) {
			return detail::refusal("tl::pmr_resource::try_allocate", "so many bytes are larger than memory");
		}
		bool misaligned = false;
		void* block = find(bytes == 0 ? 1 : bytes, alignment, &misaligned);
		if (misaligned) {
			return detail::refusal("tl::pmr_resource::try_allocate", "the pool's allocator does not align to so much");
		}
		return block != nullptr ? result<void*>(block) : failure::last();
	}

  private:
	static constexpr std::size_t heap_alignment = 64;

	/* Whether the size is one that a block can have, with what alignment adds. */
	static bool is_possible(std::size_t bytes, std::size_t alignment)
	{
		const std::size_t most = static_cast<std::size_t>(PTRDIFF_MAX) - heap_alignment - sizeof(void*);
		return alignment <= most && bytes <= most - alignment;
	}

	/* The heap aligns sizes that are multiples of 64 to 64. */
	static std::size_t rounded(std::size_t bytes, std::size_t alignment)
	{
		return alignment <= 32 ? bytes : (bytes + heap_alignment - 1) / heap_alignment * heap_alignment;
	}

	/* For an alignment above that of pools: a larger block, whose address is stored before the returned one. */
	void* padded(std::size_t bytes, std::size_t alignment)
	{
		void* block = (tl_memory_pool_allocate)(pool_, bytes + alignment + sizeof(void*));
		if (block == nullptr) {
			return nullptr;
		}
		const auto from = reinterpret_cast<std::uintptr_t>(block) + sizeof(void*);
		char* first = static_cast<char*>(block) + sizeof(void*) + (alignment - from % alignment) % alignment;
		std::memcpy(first - sizeof(void*), &block, sizeof block);
		return first;
	}
	static void* behind(void* first)
	{
		void* block;
		std::memcpy(&block, static_cast<char*>(first) - sizeof(void*), sizeof block);
		return block;
	}

	/* NULL: a failure, whose status is the last one; or the pool's allocator aligns to less. */
	void* find(std::size_t bytes, std::size_t alignment, bool* misaligned)
	{
		if (pool_ != nullptr && alignment > heap_alignment) {
			return padded(bytes, alignment);
		}
		void* block = pool_ != nullptr             ? (tl_memory_pool_allocate)(pool_, bytes)
		              : alignment > heap_alignment ? (tl_aligned_alloc)(bytes, alignment)
		                                           : tl_numpy_malloc(nullptr, rounded(bytes, alignment));
		if (block != nullptr && reinterpret_cast<std::uintptr_t>(block) % alignment != 0) {
			do_deallocate(block, bytes, alignment);
			*misaligned = true;
			return nullptr;
		}
		return block;
	}

	void* do_allocate(std::size_t bytes, std::size_t alignment) override
	{
#ifdef TL_NO_EXCEPTIONS
		return try_allocate(bytes, alignment).value();
#else
		bool misaligned = false;
		void* block = is_possible(bytes, alignment) ? find(bytes == 0 ? 1 : bytes, alignment, &misaligned) : nullptr;
		if (block == nullptr) {
			throw std::bad_alloc();
		}
		return block;
#endif
	}

	void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override
	{
		if (pool_ != nullptr) {
			tl_memory_pool_deallocate(pool_, alignment > heap_alignment ? behind(block) : block);
		} else if (alignment > heap_alignment) {
			tl_aligned_free(block);
		} else {
			tl_numpy_free(nullptr, block, bytes);
		}
	}

	bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override
	{
		return class_of(other) == class_of(*this) && static_cast<const pmr_resource&>(other).pool_ == pool_;
	}

	/* Tells classes apart where programs are compiled without RTTI, by the address with which objects of
	 * classes with virtual functions begin. */
	static const void* class_of(const std::pmr::memory_resource& resource) noexcept
	{
		const void* table;
		std::memcpy(&table, static_cast<const void*>(&resource), sizeof table);
		return table;
	}

	tl_memory_pool* pool_ = nullptr; /* NULL: the heap */
};

TL_END_NAMESPACE

#endif
