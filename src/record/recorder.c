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
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock_ns.h"
#include "base/number.h"
#include "base/file.h"
#include "brick/cpu.h"
#include "brick/error.h"
#include "format/mark.h"
#include "lib/drain/drain_pace.h"
#include "lib/drain/allowance.h"
#include "lib/drain/neighbours.h"
#include "lib/sys/confined.h"
#include "lib/writer/part_file.h"
#include "lib/writer/writer.h"
#include "record/control.h"
#include "record/encoder.h"
#include "record/energy_meter.h"
#include "record/fault_records.h"
#include "record/enter/enter_tree.h"
#include "lib/keep/exemplars.h"
#include "lib/keep/file_ring.h"
#include "record/keeper.h"
#include "record/process.h"
#include "record/placement.h"
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

/* Pauses before a ring whose file failed is tried again: the first, and the most. */
#define AGAIN_NS (10 * NS_PER_S)
#define AGAIN_MOST_NS (600 * NS_PER_S)

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
	struct encoder_files files;  /* with the next two: options->always */
	struct file_ring ring;	     /* with `exemplars` the encoder's while there is one */
	int ring_error;		     /* why nothing is kept now; 0: there is a file */
	uint64_t lost_ns, back_ns;   /* by CLOCK_MONOTONIC: when a file failed, and one began */
	uint64_t again_ns, due_ns;   /* the pause, and when it is over */
	struct exemplars *exemplars; /* NULL: none are kept */
	char ring_wrong[WHY_BYTES];  /* a name in the ring that is no file of ours; "": none */
	struct watch *watch;	     /* NULL: the program runs unrecorded */
	struct switches switches;
	struct stack_sampler *stacks; /* NULL: no stacks are taken */
	struct energy_meter *energy;  /* NULL: none is read */
	struct energy_meter *gpu_energy;
	int energy_error; /* why */
	char energy_refused[SINK_ENERGY_REFUSED];
	bool sees_gpus;		       /* a process uses NVIDIA's driver */
	uint64_t gpus_at_ns;	       /* when it was looked for, by CLOCK_MONOTONIC */
	struct fault_records *faults;  /* NULL: page faults are not known */
	int faults_error;	       /* why */
	struct placement *placement;   /* NULL: all CPUs are alike */
	struct neighbours *neighbours; /* use of the CPUs by other processes; NULL: not known */
	struct allowance allowed;      /* CPUs and limits of process allowed_pid */
	pid_t allowed_pid;	       /* 0: no process was looked at yet */
	uint64_t allowed_at_ns;	       /* when `allowed` was read, by CLOCK_MONOTONIC */
	uint64_t throttled_ns;	       /* allowed.throttled_ns at the first look at allowed_pid */
	uint64_t system_ns;	       /* see struct program_end; 0 while the program runs */
	uint64_t minor_faults;	       /* the same */
	uint64_t major_faults;	       /* the same */
	uint64_t peak_bytes;	       /* the same */
	struct unreached *unreached;   /* NULL: options->inject is 0, or no memory */
	struct process straggler;      /* state of process_find_straggler() */
	pid_t pid;		       /* of the program */
	uint64_t file_start_ns;	       /* of the recording, by CLOCK_MONOTONIC */
	uint64_t start_ns;	       /* just before the program's start, by CLOCK_MONOTONIC */
	uint64_t start_cpu_ns;	       /* CPU time of the recorder at start_ns */
	uint64_t file_cpu_ns;	       /* atomic: the same when a later file began; 0: the first */
	uint64_t flushed_ns;	       /* when the file was flushed last, by CLOCK_MONOTONIC */
	uint64_t ended_ns;	       /* by CLOCK_MONOTONIC; 0 while the program runs */
	uint64_t off_ns; /* when recording was switched off, until the kernel's events end, too */
	uint64_t marks;	 /* that the recording has */
	bool adopted;	 /* with options->pid: another recorder had begun */
	bool leaves;	 /* processes and directory are left to the next recorder */
	bool is_asked;	 /* to leave now */
	int interrupted; /* a signal came after the program's end: stop waiting */
	struct enter_tree *enter; /* with options->pid: while it is in the process */
	/* by CLOCK_MONOTONIC; 0: not yet: it was asked for entry, its engine was called, it is in
	 */
	uint64_t asked_ns, comes_ns, entered_ns;
	pid_t stackless;  /* an entered process that the kernel takes no stacks of; 0: none */
	int stacks_error; /* why */
};

/* Messages for the user. */

