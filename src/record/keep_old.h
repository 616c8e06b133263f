/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps a recording that is about to be replaced, as `perf record` does. Called by the recorder. */
#pragma once

/* Have what is at `path` at `path`.old, too, in place of what was there. 0 or -errno. */
int keep_old(const char *path);
