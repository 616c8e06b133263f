/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of a lane become packets. Nothing in a record is trusted: what breaks the rules of
 * the ring is counted and not written, so that the slices of a lane always nest and its time never
 * runs back. The recorder competes with the profiled program for its cores: a sample with a site
 * is two copies of a template and two timestamps.
 */
#include <errno.h>
#include <string.h>
#include "trace/writer_slice.h"
#include "trace/writer_state.h"

/* Its like: the same one, else one of the same brick, else any begin of this lane. */
static inline uint32_t like_begin(const struct trace_writer *w, const struct writer_lane *lane,
	const struct packet_template *t)
{
	const struct packet_place *brick = &lane->last_of_brick[t->brick];

	if (t->last.chunk == w->chunk_number && w->chunk_size - t->last.position <= DEFLATE_REACH)
		return t->last.position;
	if (brick->chunk == w->chunk_number && w->chunk_size - brick->position <= DEFLATE_REACH)
		return brick->position;
	return last_place(w, &lane->last_begin);
}

static inline void begin_from(
	struct trace_writer *w, struct writer_lane *lane, struct packet_template *t, uint64_t ns)
{
	uint8_t *at = chunk_end(w);
	unsigned n = t->length;
	uint32_t source = like_begin(w, lane, t);

	memcpy(at, t->bytes, sizeof t->bytes);
	n += put_timestamp(at + n, lane_step(lane, ns));
	t->last = lane->last_of_brick[t->brick] = lane->last_begin = here(w);
	packet_laid(w, n, source, t->length);
}

static inline void end_plain(struct trace_writer *w, struct writer_lane *lane, uint64_t ns)
{
	uint8_t *at = chunk_end(w);
	uint32_t source = last_place(w, &lane->last_end);
	unsigned n = 3;

	at[0] = PB_TAG(TRACE_PACKET, PB_LENGTH);
	at[2] = PB_TAG(PACKET_TIMESTAMP, PB_VARINT);
	n += put_timestamp(at + n, lane_step(lane, ns));
	memcpy(at + n, lane->end_tail, sizeof lane->end_tail);
	lane->last_end = here(w);
	packet_laid(w, n + lane->end_tail_bytes, source, 3);
	w->pairs++;
}

static void end_annotated(struct trace_writer *w, struct writer_lane *lane, uint64_t ns,
	const uint8_t *annotations, unsigned annotation_bytes)
{
	uint8_t *at = chunk_end(w);
	uint32_t source = last_place(w, &lane->last_annotated_end);
	unsigned n = 3;

	at[0] = PB_TAG(TRACE_PACKET, PB_LENGTH);
	at[2] = PB_TAG(PACKET_TIMESTAMP, PB_VARINT);
	n += put_timestamp(at + n, lane_step(lane, ns));
	n += slice_common(at + n, lane->sequence);
	at[n++] = (uint8_t)(2 + annotation_bytes);
	n += slice_field(at + n, EVENT_TYPE, EVENT_END);
	memcpy(at + n, annotations, annotation_bytes);
	lane->last_annotated_end = here(w);
	packet_laid(w, n + annotation_bytes, source, 3);
	w->pairs++;
}

unsigned records_end_annotations(uint8_t *at, const struct trace_writer *w,
	const struct writer_lane *lane, const struct brick_record *r,
	const struct brick_record *work)
{
	unsigned n = 0;

	if (r->flags & BRICK_FLAG_SITE) {
		if (r->kind == BRICK_RECORD_CLOSE)
			n += slice_annotation(
				at + n, FORMAT_A_SITE, ANNOTATION_STRING_IID, r->site);
		if (r->inner)
			n += slice_annotation(at + n, FORMAT_A_INNER, ANNOTATION_UINT,
				writer_duration_ns(w, lane->process, r->inner));
	} else if (r->flags & BRICK_FLAG_ELEMENTS) {
		n += slice_annotation(at + n, FORMAT_A_ELEMENTS, ANNOTATION_UINT, r->elements);
	}
	if (work && work->begin)
		n += slice_annotation(at + n, FORMAT_A_BYTES, ANNOTATION_UINT, work->begin);
	if (work && work->elements)
		n += slice_annotation(at + n, FORMAT_A_FLOPS, ANNOTATION_UINT, work->elements);
	if (r->flags & BRICK_FLAG_CLAMPED)
		n += slice_annotation(at + n, FORMAT_A_CLAMPED, ANNOTATION_BOOL, 1);
	if (r->flags & BRICK_FLAG_UNWOUND)
		n += slice_annotation(at + n, FORMAT_A_UNWOUND, ANNOTATION_BOOL, 1);
	return n;
}

