/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Templates: the packet that begins a slice of a certain site, or of a brick in a layer, but for
 * its timestamp. Made once per lane and copied from then on. Making one also interns all that it
 * refers to.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "lib/writer/writer_slice.h"

enum { MIN_TABLE = 64 };

unsigned template_begin(
	uint8_t *at, const struct writer_lane *lane, const uint8_t *what, unsigned what_bytes)
{
	unsigned n = slice_common(at, lane->sequence);

	at[n++] = (uint8_t)(2 + what_bytes);
	n += slice_field(at + n, EVENT_TYPE, EVENT_BEGIN);
	memcpy(at + n, what, what_bytes);
	return n + what_bytes;
}

static unsigned names(uint8_t *at, const struct writer_lane *lane, uint32_t brick, uint32_t name)
{
	uint32_t category = slice_category(lane->process, brick);
	unsigned n = category ? slice_field(at, EVENT_CATEGORY_IIDS, category) : 0;

	return n + slice_field(at + n, EVENT_NAME_IID, name);
}

unsigned template_layer_what(
	uint8_t *at, const struct writer_lane *lane, uint32_t brick, uint32_t name, int32_t layer)
{
	unsigned n = names(at, lane, brick, name);

	if (layer != -1)
		n += slice_annotation(
			at + n, FORMAT_A_LAYER, ANNOTATION_INT, (uint64_t)(int64_t)layer);
	if (brick == BRICK_BARRIER_WAIT)
		n += slice_annotation(at + n, FORMAT_A_ALONE, ANNOTATION_BOOL, 1);
	return n;
}

/* The fields that a message of FORMAT_SITE_FIELD has; its tag and length take three bytes. */
static unsigned site_field(uint8_t *at, const uint8_t *members, unsigned bytes)
{
	unsigned n = pb_put_varint(at, PB_TAG(FORMAT_SITE_FIELD, PB_LENGTH));

	at[n++] = (uint8_t)bytes;
	memcpy(at + n, members, bytes);
	return n + bytes;
}

unsigned template_site_end(uint8_t *at, const struct writer_lane *lane, uint32_t site)
{
	uint8_t members[8];

	return site_field(
		at, members, slice_field(members, FORMAT_S_SITE, lane->process->sites[site].site));
}

unsigned template_site_what(
	uint8_t *at, const struct writer_lane *lane, uint32_t brick, uint32_t name, uint32_t site)
{
	const struct brick_session_site *entry = &lane->process->tables.sites[site];
	const struct site_numbers *numbers = &lane->process->sites[site];
	uint8_t members[32];
	unsigned n = 0;

	if (entry->label[0])
		n = slice_field(members, FORMAT_S_TENSOR, numbers->tensor);
	if (entry->layer != -1)
		n += slice_field(members + n, FORMAT_S_LAYER, (uint64_t)(int64_t)entry->layer);
	n += slice_field(members + n, FORMAT_S_SITE, numbers->site);
	if (entry->operation[0])
		n += slice_field(members + n, FORMAT_S_OPERATION, numbers->operation);
	unsigned named = site_field(at, members, n);
	return named + names(at + named, lane, brick, name);
}

static int make(struct writer_lane *lane, struct packet_template *t, uint32_t brick,
	const uint8_t *what, unsigned what_bytes)
{
	uint8_t bytes[128];

	if (writer_intern_brick(lane, brick))
		return lane->packets->error;
	unsigned n = template_begin(bytes, lane, what, what_bytes);
	if (n > sizeof t->bytes)
		return packets_fail(lane->packets, -EOVERFLOW);
	memcpy(t->bytes, bytes, n);
	t->length = (uint16_t)n;
	t->brick = (uint16_t)brick;
	t->last = 0;
	return 0;
}

static int grow_sites(struct writer_lane *lane, uint32_t site)
{
	uint32_t capacity = lane->site_capacity ? lane->site_capacity : MIN_TABLE;

	while (capacity <= site)
		capacity *= 2;
	struct packet_template *t = realloc(lane->site_templates, capacity * sizeof *t);
	if (!t)
		return packets_fail(lane->packets, -ENOMEM);
	memset(t + lane->site_capacity, 0, (capacity - lane->site_capacity) * sizeof *t);
	lane->site_templates = t;
	lane->site_capacity = capacity;
	return 0;
}

struct packet_template *template_site(struct writer_lane *lane, uint32_t site)
{
	uint8_t what[64];
	uint32_t brick = lane->process->tables.sites[site].brick;

	if (site >= lane->site_capacity && grow_sites(lane, site))
		return NULL;
	struct packet_template *t = &lane->site_templates[site];
	if (t->length)
		return t;
	if (site >= lane->process->site_count && writer_describe_sites(lane->writer, lane->process))
		return NULL;
	t->sibling = lane->process->sites[site].sibling;
	unsigned n = template_site_what(what, lane, brick, brick + 1, site);
	return make(lane, t, brick, what, n) ? NULL : t;
}

/* The template of a key, perhaps not made yet; NULL: failed. */
static struct packet_template *find(
	struct writer_lane *lane, struct template_table *table, uint64_t key)
{
	uint64_t at = hashmap_get(&table->by_brick, key);

	if (at != HASHMAP_NONE)
		return &table->entries.items[at];
	if (array_push(&table->entries, (struct packet_template){0}) ||
		hashmap_set(&table->by_brick, key, table->entries.count - 1)) {
		packets_fail(lane->packets, -ENOMEM);
		return NULL;
	}
	return &table->entries.items[table->entries.count - 1];
}

struct packet_template *template_plain(struct writer_lane *lane, uint32_t brick, int32_t layer)
{
	uint8_t what[32];
	struct packet_template *t =
		find(lane, &lane->plain, (uint64_t)brick << 16 | (uint16_t)(int16_t)layer);

	if (!t || t->length)
		return t;
	unsigned n = template_layer_what(what, lane, brick, brick + 1, layer);
	return make(lane, t, brick, what, n) ? NULL : t;
}

struct packet_template *template_wait(struct writer_lane *lane)
{
	const uint32_t brick = BRICK_BARRIER_WAIT;
	struct packet_template *t = &lane->wait_begin;
	uint8_t what[16];

	if (t->length)
		return t;
	return make(lane, t, brick, what, names(what, lane, brick, brick + 1)) ? NULL : t;
}

void template_end(struct writer_lane *lane)
{
	unsigned n = slice_common(lane->end_tail, lane->sequence);

	lane->end_tail[n++] = 2;
	lane->end_tail_bytes = n + slice_field(lane->end_tail + n, EVENT_TYPE, EVENT_END);
}
