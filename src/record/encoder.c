/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The idle thread, and how the filling thread takes over its work. The thread that holds `work`
 * emits messages in small pieces. The filling thread never waits for `work`: it sets `takeover`,
 * which makes the idle thread stop after its piece, and tries the lock again later.
 */
#include "record/encoder.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/array.h"
#include "base/clock_ns.h"
#include "base/memory_left.h"
#include "base/number.h"
#include "base/thread.h"
#include "lib/drain/drain_pace.h"
#include "record/encoder_queue.h"
#include "lib/writer/writer.h"

#define MIN_BYTES (4ull << 20)
#define MAX_BYTES (512ull << 20)

uint64_t backlog_capacity_bytes(const char *root)
{
	uint64_t part = memory_left_bytes(root) / 4;

	if (part < MIN_BYTES)
		return MIN_BYTES;
	return part < MAX_BYTES ? part : MAX_BYTES;
}

/* The encoder. */

/* The filling thread assists when the backlog is older than this ... */
#define LATE_NS 2000000000ull
/* ... or larger than this, or than a quarter of its capacity. */
#define LARGE_BYTES (64ull << 20)
#define ASSIST_NS 20000000ull	 /* the longest time of one encoder_assist() */
#define HELD_NS 2000000000ull	 /* no longer waits a file for threads that are behind ... */
#define HELD_BYTES (16ull << 20) /* ... nor for more than this, or a quarter of the backlog */
enum {
	PIECE_RECORDS = 2048, /* emitted at a time: bounds how long `work` is held */
	YIELD_MS = 5, /* how long the filling thread leaves the idle thread to give up `work` */
};

struct encoder {
	struct queue queue;
	encoder_done_fn done;
	void *context;
	uint64_t late_ns;   /* LATE_NS or less; see encoder_interval_set() */
	uint64_t max_bytes; /* atomic; a backlog this large leaves records in their rings */
	pthread_t thread;
	pthread_mutex_t work;
	sem_t wake;
	/* atomic */
	int sleeping; /* the idle thread waits, or is about to wait, for `wake` */
	int takeover; /* the idle thread must not take `work` */
	int stopping; /* the idle thread must end */
	int error;    /* the writer's first; 0: none */
	int holding;  /* records wait in the queue until the file has ended */
	/* under `work`: the right to call queue_front(), and */
	struct trace_writer *writer;	   /* NULL after an error */
	const struct encoder_files *files; /* NULL: there is one file */
	struct exemplars *exemplars;	   /* NULL: none are kept */
	struct cost_limit *cost;	   /* NULL: recording may cost what it does */
	uint32_t *cost_blocks;
	struct drain *cost_drain;     /* whose records are emitted */
	ARRAY(struct drain *) drains; /* of several files: the sessions that go on */
	struct sink_account account;  /* the last one */
	struct brick_clock clock;     /* of several files: the last one's */
	uint64_t mark_ns;	      /* of the last mark */
	uint64_t flushed_ns[2];	      /* ends of the round before the last, and of that before */
	/* the file ends at this time: messages are passed, and only what began until then is
	   emitted; 0: it does not */
	uint64_t end_ns;
	uint64_t held_bytes;	/* of passed messages */
	uint64_t held_since_ns; /* by CLOCK_MONOTONIC; 0: no record is held */
	bool leaves;		/* no file follows */
};

static void encoder_fail(struct encoder *e, int error)
{
	trace_writer_leave(e->writer);
	e->writer = NULL;
	__atomic_store_n(&e->error, error, __ATOMIC_RELEASE);
}

/* Several files. */

static uint64_t held_bytes_max(const struct encoder *e)
{
	return number_min(HELD_BYTES, __atomic_load_n(&e->max_bytes, __ATOMIC_RELAXED) / 4);
}

static bool files_is_known(const struct encoder *e, const struct drain *drain)
{
	for (size_t i = 0; i < e->drains.count; i++)
		if (e->drains.items[i] == drain)
			return true;
	return false;
}

/* Knows the sessions that have emitted something. 0 or -ENOMEM. */
static int files_know(struct encoder *e, struct drain *drain)
{
	return files_is_known(e, drain) ? 0 : array_push(&e->drains, drain);
}

static void files_forget(struct encoder *e, const struct drain *drain)
{
	for (size_t i = 0; i < e->drains.count; i++)
		if (e->drains.items[i] == drain) {
			e->drains.items[i] = e->drains.items[--e->drains.count];
			return;
		}
}

