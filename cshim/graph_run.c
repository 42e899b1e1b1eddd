//go:build full

/* Runs compiled graphs: Go checks the arguments, and the function is called from C, with no Go frame below it, because
 * it takes its memory from this library. */
#include "tl_graph.h"
#include "generated_slow.h"

typedef tl_status (*compiled)(const void* const* inputs, void* const* outputs, const void* const* constants);
typedef tl_status (*compiled_in)(const void* const* inputs, void* const* outputs, const void* const* constants,
                                 void* scratch);
typedef tl_status (*compiled_in_two)(const void* const* inputs, void* const* outputs, const void* const* constants,
                                     void* scratch, void* outside);

tl_status tl_execution_run(const tl_execution* execution, void* function, const void* const* inputs, size_t num_inputs,
                           void* const* outputs, size_t num_outputs)
{
	tl_status status = slow_execution_run(execution, function, inputs, num_inputs, outputs, num_outputs);
	if (status != TL_OK) return status;
	const void* const* constants = tl_execution_constants(execution);
	if (constants == NULL) return tl_last_status();
	return ((compiled)(uintptr_t)function)(inputs, outputs, constants);
}

tl_status tl_execution_run_in(const tl_execution* execution, void* function, const void* const* inputs,
                              size_t num_inputs, void* const* outputs, size_t num_outputs, void* memory, size_t bytes,
                              void* outside, size_t outside_bytes)
{
	tl_status status = slow_execution_run_in(execution, function, inputs, num_inputs, outputs, num_outputs, memory,
	                                         bytes, outside, outside_bytes);
	if (status != TL_OK) return status;
	const void* const* constants = tl_execution_constants(execution);
	if (constants == NULL) return tl_last_status();
	if (outside_bytes > 0) return ((compiled_in_two)(uintptr_t)function)(inputs, outputs, constants, memory, outside);
	return ((compiled_in)(uintptr_t)function)(inputs, outputs, constants, memory);
}
