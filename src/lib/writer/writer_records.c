/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of a lane, which keep the rules (records.c), become packets. The recorder competes
 * with the profiled program for its cores: a sample with a site is two copies of a template and two
 * timestamps.
 */
#include <string.h>
#include "lib/writer/writer_slice.h"

/*
 * A slice of a site that was long ago differs in its layer from one of the layer before, and in all
 * else from the slice before it.
 */
static inline void begin_from(struct writer_lane *lane, struct packet_template *t, uint64_t ns)
{
	struct packets *p = lane->packets;
	uint8_t *at = packets_end(p);
	unsigned n = slice_open(at, p, lane_step(lane, ns), GAP_BYTES);
	uint32_t like = distance_back(p, n, &t->last), other = DEFLATE_SAME;

	memcpy(at + n, t->bytes, sizeof t->bytes);
	if (like == DEFLATE_UNKNOWN) {
		other = distance_back(p, n, &lane->last_begin);
		like = t->sibling ? distance_back(p, n, &lane->site_templates[t->sibling].last)
				  : DEFLATE_UNKNOWN;
		if (like == DEFLATE_UNKNOWN)
			like = other;
	}
	t->last = lane->last_begin = packet_laid(p, n, t->length, like, other);
}

static inline __attribute__((always_inline)) void end_plain(
	struct writer_lane *lane, uint64_t ns, packet_place *last)
{
	struct packets *p = lane->packets;
	uint8_t *at = packets_end(p);
	unsigned n = slice_open(at, p, lane_step(lane, ns), LENGTH_BYTES);

	memcpy(at + n, lane->end_tail, sizeof lane->end_tail);
	packet_laid_again(p, n, lane->end_tail_bytes, last);
	lane->pairs++;
}

static void end_annotated(struct writer_lane *lane, uint64_t ns, const uint8_t *annotations,
	unsigned annotation_bytes)
{
	struct packets *p = lane->packets;
	uint8_t *at = packets_end(p);
	unsigned head = slice_open(at, p, lane_step(lane, ns), LENGTH_BYTES);
	unsigned n = head + slice_common(at + head, lane->sequence);

	at[n++] = (uint8_t)(2 + annotation_bytes);
	n += slice_field(at + n, EVENT_TYPE, EVENT_END);
	memcpy(at + n, annotations, annotation_bytes);
	lane->last_annotated_end = packet_laid(p, head, n + annotation_bytes - head,
		distance_back(p, head, &lane->last_annotated_end), DEFLATE_UNKNOWN);
	lane->pairs++;
}

