/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step is looked at when its end is emitted. The file is made at the end of the first round that
 * has enough of what came after it. Steps that are slow until then are in the same file.
 */
#include "lib/keep/exemplars.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/array.h"
#include "base/number.h"
#include "base/path_name.h"
#include "brick/brick.h"
#include "format/format.h"
#include "format/mark.h"
#include "lib/keep/file_ring.h"
#include "lib/keep/recent.h"
#include "lib/keep/request_budget.h"

#define RECENT_BYTES (32ull << 20)
#define BEFORE_NS 10000000000ull /* so long before the step the file begins, if it is there */
#define AFTER_NS 2000000000ull
#define HOUR_NS 3600000000000ull
#define SLOW_NS_LEAST 1000ull
#define SLOW_NS_MOST 1000000000000000ull
enum {
	TAIL_EVERY = 64, /* steps after which the percentiles are computed anew */
	MARKS = 16,	 /* of one file: its longest slow steps */
};

/* A session from its first records on. */
struct seen_session {
	struct drain *drain, *replay; /* the latter while a file is written */
	uint64_t dropped;
	uint64_t tail_ticks[SLOW_PHASES]; /* longer is slow; UINT64_MAX: too few steps */
	unsigned tail_age[SLOW_PHASES];	  /* steps until it is computed anew */
};

struct kept_moment {
	uint64_t ns, took_ns;
	const char *why;
};

struct exemplars {
	struct exemplars_options options;
	char path[PATH_MAX];
	struct file_ring ring;
	struct recent recent;
	struct request_budget requests;
	ARRAY(struct seen_session) sessions;
	struct exemplars_count count;
	uint64_t hour_end_ns; /* of the hour of hour_count */
	unsigned hour_count;
	struct sink_account account; /* of the last round */
	uint64_t round_ns;	     /* of the one before */
	/* while records are emitted */
	struct brick_clock clock, session_clock; /* the recording's; and that of x->session */
	size_t session;
	/* what is to be kept, in the order of time; mark_count 0: nothing */
	struct kept_moment marks[MARKS];
	unsigned mark_count, marks_written;
	uint64_t until_ns;    /* when the last of them ended */
	uint64_t due_ns;      /* a round that has this makes the file */
	uint64_t asked_at;    /* recent.end then */
	bool is_due, is_open; /* is_open: the file was begun */
	struct trace_writer *writer;
	uint64_t begin_ns, end_ns; /* of the file; 0 and UINT64_MAX: of what is there */
	uint64_t begin;		   /* the first item of `recent` for it */
	uint64_t at;		   /* the next one */
	uint64_t mark_ns;	   /* of the last mark in it: a reader wants them in order */
};

/* A time with its unit, or p99; of one phase, of requests, or of all phases but the warm-up. */
static int slow_limit_parse(struct slow_limits *limits, const char *text)
{
	static const char *const phases[SLOW_PHASES] = {[BRICK_PHASE_PREFILL] = "prefill",
		[BRICK_PHASE_DECODE] = "decode",
		[BRICK_PHASE_MIXED] = "mixed",
		[BRICK_PHASE_WARM_UP] = "warm-up",
		[BRICK_PHASE_OTHER] = "other"};
	const char *equals = strchr(text, '='), *when = equals ? equals + 1 : text;
	struct slow_limit limit = {.is_tail = !strcmp(when, "p99")};

	if (!limit.is_tail && number_time_ns(when, NULL, SLOW_NS_LEAST, SLOW_NS_MOST, &limit.ns))
		return -EINVAL;
	bool is_known = !strncmp(text, "request=", 8) && limit.ns;
	if (is_known)
		limits->request_ns = limit.ns;
	for (int i = 0; i < SLOW_PHASES; i++) {
		if (equals ? strlen(phases[i]) != (size_t)(equals - text) ||
					strncmp(phases[i], text, (size_t)(equals - text))
			   : i == BRICK_PHASE_WARM_UP)
			continue;
		is_known = true;
		if (limit.is_tail)
			limits->phase[i].is_tail = true;
		else
			limits->phase[i].ns = limit.ns;
	}
	return is_known ? 0 : -EINVAL;
}

