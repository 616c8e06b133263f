/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The course of a recording. Whatever fails on our side, the program runs, and its exit code is
 * returned: before it has started it runs unrecorded, later it runs on while we only wait for it.
 */
#include "record/recorder.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock_ns.h"
#include "base/file.h"
#include "base/members.h"
#include "lib/drain/machine.h"
#include "lib/drain/drain_pace.h"
#include "record/encoder.h"
#include "record/record_guard.h"
#include "record/keep_old.h"
#include "record/keeper.h"
#include "record/left_behind.h"
#include "record/messages.h"
#include "record/lighten.h"
#include "record/outside.h"
#include "record/session_dir.h"
#include "record/switch_timing.h"
#include "record/watch.h"
#include "lib/writer/writer.h"

#define OUTLIVE_NS 2000000000ull /* for processes that go on after the program */
struct recorder {
	const struct recorder_options *options;
	struct recorder_result *result;
	struct signals signals;
	struct environment environment;
	struct session_dir dir;
	struct keeper keeper;
	struct drain_clock clock;
	struct trace_writer *writer; /* the encoder's while there is one */
	struct encoder *encoder;
	struct watch *watch;
	struct outside outside;
	struct left_behind left_behind;
	pid_t pid;
	uint64_t start_ns, start_cpu_ns, flushed_ns;
	uint64_t ended_ns; /* 0 while the program runs */
	int interrupted;   /* after it ended: do not wait for others */
};

/* ---- what precedes the program ---- */

static int create_writer(struct recorder *r)
{
	char host[256] = "", cpu[128] = "";

	gethostname(host, sizeof host - 1);
	file_field("/proc/cpuinfo", "model name", cpu, sizeof cpu);
	struct trace_writer_options options = {
		.path = r->options->output,
		.start_unix_ns = real_ns(),
		.start_ns = monotonic_ns(),
		.command = (const char *const *)r->options->command,
		.host = host,
		.cpu = cpu[0] ? cpu : NULL,
		.compress = r->options->compress,
	};
	return trace_writer_create(&r->writer, &options);
}

static int prepare_environment(struct recorder *r)
{
	const struct environment *theirs = &r->options->environment;
	struct environment *env = &r->environment;

	int error = environment_add(env, "BRICK_SESSION_DIR=%s", r->dir.path);
	/* all processes of a recording must read the same clock */
	if (!error && r->clock.clock.source == BRICK_CLOCK_MONOTONIC)
		error = environment_add(env, "BRICK_CLOCK=monotonic");
	if (!error && r->options->off_cpu && off_cpu_available())
		error = environment_add(env, "BRICK_OFF_CPU=steps");
	for (size_t i = 0; i < theirs->variables.count && !error; i++)
		error = environment_add(env, "%s", theirs->variables.items[i]);
	if (error || !r->options->inject)
		return error;
	return inject_all(env, r->options->command[0], &r->result->obstacle);
}

/* Nothing is left of what was prepared. */
static void discard(struct recorder *r)
{
	trace_writer_abandon(r->writer);
	r->writer = NULL;
	watch_destroy(r->watch);
	r->watch = NULL;
	outside_fini(&r->outside);
	keeper_stop(&r->keeper);
	if (r->dir.path[0])
		session_dir_remove(&r->dir);
	r->dir.path[0] = '\0';
}

static int prepare_watching(struct recorder *r)
{
	struct watch_options options = {&r->dir, &r->clock, r->options->interval_ms};
	int error = guard_install();

	if (!error)
		error = watch_create(&r->watch, &options);
	return error ? error : prepare_environment(r);
}

/* Everything that recording needs; 0 when it cannot be had, which is said. */
static int prepare(struct recorder *r)
{
	const char *what = NULL;
	int error = create_writer(r);

	if (!error) {
		what = "session directory";
		error = session_dir_create(&r->dir);
		if (error)
			r->dir.path[0] = '\0';
	}
	if (!error)
		error = prepare_watching(r);
	if (!error)
		return 1;
	messages_refused(r->options, what, error);
	discard(r);
	environment_fini(&r->environment);
	return 0;
}

/* ---- while it runs ---- */

