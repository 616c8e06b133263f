/* SPDX-License-Identifier: Apache-2.0 */
/* An engine that knows nothing of Brick: the smallest that an attacher can be shown with. */
#pragma once

const char *toy_version(void);

/* Work on so many tokens; returns what came of it. */
double toy_decode(int tokens);
