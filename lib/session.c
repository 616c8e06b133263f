/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of the process's session: the shared file with its header and tables, who consumes it,
 * and the switch that probes read. brick__on is the session's serial number while it records, so
 * that one comparison tells a thread both that recording is on and that its lane is of this
 * session.
 */
#include "brick/session.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/lock.h"
#include "base/sized.h"
#include "lib/consumer.h"
#include "lib/core.h"
#include "lib/counters.h"
#include "lib/launcher.h"
#include "lib/orphan.h"
#include "lib/queue.h"
#include "lib/refusals.h"
#include "lib/sys/sys.h"
#include "lib/sys/ticks.h"

enum {
	DEFAULT_INTERVAL_MS = 1000,
	DEFAULT_RING_RECORDS = 262144,
	MIN_RING_RECORDS = 1024,
	MAX_RING_RECORDS = 1 << 26
};

struct brick__session brick__session;
uint32_t brick__on;
uint32_t brick__live;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void brick__session_lock(void)
{
	lock_take(&lock);
}

void brick__session_unlock(void)
{
	lock_give(&lock);
}

static void switch_to(uint32_t value)
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

/* Offsets of the tables behind the header; returns the bytes of all. */
static uint64_t lay_out(struct brick_session_header *h)
{
	uint64_t at = BRICK_SESSION_LANES_OFFSET;

	at += BRICK_MAX_LANES * sizeof(struct brick_session_lane);
	h->notes_offset = at;
	at += BRICK_NOTES_BYTES;
	h->category_offset = at;
	at += BRICK_MAX_CATEGORIES * sizeof(struct brick_session_category);
	h->brick_offset = at;
	at += BRICK_MAX_BRICKS * sizeof(struct brick_session_brick);
	h->site_offset = at;
	at += BRICK_MAX_SITES * sizeof(struct brick_session_site);
	h->drained_offset = at;
	at += (uint64_t)BRICK_MAX_BRICKS * BRICK_HISTOGRAM_BUCKETS * sizeof(uint32_t);
	h->digest_offset = at;
	h->digest_capacity = BRICK_DIGEST_RING;
	at += BRICK_DIGEST_RING * sizeof(struct brick_session_digest);
	h->kernel_offset = at;
	at += BRICK_MAX_KERNELS * sizeof(struct brick_session_kernel);
	h->code_offset = at;
	at += BRICK_CODE_BYTES;
	return at;
}

static void describe_process(struct brick_session_header *h)
{
	struct timespec now;

	h->pid = (uint32_t)getpid();
	h->parent = (uint32_t)getppid();
	brick__launcher_rank(&h->rank, &h->world);
	clock_gettime(CLOCK_REALTIME, &now);
	h->start_unix_ns = (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
	h->start_ns = brick__monotonic_ns();
	h->start_ticks = brick__now();
	gethostname(h->host, sizeof h->host - 1);
	brick__sys_executable(h->executable, sizeof h->executable);
	h->command_bytes = (uint32_t)brick__sys_command(h->command, sizeof h->command);
}

/* Map a new session file and fill its header; the magic comes last. */
static int create_session(
	struct brick__session *s, const char *directory, const char *name, uint32_t mode)
{
	struct brick_session_header layout = {0};
	uint64_t bytes = lay_out(&layout);
	int error;

	error = brick__shared_create(&s->file, directory, name);
	if (error)
		return error;
	error = brick__shared_extend(&s->file, bytes);
	if (!error)
		error = brick__shared_reserve(&s->file, 0, layout.site_offset);
	if (!error)
		s->header = brick__shared_map(&s->file, 0, bytes, &error);
	if (error) {
		brick__shared_unlink(&s->file);
		brick__shared_close(&s->file);
		s->header = NULL;
		return error;
	}
	s->header_bytes = bytes;
	*s->header = layout;
	s->header->version = BRICK_SESSION_VERSION;
	s->header->header_bytes = sizeof *s->header;
	s->header->lane_bytes = sizeof(struct brick_lane);
	s->header->state = BRICK_SESSION_OPEN;
	s->header->mode = mode;
	s->header->clock = *brick_clock_get();
	describe_process(s->header);
	brick__registry_publish(s);
	brick__kernels_publish(s);
	brick__codes_publish(s);
	brick__tiles_start();
	brick__counters_start();
	brick__pair_cost_measure(s->header);
	__atomic_store_n(&s->header->magic, BRICK_SESSION_MAGIC, __ATOMIC_RELEASE);
	return 0;
}

static void destroy_session(struct brick__session *s)
{
	__atomic_store_n(&brick__live, 0, __ATOMIC_RELEASE);
	brick__sys_unmap(s->header, s->header_bytes);
	brick__shared_close(&s->file);
	s->header = NULL;
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
			destroy_session(&brick__session);
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
	int saved = errno;
	int error = 0;

	brick__session_lock();
	const char *directory = getenv("BRICK_SESSION_DIR");
	if (!brick__session.header && directory && *directory) {
		brick__session.serial = next_serial();
		error = start_external(directory);
		brick__digests_use(error ? NULL : brick__session.header);
		__atomic_store_n(&brick__live, error ? 0 : brick__session.serial, __ATOMIC_RELEASE);
		switch_to(!error || is_refused(error) ? brick__session.serial : 0);
	} else if (!brick__session.header) {
		error = -ENOENT;
		switch_to(0);
	}
	brick__session_unlock();
	errno = saved;
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
		error = fd < 0 ? fd
			       : consumer->start(&s->consumer, fd, o->output,
					 o->interval_ms ? o->interval_ms : DEFAULT_INTERVAL_MS);
	if (error)
		destroy_session(s);
	return error;
}

int brick__session_start(
	const struct brick_session_options *options, const struct consumer_type *consumer)
{
	struct brick_session_options o = BRICK_SESSION_OPTIONS_INIT;
	int saved = errno;

	int error = options ? sized_read(&o, sizeof o, options) : 0;

	if (error)
		return error;
	if (o.mode > BRICK_MODE_NONE || o.reserved)
		return -EINVAL;
	if (getenv("BRICK_SESSION_DIR") && !brick__session_ensure())
		return 0;
	brick__session_lock();
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
				switch_to(serial);
		}
	}
	brick__session_unlock();
	errno = saved;
	return error;
}

