// tl_sparse.hpp: sparse matrices from C++, and that no reference is lost.

#include "check.hpp"
#include "tl_sparse.hpp"

#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace {

const double values[4] = {10, 11, 20, 40};
const std::int32_t indices[4] = {0, 2, 1, 0}, offsets[5] = {0, 2, 3, 3, 4};
const tl_sparse_options small = {sizeof small, 1, 1, 2};

void views_outlive_what_they_show()
{
	auto matrix = tl::sparse_matrix::from_csr(4, 3, 4, values, indices, offsets, &small);
	auto column = matrix.slice(1, INT64_MAX).transpose();
	const auto block = matrix.block(0);
	matrix = {};
	CHECK(column.info().format == TL_SPARSE_CSC && column.info().columns == 3 && column.info().rows == 3);
	const auto line = column.line<double>(0);
	CHECK(line.length == 1 && line.values[0] == 20 && line.indices[0] == 1);
	CHECK(block.values.data<double>()[1] == 11);
	const auto whole = column.to_contiguous();
	column = {};
	CHECK(whole.offsets.size() == 4 && whole.offsets.data<std::int32_t>()[3] == 2);
}

void made_line_by_line()
{
	const auto matrix = tl::sparse_matrix::create<float, std::int64_t>(TL_SPARSE_CSC, 5, 2, {3, 1});
	for (std::int64_t i = 0; i < 2; i++) {
		const auto line = matrix.line<float, std::int64_t>(i);
		std::iota(line.indices, line.indices + line.length, i);
		std::fill(line.values, line.values + line.length, 1.0f);
	}
	matrix.validate();
	matrix.line<float, std::int64_t>(0).indices[2] = 9;
	CHECK(status_of([&] { matrix.validate(); }) == TL_E_INVALID_ARGUMENT);
	CHECK(status_of([&] { matrix.line<float>(0); }) == TL_E_INVALID_ARGUMENT);
	CHECK(status_of([&] { matrix.line<float, std::int64_t>(2); }) == TL_E_INVALID_ARGUMENT);
	CHECK(status_of([] { tl::sparse_matrix::create<float>(TL_SPARSE_CSR, 2, 2, {1}); }) == TL_E_INVALID_ARGUMENT);
	CHECK(status_of([] { tl::sparse_matrix::from_csc(3, 2, 4, values, indices, offsets); }) == TL_E_INVALID_ARGUMENT);
}

void lent()
{
	static int ends;
	const auto count = [](void*, void* ctx) { ++*static_cast<int*>(ctx); };
	auto matrix = tl::sparse_matrix::wrap(TL_SPARSE_CSR, 4, 3, 4, values, indices, offsets, count, &ends);
	CHECK(matrix.line<const double>(3).values == values + 3);
	CHECK(status_of([&] { matrix.line<double>(3); }) == TL_E_INVALID_ARGUMENT);
	const auto kept = matrix.slice(0, 1);
	matrix = {};
	CHECK(ends == 0 && kept.line<const double>(0).length == 2);
	CHECK(kept.block(0).values.is_read_only());
}

} // namespace

int main()
{
	const auto before = live();
	views_outlive_what_they_show();
	made_line_by_line();
	lent();
	tl_mem_purge();
	CHECK(live() == before);
	std::puts("passed");
}
