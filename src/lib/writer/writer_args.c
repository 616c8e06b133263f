/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices of which more is known than a template holds: commands of queues, with what was launched,
 * when, by whom and after what; the calls that launched them, the waits for them; tiles. A slice is
 * one packet at its begin and one at its end, whatever is known of it. Same rules as for the others
 * (writer_records.c): nothing in a record is trusted.
 */
#include <stdlib.h>
#include "lib/writer/writer_slice.h"

static void annotate(
	struct pb_buffer *b, enum format_annotation name, uint32_t field, uint64_t value)
{
	uint8_t bytes[32];

	pb_bytes(b, bytes, slice_annotation(bytes, name, field, value));
}

/* Of a slice's begin: when something happened before it, negative when it happened after it. */
static void annotate_before(
	const struct writer_lane *lane, enum format_annotation name, uint64_t ticks)
{
	if (ticks)
		annotate(&lane->packets->scratch, name, ANNOTATION_INT,
			lane->begin_ns - writer_ns(lane->process, ticks));
}

static void put_flow(const struct writer_lane *lane, uint32_t field, uint64_t number)
{
	uint64_t id = lane->process->flow_base + number;
	uint8_t bytes[8];

	if (!number || number >> FORMAT_FLOW_BITS)
		return;
	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(id >> (8 * i));
	uint8_t tag[4];
	pb_bytes(&lane->packets->scratch, tag, pb_put_varint(tag, PB_TAG(field, PB_FIXED64)));
	pb_bytes(&lane->packets->scratch, bytes, sizeof bytes);
}

/* What a call launched: an arrow to each, of a graph that is larger than any to the first. */
static void put_launched(const struct writer_lane *lane, const struct record_args *args)
{
	for (uint32_t i = 0; i < args->flow_count; i++)
		for (uint32_t j = 0; j <= args->further[i] && j < WRITER_MAX_FLOWS; j++)
			put_flow(lane, EVENT_FLOWS, args->flows[i] + j);
}

/*
 * A flow leads through slices in the order of their times: of several who waited for one command
 * only the first to be written may end it, or there would be an arrow between those.
 */
static int takes_arrow(struct writer_process *process, uint64_t number)
{
	if (!process->arrows)
		process->arrows = calloc(WRITER_ARROWS, sizeof *process->arrows);
	if (!process->arrows || !number)
		return 0;
	uint64_t *slot = &process->arrows[number % WRITER_ARROWS];
	int is_first = *slot != number;
	*slot = number;
	return is_first;
}

static void put_arrows(const struct writer_lane *lane, const struct record_args *args)
{
	for (uint32_t i = 0; i < args->dependency_count; i++)
		if (takes_arrow(lane->process, args->dependencies[i]))
			put_flow(lane, EVENT_TERMINATING_FLOWS, args->dependencies[i]);
}

static void put_dependencies(const struct writer_lane *lane, const struct record_args *args)
{
	struct pb_buffer *b = &lane->packets->scratch;

	if (!args->dependency_count)
		return;
	size_t list = pb_open(b, EVENT_ANNOTATIONS);
	pb_varint(b, ANNOTATION_NAME_IID, FORMAT_A_AFTER);
	for (uint32_t i = 0; i < args->dependency_count; i++) {
		size_t item = pb_open(b, ANNOTATION_ARRAY);
		pb_varint(b, ANNOTATION_UINT, args->dependencies[i]);
		pb_close(b, item);
	}
	pb_close(b, list);
}

/* Of a command: what it was and when it came about. */
static void put_command(const struct writer_lane *lane, const struct brick_record *r,
	const struct record_args *args)
{
	struct pb_buffer *b = &lane->packets->scratch;
	const struct brick_record *launch = &args->launch, *times = &args->times;
	uint32_t kernel = record_kernel(&lane->process->tables, args);

	if (launch->kind)
		put_flow(lane, EVENT_FLOWS, launch->elements);
	if (kernel) {
		annotate(b, FORMAT_A_KERNEL, ANNOTATION_STRING_IID, FORMAT_KERNEL_IID + kernel);
		if (r)
			annotate(b, FORMAT_A_BRICK, ANNOTATION_STRING_IID,
				FORMAT_BRICK_IID + r->brick);
	}
	if (launch->kind && launch->begin) {
		annotate_before(lane, FORMAT_A_LAUNCHED, launch->begin);
		annotate(b, FORMAT_A_CALL, ANNOTATION_UINT,
			writer_duration_ns(lane->process, launch->ticks));
	}
	if (times->kind) {
		annotate_before(lane, FORMAT_A_QUEUED, times->begin);
		annotate_before(lane, FORMAT_A_SUBMITTED, times->elements);
	}
}

