/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When threads of this program were off their CPUs, for the recording that it writes itself. A
 * thread joins as it gets its lane and leaves with it; the writer's thread takes what the kernel
 * has written. Any thread. Everything is legal on NULL: nobody wants to know.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "lib/drain/drain.h"

struct own_switches;

/* -ENOMEM. */
int own_switches_create(struct own_switches **out);

/* The calling thread. */
void own_switches_join(struct own_switches *s);
void own_switches_leave(struct own_switches *s);

/* True if the kernel does not allow it; the account says why. */
bool own_switches_refused(const struct own_switches *s);

/* How full the fullest thread's ring is, 0 to 100. */
unsigned own_switches_fill(struct own_switches *s);

/* Emit what has ended by `now_ns`, UINT64_MAX: all; records before it. 0, -ENOMEM, or the sink's
 * error. */
int own_switches_emit(
	struct own_switches *s, struct drain *drain, struct sink *sink, uint64_t now_ns);

void own_switches_account(struct own_switches *s, struct off_cpu_account *account);

void own_switches_destroy(struct own_switches *s);
