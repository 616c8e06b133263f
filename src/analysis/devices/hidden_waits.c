/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over the threads' samples, with the operators that are open. */
#include "analysis/devices/hidden_waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/order.h"
#include "base/scope.h"

/* The end of a GPU's command. */
struct hidden_end {
	uint64_t ns;
	uint32_t process, command;
};

COMPARATOR(hidden_ends_by_time, struct hidden_end,
	ORDER(x->process, y->process) ?: ORDER(x->ns, y->ns))

COMPARATOR(hidden_waits_by_time, struct hidden_wait,
	ORDER(y->time_ns, x->time_ns) ?: strcmp(x->asker, y->asker))

struct hidden_finder {
	struct hidden_waits *waits;
	size_t capacity;
	const struct run *run;
	struct hidden_end *ends; /* by process, then by time */
	size_t end_count;
	uint8_t *kinds; /* [brick_count]: enum hidden_kind */
};

enum hidden_kind { HIDDEN_NONE, HIDDEN_WAIT, HIDDEN_ALLOCATION, HIDDEN_COPY };

static uint8_t hidden_kind_of(const struct run_brick *brick)
{
	static const char *const memory[] = {"cudaMalloc", "cudaFree", "cudaHostAlloc", "hipMalloc",
		"hipFree", "hipHostMalloc", "cuMemAlloc", "cuMemFree"};
	static const char *const copies[] = {"cudaMemcpy", "hipMemcpy", "cuMemcpy"};

	if (brick->well_known == BRICK_SYNCHRONIZE)
		return HIDDEN_WAIT;
	for (size_t i = 0; i < sizeof(memory) / sizeof(*memory); i++)
		if (!strncmp(brick->name, memory[i], strlen(memory[i])))
			return HIDDEN_ALLOCATION;
	for (size_t i = 0; i < sizeof(copies) / sizeof(*copies); i++)
		if (!strncmp(brick->name, copies[i], strlen(copies[i])))
			return HIDDEN_COPY;
	return HIDDEN_NONE;
}

static int hidden_take(struct hidden_finder *f, const char *asker, const struct run_sample *s,
	uint32_t process, uint8_t kind)
{
	const struct run *run = f->run;
	const char *call = run->bricks[run->sites[s->site].brick].name;
	const struct hidden_end first = {s->begin_ns, process, 0}, last = {s->end_ns, process, 0};
	size_t from = BISECT(i, 0, f->end_count, hidden_ends_by_time(&f->ends[i], &first) <= 0);
	size_t to = BISECT(i, from, f->end_count, hidden_ends_by_time(&f->ends[i], &last) <= 0);
	uint64_t ns = s->end_ns - s->begin_ns;
	size_t i = 0;

	if (from == to) /* it waited for nothing */
		return 0;
	/* a copy waits if the last command that ended in its call is a copy between host and device
	 */
	uint32_t kernel = f->ends[to - 1].command == RUN_NONE
				  ? RUN_NONE
				  : run->commands[f->ends[to - 1].command].kernel;
	if (kind == HIDDEN_COPY && (kernel >= run->kernel_count ||
					   (run->kernels[kernel].kind != BRICK_KERNEL_H2D &&
						   run->kernels[kernel].kind != BRICK_KERNEL_D2H)))
		return 0;
	asker = asker ? asker : call;
	while (i < f->waits->count && (strcmp(f->waits->list[i].asker, asker) != 0 ||
					      strcmp(f->waits->list[i].call, call) != 0))
		i++;
	if (i == f->waits->count) {
		struct hidden_wait *list =
			array_grow(f->waits->list, &f->capacity, i + 1, sizeof(*list));
		if (!list)
			return -ENOMEM;
		f->waits->list = list;
		f->waits->list[f->waits->count++] =
			(struct hidden_wait){.asker = asker, .call = call};
	}
	struct hidden_wait *w = &f->waits->list[i];
	w->count++;
	w->time_ns += ns;
	w->commands += to - from;
	if (ns >= w->longest_ns) {
		w->longest_ns = ns;
		w->kernel = kernel < run->kernel_count ? run->kernels[kernel].name : NULL;
	}
	return 0;
}

/* The outermost operator of the innermost row of operators: aten::item calls others. */
static int hidden_waits_of_lane(struct hidden_finder *f, const struct run_lane *lane)
{
	const char *open[UINT8_MAX + 1] = {NULL}; /* by depth: who asks below it */
	int rc = 0;

	for (size_t i = 0; i < lane->sample_count && rc == 0; i++) {
		const struct run_sample *s = &lane->samples[i];
		const struct run_site *site = &f->run->sites[s->site];
		const char *around = s->depth ? open[s->depth - 1] : NULL;
		const char *name = site->operation ? site->operation : site->label;
		bool is_operator = name && !strncmp(name, "aten::", 6);
		uint8_t kind = f->kinds[site->brick];
		open[s->depth] = is_operator ? (around ? around : name) : kind ? around : NULL;
		run_lane_passed(lane, i);
		if (kind != HIDDEN_NONE && (kind != HIDDEN_WAIT || around))
			rc = hidden_take(f, around, s, lane->process, kind);
	}
	return rc;
}

int hidden_waits_init(struct hidden_waits *w, const struct run *run, const struct gpu_spans *gpus)
{
	struct hidden_finder f = {.waits = w, .run = run};
	size_t room = 0;
	int rc = 0;

	*w = (struct hidden_waits){0};
	for (size_t g = 0; g < gpus->count; g++)
		room += gpus->list[g].span_count;
	if (!room)
		return 0;
	f.ends = malloc(room * sizeof(*f.ends));
	f.kinds = malloc(run->brick_count + 1);
	if (!f.ends || !f.kinds)
		rc = -ENOMEM;
	for (size_t g = 0; g < gpus->count && rc == 0; g++)
		for (size_t i = 0; i < gpus->list[g].span_count; i++)
			f.ends[f.end_count++] = (struct hidden_end){gpus->list[g].spans[i].end_ns,
				gpus->list[g].process, gpus->list[g].spans[i].command};
	for (size_t b = 0; b < run->brick_count && rc == 0; b++)
		f.kinds[b] = hidden_kind_of(&run->bricks[b]);
	if (rc == 0)
		qsort(f.ends, f.end_count, sizeof(*f.ends), hidden_ends_by_time);
	for (size_t lane = 0; lane < run->lane_count && rc == 0; lane++)
		if (run->lanes[lane].kind == BRICK_LANE_THREAD)
			rc = hidden_waits_of_lane(&f, &run->lanes[lane]);
	if (w->count > 1)
		qsort(w->list, w->count, sizeof(*w->list), hidden_waits_by_time);
	free(f.ends);
	free(f.kinds);
	if (rc)
		hidden_waits_fini(w);
	return rc;
}

void hidden_waits_fini(struct hidden_waits *w)
{
	free(w->list);
	*w = (struct hidden_waits){0};
}
