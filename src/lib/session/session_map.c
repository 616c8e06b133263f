/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions as they are mapped: the file, the header, which describes the process, and the places of
 * the tables behind it; the notes; and the switch that probes read. brick__on is a number that a
 * thread has compared its lane with, so that one comparison tells it both that recording is on and
 * that its lane is of a session that records. What is in the tables belongs to others.
 */
#include "lib/session/session_map.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock_ns.h"
#include "base/lock.h"
#include "base/number.h"
#include "base/scope.h"
#include "base/time_namespace.h"
#include "brick/attach.h"
#include "brick/error.h"
#include "brick/probe.h"
#include "brick/session.h"
#include "lib/sys/clock_fit.h"
#include "lib/session/refusals.h"
#include "lib/sys/confined.h"
#include "lib/sys/environment.h"
#include "lib/sys/launcher.h"
#include "lib/sys/sys.h"
#include "lib/sys/ticks.h"

struct brick_session brick__session;
uint32_t brick__on;

struct brick_frame brick__taken = {.kind = BRICK_RECORD_SAMPLE};
__thread struct brick__thread brick__thread __attribute__((tls_model("initial-exec"))) =
	BRICK__NO_THREAD;

static uint32_t last_serial;

/* Lies in a page of brick__sys_page_of_process(): all members are 0 in a new child. */
struct here {
	uint32_t on;	   /* as brick__on */
	uint32_t is_known; /* 0: this is a child, whose fork has not been noticed yet */
};

const uint32_t *brick__on_here = &brick__on;

static struct here *session_map_here; /* NULL: the kernel has no such pages (before Linux 4.14) */
static void (*session_map_fork_noticed)(void);
static pthread_mutex_t session_map_lock = PTHREAD_MUTEX_INITIALIZER;
static int (*start_wanted)(void);		/* by brick__session_starter() */
static struct brick_session_refusals *refusals; /* shared by all processes: only add to it */
static uint32_t recorder_off;			/* what their page said last */
static uint32_t process_id;
static __thread bool has_lock
	__attribute__((tls_model("initial-exec"))); /* holds or waits for it */
static bool has_said; /* it told the recorder that this process has no session */

uint32_t brick__serial_next(void)
{
	uint32_t serial = last_serial + 1;

	last_serial = serial && serial != BRICK__NO_SERIAL ? serial : 1;
	return last_serial;
}

void brick__switch_set(struct brick_session *session, bool records)
{
	bool any = false,
	     is_recorders = session == &brick__session && (!session->header || session->external);

	session->wanted = records;
	records = records && !(recorder_off && is_recorders);
	__atomic_store_n(&session->records, records, __ATOMIC_RELAXED);
	for (const struct brick_session *s = &brick__session; s; s = s->next)
		any |= s->records;
	uint32_t on = !any					? 0
		      : brick__session.next || session->renewed ? brick__serial_next()
								: brick__session.serial;
	if (session_map_here)
		__atomic_store_n(&session_map_here->on, on, __ATOMIC_RELEASE);
	__atomic_store_n(&brick__on, on, __ATOMIC_RELEASE);
}

struct brick_session *brick__session_of(uint32_t serial)
{
	struct brick_session *s = &brick__session;

	while (s && (!s->header || s->serial != serial))
		s = s->next;
	return s;
}

void brick__session_keep(struct brick_session *session)
{
	BETWEEN(brick__session_lock, brick__session_unlock);
	if (session)
		session->holders++;
}

void brick__session_release(struct brick_session *session)
{
	BETWEEN(brick__session_lock, brick__session_unlock);
	if (session && !--session->holders)
		free(session);
}

bool brick__session_lives(uint32_t serial)
{
	if (BRICK_LIKELY(serial == __atomic_load_n(&brick__session.live, __ATOMIC_ACQUIRE)))
		return serial != 0;
	BETWEEN(brick__session_lock, brick__session_unlock);
	return brick__session_of(serial) != NULL;
}

void brick__forks_watch(void (*noticed)(void))
{
	session_map_fork_noticed = noticed;
	if (brick__sys_is_confined()) { /* nothing will be recorded here */
		process_id = (uint32_t)brick__sys_thread_known();
		return;
	}
	process_id = (uint32_t)getpid();
	session_map_here = brick__sys_page_of_process();
	if (!session_map_here)
		return;
	session_map_here->is_known = 1;
	brick__on_here = &session_map_here->on;
}

void brick__fork_known(void)
{
	/* in fork()'s handler the C library knows the number of the only thread */
	bool is_fork = session_map_here && !session_map_here->is_known;
	uint64_t known = is_fork || brick__sys_is_confined() ? brick__sys_thread_known() : 0;

	process_id = known ? (uint32_t)known : (uint32_t)getpid();
	if (session_map_here)
		session_map_here->is_known = 1;
}

