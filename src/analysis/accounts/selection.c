/* SPDX-License-Identifier: Apache-2.0 */
/* The half of a selection that is about what and where, and what both have in common. */
#include "analysis/accounts/selection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/steps/step_times.h"
#include "brick/error.h"
#include "trace/run_keep.h"

static bool has_places(const struct selection *s)
{
	return s->brick || s->layer != SELECTION_ALL_LAYERS;
}

/* In words; -ENOMEM. */
static int describe(const struct selection *s, struct run *run)
{
	static const char *const speeds[] = {
		[SELECT_SLOWEST] = "slowest step", [SELECT_SLOW] = "slowest 5% of steps"};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return -ENOMEM;
	if (s->phase >= 0)
		fprintf(out, "; %s", step_phase_name(s->phase));
	for (unsigned i = 0; i < s->step_ranges; i++)
		fprintf(out, s->steps[i].first == s->steps[i].last ? "%s%llu" : "%s%llu-%llu",
			i ? "," : "; steps ", (unsigned long long)s->steps[i].first,
			(unsigned long long)s->steps[i].last);
	if (s->speed != SELECT_ANY_SPEED)
		fprintf(out, "; %s", speeds[s->speed]);
	if (s->layer == -1)
		fputs("; outside of layers", out);
	else if (s->layer != SELECTION_ALL_LAYERS)
		fprintf(out, "; layer %d", s->layer);
	if (s->brick)
		fprintf(out, "; %s", s->brick);
	if (s->thread)
		fprintf(out, "; thread %s", s->thread);
	if (s->since_ns)
		fprintf(out, "; since %.9g s", (double)s->since_ns / 1e9);
	if (s->until_ns != UINT64_MAX)
		fprintf(out, "; until %.9g s", (double)s->until_ns / 1e9);
	if (fclose(out) != 0) {
		free(text);
		return -ENOMEM;
	}
	memmove(text, text + 2, strlen(text + 2) + 1);
	free(run->selected);
	run->selected = text;
	return 0;
}

static int missing_text(char **missing, const char *what, const char *name)
{
	return asprintf(missing, "no %s %s", what, name) < 0 ? -ENOMEM : BRICK_ENOTRECORDED;
}

/* Who asks for waits means those of all bricks. */
static uint32_t left_out(
	const struct selection *s, const struct run *run, const struct run_site *site)
{
	const struct run_brick *brick = &run->bricks[site->brick];
	int32_t layer = site->layer < 0 ? -1 : site->layer;
	if (s->layer != SELECTION_ALL_LAYERS && layer != s->layer)
		return RUN_LEFT_OUT_ALL;
	if (!s->brick || !strcmp(brick->name, s->brick))
		return 0;
	bool waits = !strcmp(s->brick, brick_name(BRICK_BARRIER_WAIT));
	return waits ? RUN_LEFT_OUT_TIME : RUN_LEFT_OUT_ALL;
}

static int apply_places(const struct selection *s, struct run *run, char **missing)
{
	bool any = false;
	if (!has_places(s))
		return 0;
	if (s->brick && run_brick_find(run, s->brick) == RUN_NONE)
		return missing_text(missing, "brick", s->brick);
	for (size_t i = 0; i < run->site_count; i++) {
		run->sites[i].left_out = left_out(s, run, &run->sites[i]);
		any |= run->sites[i].left_out != RUN_LEFT_OUT_ALL;
	}
	if (any)
		return 0;
	char layer[16];
	snprintf(layer, sizeof(layer), "%d", s->layer);
	return missing_text(missing, s->brick ? "such brick in layer" : "layer", layer);
}

/* By name, or by number. */
static bool is_lane(const struct run_lane *lane, const char *thread)
{
	char number[24];
	snprintf(number, sizeof(number), "%llu", (unsigned long long)lane->tid);
	return (lane->name && !strcmp(lane->name, thread)) || !strcmp(number, thread);
}

