/* SPDX-License-Identifier: Apache-2.0 */
/* Devices: work beside them, copies to and from them, their idle time, and CPUs in their place. */
#include "analysis/explain/finding.h"

#include <stdbool.h>
#include <string.h>

#include "analysis/statistics/unknown.h"
#include "analysis/path/schedule.h"
#include "brick/brick.h"

static bool is_category(const struct summary_row *row, uint32_t category)
{
	return row->category && !strcmp(row->category, brick_category_name(category));
}

/* True for a brick that computes without a device. */
static bool computes_on_cpu(const struct summary_row *row)
{
	return !row->on_device && row->device_ns == ANALYSIS_UNKNOWN && row->category &&
	       !is_category(row, BRICK_CATEGORY_ENGINE) && !is_category(row, BRICK_CATEGORY_WAIT) &&
	       !is_category(row, BRICK_CATEGORY_STEP) && strcmp(row->category, "Profiler") &&
	       strcmp(row->name, brick_name(BRICK_SAMPLING));
}

/* Time of the bricks that compute on the CPU, the largest of them, and their executions. */
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

/* Other tools' files time operators of the host that prepare work for a device, and compute none.
 */
bool rule_ran_on_cpu(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	out->cost_ns = on_cpu_ns(phase, &out->of.ran_on_cpu.most, &out->of.ran_on_cpu.executions);
	return phase->queue && out->cost_ns && !run_note_find(f->run, "imported");
}

/* Drivers that compute on the CPU, as their devices call themselves. */
static const char *const software[] = {
	"llvmpipe", "lavapipe", "swiftshader", "softpipe", "pocl", "cpu-", "Basic Render"};

static bool is_software(const char *device)
{
	for (size_t i = 0; i < sizeof(software) / sizeof(*software); i++)
		if (strcasestr(device, software[i]))
			return true;
	return false;
}

static bool rules_devices_is_transfer(uint32_t kind)
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
			c->kernel == RUN_NONE ||
			!rules_devices_is_transfer(run->kernels[c->kernel].kind))
			continue;
		++*count;
		*bytes += c->bytes;
	}
}

bool rule_copies(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	uint64_t between_ns = explain_on_cpu_ns(phase, "SplitCopy");
	uint64_t in_ns = explain_on_cpu_ns(phase, brick_name(BRICK_INPUT_COPY));
	uint64_t out_ns = explain_on_cpu_ns(phase, brick_name(BRICK_OUTPUT_COPY));

	out->cost_ns = between_ns + in_ns + out_ns;
	out->of.copies.between_ns = between_ns;
	out->of.copies.in_ns = in_ns;
	out->of.copies.out_ns = out_ns;
	if (!phase->queue || !out->cost_ns)
		return false;
	count_transfers(f, p, &out->of.copies.transfers, &out->of.copies.bytes);
	return true;
}

/*
 * A launch this long set something up: launching takes microseconds, loading a kernel milliseconds.
 */
enum { SETUP_NS = 1000000 };

static bool is_launching(const struct run *run, const struct run_sample *sample)
{
	const char *name = run->bricks[run->sites[sample->site].brick].name;

	return !strcmp(name, "RecordCommands") || !strcmp(name, "Launch");
}

struct slow_launches {
	uint64_t ns, count, longest_ns;
};

/* Launches in a step that take SETUP_NS or more, without the launches inside of another one. */
static struct slow_launches slow_launches_in(const struct run *run, const struct run_step *step)
{
	const struct run_lane *lane = &run->lanes[step->lane];
	struct slow_launches slow = {0};
	uint64_t until_ns = step->begin_ns;

	for (size_t i = run_sample_from(lane, step->begin_ns); i < lane->sample_count; i++) {
		const struct run_sample *sample = &lane->samples[i];
		uint64_t ns = sample->end_ns - sample->begin_ns;
		if (sample->begin_ns >= step->end_ns)
			break;
		if (sample->begin_ns < until_ns || ns < SETUP_NS || !is_launching(run, sample))
			continue;
		until_ns = sample->end_ns;
		slow.ns += ns;
		slow.count++;
		slow.longest_ns = ns > slow.longest_ns ? ns : slow.longest_ns;
	}
	return slow;
}

