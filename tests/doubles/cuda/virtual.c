/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's double: what a library that manages address space itself links with. The device says
 * that it can do none of that, so that only the questions are answered (double.h).
 */
#include "tests/doubles/cuda/double.h"

#include <stddef.h>

DOUBLE_API int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	*value = attribute == 75 ? 8 : attribute == 76 ? 9 : 0; /* compute capability */
	return device || attribute < 0 ? INVALID_VALUE : FINE;
}

DOUBLE_API int cuGetErrorString(int error, const char **text)
{
	*text = error ? "an error of the double" : "no error";
	return FINE;
}

#define REFUSED(name)                 \
	DOUBLE_API int name(void)     \
	{                             \
		return INVALID_VALUE; \
	}

REFUSED(cuMemAddressFree)
REFUSED(cuMemAddressReserve)
REFUSED(cuMemCreate)
REFUSED(cuMemGetAllocationGranularity)
REFUSED(cuMemMap)
REFUSED(cuMemRelease)
REFUSED(cuMemSetAccess)
REFUSED(cuMemUnmap)
