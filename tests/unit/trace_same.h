/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether two runs are the same, whatever the order of their names: what one sink makes of records,
 * and what another does. For tests and the fuzzer. Header only.
 */
#pragma once

#include <string.h>
#include "trace/run.h"

/* Each returns a sentence on what differs, NULL when nothing does. */
struct two_runs {
	const struct run *a, *b;
};

static inline int same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : !a && !b;
}

static inline int same_brick(struct two_runs t, uint32_t a, uint32_t b)
{
	return a == RUN_NONE || b == RUN_NONE ? a == b
					      : same_text(t.a->bricks[a].name, t.b->bricks[b].name);
}

static inline int same_site(struct two_runs t, uint32_t a, uint32_t b)
{
	const struct run_site *x = &t.a->sites[a], *y = &t.b->sites[b];

	return same_brick(t, x->brick, y->brick) && x->layer == y->layer && x->flags == y->flags &&
	       x->elements == y->elements && x->bytes == y->bytes && x->flops == y->flops &&
	       same_text(x->operation, y->operation) && same_text(x->label, y->label);
}

static inline const char *same_samples(
	struct two_runs t, const struct run_lane *a, const struct run_lane *b)
{
	if (a->sample_count != b->sample_count)
		return "number of samples";
	for (size_t i = 0; i < a->sample_count; i++) {
		const struct run_sample *x = &a->samples[i], *y = &b->samples[i];
		if (x->begin_ns != y->begin_ns || x->end_ns != y->end_ns)
			return "times of a sample";
		if (x->wait_ns != y->wait_ns || x->inner_ns != y->inner_ns)
			return "waits of a sample";
		if (x->depth != y->depth || x->source != y->source || x->flags != y->flags)
			return "depth, source or flags of a sample";
		if (!same_site(t, x->site, y->site))
			return "site of a sample";
	}
	return NULL;
}

static inline const char *same_off_cpu(const struct run_lane *a, const struct run_lane *b)
{
	if (a->off_cpu_count != b->off_cpu_count)
		return "how often a lane was off its CPU";
	for (size_t i = 0; i < a->off_cpu_count; i++) {
		const struct run_off_cpu *x = &a->off_cpu[i], *y = &b->off_cpu[i];
		if (x->begin_ns != y->begin_ns || x->end_ns != y->end_ns ||
			x->preempted != y->preempted ||
			x->before.blocked_ns != y->before.blocked_ns ||
			x->before.preempted_ns != y->before.preempted_ns)
			return "when a lane was off its CPU";
	}
	return NULL;
}

static inline const char *same_stats(
	struct two_runs t, const struct run_lane *a, const struct run_lane *b)
{
	if (!a->stats != !b->stats)
		return "a lane without statistics";
	for (size_t i = 0; a->stats && i < t.a->brick_count; i++) {
		uint32_t other = run_brick_find(t.b, t.a->bricks[i].name);
		if (!a->stats[i].count)
			continue;
		if (other == RUN_NONE || memcmp(&a->stats[i], &b->stats[other], sizeof *a->stats))
			return "statistics of a brick";
	}
	return NULL;
}

static inline const char *same_lane(
	struct two_runs t, const struct run_lane *a, const struct run_lane *b)
{
	const char *wrong = same_samples(t, a, b);

	if (!wrong)
		wrong = same_off_cpu(a, b);
	if (wrong)
		return wrong;
	if (a->process != b->process || a->kind != b->kind || a->tid != b->tid ||
		a->queue_flags != b->queue_flags || !same_text(a->name, b->name) ||
		!same_text(a->backend, b->backend))
		return "what a lane is";
	if (a->start_ns != b->start_ns || a->end_ns != b->end_ns)
		return "times of a lane";
	if (a->hook_calls != b->hook_calls || a->hook_timed != b->hook_timed ||
		a->hook_ns != b->hook_ns || memcmp(&a->ledger, &b->ledger, sizeof a->ledger))
		return "ledger of a lane";
	return same_stats(t, a, b);
}

