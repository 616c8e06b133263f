/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work and its time, for many keys (a brick, a phase of it, a layer, ...): per key the time with at
 * least one lane of a process in it and on its CPU, the time of all lanes together, and the work.
 * The one meaning of GB/s and GFLOP/s: a team's work over the team's time, whether one thread tells
 * of all of it or each of its own part.
 */
#pragma once

#include "analysis/steps/step_times.h"
#include "analysis/walk/walk.h"

/* Whose work an execution is. */
enum work_owner {
	WORK_UNKNOWN = 0, /* nobody tells the work of its executions */
	WORK_OWN = 1,	  /* it tells the work of an execution */
	WORK_PART = 2,	  /* one thread's part of executions that another one's site owns */
};

struct work_account {
	uint64_t wall_ns;  /* whole when the walk has run */
	uint64_t alone_ns; /* of it, in processes of which one lane recorded */
	uint64_t busy_ns;
	/* beside busy_ns: it was blocked, or another ran in its place, in its own time */
	uint64_t blocked_ns, preempted_ns;
	uint64_t told_ns; /* of busy_ns, in executions that tell their work */
	uint64_t count, silent;
	uint64_t flops, bytes;
	uint64_t without_flops, without_bytes; /* executions that say one, but not the other */
	uint64_t at_most;		       /* that say the most that it can be */
	uint64_t split; /* commands whose work others, which count elsewhere, did a part of */
};

enum { WORK_PHASES = STEP_PHASES + 1, WORK_ALL_PHASES = WORK_PHASES };

/* Orders sites by members that a node's whole and its parts share; 0: they are of one node. */
int work_compare_nodes(const struct run_site *a, const struct run_site *b);

/* The account that an execution counts in; SIZE_MAX: none. */
typedef size_t (*work_key_fn)(void *context, uint32_t lane, const struct walk_frame *frame);

struct work_time;

struct work_accounts {
	const struct run *run;
	const struct step_index *index;
	struct work_account *accounts;
	struct work_time *times; /* [count]: of lanes that were not alone, until the walk has run */
	size_t count;
	const uint8_t *owners; /* [site_count]: enum work_owner */
	bool by_lane;	       /* no key is of more than one lane */
	size_t told;	       /* key of the command whose work the queue goes on with */
	work_key_fn key;
	void *context;
	struct work_accounts *shared; /* those of bricks and categories; NULL: it is they */
	struct work_accounts *beside; /* next of all that share them */
};

/* Accounts to make: of bricks by phase; of categories by phase, too; of both over all phases. */
enum work_asked { WORK_OF_BRICKS = 1, WORK_OF_PHASES = 2, WORK_OF_ALL = 4 };

/*
 * Accounts of bricks and categories, shared by all accumulators of a walk: the first who asks makes
 * them, and they go with the last who gives them back. Accounts that nobody asked for have no time.
 * NULL: no memory.
 */
struct work_accounts *work_accounts_get(struct walk *walk, enum work_asked asked);
void work_accounts_put(struct work_accounts *accounts);

/* phase: STEP_PHASES is outside of steps; WORK_ALL_PHASES. */
const struct work_account *work_of_brick(
	const struct work_accounts *accounts, uint32_t brick, int phase, int on_device);
const struct work_account *work_of_category(
	const struct work_accounts *accounts, uint32_t category, int phase, int on_device);

/*
 * Makes accounts of `count` other keys; the caller has the shared ones meanwhile. -ENOMEM: empty.
 */
int work_accounts_init(struct work_accounts *accounts, struct walk *walk, size_t count,
	work_key_fn key, void *context);
void work_accounts_fini(struct work_accounts *accounts);

/*
 * An amount that an account knows, per ns. Negative: not all who say what they did say this; part
 * of the work counts elsewhere; or the account was blocked for longer than it ran, so that the work
 * did not take its time on the CPU.
 */
static inline double work_rate(
	const struct work_account *account, uint64_t amount, uint64_t without)
{
	if (without || account->split || !account->wall_ns ||
		account->blocked_ns > account->busy_ns)
		return -1;
	return (double)amount / (double)account->wall_ns;
}

static inline double work_bytes_per_ns(const struct work_account *account)
{
	return work_rate(account, account->bytes, account->without_bytes);
}

static inline double work_flops_per_ns(const struct work_account *account)
{
	return work_rate(account, account->flops, account->without_flops);
}

/* Phase of its step, or of the step that launched it; STEP_PHASES: outside of steps. */
unsigned work_phase(const struct run *run, const struct step_index *index, uint32_t lane,
	const struct walk_frame *frame);
