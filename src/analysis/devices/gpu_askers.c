/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over each thread's samples, with the operators that are open. */
#include "analysis/devices/gpu_askers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *gpu_asker_name(const struct run *run, uint32_t site)
{
	return site == RUN_NONE		    ? NULL
	       : run->sites[site].operation ? run->sites[site].operation
					    : run->bricks[run->sites[site].brick].name;
}

/* Names of operators have a namespace; steps, waits, frames of Python and modules are none. */
static bool gpu_asker_is_operator(
	const struct run *run, const struct step_index *index, uint32_t site)
{
	uint32_t brick = run->sites[site].brick;
	const char *category = run->categories[run->bricks[brick].category].name;

	return index->kinds[brick] != BRICK_KIND_STEP && index->kinds[brick] != BRICK_KIND_WAIT &&
	       strcmp(category, "Python") != 0 && strcmp(category, "Module") != 0 &&
	       strstr(gpu_asker_name(run, site), "::");
}

static int gpu_askers_of_lane(struct gpu_askers *askers, const struct run *run,
	const struct step_index *index, size_t lane)
{
	const struct run_lane *l = &run->lanes[lane];
	struct gpu_asker open[UINT8_MAX + 1]; /* by run_sample.depth */

	struct gpu_asker *list = askers->of_lane[lane] =
		malloc((l->sample_count + 1) * sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(open) / sizeof(*open); i++)
		open[i] = (struct gpu_asker){RUN_NONE, false};
	for (size_t i = 0; i < l->sample_count; i++) {
		const struct run_sample *s = &l->samples[i];
		struct gpu_asker around =
			s->depth ? open[s->depth - 1] : (struct gpu_asker){RUN_NONE, false};
		list[i] = around;
		if (gpu_asker_is_operator(run, index, s->site))
			around.site = s->site;
		around.in_optimizer |=
			!strcmp(run->bricks[run->sites[s->site].brick].name, "OptimizerStep");
		open[s->depth] = around;
		run_lane_passed(l, i);
	}
	return 0;
}

int gpu_askers_init(
	struct gpu_askers *askers, const struct run *run, const struct step_index *index)
{
	*askers = (struct gpu_askers){.lane_count = run->lane_count,
		.of_lane = calloc(run->lane_count + 1, sizeof(*askers->of_lane))};
	int rc = askers->of_lane ? 0 : -ENOMEM;
	for (size_t lane = 0; rc == 0 && lane < run->lane_count; lane++)
		if (run->lanes[lane].kind == BRICK_LANE_THREAD)
			rc = gpu_askers_of_lane(askers, run, index, lane);
	if (rc)
		gpu_askers_fini(askers);
	return rc;
}

void gpu_askers_fini(struct gpu_askers *askers)
{
	for (size_t lane = 0; askers->of_lane && lane < askers->lane_count; lane++)
		free(askers->of_lane[lane]);
	free(askers->of_lane);
	*askers = (struct gpu_askers){0};
}

struct gpu_asker gpu_asker_of(const struct gpu_askers *askers, const struct run_command *command)
{
	uint32_t lane = command->launch_lane;

	return lane == RUN_NONE || !askers->of_lane[lane]
		       ? (struct gpu_asker){RUN_NONE, false}
		       : askers->of_lane[lane][command->launch_sample];
}
