/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The embedded consumer of libbrick: one thread that sleeps, looks at the rings, consumes and
 * emits. After an error of the writer it only waits to be stopped; the program never notices.
 */
#include "lib/embed/writer_thread.h"
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "base/array.h"
#include "base/clock_ns.h"
#include "base/lock.h"
#include "base/scope.h"
#include "base/thread.h"
#include "brick/error.h"
#include "brick/session.h"
#include "lib/drain/allowance.h"
#include "lib/drain/clock_line.h"
#include "lib/drain/drain.h"
#include "lib/drain/drain_pace.h"
#include "lib/drain/neighbours.h"
#include "lib/drain/off_cpu.h"
#include "lib/keep/exemplars.h"
#include "lib/keep/file_ring.h"
#include "lib/session/consumer.h"
#include "lib/sys/descriptors.h"
#include "lib/writer/part_file.h"
#include "lib/writer/writer.h"

/*
 * The switches of the process's own threads. Each thread has its own ring, and the writer's thread
 * reads all of them. Joining, leaving and reading take one lock, which no thread holds for longer
 * than it takes to copy a few rings. NULL is legal: there are none.
 */
struct own_switches {
	pthread_mutex_t lock;
	struct off_cpu_recorder *intervals;
	int refused;   /* to all threads: -errno */
	uint64_t lost; /* threads that could not join beside others, and what had no memory */
	ARRAY(struct sink_off_cpu) ended;
};

/* -ENOMEM. */
static int own_switches_create(struct own_switches **out)
{
	struct own_switches *s = calloc(1, sizeof(*s));
	int error = s ? off_cpu_create_own(&s->intervals) : -ENOMEM;

	if (error) {
		free(s);
		return error;
	}
	pthread_mutex_init(&s->lock, NULL);
	s->refused = off_cpu_available();
	*out = s;
	return 0;
}

/* The calling thread. */
static void own_switches_join(struct own_switches *s)
{
	if (!s || s->refused)
		return;
	HOLD_UNCANCELLED(&s->lock);
	s->lost += off_cpu_join(s->intervals) != 0;
}

/* True if the kernel does not allow it; the account says why. */
static bool own_switches_refused(const struct own_switches *s)
{
	return s && s->refused != 0;
}

static void own_switches_leave(struct own_switches *s)
{
	if (!s)
		return;
	HOLD_UNCANCELLED(&s->lock);
	off_cpu_leave(s->intervals);
}

/* How full the fullest thread's ring is, 0 to 100. */
static unsigned own_switches_fill(struct own_switches *s)
{
	if (!s)
		return 0;
	HOLD_UNCANCELLED(&s->lock);
	return off_cpu_fill(s->intervals);
}

static void writer_thread_keep(void *context, const struct off_cpu *interval)
{
	struct own_switches *s = context;
	const struct sink_off_cpu one = {
		.begin_ns = interval->begin_ns,
		.end_ns = interval->end_ns,
		.tid = interval->tid,
		.preempted = interval->why == OFF_CPU_PREEMPTED,
	};

	if (array_push(&s->ended, one))
		s->lost++;
}

/* Emit what has ended by `now_ns`, UINT64_MAX: all; records before it. 0, -ENOMEM, or the writer's
 * error. */
static int own_switches_emit(struct own_switches *s, struct drain *drain,
	struct exemplars *exemplars, struct trace_writer *writer, uint64_t now_ns)
{
	if (!s)
		return 0;
	lock_take(&s->lock);
	int error = off_cpu_read(s->intervals, now_ns, writer_thread_keep, s);
	s->lost += error != 0;
	lock_give(&s->lock);
	if (exemplars)
		exemplars_off_cpu(exemplars, drain, s->ended.items, s->ended.count);
	error = drain_emit_off_cpu(drain, writer, s->ended.items, s->ended.count);
	s->ended.count = 0;
	return error;
}

static void own_switches_account(struct own_switches *s, struct off_cpu_account *account)
{
	if (!s)
		return;
	HOLD_UNCANCELLED(&s->lock);
	account->source = s->refused ? OFF_CPU_UNKNOWN : OFF_CPU_SWITCHES;
	account->error = s->refused;
	account->lost = s->lost + off_cpu_lost(s->intervals);
}

