/* SPDX-License-Identifier: Apache-2.0 */
/* Tags of protobuf's fields. The numbers are those of the wire format. Constants; any thread. */
#pragma once

#include <stdint.h>

enum pb_wire { PB_VARINT = 0, PB_FIXED64 = 1, PB_LENGTH = 2, PB_FIXED32 = 5 };

#define PB_TAG(field, wire) ((uint32_t)(field) << 3 | (uint32_t)(wire))
