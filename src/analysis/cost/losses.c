/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up ledgers. What is listed here is printed with every answer; a new kind of loss is one more
 * line in `lines`. Called by the report.
 */
#include "analysis/cost/losses.h"
#include "base/members.h"

#include <stdio.h>
#include <string.h>

static void add_ledger(struct losses *losses, const struct brick_ledger *ledger)
{
	members_add(losses, ledger, dropped, unmatched, clamped, unsupported, too_deep, table_full,
		refused);
}

/* Of what the file lacks: where that is in it. */
static void say_where(struct losses *losses, const struct run *run)
{
	snprintf(losses->truncated_text, sizeof(losses->truncated_text),
		"byte%s at the end of the file unreadable, from byte %llu on",
		run->truncated_bytes == 1 ? "" : "s", (unsigned long long)run->truncated_at);
	snprintf(losses->bad_packets_text, sizeof(losses->bad_packets_text),
		run->bad_packets == 1 ? "packet of the file unusable, at byte %llu"
				      : "packets of the file unusable, the first at byte %llu",
		(unsigned long long)run->bad_packet_at);
}

void losses_of_run(struct losses *losses, const struct run *run, uint64_t mismatched)
{
	memset(losses, 0, sizeof(*losses));
	for (size_t i = 0; i < run->process_count; i++) {
		add_ledger(losses, &run->processes[i].ledger);
		losses->unfinished_processes += !run->processes[i].closed;
		if (!run->processes[i].closed)
			losses->unanswered += run->processes[i].unanswered;
	}
	for (size_t i = 0; i < run->lane_count; i++)
		add_ledger(losses, &run->lanes[i].ledger);
	losses->unmatched += mismatched;
	losses->mismatched = mismatched;
	losses->open = run->open_samples;
	losses->truncated_bytes = run->truncated_bytes;
	losses->refused += run->refused_records;
	members_copy(losses, run, lost_processes, bad_packets, bad_records);
	losses->incomplete = !run->complete;
	say_where(losses, run);
}

int losses_describe(const struct losses *losses, size_t k, uint64_t *count, const char **what)
{
	const struct {
		uint64_t count;
		const char *one, *many;
	} lines[] = {
		{losses->dropped, "record dropped, by a full ring or a driver",
			"records dropped, by a full ring or a driver"},
		{losses->open, "sample never ended", "samples never ended"},
		{losses->unmatched, "begin or end unmatched", "begins or ends unmatched"},
		{losses->clamped, "time clamped", "times clamped"},
		{losses->unsupported, "execution seen but not timed",
			"executions seen but not timed"},
		{losses->too_deep, "brick nested too deep", "bricks nested too deep"},
		{losses->table_full, "name, site or thread without room in a table",
			"names, sites or threads without room in a table"},
		{losses->refused,
			"record of a thread or process that had no memory or file to record to",
			"records of threads or processes that had no memory or file to record to"},
		{losses->truncated_bytes, losses->truncated_text, losses->truncated_text},
		{losses->bad_packets, losses->bad_packets_text, losses->bad_packets_text},
		{losses->bad_records, "record that broke the rules of its ring",
			"records that broke the rules of their ring"},
		{losses->lost_processes, "process lost", "processes lost"},
		{losses->unfinished_processes, "process did not end in good order",
			"processes did not end in good order"},
		{losses->unanswered, "command of those was launched, and its times never came",
			"commands of those were launched, and their times never came"},
	};
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (!lines[i].count || k--)
			continue;
		*count = lines[i].count;
		*what = lines[i].count == 1 ? lines[i].one : lines[i].many;
		return 1;
	}
	return 0;
}

int losses_complete(const struct losses *losses)
{
	return !losses->incomplete && !losses->bad_records && !losses->bad_packets;
}

int losses_any(const struct losses *losses)
{
	uint64_t count;
	const char *what;
	return losses->incomplete || losses_describe(losses, 0, &count, &what);
}
