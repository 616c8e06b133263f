/* SPDX-License-Identifier: Apache-2.0 */
/* The two views from outside of the program, and what of them goes into the account. */
#include "record/outside.h"

void outside_follow(struct outside *o, pid_t program, enum off_cpu_when when)
{
	switches_follow(&o->switches, program, when);
	if (neighbours_create(&o->neighbours))
		o->neighbours = NULL;
}

void outside_account(
	const struct outside *o, pid_t program, int ended, struct sink_account *account)
{
	switches_account(&o->switches, &account->off_cpu);
	if (ended && o->neighbours &&
		neighbours_use(o->neighbours, (uint32_t)program, &account->machine))
		account->machine = (struct machine_use){0};
}

void outside_fini(struct outside *o)
{
	switches_fini(&o->switches);
	neighbours_destroy(o->neighbours);
	*o = (struct outside){0};
}