/* Each site once more, left out: for what others did. */
static int double_sites(struct run *run)
{
	size_t count = run->site_count;
	struct run_site *sites = reallocarray(run->sites, 2 * count + 1, sizeof(*sites));
	if (!sites)
		return -ENOMEM;
	run->sites = sites;
	for (size_t i = 0; i < count; i++) {
		struct run_site *copy = &sites[count + i];
		*copy = sites[i];
		copy->left_out = RUN_LEFT_OUT_ALL;
		copy->operation = sites[i].operation ? strdup(sites[i].operation) : NULL;
		copy->label = sites[i].label ? strdup(sites[i].label) : NULL;
		run->site_count++;
		if ((sites[i].operation && !copy->operation) || (sites[i].label && !copy->label))
			return -ENOMEM;
	}
	return 0;
}

/* Commands of a device are the thread's that launched them; a queue's own are all of it. */
static bool is_launched(const struct run *run, const uint8_t *lanes, uint32_t lane, uint32_t sample)
{
	if (run->lanes[lane].kind != BRICK_LANE_QUEUE)
		return false;
	size_t i = run_command_from(run, lane, sample);
	return i < run->command_count && run->commands[i].lane == lane &&
	       run->commands[i].sample == sample && run->commands[i].launch_lane != RUN_NONE &&
	       lanes[run->commands[i].launch_lane];
}

static int apply_thread(const struct selection *s, struct run *run, char **missing)
{
	size_t sites = run->site_count;
	uint8_t *lanes = s->thread ? calloc(run->lane_count + 1, 1) : NULL;
	bool any = false;
	if (!s->thread)
		return 0;
	int rc = lanes ? double_sites(run) : -ENOMEM;
	for (size_t i = 0; i < run->lane_count && rc == 0; i++)
		any |= lanes[i] = is_lane(&run->lanes[i], s->thread);
	if (rc == 0 && !any)
		rc = missing_text(missing, "thread or queue", s->thread);
	for (uint32_t l = 0; l < run->lane_count && rc == 0; l++)
		for (uint32_t i = 0; !lanes[l] && i < run->lanes[l].sample_count; i++) {
			run_lane_passed(&run->lanes[l], i);
			if (!is_launched(run, lanes, l, i))
				run->lanes[l].samples[i].site += (uint32_t)sites;
		}
	free(lanes);
	return rc;
}

/* What does not know when and where it was. */
static void drop_statistics(struct run *run)
{
	for (size_t i = 0; i < run->lane_count; i++) {
		free(run->lanes[i].stats);
		run->lanes[i].stats = NULL;
	}
	for (size_t i = 0; run->histograms && i < run->brick_count; i++) {
		free(run->histograms[i]);
		run->histograms[i] = NULL;
	}
}

bool selection_is_any(const struct selection *s)
{
	return selection_has_steps(s) || has_places(s) || s->thread;
}

int selection_apply(const struct selection *s, struct run *run, char **missing)
{
	*missing = NULL;
	if (!selection_is_any(s))
		return 0;
	int rc = describe(s, run);
	if (rc == 0)
		rc = run_edit(run);
	if (rc == 0)
		rc = selection_apply_steps(s, run, missing);
	if (rc == 0)
		rc = apply_places(s, run, missing);
	if (rc == 0)
		rc = apply_thread(s, run, missing);
	if (rc == 0)
		drop_statistics(run);
	return rc;
}

static void find_dropped(const struct run *run, const struct step_index *index, uint8_t **keep)
{
	for (size_t lane = 0; lane < run->lane_count; lane++)
		for (size_t i = 0; i < run->lanes[lane].sample_count; i++) {
			run_lane_passed(&run->lanes[lane], i);
			const struct run_site *site = &run->sites[run->lanes[lane].samples[i].site];
			keep[lane][i] =
				!site->left_out || index->kinds[site->brick] == BRICK_KIND_STEP;
		}
}

int selection_drop(struct run *run)
{
	struct step_index index;
	if (!run->selected)
		return 0;
	int rc = step_index_init(&index, run);
	if (rc < 0)
		return rc;
	SCOPED uint8_t **keep = calloc(run->lane_count + 1, sizeof(*keep));
	rc = keep ? 0 : -ENOMEM;
	for (size_t i = 0; i < run->lane_count && rc == 0; i++) {
		keep[i] = calloc(run->lanes[i].sample_count + 1, 1);
		rc = keep[i] ? 0 : -ENOMEM;
	}
	if (rc == 0) {
		find_dropped(run, &index, keep);
		rc = run_keep(run, keep);
	}
	for (size_t i = 0; keep && i < run->lane_count; i++)
		free(keep[i]);
	step_index_fini(&index);
	return rc;
}
