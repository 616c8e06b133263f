/* SPDX-License-Identifier: Apache-2.0 */
/* For each part of the recording, the same part of each earlier one that may be compared with it.
 */
#include "analysis/explain/usual_times.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

static const struct history_part *usual_times_part(
	const struct history_run *run, const struct history_part *like)
{
	for (size_t i = 0; i < run->parts.count; i++) {
		const struct history_part *part = &run->parts.items[i];
		if (!strcmp(part->phase, like->phase) && !strcmp(part->kind, like->kind) &&
			!strcmp(part->name, like->name))
			return part;
	}
	return NULL;
}

/* A phase of more tokens has a longer context. */
static bool is_as_long(const struct history_part *step, const struct history_part *now)
{
	return step && step->typical_tokens && 4 * step->tokens >= 3 * now->tokens &&
	       3 * step->tokens <= 4 * now->tokens;
}

static bool usual_times_is_disturbed(const struct history_run *run)
{
	return history_run_fact_find(run, HISTORY_DISTURBED) != NULL;
}

/* The earlier recordings with such a phase, the newest first; all: also those that were disturbed.
 */
static size_t list_earlier(const struct history_run *list[USUAL_RUNS_MOST],
	const struct history_run *now, const struct history_part *step,
	const struct history_run *earlier, size_t count, bool all)
{
	size_t n = 0;

	for (size_t i = 0; i < count && n < USUAL_RUNS_MOST; i++) {
		const struct history_run *run = &earlier[i];
		if (run->start_ns < now->start_ns && strcmp(run->id, now->id) != 0 &&
			!strcmp(run->workload, now->workload) && !strcmp(run->host, now->host) &&
			!strcmp(run->cpu, now->cpu) && (all || !usual_times_is_disturbed(run)) &&
			is_as_long(usual_times_part(run, step), step))
			list[n++] = run;
	}
	return n;
}

/* A part that a run does not have took no time there. */
static void usual_times_compare(struct usual_part *out, const struct history_part *part,
	const struct history_run *const *list, size_t count)
{
	double ns[USUAL_RUNS_MOST];

	for (size_t i = 0; i < count; i++) {
		const struct history_part *same = usual_times_part(list[i], part);
		ns[i] = same && same->typical_tokens
				? (double)same->typical_ns / (double)same->typical_tokens
				: 0;
	}
	qsort(ns, count, sizeof(*ns), order_doubles);
	out->now_ns = (double)part->typical_ns / (double)part->typical_tokens;
	out->all_ns = part->tokens ? (double)part->total_ns / (double)part->tokens : out->now_ns;
	out->quickest_ns = ns[0];
	out->median_ns = ns[(count - 1) / 2];
	out->slower_ns = ns[count * 3 / 4];
}

static void usual_times_add_phase(struct usual_times *usual, const struct run *run, int phase,
	const struct history_run *now, const struct history_run *earlier, size_t count)
{
	const struct history_run *list[USUAL_RUNS_MOST];
	const struct history_part *step = history_run_step(now, step_phase_name(phase));

	if (!step || !step->typical_tokens)
		return;
	size_t n = list_earlier(list, now, step, earlier, count, false);
	if (n < USUAL_RUNS_LEAST)
		n = list_earlier(list, now, step, earlier, count, true);
	if (n < USUAL_RUNS_LEAST)
		return;
	usual->runs[phase] = n;
	usual->whole[phase] = (struct usual_part){.phase = phase, .brick = RUN_NONE};
	usual_times_compare(&usual->whole[phase], step, list, n);
	memcpy(usual->like, list[0]->id, sizeof(usual->like));
	for (size_t i = 0; i < now->parts.count; i++) {
		const struct history_part *part = &now->parts.items[i];
		uint32_t brick = run_brick_find(run, part->name);
		if (strcmp(part->phase, step->phase) != 0 || strcmp(part->kind, "brick") != 0 ||
			brick == RUN_NONE || !part->typical_tokens)
			continue;
		struct usual_part *out = &usual->parts[usual->count++];
		*out = (struct usual_part){.phase = phase, .brick = brick};
		usual_times_compare(out, part, list, n);
	}
}

int usual_times_init(struct usual_times *usual, const struct run *run,
	const struct history_run *now, const struct history_run *earlier, size_t count)
{
	*usual = (struct usual_times){0};
	usual->parts = calloc(now->parts.count + 1, sizeof(*usual->parts));
	if (!usual->parts)
		return -ENOMEM;
	for (int p = 0; p < STEP_WARM_UP; p++)
		usual_times_add_phase(usual, run, p, now, earlier, count);
	return 0;
}

void usual_times_fini(struct usual_times *usual)
{
	free(usual->parts);
	*usual = (struct usual_times){0};
}