unsigned records_end_annotations(uint8_t *at, const struct writer_lane *lane,
	const struct brick_record *r, const struct brick_record *work)
{
	unsigned n = 0;

	if (r->flags & BRICK_FLAG_SITE) {
		if (r->kind == BRICK_RECORD_CLOSE)
			n += template_site_end(at + n, lane, r->site);
		if (r->inner)
			n += slice_annotation(at + n, FORMAT_A_INNER, ANNOTATION_UINT,
				writer_duration_ns(lane->process, r->inner));
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

static void end_slice(struct writer_lane *lane, uint64_t ns, const struct brick_record *r,
	const struct record_args *args)
{
	const struct brick_record *work = args && args->work.kind ? &args->work : NULL;
	uint8_t annotations[96];

	if (args_at_end(r, args)) {
		args_end(lane, r, args, ns);
		return;
	}
	if (!work && !(r->flags & ~BRICK_FLAG_SITE) &&
		(!(r->flags & BRICK_FLAG_SITE) || (!r->inner && r->kind != BRICK_RECORD_CLOSE))) {
		end_plain(lane, ns, &lane->last_end);
		return;
	}
	end_annotated(lane, ns, annotations, records_end_annotations(annotations, lane, r, work));
}

/* A begin that says more than a template does: tokens, a source. */
static void begin_annotated(struct writer_lane *lane, const struct brick_record *r, uint64_t ns)
{
	uint8_t annotations[96], *at;
	unsigned n = 0;

	if (writer_intern_brick(lane, r->brick))
		return;
	if (r->source != BRICK_SOURCE_TSC && writer_intern_source(lane, r->source))
		return;
	if (r->kind == BRICK_RECORD_SAMPLE && r->flags & BRICK_FLAG_SITE) {
		if (!template_site(lane, r->site))
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
	at = packets_end(lane->packets);
	unsigned head = slice_open(at, lane->packets, lane_step(lane, ns), GAP_BYTES);
	n = template_begin(at + head, lane, annotations, n);
	lane->last_annotated_begin = packet_laid(lane->packets, head, n,
		distance_back(lane->packets, head, &lane->last_annotated_begin), DEFLATE_UNKNOWN);
}

/* Begin a slice; the template is found, or made on first use. 0 when the writer has failed. */
static int begin_slice(struct writer_lane *lane, const struct brick_record *r,
	const struct record_args *args, uint64_t ns)
{
	struct packet_template *t = NULL;
	int plain = r->source == BRICK_SOURCE_TSC && !record_is_step(r);

	if (args_at_begin(r, args)) {
		args_begin(lane, r, args, ns);
		return !lane->packets->error;
	}
	if (plain && r->kind == BRICK_RECORD_SAMPLE && r->flags & BRICK_FLAG_SITE)
		t = r->site < lane->site_capacity && lane->site_templates[r->site].length
			    ? &lane->site_templates[r->site]
			    : template_site(lane, r->site);
	else if (plain)
		t = template_plain(lane, r->brick, r->layer);
	/* an execution of a site is not always one of the site's own brick */
	if (t && t->brick == r->brick)
		begin_from(lane, t, ns);
	else if (!lane->packets->error)
		begin_annotated(lane, r, ns);
	lane->begin_ns = lane->last_ns;
	return !lane->packets->error;
}

static void write_wait(struct writer_lane *lane, uint64_t end_ticks)
{
	struct packet_template *t = template_wait(lane);

	if (!t)
		return;
	struct packets *p = lane->packets;
	uint8_t *at = packets_end(p);
	unsigned n = slice_open(at, p, 0, GAP_BYTES);
	memcpy(at + n, t->bytes, sizeof t->bytes);
	packet_laid_again(p, n, t->length, &t->last);
	end_plain(lane, writer_ns(lane->process, end_ticks), &lane->last_wait_end);
}

/* A target's answer; and a full chunk goes to the file. */
static int written(struct writer_lane *lane)
{
	if (lane->packets->chunk_size >= CHUNK_BYTES)
		packets_send(lane->packets);
	return lane->packets->error;
}

/* Both packets of a slice in a plain file, where nobody asks what they are like. */
static inline void plain_pair(struct writer_lane *lane, const struct packet_template *t,
	uint64_t begin_ns, uint64_t end_ns)
{
	struct packets *p = lane->packets;
	uint8_t *at = packets_end(p);
	unsigned n = slice_open(at, p, lane_step(lane, begin_ns), GAP_BYTES);

	lane->begin_ns = lane->last_ns;
	memcpy(at + n, t->bytes, sizeof t->bytes);
	at[1] = (uint8_t)(n + t->length - 2);
	at += n + t->length;
	n = slice_open(at, p, lane_step(lane, end_ns), LENGTH_BYTES);
	memcpy(at + n, lane->end_tail, sizeof lane->end_tail);
	at[1] = (uint8_t)(n + lane->end_tail_bytes - 2);
	p->chunk_size = (size_t)(at + n + lane->end_tail_bytes - p->chunk);
	lane->pairs++;
}

/* The template of a sample that says no more than its site, as most do; else NULL. */
static inline struct packet_template *bare_sample(const struct writer_lane *lane,
	const struct brick_record *r, const struct record_args *args)
{
	if (args || r->flags != BRICK_FLAG_SITE || r->inner || r->source != BRICK_SOURCE_TSC ||
		r->site >= lane->site_capacity || record_is_step(r))
		return NULL;
	struct packet_template *t = &lane->site_templates[r->site];
	return t->length && t->brick == r->brick ? t : NULL;
}

static int on_sample(void *context, const struct brick_record *r, const struct record_args *args)
{
	struct writer_lane *lane = context;
	uint64_t end = r->begin + r->ticks;
	struct packet_template *bare = bare_sample(lane, r, args);

	if (bare && !lane->packets->deflater) {
		plain_pair(lane, bare, writer_ns(lane->process, r->begin),
			writer_ns(lane->process, end));
	} else if (bare) {
		begin_from(lane, bare, writer_ns(lane->process, r->begin));
		lane->begin_ns = lane->last_ns;
		end_plain(lane, writer_ns(lane->process, end), &lane->last_end);
	} else {
		if (!begin_slice(lane, r, args, writer_ns(lane->process, r->begin)))
			return lane->packets->error;
		end_slice(lane, writer_ns(lane->process, end), r, args);
	}
	lane->step_ns = record_is_step(r) ? lane->begin_ns : 0;
	if (r->wait && BRICK_BARRIER_WAIT < lane->process->tables.brick_count)
		write_wait(lane, end + r->wait);
	return written(lane);
}

static int on_open(void *context, const struct brick_record *r)
{
	struct writer_lane *lane = context;

	if (begin_slice(lane, r, NULL, writer_ns(lane->process, r->begin)))
		lane->open_ns[lane->records.depth] = lane->begin_ns;
	lane->step_ns = 0;
	return written(lane);
}

static int on_unwind(void *context, uint32_t depth, enum records_unwind why)
{
	struct writer_lane *lane = context;
	uint32_t frames = lane->records.depth - depth;
	uint8_t annotation[8];
	unsigned n = slice_annotation(annotation,
		why == RECORDS_OPEN ? FORMAT_A_OPEN : FORMAT_A_UNWOUND, ANNOTATION_BOOL, 1);

	lane->open_frames += why == RECORDS_OPEN ? frames : 0;
	for (uint32_t i = 0; i < frames; i++)
		end_annotated(
			lane, writer_ns(lane->process, lane->records.last_ticks), annotation, n);
	return written(lane);
}

static int on_close(void *context, const struct brick_record *r, const struct record_args *args)
{
	struct writer_lane *lane = context;

	if (r->flags & BRICK_FLAG_SITE && !template_site(lane, r->site))
		return lane->packets->error;
	lane->begin_ns = lane->open_ns[lane->records.depth - 1];
	end_slice(lane, writer_ns(lane->process, r->begin), r, args);
	lane->step_ns = record_is_step(r) ? lane->begin_ns : 0;
	return written(lane);
}

static int on_wait(void *context, const struct brick_record *r)
{
	struct writer_lane *lane = context;

	if (begin_slice(lane, r, NULL, writer_ns(lane->process, r->begin)))
		end_plain(lane, writer_ns(lane->process, r->begin + r->elements),
			&lane->last_wait_end);
	return written(lane);
}

static int on_instant(void *context, const struct brick_record *r)
{
	struct writer_lane *lane = context;

	instant_write(lane, r);
	return written(lane);
}

static int on_late(void *context, const struct record_args *args)
{
	struct writer_lane *lane = context;

	args_late(lane, args);
	return written(lane);
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
static uint64_t first_ns(const struct writer_lane *lane, const struct brick_record *first)
{
	uint64_t ticks = lane->start_ticks;

	if (!record_is_arg(first) && (!ticks || first->begin < ticks))
		ticks = first->begin;
	return writer_ns(lane->process, ticks);
}

int lane_records(struct writer_lane *lane, const struct brick_record *records, size_t count)
{
	if (!lane->started && records->kind == BRICK_RECORD_THREAD &&
		records->elements != lane->tid) {
		lane->track_tid = records->elements; /* there has been another one since */
		lane->name[0] = 0;
	}
	if (!lane->started && writer_lane_start(lane, first_ns(lane, records)))
		return lane->packets->error;
	records_take(&lane->records, records, count);
	return lane->packets->error;
}
