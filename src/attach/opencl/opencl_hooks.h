/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all hooks do: call the driver as the program would have, with an event of ours where it gave
 * none, and hand the command to whoever waits for its times (command.h). Prototypes of the hooks
 * are OpenCL's own. Nobody here calls them.
 */
#pragma once

#include <CL/cl.h>
#include "attach/opencl/opencl_command.h"
#include "attach/opencl/opencl_driver.h"
#include "brick/export.h"

/* A hook's definition; OpenCL's header has declared it already. */
#define HOOK __attribute__((visibility("default")))

/* What a hook enqueues, and how many bytes it moves. */
#define WHAT(text, which, size)                             \
	static struct command_kind kind = {text, which, 0}; \
	struct command_what what = {.kind = &kind, .bytes = (size)}

/*
 * The body of a hook that enqueues something. `what` says it where it is recorded; `call` is the
 * call of the driver, with EVENT in place of the program's event. Needs parameters named queue,
 * count, list and event.
 */
#define EVENT command.event
#define ENQUEUE(what, is_blocking, call)                            \
	do {                                                        \
		const struct driver *d = DRIVER();                  \
		struct command command;                             \
		cl_int status;                                      \
		command_begin(&command, queue, event, is_blocking); \
		status = d->call;                                   \
		if (command_was_too_much(&command, status))         \
			status = d->call;                           \
		if (command_is_recorded(&command, status))          \
			command_end(&command, what, count, list);   \
		return status;                                      \
	} while (0)

/*
 * The hook of clEnqueue<name>, which moves so many bytes: the parameters that it has between the
 * queue and the list and event, and what the driver gets for them.
 */
#define BARE(...) __VA_ARGS__
#define ENQUEUES(name, which, size, is_blocking, parameters, arguments)                     \
	HOOK cl_int clEnqueue##name(cl_command_queue queue, BARE parameters, cl_uint count, \
		const cl_event *list, cl_event *event)                                      \
	{                                                                                   \
		WHAT(#name, which, size);                                                   \
		ENQUEUE(&what, is_blocking,                                                 \
			clEnqueue##name(queue, BARE arguments, count, list, EVENT));        \
	}
