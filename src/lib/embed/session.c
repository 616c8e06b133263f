/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of sessions, the process's own and those that the program makes: how one starts, who
 * consumes it, how it pauses and ends, and how it survives a fork. This file stands above all that
 * records: it is told here what a new session must get (its tables, what is captured, what a probe
 * costs), and what holds still over a fork. A child, whose mappings are still its parent's session,
 * lets go of them before it can write there; its own session starts with its first brick.
 */
#include "brick/session.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/lock.h"
#include "base/scope.h"
#include "base/sized.h"
#include "brick/error.h"
#include "lib/device/kernels.h"
#include "lib/device/queue_lane.h"
#include "lib/keep/exemplars.h"
#include "lib/sys/clock_fit.h"
#include "lib/probe/digest_record.h"
#include "lib/probe/pair_cost.h"
#include "lib/session/registry_tables.h"
#include "lib/probe/step_counting.h"
#include "lib/probe/tile_stack.h"
#include "lib/session/consumer.h"
#include "lib/session/session_lanes.h"
#include "lib/session/session_map.h"
#include "lib/sys/confined.h"
#include "lib/sys/environment.h"
#include "lib/sys/ticks.h"

enum {
	DEFAULT_INTERVAL_MS = 1000,
	DEFAULT_RING_RECORDS = 262144,
	MIN_RING_RECORDS = 1024,
	MAX_RING_RECORDS = 1 << 26
};

/* Start. */

/* Read without the lock, as what a thread records may belong to it. */
static void renumber(struct brick_session *s)
{
	__atomic_store_n(&s->serial, brick__serial_next(), __ATOMIC_RELAXED);
}

static uint32_t ring_size(uint32_t wanted)
{
	uint32_t size = MIN_RING_RECORDS;

	while (size < wanted && size < MAX_RING_RECORDS)
		size *= 2;
	return size;
}

/* A session whose tables hold what is registered so far. */
static int create_session(struct brick_session *s, const char *directory, const char *name,
	uint32_t mode, bool is_private)
{
	int error = brick__session_create(s, directory, name, mode, is_private);

	if (error)
		return error;
	brick__registry_publish(s);
	brick__kernels_publish(s);
	brick__tiles_start();
	brick__counters_start();
	brick__pair_cost_measure(s->header);
	brick__session_ready(s);
	return 0;
}

/* The session for a recorder outside: a file that gets its final name when it is valid. */
static int start_external(const char *directory)
{
	const char *mode = brick__environment("BRICK_MODE"),
		   *ring = brick__environment("BRICK_RING_RECORDS");
	char name[64], final[80];

	if (brick__clock_is_frozen())
		return -ENODEV;
	if (brick__sys_is_confined())
		return -ENOSYS;
	if (!brick__shared_is_held(directory, "lock"))
		return -EOWNERDEAD; /* nobody would read it, or remove it */
	snprintf(name, sizeof(name), ".%d-%llx", (int)brick__process_id(),
		(unsigned long long)brick__monotonic_ns());
	snprintf(final, sizeof(final), "%s.session", name + 1);
	brick__session.ring_records =
		ring_size(ring ? (uint32_t)strtoul(ring, NULL, 10) : DEFAULT_RING_RECORDS);
	brick__session.external = brick__session.rings_grow = true;
	int error = create_session(
		&brick__session, directory, name, mode ? (uint32_t)atoi(mode) : 0, true);
	if (!error) {
		error = brick__shared_rename(&brick__session.file, final);
		if (error) {
			brick__shared_unlink(&brick__session.file);
			brick__session_destroy(&brick__session);
		}
	}
	return error;
}

/*
 * True if a recorder wanted a session that could not be had, and counts what it misses: probes
 * stay on.
 */
static bool session_is_refused(int error)
{
	if (error == -EOWNERDEAD)
		return false;
	brick__refusals_session(error);
	return brick__refusals_counted();
}