enum { SETUP_STEPS = 16 }; /* so many later steps say what launches take once all is set up */

/*
 * The time that loading adds to a phase's first step: its slow launches, less those of other steps.
 */
static uint64_t setup_ns(const struct explain_facts *f, const struct explain_phase *phase,
	struct slow_launches *first)
{
	const struct run *run = f->run;
	uint64_t others = 0, later_ns = 0;

	*first = slow_launches_in(run, &run->steps[phase->list[0]]);
	for (uint32_t i = phase->list[0] + 1; first->ns && i < run->step_count; i++) {
		later_ns += slow_launches_in(run, &run->steps[i]).ns;
		if (++others == SETUP_STEPS)
			break;
	}
	/* a device on which each launch takes so long is not being set up */
	if (!others || first->ns / 4 < later_ns / others)
		return 0;
	return first->ns - later_ns / others;
}

bool rule_device_setup(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];

	if (!phase->queue || !phase->steps)
		return false;
	struct slow_launches first;
	out->cost_ns = setup_ns(f, phase, &first);
	out->of.device_setup.executions = first.count;
	out->of.device_setup.longest_ns = first.longest_ns;
	return out->cost_ns != 0;
}

/*
 * The host's time that other findings account for, and during which the device waits for the host.
 */
static uint64_t otherwise_busy_ns(const struct explain_facts *f, const struct explain_phase *phase)
{
	const struct summary_row *most;
	struct slow_launches first;
	uint64_t count;

	return explain_owner_ns(f, phase, SCHEDULE_OWNER_PREEMPTED) + setup_ns(f, phase, &first) +
	       on_cpu_ns(phase, &most, &count) + explain_on_cpu_ns(phase, "SplitCopy") +
	       explain_on_cpu_ns(phase, brick_name(BRICK_INPUT_COPY)) +
	       explain_on_cpu_ns(phase, brick_name(BRICK_OUTPUT_COPY));
}

bool rule_software_device(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];

	for (size_t i = 0; i < f->run->note_count; i++) {
		const struct run_note *note = &f->run->notes[i];
		if (!strcmp(note->key, "backend") && strchr(note->value, ' ') &&
			is_software(note->value))
			out->of.software_device.device = strchr(note->value, ' ') + 1;
	}
	if (!phase->queue || !out->of.software_device.device)
		return false;
	const struct queue_time *q = phase->queue;
	uint64_t other_ns = otherwise_busy_ns(f, phase);
	out->of.software_device.busy_ns = q->busy_ns;
	/* the second part: launching commands and waiting for them */
	out->cost_ns = q->busy_ns + (q->idle_ns > other_ns ? q->idle_ns - other_ns : 0);
	out->certainty = FINDING_LIKELY;
	return true;
}

/* The device was idle while a step ran, because the host did not launch fast enough. */
bool rule_launch_bound(const struct explain_facts *f, enum step_phase p, struct finding *out)
{
	const struct explain_phase *phase = &f->phases[p];
	const struct queue_time *q = phase->queue;

	if (!q || !q->commands || !phase->steps)
		return false;
	out->certainty = FINDING_LIKELY;
	if (run_note_find(f->run, "imported")) {
		out->cost_ns = f->gpus[p].gpu ? explain_late_ns(&f->gpus[p]) : 0;
		return out->cost_ns != 0;
	}
	uint64_t other_ns = otherwise_busy_ns(f, phase);
	uint64_t idle_ns = q->idle_ns > other_ns ? q->idle_ns - other_ns : 0;
	if (idle_ns < q->wall_ns / 4)
		return false;
	out->cost_ns = idle_ns;
	out->of.launch_bound.record_ns = explain_on_cpu_ns(phase, "RecordCommands");
	return true;
}
