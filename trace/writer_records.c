/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of a lane, which keep the rules (records.c), become packets. The recorder competes
 * with the profiled program for its cores: a sample with a site is two copies of a template and two
 * timestamps.
 */
#include <errno.h>
#include <string.h>
#include "trace/writer_slice.h"
#include "trace/writer_state.h"

/*
 * A slice of a site that was long ago differs in its layer from one of the layer before, and in all
 * else from the slice before it.
 */
static inline void begin_from(
	struct trace_writer *w, struct writer_lane *lane, struct packet_template *t, uint64_t ns)
{
	uint8_t *at = chunk_end(w);
	unsigned n = slice_open(at, lane_step(lane, ns));
	uint32_t like = distance_back(w, n, &t->last), other = DEFLATE_SAME;

	memcpy(at + n, t->bytes, sizeof t->bytes);
	if (like == DEFLATE_UNKNOWN) {
		like = distance_back(w, n, &lane->last_begin);
		other = t->sibling ? distance_back(w, n, &lane->site_templates[t->sibling].last)
				   : DEFLATE_UNKNOWN;
	}
	t->last = lane->last_begin = packet_laid(w, n, t->length, like, other);
}

static inline void end_plain(
	struct trace_writer *w, struct writer_lane *lane, uint64_t ns, packet_place *last)
{
	uint8_t *at = chunk_end(w);
	unsigned n = slice_open(at, lane_step(lane, ns));

	memcpy(at + n, lane->end_tail, sizeof lane->end_tail);
	packet_laid_again(w, n, lane->end_tail_bytes, last);
	w->pairs++;
}

static void end_annotated(struct trace_writer *w, struct writer_lane *lane, uint64_t ns,
	const uint8_t *annotations, unsigned annotation_bytes)
{
	uint8_t *at = chunk_end(w);
	unsigned head = slice_open(at, lane_step(lane, ns));
	unsigned n = head + slice_common(at + head, lane->sequence);

	at[n++] = (uint8_t)(2 + annotation_bytes);
	n += slice_field(at + n, EVENT_TYPE, EVENT_END);
	memcpy(at + n, annotations, annotation_bytes);
	lane->last_annotated_end = packet_laid(w, head, n + annotation_bytes - head,
		distance_back(w, head, &lane->last_annotated_end), DEFLATE_UNKNOWN);
	w->pairs++;
}

