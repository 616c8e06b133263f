/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over the lanes finds the GPUs, a second one takes their commands. */
#include "analysis/devices/gpu_spans.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

/* The GPU of a queue, made if it has none yet; RUN_NONE: it is no GPU's. */
static uint32_t gpu_spans_of_lane(struct gpu_spans *s, const struct run *run, uint32_t lane)
{
	const struct run_lane *l = &run->lanes[lane];
	const char *backend = l->backend ? l->backend : "";

	if (l->kind != BRICK_LANE_QUEUE || !strcmp(backend, BRICK_HOST_BACKEND))
		return RUN_NONE;
	size_t i = 0;
	while (i < s->count && (s->list[i].process != l->process || s->list[i].number != l->gpu ||
				       strcmp(s->list[i].backend, backend) != 0))
		i++;
	if (i == s->count)
		s->list[s->count++] =
			(struct gpu){.process = l->process, .number = l->gpu, .backend = backend};
	s->list[i].queues++;
	s->list[i].span_count += l->sample_count;
	return (uint32_t)i;
}

static uint32_t gpu_spans_work_of(const struct run *run, uint32_t brick, uint32_t kernel)
{
	const char *category = run->categories[run->bricks[brick].category].name;
	uint32_t kind = kernel < run->kernel_count ? run->kernels[kernel].kind
						   : (uint32_t)BRICK_KERNEL_COMPUTE;

	if (kind != BRICK_KERNEL_COMPUTE)
		return GPU_TRANSFER;
	return !strcmp(category, "Communication") ||
			       (kernel < run->kernel_count &&
				       !strncmp(run->kernels[kernel].name, "nccl", 4))
		       ? GPU_COLLECTIVE
		       : GPU_COMPUTE;
}

/* The lane that "stream 7 (2)" is a further lane of: "stream 7"; else the lane itself. */
static uint32_t gpu_spans_queue_of(const struct gpu_spans *s, const struct run *run, uint32_t lane)
{
	const char *name = run->lanes[lane].name, *end = name ? strrchr(name, ' ') : NULL;

	for (uint32_t i = 0; end && end[1] == '(' && i < lane; i++) {
		const char *first = run->lanes[i].name;
		if (s->of_lane[i] == s->of_lane[lane] && first &&
			strlen(first) == (size_t)(end - name) &&
			!memcmp(first, name, (size_t)(end - name)))
			return i;
	}
	return lane;
}

static void gpu_spans_take_lane(
	struct gpu *gpu, const struct run *run, uint32_t lane, uint32_t queue)
{
	const struct run_lane *l = &run->lanes[lane];
	size_t c = run_command_from(run, lane, 0);

	for (uint32_t i = 0; i < l->sample_count; i++) {
		const struct run_sample *sample = &l->samples[i];
		run_lane_passed(l, i);
		while (c < run->command_count && run->commands[c].lane == lane &&
			run->commands[c].sample < i)
			c++;
		bool has = c < run->command_count && run->commands[c].lane == lane &&
			   run->commands[c].sample == i;
		if (sample->depth || sample->flags & RUN_SAMPLE_OPEN)
			continue;
		uint32_t brick = run->sites[sample->site].brick;
		gpu->spans[gpu->span_count++] = (struct gpu_span){.begin_ns = sample->begin_ns,
			.end_ns = sample->end_ns,
			.lane = lane,
			.queue = queue,
			.brick = brick,
			.site = sample->site,
			.command = has ? (uint32_t)c : RUN_NONE,
			.work = gpu_spans_work_of(
				run, brick, has ? run->commands[c].kernel : RUN_NONE)};
	}
}

COMPARATOR(gpu_spans_compare, struct gpu_span,
	ORDER(x->begin_ns, y->begin_ns) ?: ORDER(x->lane, y->lane)
		?: ORDER(x->command, y->command))