static inline int same_kernel(const struct run_kernel *a, const struct run_kernel *b)
{
	return same_text(a->name, b->name) && same_text(a->backend, b->backend) &&
	       a->kind == b->kind && !memcmp(a->grid, b->grid, sizeof a->grid) &&
	       !memcmp(a->block, b->block, sizeof a->block) && a->registers == b->registers &&
	       a->shared_bytes == b->shared_bytes && a->code == b->code;
}

static inline const char *same_commands(struct two_runs t)
{
	if (t.a->command_count != t.b->command_count ||
		t.a->dependency_count != t.b->dependency_count ||
		t.a->wait_count != t.b->wait_count || t.a->tile_count != t.b->tile_count)
		return "number of commands, links or tiles";
	for (size_t i = 0; i < t.a->command_count; i++) {
		struct run_command x = t.a->commands[i], y = t.b->commands[i];
		if (!same_kernel(&t.a->kernels[x.kernel], &t.b->kernels[y.kernel]))
			return "kernel of a command";
		x.kernel = y.kernel = 0;
		if (memcmp(&x, &y, sizeof x))
			return "a command";
	}
	if (t.a->dependency_count && memcmp(t.a->dependencies, t.b->dependencies,
					     t.a->dependency_count * sizeof *t.a->dependencies))
		return "dependencies";
	if (t.a->wait_count && memcmp(t.a->waits, t.b->waits, t.a->wait_count * sizeof *t.a->waits))
		return "waits";
	if (t.a->tile_count && memcmp(t.a->tiles, t.b->tiles, t.a->tile_count * sizeof *t.a->tiles))
		return "tiles";
	return NULL;
}

static inline const char *same_process(const struct run_process *a, const struct run_process *b)
{
	if (a->pid != b->pid || a->parent != b->parent || a->rank != b->rank ||
		a->world != b->world || a->mode != b->mode || a->clock_source != b->clock_source ||
		!same_text(a->host, b->host) || !same_text(a->executable, b->executable))
		return "what a process is";
	for (size_t i = 0; a->command[i] || b->command[i]; i++)
		if (!same_text(a->command[i], b->command[i]))
			return "command of a process";
	if (a->start_ns != b->start_ns || a->end_ns != b->end_ns || a->closed != b->closed)
		return "end of a process";
	if (memcmp(&a->ledger, &b->ledger, sizeof a->ledger))
		return "ledger of a process";
	if (a->pair_cost_ns != b->pair_cost_ns || a->pair_cost_low_ns != b->pair_cost_low_ns ||
		a->pair_cost_high_ns != b->pair_cost_high_ns ||
		a->pair_cost_streamed_ns != b->pair_cost_streamed_ns ||
		a->pair_cost_cold_ns != b->pair_cost_cold_ns ||
		a->pair_stream_ns != b->pair_stream_ns)
		return "cost of a pair";
	return NULL;
}

static inline const char *same_points(struct two_runs t)
{
	if (t.a->point_count != t.b->point_count || t.a->step_count != t.b->step_count)
		return "number of points or steps";
	if (t.a->step_count && memcmp(t.a->steps, t.b->steps, t.a->step_count * sizeof *t.a->steps))
		return "steps";
	for (size_t i = 0; i < t.a->point_count; i++) {
		struct run_point x = t.a->points[i], y = t.b->points[i];
		if (!same_brick(t, x.brick, y.brick))
			return "brick of a point";
		x.brick = y.brick = 0;
		if (memcmp(&x, &y, sizeof x))
			return "a point";
	}
	return NULL;
}

static inline const char *same_sequences(struct two_runs t)
{
	size_t count = t.a->sequence_event_count;

	if (count != t.b->sequence_event_count)
		return "number of events of sequences";
	if (count && memcmp(t.a->sequence_events, t.b->sequence_events,
			     count * sizeof *t.a->sequence_events))
		return "an event of a sequence";
	return NULL;
}

static inline const char *same_experts(struct two_runs t)
{
	size_t count = t.a->expert_count;

	if (count != t.b->expert_count)
		return "number of records about experts";
	if (count && memcmp(t.a->experts, t.b->experts, count * sizeof *t.a->experts))
		return "what is said of an expert";
	return NULL;
}

