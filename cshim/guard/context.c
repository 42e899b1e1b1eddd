/* The public function whose name is that of a type in the other files; see base/layout.h. */
#include "tl_runtime.h"

__attribute__((visibility("hidden"))) void* tlc_context_of(uint32_t version);

void* tl_context(uint32_t version) { return tlc_context_of(version); }
