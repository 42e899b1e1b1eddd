/* TL Runtime for C++17: sparse matrices.
 *
 * Header only, over tl_tensor.hpp. A tl::sparse_matrix is a tl::ref<tl_sparse>, a
 * counted reference of its own. Slices, transposes and the tensors of a block share
 * blocks and keep them alive; only from_csr, from_csc and to_contiguous copy. A line is
 * a row of a CSR matrix, a column of a CSC matrix. Functions throw tl::error.
 */
#ifndef TL_SPARSE_HPP
#define TL_SPARSE_HPP

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "tl_tensor.hpp"

namespace tl {

class sparse_matrix : public ref<tl_sparse> {
  public:
	/* One line, at its place in the block. */
	template <class Value, class Index>
	struct line_of {
		Value* values;
		Index* indices;
		std::int64_t length;
	};

	/* The whole or a block as three tensors of one dimension. */
	struct arrays {
		tensor values, indices, offsets;
	};

	sparse_matrix() noexcept = default;
	sparse_matrix(ref<tl_sparse> held) noexcept : ref(std::move(held)) {}

	/* Room for lines of these lengths, to be filled in. */
	template <class Value, class Index = std::int32_t>
	static sparse_matrix create(tl_sparse_format format, std::int64_t rows, std::int64_t columns,
	                            const std::vector<std::int64_t>& lengths, const tl_sparse_options* options = nullptr)
	{
		const std::int64_t lines = format == TL_SPARSE_CSC ? columns : rows;
		if (lines != static_cast<std::int64_t>(lengths.size())) {
			throw error(
				failure{TL_E_INVALID_ARGUMENT,
			            "tl::sparse_matrix::create: TL_E_INVALID_ARGUMENT: there have to be as many lengths as lines"});
		}
		return own([&] {
			return (tl_sparse_create)(format, rows, columns, dtype_of<Value>::value, dtype_of<Index>::value,
			                          lengths.data(), options);
		});
	}

	/* A copy of three arrays. */
	template <class Value, class Index>
	static sparse_matrix from_csr(std::int64_t rows, std::int64_t columns, std::int64_t nonzeros, const Value* values,
	                              const Index* indices, const Index* offsets,
	                              const tl_sparse_options* options = nullptr)
	{
		return own([&] {
			return (tl_sparse_from_csr)(rows, columns, nonzeros, dtype_of<Value>::value, dtype_of<Index>::value, values,
			                            indices, offsets, options);
		});
	}
	template <class Value, class Index>
	static sparse_matrix from_csc(std::int64_t rows, std::int64_t columns, std::int64_t nonzeros, const Value* values,
	                              const Index* indices, const Index* offsets,
	                              const tl_sparse_options* options = nullptr)
	{
		return own([&] {
			return (tl_sparse_from_csc)(rows, columns, nonzeros, dtype_of<Value>::value, dtype_of<Index>::value, values,
			                            indices, offsets, options);
		});
	}

	/* One block over three arrays that deleter(values, ctx) frees. On failure they stay the caller's. */
	template <class Value, class Index>
	static sparse_matrix wrap(tl_sparse_format format, std::int64_t rows, std::int64_t columns, std::int64_t nonzeros,
	                          Value* values, Index* indices, const std::remove_const_t<Index>* offsets,
	                          tl_deleter deleter = nullptr, void* ctx = nullptr)
	{
		using plain = std::remove_const_t<Value>;
		const std::uint32_t flags = std::is_const_v<Value> ? std::uint32_t{TL_TENSOR_FLAG_READ_ONLY} : 0u;
		return own([&] {
			return (tl_sparse_wrap)(format, rows, columns, nonzeros, dtype_of<plain>::value,
			                        dtype_of<std::remove_const_t<Index>>::value, const_cast<plain*>(values),
			                        const_cast<std::remove_const_t<Index>*>(indices), offsets, flags, deleter, ctx);
		});
	}

	tl_sparse_info info() const
	{
		tl_sparse_info known{};
		known.struct_size = sizeof known;
		check(tl_sparse_info_get(get(), &known));
		return known;
	}

	/* Line i; throws when the matrix has other types. The arrays are borrowed. */
	template <class Value, class Index = std::int32_t>
	line_of<Value, Index> line(std::int64_t i) const
	{
		const tl_sparse_info known = info();
		if (known.value_dtype != dtype_of<std::remove_const_t<Value>>::value ||
		    known.index_dtype != dtype_of<std::remove_const_t<Index>>::value ||
		    (!std::is_const_v<Value> && (known.flags & TL_TENSOR_FLAG_READ_ONLY) != 0)) {
			throw error(failure{TL_E_INVALID_ARGUMENT, "tl::sparse_matrix::line: TL_E_INVALID_ARGUMENT: the matrix is "
			                                           "not one of such values and indices, or it is read-only"});
		}
		void *values = nullptr, *indices = nullptr;
		std::int64_t length = 0;
		check(tl_sparse_row(get(), i, &values, &indices, &length));
		return {static_cast<Value*>(values), static_cast<Index*>(indices), length};
	}

	sparse_matrix slice(std::int64_t start, std::int64_t stop) const
	{
		return own([&] { return (tl_sparse_slice)(get(), start, stop); });
	}
	sparse_matrix transpose() const
	{
		return own([&] { return (tl_sparse_transpose)(get()); });
	}
	void validate() const { check(tl_sparse_validate(get())); }

	/* Three tensors that share no memory with the matrix. */
	arrays to_contiguous() const
	{
		return three(
			[&](tl_tensor** v, tl_tensor** i, tl_tensor** o) { return tl_sparse_to_contiguous(get(), v, i, o); });
	}

	/* The part of a block that the matrix shows, without a copy. */
	arrays block(std::int64_t number) const
	{
		return three([&](tl_tensor** v, tl_tensor** i, tl_tensor** o) {
			return tl_sparse_block_tensors(get(), number, v, i, o);
		});
	}

  private:
	/* The functions register what they make; the scope opened here drops that reference again. */
	template <class Make>
	static sparse_matrix own(Make make)
	{
		scope passage;
		return sparse_matrix(ref::retain(check(make())));
	}

	template <class Fill>
	static arrays three(Fill fill)
	{
		scope passage;
		tl_tensor *values = nullptr, *indices = nullptr, *offsets = nullptr;
		check(fill(&values, &indices, &offsets));
		return {tensor(ref<tl_tensor>::retain(values)), tensor(ref<tl_tensor>::retain(indices)),
		        tensor(ref<tl_tensor>::retain(offsets))};
	}
};

} // namespace tl

#endif
