/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says in words how far to trust numbers: losses (one line in `kinds` for each), and how the
 * distortion was measured, in clauses with "; " between them.
 */
#include "ui/text/trust_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "ui/text/phase_text.h"
#include "ui/text/text.h"

bool losses_describe(const struct losses *losses, size_t k, uint64_t *count, char what[LOSS_BYTES])
{
	char truncated[LOSS_BYTES], packets[LOSS_BYTES];
	const struct {
		uint64_t count;
		const char *one, *many;
	} kinds[] = {
		{losses->dropped, "record dropped, by a full ring or a driver",
			"records dropped, by a full ring or a driver"},
		{losses->open, "sample never ended", "samples never ended"},
		{losses->unmatched, "begin or end unmatched", "begins or ends unmatched"},
		{losses->clamped, "time clamped", "times clamped"},
		{losses->unsupported, "execution seen but not timed",
			"executions seen but not timed"},
		{losses->too_deep, "brick nested too deep", "bricks nested too deep"},
		{losses->table_full, "name, site or thread without room in a table",
			"names, sites or threads without room in a table"},
		{losses->refused,
			"record of a thread or process that had no memory or file to record to",
			"records of threads or processes that had no memory or file to record to"},
		{losses->truncated_bytes, truncated, truncated},
		{losses->bad_packets, packets, packets},
		{losses->bad_records, "record that broke the rules of its ring",
			"records that broke the rules of their ring"},
		{losses->lost_processes, "process lost", "processes lost"},
		{losses->is_imported ? losses->unfinished_processes : 0,
			"process has events without an end",
			"processes have events without an end"},
		{losses->is_imported ? 0 : losses->unfinished_processes,
			"process ended by _exit() or a signal",
			"processes ended by _exit() or a signal"},
		{losses->unanswered, "command of those was launched, and its times never came",
			"commands of those were launched, and their times never came"},
	};
	snprintf(truncated, sizeof(truncated),
		"byte%s at the end of the file unreadable, from byte %llu on",
		losses->truncated_bytes == 1 ? "" : "s", (unsigned long long)losses->truncated_at);
	snprintf(packets, sizeof(packets),
		losses->bad_packets == 1 ? "packet of the file unusable, at byte %llu"
					 : "packets of the file unusable, the first at byte %llu",
		(unsigned long long)losses->bad_packet_at);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!kinds[i].count || k--)
			continue;
		*count = kinds[i].count;
		snprintf(what, LOSS_BYTES, "%s", *count == 1 ? kinds[i].one : kinds[i].many);
		return true;
	}
	return false;
}

#define say(text, ...) text_append(text, "; ", __VA_ARGS__)

char *pair_costs_text(const struct pair_costs *costs)
{
	double ns = costs->ns / costs->count, low_ns = costs->low_ns / costs->count;
	double high_ns = costs->high_ns / costs->count;
	if (!(costs->between_ns > 0))
		return text_format(
			"%.0f begin/end pairs at %.1f ns, timed at the start: %.1f in warm caches "
			"to %.1f behind 2 MB of other data (the interval is of these; a pair "
			"behind more than all caches hold takes longer)",
			costs->count, ns, low_ns, high_ns);
	char *text = text_format(
		"%.0f begin/end pairs, one in %.1f us, at %.1f ns, timed at the start: %.1f in "
		"warm caches to %.1f behind as much data as can go through them in between",
		costs->count, costs->between_ns / 1e3, ns, low_ns, high_ns);
	if (costs->cold_ns > 0)
		text_append(&text, "", " (one that is in no cache at all: %.1f at most)",
			costs->cold_ns);
	return text;
}

static void say_costs(char **text, const struct distortion *d)
{
	const struct hook_costs *costs = &d->costs;

	if (costs->pairs.count > 0) {
		SCOPED char *pairs = pair_costs_text(&costs->pairs);
		say(text, "%s", pairs);
	}
	if (costs->timed > 0) {
		say(text,
			"%.0f calls of hooks at %.1f ns, the mean of %.0f timed in place; calling "
			"a hook and what it displaces in caches may cost up to %.1f ns more each%s",
			costs->calls, costs->timed_ns / costs->timed, costs->timed,
			costs->unseen_ns / costs->calls,
			d->has_commands ? "" : " (--measure-distortion measures it)");
	}
	if (costs->own_ns > 0)
		say(text, "%.3f ms looking up rebuilt graphs", costs->own_ns / 1e6);
	if (costs->beside_ns > 0)
		say(text, "%.3f ms getting other threads ready to record", costs->beside_ns / 1e6);
	if (costs->has_observers)
		say(text, "PyTorch takes a slower path for each operator that is observed, which "
			  "no clock of Brick's sees");
	else if (costs->has_team)
		say(text, "the evaluation callback splits graphs, and several threads are started "
			  "or woken for each part, which may take several times as long as the "
			  "work (--measure-distortion measures it)");
	else if (costs->nodes > 0 && !costs->splits)
		say(text, "the evaluation callback splits graphs, and no node without work was "
			  "there to see what that costs the engine");
	else if (!costs->known)
		say(text, "some costs were not measured");
	if (costs->splits > 0) {
		say(text,
			"the evaluation callback had %.0f nodes computed as graphs of their own: "
			"at least %.1f us each, %.1f in the mean, by %.0f without work; %s",
			costs->nodes, costs->split_min_ns / 1e3,
			costs->split_ns / costs->splits / 1e3, costs->splits,
			costs->has_digests
				? "with digests at most all that the graphs took"
				: "what a split displaces in caches may cost up to three times as "
				  "much again (--measure-distortion measures it)");
	}
}

