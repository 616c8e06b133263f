/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The account: what recording lost and spent, what is known of threads off their CPUs, what the
 * machine did meanwhile. A later one replaces all of an earlier one.
 */
#include "lib/writer/writer_state.h"

static void account_gaps(struct trace_writer *w, const struct off_cpu_account *account)
{
	size_t list = event_array(w, "off_cpu_gaps");

	for (uint32_t i = 0; i < account->gap_count && i < OFF_CPU_GAPS; i++) {
		const struct off_cpu_gap *gap = &account->gaps[i];
		size_t dict = event_dict(w, NULL);
		event_uint(w, "begin_ns", gap->begin_ns);
		if (gap->end_ns != UINT64_MAX)
			event_uint(w, "end_ns", gap->end_ns);
		event_uint(w, "per_s", gap->per_s);
		event_uint(w, "each_ns", gap->each_ns);
		event_end_nested(w, dict);
	}
	event_end_nested(w, list);
}

static void account_off_cpu(struct trace_writer *w, const struct off_cpu_account *account)
{
	event_uint(w, "off_cpu", account->source);
	if (account->source == OFF_CPU_UNKNOWN)
		event_int(w, "off_cpu_error", account->error);
	else
		event_uint(w, "off_cpu_lost", account->lost);
	if (account->gap_count)
		account_gaps(w, account);
	if (account->cost_ns) {
		event_uint(w, "off_cpu_cost_low_ns", account->cost_low_ns);
		event_uint(w, "off_cpu_cost_ns", account->cost_ns);
		event_uint(w, "off_cpu_cost_high_ns", account->cost_high_ns);
	}
	if (!account->watched_ns)
		return;
	event_uints(w, account, watched_ns, ran_ns, queued_ns);
}

static void account_machine(struct trace_writer *w, const struct machine_use *use)
{
	if (!(use->busy_ns | use->steal_ns | use->idle_ns))
		return;
	event_uints(w, use, busy_ns, steal_ns, idle_ns, interrupt_ns);
	if (use->interrupt_cpu_ns) {
		event_uints(w, use, interrupt_cpu, interrupt_cpu_ns, interrupt_cpu_all_ns);
	}
	if (use->throttled_ns)
		event_uint(w, "throttled_ns", use->throttled_ns);
	if (!use->neighbour_ns)
		return;
	event_uint(w, "neighbour_ns", use->neighbour_ns);
	event_text(w, "neighbour", use->neighbour, sizeof use->neighbour);
}

int writer_sink_account(struct sink *sink, const struct sink_account *account)
{
	struct trace_writer *w = writer_of(sink);

	if (account->end_ns > w->last_ns)
		w->last_ns = account->end_ns;
	event_open(w, FORMAT_ACCOUNT, w->last_ns);
	event_uints(w, account, end_ns, consumer_cpu_ns, program_cpu_ns, lost_processes,
		refused_records, cpus, usable_cpus);
	event_int(w, "exit_code", account->exit_code);
	event_uint(w, "residual_ns", account->clock_residual_ns);
	event_uint(w, "bad_records", w->bad_records);
	account_off_cpu(w, &account->off_cpu);
	account_machine(w, &account->machine);
	return event_close(w);
}