static int ensure(void)
{
	KEEP_ERRNO();
	int error = 0;

	BETWEEN(brick__session_lock, brick__session_unlock);
	const char *directory = brick__environment("BRICK_SESSION_DIR");
	if (!brick__session.header && directory && *directory) {
		if (!brick__session_records(&brick__session)) /* else it has one already */
			renumber(&brick__session);
		error = start_external(directory);
		brick__digests_use(error ? NULL : brick__session.header);
		__atomic_store_n(
			&brick__session.live, error ? 0 : brick__session.serial, __ATOMIC_RELEASE);
		brick__switch_set(&brick__session, !error || session_is_refused(error));
	} else if (!brick__session.header) {
		error = -ENOENT;
		if (brick__session_records(&brick__session))
			brick__switch_set(&brick__session, false);
	}
	return error;
}

static int is_held; /* brick__session_hold(); under the session lock */

void brick__session_hold(int held)
{
	BETWEEN(brick__session_lock, brick__session_unlock);
	is_held = held;
}

static int session_read_options(
	struct brick_session_options *o, const struct brick_session_options *options)
{
	int error = options ? sized_read(o, sizeof(*o), options) : 0;

	if (error)
		return error;
	if (o->mode > BRICK_MODE_NONE || o->off_cpu > BRICK_OFF_CPU_OFF)
		return -EINVAL;
	if (!o->interval_ms)
		o->interval_ms = DEFAULT_INTERVAL_MS;
	bool has_more = o->slow_bytes || o->slow_per_hour || o->slow_only;
	if ((o->slow && !o->output) || (has_more && !o->slow) || o->slow_only > 1 ||
		(o->slow_bytes && o->slow_bytes < SLOW_BYTES_LEAST))
		return -EINVAL;
	return o->slow ? slow_limits_parse(&(struct slow_limits){0}, o->slow) : 0;
}

/* Under the session lock. */
static int start_session(struct brick_session *s, const struct brick_session_options *o,
	const struct consumer_type *consumer)
{
	int consumed = o->output || o->directory;

	if (brick__clock_is_frozen())
		return -ENODEV;
	s->external = o->directory && !o->output;
	s->rings_grow = false;
	s->consumer_type = consumer;
	s->renewed = false;
	s->ring_records = o->ring_records ? ring_size(o->ring_records)
			  : consumed	  ? DEFAULT_RING_RECORDS
					  : 0;
	char name[48];
	if (s->owner && o->directory)
		snprintf(name, sizeof(name), "%d-%u.session", (int)brick__process_id(), s->owner);
	else
		snprintf(name, sizeof(name), o->directory ? "%d.session" : "brick-session",
			(int)brick__process_id());
	int error = create_session(s, o->directory, name, o->mode, false);
	if (error)
		return error;
	snprintf(s->output.path, sizeof(s->output.path), "%s", o->output ? o->output : "");
	int fd = o->output ? brick__shared_keep(&s->file) : 0;
	if (o->output)
		error = fd < 0 ? fd : consumer->start(&s->consumer, fd, o);
	if (error < 0) {
		brick__session_destroy(s);
		return error;
	}
	if (error > 0)
		brick__step_cpu_use();
	renumber(s);
	__atomic_store_n(&s->live, s->serial, __ATOMIC_RELEASE);
	if (s == &brick__session && s->ring_records)
		brick__digests_use(s->header);
	if (o->mode != BRICK_MODE_NONE)
		brick__switch_set(s, true);
	return 0;
}

/* A recorder's session takes what the one with these options would. */
static bool session_is_recorded(const struct brick_session_options *o)
{
	if (!brick__environment("BRICK_SESSION_DIR") || ensure())
		return false;
	if (o->output)
		brick_note("embedded.output", "%s", o->output); /* the recorder says so */
	return true;
}

/* From the first session on locks are held for long, and their system calls do not matter. */
static void mind_signals(void)
{
	if (!brick__sys_is_confined())
		lock_leave_signals(false);
}

