/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Templates: the packet that begins a slice of a certain site, or of a brick in a layer, made once
 * per lane and copied from then on. Making one also interns all that it refers to.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "trace/writer_slice.h"
#include "trace/writer_state.h"

enum { MIN_TABLE = 64 };

/* Everything of a begin packet but the timestamp's value. Returns its length. */
static unsigned begin_bytes(uint8_t *at, const struct writer_lane *lane, uint32_t brick)
{
	uint32_t category = slice_category(lane->process, brick);
	unsigned n = slice_head(at, lane->sequence), body = n;

	at[n++] = 0; /* length of the track event */
	n += slice_field(at + n, EVENT_TYPE, EVENT_BEGIN);
	if (category)
		n += slice_field(at + n, EVENT_CATEGORY_IIDS, category);
	n += slice_field(at + n, EVENT_NAME_IID, brick + 1);
	at[body] = (uint8_t)(n - body - 1);
	return n;
}

unsigned template_begin(uint8_t *at, const struct writer_lane *lane, uint32_t brick,
	const uint8_t *annotations, unsigned annotation_bytes)
{
	unsigned body = slice_head(at, lane->sequence), n = begin_bytes(at, lane, brick);

	for (unsigned i = 0; i < annotation_bytes; i++)
		at[n++] = annotations[i];
	at[body] = (uint8_t)(at[body] + annotation_bytes);
	at[n++] = PB_TAG(PACKET_TIMESTAMP, PB_VARINT);
	return n;
}

unsigned template_layer(uint8_t *at, uint32_t brick, int32_t layer)
{
	unsigned n = 0;

	if (layer != -1)
		n += slice_annotation(
			at + n, FORMAT_A_LAYER, ANNOTATION_INT, (uint64_t)(int64_t)layer);
	if (brick == BRICK_BARRIER_WAIT)
		n += slice_annotation(at + n, FORMAT_A_ALONE, ANNOTATION_BOOL, 1);
	return n;
}

unsigned template_site_annotations(uint8_t *at, const struct writer_lane *lane, uint32_t site)
{
	const struct brick_session_site *entry = &lane->process->tables.sites[site];
	unsigned n = 0;

	if (entry->operation[0])
		n += slice_annotation(at + n, FORMAT_A_OPERATION, ANNOTATION_STRING_IID,
			FORMAT_OPERATION_IID + lane->site_templates[site].operation);
	if (entry->layer != -1)
		n += slice_annotation(
			at + n, FORMAT_A_LAYER, ANNOTATION_INT, (uint64_t)(int64_t)entry->layer);
	n += slice_annotation(at + n, FORMAT_A_SITE, ANNOTATION_STRING_IID, site);
	if (entry->label[0])
		n += slice_annotation(
			at + n, FORMAT_A_TENSOR, ANNOTATION_STRING_IID, FORMAT_TENSOR_IID + site);
	return n;
}

static int make(struct trace_writer *w, struct writer_lane *lane, struct packet_template *t,
	uint32_t brick, const uint8_t *annotations, unsigned annotation_bytes)
{
	uint8_t bytes[128];

	if (writer_intern_brick(w, lane, brick))
		return w->error;
	unsigned n = template_begin(bytes, lane, brick, annotations, annotation_bytes);
	if (n > sizeof t->bytes)
		return writer_fail(w, -EOVERFLOW);
	memcpy(t->bytes, bytes, n);
	t->length = (uint16_t)n;
	t->brick = (uint16_t)brick;
	t->last.chunk = 0;
	return 0;
}

static int grow_sites(struct trace_writer *w, struct writer_lane *lane, uint32_t site)
{
	uint32_t capacity = lane->site_capacity ? lane->site_capacity : MIN_TABLE;

	while (capacity <= site)
		capacity *= 2;
	struct packet_template *t = realloc(lane->site_templates, capacity * sizeof *t);
	if (!t)
		return writer_fail(w, -ENOMEM);
	memset(t + lane->site_capacity, 0, (capacity - lane->site_capacity) * sizeof *t);
	lane->site_templates = t;
	lane->site_capacity = capacity;
	return 0;
}

struct packet_template *template_site(
	struct trace_writer *w, struct writer_lane *lane, uint32_t site)
{
	uint8_t annotation[48];

	if (site >= lane->site_capacity && grow_sites(w, lane, site))
		return NULL;
	struct packet_template *t = &lane->site_templates[site];
	if (t->length)
		return t;
	if (writer_intern_site(w, lane, site))
		return NULL;
	t->operation = lane->operations[lane->process->tables.sites[site].brick];
	unsigned n = template_site_annotations(annotation, lane, site);
	return make(w, lane, t, lane->process->tables.sites[site].brick, annotation, n) ? NULL : t;
}

/* The template of a key, perhaps not made yet; NULL: failed. */
static struct packet_template *find(
	struct trace_writer *w, struct template_table *table, uint64_t key)
{
	uint64_t at = hashmap_get(&table->by_brick, key);

	if (at != HASHMAP_NONE)
		return &table->entries.items[at];
	if (array_push(&table->entries, (struct packet_template){0}) ||
		hashmap_set(&table->by_brick, key, table->entries.count - 1)) {
		writer_fail(w, -ENOMEM);
		return NULL;
	}
	return &table->entries.items[table->entries.count - 1];
}

struct packet_template *template_plain(
	struct trace_writer *w, struct writer_lane *lane, uint32_t brick, int32_t layer)
{
	uint8_t annotations[32];
	struct packet_template *t =
		find(w, &lane->plain, (uint64_t)brick << 16 | (uint16_t)(int16_t)layer);

	if (!t || t->length)
		return t;
	unsigned n = template_layer(annotations, brick, layer);
	return make(w, lane, t, brick, annotations, n) ? NULL : t;
}

struct packet_template *template_wait(struct trace_writer *w, struct writer_lane *lane)
{
	struct packet_template *t = &lane->wait_begin;

	return t->length || !make(w, lane, t, BRICK_BARRIER_WAIT, NULL, 0) ? t : NULL;
}

void template_end(struct writer_lane *lane)
{
	unsigned n = slice_common(lane->end_tail, lane->sequence);

	lane->end_tail[n++] = 2;
	lane->end_tail_bytes = n + slice_field(lane->end_tail + n, EVENT_TYPE, EVENT_END);
}
