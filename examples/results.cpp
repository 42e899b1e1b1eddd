// c++ -std=c++17 -fno-exceptions -fno-rtti results.cpp -ltl_runtime && ./a.out
#include <cstdio>
#include <tl_tensor.hpp>

// Row i of a matrix, summed; a failure goes to the caller.
static tl::result<double> sum_of_row(const tl::tensor& matrix, std::int64_t i)
{
	const tl::result<tl::tensor> row = matrix.try_slice({tl::part::at(i)});
	if (!row) return row.error();
	const tl::result<const float*> numbers = row->try_data<const float>();
	if (!numbers) return numbers.error();
	double sum = 0;
	for (std::int64_t j = 0; j < row->size(); j++) sum += (*numbers)[j];
	return sum;
}

int main()
{
	const auto matrix = tl::tensor::try_zeros<float>({2, 3});
	if (!matrix) return 1;
	(*matrix->try_data<float>())[5] = 42;
	for (const std::int64_t row : {1, 7}) {
		const tl::result<double> sum = sum_of_row(*matrix, row);
		if (sum) std::printf("row %lld adds up to %g\n", static_cast<long long>(row), *sum);
		else std::printf("%s\n", sum.error().message.c_str());
	}
}