unsigned records_end_annotations(uint8_t *at, const struct trace_writer *w,
	const struct writer_lane *lane, const struct brick_record *r,
	const struct brick_record *work)
{
	unsigned n = 0;

	if (r->flags & BRICK_FLAG_SITE) {
		if (r->kind == BRICK_RECORD_CLOSE)
			n += slice_annotation(at + n, FORMAT_A_SITE, ANNOTATION_STRING_IID,
				lane->site_templates[r->site].site_iid);
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
	const struct brick_record *r, const struct record_args *args)
{
	const struct brick_record *work = args && args->work.kind ? &args->work : NULL;
	uint8_t annotations[96];

	if (args_at_end(r, args)) {
		args_end(w, lane, r, args, ns);
		return;
	}
	if (!work && !(r->flags & ~BRICK_FLAG_SITE) &&
		(!(r->flags & BRICK_FLAG_SITE) || (!r->inner && r->kind != BRICK_RECORD_CLOSE))) {
		end_plain(w, lane, ns, &lane->last_end);
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
		n += template_site_what(annotations, lane, r->brick, r->brick + 1u, r->site);
	} else {
		n += template_layer_what(annotations, lane, r->brick, r->brick + 1u, r->layer);
	}
	if (record_is_step(r))
		n += slice_annotation(
			annotations + n, FORMAT_A_TOKENS, ANNOTATION_UINT, record_tokens(r));
	if (record_output_tokens(r))
		n += slice_annotation(annotations + n, FORMAT_A_OUTPUT_TOKENS, ANNOTATION_UINT,
			record_output_tokens(r));
	if (r->source != BRICK_SOURCE_TSC)
		n += slice_annotation(annotations + n, FORMAT_A_SOURCE, ANNOTATION_STRING_IID,
			FORMAT_SOURCE_IID + r->source);
	at = chunk_end(w);
	unsigned head = slice_open(at, lane_step(lane, ns));
	n = template_begin(at + head, lane, annotations, n);
	lane->last_annotated_begin = packet_laid(
		w, head, n, distance_back(w, head, &lane->last_annotated_begin), DEFLATE_UNKNOWN);
}

/* Begin a slice; the template is found, or made on first use. 0 when the writer has failed. */
static int begin_slice(struct trace_writer *w, struct writer_lane *lane,
	const struct brick_record *r, const struct record_args *args, uint64_t ns)
{
	struct packet_template *t = NULL;
	int plain = r->source == BRICK_SOURCE_TSC && !record_is_step(r);

	if (args_at_begin(r, args)) {
		args_begin(w, lane, r, args, ns);
		return !w->error;
	}
	if (plain && r->kind == BRICK_RECORD_SAMPLE && r->flags & BRICK_FLAG_SITE)
		t = r->site < lane->site_capacity && lane->site_templates[r->site].length
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

static void write_wait(struct trace_writer *w, struct writer_lane *lane, uint64_t end_ticks)
{
	struct packet_template *t = template_wait(w, lane);

	if (!t)
		return;
	uint8_t *at = chunk_end(w);
	unsigned n = slice_open(at, 0);
	memcpy(at + n, t->bytes, sizeof t->bytes);
	packet_laid_again(w, n, t->length, &t->last);
	end_plain(w, lane, writer_ns(w, lane->process, end_ticks), &lane->last_wait_end);
}

/* A target's answer; and a full chunk goes to the file. */
static int written(struct trace_writer *w)
{
	if (w->chunk_size >= CHUNK_BYTES)
		writer_chunk_out(w);
	return w->error;
}

static int on_sample(void *context, const struct brick_record *r, const struct record_args *args)
{
	struct writer_lane *lane = context;
	struct trace_writer *w = lane->writer;
	uint64_t end = r->begin + r->ticks;

	if (!begin_slice(w, lane, r, args, writer_ns(w, lane->process, r->begin)))
		return w->error;
	end_slice(w, lane, writer_ns(w, lane->process, end), r, args);
	lane->step_ns = record_is_step(r) ? lane->begin_ns : 0;
	if (r->wait && BRICK_BARRIER_WAIT < lane->process->tables.brick_count)
		write_wait(w, lane, end + r->wait);
	return written(w);
}

static int on_open(void *context, const struct brick_record *r)
{
	struct writer_lane *lane = context;
	struct trace_writer *w = lane->writer;

	if (begin_slice(w, lane, r, NULL, writer_ns(w, lane->process, r->begin)))
		lane->open_ns[lane->records.depth] = lane->begin_ns;
	lane->step_ns = 0;
	return written(w);
}

static int on_unwind(void *context, uint32_t depth, enum records_unwind why)
{
	struct writer_lane *lane = context;
	struct trace_writer *w = lane->writer;
	uint32_t frames = lane->records.depth - depth;
	uint8_t annotation[8];
	unsigned n = slice_annotation(annotation,
		why == RECORDS_OPEN ? FORMAT_A_OPEN : FORMAT_A_UNWOUND, ANNOTATION_BOOL, 1);

	if (why == RECORDS_OPEN)
		w->open_frames += frames;
	else
		lane_step(lane, writer_ns(w, lane->process, lane->records.last_ticks));
	for (uint32_t i = 0; i < frames; i++)
		end_annotated(w, lane, lane->last_ns, annotation, n);
	return written(w);
}

static int on_close(void *context, const struct brick_record *r, const struct record_args *args)
{
	struct writer_lane *lane = context;
	struct trace_writer *w = lane->writer;

	if (r->flags & BRICK_FLAG_SITE && !template_site(w, lane, r->site))
		return w->error;
	lane->begin_ns = lane->open_ns[lane->records.depth - 1];
	end_slice(w, lane, writer_ns(w, lane->process, r->begin), r, args);
	lane->step_ns = record_is_step(r) ? lane->begin_ns : 0;
	return written(w);
}

static int on_wait(void *context, const struct brick_record *r)
{
	struct writer_lane *lane = context;
	struct trace_writer *w = lane->writer;

	if (begin_slice(w, lane, r, NULL, writer_ns(w, lane->process, r->begin)))
		end_plain(w, lane, writer_ns(w, lane->process, r->begin + r->elements),
			&lane->last_wait_end);
	return written(w);
}

static int on_instant(void *context, const struct brick_record *r)
{
	struct writer_lane *lane = context;

	instant_write(lane->writer, lane, r);
	return written(lane->writer);
}

static int on_late(void *context, const struct record_args *args)
{
	struct writer_lane *lane = context;

	args_late(lane->writer, lane, args);
	return written(lane->writer);
}

const struct records_target writer_records = {
	.sample = on_sample,
	.open = on_open,
	.close = on_close,
	.wait = on_wait,
	.instant = on_instant,
	.late = on_late,
	.unwind = on_unwind,
};

/* Where the lane's time begins: with its thread, or with a record of a thread before that one. */
static uint64_t first_ns(const struct trace_writer *w, const struct writer_lane *lane,
	const struct brick_record *first)
{
	uint64_t ticks = lane->start_ticks;

	if (!record_is_arg(first) && (!ticks || first->begin < ticks))
		ticks = first->begin;
	return writer_ns(w, lane->process, ticks);
}

void writer_release(struct trace_writer *w, struct writer_lane *lane)
{
	if (!w->error)
		records_release(&lane->records);
}

void writer_release_all(struct trace_writer *w, const struct writer_process *process)
{
	for (uint32_t i = 0; i < w->lane_count; i++)
		if (!process || w->lanes[i]->process == process)
			writer_release(w, w->lanes[i]);
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
	if (!lane->started && records->kind == BRICK_RECORD_THREAD &&
		records->elements != lane->tid) {
		lane->track_tid = records->elements; /* there has been another one since */
		lane->name[0] = 0;
	}
	if (!lane->started && writer_lane_start(w, lane, first_ns(w, lane, records)))
		return w->error;
	records_take(&lane->records, records, count);
	if (lane->last_ns > w->last_ns)
		w->last_ns = lane->last_ns;
	return w->error;
}
