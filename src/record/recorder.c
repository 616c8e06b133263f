/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The course of a recording: program.c starts the program, watch.c finds and drains its sessions,
 * encoder.c writes their records. Once the program has started, no failure of ours ends it: it runs
 * on unrecorded, and its exit code is returned. A failure before the start prevents the start,
 * unless --keep-going is given. Messages name FILE.part, because users look for FILE only.
 *
 * A new member of struct recorder that owns something goes into recorder_discard(), too.
 */
#include "record/recorder.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock_ns.h"
#include "base/file.h"
#include "brick/cpu.h"
#include "brick/error.h"
#include "lib/drain/drain_pace.h"
#include "lib/drain/allowance.h"
#include "lib/drain/neighbours.h"
#include "lib/sys/confined.h"
#include "lib/writer/part_file.h"
#include "lib/writer/writer.h"
#include "record/encoder.h"
#include "record/keeper.h"
#include "record/process.h"
#include "record/program.h"
#include "record/record_guard.h"
#include "record/session_dir.h"
#include "record/stack_sampler.h"
#include "record/switch_records.h"
#include "record/unreached.h"
#include "record/watch.h"

/* Without --wait, recorded processes may go on for so long after the program (brick-record(1)). */
#define OUTLIVE_NS 2000000000ull
enum {
	TIMER_SLACK_NS = 1000000, /* wake-ups may be late by this, to coincide with others */
	WHY_BYTES = 4096,
};

struct recorder {
	const struct recorder_options *options;
	struct recorder_result *result;
	struct signals signals;
	struct environment environment; /* the program's own variables; empty after its start */
	struct session_dir dir;		/* path "": there is no directory */
	struct keeper keeper;
	struct drain_clock clock;
	struct trace_writer *writer; /* the encoder uses it until encoder_finish() */
	struct encoder *encoder;
	struct watch *watch; /* NULL: the program runs unrecorded */
	struct switches switches;
	struct stack_sampler *stacks;  /* NULL: no stacks are taken */
	struct neighbours *neighbours; /* use of the CPUs by other processes; NULL: not known */
	struct allowance allowed;      /* CPUs and limits of process allowed_pid */
	pid_t allowed_pid;	       /* 0: no process was looked at yet */
	uint64_t allowed_at_ns;	       /* when `allowed` was read, by CLOCK_MONOTONIC */
	uint64_t throttled_ns;	       /* allowed.throttled_ns at the first look at allowed_pid */
	uint64_t system_ns;	       /* see struct program_end; 0 while the program runs */
	uint64_t major_faults;	       /* the same */
	struct unreached *unreached;   /* NULL: options->inject is 0, or no memory */
	struct process straggler;      /* state of process_find_straggler() */
	pid_t pid;		       /* of the program */
	uint64_t start_ns;	       /* just before the program's start, by CLOCK_MONOTONIC */
	uint64_t start_cpu_ns;	       /* CPU time of the recorder at start_ns */
	uint64_t flushed_ns;	       /* when the file was flushed last, by CLOCK_MONOTONIC */
	uint64_t ended_ns;	       /* by CLOCK_MONOTONIC; 0 while the program runs */
	int interrupted;	       /* a signal came after the program's end: stop waiting */
};

/* Messages for the user. */

/*
 * Warn before the program's start that it cannot be recorded. what: the thing that failed; NULL:
 * the output file.
 */
static void say_refused(const struct recorder_options *o, const char *what, int error)
{
	char why[WHY_BYTES];

	if (what || !part_file_explain(o->output, error, why, sizeof(why)))
		snprintf(why, sizeof(why), "%s", brick_strerror(error));
	o->warn("record: %s: %s; %s", what ? what : o->output, why,
		o->keep_going ? "the program runs unrecorded"
			      : "nothing was run (--keep-going runs it unrecorded)");
}

/* Warn that the recording is incomplete, and name the part that is left on disk. */
static void say_given_up(const struct recorder_options *o, int error)
{
	char why[WHY_BYTES], left[WHY_BYTES];
	struct stat st;

	if (!part_file_explain(o->output, error, why, sizeof(why)))
		snprintf(why, sizeof(why), "%s", brick_strerror(error));
	snprintf(left, sizeof(left), "%s.part", o->output);
	if (error == -ESTALE || lstat(left, &st))
		o->warn("record: %s: %s; recording was given up", o->output, why);
	else
		o->warn("record: %s: %s; recording was given up; what was recorded until then: "
			"brick report %s",
			o->output, why, left);
}

