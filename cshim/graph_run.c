//go:build full

/* Runs compiled graphs: Go checks the arguments, and the function is called from C, with no Go frame below it, because
 * it takes its memory from this library. */
#include "object/fast.h"
#include "tl_graph.h"
#include "base/generated_slow.h"

typedef tl_status (*compiled)(const void* const* inputs, void* const* outputs, const void* const* constants);
typedef tl_status (*compiled_in)(const void* const* inputs, void* const* outputs, const void* const* constants,
                                 void* scratch);
typedef tl_status (*compiled_in_two)(const void* const* inputs, void* const* outputs, const void* const* constants,
                                     void* scratch, void* outside);

void tlentry_execution_refused(uintptr_t context, uintptr_t execution);

/* A compiled function knows a status alone. Where it is not one of this library's, Go has the sentence. */
static tl_status told(const tl_execution* execution, tl_status status, uint32_t function)
{
	tl_status why;
	tl_context* c = status == TL_E_INVALID_ARGUMENT ? tlc_entry_begin(function, &why) : NULL;
	if (c == NULL) return status;
	tlentry_execution_refused((uintptr_t)c, (uintptr_t)execution);
	tlc_entry_end(c);
	return status;
}

tl_status tl_execution_run(const tl_execution* execution, void* function, const void* const* inputs, size_t num_inputs,
                           void* const* outputs, size_t num_outputs)
{
	tl_status status = slow_execution_run(execution, function, inputs, num_inputs, outputs, num_outputs);
	if (status != TL_OK) return status;
	const void* const* constants = tl_execution_constants(execution);
	if (constants == NULL) return tl_last_status();
	status = ((compiled)(uintptr_t)function)(inputs, outputs, constants);
	return told(execution, status, TL_FN_tl_execution_run);
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
	status = outside_bytes > 0 ? ((compiled_in_two)(uintptr_t)function)(inputs, outputs, constants, memory, outside)
	                           : ((compiled_in)(uintptr_t)function)(inputs, outputs, constants, memory);
	return told(execution, status, TL_FN_tl_execution_run_in);
}
