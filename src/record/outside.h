/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recorder sees of the program and of the machine without the program's help: when its
 * threads are off their CPUs, and who else uses those. What cannot be had is noted with its reason
 * and is missing from the recording. One thread.
 */
#pragma once

#include "lib/drain/neighbours.h"
#include "record/switch_records.h"
#include "lib/writer/sink.h"

struct outside {
	struct switches switches;
	struct neighbours *neighbours; /* NULL: not known */
};

/* Follow a program that has not done its exec yet. */
void outside_follow(struct outside *o, pid_t program, enum off_cpu_when when);

/* Add what is known now. `ended`: also what the machine did, which takes milliseconds to say. */
void outside_account(
	const struct outside *o, pid_t program, int ended, struct sink_account *account);

void outside_fini(struct outside *o);
