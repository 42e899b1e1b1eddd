/* tiny_model: an execution plan of TL Runtime, compiled. */
#ifndef TL_PLAN_TINY_MODEL_H
#define TL_PLAN_TINY_MODEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TL_PLAN_INFO
#define TL_PLAN_INFO
/* A tensor that lies row by row without gaps. */
struct tl_plan_tensor {
    const char* name;
    const int64_t* shape; /* rank extents; NULL for a scalar */
    int64_t bytes;
    int32_t dtype; /* as enum tl_dtype numbers them */
    int32_t rank;
    int32_t embedded; /* 1: the module has it, 2: state of the arena; its entry is not looked at */
    int32_t reserved;
};

/* What a function of a plan takes and gives. */
struct tl_plan_info {
    int64_t size; /* of this structure; a later version has more behind what is here */
    const char* name;
    const char* json; /* the same as JSON */
    int64_t frame_bytes; /* that one call takes from the runtime, or from the caller */
    int64_t slots; /* that it takes them in; 0: in one block */
    int64_t input_count;
    int64_t output_count;
    int64_t constant_count;
    const struct tl_plan_tensor* inputs;
    const struct tl_plan_tensor* outputs;
    const struct tl_plan_tensor* constants;
    int64_t memory; /* 0: a frame of the runtime; 1: its slots; 2: the caller's, the fourth argument */
    int64_t frame_alignment;
    int64_t outside_bytes; /* of the second space, taken from where the frame is; of the caller: the fifth argument */
};
#endif

#define tiny_model_FRAME_BYTES 192
#define tiny_model_FRAME_ALIGNMENT 64

#define tiny_model_INPUTS 1
#define tiny_model_INPUT0_BYTES 40 /* v0: f32 [2 5] */

#define tiny_model_OUTPUTS 1
#define tiny_model_OUTPUT0_BYTES 40 /* v4: f32 [2 5] */

#define tiny_model_CONSTANTS 1
#define tiny_model_CONSTANT0_BYTES 20 /* b: f32 [5] */

/*
 * tiny_model computes the outputs. Each argument is an array with the addresses of
 * tensors, in the order above; an array without entries may be NULL. Addresses are
 * aligned to their element. No output may overlap an input, a constant or another
 * output.
 *
 * Ownership: all tensors stay the caller's.
 * Threads: any number of calls at once, with outputs of their own. The memory
 *     between is the calling thread's frames.
 * Returns: TL_OK, or why there is no result.
 * Errors: TL_E_INVALID_ARGUMENT (an address is NULL; an index, or a number of turns
 *     or elements, is not one that the plan holds for), and those of the runtime's
 *     frames.
 */
int32_t tiny_model(const void* const* inputs, void* const* outputs, const void* const* constants);

extern const struct tl_plan_info tiny_model_info;
extern const char tiny_model_json[];

#ifdef __cplusplus
}
#endif

#endif
