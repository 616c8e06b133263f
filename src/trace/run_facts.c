/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of lanes, processes and the run beside records: statistics, notes, digests, code. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/members.h"
#include "lib/writer/format.h"
#include "trace/run_builder_state.h"

enum { MAX_SOURCE = 16 << 20 }; /* of one program, as a recording keeps it */

int run_on_code(struct sink *sink, const struct sink_code *code)
{
	struct run_builder *b = run_builder_of(sink);

	struct run_code made = {.hash = code->hash,
		.source = run_text_of(b, code->source,
			code->source_bytes < MAX_SOURCE ? code->source_bytes : MAX_SOURCE)};
	if (code->name_bytes)
		made.name = run_text_of(b, code->name, code->name_bytes);
	if (code->path_bytes)
		made.path = run_text_of(b, code->path, code->path_bytes);
	build_code(&b->build, &made);
	return b->build.result;
}

static int set_stat(struct run_builder *b, struct builder_lane *lane, uint32_t id,
	const struct brick_stat *from)
{
	uint32_t brick = run_brick_of(b, lane->process, id);
	struct brick_stat *to = brick != RUN_NONE ? build_stat(&b->build, lane->lane, brick) : NULL;

	if (!to)
		return b->build.result;
	*to = (struct brick_stat){0};
#define FORMAT_X(field) to->field = from->field;
	FORMAT_STAT_FIELDS(FORMAT_X)
#undef FORMAT_X
	return 0;
}

int run_on_off_cpu(
	struct sink *sink, int number, const struct sink_off_cpu *intervals, size_t count)
{
	struct run_builder *b = run_builder_of(sink);

	for (size_t i = 0; i < count && !b->build.result; i++) {
		const struct sink_off_cpu *o = &intervals[i];
		struct build_lane *lane = b->lanes[number]->lane;
		const struct run_lane *run_lane = &b->build.run->lanes[number];
		size_t n = run_lane->off_cpu_count;
		uint64_t free_ns = n ? run_lane->off_cpu[n - 1].end_ns : 0;
		build_off_cpu(lane, o->begin_ns > free_ns ? o->begin_ns : free_ns, o->end_ns,
			o->preempted != 0);
	}
	return b->build.result;
}

int run_on_lane_stats(struct sink *sink, int number, const struct brick_lane *state)
{
	struct run_builder *b = run_builder_of(sink);

	struct builder_lane *lane = b->lanes[number];
	struct run_lane *run_lane = &b->build.run->lanes[number];
	int error = records_release(&lane->records);
	run_lane->tid = state->tid;
	run_set_text(b, &run_lane->name, state->name, sizeof state->name);
	run_lane->hook_calls = state->hook_calls;
	run_lane->hook_timed = state->hook_timed;
	run_set_ledger(&run_lane->ledger, &state->ledger);
	lane->lane->hook_ticks = state->hook_ticks;
	lane->lane->end_ticks = state->end_ticks;
	for (uint32_t i = 0; i < lane->process->tables.brick_count && !error; i++) {
		struct brick_stat stat = state->stats[i];
		if (stat.count)
			error = set_stat(b, lane, i, &stat);
	}
	build_stat(&b->build, lane->lane, 0);
	return b->build.result;
}

int run_on_histograms(
	struct sink *sink, int number, uint32_t brick_count, const uint64_t *const *histograms)
{
	struct run_builder *b = run_builder_of(sink);

	struct builder_process *process = b->processes[number];
	for (uint32_t i = 0; i < brick_count && i < process->tables.brick_count; i++) {
		uint32_t brick = histograms[i] ? run_brick_of(b, process, i) : RUN_NONE;
		uint64_t *to = brick != RUN_NONE ? build_histogram(&b->build,
							   &b->build.processes[number], brick)
						 : NULL;
		if (to)
			memcpy(to, histograms[i], BRICK_HISTOGRAM_BUCKETS * sizeof *to);
	}
	return b->build.result;
}

int run_on_notes(struct sink *sink, int number, const char *notes, size_t bytes)
{
	struct run_builder *b = run_builder_of(sink);
	SCOPED char *text = run_text_of(b, notes, bytes);

	if (!text)
		return b->build.result;
	build_notes(&b->build, (uint32_t)number, text, strlen(text));
	return b->build.result;
}

int run_on_digest(struct sink *sink, int number, const struct brick_session_digest *d)
{
	struct run_builder *b = run_builder_of(sink);

	const struct tables *tables = &b->processes[number]->tables;
	if (d->brick >= tables->brick_count)
		return -EINVAL;
	if (!build_digest_possible(&d->digest))
		return 0;
	const struct brick_session_site *site =
		d->site && d->site < tables->site_count ? &tables->sites[d->site] : NULL;
	struct run_digest digest = {.process = (uint32_t)number,
		.brick = run_brick_of(b, b->processes[number], d->brick),
		.layer = d->layer,
		.decode = (d->flags & BRICK_SESSION_DIGEST_DECODE) != 0,
		.step = d->step,
		.tokens = d->tokens,
		.ns = d->ticks,
		.output = d->output,
		.digest = d->digest};
	memcpy(digest.inputs, d->inputs, sizeof digest.inputs);
	if (digest.brick == RUN_NONE)
		return b->build.result;
	if (site && site->operation[0])
		digest.operation = run_text_of(b, site->operation, sizeof site->operation);
	const char *label = site && site->label[0] ? site->label : d->label;
	if (label[0])
		digest.label = run_text_of(b, label, sizeof d->label);
	build_digest(&b->build, &digest);
	return b->build.result;
}

int run_on_account(struct sink *sink, const struct sink_account *account)
{
	struct run_builder *b = run_builder_of(sink);
	struct run *run = b->build.run;

	members_copy(run, account, end_ns, consumer_cpu_ns, program_cpu_ns, lost_processes, cpus,
		usable_cpus, exit_code);
	if (account->clock_residual_ns > run->clock.residual_ns)
		run->clock.residual_ns = account->clock_residual_ns;
	run->off_cpu = account->off_cpu;
	run->machine = account->machine;
	return 0;
}
