/* SPDX-License-Identifier: Apache-2.0 */
/* A cuBLAS that launches one kernel per product, which does nothing (runtime.h). */
#include "tests/doubles/cuda/runtime.h"

#include <stdlib.h>
#include <string.h>

struct blas {
	struct stream *stream;
	struct function product;
};

DOUBLE_API int cublasCreate_v2(struct blas **out)
{
	*out = calloc(1, sizeof **out);
	if (!*out)
		return 3;
	strcpy((*out)->product.name, "cublas_product_of_the_double");
	return FINE;
}

DOUBLE_API int cublasDestroy_v2(struct blas *blas)
{
	free(blas);
	return FINE;
}

DOUBLE_API int cublasSetStream_v2(struct blas *blas, struct stream *stream)
{
	blas->stream = stream;
	return FINE;
}

DOUBLE_API int cublasSetMathMode(struct blas *blas, int mode)
{
	(void)mode;
	return blas ? FINE : 1;
}

DOUBLE_API int cublasSetWorkspace_v2(struct blas *blas, void *memory, size_t bytes)
{
	(void)memory, (void)bytes;
	return blas ? FINE : 1;
}

DOUBLE_API const char *cublasGetStatusString(int status)
{
	return status ? "an error of the double" : "fine";
}

/* What is multiplied does not matter: further arguments are left where they are. */
#define PRODUCT(name)                                                                \
	DOUBLE_API int name(struct blas *blas, ...)                                  \
	{                                                                            \
		const struct dim3 grid = {16, 1, 1}, block = {256, 1, 1};            \
		return runtime_launch(&blas->product, grid, block, 0, blas->stream); \
	}

PRODUCT(cublasSgemm_v2)
PRODUCT(cublasGemmEx)
PRODUCT(cublasGemmBatchedEx)
PRODUCT(cublasGemmStridedBatchedEx)
PRODUCT(cublasSgemmBatched)
PRODUCT(cublasSgemmStridedBatched)
PRODUCT(cublasStrsmBatched)
