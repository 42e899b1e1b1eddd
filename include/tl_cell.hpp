/* Cells in C++17, over tl_runtime.hpp: values with a count that stands in front of them.
 *
 *	tl::cell<node> list = tl::cell<node>::make(1, nullptr);
 *	tl::cell<node> same = list;                        // one count more, a few instructions
 *	if (list.is_unique()) list->value = 2;             // nobody else sees it
 *
 * Copying counts, moving does not, and the last cell calls the destructor of the value, which drops the cells in it: a
 * list takes stack for its length. With TL_INLINE the counts are inlined. One thread at a time has a cell and those that it
 * leads to, unless they are shared: share() makes the count of one cell atomic.
 */
#ifndef TL_CELL_HPP
#define TL_CELL_HPP

#include <new>
#include <type_traits>
#include <utility>

#include "tl_runtime.hpp"

TL_BEGIN_NAMESPACE

namespace detail {

#ifdef TL_INLINE
inline void* cell_new(std::size_t bytes)
{
	tl_inl_thread thread;
	tl_inl_begin(&thread);
	return tl_inl_cell_new(&thread, bytes);
}
inline void cell_free(void* cell)
{
	tl_inl_thread thread;
	tl_inl_begin(&thread);
	tl_inl_cell_free(&thread, cell);
}
inline void cell_dup(void* cell) { tl_inl_cell_dup(cell); }
inline bool cell_is_unique(const void* cell) { return tl_inl_cell_is_unique(cell); }
inline bool cell_drop(void* cell) { return tl_inl_cell_drop(cell); }
#else
inline void* cell_new(std::size_t bytes) { return tl_cell_new(bytes); }
inline void cell_free(void* cell) { tl_cell_free(cell); }
inline void cell_dup(void* cell) { tl_cell_dup(cell); }
inline bool cell_is_unique(const void* cell) { return tl_cell_is_unique(cell); }
inline bool cell_drop(void* cell) { return tl_cell_drop(cell); }
#endif

/* A cell whose value is not there yet, or no longer. */
struct empty_cell {
	void* memory;
	~empty_cell()
	{
		if (memory != nullptr) {
			cell_free(memory);
		}
	}
};

} // namespace detail

/* A counted reference to a value in a cell, or NULL. */
template <class T>
class cell {
  public:
	cell() noexcept = default;
	cell(std::nullptr_t) noexcept {}
	cell(const cell& other) noexcept : value_(other.value_)
	{
		if (value_ != nullptr) {
			detail::cell_dup(value_);
		}
	}
	cell(cell&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
	cell& operator=(cell other) noexcept
	{
		std::swap(value_, other.value_);
		return *this;
	}
	~cell()
	{
		if (value_ != nullptr && detail::cell_drop(value_)) {
			const detail::empty_cell ended{value_};
			value_->~T();
		}
	}

	/* A new value. */
	template <class... Arguments>
	static result<cell> try_make(Arguments&&... arguments)
	{
		return made_in(detail::cell_new(sizeof(T)), std::forward<Arguments>(arguments)...);
	}

	/* A new value with a type of tl_type_define, whose size is that of T: its end releases the fields that the type names,
	 * each of which has one reference, and share() shares what they lead to. The end of a long list does not recurse.
	 * Where there is no memory, references among the arguments are lost: to keep them, make the cell first and then set its
	 * fields from release(). */
	template <class... Arguments>
	static result<cell> try_make_typed(tl_type type, Arguments&&... arguments)
	{
		static_assert(std::is_trivially_destructible<T>::value, "the type says what ends with the value: a destructor "
		                                                        "would release the same fields again");
		return made_in(tl_cell_new_typed(type), std::forward<Arguments>(arguments)...);
	}

#ifndef TL_NO_EXCEPTIONS
	template <class... Arguments>
	static cell make(Arguments&&... arguments)
	{
		return try_make(std::forward<Arguments>(arguments)...).value();
	}
	template <class... Arguments>
	static cell make_typed(tl_type type, Arguments&&... arguments)
	{
		return try_make_typed(type, std::forward<Arguments>(arguments)...).value();
	}
#endif

	/* The reference of a pointer that had one, such as release() returned. */
	static cell adopt(T* value) noexcept
	{
		cell owner;
		owner.value_ = value;
		return owner;
	}

	/* Gives the reference to the caller, who stores it in a field of a cell with a type. */
	T* release() noexcept { return std::exchange(value_, nullptr); }

	/* Whether nobody else has a reference: the value may be changed in place. */
	bool is_unique() const noexcept { return value_ != nullptr && detail::cell_is_unique(value_); }

	/* Other threads may have references to this cell from now on. Of a value without a type share the cells in it first. */
	void share() const noexcept { tl_cell_share(value_); }

	T* get() const noexcept { return value_; }
	T* operator->() const noexcept { return value_; }
	T& operator*() const noexcept { return *value_; }
	explicit operator bool() const noexcept { return value_ != nullptr; }

	friend bool operator==(const cell& a, const cell& b) noexcept { return a.value_ == b.value_; }
	friend bool operator!=(const cell& a, const cell& b) noexcept { return a.value_ != b.value_; }

  private:
	template <class... Arguments>
	static result<cell> made_in(void* memory, Arguments&&... arguments)
	{
		static_assert(alignof(T) <= 16, "a cell is aligned to 16");
		detail::empty_cell place{memory};
		if (memory == nullptr) {
			return failure::last();
		}
		cell made;
		made.value_ = ::new (memory) T{std::forward<Arguments>(arguments)...};
		place.memory = nullptr;
		return made;
	}

	T* value_ = nullptr;
};

TL_END_NAMESPACE

#endif
