/* SPDX-License-Identifier: Apache-2.0 */
/* A new kind of loss is one more line in `kinds`. */
#include "ui/text/losses_text.h"

#include <stdio.h>

bool losses_describe(const struct losses *losses, size_t k, uint64_t *count, char what[LOSS_BYTES])
{
	char truncated[LOSS_BYTES], packets[LOSS_BYTES];
	const struct {
		uint64_t count;
		const char *one, *many;
	} kinds[] = {
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
		{losses->truncated_bytes, truncated, truncated},
		{losses->bad_packets, packets, packets},
		{losses->bad_records, "record that broke the rules of its ring",
			"records that broke the rules of their ring"},
		{losses->lost_processes, "process lost", "processes lost"},
		{losses->unfinished_processes, "process did not exit cleanly",
			"processes did not exit cleanly"},
		{losses->unanswered, "command of those was launched, and its times never came",
			"commands of those were launched, and their times never came"},
	};
	snprintf(truncated, sizeof(truncated),
		"byte%s at the end of the file unreadable, from byte %llu on",
		losses->truncated_bytes == 1 ? "" : "s", (unsigned long long)losses->truncated_at);
	snprintf(packets, sizeof(packets),
		losses->bad_packets == 1 ? "packet of the file unusable, at byte %llu"
					 : "packets of the file unusable, the first at byte %llu",
		(unsigned long long)losses->bad_packet_at);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!kinds[i].count || k--)
			continue;
		*count = kinds[i].count;
		snprintf(what, LOSS_BYTES, "%s", *count == 1 ? kinds[i].one : kinds[i].many);
		return true;
	}
	return false;
}
