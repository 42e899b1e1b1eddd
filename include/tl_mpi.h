/* TL Runtime with MPI: tensors are sent, reduced and shared in place, and MPI's memory becomes a device.
 *
 *	tl_mpi_allreduce(gradient, MPI_SUM, MPI_COMM_WORLD);
 *
 *	tl_mpi_request request;
 *	tl_mpi_isend(column, 1, 0, MPI_COMM_WORLD, &request); // a view with gaps: MPI reads it where it lies
 *	tl_tensor_release(column);                            // the request holds it
 *	tl_mpi_wait(&request, MPI_STATUS_IGNORE);
 *
 * Header only, for C99 and C++17, over the mpi.h and the library of whichever MPI 3 or later the program is compiled
 * with. tl_mpi_types.h tells about failures and element types. Nothing here copies a tensor; what MPI copies inside is
 * its own affair.
 *
 * A function refuses a tensor that MPI could not use, with a status and before it calls MPI, so that the other
 * processes of a collective call still wait: treat such a failure as a defect of the program.
 *
 * Every function checks:
 *	TL_E_INVALID_ARGUMENT: a NULL tensor (not "no bytes": the peer would wait), a NULL output.
 *	TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE, TL_E_UNSUPPORTED: as tl_tensor_info_get says.
 *	TL_E_UNSUPPORTED: memory that the CPU cannot use; a tensor that is to be written and is read-only, or has one
 *	    element under several indices; a tensor that has to be contiguous and is not; a tensor in a slot that
 *	    would have to live on.
 *	TL_E_DEVICE: MPI is not running. Errors of MPI: see tl_mpi_types.h.
 *
 * Threads: those that MPI_Init_thread allows to call MPI.
 */
#ifndef TL_MPI_H
#define TL_MPI_H

#include "tl_mpi_layout.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Calls that wait
 * ---------------
 */

/* tl_mpi_send is MPI_Send of a tensor, of any strides. Errors: as above. */
static inline tl_status tl_mpi_send(tl_tensor* tensor, int destination, int tag, MPI_Comm comm)
{
	tl_mpi_layout it;
	const tl_status status = tl_mpi_open_("tl_mpi_send", tensor, TL_MPI_READ, &it);
	if (status != TL_OK) return status;
	return tl_mpi_close_("tl_mpi_send", MPI_Send(it.data, it.count, it.type, destination, tag, comm), &it);
}

/*
 * tl_mpi_recv is MPI_Recv into a tensor, of any strides. A shorter message fills the first elements; out_status, which
 * may be MPI_STATUS_IGNORE, tells how many. Errors: as above; a message that is too long is TL_E_INVALID_ARGUMENT.
 */
static inline tl_status tl_mpi_recv(tl_tensor* tensor, int source, int tag, MPI_Comm comm, MPI_Status* out_status)
{
	tl_mpi_layout it;
	const tl_status status = tl_mpi_open_("tl_mpi_recv", tensor, TL_MPI_WRITE, &it);
	if (status != TL_OK) return status;
	return tl_mpi_close_("tl_mpi_recv", MPI_Recv(it.data, it.count, it.type, source, tag, comm, out_status), &it);
}

/*
 * tl_mpi_bcast is MPI_Bcast: every process gets the root's elements. At the root the tensor is only read.
 * Errors: as above.
 */
static inline tl_status tl_mpi_bcast(tl_tensor* tensor, int root, MPI_Comm comm)
{
	tl_mpi_layout it;
	int rank = 0;
	tl_status status = tl_mpi_running_("tl_mpi_bcast");
	if (status == TL_OK) status = tl_mpi_check_("tl_mpi_bcast", MPI_Comm_rank(comm, &rank));
	if (status == TL_OK) status = tl_mpi_open_("tl_mpi_bcast", tensor, rank == root ? TL_MPI_READ : TL_MPI_WRITE, &it);
	if (status != TL_OK) return status;
	return tl_mpi_close_("tl_mpi_bcast", MPI_Bcast(it.data, it.count, it.type, root, comm), &it);
}

/* The elements and the operation of a reduction. */
typedef struct tl_mpi_reduction_ {
	char* data;
	int64_t elements, element_bytes;
	MPI_Datatype type;
	MPI_Op op;
} tl_mpi_reduction_;

