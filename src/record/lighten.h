/* SPDX-License-Identifier: Apache-2.0 */
/* What this process may do, and wants to, once the program is running. */
#pragma once

/* Wake up in company of others; have as many descriptors as are allowed. */
void lighten(void);
