/* SPDX-License-Identifier: Apache-2.0 */
/* A run's memory, and how names, times, commands and times off a CPU are looked up in it. */
#include "trace/run.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "base/members.h"
#include "base/order.h"

uint32_t run_brick_find(const struct run *run, const char *name)
{
	for (size_t i = 0; i < run->brick_count; i++)
		if (!strcmp(run->bricks[i].name, name))
			return (uint32_t)i;
	return RUN_NONE;
}

uint32_t run_category_find(const struct run *run, const char *name)
{
	for (size_t i = 0; i < run->category_count; i++)
		if (!strcmp(run->categories[i].name, name))
			return (uint32_t)i;
	return RUN_NONE;
}

size_t run_queue_count(const struct run *run)
{
	size_t count = 0;

	for (size_t i = 0; i < run->lane_count; i++)
		count += run->lanes[i].kind == BRICK_LANE_QUEUE;
	return count;
}

bool run_is_same_device(const struct run_lane *a, const struct run_lane *b)
{
	return a->kind == BRICK_LANE_QUEUE && b->kind == BRICK_LANE_QUEUE &&
	       a->process == b->process && text_is_same(a->backend, b->backend);
}

bool run_is_same_queue(const struct run_lane *a, const struct run_lane *b)
{
	return run_is_same_device(a, b) && a->tid == b->tid;
}

const char *run_note_find(const struct run *run, const char *key)
{
	for (size_t i = 0; i < run->note_count; i++)
		if (!strcmp(run->notes[i].key, key))
			return run->notes[i].value;
	return NULL;
}

void run_list_free(char **list)
{
	for (char **s = list; s && *s; s++)
		free(*s);
	free(list);
}

void run_samples_drop(struct run_lane *lane)
{
	if (lane->spilled)
		munmap(lane->samples, lane->sample_count * sizeof(*lane->samples));
	else
		free(lane->samples);
	lane->samples = NULL;
	lane->sample_count = lane->spilled = 0;
}

void run_fini(struct run *run)
{
	for (size_t i = 0; run->histograms && i < run->brick_count; i++)
		free(run->histograms[i]);
	free(run->histograms);
	for (size_t i = 0; i < run->category_count; i++)
		free(run->categories[i].name);
	for (size_t i = 0; i < run->brick_count; i++)
		free(run->bricks[i].name);
	for (size_t i = 0; i < run->site_count; i++) {
		free(run->sites[i].operation);
		free(run->sites[i].label);
	}
	for (size_t i = 0; i < run->note_count; i++) {
		free(run->notes[i].key);
		free(run->notes[i].value);
	}
	for (size_t i = 0; i < run->mark_count; i++)
		free(run->marks[i].text);
	for (size_t i = 0; i < run->energy_source_count; i++)
		free(run->energy_sources[i].name);
	members_free(run, categories, bricks, sites, notes, marks, energy_sources, energies, faults,
		placed_cpus, placed_nodes, placed_threads);
	for (size_t i = 0; i < run->process_count; i++) {
		free(run->processes[i].host);
		free(run->processes[i].executable);
		run_list_free(run->processes[i].command);
	}
	for (size_t i = 0; i < run->lane_count; i++) {
		free(run->lanes[i].name);
		free(run->lanes[i].backend);
		run_samples_drop(&run->lanes[i]);
		free(run->lanes[i].off_cpu);
		free(run->lanes[i].stats);
	}
	free(run->processes);
	free(run->lanes);
	for (size_t i = 0; i < run->kernel_count; i++) {
		free(run->kernels[i].name);
		free(run->kernels[i].backend);
	}
	for (size_t i = 0; i < run->code_count; i++) {
		members_free(&run->codes[i], name, path, source);
	}
	members_free(run, left_steps, kernels, codes, commands, dependencies, waits, tiles);
	for (size_t i = 0; i < run->function_count; i++) {
		members_free(&run->functions[i], name, object);
	}
	for (size_t i = 0; i < run->stack_thread_count; i++)
		free(run->stack_threads[i].name);
	members_free(run, functions, calls, stack_threads, stacks);
	for (size_t i = 0; i < run->digest_count; i++) {
		free(run->digests[i].operation);
		free(run->digests[i].label);
	}
	for (size_t i = 0; i < run->thread_name_count; i++)
		free(run->thread_names[i].name);
	members_free(run, digests, steps, sequence_events, experts, memories, messages, points,
		thread_names, path, selected, host, cpu, isa, version);
	run_list_free(run->command);
	memset(run, 0, sizeof(*run));
}

void run_destroy(struct run *run)
{
	if (run)
		run_fini(run);
	free(run);
}

void run_lane_release(const struct run_lane *lane)
{
	if (lane->spilled)
		madvise(lane->samples, lane->spilled * sizeof(*lane->samples), MADV_DONTNEED);
}

static atomic_uint_fast64_t passed;

