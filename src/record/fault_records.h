/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Page faults of a program while it loads, by the kernel's own records (perf_event_open(2)): a
 * record before a fault is served, and another behind it. Needs no privileges for one's own
 * processes up to perf_event_paranoid 2; then faults inside of system calls are not among them.
 * Each record costs the program 0.3 us or more, so the kernel makes no more of them once processes
 * with a session have had many faults, or the program hardly any for a while. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "format/machine_use.h"

struct encoder;
struct fault_records;
struct watched;

/* Follow a program from its next exec on, with its threads and children. 0 or -errno. */
int fault_records_follow(struct fault_records **out, pid_t program);

/* Returns a descriptor that is readable when many records wait; it stays f's. */
int fault_records_fd(const struct fault_records *f);

/*
 * Hands the faults that have ended over, for processes that have a session by now; the others wait.
 * Returns after how many ms to call again.
 */
uint32_t fault_records_turn(struct fault_records *f, const struct watched *sessions,
	struct encoder *e, uint64_t now_ns);

void fault_records_account(const struct fault_records *f, struct fault_account *account);

/* NULL is legal. */
void fault_records_destroy(struct fault_records *f);