static void own_switches_destroy(struct own_switches *s)
{
	if (!s)
		return;
	off_cpu_destroy(s->intervals);
	pthread_mutex_destroy(&s->lock);
	array_fini(&s->ended);
	free(s);
}

enum {
	CHUNK_RECORDS = 16384,
	FULL_PERCENT = 25,
	DIGEST_MS = 5,	   /* while digests come in */
	SWITCHES_MS = 100, /* a thread's ring of switches holds 1300 times off a CPU */
};

struct consumer {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake, drained;
	/* under the lock */
	bool stopping;
	bool opened;		  /* or tried to */
	uint64_t asked, answered; /* calls of writer_thread_drain() */
	uint64_t heard;		  /* those that the last writer_thread_turn() knew of */

	int fd;					     /* the session's */
	const struct brick_session_options *options; /* until it is opened */
	struct drain *drain;
	struct drain_pace pace;
	struct drain_clock clock;
	struct own_switches *switches; /* NULL: nobody wants them */
	struct neighbours *neighbours; /* NULL: not known */
	uint64_t throttled_ns;	       /* when recording began */
	uint64_t begun_cpu_ns;	       /* what the program had used before */
	struct trace_writer *writer;   /* NULL after an error */
	struct exemplars *exemplars;   /* NULL: none are kept */
	struct brick_record *chunk;
	uint32_t interval_ms;
	uint64_t drained_ns, flushed_ns;
	bool slow_only;
	struct part_file *held; /* with slow_only OUTPUT.part stays empty: nobody else begins it */
	int error;		/* the first */
};

static void writer_thread_fail(struct consumer *t, int error)
{
	if (!t->error)
		t->error = error;
	trace_writer_leave(t->writer);
	t->writer = NULL;
}

/* The recording's own account, as of now. ended: also what the machine did. */
static struct sink_account writer_thread_account(struct consumer *t, bool ended)
{
	uint64_t own_ns = thread_cpu_ns();
	struct allowance allowed;
	allowance_of(&allowed, 0);
	struct sink_account a = {
		.end_ns = monotonic_ns(),
		.consumer_cpu_ns = own_ns,
		.program_cpu_ns = process_cpu_ns() - own_ns - t->begun_cpu_ns,
		.cpus = drain_cpus_online(),
		.usable_cpus = allowed.cpus,
		.exit_code = -1,
		.clock_residual_ns = drain_clock_check(&t->clock),
	};
	own_switches_account(t->switches, &a.off_cpu);
	drain_threads_account(t->drain, &a.off_cpu);
	a.off_cpu.lost += drain_counts(t->drain).off_cpu_lost;
	if (ended && t->neighbours &&
		neighbours_use(t->neighbours, (uint32_t)getpid(), &a.machine, NULL))
		a.machine = (struct machine_use){0};
	allowance_tell(&allowed, t->throttled_ns, &a.machine);
	return a;
}

/* The clock's line, as soon as something must be converted with it. */
static int fit_clock(struct consumer *t)
{
	if (t->clock.fitted)
		return 0;
	return sink_clock(t->writer, drain_clock_fit(&t->clock));
}

static int drain_all(struct consumer *t, uint64_t now_ns)
{
	uint32_t lanes = drain_lanes(t->drain);
	int error = fit_clock(t);

	for (uint32_t i = 0; i < lanes && !error; i++) {
		size_t n;
		/* not for ever: a thread that fills its ring faster must not keep us here */
		uint64_t most = drain_level(t->drain, i).waiting;
		for (uint64_t done = 0; done < most && !error; done += n) {
			n = drain_consume(t->drain, i, t->chunk, CHUNK_RECORDS);
			if (!n)
				break;
			if (t->exemplars)
				error = exemplars_records(t->exemplars, sink_clock_get(t->writer),
					t->drain, i, t->chunk, n);
			if (!error)
				error = drain_emit(t->drain, t->writer, i, t->chunk, n);
		}
	}
	if (!error)
		error = own_switches_emit(t->switches, t->drain, t->exemplars, t->writer, now_ns);
	return error;
}

