/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows of a summary that are no bricks are called. Called by summary.c. */
#include <stdio.h>
#include <string.h>

#include "analysis/accounts/summary_accumulator.h"

/*
 * Of a lane that went on with other threads, each when the one before it had ended, the last; and
 * the first, if it was called something else.
 */
static char *lane_label(const struct summary_accumulator *t, uint32_t number)
{
	const struct run *run = t->run;
	const struct run_lane *lane = &run->lanes[number];
	const struct owners *owners = &t->index->owners;
	size_t first = owners_first(owners, run, number), count = owners->lanes[number + 1] - first;
	const char *name = lane->name ? lane->name : "thread", *other = owners->all[first].name;
	char *label = NULL, process[32] = "", before[128] = "";
	if (run->process_count > 1)
		snprintf(process, sizeof(process), "%u/", run->processes[lane->process].pid);
	if (count > 1)
		snprintf(before, sizeof(before), ", the last of %zu%s%s", count,
			other && strcmp(other, name) != 0 ? ", the first " : "",
			other && strcmp(other, name) != 0 ? other : "");
	int n = asprintf(
		&label, "%s (%s%llu%s)", name, process, (unsigned long long)lane->tid, before);
	return n < 0 ? NULL : label;
}

static char *queue_label(const struct summary_accumulator *t, uint32_t queue)
{
	const struct run *run = t->run;
	const struct run_lane *lane = &run->lanes[t->queues.queues[queue].lane];
	const char *backend = lane->backend ? lane->backend : "", *name = lane->name;
	char *label = NULL, process[32] = "";
	if (run->process_count > 1)
		snprintf(process, sizeof(process), "%u/", run->processes[lane->process].pid);
	if (!name || !*name)
		name = "queue";
	int n = asprintf(&label, "%s%s%s (%s%llu)", backend, *backend ? ": " : "", name, process,
		(unsigned long long)lane->tid);
	return n < 0 ? NULL : label;
}

static char *step_label(const struct run *run, uint32_t step)
{
	char *label = NULL;
	if (step == run->step_count)
		return strdup("outside of steps");
	int n = asprintf(
		&label, "%s %u", step_phase_name(step_phase_of(&run->steps[step])), step + 1);
	return n < 0 ? NULL : label;
}

char *summary_group_label(const struct summary_accumulator *t, uint32_t group)
{
	uint32_t kernel;
	if (t->by == SUMMARY_BY_KERNEL)
		return strdup(summary_kernel_name(t, group, &kernel));
	if (t->by == SUMMARY_BY_QUEUE)
		return queue_label(t, group);
	char *label = NULL;
	if (t->by == SUMMARY_BY_THREAD)
		return lane_label(t, group);
	if (t->by == SUMMARY_BY_PHASE)
		return strdup(group == SUMMARY_PHASE_OUTSIDE ? "outside of steps"
							     : step_phase_name((int)group));
	if (t->by == SUMMARY_BY_STEP)
		return step_label(t->run, group);
	if (group == 0)
		return strdup("outside of layers");
	return asprintf(&label, "layer %u", group - 1) < 0 ? NULL : label;
}
