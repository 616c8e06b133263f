/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of the runtime's double: command buffers whose state tests set. */
#pragma once

#define DOUBLE_API __attribute__((visibility("default")))

struct metal_double {
	int references, is_gone, is_buffer;
	int knows_times; /* as command buffers of old systems do not */
	unsigned status; /* MTLCommandBufferStatus */
	double start, end;
};
