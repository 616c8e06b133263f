/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be counted here beside time, and whether this machine's ceilings are known. Called by
 * `brick doctor`.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/date.h"
#include "brick/counters.h"
#include "cli/cmd_doctor.h"
#include "cli/die.h"
#include "analysis/machine/ceilings_file.h"

/* "a, b": names of those of `kinds` that can be counted, or that cannot; NULL: none. */
static char *names_of(uint32_t kinds, bool countable)
{
	char *names = NULL, reason[200];

	for (uint32_t kind = 0; kind < BRICK_COUNTER_KINDS; kind++) {
		if (!(kinds & 1u << kind) ||
			!brick_counters_available(kind, reason, sizeof(reason)) != countable)
			continue;
		xappend(&names, ", ", "%s", brick_counters_name(kind));
	}
	return names;
}

static int first_error(uint32_t kinds, char *reason, size_t bytes)
{
	for (uint32_t kind = 0; kind < BRICK_COUNTER_KINDS; kind++) {
		int error = kinds & 1u << kind ? brick_counters_available(kind, reason, bytes) : 0;
		if (error)
			return error;
	}
	return 0;
}

static void add_counters(struct doctor *doctor, const char *name, uint32_t kinds)
{
	char reason[200] = "";
	int error = first_error(kinds, reason, sizeof(reason));
	bool denied = error == -EACCES || error == -EPERM;
	SCOPED char *yes = names_of(kinds, true), *no = names_of(kinds, false);

	if (!no)
		doctor_add(doctor, "Machine", name, DOCTOR_OK, NULL, "%s can be counted", yes);
	else
		doctor_add(doctor, "Machine", name, denied || yes ? DOCTOR_LIMITED : DOCTOR_ABSENT,
			denied ? "sysctl kernel.perf_event_paranoid=1, or CAP_PERFMON for the "
				 "program"
			       : "times do not need them; on a virtual machine they are the host's "
				 "to give",
			"%s unavailable: %s%s%s", no, reason, yes ? "; can be counted: " : "",
			yes ? yes : "");
}

static void add_ceilings(struct doctor *doctor)
{
	static struct cpu_info info;
	SCOPED_TO(ceilings_destroy) struct ceilings *ceilings = NULL;
	struct ceilings_error error;
	char text[DATE_BYTES];

	cpu_info_read(&info);
	SCOPED char *path = ceilings_cache_path(info.host, info.model);
	int rc = path ? ceilings_read(&ceilings, path, &error) : -ENOENT;
	const char *stale = ceilings ? ceilings_stale(ceilings, &info) : NULL;
	const char *date = ceilings ? date_text(text, ceilings->unix_ns, "%Y-%m-%d") : NULL;
	if (ceilings && !stale)
		doctor_add(doctor, "Machine", "ceilings", DOCTOR_OK, NULL, "measured %s%s",
			date ? date : "at an unknown time", ceilings->quick ? ", in a hurry" : "");
	else
		doctor_add(doctor, "Machine", "ceilings", DOCTOR_LIMITED,
			"run 'brick ceilings' once, while the machine does nothing else", "%s",
			stale		? stale
			: rc == -ENOENT ? "not measured yet: 'brick roofline' needs them"
					: error.text);
}

void doctor_counters(struct doctor *doctor)
{
	add_counters(doctor, "counters", BRICK_COUNTERS_HARDWARE);
	add_counters(doctor, "sw counters", BRICK_COUNTERS_SOFTWARE);
	add_ceilings(doctor);
}
