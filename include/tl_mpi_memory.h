/* MPI's windows over the library's memory, and the library's devices and pools over MPI's memory. tl_mpi.h includes this
 * header.
 */
#ifndef TL_MPI_MEMORY_H
#define TL_MPI_MEMORY_H

#include "tl_mpi_layout.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Windows
 * -------
 */

/* tl_mpi_window is a window over the elements of a tensor, which it holds. One of zeros is closed. */
typedef struct tl_mpi_window {
	MPI_Win window; /* for MPI_Put, MPI_Get, MPI_Win_fence and the others; displacements count elements */
	tl_tensor* tensor;
} tl_mpi_window;

/*
 * tl_mpi_window_create is MPI_Win_create over a contiguous tensor that may be written: all processes of comm call it,
 * each with a tensor of its own size, which may be empty. info is MPI_INFO_NULL or hints.
 *
 * Ownership: the window holds the tensor until tl_mpi_window_free.
 * Errors: as tl_mpi.h says.
 */
static inline tl_status tl_mpi_window_create(tl_tensor* tensor, MPI_Info info, MPI_Comm comm, tl_mpi_window* out_window)
{
	const char* const function = "tl_mpi_window_create";
	tl_tensor_info it;
	tl_status status;
	int unit;
	if (out_window == NULL) return tl_mpi_refuse_(function, TL_E_INVALID_ARGUMENT, "out_window is NULL");
	memset(out_window, 0, sizeof *out_window);
	status = tl_mpi_look_(function, tensor, TL_MPI_READ | TL_MPI_WRITE | TL_MPI_DENSE_ | TL_MPI_HOLD_, &it);
	if (status != TL_OK) return status;
	unit = it.numel > 0 ? TL_MPI_CAST_(int, TL_MPI_CAST_(int64_t, it.nbytes) / it.numel) : 1;
	status = tl_mpi_check_(
		function, MPI_Win_create(it.data, TL_MPI_CAST_(MPI_Aint, it.nbytes), unit, info, comm, &out_window->window));
	if (status == TL_OK) out_window->tensor = tl_tensor_acquire(tensor);
	return status;
}

/*
 * tl_mpi_window_free is MPI_Win_free, which waits until every process is done with the window, and gives the reference
 * back. A closed window stays as it is.
 *
 * Errors: TL_E_INVALID_ARGUMENT (NULL), TL_E_DEVICE (MPI is not running), and what MPI answers: the window is open then.
 */
static inline tl_status tl_mpi_window_free(tl_mpi_window* window)
{
	tl_status status = tl_mpi_running_("tl_mpi_window_free");
	if (status != TL_OK) return status;
	if (window == NULL) return tl_mpi_refuse_("tl_mpi_window_free", TL_E_INVALID_ARGUMENT, "window is NULL");
	if (window->tensor == NULL) return TL_OK;
	status = tl_mpi_check_("tl_mpi_window_free", MPI_Win_free(&window->window));
	if (status != TL_OK) return status;
	tl_tensor_release(window->tensor);
	memset(window, 0, sizeof *window);
	return TL_OK;
}

/*
 * MPI's memory
 * ------------
 *
 * MPI_Alloc_mem may give memory that the network reaches without a copy, or that other processes of the machine share.
 * A memory pool or a device over it takes large blocks and cuts tensors out of them, so that MPI is asked rarely.
 *
 * The runtime calls the allocator on the thread that needs memory. MPI has to allow that thread to call it: all threads
 * with MPI_THREAD_MULTIPLE, one at a time with MPI_THREAD_SERIALIZED, and else the thread that called MPI_Init: others
 * get no memory (TL_E_OUT_OF_MEMORY), and what they give back waits for that thread's next call. Outside of MPI_Init and
 * MPI_Finalize there is no memory either: release the tensors, and destroy pools, before MPI_Finalize. The header gives
 * the idle memory of its device back when MPI_Finalize begins. Set MPI_ERRORS_RETURN for MPI_COMM_WORLD, or MPI ends
 * the processes when it has no memory.
 */

enum { TL_MPI_ALIGNMENT = 64 };

/* Stands in front of each block. */
typedef struct tl_mpi_block_ {
	void* base; /* what MPI_Alloc_mem gave */
	struct tl_mpi_block_* next;
} tl_mpi_block_;

/* Blocks that a thread which must not call MPI gave back; pushed and taken whole, with atomic operations. */
__attribute__((weak)) tl_mpi_block_* tl_mpi_waiting_;

