/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the process's session starts, who consumes it, and the switch that
 * probes read. brick__on is the session's serial number while it records, so
 * that one comparison tells a thread both that recording is on and that its lane is of this
 * session.
 */
#include "brick/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/sized.h"
#include "lib/session/consumer.h"
#include "lib/probe/counter_events.h"
#include "lib/probe/digest_record.h"
#include "lib/device/kernels.h"
#include "lib/session/lane_memory.h"
#include "lib/probe/pair_cost.h"
#include "lib/probe/refusals.h"
#include "lib/probe/registry_tables.h"
#include "lib/session/session_state.h"
#include "base/scope.h"
#include "lib/session/session_map.h"
#include "lib/probe/step_cpu.h"
#include "lib/sys/ticks.h"
#include "lib/session/thread.h"
#include "lib/probe/tile_stack.h"

enum {
	DEFAULT_INTERVAL_MS = 1000,
	DEFAULT_RING_RECORDS = 262144,
	MIN_RING_RECORDS = 1024,
	MAX_RING_RECORDS = 1 << 26
};

void brick__session_switch(uint32_t value)
{
	__atomic_store_n(&brick__on, value, __ATOMIC_RELEASE);
}

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
static int create_session(
	struct brick__session *s, const char *directory, const char *name, uint32_t mode)
{
	int error = brick__session_create(s, directory, name, mode);

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
	const char *mode = getenv("BRICK_MODE"), *ring = getenv("BRICK_RING_RECORDS");
	char name[64], final[80];

	if (!brick__shared_is_held(directory, "lock"))
		return -EOWNERDEAD; /* nobody would read it, or remove it */
	snprintf(name, sizeof name, ".%d-%llx", (int)getpid(),
		(unsigned long long)brick__monotonic_ns());
	snprintf(final, sizeof final, "%s.session", name + 1);
	brick__session.ring_records =
		ring_size(ring ? (uint32_t)strtoul(ring, NULL, 10) : DEFAULT_RING_RECORDS);
	brick__session.external = 1;
	int error =
		create_session(&brick__session, directory, name, mode ? (uint32_t)atoi(mode) : 0);
	if (!error) {
		error = brick__shared_rename(&brick__session.file, final);
		if (error) {
			brick__shared_unlink(&brick__session.file);
			brick__session_destroy(&brick__session);
		}
	}
	return error;
}

/* Is there no session, though somebody wants one and counts what it misses? Then probes stay on. */
static int is_refused(int error)
{
	if (error == -EOWNERDEAD || !brick__refusals_counted())
		return 0;
	brick__refusals_session(error);
	return 1;
}

int brick__session_ensure(void)
{
	KEEP_ERRNO();
	int error = 0;

	BETWEEN(brick__session_lock, brick__session_unlock);
	const char *directory = getenv("BRICK_SESSION_DIR");
	if (!brick__session.header && directory && *directory) {
		brick__session.serial = next_serial();
		error = start_external(directory);
		brick__digests_use(error ? NULL : brick__session.header);
		__atomic_store_n(&brick__live, error ? 0 : brick__session.serial, __ATOMIC_RELEASE);
		brick__session_switch(!error || is_refused(error) ? brick__session.serial : 0);
	} else if (!brick__session.header) {
		error = -ENOENT;
		brick__session_switch(0);
	}
	return error;
}

static int start_own(const struct brick_session_options *o, const struct consumer_type *consumer)
{
	struct brick__session *s = &brick__session;
	int consumed = o->output || o->directory;

	s->external = o->directory && !o->output;
	s->consumer_type = consumer;
	s->ring_records =
		!consumed ? 0 : ring_size(o->ring_records ? o->ring_records : DEFAULT_RING_RECORDS);
	char name[48];
	snprintf(name, sizeof name, o->directory ? "%d.session" : "brick-session", (int)getpid());
	int error = create_session(s, o->directory, name, o->mode);
	if (error)
		return error;
	int fd = o->output ? brick__shared_keep(&s->file) : 0;
	if (o->output)
		error = fd < 0 ? fd : consumer->start(&s->consumer, fd, o);
	if (error < 0)
		brick__session_destroy(s);
	if (error > 0)
		brick__step_cpu_use();
	return error < 0 ? error : 0;
}

int brick__session_start(
	const struct brick_session_options *options, const struct consumer_type *consumer)
{
	struct brick_session_options o = BRICK_SESSION_OPTIONS_INIT;
	KEEP_ERRNO();

	int error = options ? sized_read(&o, sizeof o, options) : 0;

	if (error)
		return error;
	if (o.mode > BRICK_MODE_NONE || o.off_cpu > BRICK_OFF_CPU_OFF)
		return -EINVAL;
	if (!o.interval_ms)
		o.interval_ms = DEFAULT_INTERVAL_MS;
	if (getenv("BRICK_SESSION_DIR") && !brick__session_ensure()) {
		if (o.output)
			brick_note("embedded.output", "%s", o.output); /* the recorder says so */
		return 0;
	}
	BETWEEN(brick__session_lock, brick__session_unlock);
	error = brick__session.header ? -EALREADY : 0;
	if (!error) {
		uint32_t serial = next_serial();
		error = start_own(&o, consumer);
		if (!error) {
			brick__session.serial = serial;
			__atomic_store_n(&brick__live, serial, __ATOMIC_RELEASE);
			if (brick__session.ring_records)
				brick__digests_use(brick__session.header);
			if (o.mode != BRICK_MODE_NONE)
				brick__session_switch(serial);
		}
	}
	return error;
}

/* Does a recorder wait for the session that the first brick starts? */
static int is_wanted(void)
{
	const char *directory = getenv("BRICK_SESSION_DIR"), *mode = getenv("BRICK_MODE");

	return directory && *directory && (!mode || atoi(mode) != BRICK_MODE_NONE);
}

/* In the child of a fork the session is the parent's: forget it; the next brick starts our own. */
void brick__session_abandon(void)
{
	struct brick__session *s = &brick__session;

	brick__refusals_abandon();
	brick__lanes_abandon(s);
	if (s->header)
		brick__session_destroy(s);
	s->consumer = NULL;
	brick__session_switch(is_wanted() ? next_serial() : 0);
}

void brick__session_arm(void)
{
	if (!is_wanted())
		return;
	brick__counters_start(); /* the first step may come before the session */
	brick__session_switch(next_serial());
}