static void gpu_spans_bound(struct gpu *gpu, const struct run *run, const struct step_index *index)
{
	uint64_t first_ns = UINT64_MAX, last_ns = 0, begin_ns = UINT64_MAX, end_ns = 0;

	for (size_t i = 0; i < gpu->span_count; i++) {
		const struct gpu_span *s = &gpu->spans[i];
		first_ns = s->begin_ns < first_ns ? s->begin_ns : first_ns;
		last_ns = s->end_ns > last_ns ? s->end_ns : last_ns;
		uint32_t step =
			!index->count ? RUN_NONE
			: s->command != RUN_NONE
				? step_index_of_command(index, run, &run->commands[s->command])
				: step_index_at(index, run, s->lane, s->begin_ns);
		if (step == RUN_NONE)
			continue;
		begin_ns = s->begin_ns < begin_ns ? s->begin_ns : begin_ns;
		end_ns = s->end_ns > end_ns ? s->end_ns : end_ns;
	}
	bool has_steps = end_ns > begin_ns;
	if (!gpu->span_count)
		return;
	gpu->begin_ns = has_steps ? begin_ns : first_ns;
	gpu->end_ns = has_steps ? end_ns : last_ns;
}

int gpu_spans_init(struct gpu_spans *s, const struct run *run, const struct step_index *index)
{
	size_t room = 0;

	*s = (struct gpu_spans){.of_lane = malloc((run->lane_count + 1) * sizeof(*s->of_lane)),
		.list = calloc(run->lane_count + 1, sizeof(*s->list))};
	for (uint32_t lane = 0; s->of_lane && s->list && lane < run->lane_count; lane++) {
		s->of_lane[lane] = gpu_spans_of_lane(s, run, lane);
		room += s->of_lane[lane] == RUN_NONE ? 0 : run->lanes[lane].sample_count;
	}
	s->all = malloc((room + 1) * sizeof(*s->all));
	if (!s->of_lane || !s->list || !s->all) {
		gpu_spans_fini(s);
		return -ENOMEM;
	}
	room = 0;
	for (size_t i = 0; i < s->count; i++) {
		s->list[i].spans = s->all + room;
		room += s->list[i].span_count;
		s->list[i].span_count = 0;
	}
	for (uint32_t lane = 0; lane < run->lane_count; lane++)
		if (s->of_lane[lane] != RUN_NONE)
			gpu_spans_take_lane(&s->list[s->of_lane[lane]], run, lane,
				gpu_spans_queue_of(s, run, lane));
	for (size_t i = 0; i < s->count; i++) {
		struct gpu *gpu = &s->list[i];
		if (gpu->span_count)
			qsort(gpu->spans, gpu->span_count, sizeof(*gpu->spans), gpu_spans_compare);
		gpu_spans_bound(gpu, run, index);
	}
	return 0;
}

void gpu_spans_fini(struct gpu_spans *s)
{
	free(s->list);
	free(s->of_lane);
	free(s->all);
	*s = (struct gpu_spans){0};
}

const char *gpu_note(const struct run *run, const struct gpu *gpu, const char *what)
{
	char key[64];

	snprintf(key, sizeof(key), "gpu.%u.%s", gpu->number, what);
	for (size_t i = 0; gpu->number && i < run->note_count; i++)
		if (run->notes[i].process == gpu->process && !strcmp(run->notes[i].key, key))
			return run->notes[i].value;
	return NULL;
}

const char *gpu_name(const struct run *run, const struct gpu *gpu)
{
	const char *name = gpu_note(run, gpu, "name");
	const char *of_backend = NULL;
	uint32_t told = 0;

	if (name && *name)
		return name;
	/* older recordings tell the names of a backend's devices, but not whose queues are whose */
	for (size_t i = 0; i < run->note_count; i++) {
		const struct run_note *note = &run->notes[i];
		size_t bytes = strlen(gpu->backend);
		if (note->process != gpu->process || strcmp(note->key, "backend") != 0 || !bytes ||
			strncmp(note->value, gpu->backend, bytes) != 0 || note->value[bytes] != ' ')
			continue;
		told++;
		of_backend = note->value + bytes + 1;
	}
	return told == 1 ? of_backend : NULL;
}
