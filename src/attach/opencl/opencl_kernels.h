/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's kernels: names, source, and launch shapes. Each shape of a kernel is a kernel of
 * the recording. Any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <CL/cl.h>

/* Record the source of a program. Arguments: those of clCreateProgramWithSource(). */
void kernels_program(
	cl_program program, cl_uint count, const char *const *strings, const size_t *lengths);

/* A kernel was created: former facts about its handle do not hold. */
void kernels_created(cl_kernel kernel);

/* An argument of a kernel may have changed the local memory that it uses. */
void kernels_local_changed(cl_kernel kernel);

/* The index of a launch's kernel (brick_kernel_register()); 0: no memory. local may be NULL. */
uint32_t kernels_launch(cl_kernel kernel, cl_device_id device, cl_uint dimensions,
	const size_t *global, const size_t *local);

void kernels_forget_all(void);