/* The child of a clone() has one thread, so that no other thread does this at the same time. */
void brick__fork_notice(void)
{
	if (BRICK_LIKELY(!session_map_here || session_map_here->is_known))
		return;
	session_map_here->is_known = 1;
	session_map_fork_noticed();
}

void brick__session_lock(void)
{
	brick__fork_notice();
	lock_still_begin(); /* first: who leaves by siglongjmp() has no lock */
	has_lock = true;
	lock_take(&session_map_lock);
}

void brick__session_unlock(void)
{
	lock_give(&session_map_lock);
	has_lock = false;
	lock_still_end();
}

bool brick__session_is_busy(void)
{
	return has_lock;
}

uint32_t brick__process_id(void)
{
	return process_id;
}

void brick__session_starter(int (*start)(void))
{
	start_wanted = start;
}

int brick__session_ensure(void)
{
	return start_wanted ? start_wanted() : -ENOENT;
}

/* The mode. */

int brick_mode_set(enum brick_mode mode)
{
	if ((uint32_t)mode > BRICK_MODE_NONE)
		return -EINVAL;
	BETWEEN(brick__session_lock, brick__session_unlock);
	struct brick_session *s = brick__session_here();
	if (!s->header)
		return -ENOENT;
	s->header->mode = mode;
	__atomic_store_n(&s->mode, mode, __ATOMIC_RELAXED);
	brick__switch_set(
		s, mode != BRICK_MODE_NONE && !s->header->paused && !brick__clock_is_frozen());
	return 0;
}

enum brick_mode brick_mode_get(void)
{
	BETWEEN(brick__session_lock, brick__session_unlock);
	const struct brick_session *s = brick__session_here();
	return s->header ? (enum brick_mode)s->header->mode : BRICK_MODE_NONE;
}

void brick_pause(void)
{
	BETWEEN(brick__session_lock, brick__session_unlock);
	struct brick_session *s = brick__session_here();
	if (s->header) {
		s->header->paused = 1;
		brick__switch_set(s, false);
	}
}

void brick_resume(void)
{
	BETWEEN(brick__session_lock, brick__session_unlock);
	struct brick_session *s = brick__session_here();
	if (!s->header || brick__clock_is_frozen())
		return;
	s->header->paused = 0;
	if (s->header->mode != BRICK_MODE_NONE)
		brick__switch_set(s, true);
}

/* The file. */

/* Sets the offsets of the tables behind the header; returns the end of the last one. */
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
	at += BRICK_HISTOGRAM_BLOCK_BYTES;
	h->digest_offset = at;
	h->digest_capacity = BRICK_DIGEST_RING;
	at += BRICK_DIGEST_RING * sizeof(struct brick_session_digest);
	h->kernel_offset = at;
	at += BRICK_MAX_KERNELS * sizeof(struct brick_session_kernel);
	h->code_offset = at;
	at += BRICK_CODE_BYTES;
	return at;
}

int brick__session_create(struct brick_session *s, const char *directory, const char *name,
	uint32_t mode, bool is_private)
{
	struct brick_session_header layout = {0};
	uint64_t bytes = lay_out(&layout);
	int error;

	if (bytes > brick__sys_addresses_left() / BRICK__ADDRESSES_PART)
		return -ENOMEM; /* the program's own malloc() would fail soon */
	error = brick__shared_create(&s->file, directory, name, is_private);
	if (error)
		return error;
	error = brick__shared_extend(&s->file, bytes);
	if (!error)
		error = brick__shared_reserve(&s->file, 0,
			layout.brick_offset +
				BRICK_FIRST_ROWS * sizeof(struct brick_session_brick));
	/* the first site and kernel mean none: a consumer reads also those */
	if (!error)
		error = brick__shared_reserve(
			&s->file, layout.site_offset, sizeof(struct brick_session_site));
	if (!error)
		error = brick__shared_reserve(
			&s->file, layout.kernel_offset, sizeof(struct brick_session_kernel));
	if (!error)
		s->header = brick__shared_map(&s->file, 0, bytes, &error);
	if (error) {
		brick__shared_unlink(&s->file);
		brick__shared_close(&s->file);
		s->header = NULL;
		return error;
	}
	s->header_bytes = bytes;
	s->end = brick__page_round(bytes);
	*s->header = layout;
	s->header->version = BRICK_SESSION_VERSION;
	s->header->header_bytes = sizeof(*s->header);
	s->header->lane_bytes = sizeof(struct brick_lane);
	s->header->state = BRICK_SESSION_OPEN;
	s->header->mode = mode;
	__atomic_store_n(&s->mode, mode, __ATOMIC_RELAXED);
	s->epoch = brick__now();
	s->header->clock = *brick_clock_get();
	s->header->pid = brick__process_id();
	s->header->parent = (uint32_t)getppid();
	const struct launcher launcher = brick__launcher();
	s->header->rank = launcher.rank;
	s->header->world = launcher.world;
	if (launcher.name) {
		char note[64];
		int length = snprintf(note, sizeof(note), "launcher=%s\n", launcher.name);
		brick__notes_append(s->header, note, (size_t)length);
	}
	s->header->start_unix_ns = real_ns();
	s->header->start_ns = brick__monotonic_ns();
	s->header->start_ticks = brick__now();
	gethostname(s->header->host, sizeof(s->header->host) - 1);
	brick__sys_executable(s->header->executable, sizeof(s->header->executable));
	s->header->command_bytes =
		(uint32_t)brick__sys_command(s->header->command, sizeof(s->header->command));
	/* its reader may be in another time namespace */
	s->header->clock.base_ns -= (uint64_t)time_namespace_offset_ns(CLOCK_MONOTONIC);
	s->header->start_ns -= (uint64_t)time_namespace_offset_ns(CLOCK_MONOTONIC);
	return 0;
}

