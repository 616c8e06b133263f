/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A turn looks at each session, and consumes its rings when one is a quarter full or the interval
 * is over. A session whose process is gone, or became another program, goes to the encoder to be
 * finished. It stays in the list (`ending`) until the encoder has done that (`emitted`), because
 * the encoder's messages refer to its drain.
 */
#include "record/watch.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>
#include "base/clock_ns.h"
#include "record/fault_records.h"
#include "record/switch_records.h"
#include "record/watched_session.h"

enum {
	LOOK_MS = 100,	      /* longest sleep while sessions are open: bounds a burst's growth */
	DIGEST_MS = 5,	      /* longest sleep while digests come in: their ring holds few */
	RETRY_MS = 5,	      /* sleep when memory for the rings' records was missing */
	IDLE_MS = 1000,	      /* longest sleep without sessions: inotify wakes us */
	FULL_PERCENT = 25,    /* a ring that is so full is consumed */
	PRESSED_PERCENT = 75, /* ... even if the clock's baseline is still short */
	MAX_SESSIONS = 4096,  /* known at a time */
	MAX_NOTES_BYTES = 64 << 10,
};

struct watch {
	struct watch_options options;
	struct encoder *encoder;
	struct switches none; /* all 0, until watch_switches_set() */
	struct switches *switches;
	struct fault_records *faults; /* NULL: they are not recorded */
	int epoll_fd;		      /* of inotify_fd, the session directory's socket and pidfds */
	int inotify_fd;		      /* -1: there is none */
	struct watched *sessions;     /* newest first */
	uint32_t live;		      /* sessions that are not ending */
	uint32_t known;		      /* all in the list */
	bool consumed;		      /* see watch_has_consumed() */
	int clock_sent;		      /* see send_clock() */
	int unlisted;		      /* the directory may contain unknown sessions */
	struct watch_totals totals;   /* without notes */
	char *notes;		      /* NULL: there are none */
	size_t notes_bytes;	      /* without the NUL */
};

