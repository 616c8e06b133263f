/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model of traced_costs.h. Each thread and each queue has a time by which it would be earlier.
 * A call adds its cost to that of its thread. A command was late either because its call came late,
 * or because its queue was busy; the shortest delays of its queue say how much of a delay remains
 * whatever the call costs. Nothing says if a call costs before or after it gives its commands to
 * the device: lowest after, highest before. A wait for a command takes back from the thread what
 * the command itself would not be earlier. Three passes: with the estimate, the lowest and the
 * highest costs.
 */
#include "analysis/accounts/traced_costs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/order.h"
#include "base/scope.h"
#include "brick/queue.h"

/* A call that launches, or that waits. */
struct traced_call {
	uint64_t ns;
	uint32_t lane, sample;
	size_t first, count; /* in `order`, or in run->waits */
	uint32_t phase;
	bool waits, is_whole; /* the latter: a replay that is one record */
	bool is_switched;     /* a sample behind one, or the first: CUPTI was switched twice */
};

/* What a queue's delays are at least, and where it is in a pass. */
struct traced_queue {
	double least_launch_ns, least_gap_ns;
	double end_ns;	 /* of its last command; 0: none yet */
	double early_ns; /* by which that would be earlier */
};

struct traced_model {
	const struct run *run;
	const struct step_index *index;
	struct traced_calibration *calibrations; /* [process_count] */
	uint32_t *order;			 /* commands by their calls, and by begin in them */
	size_t order_count;
	struct traced_call *calls; /* by time */
	size_t call_count;
	bool *samples;		     /* [process_count]: the last replay was one */
	struct traced_queue *queues; /* [lane_count]: by the queue's first lane */
	uint32_t *queue_of;	     /* [lane_count]: that lane */
	double *threads;	     /* [lane_count]: by how much they would be earlier */
	double *commands;	     /* [command_count]: by how much they would end earlier */
};

/* "NAME 12 (10 to 15)" */
static bool read_each(struct traced_each *each, const char *text, const char *name)
{
	const char *at = strstr(text, name);
	long long ns, low, high;

	if (!at || sscanf(at + strlen(name), " %lld (%lld to %lld)", &ns, &low, &high) != 3 ||
		ns < 0 || low < 0 || high < 0 || ns > INT32_MAX || low > INT32_MAX ||
		high > INT32_MAX)
		return false;
	*each = (struct traced_each){(double)ns, (double)low, (double)high};
	return true;
}

bool traced_calibration_read(struct traced_calibration *c, const char *text)
{
	const char *light = text ? strstr(text, "; replay ") : NULL;

	*c = (struct traced_calibration){.is_light = false};
	if (!text || strncmp(text, "callbacks ", 10) ||
		!read_each(&c->callbacks, text, "callbacks") ||
		!read_each(&c->record, text, ", record") || !read_each(&c->node, text, ", node") ||
		!read_each(&c->device, text, ", device"))
		return false;
	return !light || (read_each(&c->replay, light, "; replay") &&
				 read_each(&c->replay_device, light, ", device") &&
				 read_each(&c->sample, light, ", sample"));
}

static bool is_estimated(const struct run *run, const struct run_command *c)
{
	return run_sample_is_estimated(run_command_sample(run, c));
}

static uint32_t phase_of_step(const struct traced_model *m, uint32_t step)
{
	return step == RUN_NONE ? STEP_PHASES : (uint32_t)step_phase_of(&m->run->steps[step]);
}

static bool is_traced(const struct run *run, const struct run_command *c)
{
	return c->launch_lane != RUN_NONE &&
	       (run_command_sample(run, c)->source == BRICK_SOURCE_DEVICE_ACTIVITY ||
		       is_estimated(run, c));
}

static void count_commands(struct traced_costs *costs, struct traced_model *m)
{
	for (size_t i = 0; i < m->run->command_count; i++) {
		const struct run_command *c = &m->run->commands[i];
		if (!is_traced(m->run, c))
			continue;
		m->order_count++;
		costs->phases[phase_of_step(m, step_index_of_command(m->index, m->run, c))]
			.commands++;
	}
}

/* A process's note of that key that came last. */
static const char *process_note(const struct run *run, uint32_t process, const char *key)
{
	for (size_t i = run->note_count; i-- > 0;)
		if (run->notes[i].process == process && !strcmp(run->notes[i].key, key))
			return run->notes[i].value;
	return NULL;
}

