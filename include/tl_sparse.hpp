/* TL Runtime for C++17: sparse matrices.
 *
 * Header only, over tl_tensor.hpp. A tl::sparse_matrix is a tl::ref<tl_sparse>, a
 * counted reference of its own. Slices, transposes and the tensors of a block share
 * blocks and keep them alive; only from_csr, from_csc and to_contiguous copy. A line is
 * a row of a CSR matrix, a column of a CSC matrix. Functions named try_ return a tl::result; those at
 * the end of the class throw tl::error instead.
 */
#ifndef TL_SPARSE_HPP
#define TL_SPARSE_HPP

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "tl_tensor.hpp"

TL_BEGIN_NAMESPACE

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
	static result<sparse_matrix> try_create(tl_sparse_format format, std::int64_t rows, std::int64_t columns,
	                                        const std::vector<std::int64_t>& lengths,
	                                        const tl_sparse_options* options = nullptr)
	{
		const std::int64_t lines = format == TL_SPARSE_CSC ? columns : rows;
		if (lines != static_cast<std::int64_t>(lengths.size())) {
			return detail::refusal("tl::sparse_matrix::create", "there have to be as many lengths as lines");
		}
		return own([&] {
			return (tl_sparse_create)(format, rows, columns, dtype_of<Value>::value, dtype_of<Index>::value,
			                          lengths.data(), options);
		});
	}

	/* A copy of three arrays. */
	template <class Value, class Index>
	static result<sparse_matrix> try_from_csr(std::int64_t rows, std::int64_t columns, std::int64_t nonzeros,
	                                          const Value* values, const Index* indices, const Index* offsets,
	                                          const tl_sparse_options* options = nullptr)
	{
		return own([&] {
			return (tl_sparse_from_csr)(rows, columns, nonzeros, dtype_of<Value>::value, dtype_of<Index>::value, values,
			                            indices, offsets, options);
		});
	}
	template <class Value, class Index>
	static result<sparse_matrix> try_from_csc(std::int64_t rows, std::int64_t columns, std::int64_t nonzeros,
	                                          const Value* values, const Index* indices, const Index* offsets,
	                                          const tl_sparse_options* options = nullptr)
	{
		return own([&] {
			return (tl_sparse_from_csc)(rows, columns, nonzeros, dtype_of<Value>::value, dtype_of<Index>::value, values,
			                            indices, offsets, options);
		});
	}

	/* One block over three arrays that deleter(values, ctx) frees. On failure they stay the caller's. */
	template <class Value, class Index>
	static result<sparse_matrix> try_wrap(tl_sparse_format format, std::int64_t rows, std::int64_t columns,
	                                      std::int64_t nonzeros, Value* values, Index* indices,
	                                      const std::remove_const_t<Index>* offsets, tl_deleter deleter = nullptr,
	                                      void* ctx = nullptr)
	{
		using plain = std::remove_const_t<Value>;
		const std::uint32_t flags = std::is_const_v<Value> ? std::uint32_t{TL_TENSOR_FLAG_READ_ONLY} : 0u;
		return own([&] {
			return (tl_sparse_wrap)(format, rows, columns, nonzeros, dtype_of<plain>::value,
			                        dtype_of<std::remove_const_t<Index>>::value, const_cast<plain*>(values),
			                        const_cast<std::remove_const_t<Index>*>(indices), offsets, flags, deleter, ctx);
		});
	}

	result<tl_sparse_info> try_info() const
	{
		tl_sparse_info known{};
		known.struct_size = sizeof known;
		const tl_status status = tl_sparse_info_get(get(), &known);
		if (status != TL_OK) {
			return failure::of(status);
		}
		return known;
	}

	/* Line i; fails when the matrix has other types. The arrays are borrowed. */
	template <class Value, class Index = std::int32_t>
	result<line_of<Value, Index>> try_line(std::int64_t i) const
	{
		const result<tl_sparse_info> known = try_info();
		if (!known) {
			return known.error();
		}
		if (known->value_dtype != dtype_of<std::remove_const_t<Value>>::value ||
		    known->index_dtype != dtype_of<std::remove_const_t<Index>>::value ||
		    (!std::is_const_v<Value> && (known->flags & TL_TENSOR_FLAG_READ_ONLY) != 0)) {
			return detail::refusal("tl::sparse_matrix::line",
			                       "the matrix is not one of such values and indices, or it is read-only");
		}
		void *values = nullptr, *indices = nullptr;
		std::int64_t length = 0;
		const tl_status status = tl_sparse_row(get(), i, &values, &indices, &length);
		if (status != TL_OK) {
			return failure::of(status);
		}
		return line_of<Value, Index>{static_cast<Value*>(values), static_cast<Index*>(indices), length};
	}

	result<sparse_matrix> try_slice(std::int64_t start, std::int64_t stop) const
	{
		return own([&] { return (tl_sparse_slice)(get(), start, stop); });
	}
	result<sparse_matrix> try_transpose() const
	{
		return own([&] { return (tl_sparse_transpose)(get()); });
	}
	result<void> try_validate() const { return try_check(tl_sparse_validate(get())); }

	/* Three tensors that share no memory with the matrix. */
	result<arrays> try_to_contiguous() const
	{
		return three(
			[&](tl_tensor** v, tl_tensor** i, tl_tensor** o) { return tl_sparse_to_contiguous(get(), v, i, o); });
	}

	/* The part of a block that the matrix shows, without a copy. */
	result<arrays> try_block(std::int64_t number) const
	{
		return three([&](tl_tensor** v, tl_tensor** i, tl_tensor** o) {
			return tl_sparse_block_tensors(get(), number, v, i, o);
		});
	}