int brick__session_start(
	const struct brick_session_options *options, const struct consumer_type *consumer)
{
	struct brick_session_options o = BRICK_SESSION_OPTIONS_INIT;
	KEEP_ERRNO();

	int error = session_read_options(&o, options);
	if (error || session_is_recorded(&o))
		return error;
	mind_signals();
	BETWEEN(brick__session_lock, brick__session_unlock);
	struct brick_session *s = brick__session_here();
	if (s->header)
		return s == &brick__session && is_held ? 0 : -EALREADY;
	return start_session(s, &o, consumer);
}

/* Stop. */

/* is_quiet: no thread is in a brick of the session, or ever will be. */
static int stop_session(struct brick_session *s, bool is_quiet)
{
	int error = 0;

	brick__switch_set(s, false);
	__atomic_store_n(&s->live, 0, __ATOMIC_RELEASE);
	if (s == &brick__session)
		brick__digests_use(NULL);
	s->header->end_ticks = brick__now();
	__atomic_store_n(&s->header->state, BRICK_SESSION_CLOSED, __ATOMIC_RELEASE);
	if (s->consumer)
		error = s->consumer_type->stop(s->consumer);
	s->consumer = NULL;
	brick__lanes_release(s, is_quiet);
	brick__session_destroy(s);
	return error;
}

/* Looked at from inside of the process. */

static void (*on_stopping)(void);
static void (*on_forgotten)(void *answers);

void brick__session_watch(void (*stopping)(void), void (*forgotten)(void *answers))
{
	BETWEEN(brick__session_lock, brick__session_unlock);
	on_stopping = stopping;
	on_forgotten = forgotten;
}

void **brick__session_answers(void)
{
	return &brick__session_here()->answers;
}

int brick__session_view(struct brick__session_output *output)
{
	KEEP_ERRNO();

	BETWEEN(brick__session_lock, brick__session_unlock);
	struct brick_session *s = brick__session_here();
	if (!s->header)
		return -ENOENT;
	*output = s->output;
	return brick__shared_open(&s->file);
}

/* True for a session that the program must not stop: it is held, or a recorder's. */
static bool is_others(const struct brick_session *s)
{
	return s == &brick__session &&
	       (is_held || (s->external && brick__environment("BRICK_SESSION_DIR")));
}

/* is_forgotten: the session is being destroyed, and nobody asks for its answers any more. */
static int stop_here(bool is_forgotten)
{
	struct brick_session *s = brick__session_here();

	brick__fork_notice();
	if (on_stopping && !is_others(s) && !is_forgotten)
		on_stopping();
	if (!is_others(s))
		brick__queues_account(s->serial, false);
	BETWEEN(brick__session_lock, brick__session_unlock);
	if (!s->header)
		return -ENOENT;
	return is_others(s) ? 0 : stop_session(s, false);
}

int brick_session_stop(void)
{
	KEEP_ERRNO();

	return stop_here(false);
}

int brick_session_graph_set(int is_on)
{
	BETWEEN(brick__session_lock, brick__session_unlock);
	struct brick_session *s = brick__session_here();
	if (!s->header)
		return -ENOENT;
	if (s->consumer || s->external)
		return is_on ? 0 : BRICK_ESTATE;
	uint32_t records = is_on ? DEFAULT_RING_RECORDS : 0;
	if (!s->ring_records != !records) {
		s->ring_records = records;
		s->renewed = true;
		brick__switch_set(s, s->records);
	}
	return 0;
}

int brick_session_graph_get(void)
{
	BETWEEN(brick__session_lock, brick__session_unlock);
	const struct brick_session *s = brick__session_here();
	return s->header ? s->ring_records != 0 : -ENOENT;
}

