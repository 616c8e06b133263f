/* SPDX-License-Identifier: Apache-2.0 */
/* Devices: what did not run on them, what went to and fro, and when they had nothing to do. */
#include <stdio.h>
#include <string.h>
#include "analysis/path/schedule.h"
#include "analysis/accounts/unknown.h"
#include "analysis/explain/explain_rules.h"
#include "ui/text/units.h"

static int is_category(const struct summary_row *row, uint32_t category)
{
	return row->category && !strcmp(row->category, brick_category_name(category));
}

/* A brick that computes, of which no device did anything. */
static int computes_on_cpu(const struct summary_row *row)
{
	return !row->on_device && row->device_ns == ANALYSIS_UNKNOWN && row->category &&
	       !is_category(row, BRICK_CATEGORY_ENGINE) && !is_category(row, BRICK_CATEGORY_WAIT) &&
	       !is_category(row, BRICK_CATEGORY_STEP) && strcmp(row->category, "Profiler") &&
	       strcmp(row->name, brick_name(BRICK_SAMPLING));
}

/* Time of the bricks that do; which of them takes most, and executions of all. */
static uint64_t on_cpu_ns(
	const struct explain_phase *phase, const struct summary_row **most, uint64_t *count)
{
	uint64_t ns = 0;

	*most = NULL;
	*count = 0;
	for (size_t i = 0; i < phase->summary->row_count; i++) {
		const struct summary_row *row = &phase->summary->rows[i];
		if (!computes_on_cpu(row))
			continue;
		ns += row->wall_ns;
		*count += row->count;
		if (!*most || row->wall_ns > (*most)->wall_ns)
			*most = row;
	}
	return ns;
}

int rule_ran_on_cpu(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	const struct summary_row *most;
	uint64_t count;
	char ns[UNITS_BYTES], busy[UNITS_BYTES];

	if (!phase->queue || !(out->cost_ns = on_cpu_ns(phase, &most, &count)))
		return 0;
	explain_say(out->what, "operations ran on the CPU beside a device, most of all %.47s",
		most->name);
	explain_say(out->evidence,
		"%llu executions on threads, %s of it in %.47s, none of them launched anything; "
		"the device was busy %s",
		(unsigned long long)count, units_time(ns, most->wall_ns), most->name,
		units_time(busy, phase->queue->busy_ns));
	explain_say(out->advice,
		"offload those layers too (-ngl), or use a type that the device's backend has a "
		"kernel for");
	explain_say(out->show, "brick tree --step %s", step_phase_name(p));
	return 1;
}

static int is_transfer(uint32_t kind)
{
	return kind == BRICK_KERNEL_H2D || kind == BRICK_KERNEL_D2H || kind == BRICK_KERNEL_D2D;
}

static void count_transfers(
	const struct explain_facts *f, enum step_phase p, uint64_t *count, uint64_t *bytes)
{
	const struct run *run = f->run;

	for (size_t i = 0; i < run->command_count; i++) {
		const struct run_command *c = &run->commands[i];
		uint32_t step = step_index_of_command(&f->index, run, c);
		if (step == RUN_NONE || step_phase_of(&run->steps[step]) != p ||
			c->kernel == RUN_NONE || !is_transfer(run->kernels[c->kernel].kind))
			continue;
		++*count;
		*bytes += c->bytes;
	}
}

int rule_copies(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint64_t count = 0, bytes = 0;
	char split[UNITS_BYTES], in[UNITS_BYTES], back[UNITS_BYTES], size[UNITS_BYTES];
	uint64_t split_ns = explain_on_cpu_ns(phase, "SplitCopy");
	uint64_t in_ns = explain_on_cpu_ns(phase, brick_name(BRICK_INPUT_COPY));
	uint64_t back_ns = explain_on_cpu_ns(phase, brick_name(BRICK_OUTPUT_COPY));

	out->cost_ns = split_ns + in_ns + back_ns;
	if (!phase->queue || !out->cost_ns)
		return 0;
	count_transfers(f, p, &count, &bytes);
	explain_say(out->what, "the engine's thread copies between backends");
	explain_say(out->evidence,
		"its time: between backends %s, to the device %s, back %s; %llu transfers of %s",
		units_time(split, split_ns), units_time(in, in_ns), units_time(back, back_ns),
		(unsigned long long)count, units_bytes(size, bytes));
	explain_say(out->advice,
		"keep whole blocks on one device (-ngl, --override-tensor), and logits of the last "
		"token only");
	explain_say(out->show, "brick report --by queue");
	return 1;
}

/* Time of the host that is another finding's: the device is idle then for that reason. */
static uint64_t otherwise_busy_ns(const struct explain_facts *f, const struct explain_phase *phase)
{
	const struct summary_row *most;
	uint64_t count;

	return explain_owner_ns(f, phase, SCHEDULE_OWNER_PREEMPTED) +
	       on_cpu_ns(phase, &most, &count) + explain_on_cpu_ns(phase, "SplitCopy") +
	       explain_on_cpu_ns(phase, brick_name(BRICK_INPUT_COPY)) +
	       explain_on_cpu_ns(phase, brick_name(BRICK_OUTPUT_COPY));
}

/* The device had nothing to do while a step ran: the host did not launch fast enough. */
int rule_launch_bound(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	const struct queue_time *q = phase->queue;
	char idle[UNITS_BYTES], mean[UNITS_BYTES], host[UNITS_BYTES];

	if (!q || !q->commands || !phase->steps)
		return 0;
	uint64_t other_ns = otherwise_busy_ns(f, phase);
	uint64_t idle_ns = q->idle_ns > other_ns ? q->idle_ns - other_ns : 0;
	if (idle_ns < q->wall_ns / 4)
		return 0;
	uint64_t record_ns = explain_on_cpu_ns(phase, "RecordCommands");
	out->cost_ns = idle_ns;
	out->certainty = FINDING_LIKELY;
	explain_say(out->what, "the device waits for the host: idle for %s of the %s steps",
		units_percent(idle, explain_share(idle_ns, q->wall_ns)), step_phase_name(p));
	explain_say(out->evidence,
		"%llu commands a step, of %s each; the host spent %s in recording and launching",
		(unsigned long long)(q->commands / phase->steps),
		units_time(mean, q->busy_ns / q->commands),
		record_ns ? units_time(host, record_ns) : "an unknown time");
	explain_say(out->advice,
		"launch less: graphs (GGML_CUDA_GRAPHS), flash attention (-fa), larger batches; or "
		"give the host's thread a faster core of its own");
	explain_say(out->show, "brick report --by queue");
	return 1;
}