static inline const char *same_facts(struct two_runs t)
{
	if (t.a->note_count != t.b->note_count || t.a->code_count != t.b->code_count ||
		t.a->digest_count != t.b->digest_count)
		return "number of notes, codes or digests";
	for (size_t i = 0; i < t.a->note_count; i++)
		if (!same_text(t.a->notes[i].key, t.b->notes[i].key) ||
			!same_text(t.a->notes[i].value, t.b->notes[i].value))
			return "a note";
	for (size_t i = 0; i < t.a->code_count; i++)
		if (t.a->codes[i].hash != t.b->codes[i].hash ||
			!same_text(t.a->codes[i].name, t.b->codes[i].name) ||
			!same_text(t.a->codes[i].path, t.b->codes[i].path) ||
			!same_text(t.a->codes[i].source, t.b->codes[i].source))
			return "code";
	for (size_t i = 0; i < t.a->digest_count; i++) {
		const struct run_digest *x = &t.a->digests[i], *y = &t.b->digests[i];
		if (!same_brick(t, x->brick, y->brick) || x->process != y->process ||
			x->layer != y->layer || x->decode != y->decode || x->step != y->step ||
			x->tokens != y->tokens || x->ns != y->ns || x->output != y->output ||
			memcmp(x->inputs, y->inputs, sizeof x->inputs) ||
			!same_text(x->operation, y->operation) || !same_text(x->label, y->label) ||
			x->digest.fnv64 != y->digest.fnv64 ||
			memcmp(x->digest.sketch, y->digest.sketch, sizeof x->digest.sketch))
			return "a digest";
	}
	return NULL;
}

static inline const char *same_histograms(struct two_runs t)
{
	for (size_t i = 0; i < t.a->brick_count; i++) {
		uint32_t other = run_brick_find(t.b, t.a->bricks[i].name);
		const struct ticks_lengths *x = t.a->histograms[i];
		const struct ticks_lengths *y = other == RUN_NONE ? NULL : t.b->histograms[other];
		bool same = !x == !y;
		for (uint32_t k = 0; same && k < BRICK_HISTOGRAM_BUCKETS; k++)
			same = ticks_lengths_at(x, k) == ticks_lengths_at(y, k);
		if (!same)
			return "a histogram";
	}
	return NULL;
}

static inline const char *same_account(struct two_runs t)
{
	const struct run *a = t.a, *b = t.b;

	if (a->start_ns != b->start_ns || a->end_ns != b->end_ns ||
		a->start_unix_ns != b->start_unix_ns || !same_text(a->host, b->host) ||
		!same_text(a->cpu, b->cpu))
		return "what the run is";
	if (a->cpus != b->cpus || a->exit_code != b->exit_code ||
		a->consumer_cpu_ns != b->consumer_cpu_ns || a->program_cpu_ns != b->program_cpu_ns)
		return "the account";
	if (a->complete != b->complete || a->lost_processes != b->lost_processes ||
		a->open_samples != b->open_samples || a->bad_records != b->bad_records)
		return "what was lost";
	return memcmp(&a->clock, &b->clock, sizeof a->clock) ? "the clock" : NULL;
}

static inline const char *same_run(const struct run *a, const struct run *b)
{
	struct two_runs t = {a, b};
	const char *wrong = same_account(t);

	if (!wrong && (a->process_count != b->process_count || a->lane_count != b->lane_count))
		wrong = "number of processes or lanes";
	for (size_t i = 0; !wrong && i < a->process_count; i++)
		wrong = same_process(&a->processes[i], &b->processes[i]);
	for (size_t i = 0; !wrong && i < a->lane_count; i++)
		wrong = same_lane(t, &a->lanes[i], &b->lanes[i]);
	if (!wrong)
		wrong = same_commands(t);
	if (!wrong)
		wrong = same_points(t);
	if (!wrong)
		wrong = same_sequences(t);
	if (!wrong)
		wrong = same_experts(t);
	if (!wrong)
		wrong = same_facts(t);
	return wrong ? wrong : same_histograms(t);
}