static void traced_read_notes(struct traced_costs *costs, struct traced_model *m)
{
	const struct run *run = m->run;
	SCOPED size_t *counts = calloc(run->process_count + 1, sizeof(*counts));
	size_t most = 0;

	costs->known = counts != NULL;
	for (size_t i = 0; counts && i < run->command_count; i++)
		if (is_traced(run, &run->commands[i]))
			counts[run->lanes[run->commands[i].lane].process]++;
	for (uint32_t i = 0; counts && i < run->process_count; i++) {
		const char *text = process_note(run, i, "cuda.calibration");
		const char *flush = process_note(run, i, "cuda.flush");
		if (flush)
			costs->flush_ns += strtod(flush, NULL);
		if (!counts[i])
			continue;
		if (!traced_calibration_read(&m->calibrations[i], text)) {
			costs->known = false;
			costs->why = text;
		}
		const char *detail = process_note(run, i, "cuda.detail");
		m->calibrations[i].is_light = detail && !strncmp(detail, "light", 5);
		if (counts[i] > most)
			costs->calibration = m->calibrations[i];
		most = counts[i] > most ? counts[i] : most;
	}
}

/* Sorting needs the run. */
struct traced_place {
	uint64_t launch_ns, begin_ns;
	uint32_t lane, sample, command;
};

COMPARATOR(traced_by_call, struct traced_place,
	ORDER(x->launch_ns, y->launch_ns)
		?: ORDER(x->lane, y->lane)
		?: ORDER(x->sample, y->sample) ?: ORDER(x->begin_ns, y->begin_ns))
COMPARATOR(traced_by_time, struct traced_call, ORDER(x->ns, y->ns) ?: ORDER(x->lane, y->lane))

static bool list_commands(struct traced_model *m)
{
	const struct run *run = m->run;
	SCOPED struct traced_place *places = malloc((run->command_count + 1) * sizeof(*places));
	size_t count = 0;

	for (size_t i = 0; places && i < run->command_count; i++) {
		const struct run_command *c = &run->commands[i];
		if (is_traced(run, c))
			places[count++] = (struct traced_place){c->launch_ns,
				run_command_sample(run, c)->begin_ns, c->launch_lane,
				c->launch_sample, (uint32_t)i};
	}
	if (!places)
		return false;
	qsort(places, count, sizeof(*places), traced_by_call);
	for (size_t i = 0; i < count; i++)
		m->order[i] = places[i].command;
	return true;
}

static void list_launches(struct traced_model *m)
{
	for (size_t i = 0, end; i < m->order_count; i = end) {
		const struct run_command *c = &m->run->commands[m->order[i]];
		for (end = i + 1; end < m->order_count; end++) {
			const struct run_command *next = &m->run->commands[m->order[end]];
			if (next->launch_lane != c->launch_lane ||
				next->launch_sample != c->launch_sample ||
				next->launch_ns != c->launch_ns)
				break;
		}
		m->calls[m->call_count++] = (struct traced_call){.ns = c->launch_ns,
			.lane = c->launch_lane,
			.sample = c->launch_sample,
			.first = i,
			.count = end - i,
			.is_whole = is_estimated(m->run, c),
			.phase = phase_of_step(m, step_index_of_command(m->index, m->run, c))};
	}
}

static const struct traced_calibration *calibration_of(
	const struct traced_model *m, const struct traced_call *call)
{
	return &m->calibrations[m->run->lanes[call->lane].process];
}

/* Samples in a row are switched to once. Calls are by time. */
static void find_switches(struct traced_model *m)
{
	for (size_t i = 0; i < m->call_count; i++) {
		struct traced_call *call = &m->calls[i];
		bool *samples = &m->samples[m->run->lanes[call->lane].process];
		if (!calibration_of(m, call)->is_light || call->waits ||
			(call->count == 1 && !call->is_whole))
			continue;
		call->is_switched = !call->is_whole && !*samples;
		*samples = !call->is_whole;
	}
}

static void list_waits(struct traced_model *m)
{
	const struct run *run = m->run;

	for (size_t i = 0, end; i < run->wait_count; i = end) {
		const struct run_wait *w = &run->waits[i];
		for (end = i + 1; end < run->wait_count && run->waits[end].lane == w->lane &&
				  run->waits[end].sample == w->sample;
			end++)
			;
		if (!is_traced(run, &run->commands[w->command]))
			continue;
		uint64_t ns = run->lanes[w->lane].samples[w->sample].begin_ns;
		m->calls[m->call_count++] = (struct traced_call){.ns = ns,
			.lane = w->lane,
			.sample = w->sample,
			.first = i,
			.count = end - i,
			.phase = phase_of_step(m, step_index_at(m->index, run, w->lane, ns)),
			.waits = true};
	}
}