static inline bool tl_mpi_may_call_(void)
{
	int begun = 0, ended = 0, level = MPI_THREAD_SINGLE, first = 0;
	MPI_Initialized(&begun);
	if (!begun) return false;
	MPI_Finalized(&ended);
	if (ended) return false;
	MPI_Query_thread(&level);
	if (level >= MPI_THREAD_SERIALIZED) return true;
	MPI_Is_thread_main(&first);
	return first != 0;
}

static inline void tl_mpi_free_waiting_(void)
{
	tl_mpi_block_* block = __atomic_exchange_n(&tl_mpi_waiting_, TL_MPI_CAST_(tl_mpi_block_*, NULL), __ATOMIC_ACQUIRE);
	while (block != NULL) {
		tl_mpi_block_* next = block->next;
		MPI_Free_mem(block->base);
		block = next;
	}
}

static inline void* tl_mpi_allocate_(void* ctx, size_t bytes)
{
	const size_t more = sizeof(tl_mpi_block_) + TL_MPI_ALIGNMENT;
	void* base = NULL;
	uintptr_t place;
	tl_mpi_block_* block;
	TL_MPI_CAST_(void, ctx);
	if (bytes > TL_MPI_CAST_(size_t, PTRDIFF_MAX) - more || !tl_mpi_may_call_()) return NULL;
	tl_mpi_free_waiting_();
	if (MPI_Alloc_mem(TL_MPI_CAST_(MPI_Aint, bytes + more), MPI_INFO_NULL, &base) != MPI_SUCCESS) return NULL;
	memcpy(&place, &base, sizeof place);
	place = (place + more) & ~TL_MPI_CAST_(uintptr_t, TL_MPI_ALIGNMENT - 1);
	place -= sizeof *block;
	memcpy(&block, &place, sizeof block);
	block->base = base;
	return block + 1;
}

static inline void tl_mpi_deallocate_(void* ctx, void* memory, size_t bytes)
{
	tl_mpi_block_* block = TL_MPI_CAST_(tl_mpi_block_*, memory) - 1;
	TL_MPI_CAST_(void, ctx), TL_MPI_CAST_(void, bytes);
	block->next = __atomic_load_n(&tl_mpi_waiting_, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&tl_mpi_waiting_, &block->next, block, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		continue;
	if (tl_mpi_may_call_()) tl_mpi_free_waiting_();
}

/* tl_mpi_allocator returns an allocator over MPI_Alloc_mem, for tl_memory_pool_create and tl_device_register. */
static inline tl_device_allocator tl_mpi_allocator(void)
{
	tl_device_allocator allocator;
	memset(&allocator, 0, sizeof allocator);
	allocator.struct_size = sizeof allocator;
	allocator.name = "mpi:0";
	allocator.alignment = TL_MPI_ALIGNMENT;
	allocator.allocate = tl_mpi_allocate_;
	allocator.deallocate = tl_mpi_deallocate_;
	return allocator;
}

/*
 * tl_mpi_device_register adds the device "mpi:0", whose memory is MPI_Alloc_mem's and which the CPU can use: tensors,
 * pools, limits and statistics work with it as with any device. It stays until the process ends.
 *
 * Errors: TL_E_INVALID_ARGUMENT (NULL), TL_E_ALREADY_REGISTERED (there is such a device; tl_device_by_name finds it),
 *     TL_E_LIMIT (256 devices), TL_E_DEVICE (MPI is not running).
 */
static inline tl_status tl_mpi_device_register(int32_t* out_device)
{
	const tl_device_allocator allocator = tl_mpi_allocator();
	tl_device_copier copier;
	tl_status status;
	if (out_device == NULL)
		return tl_mpi_refuse_("tl_mpi_device_register", TL_E_INVALID_ARGUMENT, "out_device is NULL");
	status = tl_mpi_keep_("tl_mpi_device_register"); /* and with it the call at MPI_Finalize */
	if (status != TL_OK) return status;
	memset(&copier, 0, sizeof copier);
	copier.struct_size = sizeof copier;
	copier.host_access = 1;
	status = tl_device_register(&allocator, &copier, out_device);
	if (status != TL_OK) return tl_mpi_runtime_failed_("tl_mpi_device_register", status);
	tl_mpi_kept_.device = 1;
	return TL_OK;
}

#ifdef __cplusplus
}
#endif

#endif
