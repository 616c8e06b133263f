/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a lane's packets. A begin packet ends, and an end packet begins, with its
 * timestamp: so what changes from one repetition to the next stands together, between long
 * stretches that a compressor finds again. Lengths fit one byte each: no such packet has 128.
 */
#pragma once

#include "trace/writer_state.h"

static inline unsigned slice_field(uint8_t *at, uint32_t field, uint64_t value)
{
	unsigned n = pb_put_varint(at, PB_TAG(field, PB_VARINT));
	return n + pb_put_varint(at + n, value);
}

/* Sequence, flags and the tag of the track event, whose length comes next. */
static inline unsigned slice_common(uint8_t *at, uint32_t sequence)
{
	unsigned n = slice_field(at, PACKET_SEQUENCE_ID, sequence);

	n += slice_field(at + n, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	at[n++] = PB_TAG(PACKET_TRACK_EVENT, PB_LENGTH);
	return n;
}

/* The same from the packet's tag on; the packet's length, at[1], is filled in later. */
static inline unsigned slice_head(uint8_t *at, uint32_t sequence)
{
	at[0] = PB_TAG(TRACE_PACKET, PB_LENGTH);
	at[1] = 0;
	return 2 + slice_common(at + 2, sequence);
}

/* The brick's category as it is interned; 0: it has none that exists. */
static inline uint32_t slice_category(const struct writer_process *process, uint32_t brick)
{
	uint32_t category = process->tables.bricks[brick].category;

	return category < process->tables.category_count ? category + 1 : 0;
}

static inline unsigned slice_annotation(
	uint8_t *at, enum format_annotation name, uint32_t field, uint64_t value)
{
	unsigned n = 2;

	at[0] = PB_TAG(EVENT_ANNOTATIONS, PB_LENGTH);
	n += slice_field(at + n, ANNOTATION_NAME_IID, name);
	n += slice_field(at + n, field, value);
	at[1] = (uint8_t)(n - 2);
	return n;
}

static inline uint8_t *chunk_end(struct trace_writer *w)
{
	return w->chunk + w->chunk_size;
}

/* Where a packet of a kind was laid last, if that was in this chunk. */
static inline uint32_t last_place(const struct trace_writer *w, const struct packet_place *place)
{
	return place->chunk == w->chunk_number ? place->position : DEFLATE_UNKNOWN;
}

/*
 * A packet of n bytes has been laid at the end of the chunk. Its timestamp stands at `timestamp`;
 * `source` is the packet that it most likely repeats.
 */
static inline void packet_laid(
	struct trace_writer *w, unsigned n, uint32_t source, unsigned timestamp)
{
	chunk_end(w)[1] = (uint8_t)(n - 2);
	w->chunk_size += n;
	if (w->deflater)
		deflate_packet(w->deflater, (uint32_t)w->chunk_size, source, timestamp);
}

static inline struct packet_place here(const struct trace_writer *w)
{
	return (struct packet_place){w->chunk_number, (uint32_t)w->chunk_size};
}

/* At least two bytes, so that packets that repeat each other are of equal length. */
static inline unsigned put_timestamp(uint8_t *at, uint64_t delta)
{
	if (delta < 1u << 14) {
		at[0] = (uint8_t)(delta | 0x80);
		at[1] = (uint8_t)(delta >> 7);
		return 2;
	}
	return pb_put_varint(at, delta);
}

/* Time of a lane never runs back, whatever the clock's calibrations do. */
static inline uint64_t lane_step(struct writer_lane *lane, uint64_t ns)
{
	uint64_t delta = ns > lane->last_ns ? ns - lane->last_ns : 0;

	lane->last_ns += delta;
	return delta;
}

/* writer_template.c. NULL: the writer has failed. */
struct packet_template *template_site(
	struct trace_writer *w, struct writer_lane *lane, uint32_t site);
struct packet_template *template_plain(
	struct trace_writer *w, struct writer_lane *lane, uint32_t brick, int32_t layer);
struct packet_template *template_wait(struct trace_writer *w, struct writer_lane *lane);

/* A begin packet that has no template, up to its timestamp's value; returns its length. */
unsigned template_begin(uint8_t *at, const struct writer_lane *lane, uint32_t brick,
	const uint8_t *annotations, unsigned annotation_bytes);

/* Annotations that say what a site is; at: 48 bytes. */
unsigned template_site_annotations(uint8_t *at, const struct writer_lane *lane, uint32_t site);

/* Annotations that any slice of that brick and layer without a site has. */
unsigned template_layer(uint8_t *at, uint32_t brick, int32_t layer);

/* writer_records.c */

/* What only the end of an execution tells: work, waiting inside, how it ended. */
unsigned records_end_annotations(uint8_t *at, const struct trace_writer *w,
	const struct writer_lane *lane, const struct brick_record *r,
	const struct brick_record *work);

/* writer_instant.c: a record of records_target.instant */
void instant_write(struct trace_writer *w, struct writer_lane *lane, const struct brick_record *r);

/* writer_args.c: slices of which more is known than fits a template */

/* Whether a begin, or an end, takes more than a template; more may be NULL. */
static inline int args_at_begin(const struct brick_record *r, const struct record_args *args)
{
	return args && r->kind == BRICK_RECORD_SAMPLE && (args->launch.kind || args->flow_count);
}

static inline int args_at_end(const struct brick_record *r, const struct record_args *args)
{
	if (!args)
		return 0;
	if (args->tile.kind ||
		(r->kind == BRICK_RECORD_CLOSE && (args->launch.kind || args->flow_count)))
		return 1;
	return args->dependency_count && !args->launch.kind;
}

void args_begin(struct trace_writer *w, struct writer_lane *lane, const struct brick_record *r,
	const struct record_args *args, uint64_t ns);
void args_end(struct trace_writer *w, struct writer_lane *lane, const struct brick_record *r,
	const struct record_args *args, uint64_t ns);
/* About the slice that was written last. */
void args_late(struct trace_writer *w, struct writer_lane *lane, const struct record_args *args);
