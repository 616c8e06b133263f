/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of the process's session: how it starts, who consumes it, how it pauses and ends, and
 * how it survives a fork. This file stands above all that records: it is told here what a new
 * session must get (its tables, what is captured, what a probe costs), and what holds still over a
 * fork. A child, whose mappings are still its parent's session, lets go of them before it can write
 * there; its own session starts with its first brick.
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
#include "lib/device/kernels.h"
#include "lib/device/queue_lane.h"
#include "lib/probe/digest_record.h"
#include "lib/probe/pair_cost.h"
#include "lib/probe/registry_tables.h"
#include "lib/probe/step_counting.h"
#include "lib/probe/tile_stack.h"
#include "lib/session/consumer.h"
#include "lib/session/session_lanes.h"
#include "lib/session/session_map.h"
#include "lib/sys/environment.h"
#include "lib/sys/ticks.h"

enum {
	DEFAULT_INTERVAL_MS = 1000,
	DEFAULT_RING_RECORDS = 262144,
	MIN_RING_RECORDS = 1024,
	MAX_RING_RECORDS = 1 << 26
};

/* Start. */

static uint32_t next_serial(void)
{
	uint32_t serial = brick__session.serial + 1;
	return serial && serial != BRICK__NO_SERIAL ? serial : 1;
}

static uint32_t ring_size(uint32_t wanted)
{
	uint32_t size = MIN_RING_RECORDS;

	while (size < wanted && size < MAX_RING_RECORDS)
		size *= 2;
	return size;
}

/* A session whose tables hold what is registered so far. */
static int create_session(struct brick__session *s, const char *directory, const char *name,
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

	if (!brick__shared_is_held(directory, "lock"))
		return -EOWNERDEAD; /* nobody would read it, or remove it */
	snprintf(name, sizeof(name), ".%d-%llx", (int)getpid(),
		(unsigned long long)brick__monotonic_ns());
	snprintf(final, sizeof(final), "%s.session", name + 1);
	brick__session.ring_records =
		ring_size(ring ? (uint32_t)strtoul(ring, NULL, 10) : DEFAULT_RING_RECORDS);
	brick__session.external = true;
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
static bool is_refused(int error)
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
		brick__session.serial = next_serial();
		error = start_external(directory);
		brick__digests_use(error ? NULL : brick__session.header);
		__atomic_store_n(&brick__live, error ? 0 : brick__session.serial, __ATOMIC_RELEASE);
		brick__switch_set(!error || is_refused(error) ? brick__session.serial : 0);
	} else if (!brick__session.header) {
		error = -ENOENT;
		brick__switch_set(0);
	}
	return error;
}

static int start_own(const struct brick_session_options *o, const struct consumer_type *consumer)
{
	struct brick__session *s = &brick__session;
	int consumed = o->output || o->directory;

	s->external = o->directory && !o->output;
	s->consumer_type = consumer;
	s->ring_records = o->ring_records ? ring_size(o->ring_records)
			  : consumed	  ? DEFAULT_RING_RECORDS
					  : 0;
	char name[48];
	snprintf(name, sizeof(name), o->directory ? "%d.session" : "brick-session", (int)getpid());
	int error = create_session(s, o->directory, name, o->mode, false);
	if (error)
		return error;
	snprintf(s->output.path, sizeof(s->output.path), "%s", o->output ? o->output : "");
	int fd = o->output ? brick__shared_keep(&s->file) : 0;
	if (o->output)
		error = fd < 0 ? fd : consumer->start(&s->consumer, fd, o);
	if (error < 0)
		brick__session_destroy(s);
	if (error > 0)
		brick__step_cpu_use();
	return error < 0 ? error : 0;
}

static int is_held; /* by who looks at it from inside of the process */

void brick__session_hold(int held)
{
	BETWEEN(brick__session_lock, brick__session_unlock);
	is_held = held;
}

int brick__session_start(
	const struct brick_session_options *options, const struct consumer_type *consumer)
{
	struct brick_session_options o = BRICK_SESSION_OPTIONS_INIT;
	KEEP_ERRNO();

	int error = options ? sized_read(&o, sizeof(o), options) : 0;

	if (error)
		return error;
	if (o.mode > BRICK_MODE_NONE || o.off_cpu > BRICK_OFF_CPU_OFF)
		return -EINVAL;
	if (!o.interval_ms)
		o.interval_ms = DEFAULT_INTERVAL_MS;
	if (brick__environment("BRICK_SESSION_DIR") && !ensure()) {
		if (o.output)
			brick_note("embedded.output", "%s", o.output); /* the recorder says so */
		return 0;
	}
	BETWEEN(brick__session_lock, brick__session_unlock);
	if (brick__session.header)
		return is_held ? 0 : -EALREADY;
	uint32_t serial = next_serial();
	error = start_own(&o, consumer);
	if (error)
		return error;
	brick__session.serial = serial;
	__atomic_store_n(&brick__live, serial, __ATOMIC_RELEASE);
	if (brick__session.ring_records)
		brick__digests_use(brick__session.header);
	if (o.mode != BRICK_MODE_NONE)
		brick__switch_set(serial);
	return 0;
}