/* Messages that were passed are read from now on. */
static void files_unhold(struct encoder *e)
{
	queue_back(&e->queue);
	e->end_ns = e->held_bytes = e->held_since_ns = 0;
	__atomic_store_n(&e->holding, 0, __ATOMIC_RELAXED);
}

/* End the file with all that is known now, and go on in the next one. */
static int files_turn(struct encoder *e)
{
	struct sink_account account = e->account;
	uint64_t end_ns = account.end_ns = e->end_ns;
	int error = sink_account(e->writer, &account);

	files_unhold(e);
	e->clock = *sink_clock_get(e->writer);
	for (size_t i = 0; i < e->drains.count && !error; i++)
		error = drain_part(e->drains.items[i], e->writer);
	if (!error)
		error = e->files->next(e->files->context, end_ns, &e->writer);
	return error || !e->clock.mult ? error : sink_clock(e->writer, &e->clock);
}

static bool files_are_whole(const struct encoder *e)
{
	for (size_t i = 0; i < e->drains.count; i++)
		if (!drain_end_is_reached(e->drains.items[i]))
			return false;
	return true;
}

/* Records of threads that the recorder looked at earlier are yet to come. */
static void files_set_end(struct encoder *e, uint64_t ns)
{
	e->end_ns = number_max(ns, e->mark_ns);
	for (size_t i = 0; i < e->drains.count; i++)
		drain_end_set(e->drains.items[i], e->writer, e->end_ns, e->flushed_ns[1]);
}

static int files_end(struct encoder *e)
{
	files_set_end(e, e->account.end_ns);
	return files_are_whole(e) ? files_turn(e) : 0;
}

/* All that is for the last file has been emitted. */
static void files_leave(struct encoder *e)
{
	int error = 0;

	for (size_t i = 0; i < e->drains.count && e->writer && !error; i++)
		error = drain_part(e->drains.items[i], e->writer);
	files_unhold(e);
	if (error)
		encoder_fail(e, error);
}

/* A message met an error of the writer. Returns 0 if the sessions go on, in a file that is due. */
static int files_lose(struct encoder *e, const struct message *m, int error)
{
	if (!e->files || error == -ENOMEM)
		return error;
	if (m->kind == MESSAGE_END)
		files_forget(e, m->drain);
	else if (m->drain && files_know(e, m->drain))
		return -ENOMEM;
	if (e->writer) {
		e->clock = *sink_clock_get(e->writer);
		for (size_t i = 0; i < e->drains.count; i++)
			drain_part(e->drains.items[i], e->writer); /* the same error again */
	}
	files_unhold(e);
	error = e->files->lose(e->files->context, error, &e->writer);
	return error || !e->clock.mult ? error : sink_clock(e->writer, &e->clock);
}

static void note_round(struct encoder *e, const struct sink_account *account)
{
	e->flushed_ns[1] = e->flushed_ns[0];
	e->flushed_ns[0] = e->account.end_ns;
	e->account = *account;
}

/* After a message: is the next file due? */
static int files_look(struct encoder *e, const struct message *m)
{
	uint64_t bytes, pairs;

	if (m->kind == MESSAGE_END)
		files_forget(e, m->drain);
	else if (m->drain && files_know(e, m->drain))
		return -ENOMEM;
	if (m->kind == MESSAGE_FLUSH && !m->is_past)
		note_round(e, &m->account);
	if (m->kind == MESSAGE_MARK)
		e->mark_ns = m->mark.ns;
	trace_writer_counts(e->writer, &bytes, &pairs);
	if (!e->account.end_ns ||
		!e->files->is_due(e->files->context, bytes, m->kind == MESSAGE_FLUSH))
		return 0;
	return files_end(e);
}

/* Before a message, or its next `count` records, is emitted. 0 or -ENOMEM. */
static int tell_exemplars(struct encoder *e, const struct message *m, size_t count)
{
	struct exemplars *x = e->exemplars;

	if (m->kind == MESSAGE_RECORDS)
		return exemplars_records(x, sink_clock_get(e->writer), m->drain, m->lane,
			m->records + m->emitted, count);
	if (m->kind == MESSAGE_OFF_CPU)
		exemplars_off_cpu(x, m->drain, m->off_cpu + m->emitted, m->count - m->emitted);
	else if (m->kind == MESSAGE_MARK)
		exemplars_mark(x, &m->mark);
	else if (m->kind == MESSAGE_FLUSH)
		exemplars_round(x, &m->account);
	else if (m->kind == MESSAGE_END)
		exemplars_forget(x, m->drain);
	return 0;
}

