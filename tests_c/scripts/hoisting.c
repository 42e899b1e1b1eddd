/* The loops of hoisting.ll in C, for hoisting.sh. */
#include "tl_inline.h"

double sum(const tl_tensor* t)
{
	double s = 0;
	for (int64_t i = 0; i < tl_inl_tensor_numel_unchecked(t); i++)
		s += ((const double*)tl_inl_tensor_data_unchecked(t))[i];
	return s;
}

void fill(tl_tensor* t)
{
	for (int64_t i = 0; i < tl_inl_tensor_dim_unchecked(t, 0); i++)
		((double*)tl_inl_tensor_data_unchecked(t))[i * tl_inl_tensor_stride_unchecked(t, 0)] =
			(double)(i * tl_inl_tensor_rank_unchecked(t));
}

double checked(const tl_tensor* t)
{
	double s = 0;
	for (int64_t i = 0; i < tl_tensor_numel(t); i++) s += ((const double*)tl_tensor_data(t))[i];
	return s;
}
