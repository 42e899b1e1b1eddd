/* Checked and weak references in C++17, over tl_runtime.hpp.
 *
 *	tl::weak<node> back(parent);            // does not keep the parent alive
 *	if (tl::ref<node> held = back.lock()) { // a reference, while it lives
 *		visit(*held);
 *	}
 *
 * Both kinds are one word, tl_ref, and count nothing. They know their object for ever: when it is gone
 * they say so, even if its memory belongs to another object.
 */
#ifndef TL_WEAK_HPP
#define TL_WEAK_HPP

#include <cstddef>
#include <type_traits>

#include "tl_runtime.hpp"

TL_BEGIN_NAMESPACE

namespace detail {

/* The word that tl_ref_of and the like make of an object; 0 is one only for NULL. */
template <class T>
result<tl_ref> named(tl_ref (*make)(void*), T* object)
{
	const tl_ref ref = make(const_cast<std::remove_cv_t<T>*>(object));
	if (ref == 0 && object != nullptr) {
		return failure::last();
	}
	return ref;
}

} // namespace detail

/* A weak reference: it becomes a tl::ref while the object lives. */
template <class T>
class weak {
  public:
	weak() noexcept = default;
	weak(std::nullptr_t) noexcept {}

	/* For the thread that owns the object, and for all threads where it has no owner (tl_weak_of). */
	static result<weak> try_of(T* object) { return made(detail::named(&tl_weak_of, object)); }

	/* For all threads. The object loses its bias (tl_weak_share), and rings with it are not collected. */
	static result<weak> try_share(T* object) { return made(detail::named(&tl_weak_share, object)); }

	/* A counted reference, empty when the object is gone. Fails with TL_E_BUSY when the object lives and
	 * belongs to another thread. */
	result<ref<T>> try_lock() const
	{
		T* object = static_cast<T*>(tl_weak_get(ref_));
		if (object == nullptr && tl_last_status() != TL_OK) {
			return failure::last();
		}
		return ref<T>::adopt(object);
	}

#ifndef TL_NO_EXCEPTIONS
	explicit weak(const ref<T>& held) : weak(of(held.get())) {}
	static weak of(T* object) { return try_of(object).value(); }
	static weak share(T* object) { return try_share(object).value(); }
	ref<T> lock() const { return try_lock().value(); }
#endif

	/* Whether the object is gone; on another thread it may be by the time of the answer. */
	bool expired() const noexcept { return ref_ == 0 || tl_ref_check(ref_) != TL_OK; }

	/* The word. */
	tl_ref id() const noexcept { return ref_; }

	friend bool operator==(const weak& a, const weak& b) noexcept { return a.ref_ == b.ref_; }
	friend bool operator!=(const weak& a, const weak& b) noexcept { return a.ref_ != b.ref_; }

  private:
	static result<weak> made(result<tl_ref> ref)
	{
		if (!ref) {
			return ref.error();
		}
		weak made;
		made.ref_ = *ref;
		return made;
	}

	tl_ref ref_ = 0;
};

/* A pointer to an object that somebody else holds, checked at each use. */
template <class T>
class checked {
  public:
	checked() noexcept = default;
	checked(std::nullptr_t) noexcept {}
	static result<checked> try_of(T* object)
	{
		const result<tl_ref> ref = detail::named(&tl_ref_of, object);
		if (!ref) {
			return ref.error();
		}
		checked made;
		made.ref_ = *ref;
		return made;
	}

	/* The object; fails with TL_E_NOT_LIVE when it is gone. */
	result<T*> try_get() const
	{
		T* object = static_cast<T*>(tl_ref_get(ref_));
		if (object == nullptr && ref_ != 0) {
			return failure::last();
		}
		return object;
	}
	/* A reference of one's own; fails with TL_E_NOT_LIVE when the object is gone. */
	result<ref<T>> try_retain() const
	{
		if (ref_ != 0 && tl_ref_acquire(ref_) == 0) {
			return failure::last();
		}
		return ref<T>::adopt(static_cast<T*>(tl_ref_get(ref_)));
	}

#ifndef TL_NO_EXCEPTIONS
	explicit checked(T* object) : checked(try_of(object).value()) {}
	explicit checked(const ref<T>& held) : checked(held.get()) {}
	T* get() const { return try_get().value(); }
	T* operator->() const { return get(); }
	template <class U = T>
	std::enable_if_t<!std::is_void_v<U>, U&> operator*() const
	{
		return *get();
	}
	ref<T> retain() const { return try_retain().value(); }
#endif

	/* Whether there is an object, and it lives. */
	explicit operator bool() const noexcept { return ref_ != 0 && tl_ref_check(ref_) == TL_OK; }

	/* The word. */
	tl_ref id() const noexcept { return ref_; }

	friend bool operator==(const checked& a, const checked& b) noexcept { return a.ref_ == b.ref_; }
	friend bool operator!=(const checked& a, const checked& b) noexcept { return a.ref_ != b.ref_; }

  private:
	tl_ref ref_ = 0;
};

TL_END_NAMESPACE

#endif