static inline tl_status tl_mpi_reduction_of_(const char* function, tl_tensor* tensor, int access, MPI_Op op,
                                             tl_mpi_reduction_* out_reduction)
{
	tl_tensor_info info;
	tl_status status = tl_mpi_look_(function, tensor, access | TL_MPI_WRITE | TL_MPI_DENSE_, &info);
	if (status != TL_OK) return status;
	out_reduction->data = TL_MPI_CAST_(char*, info.data);
	out_reduction->elements = info.numel;
	out_reduction->element_bytes = info.numel > 0 ? TL_MPI_CAST_(int64_t, info.nbytes) / info.numel : 0;
	status = tl_mpi_op_(function, info.dtype, op, &out_reduction->op);
	return status != TL_OK ? status : tl_mpi_dtype_(function, info.dtype, &out_reduction->type);
}

/* How many calls of MPI reduce so many elements: one where counts are large, as they are from MPI 4 on. */
static inline int64_t tl_mpi_calls_(int64_t elements)
{
#if MPI_VERSION >= 4
	TL_MPI_CAST_(void, elements);
	return 1;
#else
	return elements <= TL_MPI_COUNT_MAX ? 1 : (elements - 1) / TL_MPI_COUNT_MAX + 1;
#endif
}

/* Call number `which` of them, with a request or without. */
static inline int tl_mpi_reduce_(const tl_mpi_reduction_* it, int64_t which, MPI_Comm comm, MPI_Request* request)
{
#if MPI_VERSION >= 4
	TL_MPI_CAST_(void, which);
	if (request == NULL) return MPI_Allreduce_c(MPI_IN_PLACE, it->data, it->elements, it->type, it->op, comm);
	return MPI_Iallreduce_c(MPI_IN_PLACE, it->data, it->elements, it->type, it->op, comm, request);
#else
	const int64_t first = which * TL_MPI_COUNT_MAX, left = it->elements - first;
	const int count = TL_MPI_CAST_(int, left < TL_MPI_COUNT_MAX ? left : TL_MPI_COUNT_MAX);
	char* data = it->data == NULL ? NULL : it->data + first * it->element_bytes;
	if (request == NULL) return MPI_Allreduce(MPI_IN_PLACE, data, count, it->type, it->op, comm);
	return MPI_Iallreduce(MPI_IN_PLACE, data, count, it->type, it->op, comm, request);
#endif
}

/*
 * tl_mpi_allreduce is MPI_Allreduce in place: afterwards every process has the combined elements in its contiguous
 * tensor. f16 and bf16 take the operations of tl_mpi_op. The order in which MPI adds depends on the number of processes
 * and on the message, and with it the last bits of a sum.
 *
 * Errors: as above, and TL_E_UNSUPPORTED as tl_mpi_op says.
 */
static inline tl_status tl_mpi_allreduce(tl_tensor* tensor, MPI_Op op, MPI_Comm comm)
{
	tl_mpi_reduction_ it;
	tl_status status = tl_mpi_reduction_of_("tl_mpi_allreduce", tensor, 0, op, &it);
	for (int64_t i = 0; status == TL_OK && i < tl_mpi_calls_(it.elements); i++)
		status = tl_mpi_check_("tl_mpi_allreduce", tl_mpi_reduce_(&it, i, comm, NULL));
	return status;
}

/*
 * Calls that do not wait
 * ----------------------
 *
 * A request holds a reference to its tensor until it completes, so the program may release its own, and leave the scope
 * that made the tensor. It has to wait for each request, or test it until it is done, before MPI_Finalize; until then
 * it leaves the memory alone as MPI demands. A request of zeros is complete.
 */
typedef struct tl_mpi_request {
	int64_t count;         /* of MPI's requests that are not complete */
	MPI_Request one;       /* the request, when there is one */
	MPI_Request* many;     /* else all of them */
	tl_tensor* tensors[2]; /* held; the second may be NULL */
} tl_mpi_request;

/* An empty request that holds the tensors, with room for so many of MPI's. */
static inline tl_status tl_mpi_begin_(const char* function, tl_tensor* tensor, tl_tensor* other, int64_t room,
                                      tl_mpi_request* out_request)
{
	memset(out_request, 0, sizeof *out_request);
	if (room > 1) {
		const size_t bytes = TL_MPI_CAST_(size_t, room) * sizeof(MPI_Request);
		out_request->many = TL_MPI_CAST_(MPI_Request*, malloc(bytes));
		if (out_request->many == NULL)
			return tl_mpi_refuse_(function, TL_E_OUT_OF_MEMORY, "no memory for a list of requests");
	}
	out_request->tensors[0] = tl_tensor_acquire(tensor);
	out_request->tensors[1] = tl_tensor_acquire(other);
	return TL_OK;
}