static void end_slice(struct trace_writer *w, struct writer_lane *lane, uint64_t ns,
	const struct brick_record *r, const struct slice_more *more)
{
	const struct brick_record *work = more && more->work.kind ? &more->work : NULL;
	uint8_t annotations[96];

	if (more_at_end(r, more)) {
		more_end(w, lane, r, more, ns);
		return;
	}
	if (!work && !(r->flags & ~BRICK_FLAG_SITE) &&
		(!(r->flags & BRICK_FLAG_SITE) || (!r->inner && r->kind != BRICK_RECORD_CLOSE))) {
		end_plain(w, lane, ns);
		return;
	}
	end_annotated(
		w, lane, ns, annotations, records_end_annotations(annotations, w, lane, r, work));
}

/* A begin that says more than a template does: tokens, a source. */
static void begin_annotated(
	struct trace_writer *w, struct writer_lane *lane, const struct brick_record *r, uint64_t ns)
{
	uint8_t annotations[96], *at;
	unsigned n = 0;

	if (writer_intern_brick(w, lane, r->brick))
		return;
	if (r->source != BRICK_SOURCE_TSC && writer_intern_source(w, lane, r->source))
		return;
	if (r->kind == BRICK_RECORD_SAMPLE && r->flags & BRICK_FLAG_SITE) {
		if (!template_site(w, lane, r->site))
			return;
		n += slice_annotation(annotations, FORMAT_A_SITE, ANNOTATION_STRING_IID, r->site);
	} else {
		n += template_layer(annotations, r->brick, r->layer);
	}
	if (slice_is_step(r))
		n += slice_annotation(
			annotations + n, FORMAT_A_TOKENS, ANNOTATION_UINT, r->elements);
	if (r->source != BRICK_SOURCE_TSC)
		n += slice_annotation(annotations + n, FORMAT_A_SOURCE, ANNOTATION_STRING_IID,
			FORMAT_SOURCE_IID + r->source);
	at = chunk_end(w);
	unsigned size = template_begin(at, lane, r->brick, annotations, n);
	uint32_t source = last_place(w, &lane->last_of_brick[r->brick]);
	lane->last_of_brick[r->brick] = here(w);
	n = put_timestamp(at + size, lane_step(lane, ns));
	packet_laid(w, size + n, source, size);
}

/* Begin a slice; the template is found, or made on first use. 0 when the writer has failed. */
static int begin_slice(struct trace_writer *w, struct writer_lane *lane,
	const struct brick_record *r, const struct slice_more *more, uint64_t ns)
{
	struct packet_template *t = NULL;
	int plain = r->source == BRICK_SOURCE_TSC && !slice_is_step(r);

	if (more_at_begin(r, more)) {
		more_begin(w, lane, r, more, ns);
		return !w->error;
	}
	if (plain && r->kind == BRICK_RECORD_SAMPLE && r->flags & BRICK_FLAG_SITE)
		t = r->site < lane->site_room && lane->site_templates[r->site].length
			    ? &lane->site_templates[r->site]
			    : template_site(w, lane, r->site);
	else if (plain)
		t = template_plain(w, lane, r->brick, r->layer);
	/* an execution of a site is not always one of the site's own brick */
	if (t && t->brick == r->brick)
		begin_from(w, lane, t, ns);
	else if (!w->error)
		begin_annotated(w, lane, r, ns);
	lane->begin_ns = lane->last_ns;
	return !w->error;
}