/* A drain_step_fn. */
static void encoder_on_step(void *context, const struct drain_step *step)
{
	struct encoder *e = context;

	if (cost_limit_step(e->cost, e->cost_drain, step))
		__atomic_store_n(e->cost_blocks, e->cost->blocks, __ATOMIC_RELAXED);
}

static void tell_cost(struct encoder *e, const struct message *m)
{
	if (m->kind == MESSAGE_RECORDS || m->kind == MESSAGE_END) /* which may emit some, too */
		e->cost_drain = m->drain;
	if (m->kind == MESSAGE_RECORDS)
		drain_steps_watch(m->drain, encoder_on_step, e);
}

/* What decides over hooks and what keeps exemplars are told first. 0 or -ENOMEM. */
static int encoder_tell(struct encoder *e, const struct message *m, size_t count)
{
	if (e->cost)
		tell_cost(e, m);
	return e->exemplars ? tell_exemplars(e, m, count) : 0;
}

/*
 * Emit a message; of a records message only the next piece, and *finished tells if it was the last.
 */
static int encoder_emit(struct encoder *e, struct message *m, int *finished)
{
	size_t count =
		m->count - m->emitted < PIECE_RECORDS ? m->count - m->emitted : PIECE_RECORDS;

	if (m->kind == MESSAGE_RECORDS && !count)
		return 0; /* an earlier file has them */
	if (m->kind == MESSAGE_MARK)
		m->mark.text = m->mark_text;
	int error = encoder_tell(e, m, count);
	if (error)
		return error;
	switch (m->kind) {
	case MESSAGE_RECORDS:
		error = drain_emit(m->drain, e->writer, m->lane, m->records + m->emitted, count);
		m->emitted += count;
		*finished = m->emitted == m->count;
		return error;
	case MESSAGE_CLOCK:
		return sink_clock(e->writer, &m->clock);
	case MESSAGE_END:
		error = drain_finish(m->drain, e->writer, m->end, m->end_ticks);
		if (e->cost)
			cost_limit_forget(e->cost, m->drain);
		return error;
	case MESSAGE_FLUSH:
		error = m->is_past ? 0 : sink_account(e->writer, &m->account);
		return error ? error : sink_flush(e->writer);
	case MESSAGE_OFF_CPU:
		return drain_emit_off_cpu(
			m->drain, e->writer, m->off_cpu + m->emitted, m->count - m->emitted);
	case MESSAGE_PACKETS:
		return trace_writer_packets(e->writer, m->packets, m->count);
	case MESSAGE_DIGESTS:
		return drain_emit_digests(m->drain, e->writer);
	case MESSAGE_MARK:
		return sink_mark(e->writer, &m->mark);
	case MESSAGE_ENERGY:
		return sink_energy(e->writer, &m->energy);
	case MESSAGE_FAULTS:
		return sink_faults(e->writer, m->faults, m->count);
	case MESSAGE_LEAVE:
		e->leaves = true;
		files_set_end(e, m->leave_ns);
		return 0;
	}
	return 0;
}

/* A piece of the message's records that are for a file that ends. *finished: there are no more. */
static int emit_until_end(struct encoder *e, struct message *m, int *finished)
{
	size_t left = m->count - m->emitted;
	size_t count = drain_until_end(m->drain, m->lane, m->records + m->emitted,
		left < PIECE_RECORDS ? left : PIECE_RECORDS);

	*finished = count < PIECE_RECORDS;
	if (!count)
		return 0;
	int error = encoder_tell(e, m, count);
	if (!error)
		error = drain_emit(m->drain, e->writer, m->lane, m->records + m->emitted, count);
	m->emitted += count;
	return error;
}

/* The same of times off the CPU, which are in the order of their ends. */
static int emit_off_cpu_until_end(struct encoder *e, struct message *m)
{
	size_t count = 0;

	if (!files_is_known(e, m->drain))
		return 0;
	while (count < m->count && m->off_cpu[count].end_ns <= e->end_ns)
		count++;
	if (e->exemplars)
		exemplars_off_cpu(e->exemplars, m->drain, m->off_cpu, count);
	int error = drain_emit_off_cpu(m->drain, e->writer, m->off_cpu, count);
	m->emitted = count;
	return error;
}