void run_lane_passed_batch(const struct run_lane *lane)
{
	atomic_fetch_add_explicit(&passed, RUN_PASSED_BATCH, memory_order_relaxed);
	if (lane->spilled)
		run_lane_release(lane);
}

uint64_t run_samples_passed(void)
{
	return atomic_load_explicit(&passed, memory_order_relaxed);
}

void run_release(const struct run *run)
{
	for (size_t i = 0; i < run->lane_count; i++)
		run_lane_release(&run->lanes[i]);
}

bool run_was_off(const struct run *run, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t off_ns = UINT64_MAX;

	for (size_t i = 0; i < run->mark_count; i++) {
		const struct run_mark *m = &run->marks[i];
		if (m->kind == MARK_ON && off_ns < end_ns && m->ns > begin_ns)
			return true;
		if (m->kind == MARK_ON || m->kind == MARK_OFF)
			off_ns = m->kind == MARK_OFF ? m->ns : UINT64_MAX;
	}
	return off_ns < end_ns;
}

void run_hook_calls_scale(struct run *run)
{
	for (size_t i = 0; i < run->lane_count; i++) {
		struct run_lane *lane = &run->lanes[i];
		uint64_t executions = 0;
		for (size_t b = 0; lane->stats && b < run->brick_count; b++)
			executions += lane->stats[b].count;
		if (executions > lane->sample_count)
			lane->hook_calls =
				(uint64_t)((double)lane->hook_calls * (double)lane->sample_count /
					   (double)executions);
	}
}

void run_statistics_drop(struct run *run)
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

bool run_has_mark(const struct run *run, enum mark_kind kind)
{
	for (size_t i = 0; i < run->mark_count; i++)
		if (run->marks[i].kind == kind)
			return true;
	return false;
}

size_t run_sample_from(const struct run_lane *lane, uint64_t ns)
{
	return BISECT(i, 0, lane->sample_count, lane->samples[i].begin_ns < ns);
}

size_t run_command_from(const struct run *run, uint32_t lane, uint32_t sample)
{
	const struct run_command *c = run->commands;

	return BISECT(i, 0, run->command_count,
		(ORDER(c[i].lane, lane) ?: ORDER(c[i].sample, sample)) < 0);
}

uint64_t run_step_running_ns(const struct run *run, const struct run_step *s)
{
	uint64_t ns = s->end_ns - s->begin_ns;

	if (run_off_cpu_is_known(run, s->begin_ns, s->end_ns))
		ns -= run_off_cpu_between(&run->lanes[s->lane], s->begin_ns, s->end_ns)
			      .preempted_ns;
	return ns;
}

size_t run_off_cpu_from(const struct run_lane *lane, uint64_t ns)
{
	return BISECT(i, 0, lane->off_cpu_count, lane->off_cpu[i].end_ns <= ns);
}

static void add_off_time(struct run_off_times *times, const struct run_off_cpu *o, uint64_t end_ns)
{
	*(o->preempted ? &times->preempted_ns : &times->blocked_ns) += end_ns - o->begin_ns;
}

static struct run_off_times run_off_cpu_until(const struct run_lane *lane, uint64_t ns)
{
	size_t i = run_off_cpu_from(lane, ns);
	struct run_off_times times = {0};

	if (i < lane->off_cpu_count) {
		times = lane->off_cpu[i].before;
		if (lane->off_cpu[i].begin_ns < ns)
			add_off_time(&times, &lane->off_cpu[i], ns);
	} else if (i) {
		times = lane->off_cpu[i - 1].before;
		add_off_time(&times, &lane->off_cpu[i - 1], lane->off_cpu[i - 1].end_ns);
	}
	return times;
}

struct run_off_times run_off_cpu_between(
	const struct run_lane *lane, uint64_t begin_ns, uint64_t end_ns)
{
	if (!lane->off_cpu_count || end_ns <= begin_ns)
		return (struct run_off_times){0};
	struct run_off_times a = run_off_cpu_until(lane, begin_ns),
			     b = run_off_cpu_until(lane, end_ns);

	return (struct run_off_times){b.blocked_ns - a.blocked_ns, b.preempted_ns - a.preempted_ns};
}

bool run_off_cpu_is_known(const struct run *run, uint64_t begin_ns, uint64_t end_ns)
{
	const struct off_cpu_account *o = &run->off_cpu;

	for (uint32_t i = 0; i < o->gap_count; i++)
		if (o->gaps[i].begin_ns < end_ns && o->gaps[i].end_ns > begin_ns)
			return false;
	return o->source != OFF_CPU_UNKNOWN;
}

const char *run_model_name(const struct run *run, uint32_t process, uint32_t model)
{
	for (size_t i = 0; i < run->note_count; i++) {
		const struct run_note *note = &run->notes[i];
		unsigned number;
		char end;
		if (note->process == process &&
			sscanf(note->key, "model.%u%c", &number, &end) == 1 && number == model)
			return note->value;
	}
	return NULL;
}