int records_bad(struct trace_writer *w)
{
	w->bad_records++;
	return 0;
}

static int site_known(const struct writer_lane *lane, const struct brick_record *r)
{
	return !(r->flags & BRICK_FLAG_SITE) ||
	       (r->site && r->site < lane->process->site_count &&
		       lane->process->sites[r->site].brick < lane->process->brick_count);
}

static void write_wait(struct trace_writer *w, struct writer_lane *lane, uint64_t end_ticks)
{
	struct packet_template *t = template_wait(w, lane);

	if (!t)
		return;
	begin_from(w, lane, t, lane->last_ns);
	end_plain(w, lane, writer_ns(w, lane->process, end_ticks));
}

static int write_sample(struct trace_writer *w, struct writer_lane *lane,
	const struct brick_record *r, const struct slice_more *more)
{
	uint64_t end = r->begin + r->ticks;

	if (r->begin < lane->last_ticks || end < r->begin || end + r->wait < end ||
		!site_known(lane, r))
		return records_bad(w);
	if (!begin_slice(w, lane, r, more, writer_ns(w, lane->process, r->begin)))
		return 0;
	end_slice(w, lane, writer_ns(w, lane->process, end), r, more);
	if (r->wait && BRICK_BARRIER_WAIT < lane->process->brick_count)
		write_wait(w, lane, end + r->wait);
	lane->last_ticks = end;
	return 1;
}

static int write_open(
	struct trace_writer *w, struct writer_lane *lane, const struct brick_record *r)
{
	if (r->begin < lane->last_ticks || lane->depth == BRICK_MAX_DEPTH)
		return records_bad(w);
	if (!begin_slice(w, lane, r, NULL, writer_ns(w, lane->process, r->begin)))
		return 0;
	lane->open_ns[lane->depth] = lane->begin_ns;
	lane->open[lane->depth++] = r->brick;
	lane->last_ticks = r->begin;
	return 1;
}

/* End the frames above `depth` that will never be closed: flag says how. */
void records_end_frames(struct trace_writer *w, struct writer_lane *lane, uint32_t depth,
	enum format_annotation how)
{
	uint8_t annotation[8];
	unsigned n = slice_annotation(annotation, how, ANNOTATION_BOOL, 1);

	while (lane->depth > depth) {
		lane->depth--;
		end_annotated(w, lane, lane->last_ns, annotation, n);
	}
}

/* A close is of the innermost open brick, unless closes of inner ones were lost: then it ends
 * those. */
static int write_close(struct trace_writer *w, struct writer_lane *lane,
	const struct brick_record *r, const struct slice_more *more)
{
	uint32_t depth = lane->depth;

	while (depth && lane->open[depth - 1] != r->brick)
		depth--;
	if (!depth || r->begin < lane->last_ticks || !site_known(lane, r))
		return records_bad(w);
	if (depth < lane->depth) {
		w->bad_records += lane->depth - depth;
		lane_step(lane, writer_ns(w, lane->process, lane->last_ticks));
		records_end_frames(w, lane, depth, FORMAT_A_UNWOUND);
	}
	if (r->flags & BRICK_FLAG_SITE && !template_site(w, lane, r->site))
		return 0;
	lane->depth--;
	lane->begin_ns = lane->open_ns[lane->depth];
	end_slice(w, lane, writer_ns(w, lane->process, r->begin), r, more);
	lane->last_ticks = r->begin;
	return 1;
}

static int write_alone_wait(
	struct trace_writer *w, struct writer_lane *lane, const struct brick_record *r)
{
	uint64_t end = r->begin + r->elements;

	if (r->begin < lane->last_ticks || end < r->begin)
		return records_bad(w);
	if (!begin_slice(w, lane, r, NULL, writer_ns(w, lane->process, r->begin)))
		return 0;
	end_plain(w, lane, writer_ns(w, lane->process, end));
	lane->last_ticks = end;
	return 1;
}

