/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a lane's packets. Each begins with its timestamp, so that from one to the next all
 * that a repetition changes stands at one place. Lengths fit one byte each: no such packet has 128.
 */
#pragma once

#include "lib/writer/writer_lane.h"

static inline unsigned slice_field(uint8_t *at, uint32_t field, uint64_t value)
{
	unsigned n = pb_put_varint(at, PB_TAG(field, PB_VARINT));
	return n + pb_put_varint(at + n, value);
}

/*
 * Sequence and the tag of the track event, whose length comes next. That the sequence's state is
 * needed goes without saying: it is cleared once, in its first packet.
 */
static inline unsigned slice_common(uint8_t *at, uint32_t sequence)
{
	unsigned n = slice_field(at, PACKET_SEQUENCE_ID, sequence);

	at[n++] = PB_TAG(PACKET_TRACK_EVENT, PB_LENGTH);
	return n;
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

/* A varint as short as it can be; what is behind it may be overwritten, up to four bytes. */
static inline unsigned slice_varint(uint8_t *at, uint64_t value)
{
	if (value >> 28)
		return pb_put_varint(at, value);
	uint32_t v = (uint32_t)value, spread = (v & 0x7f) | (v & 0x3f80) << 1;
	unsigned n = 1u + (v >= 1 << 7) + (v >= 1 << 14) + (v >= 1 << 21);
	spread |= (v & 0x1fc000) << 2 | (v & 0xfe00000) << 3;
	spread |= 0x80808080u & ((1u << 8 * (n - 1)) - 1); /* all but the last go on */
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(spread >> 8 * i);
	return n;
}

/*
 * The start of a packet; its length, at[1], is filled in when it is laid. In a compressed file the
 * timestamp takes `bytes` (2 or 3) at least, so that packets that repeat each other are of equal
 * length.
 */
static inline unsigned slice_open(
	uint8_t *at, const struct packets *p, uint64_t delta, unsigned bytes)
{
	at[0] = PB_TAG(TRACE_PACKET, PB_LENGTH);
	at[2] = PB_TAG(PACKET_TIMESTAMP, PB_VARINT);
	if (!p->deflater)
		return 3 + slice_varint(at + 3, delta);
	if (delta >> (7 * bytes))
		return 3 + pb_put_varint(at + 3, delta);
	at[3] = (uint8_t)(delta | 0x80);
	at[4] = (uint8_t)(delta >> 7 | (bytes > 2 ? 0x80 : 0));
	if (bytes > 2)
		at[5] = (uint8_t)(delta >> 14);
	return 3 + bytes;
}

/* Bytes of a timestamp: the time between slices is mostly below 2^14 ns, their length below 2^21.
 */
enum { GAP_BYTES = 2, LENGTH_BYTES = 3 };

/* Time of a lane never runs back, whatever the clock's calibrations do. */
static inline uint64_t lane_step(struct writer_lane *lane, uint64_t ns)
{
	uint64_t delta = ns > lane->last_ns ? ns - lane->last_ns : 0;

	lane->last_ns += delta;
	return delta;
}

/* writer_template.c. NULL: the writer has failed. */
struct packet_template *template_site(struct writer_lane *lane, uint32_t site);
struct packet_template *template_plain(struct writer_lane *lane, uint32_t brick, int32_t layer);
struct packet_template *template_wait(struct writer_lane *lane);

/* What is behind a begin packet's timestamp; returns its length. what: one of those below. */
unsigned template_begin(
	uint8_t *at, const struct writer_lane *lane, const uint8_t *what, unsigned what_bytes);

/*
 * Fields of an event that say what it is, in at most 64 bytes: its names (`name`: interned; and the
 * category of `brick`) and its site, which has its template already; or its layer.
 */
unsigned template_site_what(
	uint8_t *at, const struct writer_lane *lane, uint32_t brick, uint32_t name, uint32_t site);
unsigned template_layer_what(
	uint8_t *at, const struct writer_lane *lane, uint32_t brick, uint32_t name, int32_t layer);
/* Of a slice's end: the site alone. */
unsigned template_site_end(uint8_t *at, const struct writer_lane *lane, uint32_t site);

/* writer_records.c */

/* What only the end of an execution tells: work, waiting inside, how it ended. */
unsigned records_end_annotations(uint8_t *at, const struct writer_lane *lane,
	const struct brick_record *r, const struct brick_record *work);

/* writer_instant.c: a record of records_target.instant */
void instant_write(struct writer_lane *lane, const struct brick_record *r);

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

void args_begin(struct writer_lane *lane, const struct brick_record *r,
	const struct record_args *args, uint64_t ns);
void args_end(struct writer_lane *lane, const struct brick_record *r,
	const struct record_args *args, uint64_t ns);
/* About the slice that was written last. */
void args_late(struct writer_lane *lane, const struct record_args *args);
