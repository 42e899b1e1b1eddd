package llvm

import "maps"

// kernels are the writers of all operators of plans, by name. What the operators are, the
// table of package graph says; TestTablesAgree holds this one to it.
var kernels = func() map[string]writer {
	list := map[string]writer{}
	for _, family := range []map[string]writer{
		elementwiseKernels, activationKernels, moveKernels, matrixKernels, convKernels, poolKernels, reduceKernels,
		normKernels, indexedKernels, integralKernels,
	} {
		maps.Copy(list, family)
	}
	return list
}()