int slow_limits_parse(struct slow_limits *limits, const char *text)
{
	char one[64];
	int error = 0;

	for (const char *end; text && !error; text = *end ? end + 1 : NULL) {
		end = text + strcspn(text, ",");
		if ((size_t)(end - text) >= sizeof(one))
			return -EINVAL;
		memcpy(one, text, (size_t)(end - text));
		one[end - text] = '\0';
		error = slow_limit_parse(limits, one);
	}
	return error;
}

bool exemplars_name(const char *recording, unsigned number, char name[PATH_MAX])
{
	const char *dot = strrchr(path_name(recording), '.');
	size_t stem =
		dot && dot > path_name(recording) ? (size_t)(dot - recording) : strlen(recording);
	char path[PATH_MAX];
	const struct file_ring ring = {.path = path};

	return snprintf(path, sizeof(path), "%.*s.slow%s", (int)stem, recording, recording + stem) <
		       (int)sizeof(path) &&
	       file_ring_name(&ring, number, name);
}

int exemplars_create(struct exemplars **out, const struct exemplars_options *options,
	uint64_t now_ns, char *wrong, size_t wrong_bytes)
{
	struct exemplars *x = calloc(1, sizeof(*x));

	if (!x)
		return -ENOMEM;
	x->options = *options;
	int error = -ENAMETOOLONG;
	if (exemplars_name(options->path, 0, x->path)) {
		x->ring = (struct file_ring){.path = x->path, .bytes = options->bytes};
		error = file_ring_start(&x->ring, now_ns, wrong, wrong_bytes);
	}
	if (!error)
		error = request_budget_init(&x->requests, options->slow.request_ns);
	if (!error)
		error = recent_init(&x->recent, RECENT_BYTES);
	if (error) {
		request_budget_fini(&x->requests);
		free(x);
		return error;
	}
	x->recent.round_ns = now_ns;
	*out = x;
	return 0;
}

static void close_replays(struct exemplars *x)
{
	for (size_t i = 0; i < x->sessions.count; i++) {
		drain_close(x->sessions.items[i].replay);
		x->sessions.items[i].replay = NULL;
	}
}

void exemplars_destroy(struct exemplars *x)
{
	if (!x)
		return;
	close_replays(x);
	trace_writer_abandon(x->writer);
	recent_fini(&x->recent);
	request_budget_fini(&x->requests);
	array_fini(&x->sessions);
	free(x);
}

struct exemplars_count exemplars_count(const struct exemplars *x)
{
	struct exemplars_count count = x->count;

	memcpy(count.ring, x->ring.id, sizeof(count.ring));
	return count;
}

/* What is to be kept. */

/* Of too many the longest. */
static void keep_moment(struct exemplars *x, const struct kept_moment *moment)
{
	unsigned least = 0, at;

	if (x->mark_count == MARKS) {
		for (at = 1; at < MARKS; at++)
			if (x->marks[at].took_ns < x->marks[least].took_ns)
				least = at;
		if (x->marks[least].took_ns >= moment->took_ns)
			return;
		x->mark_count--;
		memmove(&x->marks[least], &x->marks[least + 1],
			(x->mark_count - least) * sizeof(x->marks[0]));
	}
	at = x->mark_count++;
	for (; at && x->marks[at - 1].ns > moment->ns; at--)
		x->marks[at] = x->marks[at - 1];
	x->marks[at] = *moment;
}

static void exemplars_ask(struct exemplars *x, uint64_t ns, uint64_t end_ns, const char *why)
{
	if (!x->mark_count) {
		if (end_ns >= x->hour_end_ns) {
			x->hour_end_ns = end_ns + HOUR_NS;
			x->hour_count = 0;
		}
		if (x->hour_count == x->options.per_hour) {
			x->count.left++;
			return;
		}
		x->hour_count++;
		x->due_ns = end_ns + AFTER_NS;
		x->asked_at = x->recent.end;
	}
	if (end_ns > x->until_ns)
		x->until_ns = end_ns;
	keep_moment(x, &(struct kept_moment){ns, end_ns - ns, why});
}