/*
 * All until the account's end has been emitted. Files of slow steps are written here, while rings
 * fill: 32 MiB of records take less time than a ring holds.
 */
static void exemplars_turn(struct consumer *t, const struct sink_account *account, bool at_once)
{
	if (!t->exemplars)
		return;
	exemplars_round(t->exemplars, account);
	while (exemplars_step(t->exemplars, at_once))
		;
}

static bool clock_is_sound(struct consumer *t)
{
	return t->clock.fitted || drain_clock_baseline_ns(&t->clock) >= DRAIN_CLOCK_BASELINE_NS;
}

/* Is it time to empty the rings? The first time waits for a clock with a sound baseline. */
static bool drain_is_due(
	struct consumer *t, const struct drain_outlook *outlook, uint64_t now_ns, bool wanted)
{
	uint64_t interval_ns = (uint64_t)t->interval_ms * 1000000u;

	if (outlook->fullest_percent >= FULL_PERCENT)
		return true;
	wanted |= outlook->waiting && now_ns - t->drained_ns >= interval_ns;
	return (wanted || own_switches_fill(t->switches) >= FULL_PERCENT) && clock_is_sound(t);
}

static uint64_t asked(struct consumer *t)
{
	HOLD_UNCANCELLED(&t->lock);
	t->heard = t->asked;
	return t->heard;
}

static void writer_thread_answer(struct consumer *t, uint64_t value)
{
	HOLD_UNCANCELLED(&t->lock);
	t->answered = value;
	pthread_cond_broadcast(&t->drained);
}

/* One look; returns how long to sleep. */
static uint32_t writer_thread_turn(struct consumer *t)
{
	uint64_t now_ns = monotonic_ns(), wanted = asked(t);
	int error = 0;

	if (!t->writer) {
		writer_thread_answer(t, wanted);
		return t->interval_ms;
	}
	uint32_t flush_ms = drain_flush_in_ms(t->interval_ms, t->flushed_ns, now_ns);
	struct drain_outlook outlook =
		drain_look(t->drain, &t->pace, now_ns, flush_ms ? flush_ms : t->interval_ms);
	if (t->switches && outlook.next_ms > SWITCHES_MS)
		outlook.next_ms = SWITCHES_MS;
	if (own_switches_refused(t->switches))
		drain_watch_threads(t->drain, SWITCHES_MS);
	bool now = wanted != t->answered;
	bool is_kept = t->exemplars && exemplars_wait(t->exemplars);
	if (drain_is_due(t, &outlook, now_ns, now || (!flush_ms && (outlook.waiting || is_kept)))) {
		error = drain_all(t, now_ns);
		t->drained_ns = now_ns;
		writer_thread_answer(t, wanted);
	} else if (now) {
		outlook.next_ms = 2; /* soon: until the clock's baseline is long enough */
	}
	if (!error && clock_is_sound(t) && drain_digest_level(t->drain)) {
		error = fit_clock(t);
		error = error ? error : drain_emit_digests(t->drain, t->writer);
		outlook.next_ms = outlook.next_ms < DIGEST_MS ? outlook.next_ms : DIGEST_MS;
	}
	if (!error && !flush_ms && t->drained_ns > t->flushed_ns) {
		const struct sink_account account = writer_thread_account(t, false);
		exemplars_turn(t, &account, false);
		error = sink_account(t->writer, &account);
		t->flushed_ns = now_ns;
		if (!error)
			error = sink_flush(t->writer);
	}
	if (error)
		writer_thread_fail(t, error);
	return outlook.next_ms;
}

/* What the program cannot see otherwise. */
static void note_exemplars(struct consumer *t)
{
	const struct exemplars_count count = exemplars_count(t->exemplars);

	drain_note(t->drain, "slow=%llu files; %llu steps and losses beyond slow_per_hour%s%s",
		(unsigned long long)count.kept, (unsigned long long)count.left,
		count.failed ? "; a file could not be written: " : "",
		count.failed ? brick_strerror(count.error) : "");
}

