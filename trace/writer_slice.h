/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a lane's packets. A begin packet ends, and an end packet begins, with its
 * timestamp: so what changes from one repetition to the next stands together, between long
 * stretches that a compressor finds again. Lengths fit one byte each: no such packet has 128.
 */
#ifndef BRICK_TRACE_WRITER_SLICE_H
#define BRICK_TRACE_WRITER_SLICE_H

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

static inline unsigned slice_annotation(uint8_t *at, enum format_annotation name, uint32_t field,
	uint64_t value)
{
	unsigned n = 2;

	at[0] = PB_TAG(EVENT_ANNOTATIONS, PB_LENGTH);
	n += slice_field(at + n, ANNOTATION_NAME_IID, name);
	n += slice_field(at + n, field, value);
	at[1] = (uint8_t)(n - 2);
	return n;
}

/* writer_template.c. NULL: the writer has failed. */
struct packet_template *template_site(struct trace_writer *w, struct writer_lane *lane,
	uint32_t site);
struct packet_template *template_plain(struct trace_writer *w, struct writer_lane *lane,
	uint32_t brick, int32_t layer);
struct packet_template *template_wait(struct trace_writer *w, struct writer_lane *lane);

/* A begin packet that has no template, up to its timestamp's value; returns its length. */
unsigned template_begin(uint8_t *at, const struct writer_lane *lane, uint32_t brick,
	const uint8_t *annotations, unsigned annotation_bytes);

/* Annotations that any slice of that brick and layer without a site has. */
unsigned template_layer(uint8_t *at, uint32_t brick, int32_t layer);

#endif