static void traced_find_queues(struct traced_model *m)
{
	const struct run *run = m->run;

	for (uint32_t i = 0; i < run->lane_count; i++) {
		m->queue_of[i] = i;
		m->queues[i] = (struct traced_queue){INFINITY, INFINITY, 0, 0};
		for (uint32_t k = i; k-- > 0;)
			if (run_is_same_queue(&run->lanes[k], &run->lanes[i])) {
				m->queue_of[i] = m->queue_of[k];
				break;
			}
	}
}

/*
 * The shortest delays of each queue: from a call to a command, and between two commands of which
 * the second one was there long before.
 */
static void find_delays(struct traced_model *m)
{
	for (size_t i = 0; i < m->order_count; i++) {
		const struct run_command *c = &m->run->commands[m->order[i]];
		struct traced_queue *q = &m->queues[m->queue_of[c->lane]];
		double begin = (double)run_command_sample(m->run, c)->begin_ns;
		q->least_launch_ns =
			fmin(q->least_launch_ns, fmax(begin - (double)c->launch_ns, 0));
	}
	for (size_t i = 0; i < m->order_count; i++) {
		const struct run_command *c = &m->run->commands[m->order[i]];
		const struct run_sample *s = run_command_sample(m->run, c);
		struct traced_queue *q = &m->queues[m->queue_of[c->lane]];
		double begin = (double)s->begin_ns, gap = begin - q->end_ns;
		if (q->end_ns > 0 && gap >= 0 &&
			begin - (double)c->launch_ns > 2 * q->least_launch_ns)
			q->least_gap_ns = fmin(q->least_gap_ns, gap);
		q->end_ns = fmax(q->end_ns, (double)s->end_ns);
	}
	for (size_t i = 0; i < m->run->lane_count; i++)
		if (!isfinite(m->queues[i].least_gap_ns))
			m->queues[i].least_gap_ns = 0;
}

/* The thread waited until `until`, for a command that ended at `end` and would be earlier by
 * `early`. */
static double wait_early(double thread_early, double begin, double until, double end, double early)
{
	double rest = end > begin ? fmax(until - end, 0) : until - begin;
	double without = fmax(begin - thread_early, end - early) + rest;

	return fmax(until - without, 0);
}

static double of_pass(const struct traced_each *each, int pass)
{
	return pass == 0 ? each->ns : pass == 1 ? each->low_ns : each->high_ns;
}

/* A call costs what it costs, whether or not a device hides it. */
static double call_cost(const struct traced_model *m, const struct traced_call *call, int pass)
{
	const struct traced_calibration *c = calibration_of(m, call);
	double callbacks = of_pass(&c->callbacks, pass);

	if (call->waits)
		return callbacks;
	if (call->is_whole)
		return callbacks + of_pass(&c->replay, pass);
	if (call->count == 1)
		return callbacks + of_pass(&c->record, pass);
	return callbacks + (double)call->count * of_pass(&c->node, pass) +
	       (call->is_switched ? of_pass(&c->sample, pass) : 0);
}

static void pass_launch(struct traced_model *m, const struct traced_call *call, int pass)
{
	const struct run *run = m->run;
	const struct traced_calibration *c = calibration_of(m, call);
	double *thread = &m->threads[call->lane], before = *thread;
	double device = of_pass(call->is_whole ? &c->replay_device : &c->device, pass);
	double cost = call_cost(m, call, pass);

	*thread += cost;
	for (size_t i = 0; i < call->count; i++, device = call->is_whole ? 0 : device) {
		uint32_t number = m->order[call->first + i];
		const struct run_command *command = &run->commands[number];
		const struct run_sample *s = run_command_sample(run, command);
		struct traced_queue *q = &m->queues[m->queue_of[command->lane]];
		double begin = (double)s->begin_ns, given = (double)i / (double)call->count;
		/* how much of its call's cost comes before the device is given the command */
		double part = pass == 0 ? (1 + given) / 2 : pass == 1 ? given : 1;
		double called = before + part * cost;
		double gap = q->end_ns > 0 ? fmax(begin - q->end_ns, 0) : INFINITY;
		double by_call =
			called + device + begin - (double)command->launch_ns - q->least_launch_ns;
		double by_queue = q->early_ns + device +
				  (isfinite(gap) ? gap - fmin(gap, q->least_gap_ns) : INFINITY);
		double most = fmax(called, q->early_ns) + device;
		q->early_ns = fmax(fmin(fmin(by_call, by_queue), most), 0);
		q->end_ns = fmax(q->end_ns, (double)s->end_ns);
		m->commands[number] = q->early_ns;
		if (command->kernel < run->kernel_count &&
			run->kernels[command->kernel].kind == BRICK_KERNEL_D2H &&
			command->launch_end_ns > s->end_ns) /* the call itself waited */
			*thread = wait_early(*thread, (double)command->launch_ns,
				(double)command->launch_end_ns, (double)s->end_ns, q->early_ns);
	}
}