static void writer_thread_finish(struct consumer *t)
{
	uint64_t end_ticks;

	if (!t->writer)
		return;
	enum drain_end end = drain_state(t->drain, &end_ticks) == BRICK_SESSION_CLOSED
				     ? DRAIN_END_CLOSED
				     : DRAIN_END_OUTLIVED;
	if (!end_ticks)
		end_ticks = drain_ticks(t->drain);
	int error = drain_all(t, UINT64_MAX);
	struct sink_account account = writer_thread_account(t, false);
	if (t->exemplars) {
		exemplars_turn(t, &account, true);
		exemplars_forget(t->exemplars, t->drain);
		note_exemplars(t);
	}
	if (!error)
		error = drain_finish(t->drain, t->writer, end, end_ticks);
	account = writer_thread_account(t, true);
	if (!error)
		error = sink_account(t->writer, &account);
	if (!error)
		t->error = trace_writer_finish(t->writer);
	else
		writer_thread_fail(t, error);
	if (!t->error && t->slow_only) /* nobody reads the note */
		t->error = exemplars_count(t->exemplars).error;
	t->writer = NULL;
}

/*
 * Sleep, or return 1 at once when it is time to stop. Who asked since the last writer_thread_turn()
 * looked is not kept waiting.
 */
static bool writer_thread_stopped(struct consumer *t, uint32_t ms)
{
	struct timespec until = timespec_in_ns(CLOCK_MONOTONIC, ms * UINT64_C(1000000));

	HOLD_UNCANCELLED(&t->lock);
	while (!t->stopping && t->asked == t->heard &&
		pthread_cond_timedwait(&t->wake, &t->lock, &until) != ETIMEDOUT)
		;
	return t->stopping;
}

static void say_opened(struct consumer *t, int error)
{
	HOLD_UNCANCELLED(&t->lock);
	t->error = error;
	t->opened = true;
	pthread_cond_broadcast(&t->drained);
}

/* Makes a file of slow steps, which begins at start_ns. */
static int open_exemplar(
	void *context, const struct file_ring *ring, uint64_t start_ns, struct trace_writer **out)
{
	const struct consumer *t = context;
	struct drain_title title;
	struct trace_writer_options options = drain_title(t->drain, &title, ring->path);

	options.ring = ring->id;
	options.start_unix_ns = real_ns() - (monotonic_ns() - start_ns);
	options.start_ns = start_ns;
	options.compress = 1;
	return trace_writer_create(out, &options);
}

static int open_files(struct consumer *t)
{
	const struct brick_session_options *o = t->options;
	struct drain_title title;
	struct trace_writer_options options = drain_title(t->drain, &title, o->output);
	char wrong[PATH_MAX], path[PATH_MAX];
	int error = 0;

	/* before the output takes the place of a former one */
	struct file_ring ring = {.path = path};
	if (o->slow && !exemplars_name(o->output, 0, path))
		return -ENAMETOOLONG;
	if (o->slow)
		error = file_ring_look(&ring, wrong, sizeof(wrong));
	if (error)
		return error;
	options.compress = !o->slow_only;
	if (o->slow_only) {
		error = part_file_open(&t->held, o->output);
		options.path = NULL;
		options.output = trace_writer_nowhere;
	}
	if (!error)
		error = trace_writer_create(&t->writer, &options);
	if (error || !o->slow)
		return error;
	struct exemplars_options slow = {.path = o->output,
		.bytes = o->slow_bytes ? o->slow_bytes : SLOW_BYTES,
		.per_hour = o->slow_per_hour ? o->slow_per_hour : SLOW_PER_HOUR,
		.open = open_exemplar,
		.context = t};
	error = slow_limits_parse(&slow.slow, o->slow);
	if (!error)
		error = exemplars_create(
			&t->exemplars, &slow, monotonic_ns(), wrong, sizeof(wrong));
	if (error) {
		trace_writer_abandon(t->writer);
		t->writer = NULL;
	}
	return error;
}

