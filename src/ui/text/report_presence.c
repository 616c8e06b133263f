/* SPDX-License-Identifier: Apache-2.0 */
/* Two lines of the part on trust: the machine's CPUs, and the steps' threads. */
#include "ui/text/report_presence.h"

#include <errno.h>
#include "brick/error.h"
#include "ui/text/json_out.h"
#include "ui/text/text.h"
#include "ui/text/terminal.h"

char *report_neighbour_text(const struct run *run, const struct presence *p)
{
	char share[UNITS_BYTES];
	if (!run->machine.neighbour_ns)
		return text_copy("");
	return text_format(" (of those that ran to the end, %s used most, %s)",
		run->machine.neighbour, units_percent(share, p->neighbour));
}

/*
 * Interrupts are in the time on the CPU of the thread that they interrupted, and one CPU may have
 * nearly all of them.
 */
static void interrupts_text(char *to, size_t size, const struct presence *p)
{
	char share[UNITS_BYTES], there[UNITS_BYTES], of[48] = "";

	*to = 0;
	if (p->interrupts < 0.005 && p->interrupts_there < 0.005)
		return;
	if (p->interrupts_there >= 0.005)
		snprintf(of, sizeof(of), " (%s of CPU %.0f)",
			units_percent(there, p->interrupts_there), p->interrupted_cpu);
	snprintf(to, size, "interrupts %s%s; ", units_percent(share, p->interrupts), of);
}

static char *throttled_text(const struct run *run)
{
	char time[UNITS_BYTES];
	if (!run->machine.throttled_ns)
		return text_copy("");
	return text_format(
		"; the CPU limit of the program's control group held it back for %s, summed over "
		"CPUs",
		units_time(time, run->machine.throttled_ns));
}

static void report_presence_print_machine(const struct run *run, const struct presence *p,
	const struct terminal *terminal, size_t label)
{
	char busy[UNITS_BYTES], others[UNITS_BYTES], steal[UNITS_BYTES];
	char interrupts[128];
	if (p->busy < 0)
		return;
	SCOPED char *neighbour = report_neighbour_text(run, p);
	SCOPED char *throttled = throttled_text(run);
	interrupts_text(interrupts, sizeof(interrupts), p);
	paragraph(terminal, label, "CPUs", "%s busy; other processes %s%s; %ssteal %s%s",
		units_percent(busy, p->busy), units_percent(others, p->others), neighbour,
		interrupts, units_percent(steal, p->steal), throttled);
}

static char *threads_text(const struct presence *p)
{
	char queued[UNITS_BYTES], idle[UNITS_BYTES];
	if (p->queued < 0)
		return text_copy("");
	return text_format("; by schedstat, per interval: recorded threads waited for a CPU during "
			   "%s of their "
			   "time, and were blocked or preempted by the host during %s",
		units_percent(queued, p->queued), units_percent(idle, p->idle));
}

static char *report_presence_steps_text(const struct presence *p)
{
	char off[UNITS_BYTES];
	if (p->off < 0)
		return text_copy("");
	return text_format(
		"; by getrusage, per step: the steps' threads were off their CPUs for %s of the "
		"steps' time",
		units_percent(off, p->off));
}

void report_off_cpu_reason(int error, char *text, size_t size)
{
	if (error == OFF_CPU_ELSEWHERE)
		snprintf(text, size,
			"the program is in a PID namespace of its own, and /proc does not tell its "
			"threads: record from inside of that");
	else if (error == -E2BIG)
		snprintf(text, size, "too many threads: each takes an event on each CPU");
	else
		snprintf(text, size, "perf_event_open: %s", brick_strerror(error));
}

/* Says that the kernel refused times off the CPU per brick, and names the counts that exist. */
static void print_unknown(const struct run *run, const struct presence *p,
	const struct terminal *terminal, size_t label)
{
	if (!run->off_cpu.error)
		return;
	SCOPED char *threads = threads_text(p), *steps = report_presence_steps_text(p);
	char reason[128];
	report_off_cpu_reason(run->off_cpu.error, reason, sizeof(reason));
	paragraph(terminal, label, "Off CPU",
		"not known per brick: bricks have wall-clock times (%s)%s%s", reason, threads,
		steps);
}

/* Seconds from the begin of the recording, as --since takes them. */
static double since(const struct run *run, uint64_t ns)
{
	return ns > run->start_ns ? (double)(ns - run->start_ns) / 1e9 : 0;
}