static int write_record(struct trace_writer *w, struct writer_lane *lane,
	const struct brick_record *r, const struct slice_more *more)
{
	if (r->source >= FORMAT_SOURCE_COUNT ||
		(r->brick >= lane->process->brick_count && r->kind != BRICK_RECORD_THREAD &&
			r->kind != BRICK_RECORD_DROP))
		return records_bad(w);
	switch (r->kind) {
	case BRICK_RECORD_SAMPLE:
		return write_sample(w, lane, r, more);
	case BRICK_RECORD_OPEN:
		return write_open(w, lane, r);
	case BRICK_RECORD_CLOSE:
		return write_close(w, lane, r, more);
	case BRICK_RECORD_WAIT:
		return write_alone_wait(w, lane, r);
	case BRICK_RECORD_THREAD:
	case BRICK_RECORD_DROP:
	case BRICK_RECORD_INSTANT:
	case BRICK_RECORD_REPORTED:
	case BRICK_RECORD_COUNTER:
		return points_write(w, lane, r);
	default:
		return records_bad(w);
	}
}

static int takes_more(const struct brick_record *r)
{
	return r->kind == BRICK_RECORD_SAMPLE || r->kind == BRICK_RECORD_CLOSE;
}

/* Where the lane's time begins: with its thread, or with a record of a thread before that one. */
static uint64_t first_ns(const struct trace_writer *w, const struct writer_lane *lane,
	const struct brick_record *first)
{
	uint64_t ticks = lane->start_ticks;

	if (!is_more(first) && (!ticks || first->begin < ticks))
		ticks = first->begin;
	return writer_ns(w, lane->process, ticks);
}

void writer_release(struct trace_writer *w, struct writer_lane *lane)
{
	struct brick_record r = lane->held;

	if (!r.kind || w->error)
		return;
	lane->held.kind = 0;
	lane->ended = write_record(w, lane, &r, lane->more.records ? &lane->more : NULL);
	if (!lane->ended)
		w->bad_records += lane->more.records;
	if (w->chunk_size >= CHUNK_BYTES)
		writer_chunk_out(w);
}

void writer_release_all(struct trace_writer *w, const struct writer_process *process)
{
	for (uint32_t i = 0; i < w->lane_count; i++)
		if (!process || w->lanes[i]->process == process)
			writer_release(w, w->lanes[i]);
}

static void hold(struct writer_lane *lane, const struct brick_record *r)
{
	struct slice_more *more = &lane->more;

	lane->held = *r;
	more->work.kind = more->launch.kind = more->times.kind = more->tile.kind = 0;
	more->records = more->flow_count = more->after_count = 0;
}

/* More about the slice before it, which is held back or has been written already. */
static void take_more(
	struct trace_writer *w, struct writer_lane *lane, const struct brick_record *r)
{
	if (lane->held.kind && more_add(&lane->more, r))
		return;
	writer_release(w, lane);
	if (lane->ended)
		more_late(w, lane, r);
	else
		records_bad(w);
}

int writer_sink_records(
	struct sink *sink, int number, const struct brick_record *records, size_t count)
{
	struct trace_writer *w = writer_of(sink);

	if (w->error || !count)
		return w->error;
	if (number < 0 || (uint32_t)number >= w->lane_count)
		return -EINVAL;
	struct writer_lane *lane = w->lanes[number];
	if (!lane->started && writer_lane_start(w, lane, first_ns(w, lane, records)))
		return w->error;
	for (size_t i = 0; i < count && !w->error; i++) {
		struct brick_record r = records[i];
		if (is_more(&r)) {
			take_more(w, lane, &r);
		} else {
			writer_release(w, lane);
			if (takes_more(&r) && (i + 1 == count || is_more(&records[i + 1])))
				hold(lane, &r);
			else
				lane->ended = write_record(w, lane, &r, NULL) && takes_more(&r);
		}
		if (w->chunk_size >= CHUNK_BYTES)
			writer_chunk_out(w);
	}
	if (lane->last_ns > w->last_ns)
		w->last_ns = lane->last_ns;
	return w->error;
}