/*
 * Warn before the program's start that it cannot be recorded. what: the thing that failed; NULL:
 * the output file.
 */
static void say_refused(const struct recorder_options *o, const char *what, int error)
{
	char why[WHY_BYTES];

	bool is_file = !what || error == -EEXIST; /* a name of the ring */
	if (!is_file || !part_file_explain(what ? what : o->output, error, why, sizeof(why)))
		snprintf(why, sizeof(why), "%s",
			what && is_file ? "is no part of this ring of files, which does not "
					  "replace it: remove it, or choose another name"
					: brick_strerror(error));
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

	if (o->always)
		snprintf(text, sizeof(text),
			"brick: record: ended by a signal; the program runs on; to go on: brick "
			"record --always --pid PID -o %s",
			o->output);
	else
		snprintf(text, sizeof(text),
			"brick: record: ended by a signal; the program runs on; what was recorded "
			"until then: brick report %s.part",
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
	if (!error && r->options->stacks_hz)
		error = environment_add(env, "BRICK_PYTHON_FRAMES=1");
	for (size_t i = 0; i < theirs->variables.count && !error; i++)
		error = environment_add(env, "%s", theirs->variables.items[i]);
	if (error || !r->options->inject || r->options->pid)
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
	fault_records_destroy(r->faults);
	r->faults = NULL;
	placement_destroy(r->placement);
	r->placement = NULL;
	energy_meter_destroy(r->energy);
	energy_meter_destroy(r->gpu_energy);
	r->energy = r->gpu_energy = NULL;
	neighbours_destroy(r->neighbours);
	r->neighbours = NULL;
	unreached_destroy(r->unreached);
	r->unreached = NULL;
	exemplars_destroy(r->exemplars);
	r->exemplars = NULL;
	if (r->leaves)
		keeper_leave(&r->keeper);
	else
		keeper_stop(&r->keeper);
	if (r->dir.path[0] && r->leaves)
		session_dir_leave(&r->dir);
	else if (r->dir.path[0])
		session_dir_remove(&r->dir);
	r->dir.path[0] = '\0';
}

/* Make a file of the recording from start_ns on. A recording of one file has a ring without id. */
static int recorder_open(void *context, const struct file_ring *ring, uint64_t start_ns,
	struct trace_writer **writer)
{
	const struct recorder *r = context;
	char host[256] = "", cpu[128] = "";

	gethostname(host, sizeof(host) - 1);
	file_field("/proc/cpuinfo", "model name", cpu, sizeof(cpu));
	const struct trace_writer_options options = {
		.path = ring->path,
		.ring = *ring->id ? ring->id : NULL,
		.start_unix_ns = real_ns() - (monotonic_ns() - start_ns),
		.start_ns = start_ns,
		.recorder = (uint32_t)getpid(),
		.command = (const char *const *)r->options->command,
		.host = host,
		.cpu = cpu[0] ? cpu : NULL,
		.isa = brick_cpu_isa(),
		.compress = r->options->compress,
	};
	return trace_writer_create(writer, &options);
}

/* Functions of struct encoder_files. The ring's clock does not step when the system's does. */

/* A file that began after others had failed can be written. */
static void say_back(struct recorder *r)
{
	r->options->warn("record: %s: goes on; %llu s before it are not kept", r->options->output,
		(unsigned long long)((r->back_ns - r->lost_ns) / NS_PER_S));
	r->lost_ns = 0;
}

static bool recorder_file_is_due(void *context, uint64_t bytes, bool between)
{
	struct recorder *r = context;
	uint64_t now_ns = monotonic_ns();

	if (r->ring_error)
		return between && now_ns >= r->due_ns;
	if (between && r->lost_ns && now_ns - r->back_ns >= AGAIN_NS)
		say_back(r);
	if (between)
		file_ring_trim(&r->ring, bytes, now_ns);
	return file_ring_is_due(&r->ring, bytes, now_ns, !between);
}

static int recorder_say_part(struct trace_writer *writer, uint64_t ns, enum mark_kind kind)
{
	return sink_mark(writer, &(struct sink_mark){.ns = ns, .kind = kind, .text = ""});
}

/* Keeps nothing for a while. 0 or -ENOMEM. */
static int recorder_wait(struct recorder *r, int error, struct trace_writer **writer)
{
	uint64_t now_ns = monotonic_ns();
	const struct trace_writer_options nowhere = {
		.start_unix_ns = real_ns(), .start_ns = now_ns, .output = trace_writer_nowhere};

	r->ring_error = error;
	r->due_ns = now_ns + r->again_ns;
	r->again_ns = number_min(2 * r->again_ns, AGAIN_MOST_NS);
	return trace_writer_create(writer, &nowhere);
}

static int recorder_lose_file(void *context, int error, struct trace_writer **writer)
{
	struct recorder *r = context;
	struct trace_writer *failed = *writer;
	char why[WHY_BYTES];

	*writer = NULL;
	if (r->lost_ns) {
		trace_writer_abandon(failed); /* there was no room yet */
	} else {
		trace_writer_leave(failed);
		r->again_ns = AGAIN_NS;
		r->lost_ns = monotonic_ns();
		if (!part_file_explain(r->options->output, error, why, sizeof(why)))
			snprintf(why, sizeof(why), "%s", brick_strerror(error));
		r->options->warn("record: %s: %s; nothing is kept until there can be a file again",
			r->options->output, why);
	}
	return recorder_wait(r, error, writer);
}

/* Tries a file again, behind those that are there. */
static int recorder_try_again(
	struct recorder *r, uint64_t now_ns, uint64_t begin_ns, struct trace_writer **writer)
{
	int error = file_ring_recover(&r->ring);

	trace_writer_abandon(*writer);
	*writer = NULL;
	if (error > 0) {
		if (r->options->file_ended)
			r->options->file_ended(r->options->file_context, r->options->output);
		error = file_ring_turn(&r->ring, now_ns);
	}
	if (!error)
		error = recorder_open(r, &r->ring, begin_ns, writer);
	if (error)
		return recorder_wait(r, error, writer);
	r->ring.began_ns = now_ns;
	r->back_ns = begin_ns;
	r->ring_error = 0;
	return recorder_say_part(*writer, begin_ns, MARK_PART);
}

static int recorder_next_file(void *context, uint64_t ns, struct trace_writer **writer)
{
	struct recorder *r = context;
	uint64_t now_ns = monotonic_ns();
	struct trace_writer *whole = *writer;

	if (r->ring_error)
		return recorder_try_again(r, now_ns, ns, writer);
	*writer = NULL;
	int error = recorder_say_part(whole, ns, MARK_NEXT), end = trace_writer_finish(whole);
	error = error ? error : end;
	if (!error && r->lost_ns)
		say_back(r);
	if (!error && r->options->file_ended)
		r->options->file_ended(r->options->file_context, r->options->output);
	if (!error)
		error = file_ring_turn(&r->ring, now_ns);
	if (error)
		return error;
	file_ring_trim(&r->ring, 0, now_ns);
	error = recorder_open(r, &r->ring, ns, writer);
	__atomic_store_n(&r->file_cpu_ns, process_cpu_ns(), __ATOMIC_RELAXED);
	return error ? error : recorder_say_part(*writer, ns, MARK_PART);
}

static int recorder_ring(struct recorder *r)
{
	r->files = (struct encoder_files){
		r, recorder_file_is_due, recorder_next_file, recorder_lose_file};
	int error =
		file_ring_start(&r->ring, r->file_start_ns, r->ring_wrong, sizeof(r->ring_wrong));
	if (error || !r->options->slow_per_hour)
		return error;
	const struct exemplars_options slow = {.path = r->options->output,
		.bytes = r->options->keep_bytes,
		.per_hour = r->options->slow_per_hour,
		.slow = r->options->slow,
		.open = recorder_open,
		.context = r};
	return exemplars_create(
		&r->exemplars, &slow, r->file_start_ns, r->ring_wrong, sizeof(r->ring_wrong));
}

/*
 * Else nobody leaves a process for us: recorder_ring() or recorder_open() says why. Of a writer
 * that was killed and not freed yet the kernel tells no mappings.
 */
static bool recorder_can_follow(struct recorder *r, const char *directory)
{
	pid_t writer;

	return file_ring_can_start(&r->ring, &writer) &&
	       (!writer || process_is_under(writer, directory) != PROCESS_IS_NOT);
}

/*
 * Takes over the process of options->pid, if there is a directory that another recorder has left;
 * one that records always is asked to leave it, again while it does not listen yet. A keeper that
 * looks (keeper.h) has the directory for a moment, too. 0; -ENOENT: there is none; why not.
 */
static int recorder_take_over(struct recorder *r)
{
	enum { PATIENCE_S = 30, LOOK_MS = 50 };
	const uint64_t until_ns = monotonic_ns() + PATIENCE_S * 1000000000ull;
	const pid_t pid = r->options->pid;
	struct control_answer answer;
	char path[sizeof(r->dir.path)];
	bool leaves = false;

	if (!pid || !r->options->always || control_directory(pid, path, sizeof(path)))
		return -ENOENT;
	int error = session_dir_take_over(&r->dir, path);
	while (error == -EBUSY && monotonic_ns() < until_ns) {
		int refused = leaves ? 0
			      : !recorder_can_follow(r, path)
				      ? -ENOTSUP
				      : control_ask(pid, CONTROL_LEAVE, NULL, &answer);
		if (refused == -ENOTSUP || refused == -EINVAL) {
			error = -ENOENT; /* another kind of recording */
			break;
		}
		leaves = !refused;
		poll(NULL, 0, LOOK_MS);
		error = session_dir_take_over(&r->dir, path);
	}
	if (error)
		r->dir.path[0] = '\0';
	r->adopted = r->leaves = !error;
	return error;
}

static void say_not_taken(const struct recorder *r, int error)
{
	const char *why = error == BRICK_EVERSION
				  ? "its recorder was of another version of Brick; restart it"
			  : error == -EBUSY ? "its recorder does not leave it"
					    : brick_strerror(error);

	r->options->warn("record: process %d: %s", (int)r->options->pid, why);
}

/*
 * Make the file, the session directory, the watch and the environment. False: it failed with a
 * warning, and all of them are gone again.
 */
static bool recorder_prepare(struct recorder *r)
{
	enum { FREED_LOOKS = 40, FREED_LOOK_MS = 50 };
	const char *what = NULL;

	r->file_start_ns = monotonic_ns();
	r->ring = (struct file_ring){.path = r->options->output,
		.bytes = r->options->keep_bytes,
		.keep_ns = r->options->keep_ns};
	int error = recorder_take_over(r);
	if (error && error != -ENOENT) {
		say_not_taken(r, error);
		recorder_discard(r);
		return false;
	}
	error = r->options->always ? recorder_ring(r) : 0;
	/* of a killed one the kernel may free the directory before the file */
	for (int i = 0; error == -EBUSY && r->adopted && i < FREED_LOOKS; i++) {
		poll(NULL, 0, FREED_LOOK_MS);
		error = recorder_ring(r);
	}
	if (error == -EEXIST)
		what = r->ring_wrong;
	if (!error)
		error = recorder_open(r, &r->ring, r->file_start_ns, &r->writer);
	if (!error && r->adopted)
		error = recorder_say_part(r->writer, r->file_start_ns, MARK_PART);
	if (!error && !r->adopted) {
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
	if (!error) {
		if (!r->adopted)
			r->dir.refusals->off = r->options->idle != 0;
		return true;
	}
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
		if (event == SIGNALS_FORWARD && !r->ended_ns && !r->options->pid)
			kill(r->pid, number);
		if (event != SIGNALS_CHILD && (r->ended_ns || r->options->pid))
			r->interrupted = 1;
	}
	if (r->options->pid)
		return;
	if (!r->ended_ns && program_has_stopped(r->pid)) {
		raise(SIGSTOP);
		kill(r->pid, SIGCONT);
	}
	if (!r->ended_ns && program_has_ended(r->pid, &end)) {
		r->result->exit_code = end.exit_code;
		r->result->program_cpu_ns = end.cpu_ns;
		r->system_ns = end.system_ns;
		r->minor_faults = end.minor_faults;
		r->major_faults = end.major_faults;
		r->peak_bytes = end.peak_bytes;
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

/* A process that runs already. */

static void say_refusals(struct recorder *r)
{
	const char *refusal;

	while ((refusal = enter_tree_refusal(r->enter)))
		r->options->warn("record: %s", refusal);
}

/* Rings are drained while processes are left: steps in flight go on to their ends. */
static void enter_meanwhile(void *context)
{
	const struct recorder *r = context;

	if (!r->encoder || encoder_error(r->encoder))
		return;
	watch_turn(r->watch, monotonic_ns(), 0);
	encoder_turn(r->encoder);
}

/* Gives up what it was about to do; the process runs on unrecorded. */
static void enter_is_over(struct recorder *r)
{
	if (!r->ended_ns) {
		r->ended_ns = monotonic_ns();
		r->result->wall_ns = r->ended_ns - (r->entered_ns ? r->entered_ns : r->start_ns);
		r->result->exit_code = 0;
	}
	if (!r->enter)
		return;
	enter_tree_end(r->enter);
	say_refusals(r);
	enter_tree_free(r->enter);
	r->enter = NULL;
}

/* Warns at once that stacks are unavailable: the program may run for hours. */
static void say_stacks(struct recorder *r, int error)
{
	struct stack_account *account = &r->result->stacks;

	account->hz = r->options->stacks_hz;
	account->error = error;
	if (!error)
		return;
	stack_sampler_reason(error, account->reason, sizeof(account->reason));
	r->options->warn("record: --sample: no stacks are taken: %s", account->reason);
}

static void say_stackless(struct recorder *r)
{
	char reason[sizeof(r->result->stacks.reason)];

	if (stack_sampler_any(r->stacks)) {
		stack_sampler_reason(r->stacks_error, reason, sizeof(reason));
		r->options->warn("record: --sample: no stacks of process %d are taken: %s",
			(int)r->stackless, reason);
	} else {
		say_stacks(r, r->stacks_error);
		stack_sampler_destroy(r->stacks);
		r->stacks = NULL;
	}
	r->stackless = 0;
}

/* Returns after how many ms to look again. */
static uint32_t enter_step(struct recorder *r, uint64_t now_ns)
{
	enum { ENTER_LOOK_MS = 10, LOADING_S = 5 };
	uint64_t stay_ns = r->options->duration_ns;
	enum enter_progress progress = r->enter ? enter_tree_turn(r->enter) : ENTER_ENDED;

	if (r->stackless)
		say_stackless(r);
	if (r->adopted) {
		r->leaves = watch_live(r->watch) ||
			    process_find_straggler(&r->straggler, r->dir.path, r->keeper.pid);
		progress = r->leaves ? ENTER_IS_IN : ENTER_ENDED;
	}
	if (progress == ENTER_IS_IN && !r->entered_ns) {
		r->entered_ns = now_ns;
		r->result->has_entered = true;
	}
	if (progress == ENTER_COMES && !r->comes_ns) {
		r->comes_ns = now_ns;
		r->result->was_called = true;
	}
	if (progress == ENTER_FAILED)
		r->result->refused = 1;
	uint64_t since_ns = r->entered_ns ? r->entered_ns : r->comes_ns ? r->comes_ns : r->asked_ns;
	if (progress == ENTER_COMES && stay_ns && stay_ns < LOADING_S * NS_PER_S)
		stay_ns = LOADING_S * NS_PER_S; /* our part, of a busy machine */
	if (progress >= ENTER_FAILED || r->interrupted ||
		(stay_ns && now_ns - since_ns >= stay_ns)) {
		enter_is_over(r);
		return 0;
	}
	uint64_t left_ms = stay_ns ? (stay_ns - (now_ns - since_ns)) / 1000000 + 1 : UINT32_MAX;
	uint32_t look_ms = progress == ENTER_IS_IN ? 1000 : ENTER_LOOK_MS;
	return left_ms < look_ms ? (uint32_t)left_ms : look_ms;
}

/* True if the program and all that recording waits for have ended. Updates result->left_behind. */
static bool recorder_is_over(struct recorder *r, uint64_t now_ns)
{
	if (!r->ended_ns)
		return false;
	if (r->options->pid)
		return true;
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
		.energy_error = r->energy_error,
		.energy_refused = r->energy_refused,
	};
	switches_account(&r->switches, &a.off_cpu);
	a.faults.error = r->faults_error;
	if (r->faults)
		fault_records_account(r->faults, &a.faults);
	a.stacks = r->result->stacks;
	if (r->stacks)
		stack_sampler_account(r->stacks, &a.stacks);
	/* summing up other processes' use of the machine takes milliseconds */
	if (ended && r->neighbours &&
		neighbours_use(r->neighbours, (uint32_t)r->pid, &a.machine, NULL))
		a.machine = (struct machine_use){0};
	allowance_tell(&r->allowed, r->throttled_ns, &a.machine);
	a.machine.system_ns = r->system_ns;
	a.machine.minor_faults = r->minor_faults;
	a.machine.major_faults = r->major_faults;
	a.machine.peak_bytes = r->peak_bytes;
	if (ended && r->options->pid)
		a.machine.peak_bytes = process_peak_bytes(r->pid);
	uint64_t file_cpu_ns = __atomic_load_n(&r->file_cpu_ns, __ATOMIC_RELAXED);
	if (file_cpu_ns) { /* only the recorder's own use is known of a part of the time */
		uint64_t now_ns = process_cpu_ns();
		a.consumer_cpu_ns = now_ns > file_cpu_ns ? now_ns - file_cpu_ns : 0;
		a.program_cpu_ns = 0;
		a.machine = (struct machine_use){0};
	}
	return a;
}

/* Write a mark. 0 or -ENOMEM. */
static int recorder_mark(struct recorder *r, uint64_t ns, enum mark_kind kind, const char *text)
{
	int error =
		encoder_mark(r->encoder, &(struct sink_mark){.ns = ns, .kind = kind, .text = text});

	r->marks += !error;
	return error;
}

/*
 * Switch recording on or off: each process follows at its next step. No step that is recorded
 * begins where it is off by the marks, however long we stand still in here. 0 or -ENOMEM.
 */
static int recorder_switch(struct recorder *r, bool off)
{
	struct brick_session_refusals *page = r->dir.refusals;

	if (!off == !page->off)
		return 0;
	if (r->stacks) /* the kernel would go on, and know no code that is mapped meanwhile */
		return -EOPNOTSUPP;
	if (!off) { /* the kernel's events are there before the first step */
		switches_hold(&r->switches, false);
		watch_switches_read(r->watch);
	}
	uint64_t ns = monotonic_ns();
	__atomic_store_n(&page->heeded, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&page->off, off, __ATOMIC_SEQ_CST);
	if (off)
		ns = monotonic_ns();
	int error = recorder_mark(r, ns, off ? MARK_OFF : MARK_ON, "");
	if (error)
		__atomic_store_n(&page->off, !off, __ATOMIC_RELEASE);
	r->off_ns = page->off ? ns : 0;
	return error;
}

/* The kernel's events end when all processes have ended their last step, or after a while. */
static void look_at_off(struct recorder *r, uint64_t now_ns)
{
	enum { LONG_STEP_S = 10 };

	if (!r->off_ns || (__atomic_load_n(&r->dir.refusals->heeded, __ATOMIC_RELAXED) <
					  watch_live(r->watch) &&
				  now_ns - r->off_ns < LONG_STEP_S * 1000000000ull))
		return;
	r->off_ns = 0;
	watch_switches_read(r->watch);
	switches_hold(&r->switches, true);
}

/* A session_dir_asked_fn. */
static int recorder_asked(
	void *context, const struct control_request *request, struct control_answer *answer)
{
	struct recorder *r = context;
	bool may_leave = r->options->always && !r->enter;
	int error = request->kind == CONTROL_LEAVE ? may_leave ? 0 : -ENOTSUP
		    : request->kind == CONTROL_ON  ? recorder_switch(r, false)
		    : request->kind == CONTROL_OFF ? recorder_switch(r, true)
		    : request->kind == CONTROL_MARK
			    ? recorder_mark(r, monotonic_ns(), MARK_TEXT, request->text)
		    : request->kind == CONTROL_ASK ? 0
						   : -EINVAL;

	r->is_asked |= request->kind == CONTROL_LEAVE && !error;
	answer->off = r->dir.refusals->off;
	answer->heeded = __atomic_load_n(&r->dir.refusals->heeded, __ATOMIC_RELAXED);
	answer->processes = watch_live(r->watch);
	answer->marks = r->marks;
	return error;
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

static const char *recorder_root(const struct recorder *r)
{
	return r->options->system_root ? r->options->system_root : "";
}

/* Read the GPUs' energy once a process uses CUDA, since NVML takes long to load without that. */
static void look_at_gpus(struct recorder *r, uint64_t now_ns)
{
	enum { EVERY_S = 1 };
	char path[512];
	pid_t pid = watch_process(r->watch);

	if (r->sees_gpus || !pid || now_ns - r->gpus_at_ns < EVERY_S * 1000000000ull)
		return;
	r->gpus_at_ns = now_ns;
	snprintf(path, sizeof(path), "%s/proc/driver/nvidia", recorder_root(r));
	if (access(path, F_OK) || !process_maps(pid, "/libcuda.so"))
		return;
	r->sees_gpus = true;
	if (energy_meter_start_gpus(&r->gpu_energy))
		r->gpu_energy = NULL;
}

/* Do one round of recording; returns how many ms to sleep until the next. */
static uint32_t recorder_turn(struct recorder *r, uint64_t now_ns)
{
	uint32_t flush_ms = drain_flush_in_ms(r->options->interval_ms, r->flushed_ns, now_ns);
	uint32_t next_ms = watch_turn(r->watch, now_ns, !flush_ms);
	uint32_t encode_ms = encoder_turn(r->encoder);

	if (r->options->pid && !r->ended_ns) {
		uint32_t enter_ms = enter_step(r, now_ns);
		next_ms = enter_ms < next_ms ? enter_ms : next_ms;
	}

	if (r->stacks) {
		uint32_t stacks_ms = stack_sampler_turn(r->stacks, r->encoder, now_ns);
		next_ms = stacks_ms < next_ms ? stacks_ms : next_ms;
	}
	if (r->energy)
		energy_meter_turn(r->energy, r->encoder, r->dir.refusals->off);
	if (r->gpu_energy)
		energy_meter_turn(r->gpu_energy, r->encoder, r->dir.refusals->off);
	if (r->placement && !r->dir.refusals->off)
		placement_turn(r->placement, watch_process(r->watch), now_ns);
	look_at_gpus(r, now_ns);
	look_at_allowance(r, now_ns);
	look_at_off(r, now_ns);
	if (r->unreached)
		unreached_look(r->unreached, r->dir.refusals, now_ns);

	if (flush_ms) {
		next_ms = flush_ms < next_ms ? flush_ms : next_ms;
	} else {
		bool has_more = watch_has_consumed(r->watch);
		has_more |= r->stacks && stack_sampler_has_passed(r->stacks);
		has_more |= encoder_is_holding(r->encoder);
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
		if (r->is_asked || recorder_is_over(r, now_ns))
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

	if (r->ring_error) {
		trace_writer_abandon(r->writer);
		r->writer = NULL;
		return r->ring_error;
	}
	if (!r->writer)
		return error;
	error = sink_account(r->writer, a);
	if (!error && r->leaves)
		error = recorder_say_part(r->writer, a->end_ns, MARK_NEXT);
	if (!error)
		error = sink_flush(r->writer);
	trace_writer_counts(r->writer, &r->result->bytes, &pairs);
	int old = error || r->options->always ? 0 : keep_former(r->options->output);
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
	const uint64_t end_ns = monotonic_ns();

	r->leaves |= r->is_asked;
	r->leaves = r->leaves && !encoder_error(r->encoder) && !encoder_leave(r->encoder, end_ns);
	if (r->leaves)
		watch_leave_all(r->watch);
	if (!encoder_error(r->encoder) && !r->leaves)
		watch_end_all(r->watch);
	/* taken first: CPU time that encoding takes from here on does not slow down the program */
	struct sink_account a = recorder_account(r, 1);
	encoder_finish(r->encoder, &r->writer);
	if (r->leaves) {
		watch_left(r->watch);
		a.end_ns = end_ns;
	}
	if (r->energy && r->writer)
		energy_meter_finish(r->energy, r->writer);
	if (r->gpu_energy && r->writer)
		energy_meter_finish(r->gpu_energy, r->writer);
	if (r->placement && r->writer)
		placement_finish(r->placement, r->writer);
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
	if (!error && r->lost_ns)
		say_back(r);
	recorder_take_totals(r);
	if (r->exemplars)
		r->result->exemplars = exemplars_count(r->exemplars);
	r->result->recorded = !error;
	encoder_destroy(r->encoder);
	if (!r->ended_ns && r->options->pid) /* by the control page in the directory */
		enter_is_over(r);
	bool leaves = r->leaves;
	recorder_discard(r);
	if (leaves && r->is_asked)
		r->options->warn("record: another recorder goes on");
	else if (leaves)
		r->options->warn("record: the program runs on; to go on: brick record --always "
				 "--pid %d -o %s",
			(int)r->pid, r->options->output);
	if (!r->ended_ns)
		wait_only(r);
	if (r->ring_error && r->lost_ns)
		r->options->warn("record: %s: the last %llu s are not kept", r->options->output,
			(unsigned long long)((end_ns - r->lost_ns) / NS_PER_S));
	if (error)
		say_given_up(r->options, error);
}

/* Record the started program to its end. */
static void recorder_record(struct recorder *r)
{
	/* it removes the directory if the recorder is killed; without it the next recorder does */
	bool waits = !r->enter && r->options->always;
	/* mapped in the keeper, it would look like a process of the recording */
	if (waits)
		madvise(r->dir.refusals, sizeof(*r->dir.refusals), MADV_DONTFORK);
	if (waits && r->dir.lock_fd >= 0) /* else the keeper of the recorder before goes on */
		keeper_start(&r->keeper, &(struct keeper_task){.directory = r->dir.path,
						 .kept = &r->dir.lock_fd,
						 .kept_count = 1,
						 .waits = true});
	else if (!waits && !r->enter)
		keeper_start(&r->keeper, &(struct keeper_task){.directory = r->dir.path});
	int error = encoder_create(&r->encoder, r->writer, watch_session_done, r->watch);

	if (error) {
		r->options->warn("record: %s; the program runs unrecorded", strerror(-error));
		if (r->options->pid)
			enter_is_over(r);
		recorder_discard(r);
		wait_only(r);
		return;
	}
	encoder_interval_set(r->encoder, r->options->interval_ms);
	if (r->options->always)
		encoder_files_set(r->encoder, &r->files);
	if (r->exemplars)
		encoder_exemplars_set(r->encoder, r->exemplars);
	cost_limit_init(&r->result->cost, r->options->max_cost);
	if (r->options->max_cost > 0)
		encoder_cost_set(r->encoder, &r->result->cost, &r->dir.refusals->step_blocks);
	trace_writer_sync_prepare(r->writer);
	watch_encoder_set(r->watch, r->encoder);
	watch_switches_set(r->watch, &r->switches);
	if (r->faults)
		watch_faults_set(r->watch, r->faults);
	r->dir.asked = recorder_asked;
	r->dir.context = r;
	if (r->options->idle)
		(void)recorder_mark(r, r->file_start_ns, MARK_OFF, "");
	record_until_over(r);
	recorder_finish(r);
	signals_fatal_message(NULL);
}

/*
 * An enter_recorder's: from its first step on, a process is followed by the kernel, too. It is
 * stopped, so nothing is said that somebody must read.
 */
static void recorder_enters(void *context, pid_t pid)
{
	struct recorder *r = context;

	switches_enter(&r->switches, pid);
	int error = r->stacks ? stack_sampler_enter(r->stacks, pid) : 0;
	if (error) {
		r->stackless = pid;
		r->stacks_error = error;
	}
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
	r->energy_error = energy_meter_start(&r->energy, recorder_root(r), r->energy_refused);
	if (placement_create(&r->placement, recorder_root(r)))
		r->placement = NULL;
	if (r->options->pid)
		switches_follow_running(&r->switches, (enum off_cpu_when)r->options->off_cpu);
	else
		switches_follow(&r->switches, pid, (enum off_cpu_when)r->options->off_cpu);
	if (r->options->stacks_hz)
		say_stacks(
			r, r->options->pid
				   ? stack_sampler_create_running(&r->stacks, r->options->stacks_hz)
				   : stack_sampler_create(&r->stacks, pid, r->options->stacks_hz));
	if (r->options->idle)
		switches_hold(&r->switches, true);
	else if (r->options->off_cpu && !r->options->pid)
		r->faults_error = fault_records_follow(&r->faults, pid);
	if (neighbours_create(&r->neighbours))
		r->neighbours = NULL;
	if (r->options->inject && !r->options->pid)
		(void)unreached_create(&r->unreached, pid, r->dir.path);
}

static void leave_for_killed(void *enter)
{
	enter_tree_abandoned(enter);
}

/* Record the running process. */
static void recorder_attach(struct recorder *r)
{
	if (!recorder_prepare(r)) {
		r->result->refused = 1;
		return;
	}
	r->start_ns = monotonic_ns();
	r->start_cpu_ns = process_cpu_ns();
	r->pid = r->options->pid;
	recorder_follow(r, r->pid);
	if (r->adopted) {
		environment_fini(&r->environment);
		r->entered_ns = r->start_ns;
		r->result->has_entered = true;
		recorder_record(r);
		return;
	}
	const struct enter_recorder self = {r->dir.path, &r->environment, &guard_mappings,
		enter_meanwhile, recorder_enters, r, session_dir_is_left};
	int error = enter_tree_open(&r->enter, r->pid, &self);
	if (!error) {
		int kept[ENTER_TREE_MOST];
		keeper_start(
			&r->keeper, &(struct keeper_task){.directory = r->dir.path,
					    .killed = leave_for_killed,
					    .context = r->enter,
					    .kept = kept,
					    .kept_count = enter_tree_descriptors(r->enter, kept)});
		error = enter_tree_begin(r->enter);
	}
	environment_fini(&r->environment);
	if (error) {
		if (r->enter)
			say_refusals(r);
		else
			r->options->warn("record: %s", strerror(-error));
		enter_tree_free(r->enter);
		r->enter = NULL;
		r->result->refused = 1;
		r->ended_ns = r->start_ns;
		recorder_discard(r);
		return;
	}
	say_refusals(r);
	r->asked_ns = monotonic_ns();
	recorder_record(r);
}

static void recorder_run_until_over(struct recorder *r)
{
	if (r->options->pid) {
		recorder_attach(r);
		return;
	}

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