void brick__session_ready(struct brick_session *s)
{
	__atomic_store_n(&s->header->magic, BRICK_SESSION_MAGIC, __ATOMIC_RELEASE);
}

void brick__session_histograms(struct brick_session *s, uint32_t bricks)
{
	for (uint32_t i = 0; (i + 1) * BRICK_FIRST_ROWS < bricks; i++) {
		uint64_t bytes = brick__page_round(BRICK_HISTOGRAM_BLOCK_BYTES);
		if (s->header->drained_more[i])
			continue;
		if (brick__shared_extend(&s->file, s->end + bytes))
			return;
		__atomic_store_n(&s->header->drained_more[i], s->end, __ATOMIC_RELEASE);
		s->end += bytes;
	}
}

void brick__session_destroy(struct brick_session *s)
{
	__atomic_store_n(&s->live, 0, __ATOMIC_RELEASE);
	void *header = s->header;
	__atomic_store_n(&s->mode, BRICK_MODE_DEFERRED, __ATOMIC_RELAXED);
	s->header = NULL; /* first: who is stopped here may look at it (session.c, at the end) */
	brick__sys_unmap(header, s->header_bytes);
	brick__shared_close(&s->file);
}

/* Notes. */

int brick__notes_append(struct brick_session_header *h, const char *lines, size_t bytes)
{
	uint32_t used = h->notes_bytes;

	if (bytes > BRICK_NOTES_BYTES - used) {
		h->ledger.table_full++;
		return BRICK_EFULL;
	}
	memcpy((char *)h + h->notes_offset + used, lines, bytes);
	__atomic_store_n(&h->notes_bytes, used + (uint32_t)bytes, __ATOMIC_RELEASE);
	return 0;
}

int brick_note(const char *key, const char *format, ...)
{
	char line[1024];
	int error = -ENOENT;
	va_list arguments;

	int n = key && format ? snprintf(line, sizeof(line), "%s=", key) : -1;
	if (n < 0 || n >= (int)sizeof(line) / 2)
		return -EINVAL;
	va_start(arguments, format);
	vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, arguments);
	va_end(arguments);
	for (char *p = line; *p; p++)
		if (*p == '\n' || *p == '\r')
			*p = ' ';
	size_t bytes = strlen(line);
	line[bytes++] = '\n';
	brick__session_ensure();
	BETWEEN(brick__session_lock, brick__session_unlock);
	const struct brick_session *s = brick__session_here();
	if (s->header)
		error = brick__notes_append(s->header, line, bytes);
	return error;
}

/* The value of the last line that begins with "key="; NULL: there is none. */
static const char *find_note(const struct brick_session_header *h, const char *key, size_t *bytes)
{
	const char *line = (const char *)h + h->notes_offset, *end = line + h->notes_bytes,
		   *found = NULL;
	size_t length = strlen(key);

	for (const char *next; line < end; line = next) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		next = stop ? stop + 1 : end;
		if ((size_t)(next - line) <= length + 1 || memcmp(line, key, length) ||
			line[length] != '=')
			continue;
		found = line + length + 1;
		*bytes = (size_t)((stop ? stop : end) - found);
	}
	return found;
}

int brick_note_get(const char *key, char *value, size_t bytes)
{
	size_t length = 0;

	if (!key || (bytes && !value))
		return -EINVAL;
	BETWEEN(brick__session_lock, brick__session_unlock);
	const struct brick_session *s = brick__session_here();
	if (!s->header)
		return -ENOENT;
	const char *found = find_note(s->header, key, &length);
	if (!found)
		return BRICK_ENOTRECORDED;
	if (bytes)
		snprintf(value, bytes, "%.*s", (int)length, found);
	return (int)length;
}

