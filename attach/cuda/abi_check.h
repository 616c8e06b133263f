/* SPDX-License-Identifier: Apache-2.0 */
/* Which CUDA headers abi.h was held against when this was built. Any thread. */
#ifndef BRICK_ATTACH_CUDA_ABI_CHECK_H
#define BRICK_ATTACH_CUDA_ABI_CHECK_H

/* "12.4", or NULL: there were none. */
const char *abi_check_headers(void);

#endif
