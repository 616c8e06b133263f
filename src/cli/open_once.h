/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives a file to Perfetto's page, which asks for it at this port of this machine and no other;
 * then it is over. Nobody but that page may read it in a browser. Main thread.
 */
#pragma once

enum { OPEN_ONCE_PORT = 9001, OPEN_ONCE_PATIENCE_S = 60 };

struct open_once;

/* Listen. -errno: of the file, or of the port. */
int open_once_start(struct open_once **out, const char *path);

/* Answer until the file has been given out. -ETIMEDOUT: nobody asked; -errno. Frees it. */
int open_once_serve(struct open_once *once);
