// tl_tensor.hpp: views and DLPack from C++, and that no reference is lost.

#include "dl.h"
#include "check.hpp"
#include "tl_tensor.hpp"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace {

tl::tensor counting()
{
	auto made = tl::tensor::empty<std::int64_t>({2, 3});
	for (std::int64_t i = 0; i < made.size(); i++) {
		made.data<std::int64_t>()[i] = i;
	}
	return made;
}

void views()
{
	auto last = counting();
	last = last.transpose().slice(0, 2, INT64_MIN, -1).reshape({3, 1, 2}).squeeze(1).expand_dims(0);
	CHECK((last.shape() == tl::tensor::extents{1, 3, 2}));
	const auto copy = last.clone();
	CHECK(copy.is_contiguous() && !last.is_contiguous());
	CHECK(copy.data<std::int64_t>()[0] == 2 && copy.data<std::int64_t>()[5] == 3);
	const auto base = last.base();
	CHECK(base && base.use_count() == 2);
	CHECK(!copy.base());
	CHECK(counting().permute({1, 0}).dim(0) == 3);
	const auto parts = counting().slice({{1, 2}, {INT64_MAX, INT64_MIN, -2}});
	CHECK((parts.shape() == tl::tensor::extents{1, 2}) && parts.clone().data<std::int64_t>()[0] == 5);
	CHECK(counting().slice({{}, tl::part::at(-1)}).clone().data<std::int64_t>()[1] == 5);
	CHECK(status_of([&] { counting().slice({tl::part::at(2)}); }) == TL_E_INVALID_ARGUMENT);
	CHECK(counting().broadcast_to({4, 2, 3}).size() == 24);
	CHECK(status_of([&] { counting().transpose().reshape({6}); }) == TL_E_UNSUPPORTED);
	CHECK(status_of([&] { counting().data<float>(); }) == TL_E_INVALID_ARGUMENT);
	CHECK(tl_get_scope_depth() == 0);
}

int ended;

void borrowed()
{
	static const float numbers[4] = {1, 2, 3, 4};
	auto tensor = tl::tensor::borrow(numbers, {2, 2}, [](void*, void* count) { ++*static_cast<int*>(count); }, &ended);
	const auto view = tensor.slice(0, 1, 2);
	CHECK(view.is_read_only() && view.data<const float>()[0] == 3);
	CHECK(status_of([&] { view.data<float>(); }) == TL_E_INVALID_ARGUMENT);
	CHECK(status_of([&] { static_cast<void>(view.to_dlpack_legacy()); }) == TL_E_UNSUPPORTED);
	tensor.reset();
	CHECK(ended == 0);
}

void exchanged()
{
	auto tensor = counting();
	DLManagedTensorVersioned* managed = tensor.to_dlpack();
	CHECK(managed->dl_tensor.data == tensor.data<std::int64_t>() && managed->dl_tensor.ndim == 2);
	const auto again = tl::tensor::from_dlpack(managed);
	CHECK(again.data<std::int64_t>() == tensor.data<std::int64_t>());
	const auto older = tl::tensor::from_dlpack(tensor.to_dlpack_legacy(true));
	CHECK(older.data<std::int64_t>() != tensor.data<std::int64_t>());
	managed = tensor.to_dlpack();
	tensor = tl::tensor();
	managed->deleter(managed);
	CHECK(status_of([] { tl::tensor::from_dlpack(static_cast<DLManagedTensor*>(nullptr)); }) == TL_E_INVALID_ARGUMENT);
}

void growing()
{
	const auto cache = tl::tensor::empty<std::int64_t>({0, 16});
	cache.reserve(1000);
	CHECK(cache.capacity() >= 1000);
	for (std::int64_t row = 0; row < 1000; row++) {
		cache.resize(row + 1);
		cache.data<std::int64_t>()[row * 16] = row;
	}
	CHECK((cache.shape() == tl::tensor::extents{1000, 16}) && cache.data<std::int64_t>()[999 * 16] == 999);
	cache.resize(2);
	cache.resize(50000, true);
	CHECK(cache.data<std::int64_t>()[16] == 1 && cache.data<std::int64_t>()[999 * 16] == 0);
	const auto view = cache.slice(0, 0, 1);
	CHECK(status_of([&] { cache.resize(1); }) == TL_E_BUSY);
	CHECK(status_of([&] { view.reserve(1); }) == TL_E_UNSUPPORTED);
}

void shared()
{
	const auto sent = counting().to(TL_DEVICE_SHARED);
	tl_tensor_shared described = sent.slice(0, 1, 2).share();
	const auto opened = tl::tensor::open(described);
	close(described.fd);
	opened.data<std::int64_t>()[0] = 33;
	CHECK(sent.data<std::int64_t>()[3] == 33 && opened.size() == 3 && !opened.is_read_only());
	described = sent.share(TL_TENSOR_FLAG_READ_ONLY);
	CHECK(tl::tensor::open(described).is_read_only());
	close(described.fd);
	described.fd = -1;
	CHECK(status_of([&] { tl::tensor::open(described); }) == TL_E_INVALID_ARGUMENT);
	CHECK(status_of([] { (void)counting().share(); }) == TL_E_UNSUPPORTED);
}

} // namespace

int main()
{
	views();
	borrowed();
	CHECK(ended == 1);
	exchanged();
	growing();
	shared();
	CHECK(live() == 0);
	std::puts("passed");
}