uint64_t brick_epoch_ns(void)
{
	uint64_t now = brick__now();

	BETWEEN(brick__session_lock, brick__session_unlock);
	const struct brick_session *s = brick__session_here();
	return s->header && now > s->epoch
		       ? brick_clock_duration_ns(brick_clock_get(), now - s->epoch)
		       : 0;
}

int brick_epoch_begin(void)
{
	BETWEEN(brick__session_lock, brick__session_unlock);
	struct brick_session *s = brick__session_here();
	if (!s->header)
		return -ENOENT;
	s->epoch = brick__now();
	return 0;
}

/* Sessions that the program makes. */

static uint32_t last_owner; /* under the session lock, as the list is */

static int start_made(struct brick_session *s, const struct brick_session_options *o,
	const struct consumer_type *consumer)
{
	BETWEEN(brick__session_lock, brick__session_unlock);
	s->owner = ++last_owner;
	s->holders = 1;
	if (s->is_alias)
		return 0;
	s->next = brick__session.next;
	brick__session.next = s;
	int error = start_session(s, o, consumer);
	if (error)
		brick__session.next = s->next;
	return error;
}

int brick__session_make(struct brick_session **out, const struct brick_session_options *options,
	const struct consumer_type *consumer)
{
	struct brick_session_options o = BRICK_SESSION_OPTIONS_INIT;
	KEEP_ERRNO();

	int error = out ? session_read_options(&o, options) : -EINVAL;
	if (error)
		return error;
	mind_signals();
	struct brick_session *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->is_alias = session_is_recorded(&o);
	error = start_made(s, &o, consumer);
	if (error)
		free(s);
	else
		*out = s;
	return error;
}

/* Under the session lock: takes a session off the list. A child's list has no sessions of the
 * parent. */
static void unlist(const struct brick_session *s)
{
	struct brick_session **link = &brick__session.next;

	while (*link && *link != s)
		link = &(*link)->next;
	if (!*link)
		return;
	*link = s->next;
	brick__switch_set(&brick__session, brick__session.records);
}

struct brick_session *brick_session_use(struct brick_session *session)
{
	KEEP_ERRNO();

	brick__session_keep(session);
	struct brick_session *before = brick__thread_use(session);
	brick__session_release(before);
	return before;
}

int brick_session_destroy(struct brick_session *session)
{
	KEEP_ERRNO();

	if (!session)
		return 0;
	struct brick_session *before = brick_session_use(session);
	int error = session->is_alias ? 0 : stop_here(true);
	brick_session_use(before == session ? NULL : before);
	brick__session_lock();
	unlist(session);
	void *answers = session->answers;
	session->answers = NULL;
	brick__session_unlock();
	if (answers)
		on_forgotten(answers);
	brick__registry_leave(session->owner);
	brick__session_release(session);
	return error == -ENOENT ? 0 : error;
}

/* The end of the process. */

/* Nothing but stores: the program may have locked itself in, where a system call kills. */
static void close_for_recorder(const struct brick_session *s)
{
	struct brick_session_header *header = s->header;

	if (!header || s->consumer)
		return;
	header->end_ticks = brick__now();
	__atomic_store_n(&header->state, BRICK_SESSION_CLOSED, __ATOMIC_RELEASE);
}

/* A child in our memory (vfork()) that ends with exit() ends nothing of its parent's. */
static bool is_our_process(void)
{
	return brick__process_id() == (uint32_t)getpid();
}

static void finish_sessions(void)
{
	BETWEEN(brick__session_lock, brick__session_unlock);
	for (struct brick_session *s = &brick__session; s; s = s->next) {
		if (s->header && s->consumer && is_our_process())
			stop_session(s, false);
		else
			close_for_recorder(s);
	}
}

/* Fork: the locks are held over it. */

static void session_before(void)
{
	brick__counters_lock();
	brick__queues_lock();
	brick__session_lock();
	brick__registry_lock();
	brick__digests_lock();
}

static void in_parent(void)
{
	brick__digests_unlock();
	brick__registry_unlock();
	brick__session_unlock();
	brick__queues_unlock();
	brick__counters_unlock();
}