static void say_turns(char **text, const struct distortion *d)
{
	if (!d->turns)
		return;
	say(text, "%" PRIu32 " threads took turns on fewer CPUs", d->turns);
	if (d->noise < 0)
		say(text, "too few steps to see how much their times vary");
	else
		say(text, "step times vary by %.1f%%; smaller differences are noise",
			100 * d->noise);
}

static void say_switches(char **text, const struct switch_cost *switches)
{
	if (!switches->is_many)
		return;
	if (switches->each_ns)
		say(text,
			"the records of %.0f switches off the CPU took %" PRIu64
			" ns each, timed at the end",
			switches->count, switches->each_ns);
	else
		say(text, "what the records of %.0f switches off the CPU took was not measured",
			switches->count);
}

/* What the driver's own tracing took. */
static void say_traced(char **text, const struct distortion *d)
{
	const struct traced_costs *costs = d->tracing;
	const struct traced_cost *traced = &d->traced;

	if (traced->commands > 0 && !costs->known) {
		say(text,
			"what the driver's own tracing took for %.0f commands is not known (%s): "
			"compare with a run without Brick",
			traced->commands, costs->why ? costs->why : "nothing measured it");
	} else if (traced->commands > 0) {
		const struct traced_calibration *c = &costs->calibration;
		double paused = c->is_light ? 0 : traced->commands * c->device.ns;
		double spent = traced->spent_ns + paused;
		say(text,
			"the driver's tracing of %.0f commands took %.3f ms (%.3f to %.3f), "
			"modelled from a calibration on this device at the start: a launch took "
			"%.2f us more with it, a kernel of a replayed graph %.2f us",
			traced->commands, traced->ns / 1e6, traced->low_ns / 1e6,
			traced->high_ns / 1e6, (c->callbacks.ns + c->record.ns) / 1e3,
			c->node.ns / 1e3);
		if (c->is_light)
			say(text,
				"a replay recorded as a whole took %.2f us, two switches of "
				"CUPTI's "
				"for each other one %.2f us",
				c->replay.ns / 1e3, c->sample.ns / 1e3);
		if (spent > traced->ns * 1.05)
			say(text, "the devices' work hid %.0f%% of that",
				100 * (1 - traced->ns / spent));
	}
}

const char *distortion_obstacle(const struct distortion *d)
{
	const struct hook_costs *costs = &d->costs;

	if (d->share >= 0)
		return NULL;
	if (d->traced.commands > 0 && d->tracing && !d->tracing->known)
		return "no calibration of CUDA's tracing";
	if (d->turns && d->noise < 0)
		return "too few steps";
	return (costs->pairs.count > 0 || costs->timed > 0) && !costs->known
		       ? "some costs were not measured"
		       : NULL;
}

char *distortion_text(const struct distortion *d)
{
	char *text = NULL;

	if (d->is_measured) {
		for (int phase = 0; phase < STEP_PHASES; phase++) {
			const char *name = phase_label(phase);
			if (d->phases[phase] == DISTORTION_BY_PLAIN_STEPS)
				say(&text, "%s by %zu steps left whole, against their neighbours",
					name, d->plain_steps[phase]);
			else if (d->phases[phase] == DISTORTION_BY_COSTS)
				say(&text, "%s by hooks timed in place", name);
		}
	} else
		say_costs(&text, d);
	say_turns(&text, d);
	say_switches(&text, &d->switches);
	if (d->consumer_share >= 0)
		say(&text, "the recorder took %.2f%% of the CPUs' time (%.0f%% was idle%s)",
			100 * d->consumer_share, 100 * d->idle,
			d->saturated ? ": counted as taken from the program" : "");
	if (d->helpers.ns > 0)
		say(&text,
			"Brick's own threads inside of the program took %.3f ms of the CPUs, at "
			"most %.3f of that from it",
			d->helpers.ns / 1e6, d->helpers.most_ns / 1e6);
	say_traced(&text, d);
	if (d->has_timestamps)
		say(&text,
			"what it takes a device to write timestamps is not in it: compare with a "
			"run without Brick");
	return text;
}

char *preempted_text(const struct presence *p)
{
	char share[UNITS_BYTES];

	if (p->preempted <= TRUST_MAX_PREEMPTED)
		return NULL;
	return text_format("Threads were preempted for %s of the steps' time.",
		units_percent(share, p->preempted));
}
