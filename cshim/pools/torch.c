/* PyTorch's free, which returns nothing: a failure sets the thread's last status. */
#include "../base/go.h"
#include "../guard/guard.h"

void tl_torch_free(void* block, int64_t size, int32_t device, void* stream)
{
	tl_status why;
	tl_context* c = tlc_entry_begin(TL_FN_tl_torch_free, &why);
	(void)size; /* the pool knows the size */
	if (c == NULL) return;
	tlentry_torch_free((uintptr_t)c, (uintptr_t)block, device, (uintptr_t)stream);
	tlc_entry_end(c);
}