/* Set the message for a signal that ends the recorder itself. */
static void prepare_last_message(const struct recorder_options *o)
{
	char text[512];

	snprintf(text, sizeof(text),
		"brick: record: ended by a signal; the program runs on; what was recorded until "
		"then: brick report %s.part",
		o->output);
	signals_fatal_message(text);
}

/* Before the program's start. */

/*
 * Fill r->environment. options->environment comes after our own variables, but before those that
 * attachers need. 0 or -ENOMEM.
 */
static int prepare_environment(struct recorder *r)
{
	const struct environment *theirs = &r->options->environment;
	struct environment *env = &r->environment;

	int error = environment_add(env, "BRICK_SESSION_DIR=%s", r->dir.path);
	/* a process with more seccomp filters than the recorder was confined further */
	if (!error)
		error = environment_add(env, "BRICK_FILTERS=%u", brick__sys_filters());
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

/*
 * Remove the session directory, and free everything but the environment. The encoder must be gone
 * by then. Can be called twice.
 */
static void recorder_discard(struct recorder *r)
{
	trace_writer_abandon(r->writer);
	r->writer = NULL;
	watch_destroy(r->watch);
	r->watch = NULL;
	switches_fini(&r->switches);
	stack_sampler_destroy(r->stacks);
	r->stacks = NULL;
	neighbours_destroy(r->neighbours);
	r->neighbours = NULL;
	unreached_destroy(r->unreached);
	r->unreached = NULL;
	keeper_stop(&r->keeper);
	if (r->dir.path[0])
		session_dir_remove(&r->dir);
	r->dir.path[0] = '\0';
}

/*
 * Make the file, the session directory, the watch and the environment. False: it failed with a
 * warning, and all of them are gone again.
 */
static bool recorder_prepare(struct recorder *r)
{
	const char *what = NULL;
	char host[256] = "", cpu[128] = "";

	gethostname(host, sizeof(host) - 1);
	file_field("/proc/cpuinfo", "model name", cpu, sizeof(cpu));
	struct trace_writer_options options = {
		.path = r->options->output,
		.start_unix_ns = real_ns(),
		.start_ns = monotonic_ns(),
		.command = (const char *const *)r->options->command,
		.host = host,
		.cpu = cpu[0] ? cpu : NULL,
		.isa = brick_cpu_isa(),
		.compress = r->options->compress,
	};
	int error = trace_writer_create(&r->writer, &options);
	if (!error) {
		what = "session directory";
		error = session_dir_create(&r->dir);
		if (error)
			r->dir.path[0] = '\0';
	}
	if (!error) {
		struct watch_options watch = {&r->dir, &r->clock, r->options->interval_ms};
		what = "setting up";
		error = guard_install();
		if (!error)
			error = watch_create(&r->watch, &watch);
	}
	if (!error)
		error = prepare_environment(r);
	if (!error)
		return true;
	say_refused(r->options, what, error);
	recorder_discard(r);
	environment_fini(&r->environment);
	return false;
}

/* While the program runs. */

/* Forward signals to the program, stop together with it, and take its exit status. */
static void handle_signals(struct recorder *r)
{
	struct program_end end;
	enum signals_event event;
	int number;

	while ((event = signals_next(&r->signals, &number)) != SIGNALS_NONE) {
		if (event == SIGNALS_FORWARD && !r->ended_ns)
			kill(r->pid, number);
		if (event != SIGNALS_CHILD && r->ended_ns)
			r->interrupted = 1;
	}
	if (!r->ended_ns && program_has_stopped(r->pid)) {
		raise(SIGSTOP);
		kill(r->pid, SIGCONT);
	}
	if (!r->ended_ns && program_has_ended(r->pid, &end)) {
		r->result->exit_code = end.exit_code;
		r->result->program_cpu_ns = end.cpu_ns;
		r->system_ns = end.system_ns;
		r->major_faults = end.major_faults;
		r->ended_ns = monotonic_ns();
		r->result->wall_ns = r->ended_ns - r->start_ns;
	}
}

/* Sleep until a signal or an event of the watch; UINT32_MAX ms: without limit. */
static void pause_for(struct recorder *r, uint32_t ms)
{
	struct pollfd fds[2] = {
		{.fd = r->signals.fd, .events = POLLIN},
		{.fd = r->watch ? watch_fd(r->watch) : -1, .events = POLLIN},
	};
	poll(fds, 2, (int)ms);
}

/* Wait for the program without recording it, as a shell would. */
static void wait_only(struct recorder *r)
{
	signals_fatal_message(NULL);
	while (!r->ended_ns) {
		pause_for(r, UINT32_MAX);
		handle_signals(r);
	}
}

/* True if the program and all that recording waits for have ended. Updates result->left_behind. */
static bool recorder_is_over(struct recorder *r, uint64_t now_ns)
{
	if (!r->ended_ns)
		return false;
	int left = (int)watch_live(r->watch);
	r->result->left_behind =
		left ? 0 : process_find_straggler(&r->straggler, r->dir.path, r->keeper.pid);
	left |= r->result->left_behind;
	return !left || r->interrupted || (!r->options->wait && now_ns - r->ended_ns >= OUTLIVE_NS);
}

/* A process that could not create a session counts like one with an unreadable session. */
static uint64_t lost_processes(const struct recorder *r)
{
	return watch_totals(r->watch).lost +
	       __atomic_load_n(&r->dir.refusals->processes, __ATOMIC_RELAXED);
}

/* The recording's own account, as of now. ended: with the neighbours, whose sums take a while. */
static struct sink_account recorder_account(struct recorder *r, int ended)
{
	struct sink_account a = {
		.end_ns = monotonic_ns(),
		.consumer_cpu_ns = process_cpu_ns() - r->start_cpu_ns,
		.program_cpu_ns = r->result->program_cpu_ns,
		.lost_processes = lost_processes(r),
		.refused_records = __atomic_load_n(&r->dir.refusals->records, __ATOMIC_RELAXED),
		.cpus = drain_cpus_online(),
		.usable_cpus = r->allowed.cpus,
		.exit_code = r->ended_ns ? r->result->exit_code : -1,
		.clock_residual_ns = drain_clock_check(&r->clock),
	};
	switches_account(&r->switches, &a.off_cpu);
	a.stacks = r->result->stacks;
	if (r->stacks)
		stack_sampler_account(r->stacks, &a.stacks);
	/* summing up other processes' use of the machine takes milliseconds */
	if (ended && r->neighbours &&
		neighbours_use(r->neighbours, (uint32_t)r->pid, &a.machine, NULL))
		a.machine = (struct machine_use){0};
	allowance_tell(&r->allowed, r->throttled_ns, &a.machine);
	a.machine.system_ns = r->system_ns;
	a.machine.major_faults = r->major_faults;
	return a;
}

/* Read the allowance of a recorded process again: CPU masks and cgroup limits can change. */
static void look_at_allowance(struct recorder *r, uint64_t now_ns)
{
	enum { EVERY_NS = 100000000 };
	pid_t pid = watch_process(r->watch);
	struct allowance now;

	if (!pid || (pid == r->allowed_pid && now_ns - r->allowed_at_ns < EVERY_NS) ||
		allowance_of(&now, pid))
		return;
	if (pid != r->allowed_pid)
		r->throttled_ns = now.throttled_ns;
	r->allowed = now;
	r->allowed_pid = pid;
	r->allowed_at_ns = now_ns;
}

/* Do one round of recording; returns how many ms to sleep until the next. */
static uint32_t recorder_turn(struct recorder *r, uint64_t now_ns)
{
	uint32_t flush_ms = drain_flush_in_ms(r->options->interval_ms, r->flushed_ns, now_ns);
	uint32_t next_ms = watch_turn(r->watch, now_ns, !flush_ms);
	uint32_t encode_ms = encoder_turn(r->encoder);

	if (r->stacks) {
		uint32_t stacks_ms = stack_sampler_turn(r->stacks, r->encoder, now_ns);
		next_ms = stacks_ms < next_ms ? stacks_ms : next_ms;
	}
	look_at_allowance(r, now_ns);
	if (r->unreached)
		unreached_look(r->unreached, r->dir.refusals, now_ns);

	if (flush_ms) {
		next_ms = flush_ms < next_ms ? flush_ms : next_ms;
	} else {
		bool has_more = watch_has_consumed(r->watch);
		has_more |= r->stacks && stack_sampler_has_passed(r->stacks);
		if (has_more) {
			struct sink_account a = recorder_account(r, 0);
			encoder_flush(r->encoder, &a); /* without memory: after the next interval */
			r->flushed_ns = now_ns;
		}
	}
	return encode_ms < next_ms ? encode_ms : next_ms;
}

/* Returns when recording is over, or the encoder has failed. */
static void record_until_over(struct recorder *r)
{
	uint64_t now_ns = monotonic_ns();

	r->flushed_ns = now_ns;
	while (!encoder_error(r->encoder)) {
		uint32_t next_ms = recorder_turn(r, now_ns);
		if (recorder_is_over(r, now_ns))
			return;
		pause_for(r, next_ms);
		handle_signals(r);
		now_ns = monotonic_ns();
	}
}

/* After the program. */

/* Copy totals into the result, while the watch and the session directory still exist. */
static void recorder_take_totals(struct recorder *r)
{
	struct watch_totals t = watch_totals(r->watch);
	struct recorder_result *result = r->result;

	result->processes = t.processes;
	result->lost = t.lost;
	result->dead = t.dead;
	result->outlived = t.outlived;
	result->records = t.records;
	result->samples = t.samples;
	result->steps = t.steps;
	result->threads = t.threads;
	result->dropped = t.dropped;
	result->without_lane = t.refused;
	result->refused_processes = r->dir.refusals->processes;
	result->refused_records = r->dir.refusals->records;
	result->refused_error = r->dir.refusals->error;
	struct stat directory;
	result->is_directory_gone = !fstat(r->dir.fd, &directory) && !directory.st_nlink;
	result->refused_pid = r->dir.refusals->pid;
	memcpy(result->refused_name, r->dir.refusals->name, sizeof(result->refused_name) - 1);
	memcpy(result->static_name, r->dir.refusals->static_name, sizeof(result->static_name) - 1);
	result->fault = t.fault;
	result->notes = strdup(t.notes);
}

/*
 * Keep an existing file at `path` as `path`.old, as `perf record` does. A hard link keeps the name
 * `path`, too, in case that the new recording cannot be finished; where links are not possible the
 * file is renamed. 0 (also when there is no regular file) or -errno.
 */
static int keep_former(const char *path)
{
	struct stat st;
	char *old;
	int error = 0;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISREG(st.st_mode) || asprintf(&old, "%s.old", path) < 0)
		return 0;
	if (lstat(old, &st) == 0 && S_ISREG(st.st_mode))
		unlink(old);
	if (link(path, old) && (errno == EEXIST || rename(path, old)))
		error = -errno;
	free(old);
	return error;
}