static void put_tile(struct writer_lane *lane, const struct brick_record *tile)
{
	struct pb_buffer *b = &lane->packets->scratch;

	annotate(b, FORMAT_A_ROW, ANNOTATION_UINT, tile->begin >> 32);
	annotate(b, FORMAT_A_COLUMN, ANNOTATION_UINT, tile->begin & UINT32_MAX);
	annotate(b, FORMAT_A_LEVEL, ANNOTATION_UINT, tile->elements);
}

/* Names that the packet will refer to; 0 when the writer has failed. */
static int intern_kernel(struct writer_lane *lane, const struct record_args *args)
{
	uint32_t kernel = record_kernel(&lane->process->tables, args);

	if (kernel)
		writer_intern_kernel(lane, kernel);
	return !lane->packets->error;
}

static int intern_slice(
	struct writer_lane *lane, const struct brick_record *r, const struct record_args *args)
{
	if (!intern_kernel(lane, args))
		return 0;
	if (record_kernel(&lane->process->tables, args))
		writer_intern_brick_value(lane, r->brick);
	else
		writer_intern_brick(lane, r->brick);
	if (r->source != BRICK_SOURCE_TSC)
		writer_intern_source(lane, r->source);
	if (r->flags & BRICK_FLAG_SITE)
		template_site(lane, r->site);
	return !lane->packets->error;
}

struct opened {
	size_t packet, event;
};

static struct opened packet_open(const struct writer_lane *lane, uint32_t type)
{
	struct pb_buffer *b = &lane->packets->scratch;
	struct opened opened;

