/* SPDX-License-Identifier: Apache-2.0 */
/* One walk feeds the summaries of all phases, the breakdown and the roofline. */
#include "analysis/explain/facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/accounts/percentile.h"
#include "analysis/accounts/unknown.h"

static int list_steps(struct explain_facts *f)
{
	const struct run *run = f->run;

	f->scratch = calloc(run->step_count + 1, sizeof(*f->scratch));
	if (!f->scratch)
		return -ENOMEM;
	for (int p = 0; p < STEP_PHASES; p++) {
		f->phases[p].list = calloc(run->step_count + 1, sizeof(uint32_t));
		if (!f->phases[p].list)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < run->step_count; i++) {
		struct explain_phase *phase = &f->phases[step_phase_of(&run->steps[i])];
		if (step_index_is_evaluated(&f->index, run, i))
			phase->list[phase->steps++] = i;
	}
	return 0;
}

static int walk_all(struct explain_facts *f)
{
	struct walk walk;
	int rc;

	walk_init(&walk, f->run, &f->index);
	/* a warm-up is not what anybody waits for */
	for (int p = 0; p < STEP_WARM_UP; p++)
		if (f->phases[p].steps &&
			(rc = summary_create_in(&f->phases[p].summary, &walk, SUMMARY_BY_BRICK, p)))
			return rc;
	rc = breakdown_create_in(&f->breakdown, &walk);
	if (!rc)
		rc = roofline_create_in(&f->roofline, &walk, f->ceilings);
	return rc ? rc : walk_run(&walk);
}

static void finish_phase(struct explain_phase *phase, int p)
{
	const struct summary *s = phase->summary;

	if (!s)
		return;
	phase->tokens = s->steps.phases[p].tokens;
	phase->wall_ns = s->wall_ns;
	for (size_t i = 0; i < s->queues.count; i++)
		if (!phase->queue || s->queues.queues[i].busy_ns > phase->queue->busy_ns)
			phase->queue = &s->queues.queues[i];
	if (phase->queue && !phase->queue->busy_ns)
		phase->queue = NULL;
}

/* A run without a path, or whose times contradict each other, has none: that is no error. */
static int find_path(struct explain_facts *f)
{
	int rc = path_create(&f->path, f->run, &f->index, RUN_NONE);

	if (rc == -ENOMEM)
		return rc;
	if (rc < 0)
		f->path = NULL;
	for (size_t i = 0; f->path && i < f->path->section_count; i++)
		if (f->path->sections[i].phase < STEP_PHASES)
			f->phases[f->path->sections[i].phase].path = &f->path->sections[i];
	return 0;
}

int explain_facts_init(
	struct explain_facts *f, const struct run *run, const struct ceilings *ceilings)
{
	memset(f, 0, sizeof(*f));
	f->run = run;
	f->ceilings = ceilings;
	int rc = step_index_init(&f->index, run);
	if (!rc)
		rc = list_steps(f);
	if (!rc)
		rc = walk_all(f);
	if (!rc)
		rc = find_path(f);
	if (rc) {
		explain_facts_fini(f);
		return rc;
	}
	presence_of_run(&f->presence, run, &f->index);
	for (int p = 0; p < STEP_PHASES; p++)
		finish_phase(&f->phases[p], p);
	return 0;
}

void explain_facts_fini(struct explain_facts *f)
{
	path_destroy(f->path);
	roofline_destroy(f->roofline);
	breakdown_destroy(f->breakdown);
	for (int p = 0; p < STEP_PHASES; p++) {
		summary_destroy(f->phases[p].summary);
		free(f->phases[p].list);
	}
	free(f->scratch);
	step_index_fini(&f->index);
	memset(f, 0, sizeof(*f));
}

const struct summary_row *explain_row(const struct explain_phase *phase, const char *name)
{
	for (size_t i = 0; i < phase->summary->row_count; i++)
		if (!strcmp(phase->summary->rows[i].name, name))
			return &phase->summary->rows[i];
	return NULL;
}

uint64_t explain_on_cpu_ns(const struct explain_phase *phase, const char *name)
{
	const struct summary_row *row = explain_row(phase, name);

	if (!row)
		return 0;
	if (row->off_ns == ANALYSIS_UNKNOWN)
		return row->wall_ns;
	return row->wall_ns > row->off_ns ? row->wall_ns - row->off_ns : 0;
}

uint64_t explain_owner_ns(
	const struct explain_facts *f, const struct explain_phase *phase, uint32_t owner)
{
	const struct path_section *path = phase->path;

	for (size_t i = 0; path && i < path->row_count; i++)
		if (path->rows[i].owner == f->run->brick_count + owner)
			return path->rows[i].on_path_ns;
	return 0;
}

uint64_t explain_step_ns(const struct explain_phase *phase, uint32_t step)
{
	return step_time_total_ns(&phase->summary->steps.steps[step]);
}

uint64_t explain_median_ns(const struct explain_facts *f, const struct explain_phase *phase,
	uint64_t first, uint64_t end)
{
	size_t n = end > first ? end - first : 0;

	if (!n)
		return 0;
	for (size_t i = 0; i < n; i++)
		f->scratch[i] = explain_step_ns(phase, phase->list[first + i]);
	percentile_sort(f->scratch, n);
	return f->scratch[(n - 1) / 2];
}