/*
 * Write the account and give the file its final name. 0, or the first error since recording began.
 */
static int finish_file(struct recorder *r, const struct sink_account *a)
{
	uint64_t pairs;
	struct stat file;
	int error = encoder_error(r->encoder);

	if (!r->writer)
		return error;
	error = sink_account(r->writer, a);
	if (!error)
		error = sink_flush(r->writer);
	trace_writer_counts(r->writer, &r->result->bytes, &pairs);
	int old = error ? 0 : keep_former(r->options->output);
	if (old)
		r->options->warn("record: %s.old: %s; the recording before is not kept",
			r->options->output, strerror(-old));
	int last = trace_writer_finish(r->writer);
	r->writer = NULL;
	if (!stat(r->options->output, &file))
		r->result->bytes = (uint64_t)file.st_size;
	return error ? error : last;
}

/*
 * End all sessions and complete the file. If the encoder failed while the program runs, wait for
 * the program before the failure is reported.
 */
static void recorder_finish(struct recorder *r)
{
	if (!encoder_error(r->encoder))
		watch_end_all(r->watch);
	/* taken first: CPU time that encoding takes from here on does not slow down the program */
	struct sink_account a = recorder_account(r, 1);
	encoder_finish(r->encoder, &r->writer);
	if (r->stacks && r->writer)
		stack_sampler_finish(r->stacks, r->writer, monotonic_ns());
	if (r->stacks)
		stack_sampler_account(r->stacks, &a.stacks);
	r->result->stacks = a.stacks;
	a.lost_processes = lost_processes(r);
	const struct off_cpu_account seen = watch_totals(r->watch).off_cpu;
	a.off_cpu.lost += seen.lost;
	a.off_cpu.watched_ns += seen.watched_ns;
	a.off_cpu.ran_ns += seen.ran_ns;
	a.off_cpu.queued_ns += seen.queued_ns;
	switch_cost_account(&a.off_cpu, SWITCH_COST_BLOCKS);
	r->result->off_cpu = a.off_cpu;
	int error = finish_file(r, &a);
	recorder_take_totals(r);
	r->result->recorded = !error;
	encoder_destroy(r->encoder);
	recorder_discard(r);
	if (!r->ended_ns)
		wait_only(r);
	if (error)
		say_given_up(r->options, error);
}