static void program_ended(struct recorder *r, const struct spawn_result *end)
{
	r->result->exit_code = end->exit_code;
	r->result->program_cpu_ns = end->cpu_ns;
	r->ended_ns = monotonic_ns();
	r->result->wall_ns = r->ended_ns - r->start_ns;
}

static void handle_signals(struct recorder *r)
{
	struct spawn_result end;
	enum signals_event event;
	int number;

	while ((event = signals_next(&r->signals, &number)) != SIGNALS_NONE) {
		if (event == SIGNALS_FORWARD && !r->ended_ns)
			kill(r->pid, number);
		if (event != SIGNALS_CHILD && r->ended_ns)
			r->interrupted = 1;
	}
	if (!r->ended_ns && spawn_wait(r->pid, 0, &end))
		program_ended(r, &end);
}

static void pause_for(struct recorder *r, uint32_t ms)
{
	struct pollfd fds[2] = {
		{.fd = r->signals.fd, .events = POLLIN},
		{.fd = r->watch ? watch_fd(r->watch) : -1, .events = POLLIN},
	};
	poll(fds, 2, (int)ms);
}

/* Without recording: wait for the program as a shell would. */
static void wait_only(struct recorder *r)
{
	while (!r->ended_ns) {
		pause_for(r, UINT32_MAX);
		handle_signals(r);
	}
}

static int is_over(struct recorder *r, uint64_t now_ns)
{
	if (!r->ended_ns)
		return 0;
	int left = (int)watch_live(r->watch);
	if (!left && !watch_totals(r->watch).processes)
		left = r->result->left_behind =
			left_behind_look(&r->left_behind, r->dir.path, r->keeper.pid);
	return !left || r->interrupted || (!r->options->wait && now_ns - r->ended_ns >= OUTLIVE_NS);
}

/* A process that could have no session is as lost as one whose session could not be read. */
static uint64_t lost_processes(const struct recorder *r)
{
	return watch_totals(r->watch).lost +
	       __atomic_load_n(&r->dir.refusals->processes, __ATOMIC_RELAXED);
}

static struct sink_account account(struct recorder *r, int ended)
{
	struct sink_account a = {
		.end_ns = monotonic_ns(),
		.consumer_cpu_ns = process_cpu_ns() - r->start_cpu_ns,
		.program_cpu_ns = r->result->program_cpu_ns,
		.lost_processes = lost_processes(r),
		.refused_records = __atomic_load_n(&r->dir.refusals->records, __ATOMIC_RELAXED),
		.cpus = drain_cpus_online(),
		.usable_cpus = drain_cpus_usable(),
		.exit_code = r->ended_ns ? r->result->exit_code : -1,
		.clock_residual_ns = drain_clock_check(&r->clock),
	};
	outside_account(&r->outside, r->pid, ended, &a);
	return a;
}

/* One round; returns how long to sleep. */
static uint32_t turn(struct recorder *r, uint64_t now_ns)
{
	uint32_t flush_ms = drain_flush_in_ms(r->options->interval_ms, r->flushed_ns, now_ns);
	uint32_t next_ms = watch_turn(r->watch, now_ns, !flush_ms);
	uint32_t encode_ms = encoder_turn(r->encoder);

	if (flush_ms) {
		next_ms = flush_ms < next_ms ? flush_ms : next_ms;
	} else if (watch_has_consumed(r->watch)) {
		struct sink_account a = account(r, 0);
		encoder_flush(r->encoder, &a); /* without memory: after the next interval */
		r->flushed_ns = now_ns;
	}
	return encode_ms < next_ms ? encode_ms : next_ms;
}

static void record_until_over(struct recorder *r)
{
	uint64_t now_ns = monotonic_ns();

	r->flushed_ns = now_ns;
	while (!encoder_error(r->encoder)) {
		uint32_t next_ms = turn(r, now_ns);
		if (is_over(r, now_ns))
			return;
		pause_for(r, next_ms);
		handle_signals(r);
		now_ns = monotonic_ns();
	}
}

/* ---- what follows it ---- */

static void take_totals(struct recorder *r)
{
	struct watch_totals t = watch_totals(r->watch);
	struct recorder_result *result = r->result;

	members_copy(result, &t, processes, lost, dead, outlived, records, samples, steps, threads,
		dropped);
	result->refused_processes = r->dir.refusals->processes;
	result->refused_records = r->dir.refusals->records;
	result->refused_error = r->dir.refusals->error;
	result->refused_pid = r->dir.refusals->pid;
	result->fault = t.fault;
	result->notes = strdup(t.notes);
}

