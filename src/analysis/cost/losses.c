/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up ledgers. A new kind of loss goes into losses_any(), too. */
#include "analysis/cost/losses.h"

#include <string.h>

static void losses_add_ledger(struct losses *losses, const struct brick_ledger *ledger)
{
	losses->dropped += ledger->dropped;
	losses->unmatched += ledger->unmatched;
	losses->clamped += ledger->clamped;
	losses->unsupported += ledger->unsupported;
	losses->too_deep += ledger->too_deep;
	losses->table_full += ledger->table_full;
	losses->refused += ledger->refused;
}

/* True of a process that ran on, untouched: it has no end to be seen. */
static bool losses_still_ran(const struct run *run, uint32_t process)
{
	for (size_t i = 0; i < run->note_count; i++)
		if (run->notes[i].process == process && !strcmp(run->notes[i].key, "session.end"))
			return !strcmp(run->notes[i].value, "outlived");
	return false;
}

/*
 * What threads have recorded is in the rings, which outlive the process; a driver may keep what
 * queues did. So nothing is missing of one without queues in whose run no brick was open (a data
 * loader's worker, which Python ends by _exit()).
 */
static bool losses_lacks(const struct run *run, uint32_t process)
{
	bool lacks = run->open_samples || run_note_find(run, "imported");

	for (size_t i = 0; i < run->lane_count && !lacks; i++)
		lacks = run->lanes[i].process == process && run->lanes[i].kind != BRICK_LANE_THREAD;
	return lacks && !losses_still_ran(run, process);
}

void losses_of_run(struct losses *losses, const struct run *run, uint64_t mismatched)
{
	*losses = (struct losses){
		.unmatched = mismatched,
		.mismatched = mismatched,
		.open = run->open_samples,
		.refused = run->refused_records,
		.truncated_bytes = run->truncated_bytes,
		.truncated_at = run->truncated_at,
		.bad_packets = run->bad_packets,
		.bad_packet_at = run->bad_packet_at,
		.bad_records = run->bad_records,
		.lost_processes = run->lost_processes,
		.incomplete = !run->complete,
		.is_imported = run_note_find(run, "imported"),
	};
	for (size_t i = 0; i < run->process_count; i++) {
		losses_add_ledger(losses, &run->processes[i].ledger);
		losses->unfinished_processes +=
			!run->processes[i].closed && losses_lacks(run, (uint32_t)i);
		if (!run->processes[i].closed)
			losses->unanswered += run->processes[i].unanswered;
	}
	for (size_t i = 0; i < run->lane_count; i++)
		losses_add_ledger(losses, &run->lanes[i].ledger);
}

bool losses_complete(const struct losses *losses)
{
	return !losses->incomplete && !losses->bad_records && !losses->bad_packets;
}

uint64_t losses_dropped(const struct run *run)
{
	struct losses losses;

	losses_of_run(&losses, run, 0);
	return losses.dropped;
}

bool losses_any(const struct losses *l)
{
	return !losses_complete(l) || l->dropped || l->open || l->unmatched || l->clamped ||
	       l->unsupported || l->too_deep || l->table_full || l->refused || l->truncated_bytes ||
	       l->lost_processes || l->unfinished_processes || l->unanswered;
}