	b->size = 0;
	opened.packet = pb_open(b, TRACE_PACKET);
	pb_varint(b, PACKET_SEQUENCE_ID, lane->sequence);
	pb_varint(b, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	opened.event = pb_open(b, PACKET_TRACK_EVENT);
	pb_varint(b, EVENT_TYPE, type);
	return opened;
}

static void packet_close(struct writer_lane *lane, struct opened opened, uint64_t step)
{
	struct pb_buffer *b = &lane->packets->scratch;

	pb_close(b, opened.event);
	pb_varint(b, PACKET_TIMESTAMP, step);
	pb_close(b, opened.packet);
	packets_add(lane->packets);
}

/*
 * The same once more for views of GPUs, which know render stages alone. One stands at its begin and
 * has its length: so a command that holds others, whose length is not known there, has none.
 */
static void write_stage(const struct writer_lane *lane, const struct brick_record *r,
	const struct record_args *args)
{
	struct pb_buffer *b = &lane->packets->scratch;
	uint32_t kernel = record_kernel(&lane->process->tables, args);

	if (!kernel || !args->launch.kind || r->kind != BRICK_RECORD_SAMPLE)
		return;
	uint64_t end_ns = writer_ns(lane->process, r->begin + r->ticks);
	b->size = 0;
	size_t packet = pb_open(b, TRACE_PACKET);
	pb_varint(b, PACKET_SEQUENCE_ID, lane->sequence);
	pb_varint(b, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	size_t stage = pb_open(b, PACKET_RENDER_STAGE);
	pb_varint(b, STAGE_EVENT_ID, args->launch.elements);
	pb_varint(b, STAGE_DURATION, end_ns > lane->begin_ns ? end_ns - lane->begin_ns : 0);
	pb_varint(b, STAGE_SUBMISSION_ID, args->launch.elements);
	pb_varint(b, STAGE_QUEUE_IID, FORMAT_QUEUE_IID + lane->sequence);
	pb_varint(b, STAGE_NAME_IID, FORMAT_N_KERNEL + kernel);
	pb_close(b, stage);
	pb_varint(b, PACKET_TIMESTAMP, 0);
	pb_close(b, packet);
	packets_add(lane->packets);
}

void args_begin(struct writer_lane *lane, const struct brick_record *r,
	const struct record_args *args, uint64_t ns)
{
	struct pb_buffer *b = &lane->packets->scratch;
	uint32_t kernel = record_kernel(&lane->process->tables, args);
	uint8_t annotations[64];

	if (!intern_slice(lane, r, args))
		return;
	uint64_t step = lane_step(lane, ns);
	lane->begin_ns = lane->last_ns;
	struct opened opened = packet_open(lane, EVENT_BEGIN);
	uint32_t name = kernel ? FORMAT_N_KERNEL + kernel : r->brick + 1u;
	pb_bytes(b, annotations,
		r->flags & BRICK_FLAG_SITE
			? template_site_what(annotations, lane, r->brick, name, r->site)
			: template_layer_what(annotations, lane, r->brick, name, r->layer));
	if (record_is_step(r))
		annotate(b, FORMAT_A_TOKENS, ANNOTATION_UINT, record_tokens(r));
	if (record_is_step(r) && record_output_tokens(r))
		annotate(b, FORMAT_A_OUTPUT_TOKENS, ANNOTATION_UINT, record_output_tokens(r));
	if (r->source != BRICK_SOURCE_TSC)
		annotate(b, FORMAT_A_SOURCE, ANNOTATION_STRING_IID, FORMAT_SOURCE_IID + r->source);
	put_launched(lane, args);
	put_command(lane, r, args);
	if (args->launch.kind) {
		put_arrows(lane, args);
		put_dependencies(lane, args);
	}
	packet_close(lane, opened, step);
	write_stage(lane, r, args);
}

static struct opened instant_open(const struct writer_lane *lane, enum format_event_name name)
{
	struct opened opened = packet_open(lane, EVENT_INSTANT);

	pb_varint(&lane->packets->scratch, EVENT_CATEGORY_IIDS, FORMAT_OWN_CATEGORY_IID);
	pb_varint(&lane->packets->scratch, EVENT_NAME_IID, name);
	return opened;
}

/*
 * An arrow leads to where a slice begins. So that of a wait, which mostly began before what it
 * waited for, leads to an instant at its end.
 */
static uint64_t write_waited(
	struct writer_lane *lane, const struct record_args *args, uint64_t step)
{
	if (!args->dependency_count || writer_intern_event(lane, FORMAT_N_WAITED))
		return step;
	struct opened opened = instant_open(lane, FORMAT_N_WAITED);
	put_arrows(lane, args);
	packet_close(lane, opened, step);
	return 0;
}

/* What a slice that held others launched: told at its end, shown at its begin. */
static void write_launched(struct writer_lane *lane, const struct record_args *args)
{
	if (!args->flow_count || writer_intern_event(lane, FORMAT_N_LAUNCHED))
		return;
	struct opened opened = instant_open(lane, FORMAT_N_LAUNCHED);
	put_launched(lane, args);
	pb_close(&lane->packets->scratch, opened.event);
	pb_varint(&lane->packets->scratch, PACKET_TIMESTAMP, lane->begin_ns);
	pb_varint(&lane->packets->scratch, PACKET_TIMESTAMP_CLOCK_ID, CLOCK_ID_MONOTONIC);
	pb_close(&lane->packets->scratch, opened.packet);
	packets_add(lane->packets);
}

void args_end(struct writer_lane *lane, const struct brick_record *r,
	const struct record_args *args, uint64_t ns)
{
	struct pb_buffer *b = &lane->packets->scratch;
	int closes = r->kind == BRICK_RECORD_CLOSE;
	uint8_t annotations[96];

	if (closes && !intern_kernel(lane, args))
		return;
	if (closes)
		write_launched(lane, args);
	uint64_t step = lane_step(lane, ns);
	if (closes || !args->launch.kind)
		step = write_waited(lane, args, step);
	struct opened opened = packet_open(lane, EVENT_END);
	pb_bytes(b, annotations,
		records_end_annotations(
			annotations, lane, r, args->work.kind ? &args->work : NULL));
	if (args->tile.kind)
		put_tile(lane, &args->tile);
	if (closes)
		put_command(lane, NULL, args);
	if (closes || !args->launch.kind)
		put_dependencies(lane, args);
	packet_close(lane, opened, step);
	lane->pairs++;
}

/* An instant that tells it; where the slice began is still known. */
void args_late(struct writer_lane *lane, const struct record_args *args)
{
	struct pb_buffer *b = &lane->packets->scratch;
	const struct brick_record *work = &args->work;

	if (!intern_kernel(lane, args) || writer_intern_event(lane, FORMAT_N_WORK))
		return;
	struct opened opened = instant_open(lane, FORMAT_N_WORK);
	if (work->kind && work->begin)
		annotate(b, FORMAT_A_BYTES, ANNOTATION_UINT, work->begin);
	if (work->kind && work->elements)
		annotate(b, FORMAT_A_FLOPS, ANNOTATION_UINT, work->elements);
	put_launched(lane, args);
	put_command(lane, NULL, args);
	if (args->tile.kind)
		put_tile(lane, &args->tile);
	put_arrows(lane, args);
	put_dependencies(lane, args);
	packet_close(lane, opened, 0);
}