static int finish_file(struct recorder *r, const struct sink_account *a)
{
	uint64_t pairs;
	struct stat file;
	int error = encoder_error(r->encoder);

	if (!r->writer)
		return error;
	error = sink_account(trace_writer_sink(r->writer), a);
	if (!error)
		error = sink_flush(trace_writer_sink(r->writer));
	trace_writer_counts(r->writer, &r->result->bytes, &pairs);
	int old = error ? 0 : keep_old(r->options->output);
	if (old)
		r->options->warn("record: %s.old: %s; the recording before is not kept",
			r->options->output, strerror(-old));
	int last = trace_writer_finish(r->writer);
	r->writer = NULL;
	if (!stat(r->options->output, &file))
		r->result->bytes = (uint64_t)file.st_size;
	return error ? error : last;
}

static void add_off_cpu(struct off_cpu_account *to, struct off_cpu_account part)
{
	members_add(to, &part, lost, watched_ns, ran_ns, queued_ns);
}

static void finish(struct recorder *r)
{
	if (!encoder_error(r->encoder))
		watch_end_all(r->watch);
	/* What is encoded from here on is no burden to the program any more. */
	struct sink_account a = account(r, 1);
	encoder_finish(r->encoder, &r->writer);
	a.lost_processes = lost_processes(r);
	add_off_cpu(&a.off_cpu, watch_totals(r->watch).off_cpu);
	switch_cost_account(&a.off_cpu, SWITCH_COST_BLOCKS);
	r->result->off_cpu = a.off_cpu;
	int error = finish_file(r, &a);
	take_totals(r);
	r->result->recorded = !error;
	encoder_destroy(r->encoder);
	discard(r);
	if (!r->ended_ns)
		wait_only(r);
	if (error)
		messages_given_up(r->options, error);
}

static void exec_failed(struct recorder *r, int error)
{
	r->options->warn("record: %s: %s", r->options->command[0], strerror(-error));
	r->result->exit_code = spawn_failure_code(-error);
	discard(r);
}

static void record(struct recorder *r)
{
	keeper_start(&r->keeper, r->dir.path); /* without it the next recorder tidies up */
	int error = encoder_create(&r->encoder, r->writer, watch_session_done, r->watch);

	if (error) {
		r->options->warn("record: %s; the program runs unrecorded", strerror(-error));
		discard(r);
		wait_only(r);
		return;
	}
	encoder_interval_set(r->encoder, r->options->interval_ms);
	trace_writer_sync_prepare(r->writer);
	watch_encoder_set(r->watch, r->encoder);
	messages_prepare_last(r->options);
	watch_switches_set(r->watch, &r->outside.switches);
	record_until_over(r);
	finish(r);
	signals_no_last_words();
}

static void follow(void *context, pid_t pid)
{
	struct recorder *r = context;

	if (r->watch)
		outside_follow(&r->outside, pid, (enum off_cpu_when)r->options->off_cpu);
}

static void run(struct recorder *r)
{
	int recorded = prepare(r);

	if (!recorded && !r->options->keep_going) {
		r->result->refused = 1;
		return;
	}
	r->start_ns = monotonic_ns();
	r->start_cpu_ns = process_cpu_ns();
	r->pid = spawn_program(r->options->command, &r->environment, &r->signals, follow, r);
	environment_fini(&r->environment);
	if (r->pid < 0) {
		exec_failed(r, r->pid);
		return;
	}
	lighten();
	if (recorded)
		record(r);
	else
		wait_only(r);
}

void recorder_run(const struct recorder_options *options, struct recorder_result *result)
{
	struct recorder r = {.options = options, .result = result};

	*result = (struct recorder_result){.exit_code = 126};
	drain_clock_start(&r.clock);
	int error = signals_take(&r.signals);
	if (error) {
		options->warn("record: signals: %s", strerror(-error));
		return;
	}
	run(&r);
	signals_restore(&r.signals);
	signals_close(&r.signals);
}

void recorder_result_fini(struct recorder_result *result)
{
	free(result->notes);
	result->notes = NULL;
}