#ifndef TL_NO_EXCEPTIONS
	template <class Value, class Index = std::int32_t>
	static sparse_matrix create(tl_sparse_format format, std::int64_t rows, std::int64_t columns,
	                            const std::vector<std::int64_t>& lengths, const tl_sparse_options* options = nullptr)
	{
		return try_create<Value, Index>(format, rows, columns, lengths, options).value();
	}
	template <class Value, class Index>
	static sparse_matrix from_csr(std::int64_t rows, std::int64_t columns, std::int64_t nonzeros, const Value* values,
	                              const Index* indices, const Index* offsets,
	                              const tl_sparse_options* options = nullptr)
	{
		return try_from_csr(rows, columns, nonzeros, values, indices, offsets, options).value();
	}
	template <class Value, class Index>
	static sparse_matrix from_csc(std::int64_t rows, std::int64_t columns, std::int64_t nonzeros, const Value* values,
	                              const Index* indices, const Index* offsets,
	                              const tl_sparse_options* options = nullptr)
	{
		return try_from_csc(rows, columns, nonzeros, values, indices, offsets, options).value();
	}
	template <class Value, class Index>
	static sparse_matrix wrap(tl_sparse_format format, std::int64_t rows, std::int64_t columns, std::int64_t nonzeros,
	                          Value* values, Index* indices, const std::remove_const_t<Index>* offsets,
	                          tl_deleter deleter = nullptr, void* ctx = nullptr)
	{
		return try_wrap(format, rows, columns, nonzeros, values, indices, offsets, deleter, ctx).value();
	}
	tl_sparse_info info() const { return try_info().value(); }
	template <class Value, class Index = std::int32_t>
	line_of<Value, Index> line(std::int64_t i) const
	{
		return try_line<Value, Index>(i).value();
	}
	sparse_matrix slice(std::int64_t start, std::int64_t stop) const { return try_slice(start, stop).value(); }
	sparse_matrix transpose() const { return try_transpose().value(); }
	void validate() const { try_validate().value(); }
	arrays to_contiguous() const { return try_to_contiguous().value(); }
	arrays block(std::int64_t number) const { return try_block(number).value(); }
#endif

  private:
	template <class Make>
	static result<sparse_matrix> own(Make make)
	{
		return detail::owned<sparse_matrix>(make);
	}

	/* The function registers the tensors that it makes; the scope opened here drops those references again. */
	template <class Fill>
	static result<arrays> three(Fill fill)
	{
		const result<scope> passage = scope::try_enter();
		if (!passage) {
			return passage.error();
		}
		tl_tensor* made[3] = {};
		const tl_status status = fill(&made[0], &made[1], &made[2]);
		if (status != TL_OK) {
			return failure::of(status);
		}
		tensor held[3];
		for (std::size_t i = 0; i < 3; i++) {
			result<ref<tl_tensor>> one = ref<tl_tensor>::try_retain(made[i]);
			if (!one) {
				return one.error();
			}
			held[i] = tensor(*std::move(one));
		}
		return arrays{std::move(held[0]), std::move(held[1]), std::move(held[2])};
	}
};

TL_END_NAMESPACE

#endif