/* "0.310 s to 1.400 s, 3.000 s to the end": the caller frees. */
static char *gaps_text(const struct run *run)
{
	const struct off_cpu_account *o = &run->off_cpu;
	char *text = NULL;

	for (uint32_t i = 0; i < o->gap_count; i++) {
		double from = since(run, o->gaps[i].begin_ns), to = since(run, o->gaps[i].end_ns);
		if (o->gaps[i].end_ns < run->end_ns)
			text_append(&text, ", ", "%.3f s to %.3f s", from, to);
		else
			text_append(&text, ", ", "%.3f s to the end", from);
	}
	return text;
}

/*
 * Prints why and when times off the CPU are unknown, and what is shown instead, if a table has a
 * step in such a gap.
 */
static void report_presence_print_gaps(const struct run *run, const struct presence *p,
	const struct terminal *terminal, size_t label)
{
	const struct off_cpu_gap *first = run->off_cpu.gaps;
	char per_s[UNITS_BYTES], known[UNITS_BYTES];
	SCOPED char *gaps = gaps_text(run);
	SCOPED char *threads = threads_text(p);

	paragraph(terminal, label, "",
		"not recorded from %s, as threads left their CPUs %s times a second, each %.1f us "
		"to record (record --off-cpu on does it all the same); known of %s of the steps' "
		"time: what has other steps in it has no CPU and OFF (--steps, --since and --until "
		"choose)%s",
		gaps, units_count(per_s, first->per_s), (double)first->each_ns / 1e3,
		p->known < 0 ? "none" : units_percent(known, p->known), threads);
}

void report_presence_text(const struct run *run, const struct presence *p,
	const struct terminal *terminal, size_t label)
{
	char preempted[UNITS_BYTES], blocked[UNITS_BYTES], lost[UNITS_BYTES];
	report_presence_print_machine(run, p, terminal, label);
	if (run->off_cpu.source == OFF_CPU_UNKNOWN) {
		print_unknown(run, p, terminal, label);
		return;
	}
	SCOPED char *losses = run->off_cpu.lost ? text_format("; %s context switches are missing",
							  units_count(lost, run->off_cpu.lost))
						: text_copy("");
	static const char what[] = "steps and tokens/s are wall-clock time";
	const char *of = run->off_cpu.gap_count ? " that are known of" : "";
	if (p->preempted >= 0)
		paragraph(terminal, label, "Off CPU",
			"the steps' threads were preempted for %s and blocked for %s of the steps' "
			"time%s; %s%s",
			units_percent(preempted, p->preempted), units_percent(blocked, p->blocked),
			of, what, losses);
	else
		paragraph(terminal, label, "Off CPU", "%s%s", what, losses);
	if (run->off_cpu.gap_count)
		report_presence_print_gaps(run, p, terminal, label);
}

static json_t *gaps_json(const struct run *run)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < run->off_cpu.gap_count; i++) {
		const struct off_cpu_gap *gap = &run->off_cpu.gaps[i];
		bool ends = gap->end_ns < run->end_ns;
		json_t *object = json_object();
		json_put(object, "from_s", json_real(since(run, gap->begin_ns)));
		json_put(object, "to_s", ends ? json_real(since(run, gap->end_ns)) : json_null());
		json_put_numbers(object, gap, per_s, each_ns);
		json_add(list, object);
	}
	return list;
}

json_t *report_presence_json(const struct run *run, const struct presence *p)
{
	json_t *object = json_object();
	bool known = run->off_cpu.source != OFF_CPU_UNKNOWN;
	const char *fallback = p->queued >= 0	       ? "schedstat"
			       : !known && p->off >= 0 ? "getrusage"
						       : NULL;
	json_put(object, "cpus_busy", json_rate(p->busy));
	json_put_rates(object, p, others, interrupts);
	json_put(object, "interrupted_cpu",
		p->interrupted_cpu < 0 ? json_null() : json_number((uint64_t)p->interrupted_cpu));
	json_put_rates(object, p, interrupts_there, steal);
	json_put(object, "throttled_ns", json_number(run->machine.throttled_ns));
	json_put(object, "neighbour",
		run->machine.neighbour_ns ? json_text(run->machine.neighbour) : json_null());
	json_put(object, "neighbour_share", json_rate(p->neighbour));
	json_put(object, "off_cpu_known", known ? json_rate(p->known) : json_null());
	json_put(object, "off_cpu_gaps", known ? gaps_json(run) : json_null());
	json_put(object, "off_cpu", known ? json_text("switches") : json_null());
	json_put(object, "off_cpu_fallback", fallback ? json_text(fallback) : json_null());
	json_put(object, "switches_lost", known ? json_number(run->off_cpu.lost) : json_null());
	json_put_rates(object, p, preempted, blocked);
	json_put(object, "steps_off", json_rate(p->off));
	json_put(object, "threads_queued", json_rate(p->queued));
	json_put(object, "threads_idle", json_rate(p->idle));
	return object;
}