/* Gives everything back that a complete request held. */
static inline void tl_mpi_end_request_(tl_mpi_request* request)
{
	tl_tensor_release(request->tensors[0]);
	tl_tensor_release(request->tensors[1]);
	free(request->many);
	memset(request, 0, sizeof *request);
}

/* What a call of MPI made of the request that it was to start. */
static inline tl_status tl_mpi_started_(const char* function, int code, tl_mpi_request* request)
{
	if (code == MPI_SUCCESS) {
		request->count++;
		return TL_OK;
	}
	if (request->count == 0) tl_mpi_end_request_(request);
	return tl_mpi_check_(function, code);
}

static inline tl_status tl_mpi_open_request_(const char* function, tl_tensor* tensor, int access,
                                             tl_mpi_request* out_request, tl_mpi_layout* out_layout)
{
	tl_status status;
	if (out_request == NULL) return tl_mpi_refuse_(function, TL_E_INVALID_ARGUMENT, "out_request is NULL");
	memset(out_request, 0, sizeof *out_request);
	status = tl_mpi_open_(function, tensor, access | TL_MPI_HOLD_, out_layout);
	return status != TL_OK ? status : tl_mpi_begin_(function, tensor, NULL, 1, out_request);
}

/* tl_mpi_isend is MPI_Isend of a tensor, of any strides. Errors: as above; the request is complete then. */
static inline tl_status tl_mpi_isend(tl_tensor* tensor, int destination, int tag, MPI_Comm comm,
                                     tl_mpi_request* out_request)
{
	tl_mpi_layout it;
	tl_status status = tl_mpi_open_request_("tl_mpi_isend", tensor, TL_MPI_READ, out_request, &it);
	if (status != TL_OK) return status;
	status = tl_mpi_started_(
		"tl_mpi_isend", MPI_Isend(it.data, it.count, it.type, destination, tag, comm, &out_request->one), out_request);
	tl_mpi_layout_free(&it);
	return status;
}

/* tl_mpi_irecv is MPI_Irecv into a tensor, of any strides. Errors: as above; the request is complete then. */
static inline tl_status tl_mpi_irecv(tl_tensor* tensor, int source, int tag, MPI_Comm comm, tl_mpi_request* out_request)
{
	tl_mpi_layout it;
	tl_status status = tl_mpi_open_request_("tl_mpi_irecv", tensor, TL_MPI_WRITE, out_request, &it);
	if (status != TL_OK) return status;
	status = tl_mpi_started_("tl_mpi_irecv",
	                         MPI_Irecv(it.data, it.count, it.type, source, tag, comm, &out_request->one), out_request);
	tl_mpi_layout_free(&it);
	return status;
}

/*
 * tl_mpi_iallreduce is tl_mpi_allreduce that does not wait. A tensor of more elements than MPI can count takes several
 * requests of MPI's inside one.
 *
 * Errors: as tl_mpi_allreduce, and TL_E_OUT_OF_MEMORY. The request is complete then, unless an earlier part of a large
 *     tensor had begun: wait for it in either case.
 */
static inline tl_status tl_mpi_iallreduce(tl_tensor* tensor, MPI_Op op, MPI_Comm comm, tl_mpi_request* out_request)
{
	const char* const function = "tl_mpi_iallreduce";
	tl_mpi_reduction_ it;
	int64_t calls;
	tl_status status;
	if (out_request == NULL) return tl_mpi_refuse_(function, TL_E_INVALID_ARGUMENT, "out_request is NULL");
	memset(out_request, 0, sizeof *out_request);
	status = tl_mpi_reduction_of_(function, tensor, TL_MPI_HOLD_, op, &it);
	if (status != TL_OK) return status;
	calls = tl_mpi_calls_(it.elements);
	status = tl_mpi_begin_(function, tensor, NULL, calls, out_request);
	for (int64_t i = 0; status == TL_OK && i < calls; i++) {
		MPI_Request* request = calls > 1 ? &out_request->many[i] : &out_request->one;
		status = tl_mpi_started_(function, tl_mpi_reduce_(&it, i, comm, request), out_request);
	}
	return status;
}

/*
 * tl_mpi_hold makes a request of one that the program has started itself, over layouts of one tensor or two. `other`
 * may be NULL.
 *
 * Ownership: takes request over, and holds both tensors until it completes. On failure request stays the caller's.
 * Errors: as above.
 */
