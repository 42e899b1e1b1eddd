/* Tensors as MPI describes memory: element types, operations on them, layouts of strided views, and how failures are
 * told. tl_mpi.h includes this header and has the rest.
 */
#ifndef TL_MPI_TYPES_H
#define TL_MPI_TYPES_H

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <mpi.h>

#include "tl_runtime.h"

#if !defined(MPI_VERSION) || MPI_VERSION < 3
#error "tl_mpi.h needs MPI 3.0 or later"
#endif

/* The most elements that one count of MPI can tell. Tests make it small. */
#ifndef TL_MPI_COUNT_MAX
#define TL_MPI_COUNT_MAX INT_MAX
#endif

#ifdef __cplusplus
#define TL_MPI_CAST_(type, value) static_cast<type>(value)
extern "C" {
#else
#define TL_MPI_CAST_(type, value) ((type)(value))
#endif

/*
 * Failures
 * --------
 *
 * The functions of these headers return a tl_status, as those of tl_runtime.h do. They run in the caller's program, so
 * their sentence is kept here, apart from tl_last_error. An error of MPI becomes a status by its class:
 * MPI_ERR_NO_MEM is TL_E_OUT_OF_MEMORY; a wrong argument, a message that is too long for its receiver and an operation
 * that the type has not got are TL_E_INVALID_ARGUMENT; MPI_ERR_UNSUPPORTED_OPERATION is TL_E_UNSUPPORTED; every other
 * class is TL_E_DEVICE, the status of a driver that failed.
 *
 * MPI returns its errors only where the program asked for it, with MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN) or
 * MPI_Win_set_errhandler. By default it ends all processes at the first one.
 */
typedef struct tl_mpi_failure {
	tl_status status;
	int code; /* of MPI; MPI_SUCCESS where the runtime or this header refused */
	char message[504];
} tl_mpi_failure;

/* One for each thread of a program, whichever of its files include this header. */
__extension__ __attribute__((weak)) __thread tl_mpi_failure tl_mpi_failure_;

/* The thread's last failure in these headers: which function, what it found, what to do. "" before the first one. */
static inline const char* tl_mpi_last_error(void) { return tl_mpi_failure_.message; }

/* The code that MPI returned with it, for MPI_Error_class; MPI_SUCCESS when MPI was not at fault. */
static inline int tl_mpi_last_code(void) { return tl_mpi_failure_.code; }

/* The names of the statuses that these headers make themselves. */
static inline const char* tl_mpi_name_of_(tl_status status)
{
	switch (status) {
	case TL_E_INVALID_ARGUMENT: return "TL_E_INVALID_ARGUMENT";
	case TL_E_OUT_OF_MEMORY: return "TL_E_OUT_OF_MEMORY";
	case TL_E_UNSUPPORTED: return "TL_E_UNSUPPORTED";
	default: return "TL_E_DEVICE";
	}
}

/* Keeps a failure whose sentence says `what`, and returns its status. */
static inline tl_status tl_mpi_refuse_(const char* function, tl_status status, const char* what)
{
	tl_mpi_failure_.status = status;
	tl_mpi_failure_.code = MPI_SUCCESS;
	snprintf(tl_mpi_failure_.message, sizeof tl_mpi_failure_.message, "%s: %s: %s", function, tl_mpi_name_of_(status),
	         what);
	return status;
}

/* The same for a failure of the runtime, whose sentence begins with the name of the inner function. */
static inline tl_status tl_mpi_runtime_failed_(const char* function, tl_status status)
{
	const char* text = tl_last_status() == status ? tl_last_error() : tl_status_string(status);
	const char* colon = strstr(text, ": ");
	tl_mpi_failure_.status = status;
	tl_mpi_failure_.code = MPI_SUCCESS;
	snprintf(tl_mpi_failure_.message, sizeof tl_mpi_failure_.message, "%s: %s", function,
	         colon != NULL ? colon + 2 : text);
	return status;
}

static inline tl_status tl_mpi_status_of_(int error_class)
{
	switch (error_class) {
	case MPI_SUCCESS: return TL_OK;
	case MPI_ERR_NO_MEM: return TL_E_OUT_OF_MEMORY;
	case MPI_ERR_UNSUPPORTED_OPERATION: return TL_E_UNSUPPORTED;
	case MPI_ERR_BUFFER:
	case MPI_ERR_COUNT:
	case MPI_ERR_TYPE:
	case MPI_ERR_TAG:
	case MPI_ERR_COMM:
	case MPI_ERR_RANK:
	case MPI_ERR_REQUEST:
	case MPI_ERR_ROOT:
	case MPI_ERR_OP:
	case MPI_ERR_ARG:
	case MPI_ERR_TRUNCATE:
	case MPI_ERR_INFO:
	case MPI_ERR_SIZE:
	case MPI_ERR_DISP:
	case MPI_ERR_WIN: return TL_E_INVALID_ARGUMENT;
	default: return TL_E_DEVICE;
	}
}

/* What MPI returned: TL_OK, or its error as a failure. */
static inline tl_status tl_mpi_check_(const char* function, int code)
{
	if (code == MPI_SUCCESS) return TL_OK;
	char text[MPI_MAX_ERROR_STRING + 1] = "";
	int length = 0, error_class = MPI_ERR_OTHER;
	MPI_Error_class(code, &error_class);
	MPI_Error_string(code, text, &length);
	const tl_status status = tl_mpi_status_of_(error_class);
	tl_mpi_failure_.status = status;
	tl_mpi_failure_.code = code;
	snprintf(tl_mpi_failure_.message, sizeof tl_mpi_failure_.message, "%s: %s: MPI answered %d, %.300s", function,
	         tl_mpi_name_of_(status), code, text);
	return status;
}

/* Whether MPI can be called now: before MPI_Init and after MPI_Finalize it ends the program. */
static inline tl_status tl_mpi_running_(const char* function)
{
	int begun = 0, ended = 0;
	MPI_Initialized(&begun);
	if (!begun) return tl_mpi_refuse_(function, TL_E_DEVICE, "MPI is not initialised; call MPI_Init first");
	MPI_Finalized(&ended);
	return ended ? tl_mpi_refuse_(function, TL_E_DEVICE, "MPI_Finalize was called; call this before it") : TL_OK;
}

/*
 * Element types
 * -------------
 *
 * MPI has a type for each element type but f16 and bf16. For these two the header makes types of two bytes, which
 * travel bit by bit, and operations for sum, product, minimum and maximum. They are made at the first use and freed by
 * MPI_Finalize, by way of an attribute of MPI_COMM_SELF.
 */

/* f16 and bf16 as floats. A float becomes the nearest of them, the even one of two that are equally near. */
static inline float tl_mpi_from_bf16_(uint16_t half)
{
	const uint32_t bits = TL_MPI_CAST_(uint32_t, half) << 16;
	float value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static inline uint16_t tl_mpi_to_bf16_(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	if (value != value) return TL_MPI_CAST_(uint16_t, bits >> 16 | 0x40u);
	return TL_MPI_CAST_(uint16_t, (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

static inline float tl_mpi_from_f16_(uint16_t half)
{
	const uint32_t sign = TL_MPI_CAST_(uint32_t, half & 0x8000u) << 16, rest = half & 0x7FFFu;
	uint32_t bits;
	float value;
	if (rest < 0x400u) { /* below the smallest normal number: a multiple of 2^-24 */
		value = TL_MPI_CAST_(float, rest) * 5.9604644775390625e-8f;
		return sign != 0 ? -value : value;
	}
	bits = sign | (rest >= 0x7C00u ? 0x7F800000u | (rest & 0x3FFu) << 13 : (rest << 13) + 0x38000000u);
	memcpy(&value, &bits, sizeof value);
	return value;
}

static inline uint16_t tl_mpi_to_f16_(float value)
{
	uint32_t bits, rest, result;
	memcpy(&bits, &value, sizeof bits);
	rest = bits & 0x7FFFFFFFu;
	if (rest > 0x7F800000u) {
		result = 0x7E00u | (rest >> 13 & 0x3FFu);
	} else if (rest >= 0x47800000u) {
		result = 0x7C00u; /* 65536 and more */
	} else if (rest >= 0x38800000u) {
		result = (rest - 0x38000000u + 0xFFFu + (rest >> 13 & 1u)) >> 13; /* may carry into infinity */
	} else {
		/* A multiple of 2^-24: adding 0.5 lets the processor round it into the last bits of the sum. */
		float small;
		memcpy(&small, &rest, sizeof small);
		small += 0.5f;
		memcpy(&rest, &small, sizeof rest);
		result = rest - 0x3F000000u;
	}
	return TL_MPI_CAST_(uint16_t, result | (bits >> 16 & 0x8000u));
}

#define TL_MPI_SUM_(a, b) ((a) + (b))
#define TL_MPI_PROD_(a, b) ((a) * (b))
#define TL_MPI_MIN_(a, b) ((a) < (b) || (a) != (a) ? (a) : (b))
#define TL_MPI_MAX_(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
#define TL_MPI_REDUCE_(kind, name, combine)                                                             \
	static inline void tl_mpi_##name##_##kind##_(void* in, void* inout, int* count, MPI_Datatype* type) \
	{                                                                                                   \
		const uint16_t* from = TL_MPI_CAST_(const uint16_t*, in);                                       \
		uint16_t* to = TL_MPI_CAST_(uint16_t*, inout);                                                  \
		TL_MPI_CAST_(void, type);                                                                       \
		for (int i = 0; i < *count; i++) {                                                              \
			const float a = tl_mpi_from_##kind##_(from[i]), b = tl_mpi_from_##kind##_(to[i]);           \
			to[i] = tl_mpi_to_##kind##_(combine(a, b));                                                 \
		}                                                                                               \
	}
TL_MPI_REDUCE_(f16, sum, TL_MPI_SUM_)
TL_MPI_REDUCE_(f16, prod, TL_MPI_PROD_)
TL_MPI_REDUCE_(f16, min, TL_MPI_MIN_)
TL_MPI_REDUCE_(f16, max, TL_MPI_MAX_)
TL_MPI_REDUCE_(bf16, sum, TL_MPI_SUM_)
TL_MPI_REDUCE_(bf16, prod, TL_MPI_PROD_)
TL_MPI_REDUCE_(bf16, min, TL_MPI_MIN_)
TL_MPI_REDUCE_(bf16, max, TL_MPI_MAX_)
#undef TL_MPI_REDUCE_
#undef TL_MPI_SUM_
#undef TL_MPI_PROD_
#undef TL_MPI_MIN_
#undef TL_MPI_MAX_

/* What the header keeps with MPI: zeros until the first use, and again after MPI_Finalize. `lock` guards the rest. */
typedef struct tl_mpi_kept {
	int lock;
	int made;
	int keyval; /* of the attribute by which MPI_Finalize calls tl_mpi_end_ */
	int device; /* there is one over MPI_Alloc_mem: idle chunks go back before MPI ends */
	MPI_Datatype types[2];
	MPI_Op ops[2][4]; /* sum, prod, min, max */
} tl_mpi_kept;
__attribute__((weak)) tl_mpi_kept tl_mpi_kept_;

static inline void tl_mpi_lock_(void)
{
	while (__atomic_exchange_n(&tl_mpi_kept_.lock, 1, __ATOMIC_ACQUIRE) != 0) continue;
}
static inline void tl_mpi_unlock_(void) { __atomic_store_n(&tl_mpi_kept_.lock, 0, __ATOMIC_RELEASE); }

static inline void tl_mpi_unmake_(tl_mpi_kept* kept)
{
	for (int i = 0; i < 2; i++) {
		if (kept->types[i] != MPI_DATATYPE_NULL) MPI_Type_free(&kept->types[i]);
		for (int j = 0; j < 4; j++)
			if (kept->ops[i][j] != MPI_OP_NULL) MPI_Op_free(&kept->ops[i][j]);
	}
}

/* Called by MPI_Finalize, before it ends anything. */
static inline int tl_mpi_end_(MPI_Comm comm, int keyval, void* value, void* extra)
{
	tl_mpi_kept* kept = TL_MPI_CAST_(tl_mpi_kept*, value);
	TL_MPI_CAST_(void, comm), TL_MPI_CAST_(void, keyval), TL_MPI_CAST_(void, extra);
	if (kept->device) tl_mem_purge();
	tl_mpi_unmake_(kept);
	__atomic_store_n(&kept->made, 0, __ATOMIC_RELEASE);
	return MPI_SUCCESS;
}

static inline int tl_mpi_make_(tl_mpi_kept* kept)
{
	MPI_User_function* const functions[2][4] = {
		{tl_mpi_sum_f16_, tl_mpi_prod_f16_, tl_mpi_min_f16_, tl_mpi_max_f16_},
		{tl_mpi_sum_bf16_, tl_mpi_prod_bf16_, tl_mpi_min_bf16_, tl_mpi_max_bf16_}};
	int code = MPI_SUCCESS;
	for (int i = 0; i < 2; i++) {
		kept->types[i] = MPI_DATATYPE_NULL;
		for (int j = 0; j < 4; j++) kept->ops[i][j] = MPI_OP_NULL;
	}
	for (int i = 0; i < 2 && code == MPI_SUCCESS; i++) {
		code = MPI_Type_contiguous(2, MPI_BYTE, &kept->types[i]);
		if (code == MPI_SUCCESS) code = MPI_Type_commit(&kept->types[i]);
		for (int j = 0; j < 4 && code == MPI_SUCCESS; j++) code = MPI_Op_create(functions[i][j], 1, &kept->ops[i][j]);
	}
	if (code == MPI_SUCCESS) code = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, tl_mpi_end_, &kept->keyval, NULL);
	if (code == MPI_SUCCESS) {
		code = MPI_Comm_set_attr(MPI_COMM_SELF, kept->keyval, kept);
		MPI_Comm_free_keyval(&kept->keyval); /* it goes with the attribute */
	}
	if (code != MPI_SUCCESS) tl_mpi_unmake_(kept);
	return code;
}

/* The types and operations of f16 and bf16, made where they are not. */
static inline tl_status tl_mpi_keep_(const char* function)
{
	tl_mpi_kept* kept = &tl_mpi_kept_;
	const tl_status status = tl_mpi_running_(function);
	int code = MPI_SUCCESS;
	if (status != TL_OK || __atomic_load_n(&kept->made, __ATOMIC_ACQUIRE)) return status;
	tl_mpi_lock_();
	if (!kept->made) {
		code = tl_mpi_make_(kept);
		__atomic_store_n(&kept->made, code == MPI_SUCCESS, __ATOMIC_RELEASE);
	}
	tl_mpi_unlock_();
	return tl_mpi_check_(function, code);
}

static inline tl_status tl_mpi_dtype_(const char* function, int32_t dtype, MPI_Datatype* out_type)
{
	tl_status status = tl_mpi_running_(function);
	if (status != TL_OK) return status;
	switch (dtype) {
	case TL_DTYPE_F32: *out_type = MPI_FLOAT; return TL_OK;
	case TL_DTYPE_F64: *out_type = MPI_DOUBLE; return TL_OK;
	case TL_DTYPE_I8: *out_type = MPI_INT8_T; return TL_OK;
	case TL_DTYPE_I16: *out_type = MPI_INT16_T; return TL_OK;
	case TL_DTYPE_I32: *out_type = MPI_INT32_T; return TL_OK;
	case TL_DTYPE_I64: *out_type = MPI_INT64_T; return TL_OK;
	case TL_DTYPE_U8: *out_type = MPI_UINT8_T; return TL_OK;
	case TL_DTYPE_U16: *out_type = MPI_UINT16_T; return TL_OK;
	case TL_DTYPE_U32: *out_type = MPI_UINT32_T; return TL_OK;
	case TL_DTYPE_U64: *out_type = MPI_UINT64_T; return TL_OK;
	case TL_DTYPE_BOOL: *out_type = MPI_C_BOOL; return TL_OK;
	case TL_DTYPE_C64: *out_type = MPI_C_FLOAT_COMPLEX; return TL_OK;
	case TL_DTYPE_C128: *out_type = MPI_C_DOUBLE_COMPLEX; return TL_OK;
	case TL_DTYPE_F16:
	case TL_DTYPE_BF16:
		status = tl_mpi_keep_(function);
		if (status == TL_OK) *out_type = tl_mpi_kept_.types[dtype == TL_DTYPE_BF16];
		return status;
	default: return tl_mpi_refuse_(function, TL_E_INVALID_ARGUMENT, "no such element type; give a tl_dtype");
	}
}

/*
 * tl_mpi_dtype gives the MPI type of an element type. Do not free it.
 *
 * Errors: TL_E_INVALID_ARGUMENT (no such element type, a NULL output), TL_E_DEVICE (MPI is not running), and what MPI
 *     answers.
 */
static inline tl_status tl_mpi_dtype(int32_t dtype, MPI_Datatype* out_type)
{
	if (out_type == NULL) return tl_mpi_refuse_("tl_mpi_dtype", TL_E_INVALID_ARGUMENT, "out_type is NULL");
	return tl_mpi_dtype_("tl_mpi_dtype", dtype, out_type);
}

static inline tl_status tl_mpi_op_(const char* function, int32_t dtype, MPI_Op op, MPI_Op* out_op)
{
	const MPI_Op known[4] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
	const MPI_Op others[8] = {MPI_LAND, MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
	tl_status status;
	*out_op = op;
	if (dtype != TL_DTYPE_F16 && dtype != TL_DTYPE_BF16) return tl_mpi_running_(function);
	status = tl_mpi_keep_(function);
	if (status != TL_OK) return status;
	for (int i = 0; i < 4; i++)
		if (op == known[i]) *out_op = tl_mpi_kept_.ops[dtype == TL_DTYPE_BF16][i];
	for (int i = 0; i < 8; i++)
		if (op == others[i])
			return tl_mpi_refuse_(function, TL_E_UNSUPPORTED,
			                      "f16 and bf16 have MPI_SUM, MPI_PROD, MPI_MIN and MPI_MAX; convert to f32 first");
	return TL_OK;
}

/*
 * tl_mpi_op gives the operation that does for an element type what op says: op itself, except for f16 and bf16, whose
 * MPI_SUM, MPI_PROD, MPI_MIN and MPI_MAX are the header's. Each step is computed in f32 and rounded. An operation of
 * the program's own is returned as it is. Do not free the result.
 *
 * Errors: TL_E_UNSUPPORTED (another operation of MPI's on f16 or bf16), TL_E_INVALID_ARGUMENT (a NULL output),
 *     TL_E_DEVICE (MPI is not running), and what MPI answers.
 */
static inline tl_status tl_mpi_op(int32_t dtype, MPI_Op op, MPI_Op* out_op)
{
	if (out_op == NULL) return tl_mpi_refuse_("tl_mpi_op", TL_E_INVALID_ARGUMENT, "out_op is NULL");
	return tl_mpi_op_("tl_mpi_op", dtype, op, out_op);
}

#ifdef __cplusplus
}
#endif

#endif
