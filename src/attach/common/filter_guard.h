/* SPDX-License-Identifier: Apache-2.0 */
/* Has the process forbidden itself system calls? Any thread. */
#pragma once

#include <stdbool.h>

bool filter_guard_is_on(void);
