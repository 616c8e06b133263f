/* SPDX-License-Identifier: Apache-2.0 */
/* What it costs a thread that the kernel records when it leaves its CPU (src/lib/sys/switches.h).
 */
#pragma once

#include "lib/writer/machine_use.h"

enum { SWITCH_COST_ROUNDS = 64 };

/*
 * Two threads on one CPU hand a byte to and fro, in turns recorded and not: CPU time of both, since
 * the kernel books a switch's work to either. more_ns [blocks] gets, sorted, by what a time off the
 * CPU took longer when it was recorded; a block takes a millisecond. Errors as those of
 * brick__switches_join(), -EAGAIN.
 */
int switch_cost_measure(double *more_ns, int blocks);

/* Blocks of a measurement: while a program is recorded, and of the one that is kept. */
enum { SWITCH_COST_QUICK = 5, SWITCH_COST_BLOCKS = 12 };

/* The quartiles into the account, where switches are known; as they were after an error. */
void switch_cost_account(struct off_cpu_account *account, int blocks);
