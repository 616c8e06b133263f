/* SPDX-License-Identifier: Apache-2.0 */
/* What this library says of itself to `brick doctor`: whether there is a CUPTI to trace with. */
#include <stdio.h>

#include "attach/cuda/cupti.h"
#include "brick/abi/attacher.h"

__attribute__((visibility("default"))) int brick_attacher_check(char *text, size_t bytes)
{
	uint32_t version = 0;
	char why[512];
	int error = cupti_open(why, sizeof why);

	if (error) {
		snprintf(text, bytes, "kernels of CUDA programs cannot be traced: %s", why);
		return error;
	}
	cupti.version(&version);
	snprintf(text, bytes, "CUDA programs are traced through %s (API version %u)", cupti.path,
		version);
	return 0;
}