/* Take from the next message what is for a file that ends, and end it when that is all. */
static int encoder_pass(struct encoder *e, struct message *m)
{
	/* before we leave, the file that comes then begins */
	bool is_over = e->held_bytes > held_bytes_max(e) || m->kind == MESSAGE_LEAVE;
	int finished = 1, error = 0;

	switch (m->kind) {
	case MESSAGE_RECORDS:
		error = emit_until_end(e, m, &finished);
		if (!e->held_since_ns && m->emitted < m->count && finished) {
			e->held_since_ns = monotonic_ns();
			__atomic_store_n(&e->holding, 1, __ATOMIC_RELAXED);
		}
		break;
	case MESSAGE_OFF_CPU:
		error = emit_off_cpu_until_end(e, m);
		break;
	case MESSAGE_FLUSH:
		note_round(e, &m->account);
		m->is_past = true;
		is_over |= files_are_whole(e) ||
			   (e->held_since_ns && monotonic_ns() - e->held_since_ns >= HELD_NS);
		break;
	default:
		break;
	}
	if (finished) {
		e->held_bytes += sizeof(*m) + message_bytes(m);
		queue_pass(&e->queue);
	}
	return error || !is_over || e->leaves ? error : files_turn(e);
}

/* Do one piece of work, under `work`. Returns 0 if the queue is empty, else 1. */
static int encoder_step(struct encoder *e)
{
	bool passes = e->end_ns && e->writer;
	struct message *m = passes ? queue_ahead(&e->queue) : queue_front(&e->queue);
	int finished = 1;

	/* what is only passed comes again, behind what is held for the next file */
	bool is_last = m && !passes && (m->kind == MESSAGE_END || m->kind == MESSAGE_LEAVE);

	if (e->exemplars && exemplars_step(e->exemplars, is_last))
		return 1;
	if (!m)
		return 0;
	if (passes) {
		int error = encoder_pass(e, m);
		if (error && files_lose(e, m, error))
			encoder_fail(e, error);
		return 1;
	}
	if (e->writer) {
		int error = encoder_emit(e, m, &finished);
		if (!error && finished && e->files)
			error = files_look(e, m);
		if (error)
			error = files_lose(e, m, error);
		if (error) {
			encoder_fail(e, error);
			finished = 1;
		}
	}
	if (finished)
		queue_pop(&e->queue);
	return 1;
}

static bool is_raised(const int *flag)
{
	return __atomic_load_n(flag, __ATOMIC_SEQ_CST);
}

static void *encoder_run(void *argument)
{
	struct encoder *e = argument;
	struct sched_param none = {0};

	pthread_setname_np(pthread_self(), "brick-encoder");
	sched_setscheduler(0, SCHED_IDLE, &none);
	while (!is_raised(&e->stopping)) {
		int more = 1;
		while (more && !is_raised(&e->takeover)) {
			pthread_mutex_lock(&e->work);
			more = encoder_step(e);
			pthread_mutex_unlock(&e->work);
		}
		__atomic_store_n(&e->sleeping, 1, __ATOMIC_SEQ_CST);
		if ((!queue_is_empty(&e->queue) && !is_raised(&e->takeover)) ||
			is_raised(&e->stopping)) {
			/* a message came just now. If encoder_wake() has cleared `sleeping`, it
			 * also posts `wake`, which must be taken below */
			if (__atomic_exchange_n(&e->sleeping, 0, __ATOMIC_SEQ_CST))
				continue;
		}
		while (sem_wait(&e->wake) < 0 && errno == EINTR)
			;
	}
	return NULL;
}

static void encoder_wake(struct encoder *e)
{
	if (__atomic_exchange_n(&e->sleeping, 0, __ATOMIC_SEQ_CST))
		sem_post(&e->wake);
}

int encoder_create(
	struct encoder **out, struct trace_writer *writer, encoder_done_fn done, void *context)
{
	struct encoder *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->writer = writer;
	e->done = done;
	e->late_ns = LATE_NS;
	e->max_bytes = backlog_capacity_bytes("");
	e->context = context;
	int error = queue_init(&e->queue);
	if (error) {
		free(e);
		return error;
	}
	pthread_mutex_init(&e->work, NULL);
	sem_init(&e->wake, 0, 0);
	/* SIGBUS stays unblocked: record_guard.c repairs mappings of files that shrank */
	error = thread_start(&e->thread, NULL, SIGBUS, encoder_run, e);
	if (error) {
		e->writer = NULL;
		encoder_destroy(e);
		return error;
	}
	*out = e;
	return 0;
}