int brick_l2_hit_rate_set(double share)
{
	char value[32];

	if (!(share >= 0 && share <= 1))
		return -EINVAL;
	snprintf(value, sizeof(value), "%.9g", share);
	for (char *c = value; *c; c++) /* the locale's decimal point */
		if (!strchr("0123456789e-", *c))
			*c = '.';
	return brick_note("l2.hit_rate", "%s", value);
}

int brick_l2_hit_rate_get(double *share)
{
	char value[32];
	int length = share ? brick_note_get("l2.hit_rate", value, sizeof(value)) : -EINVAL;

	return length < 0 ? length : number_double(value, 0, 1, share);
}

int brick_zero_copy_set(int is_used)
{
	return brick_note("zero_copy", is_used ? "yes" : "no");
}

int brick_zero_copy_get(void)
{
	char value[4];
	int length = brick_note_get("zero_copy", value, sizeof(value));

	return length < 0 ? length : !strcmp(value, "yes");
}

/* Refusals. */

void brick__refusals_open(void)
{
	const char *directory = brick__environment("BRICK_SESSION_DIR");

	if (!directory || !*directory)
		return;
	struct brick_session_refusals *found =
		brick__shared_attach(directory, BRICK_SESSION_REFUSALS_NAME, sizeof(*found));
	if (found &&
		(found->magic != BRICK_SESSION_MAGIC || found->version != BRICK_SESSION_VERSION)) {
		brick__sys_unmap(found, sizeof(*found));
		found = NULL;
	}
	refusals = found;
	if (!found)
		return;
	recorder_off = __atomic_load_n(&found->off, __ATOMIC_RELAXED);
	brick__clock_offer(&found->clock);
}

static __attribute__((noinline, cold)) void heed(uint32_t off)
{
	KEEP_ERRNO();

	BETWEEN(brick__session_lock, brick__session_unlock);
	if (__atomic_exchange_n(&recorder_off, off, __ATOMIC_RELAXED) != off)
		__atomic_add_fetch(&refusals->heeded, 1, __ATOMIC_RELAXED);
	brick__switch_set(&brick__session, brick__session.wanted);
}

void brick_recorder_heed(void)
{
	if (BRICK_LIKELY(!refusals))
		return;
	uint32_t off = __atomic_load_n(&refusals->off, __ATOMIC_RELAXED);
	if (BRICK_UNLIKELY(off != __atomic_load_n(&recorder_off, __ATOMIC_RELAXED)))
		heed(off);
}

uint32_t brick_recorder_step_blocks(void)
{
	return refusals ? __atomic_load_n(&refusals->step_blocks, __ATOMIC_RELAXED) : 0;
}

void brick__refusals_close(void)
{
	brick__clock_offer(NULL);
	if (refusals)
		brick__sys_unmap(refusals, sizeof(*refusals));
	refusals = NULL;
	has_said = false;
}

const struct brick_session_refusals *brick__refusals_page(void)
{
	return refusals;
}

bool brick__refusals_counted(void)
{
	return refusals != NULL;
}

bool brick__refusals_process(int error, uint32_t pid, const char *program)
{
	if (refusals && program)
		refusals_add(refusals, error, pid, program);
	else if (refusals)
		refusals_take_back(refusals);
	return refusals != NULL;
}

void brick__refusals_static(const char *program)
{
	if (refusals)
		refusals_name(refusals->static_name, program);
}

void brick__refusals_session(int error)
{
	if (has_said)
		return;
	has_said = true;
	if (!refusals) {
		struct brick_session_refusals ours = {
			.magic = BRICK_SESSION_MAGIC, .version = BRICK_SESSION_VERSION};
		refusals_add(&ours, error, brick__process_id(), program_invocation_short_name);
		const char *directory = brick__environment("BRICK_SESSION_DIR");
		brick__shared_tell(directory ? directory : "", &ours, sizeof(ours));
		return;
	}
	refusals_add(refusals, error, brick__process_id(), program_invocation_short_name);
}

void brick__refusals_record(void)
{
	const struct brick_session *s = brick__session_here();

	if (!brick__session_records(s))
		return;
	if (lock_is_held()) { /* a handler of a signal, which came while this thread held the lock
			       */
		if (refusals)
			__atomic_add_fetch(&refusals->records, 1, __ATOMIC_RELAXED);
		return;
	}
	BETWEEN(brick__session_lock, brick__session_unlock);
	if (s->header)
		s->header->ledger.refused++;
	else if (refusals)
		__atomic_add_fetch(&refusals->records, 1, __ATOMIC_RELAXED);
}

void brick__refusals_abandon(void)
{
	has_said = false;
}
