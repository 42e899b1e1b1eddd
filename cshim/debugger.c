/* Numbers for debuggers: tools/gdb/tl_runtime.py reads them in the debug file, where macros leave no trace. So the
 * script needs no copy of the layout, and fits the library that the process runs. */
#include "base/layout.h"
#include "tensor/tensor.h"
#include "tl_runtime.h"

enum tlc_number {
	tlc_span_shift = TL_SPAN_SHIFT,
	tlc_class_cell = TL_CLASS_CELL,
	tlc_class_large = TL_CLASS_LARGE,
	tlc_class_rest = TL_CLASS_REST,
	tlc_sh_alive = TL_SH_ALIVE,
	tlc_sh_merged = TL_SH_MERGED,
	tlc_sh_immortal = TL_SH_IMMORTAL,
	tlc_sh_count_shift = TL_SH_COUNT_SHIFT,
	tlc_loc_count = TL_LOC_COUNT,
	tlc_loc_owner_shift = TL_LOC_OWNER_SHIFT,
	tlc_type_mask = TL_TYPE_MASK,
	tlc_type_plain = TL_TYPE_PLAIN,
	tlc_type_vec = TL_TYPE_VEC,
	tlc_type_vec_data = TL_TYPE_VEC_DATA,
	tlc_type_tensor = TL_TYPE_TENSOR,
	tlc_type_sparse = TL_TYPE_SPARSE,
	tlc_mark_kind_shift = TL_MARK_KIND_SHIFT,
	tlc_mark_scope = TL_MARK_SCOPE,
	tlc_mark_function = TL_MARK_FUNCTION,
	tlc_mark_planned = TL_MARK_PLANNED,
	tlc_foreign_record = TL_FOREIGN,
	tlc_tensor_view = TL_TENSOR_VIEW,
};

/* Only a type that something has is written down. */
__attribute__((used)) static const enum tlc_number number = tlc_span_shift;
__attribute__((used)) static const enum tl_dtype dtype = TL_DTYPE_F32;