static void encoder_push(struct encoder *e, struct message *m)
{
	queue_push(&e->queue, m, monotonic_ns());
	encoder_wake(e);
}

/* Push a message that has no `records`. 0 or -ENOMEM. */
static int push_one(struct encoder *e, const struct message *content)
{
	struct message *m = queue_message(&e->queue, content->kind, 0);

	if (!m)
		return -ENOMEM;
	*m = *content;
	encoder_push(e, m);
	return 0;
}

/* Free emitted messages, and tell the owner of the sessions which have ended. */
static void encoder_collect(struct encoder *e)
{
	struct message *m = queue_spent(&e->queue);

	while (m) {
		struct message *next = m->next;
		if (m->kind == MESSAGE_END)
			e->done(e->context, m->drain);
		queue_unuse(&e->queue, m);
		m = next;
	}
}

uint64_t encoder_consume(struct encoder *e, struct drain *drain, uint32_t lane)
{
	uint64_t waiting = drain_level(drain, lane).waiting;

	while (waiting && queue_backlog_bytes(&e->queue) < e->max_bytes) {
		struct message *m = queue_message(&e->queue, MESSAGE_RECORDS, 1);
		if (!m)
			break;
		m->drain = drain;
		m->lane = lane;
		m->count = drain_consume(drain, lane, m->records,
			waiting < MESSAGE_RECORDS_MAX ? waiting : MESSAGE_RECORDS_MAX);
		waiting -= m->count;
		if (!m->count) {
			/* the session's file was cut short: nothing is left to wait for */
			queue_unuse(&e->queue, m);
			return 0;
		}
		encoder_push(e, m);
	}
	return waiting;
}

int encoder_digests(struct encoder *e, struct drain *drain)
{
	return push_one(e, &(struct message){.kind = MESSAGE_DIGESTS, .drain = drain});
}

int encoder_off_cpu(
	struct encoder *e, struct drain *drain, struct sink_off_cpu *intervals, size_t count)
{
	const struct message m = {
		.kind = MESSAGE_OFF_CPU, .drain = drain, .off_cpu = intervals, .count = count};
	int error = push_one(e, &m);

	if (error)
		free(intervals);
	return error;
}

int encoder_packets(struct encoder *e, uint8_t *packets, size_t bytes)
{
	const struct message m = {.kind = MESSAGE_PACKETS, .packets = packets, .count = bytes};
	int error = queue_backlog_bytes(&e->queue) < e->max_bytes ? push_one(e, &m) : -ENOMEM;

	if (error)
		free(packets);
	return error;
}

int encoder_mark(struct encoder *e, const struct sink_mark *mark)
{
	struct message m = {.kind = MESSAGE_MARK, .mark = *mark};

	snprintf(m.mark_text, sizeof(m.mark_text), "%s", mark->text);
	return push_one(e, &m);
}

int encoder_energy(struct encoder *e, const struct sink_energy *reading)
{
	return push_one(e, &(struct message){.kind = MESSAGE_ENERGY, .energy = *reading});
}

int encoder_faults(struct encoder *e, struct sink_fault *faults, size_t count)
{
	return push_one(
		e, &(struct message){.kind = MESSAGE_FAULTS, .faults = faults, .count = count});
}

int encoder_clock(struct encoder *e, const struct brick_clock *clock)
{
	return push_one(e, &(struct message){.kind = MESSAGE_CLOCK, .clock = *clock});
}

int encoder_end(struct encoder *e, struct drain *drain, enum drain_end end, uint64_t end_ticks)
{
	const struct message m = {
		.kind = MESSAGE_END, .drain = drain, .end = end, .end_ticks = end_ticks};

	return push_one(e, &m);
}

int encoder_leave(struct encoder *e, uint64_t ns)
{
	return push_one(e, &(struct message){.kind = MESSAGE_LEAVE, .leave_ns = ns});
}

int encoder_flush(struct encoder *e, const struct sink_account *account)
{
	int error = push_one(e, &(struct message){.kind = MESSAGE_FLUSH, .account = *account});

	if (!error)
		__atomic_store_n(&e->max_bytes, backlog_capacity_bytes(""), __ATOMIC_RELAXED);
	return error;
}

