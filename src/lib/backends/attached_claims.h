/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `brick record` has attached to this process, for backends inside of the program: it leaves
 * to them what they time themselves, so that nothing is told twice. Any thread.
 */
#pragma once

/*
 * Finds a function of a library that is loaded already ("libbrick-opencl.so") and copies its
 * address to `function`, a pointer of its type. 0: it is not attached, and NULL is copied.
 */
int backend_attached(const char *library, const char *name, void *function);
