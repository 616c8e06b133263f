/* SPDX-License-Identifier: Apache-2.0 */
/* Sites and kernels as JSON objects, as interned strings have them. Any thread. */
#pragma once

#include <stddef.h>
#include "brick/abi/session.h"

size_t writer_site_json(char *to, size_t capacity, const struct brick_session_site *site);
size_t writer_kernel_json(char *to, size_t capacity, const struct brick_session_kernel *kernel);