static int stop_session(void)
{
	struct brick__session *s = &brick__session;
	int error = 0;

	switch_to(0);
	__atomic_store_n(&brick__live, 0, __ATOMIC_RELEASE);
	brick__digests_use(NULL);
	s->header->end_ticks = brick__now();
	__atomic_store_n(&s->header->state, BRICK_SESSION_CLOSED, __ATOMIC_RELEASE);
	if (s->consumer)
		error = s->consumer_type->stop(s->consumer);
	s->consumer = NULL;
	brick__lanes_release(s);
	destroy_session(s);
	return error;
}

int brick_session_stop(void)
{
	int saved = errno;
	int error = -ENOENT;

	if (!getenv("BRICK_SESSION_DIR"))
		brick__queues_account(0);
	brick__session_lock();
	if (brick__session.header && brick__session.external && getenv("BRICK_SESSION_DIR"))
		error = 0; /* the recorder's session ends with the process */
	else if (brick__session.header)
		error = stop_session();
	brick__session_unlock();
	errno = saved;
	return error;
}

void brick_pause(void)
{
	brick__session_lock();
	if (brick__session.header) {
		brick__session.header->paused = 1;
		switch_to(0);
	}
	brick__session_unlock();
}

void brick_resume(void)
{
	brick__session_lock();
	if (brick__session.header && brick__session.header->mode != BRICK_MODE_NONE) {
		brick__session.header->paused = 0;
		switch_to(brick__session.serial);
	}
	brick__session_unlock();
}

/* Append a line to the notes; what does not fit is dropped whole and counted. */
static int append_note(struct brick_session_header *h, const char *line, size_t bytes)
{
	uint32_t used = h->notes_bytes;

	if (bytes > BRICK_NOTES_BYTES - used) {
		h->ledger.table_full++;
		return BRICK_EFULL;
	}
	memcpy((char *)h + h->notes_offset + used, line, bytes);
	__atomic_store_n(&h->notes_bytes, used + (uint32_t)bytes, __ATOMIC_RELEASE);
	return 0;
}

int brick_note(const char *key, const char *format, ...)
{
	char line[1024];
	int error = -ENOENT;
	va_list arguments;

	int n = snprintf(line, sizeof line, "%s=", key);
	if (n < 0 || n >= (int)sizeof line / 2)
		return -EINVAL;
	va_start(arguments, format);
	vsnprintf(line + n, sizeof line - (size_t)n - 1, format, arguments);
	va_end(arguments);
	for (char *p = line; *p; p++)
		if (*p == '\n' || *p == '\r')
			*p = ' ';
	size_t bytes = strlen(line);
	line[bytes++] = '\n';
	brick__session_ensure();
	brick__session_lock();
	if (brick__session.header)
		error = append_note(brick__session.header, line, bytes);
	brick__session_unlock();
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
		destroy_session(s);
	s->consumer = NULL;
	switch_to(is_wanted() ? next_serial() : 0);
}

/*
 * Forks are watched from here on: whoever is attached is loaded later, so that its handlers take
 * its locks before ours are taken, which is the order in which it takes them when it calls us.
 */
__attribute__((constructor)) static void arm(void)
{
	brick__forks_watch();
	brick__refusals_open();
	if (is_wanted())
		switch_to(next_serial());
}

/* Nobody comes for the session when its recorder was killed. */
static void remove_orphan(void)
{
	const char *directory = getenv("BRICK_SESSION_DIR");

	if (directory && *directory && brick__session.external)
		brick__orphan_remove(directory, &brick__session.file);
}

__attribute__((destructor)) static void finish(void)
{
	brick__queues_account(1);
	brick__session_lock();
	if (brick__session.header && brick__session.consumer)
		stop_session();
	else if (brick__session.header) {
		brick__session.header->end_ticks = brick__now();
		__atomic_store_n(
			&brick__session.header->state, BRICK_SESSION_CLOSED, __ATOMIC_RELEASE);
		remove_orphan();
	}
	brick__session_unlock();
}
