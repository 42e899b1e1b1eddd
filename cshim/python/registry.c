/* Capsules that hold a reference to registered memory. */
#include "../object/fast.h"
#include "numpy.h"

static const char registered_name[] = "tl_runtime.registered";

/* Called by the thread that drops the last view, also while the interpreter ends. */
static void end_registered(void* capsule)
{
	void* pointer = tlc_python.get_pointer(capsule, registered_name);
	if (pointer != NULL) tl_registry_unregister(pointer);
}

void* tl_python_registered(void* pointer)
{
	tlc_capsule_new make = tlc_python.make;
	if (pointer == NULL) {
		tl_clear_error();
		return NULL;
	}
	if (make == NULL || !tl_registry_is_registered(pointer)) {
		tlc_fail(make == NULL ? TL_E_UNSUPPORTED : TL_E_UNKNOWN_POINTER, TL_FN_tl_python_registered, pointer);
		return make == NULL ? NULL : tlc_python_refuse();
	}
	return make(pointer, registered_name, end_registered);
}
