/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers groups once, at init; then finds the groups of commands, and names groups. */
#include "analysis/accounts/row_groups.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/launches.h"
#include "base/order.h"
#include "base/scope.h"

/* Orders numbers of kernels; 0: both are in one group. */
static int compare_kernels(const void *a, const void *b, void *context)
{
	const struct run *run = context;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct run_kernel *x = &run->kernels[i], *y = &run->kernels[k];

	return strcmp(x->name, y->name)
		?: strcmp(x->backend ? x->backend : "", y->backend ? y->backend : "")
		?: ORDER(x->kind, y->kind);
}

static int group_kernels(struct row_groups *g)
{
	const struct run *run = g->run;
	SCOPED uint32_t *order = malloc((run->kernel_count + 1) * sizeof(*order));

	g->of_kernel = calloc(run->kernel_count + 1, sizeof(*g->of_kernel));
	g->uses = calloc(run->kernel_count + 1, sizeof(*g->uses));
	g->kernels = calloc(run->kernel_count + 1, sizeof(*g->kernels));
	if (!order || !g->of_kernel || !g->uses || !g->kernels)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->kernel_count; i++)
		order[i] = i;
	if (run->kernel_count > 1)
		qsort_r(order, run->kernel_count, sizeof(*order), compare_kernels, (void *)run);
	for (uint32_t i = 0; i < run->kernel_count; i++) {
		if (!i || compare_kernels(&order[i - 1], &order[i], (void *)run))
			g->kernels[g->kernel_groups++] = order[i];
		g->of_kernel[order[i]] = g->kernel_groups - 1;
	}
	return 0;
}

/* Groups steps by model; steps of unknown models are one group behind the others. */
static int group_models(struct row_groups *g)
{
	const struct run *run = g->run;

	g->of_step = calloc(run->step_count + 1, sizeof(*g->of_step));
	g->first_of_model = calloc(run->step_count + 1, sizeof(*g->first_of_model));
	if (!g->of_step || !g->first_of_model)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->step_count; i++) {
		const struct run_step *step = &run->steps[i];
		uint32_t process = run->lanes[step->lane].process, m = 0;
		g->of_step[i] = UINT32_MAX;
		if (step->model == RUN_NONE)
			continue;
		for (; m < g->model_groups; m++) {
			const struct run_step *first = &run->steps[g->first_of_model[m]];
			if (first->model == step->model &&
				run->lanes[first->lane].process == process)
				break;
		}
		if (m == g->model_groups)
			g->first_of_model[g->model_groups++] = i;
		g->of_step[i] = m;
	}
	for (uint32_t i = 0; i < run->step_count; i++)
		if (g->of_step[i] == UINT32_MAX)
			g->of_step[i] = g->model_groups;
	return 0;
}

static uint32_t count_groups(const struct row_groups *g)
{
	const struct run *run = g->run;
	int32_t last = -1;

	switch (g->by) {
	case SUMMARY_BY_BRICK:
	case SUMMARY_BY_CATEGORY:
		return 0;
	case SUMMARY_BY_PHASE:
		return SUMMARY_PHASES;
	case SUMMARY_BY_STEP:
		return (uint32_t)run->step_count + 1;
	case SUMMARY_BY_MODEL:
		return g->model_groups + 2;
	case SUMMARY_BY_THREAD:
		return (uint32_t)run->lane_count;
	case SUMMARY_BY_KERNEL:
		return g->kernel_groups + (uint32_t)run->brick_count;
	case SUMMARY_BY_QUEUE:
		return (uint32_t)g->queues->count;
	default:
		for (size_t i = 0; i < run->site_count; i++)
			if (run->sites[i].layer > last && run->sites[i].layer <= SUMMARY_LAST_LAYER)
				last = run->sites[i].layer;
		return (uint32_t)last + 2;
	}
}

int row_groups_init(struct row_groups *g, const struct run *run, const struct step_index *index,
	enum summary_by by, const struct queue_times *queues)
{
	*g = (struct row_groups){.run = run, .index = index, .queues = queues, .by = by};
	if ((by == SUMMARY_BY_KERNEL && queues->count && group_kernels(g) < 0) ||
		(by == SUMMARY_BY_MODEL && group_models(g) < 0)) {
		row_groups_fini(g);
		return -ENOMEM;
	}
	g->count = count_groups(g);
	return 0;
}

void row_groups_fini(struct row_groups *g)
{
	free(g->of_kernel);
	free(g->uses);
	free(g->kernels);
	free(g->of_step);
	free(g->first_of_model);
	*g = (struct row_groups){0};
}

