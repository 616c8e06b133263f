/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only threads count that recorded bricks. Kinds of cores that differ by less than an eighth of the
 * fastest are one, as makers bin cores of a kind, too.
 */
#include "analysis/accounts/placed.h"

#include <string.h>

static bool placed_is_recorded(const struct run *run, const struct run_thread_cpu *thread)
{
	for (size_t i = 0; i < run->lane_count; i++)
		if (run->processes[run->lanes[i].process].pid == thread->pid &&
			(run->lanes[i].tid == thread->tid ||
				run->lanes[i].first_tid == thread->tid))
			return true;
	return false;
}

static struct placed_kind *placed_kind_of(struct placed *p, uint32_t capacity)
{
	enum { EIGHTH = 1024 / 8 };

	for (uint32_t i = 0; i < p->kind_count; i++)
		if (capacity + EIGHTH > p->kinds[i].capacity &&
			p->kinds[i].capacity + EIGHTH > capacity)
			return &p->kinds[i];
	return NULL;
}

/* Kinds in the order of their speed: each time the fastest CPU that is in none. */
static void placed_find_kinds(struct placed *p, const struct run *run)
{
	for (const struct run_cpu *next = NULL;; next = NULL) {
		for (size_t i = 0; i < run->placed_cpu_count; i++) {
			const struct run_cpu *cpu = &run->placed_cpus[i];
			if (!placed_kind_of(p, cpu->capacity) &&
				(!next || cpu->capacity > next->capacity))
				next = cpu;
		}
		if (!next || p->kind_count == PLACED_MOST)
			break;
		p->kinds[p->kind_count++].capacity = next->capacity;
	}
	for (size_t i = 0; i < run->placed_cpu_count; i++) {
		struct placed_kind *kind = placed_kind_of(p, run->placed_cpus[i].capacity);
		if (kind)
			kind->cpus++;
	}
}

static void placed_find_nodes(struct placed *p, const struct run *run)
{
	uint64_t all = 0;

	if (run->placed_node_count > PLACED_MOST)
		return;
	for (size_t i = 0; i < run->placed_node_count; i++) {
		const struct run_node *n = &run->placed_nodes[i];
		p->nodes[p->node_count++] = (struct placed_node){.node = n->node,
			.file_bytes = n->file_bytes,
			.anonymous_bytes = n->anonymous_bytes};
		all += n->file_bytes + n->anonymous_bytes;
	}
	p->knows_memory = all != 0;
	for (uint32_t i = 0; i < p->node_count && all; i++) {
		struct placed_node *n = &p->nodes[i];
		n->memory = (double)(n->file_bytes + n->anonymous_bytes) / (double)all;
		p->main_memory = n->memory > p->nodes[p->main_memory].memory ? i : p->main_memory;
	}
}

bool placed_of_run(struct placed *p, const struct run *run)
{
	uint64_t all = 0;

	*p = (struct placed){0};
	placed_find_kinds(p, run);
	placed_find_nodes(p, run);
	for (size_t i = 0; i < run->placed_thread_count; i++)
		if (placed_is_recorded(run, &run->placed_threads[i]))
			all += run->placed_threads[i].times;
	for (size_t i = 0; i < run->placed_thread_count && all; i++) {
		const struct run_thread_cpu *t = &run->placed_threads[i];
		const struct run_cpu *cpu = &run->placed_cpus[t->cpu];
		double part = (double)t->times / (double)all;
		if (!placed_is_recorded(run, t))
			continue;
		struct placed_kind *kind = placed_kind_of(p, cpu->capacity);
		if (kind)
			kind->time += part;
		for (uint32_t n = 0; n < p->node_count; n++)
			if (p->nodes[n].node == cpu->node)
				p->nodes[n].time += part;
	}
	p->least_far = p->knows_memory ? 1 - p->nodes[p->main_memory].memory : 0;
	for (uint32_t i = 0; i < p->node_count; i++) {
		const struct placed_node *n = &p->nodes[i];
		p->far += p->knows_memory ? n->time * (1 - n->memory) : 0;
		p->main_threads = n->time > p->nodes[p->main_threads].time ? i : p->main_threads;
	}
	if (p->node_count < 2)
		p->node_count = 0;
	if (p->kind_count < 2)
		p->kind_count = 0;
	return all && (p->node_count || p->kind_count);
}