/* Record the started program to its end. */
static void recorder_record(struct recorder *r)
{
	/* it removes the directory if the recorder is killed; without it the next recorder does */
	keeper_start(&r->keeper, r->dir.path);
	int error = encoder_create(&r->encoder, r->writer, watch_session_done, r->watch);

	if (error) {
		r->options->warn("record: %s; the program runs unrecorded", strerror(-error));
		recorder_discard(r);
		wait_only(r);
		return;
	}
	encoder_interval_set(r->encoder, r->options->interval_ms);
	trace_writer_sync_prepare(r->writer);
	watch_encoder_set(r->watch, r->encoder);
	watch_switches_set(r->watch, &r->switches);
	record_until_over(r);
	recorder_finish(r);
	signals_fatal_message(NULL);
}

/* Warns before the program runs that stacks are unavailable: it may run for hours. */
static void take_stacks(struct recorder *r, pid_t pid)
{
	struct stack_account *account = &r->result->stacks;

	account->hz = r->options->stacks_hz;
	account->error = stack_sampler_create(&r->stacks, pid, account->hz);
	if (!account->error)
		return;
	stack_sampler_reason(account->error, account->reason, sizeof(account->reason));
	r->options->warn("record: --sample: no stacks are taken: %s", account->reason);
}

/* After the fork, so that the program keeps the timer slack and the limit that it inherited. */
static void adjust_own_limits(void)
{
	struct rlimit files;

	prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

/*
 * A program_follow_fn: the program's process waits to exec. Begins with the limits, because the
 * followers open descriptors for each CPU.
 */
static void recorder_follow(void *context, pid_t pid)
{
	struct recorder *r = context;

	adjust_own_limits();
	if (!r->watch)
		return;
	switches_follow(&r->switches, pid, (enum off_cpu_when)r->options->off_cpu);
	if (r->options->stacks_hz)
		take_stacks(r, pid);
	if (neighbours_create(&r->neighbours))
		r->neighbours = NULL;
	if (r->options->inject)
		(void)unreached_create(&r->unreached, pid, r->dir.path);
}

static void recorder_run_until_over(struct recorder *r)
{
	bool is_prepared = recorder_prepare(r);

	if (!is_prepared && !r->options->keep_going) {
		r->result->refused = 1;
		return;
	}
	r->start_ns = monotonic_ns();
	r->start_cpu_ns = process_cpu_ns();
	if (r->writer)
		prepare_last_message(r->options); /* the program may be at work at once */
	r->pid = program_start(
		r->options->command, &r->environment, &r->signals, recorder_follow, r);
	environment_fini(&r->environment);
	if (r->pid < 0) {
		r->options->warn("record: %s: %s", r->options->command[0], strerror(-r->pid));
		r->result->exit_code = program_failure_code(-r->pid);
		recorder_discard(r);
		return;
	}
	if (is_prepared)
		recorder_record(r);
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
	recorder_run_until_over(&r);
	signals_restore(&r.signals);
	signals_close(&r.signals);
}

void recorder_result_fini(struct recorder_result *result)
{
	free(result->notes);
	result->notes = NULL;
}
