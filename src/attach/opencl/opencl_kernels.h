/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's kernels: their names, the source they were built from, and the shapes they were
 * launched in, each of which is a kernel of the recording. Any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <CL/cl.h>

/* A program was made from these strings: its source goes to the recording. */
void kernels_program(
	cl_program program, cl_uint count, const char *const *strings, const size_t *lengths);

/* A kernel was created: whatever was known of its handle is old. */
void kernels_created(cl_kernel kernel);

/* An argument of a kernel may have changed the local memory that it uses. */
void kernels_local_changed(cl_kernel kernel);

/* Index of a launch (brick_kernel_register), 0 when out of memory. local may be NULL. */
uint32_t kernels_launch(cl_kernel kernel, cl_device_id device, cl_uint dimensions,
	const size_t *global, const size_t *local);

void kernels_forget_all(void);