static void pass_wait(struct traced_model *m, const struct traced_call *call, int pass)
{
	const struct run *run = m->run;
	const struct run_sample *sample = &run->lanes[call->lane].samples[call->sample];
	double *thread = &m->threads[call->lane], end = 0, without = 0;

	*thread += call_cost(m, call, pass);
	for (size_t i = 0; i < call->count; i++) {
		uint32_t number = run->waits[call->first + i].command;
		double ended = (double)run_command_sample(run, &run->commands[number])->end_ns;
		end = fmax(end, ended);
		without = fmax(without, ended - m->commands[number]);
	}
	*thread = wait_early(
		*thread, (double)sample->begin_ns, (double)sample->end_ns, end, end - without);
}

static void traced_pass(struct traced_costs *costs, struct traced_model *m, int pass)
{
	for (size_t i = 0; i < m->run->lane_count; i++) {
		m->threads[i] = 0;
		m->queues[i].end_ns = m->queues[i].early_ns = 0;
	}
	for (size_t i = 0; i < m->call_count; i++) {
		const struct traced_call *call = &m->calls[i];
		struct traced_cost *cost = &costs->phases[call->phase];
		double before = m->threads[call->lane];
		if (call->waits)
			pass_wait(m, call, pass);
		else
			pass_launch(m, call, pass);
		double more = m->threads[call->lane] - before;
		*(pass == 0 ? &cost->ns : pass == 1 ? &cost->low_ns : &cost->high_ns) += more;
		cost->spent_ns += pass ? 0 : call_cost(m, call, pass);
	}
}

/*
 * Costs of less than nothing are none; the interval holds the estimate. It is no wider than the
 * calibration's spread makes it: that held the truth for 88 of 90 seeds (docs/CUDA.md).
 */
static void put_in_order(struct traced_cost *cost)
{
	cost->ns = fmax(cost->ns, 0);
	cost->low_ns = fmax(fmin(cost->low_ns, cost->ns), 0);
	cost->high_ns = fmax(cost->high_ns, cost->ns);
}

static bool model_prepare(struct traced_model *m)
{
	const struct run *run = m->run;

	m->calibrations = calloc(run->process_count + 1, sizeof(*m->calibrations));
	m->samples = calloc(run->process_count + 1, sizeof(*m->samples));
	m->order = calloc(m->order_count + 1, sizeof(*m->order));
	m->calls = calloc(m->order_count + run->wait_count + 1, sizeof(*m->calls));
	m->queues = calloc(run->lane_count + 1, sizeof(*m->queues));
	m->queue_of = calloc(run->lane_count + 1, sizeof(*m->queue_of));
	m->threads = calloc(run->lane_count + 1, sizeof(*m->threads));
	m->commands = calloc(run->command_count + 1, sizeof(*m->commands));
	return m->calibrations && m->samples && m->order && m->calls && m->queues && m->queue_of &&
	       m->threads && m->commands;
}

static void model_fini(struct traced_model *m)
{
	free(m->calibrations);
	free(m->samples);
	free(m->order);
	free(m->calls);
	free(m->queues);
	free(m->queue_of);
	free(m->threads);
	free(m->commands);
}

void traced_costs_of(
	struct traced_costs *costs, const struct run *run, const struct step_index *index)
{
	SCOPED_BY(model_fini) struct traced_model m = {.run = run, .index = index};

	*costs = (struct traced_costs){.known = false};
	count_commands(costs, &m);
	if (!m.order_count || !model_prepare(&m))
		return;
	traced_read_notes(costs, &m);
	costs->known = costs->known && list_commands(&m);
	if (!costs->known)
		return;
	list_launches(&m);
	list_waits(&m);
	qsort(m.calls, m.call_count, sizeof(*m.calls), traced_by_time);
	find_switches(&m);
	traced_find_queues(&m);
	find_delays(&m);
	for (int pass = 0; pass < 3; pass++)
		traced_pass(costs, &m, pass);
	for (int i = 0; i <= STEP_PHASES; i++)
		put_in_order(&costs->phases[i]);
}