uint32_t row_group_on_queue(
	const struct row_groups *g, uint32_t lane, const struct walk_frame *frame)
{
	const struct run_command *command;
	uint32_t step;

	switch (g->by) {
	case SUMMARY_BY_KERNEL:
		command = launches_command(g->run, lane, frame->index);
		return command ? g->of_kernel[command->kernel] : g->kernel_groups + frame->brick;
	case SUMMARY_BY_QUEUE:
		return g->queues->of_lane[lane];
	case SUMMARY_BY_LAYER:
		return row_group_of_layer(g->run, frame);
	case SUMMARY_BY_PHASE:
	case SUMMARY_BY_STEP:
	case SUMMARY_BY_MODEL:
		step = launches_step(g->run, g->index, lane, frame->index);
		if (g->by == SUMMARY_BY_PHASE)
			return row_group_of_phase(g->run, step);
		if (g->by == SUMMARY_BY_MODEL)
			return row_group_of_model(g, step);
		return step == RUN_NONE ? (uint32_t)g->run->step_count : step;
	default:
		return RUN_NONE;
	}
}

void row_groups_use(struct row_groups *g, uint32_t group, uint32_t kernel)
{
	if (++g->uses[kernel] > g->uses[g->kernels[group]])
		g->kernels[group] = kernel;
}

uint32_t row_group_kernel(const struct row_groups *g, uint32_t group)
{
	return group < g->kernel_groups ? g->kernels[group] : RUN_NONE;
}

/* "1234/" before a thread's or queue's number, if there are several processes. */
static const char *process_label(char out[32], const struct run *run, const struct run_lane *lane)
{
	*out = 0;
	if (run->process_count > 1)
		snprintf(out, 32, "%u/", run->processes[lane->process].pid);
	return out;
}

/*
 * The name of a lane's last thread, and of its first, if that had another name: a lane goes on with
 * another thread when one has ended.
 */
static char *thread_label(const struct row_groups *g, uint32_t number)
{
	const struct run_lane *lane = &g->run->lanes[number];
	const struct owners *owners = &g->index->owners;
	size_t first = owners_first(owners, g->run, number);
	size_t count = owners->lanes[number + 1] - first;
	const char *name = lane->name ? lane->name : "thread", *other = owners->all[first].name;
	char *label = NULL, process[32], before[128] = "";
	if (count > 1)
		snprintf(before, sizeof(before), ", the last of %zu%s%s", count,
			other && strcmp(other, name) != 0 ? ", the first " : "",
			other && strcmp(other, name) != 0 ? other : "");
	int n = asprintf(&label, "%s (%s%llu%s)", name, process_label(process, g->run, lane),
		(unsigned long long)lane->tid, before);
	return n < 0 ? NULL : label;
}

static char *queue_label(const struct row_groups *g, uint32_t queue)
{
	const struct run_lane *lane = &g->run->lanes[g->queues->queues[queue].lane];
	const char *backend = lane->backend ? lane->backend : "";
	const char *name = lane->name && *lane->name ? lane->name : "queue";
	char *label = NULL, process[32];
	int n = asprintf(&label, "%s%s%s (%s%llu)", backend, *backend ? ": " : "", name,
		process_label(process, g->run, lane), (unsigned long long)lane->tid);
	return n < 0 ? NULL : label;
}

static char *row_groups_numbered(const char *what, uint32_t number)
{
	char *label = NULL;
	return asprintf(&label, "%s %u", what, number) < 0 ? NULL : label;
}

/* "demo (2)": its name and number, with the process's if there are several. */
static char *model_label(const struct row_groups *g, uint32_t group)
{
	char *label = NULL, process[32];

	if (group >= g->model_groups)
		return strdup(group == g->model_groups ? "model not known" : "outside of steps");
	const struct run_step *step = &g->run->steps[g->first_of_model[group]];
	const struct run_lane *lane = &g->run->lanes[step->lane];
	const char *name = run_model_name(g->run, lane->process, step->model);
	int n = asprintf(&label, "%s (%s%u)", name ? name : "model",
		process_label(process, g->run, lane), step->model);
	return n < 0 ? NULL : label;
}

char *row_group_label(const struct row_groups *g, uint32_t group)
{
	const struct run *run = g->run;
	uint32_t kernel = row_group_kernel(g, group);

	switch (g->by) {
	case SUMMARY_BY_KERNEL:
		return strdup(kernel == RUN_NONE ? run->bricks[group - g->kernel_groups].name
						 : run->kernels[kernel].name);
	case SUMMARY_BY_QUEUE:
		return queue_label(g, group);
	case SUMMARY_BY_MODEL:
		return model_label(g, group);
	case SUMMARY_BY_THREAD:
		return thread_label(g, group);
	case SUMMARY_BY_PHASE:
		return strdup(group == SUMMARY_PHASE_OUTSIDE ? "outside of steps"
			      : group == STEP_OTHER	     ? "other steps"
							     : step_phase_name((int)group));
	case SUMMARY_BY_STEP:
		return group == run->step_count
			       ? strdup("outside of steps")
			       : row_groups_numbered(run->steps[group].phase == BRICK_PHASE_OTHER
							     ? "step"
							     : step_phase_name(step_phase_of(
								       &run->steps[group])),
					 group + 1);
	default:
		return group ? row_groups_numbered("layer", group - 1)
			     : strdup("outside of layers");
	}
}
