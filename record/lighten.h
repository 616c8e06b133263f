/* SPDX-License-Identifier: Apache-2.0 */
/* What this process may do, and wants to, once the program is running. */
#ifndef BRICK_RECORD_LIGHTEN_H
#define BRICK_RECORD_LIGHTEN_H

/* Wake up in company of others; have as many descriptors as are allowed. */
void lighten(void);

#endif
