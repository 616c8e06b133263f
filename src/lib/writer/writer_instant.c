/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records without a place of their own length: instants, executions that the program timed itself,
 * counters, losses, threads that take over a lane.
 * Same rules as for the others (writer_records.c).
 */
#include "lib/writer/writer_slice.h"

/* An instant of the lane: one of its bricks, or one of Brick's own with an annotation or two. */
static void instant(struct writer_lane *lane, uint32_t category, uint32_t name,
	const uint8_t *annotations, unsigned annotation_bytes, uint64_t ns)
{
	uint8_t *at = packets_end(lane->packets);
	unsigned n = slice_open(at, lane->packets, lane_step(lane, ns), GAP_BYTES), body;

	n += slice_common(at + n, lane->sequence);
	body = n++;
	n += slice_field(at + n, EVENT_TYPE, EVENT_INSTANT);
	if (category)
		n += slice_field(at + n, EVENT_CATEGORY_IIDS, category);
	n += slice_field(at + n, EVENT_NAME_IID, name);
	for (unsigned i = 0; i < annotation_bytes; i++)
		at[n++] = annotations[i];
	at[body] = (uint8_t)(n - body - 1);
	packet_laid(lane->packets, n, 0, DEFLATE_UNKNOWN, DEFLATE_UNKNOWN);
}

static void write_own_instant(struct writer_lane *lane, uint32_t name, const uint8_t *annotations,
	unsigned annotation_bytes, uint64_t ns)
{
	if (!writer_intern_event(lane, name))
		instant(lane, FORMAT_OWN_CATEGORY_IID, name, annotations, annotation_bytes, ns);
}

static void write_thread(struct writer_lane *lane, const struct brick_record *r)
{
	uint8_t annotation[24];

	if (r->elements != lane->track_tid && writer_lane_owner(lane, r->elements))
		return;
	if (r->elements == lane->tid)
		return;
	lane->tid = r->elements;
	write_own_instant(lane, FORMAT_N_THREAD, annotation,
		slice_annotation(annotation, FORMAT_A_TID, ANNOTATION_UINT, r->elements),
		writer_ns(lane->process, r->begin));
}

static void write_name(struct writer_lane *lane, const struct brick_record *r)
{
	char name[sizeof lane->name];

	memcpy(name, lane->name, sizeof name);
	brick_name_read(r, name);
	writer_lane_name(lane, name);
}

static void write_drop(struct writer_lane *lane, const struct brick_record *r)
{
	uint8_t annotation[24];

	write_own_instant(lane, FORMAT_N_DROPPED, annotation,
		slice_annotation(annotation, FORMAT_A_COUNT, ANNOTATION_UINT, r->elements),
		writer_ns(lane->process, r->begin));
}

static void write_instant(struct writer_lane *lane, const struct brick_record *r)
{
	if (writer_intern_brick(lane, r->brick))
		return;
	instant(lane, slice_category(lane->process, r->brick), r->brick + 1u, NULL, 0,
		writer_ns(lane->process, r->begin));
}

/* An execution that has a length, and no place but that it was reported here. */
static void write_reported(struct writer_lane *lane, const struct brick_record *r)
{
	uint8_t annotation[24];

	if (writer_intern_brick(lane, r->brick))
		return;
	instant(lane, slice_category(lane->process, r->brick), r->brick + 1u, annotation,
		slice_annotation(annotation, FORMAT_A_REPORTED, ANNOTATION_UINT,
			writer_duration_ns(lane->process, r->elements)),
		writer_ns(lane->process, r->begin));
}

/*
 * What a step's counters count is read at its end, and drawn from where it begins: a value holds
 * until the next one. So the packet has an absolute time, and the lane's clock stays where it is.
 */
static void write_counter(struct writer_lane *lane, const struct brick_record *r)
{
	uint64_t ns = writer_ns(lane->process, r->begin);
	int of_step = lane->step_ns && writer_step_counter(lane->process, r->brick);

	if (writer_counter_track(lane, r->brick))
		return;
	uint8_t *at = packets_end(lane->packets);
	uint64_t behind = ns > lane->last_ns ? ns - lane->last_ns : 0;
	unsigned n = slice_open(at, lane->packets, of_step ? lane->step_ns : lane_step(lane, ns),
			 GAP_BYTES),
		 body;
	n += slice_common(at + n, lane->sequence);
	body = n++;
	n += slice_field(at + n, EVENT_TYPE, EVENT_COUNTER);
	n += slice_field(at + n, EVENT_TRACK_UUID, lane->process->counter_uuids[r->brick]);
	n += pb_put_varint(at + n, PB_TAG(EVENT_DOUBLE_COUNTER, PB_FIXED64));
	for (int i = 0; i < 8; i++)
		at[n++] = (uint8_t)(r->elements >> (8 * i));
	if (of_step)
		n += slice_annotation(at + n, FORMAT_A_BEHIND, ANNOTATION_UINT, behind);
	at[body] = (uint8_t)(n - body - 1);
	if (of_step)
		n += slice_field(at + n, PACKET_TIMESTAMP_CLOCK_ID, CLOCK_ID_MONOTONIC);
	packet_laid(lane->packets, n, 0, DEFLATE_UNKNOWN, DEFLATE_UNKNOWN);
}

void instant_write(struct writer_lane *lane, const struct brick_record *r)
{
	switch (r->kind) {
	case BRICK_RECORD_THREAD:
		write_thread(lane, r);
		break;
	case BRICK_RECORD_NAME:
		write_name(lane, r);
		break;
	case BRICK_RECORD_DROP:
		write_drop(lane, r);
		break;
	case BRICK_RECORD_INSTANT:
		write_instant(lane, r);
		break;
	case BRICK_RECORD_REPORTED:
		write_reported(lane, r);
		break;
	default:
		write_counter(lane, r);
		break;
	}
}