/* Assistance begins at a limit and goes on down to half of it. */
static bool is_behind(const struct encoder *e, uint64_t late_ns, uint64_t large_bytes)
{
	return queue_backlog_bytes(&e->queue) > large_bytes ||
	       queue_backlog_age_ns(&e->queue, monotonic_ns()) > late_ns;
}

static uint64_t large_bytes(const struct encoder *e)
{
	return e->max_bytes / 4 < LARGE_BYTES ? e->max_bytes / 4 : LARGE_BYTES;
}

int encoder_assist(struct encoder *e)
{
	uint64_t start_ns = monotonic_ns();
	int more = 1;

	encoder_collect(e);
	if (!is_raised(&e->takeover) && !is_behind(e, e->late_ns, large_bytes(e)))
		return 0;
	__atomic_store_n(&e->takeover, 1, __ATOMIC_SEQ_CST);
	if (pthread_mutex_trylock(&e->work))
		return 2;
	while (more && is_behind(e, e->late_ns / 2, large_bytes(e) / 2) &&
		monotonic_ns() - start_ns < ASSIST_NS)
		more = encoder_step(e);
	pthread_mutex_unlock(&e->work);
	encoder_collect(e);
	if (more && is_behind(e, e->late_ns / 2, large_bytes(e) / 2))
		return 1;
	__atomic_store_n(&e->takeover, 0, __ATOMIC_SEQ_CST);
	encoder_wake(e);
	return 0;
}

void encoder_files_set(struct encoder *e, const struct encoder_files *files)
{
	pthread_mutex_lock(&e->work);
	e->files = files;
	pthread_mutex_unlock(&e->work);
}

void encoder_interval_set(struct encoder *e, uint32_t interval_ms)
{
	uint64_t write_ns = drain_write_ns(interval_ms);

	e->late_ns = write_ns < LATE_NS ? write_ns : LATE_NS;
}

void encoder_exemplars_set(struct encoder *e, struct exemplars *exemplars)
{
	pthread_mutex_lock(&e->work);
	e->exemplars = exemplars;
	pthread_mutex_unlock(&e->work);
}

void encoder_cost_set(struct encoder *e, struct cost_limit *limit, uint32_t *blocks)
{
	pthread_mutex_lock(&e->work);
	e->cost = limit;
	e->cost_blocks = blocks;
	pthread_mutex_unlock(&e->work);
}

uint32_t encoder_turn(struct encoder *e)
{
	int behind = encoder_assist(e);

	if (behind) /* the idle thread lets go of its work soon */
		return behind == 1 ? 0 : YIELD_MS;
	uint64_t age_ns = queue_backlog_age_ns(&e->queue, monotonic_ns());
	if (!age_ns)
		return UINT32_MAX;
	return age_ns < e->late_ns ? (uint32_t)((e->late_ns - age_ns) / 1000000) + 1 : 0;
}

bool encoder_is_holding(const struct encoder *e)
{
	return __atomic_load_n(&e->holding, __ATOMIC_RELAXED);
}

int encoder_error(const struct encoder *e)
{
	return __atomic_load_n(&e->error, __ATOMIC_ACQUIRE);
}

void encoder_finish(struct encoder *e, struct trace_writer **writer)
{
	__atomic_store_n(&e->takeover, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&e->stopping, 1, __ATOMIC_SEQ_CST);
	encoder_wake(e);
	/* recording has ended, so no ring can overflow while this waits for the lock */
	pthread_mutex_lock(&e->work);
	while (encoder_step(e))
		;
	if (e->leaves)
		files_leave(e);
	else if (e->end_ns) { /* the last file goes on to the end of all */
		for (size_t i = 0; i < e->drains.count; i++)
			drain_end_clear(e->drains.items[i]);
		files_unhold(e);
		while (encoder_step(e))
			;
	}
	*writer = e->writer;
	e->writer = NULL;
	while (encoder_step(e)) /* what is not kept */
		;
	pthread_mutex_unlock(&e->work);
	pthread_join(e->thread, NULL);
	encoder_collect(e);
}

void encoder_destroy(struct encoder *e)
{
	if (!e)
		return;
	sem_destroy(&e->wake);
	pthread_mutex_destroy(&e->work);
	queue_fini(&e->queue);
	array_fini(&e->drains);
	free(e);
}