static inline tl_status tl_mpi_hold(tl_tensor* tensor, tl_tensor* other, MPI_Request request,
                                    tl_mpi_request* out_request)
{
	tl_tensor_info info;
	tl_status status;
	if (out_request == NULL) return tl_mpi_refuse_("tl_mpi_hold", TL_E_INVALID_ARGUMENT, "out_request is NULL");
	memset(out_request, 0, sizeof *out_request);
	status = tl_mpi_look_("tl_mpi_hold", tensor, TL_MPI_HOLD_, &info);
	if (status == TL_OK && other != NULL) status = tl_mpi_look_("tl_mpi_hold", other, TL_MPI_HOLD_, &info);
	if (status != TL_OK) return status;
	status = tl_mpi_begin_("tl_mpi_hold", tensor, other, 1, out_request);
	if (status == TL_OK) out_request->one = request, out_request->count = 1;
	return status;
}

/*
 * tl_mpi_wait returns when a request is complete, and gives its references back. A complete request stays as it is;
 * out_status, which may be MPI_STATUS_IGNORE, is then not written. A reduction of many elements tells the status of its
 * last part.
 *
 * Errors: TL_E_INVALID_ARGUMENT (NULL), TL_E_DEVICE (MPI is not running), and with what the operation failed: its request
 *     is complete then, too.
 */
static inline tl_status tl_mpi_wait(tl_mpi_request* request, MPI_Status* out_status)
{
	tl_status status = tl_mpi_running_("tl_mpi_wait");
	if (status != TL_OK) return status;
	if (request == NULL) return tl_mpi_refuse_("tl_mpi_wait", TL_E_INVALID_ARGUMENT, "request is NULL");
	if (request->count == 0) return TL_OK;
	for (int64_t i = 0; i < request->count; i++) {
		MPI_Request* part = request->many != NULL ? &request->many[i] : &request->one;
		const tl_status ended = tl_mpi_check_("tl_mpi_wait", MPI_Wait(part, out_status));
		if (status == TL_OK) status = ended;
	}
	tl_mpi_end_request_(request);
	return status;
}

/*
 * tl_mpi_test tells in *out_done whether a request is complete, gives its references back if it is, and lets MPI make
 * progress. Errors: as tl_mpi_wait.
 */
static inline tl_status tl_mpi_test(tl_mpi_request* request, bool* out_done, MPI_Status* out_status)
{
	tl_status status = tl_mpi_running_("tl_mpi_test");
	int done = 1;
	if (status != TL_OK) return status;
	if (request == NULL || out_done == NULL)
		return tl_mpi_refuse_("tl_mpi_test", TL_E_INVALID_ARGUMENT, "request or out_done is NULL");
	*out_done = true;
	if (request->count == 0) return TL_OK;
	while (request->count > 0 && status == TL_OK) { /* from the last part on: what is left is always a beginning */
		MPI_Request* part = request->many != NULL ? &request->many[request->count - 1] : &request->one;
		status = tl_mpi_check_("tl_mpi_test", MPI_Test(part, &done, out_status));
		if (status == TL_OK && !done) return *out_done = false, TL_OK;
		request->count--;
	}
	if (request->count == 0) return tl_mpi_end_request_(request), status;
	return *out_done = false, status;
}

/*
 * tl_mpi_waitall waits for all of an array of requests, in whatever order they complete.
 *
 * Errors: as tl_mpi_wait; the first of them, and all requests are complete then.
 */
static inline tl_status tl_mpi_waitall(int64_t count, tl_mpi_request* requests)
{
	tl_status status = tl_mpi_running_("tl_mpi_waitall");
	if (status != TL_OK) return status;
	if (count < 0 || (count > 0 && requests == NULL))
		return tl_mpi_refuse_("tl_mpi_waitall", TL_E_INVALID_ARGUMENT, "requests is NULL or their number negative");
	for (int64_t i = 0; i < count; i++) {
		const tl_mpi_failure before = tl_mpi_failure_;
		const tl_status ended = tl_mpi_wait(&requests[i], MPI_STATUS_IGNORE);
		if (status != TL_OK) {
			tl_mpi_failure_ = before; /* the first one is told */
		} else {
			status = ended;
		}
	}
	return status;
}

#ifdef __cplusplus
}
#endif

#include "tl_mpi_memory.h"

#endif
