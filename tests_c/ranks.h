/* For the programs of tests_c that run under mpiexec: this process among the others, and what MPI still has from it.
 *
 * MPI lets a program put functions of its own before MPI's (the names PMPI_ are MPI's then). That counts memory and
 * types without a look into MPI.
 */
#pragma once

/* The C++ interface that MPI 3 removed, and that no longer compiles without a warning. */
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1

#include "check.h"
#include "tl_mpi.h"

static int rank, ranks;
static int64_t mpi_blocks, mpi_types, mpi_packs;

int MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void* block)
{
	const int code = PMPI_Alloc_mem(size, info, block);
	__atomic_add_fetch(&mpi_blocks, code == MPI_SUCCESS, __ATOMIC_RELAXED);
	return code;
}

int MPI_Free_mem(void* block)
{
	__atomic_sub_fetch(&mpi_blocks, 1, __ATOMIC_RELAXED);
	return PMPI_Free_mem(block);
}

#define COUNTED_TYPE(name, parameters, arguments)    \
	int MPI_Type_##name parameters                   \
	{                                                \
		const int code = PMPI_Type_##name arguments; \
		mpi_types += code == MPI_SUCCESS;            \
		return code;                                 \
	}
COUNTED_TYPE(contiguous, (int count, MPI_Datatype old, MPI_Datatype* made), (count, old, made))
COUNTED_TYPE(create_hvector, (int count, int length, MPI_Aint stride, MPI_Datatype old, MPI_Datatype* made),
             (count, length, stride, old, made))
COUNTED_TYPE(create_resized, (MPI_Datatype old, MPI_Aint low, MPI_Aint extent, MPI_Datatype* made),
             (old, low, extent, made))
COUNTED_TYPE(create_struct,
             (int count, const int lengths[], const MPI_Aint places[], const MPI_Datatype types[], MPI_Datatype* made),
             (count, lengths, places, types, made))

int MPI_Type_free(MPI_Datatype* type)
{
	mpi_types--;
	return PMPI_Type_free(type);
}

int MPI_Pack(const void* from, int count, MPI_Datatype type, void* to, int bytes, int* position, MPI_Comm comm)
{
	mpi_packs++;
	return PMPI_Pack(from, count, type, to, bytes, position, comm);
}

static inline void mpi_begin(int* argc, char*** argv, int level)
{
	int got = 0;
	MPI_Init_thread(argc, argv, level, &got);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

/* A refusal of the header's: the status, and a sentence that begins with the function and says this. */
#define CHECK_MPI_FAILS(call, want, function, says)                                                   \
	do {                                                                                              \
		CHECK_STATUS(call, want);                                                                     \
		if (check_failed(strncmp(tl_mpi_last_error(), function ": ", sizeof function) == 0 &&         \
		                 strstr(tl_mpi_last_error(), says) != NULL))                                  \
			fprintf(stderr, "%s:%d: the sentence is: %s\n", __FILE__, __LINE__, tl_mpi_last_error()); \
	} while (0)

#define CHECK_MPI(call)                                                                                           \
	do {                                                                                                          \
		const tl_status got_ = (call);                                                                            \
		if (check_failed(got_ == TL_OK)) fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, tl_mpi_last_error()); \
	} while (0)