static int phase_of(uint32_t brick)
{
	return brick == BRICK_PREFILL	? BRICK_PHASE_PREFILL
	       : brick == BRICK_DECODE	? BRICK_PHASE_DECODE
	       : brick == BRICK_MIXED	? BRICK_PHASE_MIXED
	       : brick == BRICK_WARM_UP ? BRICK_PHASE_WARM_UP
					: BRICK_PHASE_OTHER;
}

/* The length beyond which a step of the session is slow. */
static uint64_t slow_tail_of(struct seen_session *s, uint32_t brick, int phase)
{
	uint64_t count;

	if (!s->tail_age[phase]--) {
		uint64_t tail = drain_length(s->drain, brick, 99, &count);
		uint64_t median = drain_length(s->drain, brick, 50, &count);
		s->tail_age[phase] = TAIL_EVERY;
		s->tail_ticks[phase] = count < SLOW_TAIL_STEPS ? UINT64_MAX
				       : tail > 2 * median     ? tail
							       : 2 * median;
	}
	return s->tail_ticks[phase];
}

/* A drain_step_fn. */
static void exemplars_on_step(void *context, const struct drain_step *step)
{
	struct exemplars *x = context;
	uint64_t begin = step->begin, end = step->end;
	int phase = phase_of(step->brick);

	if (x->session == x->sessions.count) /* it ends, and was forgotten */
		return;
	const struct slow_limit *limit = &x->options.slow.phase[phase];
	uint64_t begin_ns = brick_clock_ns(&x->session_clock, begin);
	uint64_t end_ns = brick_clock_ns(&x->session_clock, end);
	bool is_slow = limit->ns && end_ns > begin_ns && end_ns - begin_ns > limit->ns;

	if (limit->is_tail)
		is_slow |= end > begin && end - begin > slow_tail_of(&x->sessions.items[x->session],
								step->brick, phase);
	if (is_slow)
		exemplars_ask(x, begin_ns, end_ns, "slow step");
}

/* Sets x->session. 0 or -ENOMEM. */
static int find_session(struct exemplars *x, struct drain *drain)
{
	for (x->session = 0; x->session < x->sessions.count; x->session++)
		if (x->sessions.items[x->session].drain == drain)
			return 0;
	int error = array_push(&x->sessions, (struct seen_session){.drain = drain});
	if (!error)
		drain_steps_watch(drain, exemplars_on_step, x);
	return error;
}

static void look_at_request(
	struct exemplars *x, struct drain *drain, const struct brick_record *record)
{
	struct brick_sequence_record event;

	memcpy(&event, record, sizeof(event));
	bool has_arrival = event.event == BRICK_SEQUENCE_ARRIVED;
	uint64_t ns = brick_clock_ns(&x->session_clock, event.begin);
	uint64_t arrived_ns = has_arrival ? brick_clock_ns(&x->session_clock, event.number) : 0;
	if (request_budget_event(&x->requests, drain, &event, ns, arrived_ns))
		exemplars_ask(x, ns, ns, "slow request");
}

int exemplars_records(struct exemplars *x, const struct brick_clock *clock, struct drain *drain,
	uint32_t lane, const struct brick_record *records, size_t count)
{
	int error = find_session(x, drain);

	x->clock = *clock;
	x->session_clock = *format_clock_of(clock, &drain_header(drain)->clock);
	if (!error)
		recent_records(&x->recent, drain, lane, records, count);
	for (size_t i = 0; !error && x->requests.ns && i < count; i++)
		if (records[i].kind == BRICK_RECORD_SEQUENCE)
			look_at_request(x, drain, &records[i]);
	return error;
}

void exemplars_off_cpu(struct exemplars *x, struct drain *drain,
	const struct sink_off_cpu *intervals, size_t count)
{
	recent_off_cpu(&x->recent, drain, intervals, count);
}

