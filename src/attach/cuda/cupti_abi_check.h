/* SPDX-License-Identifier: Apache-2.0 */
/* Which CUDA headers abi.h was held against when this was built. Any thread. */
#pragma once

/* "12.4", or NULL: there were none. */
const char *abi_check_headers(void);