/* Pause and stop. */

static int stop_session(void)
{
	struct brick__session *s = &brick__session;
	int error = 0;

	brick__switch_set(0);
	__atomic_store_n(&brick__live, 0, __ATOMIC_RELEASE);
	brick__digests_use(NULL);
	s->header->end_ticks = brick__now();
	__atomic_store_n(&s->header->state, BRICK_SESSION_CLOSED, __ATOMIC_RELEASE);
	if (s->consumer)
		error = s->consumer_type->stop(s->consumer);
	s->consumer = NULL;
	brick__lanes_release(s);
	brick__session_destroy(s);
	return error;
}

/* Looked at from inside of the process. */

static void (*on_stopping)(void);

void brick__session_stopping(void (*stopping)(void))
{
	BETWEEN(brick__session_lock, brick__session_unlock);
	on_stopping = stopping;
}

int brick__session_view(struct brick__session_output *output)
{
	KEEP_ERRNO();

	BETWEEN(brick__session_lock, brick__session_unlock);
	if (!brick__session.header)
		return -ENOENT;
	*output = brick__session.output;
	return brick__shared_open(&brick__session.file);
}

int brick_session_stop(void)
{
	KEEP_ERRNO();
	int error = -ENOENT;

	brick__fork_notice();
	if (on_stopping && !is_held)
		on_stopping();
	if (!brick__environment("BRICK_SESSION_DIR"))
		brick__queues_account(0);
	BETWEEN(brick__session_lock, brick__session_unlock);
	bool is_recorders = brick__session.external && brick__environment("BRICK_SESSION_DIR");
	if (brick__session.header && (is_held || is_recorders))
		error = 0; /* it ends with the process */
	else if (brick__session.header)
		error = stop_session();
	return error;
}

void brick_pause(void)
{
	BETWEEN(brick__session_lock, brick__session_unlock);
	if (brick__session.header) {
		brick__session.header->paused = 1;
		brick__switch_set(0);
	}
}

void brick_resume(void)
{
	BETWEEN(brick__session_lock, brick__session_unlock);
	if (brick__session.header && brick__session.header->mode != BRICK_MODE_NONE) {
		brick__session.header->paused = 0;
		brick__switch_set(brick__session.serial);
	}
}

/* The end of the process. */

/* Nothing but stores: the program may have locked itself in, where a system call kills. */
static void close_for_recorder(void)
{
	struct brick_session_header *header = brick__session.header;

	if (!header || brick__session.consumer)
		return;
	header->end_ticks = brick__now();
	__atomic_store_n(&header->state, BRICK_SESSION_CLOSED, __ATOMIC_RELEASE);
}

static void finish_session(void)
{
	BETWEEN(brick__session_lock, brick__session_unlock);
	if (brick__session.header && brick__session.consumer)
		stop_session();
	else
		close_for_recorder();
}

/* Fork: the locks are held over it. */

static void before(void)
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
static bool is_wanted(void)
{
	const char *directory = brick__environment("BRICK_SESSION_DIR"),
		   *mode = brick__environment("BRICK_MODE");

	return directory && *directory && (!mode || atoi(mode) != BRICK_MODE_NONE);
}

/* In the child of a fork the session is the parent's: forget it; the next brick starts our own. */
static void abandon_session(void)
{
	struct brick__session *s = &brick__session;

	brick__refusals_abandon();
	brick__lanes_abandon(s);
	if (s->header)
		brick__session_destroy(s);
	s->consumer = NULL;
	is_held = 0;
	brick__switch_set(is_wanted() ? next_serial() : 0);
}

static void in_child(void)
{
	brick__fork_known();
	brick__counters_abandon();
	brick__digests_abandon();
	abandon_session();
	brick__queues_abandon();
	brick__digests_unlock();
	brick__registry_unlock();
	brick__session_unlock();
	brick__queues_unlock();
	brick__counters_unlock();
}

/* The child of a clone(): what a fork would have done before, and in it. */
static void fork_noticed(void)
{
	lock_seize_begin();
	before();
	lock_seize_end();
	in_child();
}

/* Load and unload. */

/* Forks are watched from the beginning: whoever is attached is loaded later, so that its handlers
 * take its locks before ours are taken, which is the order in which it takes them when it calls us.
 */
__attribute__((constructor)) static void arm(void)
{
	pthread_atfork(before, in_parent, in_child);
	brick__forks_watch(fork_noticed);
	brick__session_starter(ensure);
	brick__refusals_open();
	if (!is_wanted())
		return;
	brick__counters_start(); /* the first step may come before the session */
	brick__switch_set(next_serial());
}

__attribute__((destructor)) static void finish(void)
{
	brick__fork_notice();
	if (lock_is_held()) { /* exit() in a signal's handler: this thread would wait for itself */
		close_for_recorder();
		return;
	}
	brick__queues_account(1);
	finish_session();
}