void exemplars_mark(struct exemplars *x, const struct sink_mark *mark)
{
	recent_mark(&x->recent, mark);
}

void exemplars_round(struct exemplars *x, const struct sink_account *account)
{
	for (size_t i = 0; i < x->sessions.count; i++) {
		uint64_t dropped = drain_dropped(x->sessions.items[i].drain);
		if (dropped > x->sessions.items[i].dropped) /* fewer: brick_reset() */
			exemplars_ask(x, account->end_ns, account->end_ns, "lost records");
		x->sessions.items[i].dropped = dropped;
	}
	recent_round(&x->recent, account->end_ns);
	x->round_ns = x->account.end_ns;
	x->account = *account;
	/* before the memory is used up by what came after the step */
	bool is_full = x->recent.end - x->asked_at > x->recent.capacity / 2;
	/* only the round before has all that its threads did */
	bool is_late = x->round_ns >= x->due_ns && x->round_ns > x->until_ns;
	if (x->mark_count && (is_late || is_full))
		x->is_due = true;
}

void exemplars_forget(struct exemplars *x, const struct drain *drain)
{
	recent_forget(&x->recent, drain);
	request_budget_forget(&x->requests, drain);
	for (size_t i = 0; i < x->sessions.count; i++)
		if (x->sessions.items[i].drain == drain) {
			x->sessions.items[i] = x->sessions.items[--x->sessions.count];
			break;
		}
	x->session = x->sessions.count;
}

/* The file. */

static int write_mark(struct exemplars *x, uint64_t ns, enum mark_kind kind, const char *text)
{
	if (ns > x->mark_ns)
		x->mark_ns = ns;
	return sink_mark(
		x->writer, &(struct sink_mark){.ns = x->mark_ns, .kind = kind, .text = text});
}

/* Those of slow steps that began until `ns`. */
static int write_marks(struct exemplars *x, uint64_t ns)
{
	int error = 0;

	for (; x->marks_written < x->mark_count && x->marks[x->marks_written].ns <= ns && !error;
		x->marks_written++)
		error = write_mark(x, x->marks[x->marks_written].ns, MARK_EXEMPLAR,
			x->marks[x->marks_written].why);
	return error;
}

static int begin_file(struct exemplars *x)
{
	uint64_t earliest_ns = x->marks[0].ns > BEFORE_NS ? x->marks[0].ns - BEFORE_NS : 0;
	uint64_t began_ns;
	int found = file_ring_recover(&x->ring); /* others may have moved the last file */
	int error = found > 0 ? file_ring_turn(&x->ring, x->account.end_ns) : found;

	x->at = x->begin = recent_begin(&x->recent, earliest_ns, &began_ns);
	x->begin_ns = began_ns;
	file_ring_trim(&x->ring, 0, x->account.end_ns);
	if (!error)
		error = x->options.open(x->options.context, &x->ring, began_ns, &x->writer);
	if (!error)
		error = sink_clock(x->writer, &x->clock);
	x->mark_ns = 0;
	x->marks_written = 0;
	return error ? error : write_mark(x, began_ns, MARK_PART, "");
}

/*
 * Where each lane stands at the begin of the file: the recorder looked at some earlier. A lane
 * without records in the file stands there where it stands now.
 */
static void set_starts(const struct exemplars *x, struct drain *replay, struct drain *drain)
{
	const struct brick_clock *clock = format_clock_of(&x->clock, &drain_header(drain)->clock);
	uint64_t begin_ticks = x->begin_ns ? drain_ticks_at(clock, x->begin_ns) : 0;
	const struct recent_item *item;
	struct drain_start now;
	uint64_t at = x->begin;
	uint32_t lanes = drain_lanes(replay);

	while ((item = recent_next(&x->recent, &at))) {
		if (item->kind != RECENT_RECORDS || item->drain != drain || item->lane >= lanes)
			continue;
		const struct recent_records *records = recent_records_of(item);
		drain_start_set(replay, item->lane, &records->start);
		drain_start_pass(replay, item->lane, records->records, item->count, begin_ticks);
	}
	for (uint32_t i = 0; i < lanes; i++) {
		drain_start_get(drain, i, &now);
		drain_start_set(replay, i, &now);
	}
	drain_start_done(replay);
	if (x->end_ns != UINT64_MAX)
		drain_end_set(replay, x->writer, x->end_ns, 0);
}

