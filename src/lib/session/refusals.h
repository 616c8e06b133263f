/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adding to the recorder's page of refusals (struct brick_session_refusals). Many processes do so
 * at a time: the counts are exact; pid, error and name may be those of different processes that
 * were refused lately. Header only; no lock, no system call.
 */
#pragma once

#include <string.h>
#include "base/path_name.h"
#include "brick/abi/session.h"

static inline void refusals_name(char *to, const char *program)
{
	const char *name = path_name(program ? program : "");

	memcpy(to, name, strnlen(name, BRICK_REFUSALS_NAME_BYTES - 1) + 1);
	to[BRICK_REFUSALS_NAME_BYTES - 1] = '\0';
}

/* Counts one more process: why (-errno), its id, and its program's name or path (NULL: ""). */
static inline void refusals_add(
	struct brick_session_refusals *to, int error, uint32_t pid, const char *program)
{
	uint64_t number = __atomic_fetch_add(&to->processes, 1, __ATOMIC_RELAXED);

	to->error = error;
	to->pid = pid;
	__atomic_store_n(&to->told[number % BRICK_REFUSALS_TOLD], pid, __ATOMIC_RELAXED);
	refusals_name(to->name, program);
}

/* Takes one process off the count, since it is recorded after all. */
static inline void refusals_take_back(struct brick_session_refusals *from)
{
	__atomic_sub_fetch(&from->processes, 1, __ATOMIC_RELAXED);
}
