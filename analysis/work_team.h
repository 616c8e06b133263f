/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time in which at least one lane of a process was in a piece of work: lanes are walked side by
 * side, in the order of time, so that nothing is kept but how far each account is. Inside of
 * analysis/ only; one thread at a time.
 */
#pragma once

#include "analysis/work_accounts.h"

/* Adds to wall_ns of all accounts of that walk. -ENOMEM: nothing or a part of it. */
int work_team_unite(struct work_accounts *shared, uint32_t process);