/* Does a recorder wait for the session that the first brick starts? */
static bool session_is_wanted(void)
{
	const char *directory = brick__environment("BRICK_SESSION_DIR"),
		   *mode = brick__environment("BRICK_MODE");

	return directory && *directory && (!mode || atoi(mode) != BRICK_MODE_NONE);
}

/* In the child of a fork sessions are the parent's: forget them; the next brick starts our own. */
static void abandon_sessions(void)
{
	brick__refusals_abandon();
	for (struct brick_session *s = &brick__session; s; s = s->next) {
		brick__lanes_abandon(s);
		if (s->header)
			brick__session_destroy(s);
		s->consumer = NULL;
		s->records = 0;
	}
	brick__session.next = NULL;
	brick__thread_abandon();
	is_held = 0;
	renumber(&brick__session);
	brick__switch_set(&brick__session, session_is_wanted());
}

static void session_in_child(void)
{
	brick__fork_known();
	brick__counters_abandon();
	brick__digests_abandon();
	abandon_sessions();
	brick__queues_abandon();
	brick__digests_unlock();
	brick__registry_unlock();
	brick__session_unlock();
	brick__queues_unlock();
	brick__counters_unlock();
}

/* The child of a clone(): what a fork would have done before, and in it. */
static void session_fork_noticed(void)
{
	brick__clock_abandon();
	lock_seize_begin();
	session_before();
	lock_seize_end();
	session_in_child();
}

/* Load and unload. */

/* By the recorder's own filters, which do not keep it from anything; a container has some. */
static bool came_behind_filter(void)
{
	const char *known = brick__environment("BRICK_FILTERS");

	return known && brick__sys_filters() > strtoul(known, NULL, 10);
}

/* Where a recorder waits, the first brick starts a session. */
static void wait_for_first_brick(void)
{
	brick__refusals_open();
	if (!session_is_wanted())
		return;
	brick__counters_start(); /* the first step may come before the session */
	renumber(&brick__session);
	brick__switch_set(&brick__session, true);
}

/* Forks are watched from the beginning: whoever is attached is loaded later, so that its handlers
 * take its locks before ours are taken, which is the order in which it takes them when it calls us.
 */
static bool is_armed;

__attribute__((constructor)) static void arm(void)
{
	if (session_is_wanted() && came_behind_filter())
		brick__confine();
	pthread_atfork(session_before, in_parent, session_in_child);
	brick__forks_watch(session_fork_noticed);
	brick__session_starter(ensure);
	wait_for_first_brick();
	if (!session_is_wanted())
		lock_leave_signals(true);
	is_armed = true;
}

/* A recorder enters the running process: its variables are there. Or it leaves: they are gone. */
ENVIRONMENT_READER(session_heed_environment)
{
	const char *how = brick__environment("BRICK_LEAVE");
	bool is_wanted = session_is_wanted(), is_quiet = how && !strcmp(how, "quiet");

	if (!is_armed)
		return;
	if (is_wanted)
		mind_signals();
	BETWEEN(brick__session_lock, brick__session_unlock);
	if (brick__session.header && brick__session.external && !is_wanted)
		stop_session(&brick__session, is_quiet);
	else if (!brick__session.header && is_wanted)
		wait_for_first_brick();
	else if (!brick__session.header)
		brick__switch_set(&brick__session, false);
	if (is_quiet)
		brick__refusals_close();
}

__attribute__((destructor)) static void session_finish(void)
{
	brick__fork_notice();
	if (lock_is_held()) { /* exit() in a signal's handler: this thread would wait for itself */
		for (const struct brick_session *s = &brick__session; s; s = s->next)
			close_for_recorder(s);
		return;
	}
	bool left = lock_leave_signals(true); /* a filter that we know nothing of may be there */
	brick__queues_account(0, true);
	finish_sessions();
	lock_leave_signals(left);
}
