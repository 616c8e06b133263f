/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings for programs (include/brick/recording.h): views into the reader's own arrays. */
#include "brick/recording.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/sized.h"
#include "brick/error.h"
#include "trace/load.h"
#include "trace/run.h"

/* A sample is handed out as it is. */
#define SAME_PLACE(member)                                               \
	_Static_assert(offsetof(struct brick_recorded_sample, member) == \
			       offsetof(struct run_sample, member),      \
		"samples are not copied")
_Static_assert(sizeof(struct brick_recorded_sample) == 32 && sizeof(struct run_sample) == 32,
	"samples are not copied");
SAME_PLACE(begin_ns);
SAME_PLACE(end_ns);
SAME_PLACE(site);
SAME_PLACE(wait_ns);
SAME_PLACE(inner_ns);
SAME_PLACE(depth);
SAME_PLACE(source);
SAME_PLACE(flags);

struct brick_recording {
	struct run *run;
};

int brick_recording_open(
	struct brick_recording **out, const char *path, char *why, size_t why_bytes)
{
	struct load_error error = {0};
	struct brick_recording *recording = calloc(1, sizeof(*recording));
	int rc = !out || !path ? -EINVAL
		 : recording   ? run_load(&recording->run, path, &error)
			       : -ENOMEM;

	if (!rc) {
		*out = recording;
		return 0;
	}
	if (why && error.text[0])
		snprintf(why, why_bytes, "%s: at byte %llu: %s", path,
			(unsigned long long)error.offset, error.text);
	else if (why)
		snprintf(why, why_bytes, "%s: %s", path, brick_strerror(rc));
	free(recording);
	return rc;
}

void brick_recording_close(struct brick_recording *recording)
{
	if (recording)
		run_destroy(recording->run);
	free(recording);
}

size_t brick_recording_count(
	const struct brick_recording *recording, enum brick_recording_part part)
{
	const struct run *run = recording ? recording->run : NULL;

	if (!run)
		return 0;
	switch (part) {
	case BRICK_RECORDING_BRICKS:
		return run->brick_count;
	case BRICK_RECORDING_SITES:
		return run->site_count;
	case BRICK_RECORDING_LANES:
		return run->lane_count;
	case BRICK_RECORDING_STEPS:
		return run->step_count;
	default:
		return 0;
	}
}

int brick_recording_brick(
	const struct brick_recording *recording, size_t i, struct brick_recorded_brick *out)
{
	const struct run *run = recording ? recording->run : NULL;

	if (!run)
		return -EINVAL;
	if (i >= run->brick_count)
		return BRICK_ERANGE;
	const struct run_brick *brick = &run->bricks[i];
	const struct brick_recorded_brick own = {
		.name = brick->name, .category = run->categories[brick->category].name};
	return sized_write(out, sizeof(own), &own);
}

int brick_recording_site(
	const struct brick_recording *recording, size_t i, struct brick_recorded_site *out)
{
	if (!recording)
		return -EINVAL;
	if (i >= recording->run->site_count)
		return BRICK_ERANGE;
	const struct run_site *site = &recording->run->sites[i];
	const struct brick_recorded_site own = {.brick = site->brick,
		.layer = site->layer,
		.flags = site->flags,
		.elements = site->elements,
		.bytes = site->bytes,
		.flops = site->flops,
		.operation = site->operation,
		.label = site->label};
	return sized_write(out, sizeof(own), &own);
}

int brick_recording_lane(
	const struct brick_recording *recording, size_t i, struct brick_recorded_lane *out)
{
	const struct run *run = recording ? recording->run : NULL;

	if (!run)
		return -EINVAL;
	if (i >= run->lane_count)
		return BRICK_ERANGE;
	const struct run_lane *lane = &run->lanes[i];
	const struct brick_recorded_lane own = {.pid = run->processes[lane->process].pid,
		.kind = lane->kind,
		.tid = lane->tid,
		.name = lane->name,
		.samples = (const struct brick_recorded_sample *)lane->samples,
		.sample_count = lane->sample_count};
	return sized_write(out, sizeof(own), &own);
}

int brick_recording_step(
	const struct brick_recording *recording, size_t i, struct brick_recorded_step *out)
{
	if (!recording)
		return -EINVAL;
	if (i >= recording->run->step_count)
		return BRICK_ERANGE;
	const struct run_step *step = &recording->run->steps[i];
	const struct brick_recorded_step own = {.lane = step->lane,
		.phase = step->phase,
		.begin_ns = step->begin_ns,
		.end_ns = step->end_ns,
		.tokens = step->tokens};
	return sized_write(out, sizeof(own), &own);
}