static int replay_of(struct exemplars *x, struct drain *drain, struct drain **out)
{
	const char *why;
	int error = find_session(x, drain);
	struct seen_session *s = error ? NULL : &x->sessions.items[x->session];

	if (!error && !s->replay) {
		error = drain_open_replay(&s->replay, drain, &why);
		if (!error)
			set_starts(x, s->replay, drain);
	}
	*out = s ? s->replay : NULL;
	return error;
}

static int put_item(struct exemplars *x, const struct recent_item *item)
{
	const struct recent_records *records = recent_records_of(item);
	struct drain *replay;
	int error = 0;

	if (item->kind == RECENT_MARK) {
		const struct sink_mark *mark = recent_mark_of(item);
		error = write_marks(x, mark->ns);
		return error ? error
			     : write_mark(x, mark->ns, (enum mark_kind)mark->kind, mark->text);
	}
	if (item->kind != RECENT_RECORDS && item->kind != RECENT_OFF_CPU)
		return 0;
	error = replay_of(x, item->drain, &replay);
	if (error)
		return error;
	if (item->kind == RECENT_OFF_CPU)
		return drain_emit_off_cpu(replay, x->writer, recent_off_cpu_of(item), item->count);
	size_t count = x->end_ns == UINT64_MAX
			       ? item->count
			       : drain_until_end(replay, item->lane, records->records, item->count);
	return count ? drain_emit(replay, x->writer, item->lane, records->records, count) : 0;
}

/* Only the recording as a whole knows the CPU time of recorder and program. */
static int end_file(struct exemplars *x)
{
	struct sink_account account = x->account;
	int error = 0;

	if (x->end_ns != UINT64_MAX)
		account.end_ns = x->end_ns;
	else if (x->until_ns > account.end_ns)
		account.end_ns = x->until_ns;
	account.consumer_cpu_ns = account.program_cpu_ns = 0;
	for (size_t i = 0; i < x->sessions.count && !error; i++)
		if (x->sessions.items[i].replay)
			error = drain_part(x->sessions.items[i].replay, x->writer);
	if (!error)
		error = write_marks(x, UINT64_MAX);
	if (!error)
		error = sink_account(x->writer, &account);
	if (!error)
		error = write_mark(x, account.end_ns, MARK_NEXT, "");
	int end = error ? 0 : trace_writer_finish(x->writer);
	if (!error)
		x->writer = NULL;
	return error ? error : end;
}

bool exemplars_wait(const struct exemplars *x)
{
	return x->mark_count != 0;
}

bool exemplars_step(struct exemplars *x, bool at_once)
{
	const struct recent_item *item = NULL;
	int error = 0;
	bool is_over = false;
	struct stat st;

	if (!x->mark_count || !(x->is_due || at_once))
		return false;
	if (!x->is_open) /* a session that ends has told all */
		x->end_ns = at_once || x->round_ns <= x->until_ns ? UINT64_MAX : x->round_ns;
	x->is_due = true;
	if (!x->is_open) {
		error = begin_file(x);
		x->is_open = true;
	} else if ((item = recent_next(&x->recent, &x->at))) {
		error = put_item(x, item);
	} else {
		error = end_file(x);
		is_over = true;
		x->count.kept += !error;
		if (!error && !stat(x->path, &st))
			file_ring_trim(&x->ring, (uint64_t)st.st_size, x->account.end_ns);
	}
	if (error) {
		x->count.failed++;
		x->count.error = x->count.error ? x->count.error : error;
		trace_writer_abandon(x->writer);
		x->writer = NULL;
		is_over = true;
	}
	if (is_over) {
		close_replays(x);
		x->mark_count = 0;
		x->is_open = x->is_due = false;
	}
	return true;
}