static void *writer_thread_run(void *argument)
{
	struct consumer *t = argument;
	uint32_t ms = t->switches && t->interval_ms > SWITCHES_MS ? SWITCHES_MS : t->interval_ms;
	const char *why;

	pthread_setname_np(pthread_self(), "brick-writer");
	/* from here on descriptors are in a table of this thread's own, where the kernel has that
	 */
	brick__descriptors_leave(t->fd);
	int error = drain_open(&t->drain, t->fd, NULL, &why);
	if (!error)
		error = open_files(t);
	if (error)
		part_file_remove(t->held);
	say_opened(t, error);
	if (error)
		return NULL;
	neighbours_create(&t->neighbours);
	struct allowance allowed;
	allowance_of(&allowed, 0);
	t->throttled_ns = allowed.throttled_ns;
	while (!writer_thread_stopped(t, ms))
		ms = writer_thread_turn(t);
	writer_thread_finish(t);
	part_file_remove(t->held); /* by the thread whose lock it has */
	writer_thread_answer(t, UINT64_MAX);
	return NULL;
}

/* The thread runs and has opened what it needs, or has ended. */
static int writer_thread_launch(struct consumer *t)
{
	int error = thread_start(&t->thread, NULL, 0, writer_thread_run, t);

	if (error)
		return error;
	lock_take(&t->lock);
	while (!t->opened)
		pthread_cond_wait(&t->drained, &t->lock);
	error = t->error;
	lock_give(&t->lock);
	if (error)
		pthread_join(t->thread, NULL);
	return error;
}

static void writer_thread_destroy(struct consumer *t)
{
	pthread_cond_destroy(&t->wake);
	pthread_cond_destroy(&t->drained);
	pthread_mutex_destroy(&t->lock);
	exemplars_destroy(t->exemplars);
	drain_close(t->drain);
	own_switches_destroy(t->switches);
	neighbours_destroy(t->neighbours);
	free(t->chunk);
	free(t);
}

static int writer_thread_start(
	struct consumer **out, int fd, const struct brick_session_options *options)
{
	struct consumer *t = calloc(1, sizeof(*t));
	pthread_condattr_t monotonic;

	if (!t)
		return -ENOMEM;
	t->fd = fd;
	t->options = options;
	t->interval_ms = options->interval_ms;
	t->slow_only = options->slow_only;
	drain_clock_start(&t->clock);
	t->flushed_ns = t->drained_ns = monotonic_ns();
	t->begun_cpu_ns = process_cpu_ns();
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->wake, &monotonic);
	pthread_cond_init(&t->drained, NULL);
	pthread_condattr_destroy(&monotonic);
	t->chunk = malloc(CHUNK_RECORDS * sizeof(*t->chunk));
	int error = t->chunk ? 0 : -ENOMEM;
	if (!error && options->off_cpu == BRICK_OFF_CPU_ON)
		error = own_switches_create(&t->switches);
	if (!error)
		error = writer_thread_launch(t);
	if (error) {
		writer_thread_destroy(t);
		return error;
	}
	*out = t;
	return own_switches_refused(t->switches);
}

static void writer_thread_drain(struct consumer *t)
{
	HOLD_UNCANCELLED(&t->lock);
	uint64_t mine = ++t->asked;
	pthread_cond_signal(&t->wake);
	while (t->answered < mine)
		pthread_cond_wait(&t->drained, &t->lock);
}

static int writer_thread_stop(struct consumer *t)
{
	lock_take(&t->lock);
	t->stopping = true;
	pthread_cond_signal(&t->wake);
	lock_give(&t->lock);
	pthread_join(t->thread, NULL);
	int error = t->error;
	writer_thread_destroy(t);
	return error;
}

static void thread_begins(struct consumer *t)
{
	own_switches_join(t->switches);
}

static void thread_ends(struct consumer *t)
{
	own_switches_leave(t->switches);
}

const struct consumer_type writer_thread = {
	.start = writer_thread_start,
	.drain = writer_thread_drain,
	.thread_begins = thread_begins,
	.thread_ends = thread_ends,
	.stop = writer_thread_stop,
};

int brick_session_start(const struct brick_session_options *options)
{
	return brick__session_start(options, &writer_thread);
}

int brick_session_create(struct brick_session **out, const struct brick_session_options *options)
{
	return brick__session_make(out, options, &writer_thread);
}
