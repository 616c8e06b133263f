/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums up work and its time by keys, for example bricks, phases or layers. An account of a key has
 * the time with at least one lane of a process in it and on its CPU (wall_ns), the time of all
 * lanes together (busy_ns), and the work. GB/s and GFLOP/s always are a team's work over the team's
 * time, whether one thread states the work of all or each thread its own part. Accounts are
 * read-only when the walk has run.
 */
#pragma once

#include "analysis/steps/step_times.h"
#include "analysis/walk/walk.h"

/* Where the work of a site's executions is stated. */
enum work_owner {
	WORK_UNKNOWN = 0, /* nowhere */
	WORK_OWN = 1,	  /* by the site itself */
	WORK_PART = 2,	  /* by another thread's site of the same node, for the whole team */
};

struct work_account {
	uint64_t wall_ns;  /* with at least one lane of a process at work; after the walk only */
	uint64_t alone_ns; /* part of wall_ns: in processes with one lane of its kind */
	uint64_t busy_ns;  /* self time on the CPU, summed over lanes */
	/* self time off the CPU, which is not in busy_ns */
	uint64_t blocked_ns, preempted_ns;
	uint64_t told_ns; /* part of busy_ns: in executions that state their work */
	uint64_t count;	  /* executions that state their work */
	uint64_t silent;  /* executions whose work nothing states */
	uint64_t flops, bytes;
	uint64_t without_flops, without_bytes; /* part of count: state the other amount only */
	uint64_t at_most;		       /* part of count: state an upper bound */
	uint64_t split; /* commands of nodes that lie in several accounts: no rate is known */
};

enum { WORK_PHASES = STEP_PHASES + 1, WORK_ALL_PHASES = WORK_PHASES };

/* Orders sites by brick, layer, operation and label; 0: both are sites of one node. */
int work_compare_nodes(const struct run_site *a, const struct run_site *b);

/*
 * The account that an execution counts in; SIZE_MAX: none. Called by two threads at once: the
 * walk's, and a second one that unites the times of a process's lanes.
 */
typedef size_t (*work_key_fn)(void *context, uint32_t lane, const struct walk_frame *frame);

struct work_time;

struct work_accounts {
	const struct run *run;
	const struct step_index *index;
	struct work_account *accounts;
	struct work_time *times; /* [count]: used while the walk runs */
	size_t count;		 /* of accounts, one for each key */
	const uint8_t *owners;	 /* [site_count]: enum work_owner */
	bool by_lane;		 /* the caller says: no key has executions of two lanes */
	size_t told; /* key of the queue's last command that states work; SIZE_MAX: none */
	work_key_fn key;
	void *context;
	struct work_accounts *shared; /* accounts of bricks and categories; NULL: these are they */
	struct work_accounts *beside; /* list of other keys' accounts in the same walk */
};

/* A mask of the accounts whose time is needed. */
enum work_asked {
	WORK_OF_BRICKS = 1, /* bricks by phase */
	WORK_OF_PHASES = 2, /* bricks and categories by phase */
	WORK_OF_ALL = 4,    /* bricks and categories over all phases */
};

/*
 * Returns the accounts of bricks and categories that all accumulators of a walk share: the first
 * call makes them, and the last work_accounts_put() frees them. Accounts that no call asked for
 * have no wall_ns of teams. NULL: no memory.
 */
struct work_accounts *work_accounts_get(struct walk *walk, enum work_asked asked);
void work_accounts_put(struct work_accounts *accounts);

/* phase: an enum step_phase, STEP_PHASES (outside of steps) or WORK_ALL_PHASES. */
const struct work_account *work_of_brick(
	const struct work_accounts *accounts, uint32_t brick, int phase, int on_device);
const struct work_account *work_of_category(
	const struct work_accounts *accounts, uint32_t category, int phase, int on_device);

/*
 * Makes accounts of `count` other keys. The caller holds work_accounts_get() as long. -ENOMEM;
 * *accounts is then empty.
 */
int work_accounts_init(struct work_accounts *accounts, struct walk *walk, size_t count,
	work_key_fn key, void *context);
void work_accounts_fini(struct work_accounts *accounts);

/*
 * `amount` per ns of wall_ns. `without`: executions that do not state this amount. Negative, which
 * is unknown: there are such executions; a part of the work is in another account; no time; or the
 * account was blocked for longer than it ran, so that its time on the CPU is not the work's.
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

/*
 * The phase of a frame's step; on a queue, of the step that launched the command. STEP_PHASES:
 * outside of steps.
 */
unsigned work_phase(const struct run *run, const struct step_index *index, uint32_t lane,
	const struct walk_frame *frame);