static void poll_add(struct watch *w, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
	epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

int watch_create(struct watch **out, const struct watch_options *options)
{
	struct watch *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->options = *options;
	w->switches = &w->none;
	w->unlisted = 1; /* a directory that was taken over has sessions */
	w->inotify_fd = -1;
	w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (w->epoll_fd < 0) {
		int error = -errno;
		free(w);
		return error;
	}
	/* Without inotify (its instances are limited) the directory is read at every turn. */
	w->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (w->inotify_fd >= 0 &&
		inotify_add_watch(w->inotify_fd, options->dir->path, IN_MOVED_TO) < 0) {
		close(w->inotify_fd);
		w->inotify_fd = -1;
	}
	if (w->inotify_fd >= 0)
		poll_add(w, w->inotify_fd);
	if (options->dir->told_fd >= 0)
		poll_add(w, options->dir->told_fd);
	*out = w;
	return 0;
}

int watch_fd(const struct watch *w)
{
	return w->epoll_fd;
}

void watch_encoder_set(struct watch *w, struct encoder *e)
{
	w->encoder = e;
}

void watch_switches_set(struct watch *w, struct switches *s)
{
	w->switches = s;
	switches_wait_with(s, w->epoll_fd);
}

void watch_faults_set(struct watch *w, struct fault_records *f)
{
	w->faults = f;
	poll_add(w, fault_records_fd(f));
}

static uint32_t turn_faults(struct watch *w, uint64_t now_ns)
{
	return w->faults ? fault_records_turn(w->faults, w->sessions, w->encoder, now_ns)
			 : UINT32_MAX;
}

static uint32_t turn_switches(struct watch *w, uint64_t now_ns, int all)
{
	return switches_turn(
		w->switches, w->sessions, w->encoder, w->options.interval_ms, now_ns, all);
}

void watch_switches_read(struct watch *w)
{
	turn_switches(w, monotonic_ns(), 1);
}

static void watch_count_lost(struct watch *w, const char *why)
{
	w->totals.lost++;
	if (!w->totals.fault)
		w->totals.fault = why;
}

/* Close emitted sessions. Not while a caller walks through the list. */
static void watch_sweep(struct watch *w)
{
	for (struct watched **at = &w->sessions; *at;) {
		struct watched *s = *at;
		if (s->emitted) {
			*at = s->next;
			watched_close(s);
			w->known--;
		} else {
			at = &s->next;
		}
	}
}

/*
 * Send the clock to the encoder once, before the first record, because the writer converts times
 * with it. 0, or -ENOMEM: no record may be consumed yet.
 */
static int send_clock(struct watch *w)
{
	if (w->clock_sent)
		return 0;
	int error = encoder_clock(w->encoder, drain_clock_fit(w->options.clock));
	w->clock_sent = !error;
	return error;
}

/* Returns the number of records that stay in the rings for lack of memory. */
static uint64_t consume_all(struct watch *w, struct watched *s, uint64_t now_ns)
{
	uint32_t lanes = drain_lanes(s->drain);
	int error = send_clock(w);
	uint64_t left = 0;

	for (uint32_t i = 0; i < lanes; i++)
		left += error ? drain_level(s->drain, i).waiting
			      : encoder_consume(w->encoder, s->drain, i);
	if (error)
		return left;
	s->consumed_ns = now_ns;
	w->consumed = true;
	return left;
}

/* Hand the session, with the records that are still in its rings, to the encoder to be finished. */
static void end_session(struct watch *w, struct watched *s, enum drain_end end, uint64_t end_ticks)
{
	turn_switches(w, monotonic_ns(), 1);
	turn_faults(w, monotonic_ns());
	drain_threads_account(s->drain, &w->totals.off_cpu);
	w->totals.processes++;
	w->totals.dead += end == DRAIN_END_DEAD;
	w->totals.outlived += end == DRAIN_END_OUTLIVED;
	unlinkat(w->options.dir->fd, s->name, 0);
	/* a dead process would keep watch_fd() readable */
	process_release(&s->process);
	s->ending = 1;
	w->live--;
	/* without memory it stays until watch_destroy(): the encoder may have records of it */
	if (send_clock(w) || encoder_end(w->encoder, s->drain, end, end_ticks))
		watch_count_lost(w, "out of memory for its end");
}

/*
 * If the process of a new session has another one, it became another program (exec): end the older
 * session. A process with two copies of libbrick maps both sessions, which both stay.
 */
static void end_replaced(struct watch *w, struct watched *added)
{
	uint64_t start = drain_header(added->drain)->start_ticks;

	for (struct watched *s = w->sessions; s; s = s->next) {
		if (s == added || s->ending || !s->process.pid ||
			s->process.pid != added->process.pid)
			continue;
		if (process_maps(s->process.pid, s->name) &&
			process_maps(s->process.pid, added->name))
			continue;
		uint64_t end_ticks, other = drain_header(s->drain)->start_ticks;
		struct watched *older = other < start ? s : added;
		int closed = drain_state(older->drain, &end_ticks) == BRICK_SESSION_CLOSED;
		if (!closed)
			end_ticks = other < start ? start : other;
		consume_all(w, older, monotonic_ns());
		end_session(w, older, closed ? DRAIN_END_CLOSED : DRAIN_END_EXEC, end_ticks);
		if (older == added)
			return;
	}
}

static bool watch_is_known(const struct watch *w, const char *name)
{
	for (const struct watched *s = w->sessions; s; s = s->next)
		if (!s->emitted && !strcmp(s->name, name))
			return true;
	return false;
}

/*
 * A session_dir_fn: open a session file that is not known yet. An unusable one stays in the list as
 * `ending`, so that it is counted once.
 */
static void watch_add_session(void *context, const char *name, pid_t pid)
{
	struct watch *w = context;
	const char *why = "there are too many processes at a time";
	struct watched *s = NULL;

	if (watch_is_known(w, name))
		return;
	if (w->known < MAX_SESSIONS) {
		why = "out of memory";
		s = watched_open(w->options.dir->fd, name, pid, &why);
	}
	if (s) {
		s->next = w->sessions;
		w->sessions = s;
		w->known++;
	}
	if (why) {
		watch_count_lost(w, why);
		unlinkat(w->options.dir->fd, name, 0);
		if (s) {
			process_release(&s->process);
			s->ending = 1;
		}
		return;
	}
	w->live++;
	if (s->process.pidfd >= 0)
		poll_add(w, s->process.pidfd);
	end_replaced(w, s);
}

/* Add new sessions. A directory that cannot be read is tried again at the next turn. */
static void find_sessions(struct watch *w)
{
	char events[4096];

	while (w->inotify_fd >= 0 && read(w->inotify_fd, events, sizeof(events)) > 0)
		w->unlisted = 1;
	if (w->unlisted || w->inotify_fd < 0)
		w->unlisted = session_dir_each(w->options.dir, watch_add_session, w) < 0;
}

/* Look at one session; returns the ms until the next look. */
static uint32_t watch_visit(struct watch *w, struct watched *s, uint64_t now_ns, int all)
{
	enum drain_end end;
	uint64_t end_ticks;

	if (watched_is_over(s, now_ns, &end, &end_ticks)) {
		if (end == DRAIN_END_DEAD)
			find_sessions(
				w); /* an exec may have made a newer one: then `s` ends here */
		if (s->ending)
			return LOOK_MS;
		if (consume_all(w, s, now_ns))
			return RETRY_MS;
		end_session(w, s, end, end_ticks);
		return LOOK_MS;
	}
	uint32_t max_ms = w->options.interval_ms < LOOK_MS ? w->options.interval_ms : LOOK_MS;
	if (switches_fall_back(w->switches) && !s->is_elsewhere)
		drain_watch_threads(s->drain, max_ms);
	struct drain_outlook outlook = drain_look(s->drain, &s->pace, now_ns, max_ms);
	int full = outlook.fullest_percent >= FULL_PERCENT;
	int due = outlook.waiting &&
		  (all || now_ns - s->consumed_ns >= (uint64_t)w->options.interval_ms * 1000000u);
	if (!w->options.clock->fitted && outlook.fullest_percent < PRESSED_PERCENT &&
		drain_clock_baseline_ns(w->options.clock) < DRAIN_CLOCK_BASELINE_NS)
		return outlook.next_ms;
	if (full || due)
		consume_all(w, s, now_ns);
	if (drain_digest_level(s->drain)) {
		/* without memory it is done at the next look */
		if (!send_clock(w))
			encoder_digests(w->encoder, s->drain);
		return outlook.next_ms < DIGEST_MS ? outlook.next_ms : DIGEST_MS;
	}
	return outlook.next_ms;
}

uint32_t watch_turn(struct watch *w, uint64_t now_ns, int all)
{
	watch_sweep(w);
	session_dir_hear(w->options.dir);
	find_sessions(w);
	uint32_t next_ms = w->inotify_fd < 0 || w->unlisted ? LOOK_MS : IDLE_MS;
	for (struct watched *s = w->sessions; s; s = s->next) {
		if (s->ending)
			continue;
		uint32_t ms = watch_visit(w, s, now_ns, all);
		if (ms < next_ms)
			next_ms = ms;
	}
	uint32_t ms = turn_switches(w, now_ns, all), faults_ms = turn_faults(w, now_ns);
	next_ms = ms < next_ms ? ms : next_ms;
	return faults_ms < next_ms ? faults_ms : next_ms;
}

uint32_t watch_live(const struct watch *w)
{
	return w->live;
}

pid_t watch_process(const struct watch *w)
{
	pid_t pid = 0;

	for (const struct watched *s = w->sessions; s; s = s->next)
		if (!s->ending && s->process.pid)
			pid = s->process.pid;
	return pid;
}

void watch_end_all(struct watch *w)
{
	watch_sweep(w);
	session_dir_hear(w->options.dir);
	if (session_dir_each(w->options.dir, watch_add_session, w) < 0)
		watch_count_lost(w, "the directory of sessions cannot be read");
	for (struct watched *s = w->sessions; s; s = s->next) {
		enum drain_end end;
		uint64_t end_ticks;
		if (s->ending)
			continue;
		watched_is_over(s, monotonic_ns(), &end, &end_ticks);
		consume_all(w, s, monotonic_ns());
		end_session(w, s, end, end_ticks);
	}
}

void watch_leave_all(struct watch *w)
{
	watch_sweep(w);
	turn_switches(w, monotonic_ns(), 1);
	turn_faults(w, monotonic_ns());
	for (struct watched *s = w->sessions; s; s = s->next) {
		if (s->ending)
			continue;
		consume_all(w, s, monotonic_ns());
		drain_threads_account(s->drain, &w->totals.off_cpu);
		w->totals.processes++;
		w->totals.outlived++;
	}
}

void watch_left(struct watch *w)
{
	for (struct watched *s = w->sessions; s; s = s->next)
		if (!s->ending)
			watch_session_done(w, s->drain);
}

bool watch_has_consumed(struct watch *w)
{
	bool consumed = w->consumed;

	w->consumed = false;
	return consumed;
}

static void watch_add_notes(struct watch *w, const char *notes)
{
	size_t bytes = strlen(notes);

	if (bytes > MAX_NOTES_BYTES - w->notes_bytes)
		return;
	char *grown = realloc(w->notes, w->notes_bytes + bytes + 1);
	if (!grown) /* drain_finish() has put them into the recording already */
		return;
	memcpy(grown + w->notes_bytes, notes, bytes + 1);
	w->notes = grown;
	w->notes_bytes += bytes;
}

void watch_session_done(void *watch, struct drain *drain)
{
	struct watch *w = watch;
	struct drain_counts counts = drain_counts(drain);

	if (drain_fault(drain))
		watch_count_lost(w, drain_fault(drain));
	w->totals.records += counts.records;
	w->totals.samples += counts.samples;
	w->totals.steps += counts.steps;
	w->totals.threads += counts.threads;
	w->totals.dropped += counts.dropped;
	w->totals.refused += counts.refused;
	w->totals.off_cpu.lost += counts.off_cpu_lost;
	watch_add_notes(w, drain_notes(drain));
	for (struct watched *s = w->sessions; s; s = s->next)
		if (s->drain == drain)
			s->emitted = 1;
}

struct watch_totals watch_totals(const struct watch *w)
{
	struct watch_totals totals = w->totals;

	totals.notes = w->notes ? w->notes : "";
	return totals;
}

void watch_destroy(struct watch *w)
{
	if (!w)
		return;
	for (struct watched *s = w->sessions; s; s = s->next)
		s->emitted = 1;
	watch_sweep(w);
	if (w->inotify_fd >= 0)
		close(w->inotify_fd);
	close(w->epoll_fd);
	free(w->notes);
	free(w);
}
