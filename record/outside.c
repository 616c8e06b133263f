/* SPDX-License-Identifier: Apache-2.0 */
/* The two views from outside of the program, and what of them goes into the account. */
#include "record/outside.h"

void outside_follow(struct outside *o, pid_t program, int off_cpu)
{
	if (off_cpu)
		o->error = off_cpu_create(&o->off_cpu, program);
	if (neighbours_create(&o->neighbours))
		o->neighbours = NULL;
}

void outside_account(
	const struct outside *o, pid_t program, int ended, struct sink_account *account)
{
	account->off_cpu.source = o->off_cpu ? OFF_CPU_SWITCHES : OFF_CPU_UNKNOWN;
	account->off_cpu.error = o->error;
	account->off_cpu.lost = o->off_cpu ? off_cpu_lost(o->off_cpu) : 0;
	if (ended && o->neighbours &&
		neighbours_use(o->neighbours, (uint32_t)program, &account->machine))
		account->machine = (struct machine_use){0};
}

void outside_fini(struct outside *o)
{
	off_cpu_destroy(o->off_cpu);
	neighbours_destroy(o->neighbours);
	*o = (struct outside){0};
}
