// tl_mpi.h from C++, with the tensors of tl_tensor.hpp.
#include "../ranks.h"

#include "tl_tensor.hpp"

TEST(tensors_are_passed_on)
{
	tl::scope scope;
	tl::tensor mine = tl::tensor::zeros<double>({4, 3});
	auto got = tl::tensor::zeros<double>({3, 4});
	static_cast<double*>(tl_tensor_data(mine.get()))[5] = rank + 0.5;
	const std::int64_t before = tl_ptr_refcount(mine.get());
	tl_mpi_request requests[2];
	CHECK_MPI(
		tl_mpi_irecv(tl_view_transpose(got.get(), 0, 1), (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, requests));
	CHECK_MPI(tl_mpi_isend(mine.get(), (rank + 1) % ranks, 0, MPI_COMM_WORLD, requests + 1));
	CHECK_INT(tl_ptr_refcount(mine.get()), before + 1);
	CHECK_MPI(tl_mpi_waitall(2, requests));
	CHECK_INT(tl_ptr_refcount(mine.get()), before);
	CHECK(static_cast<double*>(tl_tensor_data(got.get()))[2 * 4 + 1] == (rank + ranks - 1) % ranks + 0.5);
	CHECK_MPI(tl_mpi_allreduce(mine.get(), MPI_SUM, MPI_COMM_WORLD));
	CHECK(static_cast<double*>(tl_tensor_data(mine.get()))[5] == ranks * ranks / 2.0);
	CHECK_MPI_FAILS(tl_mpi_allreduce(nullptr, MPI_SUM, MPI_COMM_WORLD), TL_E_INVALID_ARGUMENT, "tl_mpi_allreduce",
	                "the tensor is NULL");
}

TEST(halves_have_a_sum)
{
	const std::int64_t shape = 10;
	tl::scope scope;
	tl_tensor* t = tl_tensor_empty(TL_DTYPE_BF16, TL_DEVICE_CPU, 1, &shape);
	auto* values = static_cast<std::uint16_t*>(tl_tensor_data(t));
	for (int i = 0; i < 10; i++) values[i] = 0x3F80; // 1
	CHECK_MPI(tl_mpi_allreduce(t, MPI_SUM, MPI_COMM_WORLD));
	CHECK(tl_mpi_from_bf16_(values[9]) == static_cast<float>(ranks));
}

int main(int argc, char** argv)
{
	mpi_begin(&argc, &argv, MPI_THREAD_SINGLE);
	check_run();
	MPI_Finalize();
	CHECK_INT(mpi_types, 0);
	return check_finish();
}
