/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instants on the run's own track, with nested debug annotations under plain names: for what
 * Perfetto has no field for. One is open at a time, in the writer's scratch buffer.
 */
#include <string.h>
#include "lib/writer/writer_state.h"

static void annotation_name(struct pb_buffer *b, const char *name)
{
	if (name)
		pb_string(b, ANNOTATION_NAME, name, strlen(name));
}

void event_open(struct trace_writer *w, const char *name, uint64_t ns)
{
	struct pb_buffer *b = &w->packets.scratch;

	/* two at one time would nest, and 512 deep Perfetto drops them */
	w->event_ns = ns > w->event_ns ? ns : w->event_ns + 1;
	b->size = 0;
	w->event_packet = pb_open(b, TRACE_PACKET);
	pb_varint(b, PACKET_TIMESTAMP, w->event_ns);
	pb_varint(b, PACKET_SEQUENCE_ID, FORMAT_OWN_SEQUENCE);
	pb_varint(b, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	w->event_body = pb_open(b, PACKET_TRACK_EVENT);
	pb_varint(b, EVENT_TYPE, EVENT_INSTANT);
	pb_string(b, EVENT_CATEGORIES, FORMAT_CATEGORY, strlen(FORMAT_CATEGORY));
	pb_string(b, EVENT_NAME, name, strlen(name));
	w->event_depth = 0;
}

int event_close(struct trace_writer *w)
{
	pb_close(&w->packets.scratch, w->event_body);
	pb_close(&w->packets.scratch, w->event_packet);
	return packets_add(&w->packets);
}

static size_t annotation_open(struct trace_writer *w, const char *name)
{
	static const uint32_t fields[] = {EVENT_ANNOTATIONS, ANNOTATION_DICT, ANNOTATION_ARRAY};
	uint32_t field = w->event_depth ? fields[w->event_nesting[w->event_depth - 1]] : fields[0];
	size_t opened = pb_open(&w->packets.scratch, field);

	annotation_name(&w->packets.scratch, name);
	return opened;
}

void event_uint(struct trace_writer *w, const char *name, uint64_t value)
{
	size_t opened = annotation_open(w, name);

	pb_varint(&w->packets.scratch, ANNOTATION_UINT, value);
	pb_close(&w->packets.scratch, opened);
}

void event_int(struct trace_writer *w, const char *name, int64_t value)
{
	size_t opened = annotation_open(w, name);

	pb_varint(&w->packets.scratch, ANNOTATION_INT, (uint64_t)value);
	pb_close(&w->packets.scratch, opened);
}

void writer_text(struct pb_buffer *b, uint32_t field, const char *text, size_t bytes)
{
	size_t capacity = strnlen(text, bytes) + 1, value = pb_open(b, field);

	if (pb_reserve(b, capacity))
		b->size += tables_text((char *)b->data + b->size, capacity, text, bytes);
	pb_close(b, value);
}

void event_text(struct trace_writer *w, const char *name, const char *text, size_t bytes)
{
	size_t opened = annotation_open(w, name);

	writer_text(&w->packets.scratch, ANNOTATION_STRING, text, bytes);
	pb_close(&w->packets.scratch, opened);
}

size_t event_dict(struct trace_writer *w, const char *name)
{
	size_t opened = annotation_open(w, name);

	w->event_nesting[w->event_depth++] = 1;
	return opened;
}

size_t event_array(struct trace_writer *w, const char *name)
{
	size_t opened = annotation_open(w, name);

	w->event_nesting[w->event_depth++] = 2;
	return opened;
}

void event_end_nested(struct trace_writer *w, size_t opened)
{
	w->event_depth--;
	pb_close(&w->packets.scratch, opened);
}
