/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sites are, told once for all lanes: the trace describes a field of track events that is
 * Brick's own, and its texts as names of enums' values, so that a slice's begin tells each by a
 * number. Perfetto shows them like debug annotations. Sites are described in batches, before the
 * first slice of one: a description costs its reader more than a packet.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/writer/writer_state.h"
#include "lib/writer/writer_text.h"

enum { MAX_SITES_AT_ONCE = 128 }; /* in one packet, which must fit into a chunk */

struct batch {
	const struct writer_process *process;
	uint32_t first, end;
	uint32_t operations; /* that are known before */
};

/*
 * In a compressed file a site's number is its layer in the first seven bits, as a varint has them,
 * and how many of that layer came before in the others. What a packet says of a layer is then in
 * the packet before it, and what it says of a place in layers in that of the layer before; of its
 * tensor it is the other way round, so that layers are beside each other. Without compression small
 * numbers are all that counts.
 */
static int number(struct trace_writer *w, struct writer_process *process, uint32_t site)
{
	struct site_numbers *n = &process->sites[site];
	uint32_t layer = (uint32_t)(process->tables.sites[site].layer + 1) % WRITER_LAYERS;

	if (!w->packets.deflater) {
		n->site = n->tensor = ++w->sites.sites;
		return 0;
	}
	uint32_t place = ++w->sites.of_layer[layer], low = place % WRITER_LAYERS;
	if (place > INT32_MAX / WRITER_LAYERS)
		return packets_fail(&w->packets, -EOVERFLOW);
	n->site = place * WRITER_LAYERS + layer;
	n->tensor = ((place - low) + layer) * WRITER_LAYERS + low;
	n->sibling = process->site_of_place[place % WRITER_PLACES];
	process->site_of_place[place % WRITER_PLACES] = (uint16_t)site;
	return 0;
}

/* Most sites of a brick are of one operation, and packets that are alike take less. */
static void number_operation(struct trace_writer *w, struct writer_process *process, uint32_t site)
{
	const struct brick_session_site *sites = process->tables.sites;
	uint32_t *last = &process->operations[sites[site].brick % BRICK_MAX_BRICKS];

	if (*last &&
		!strncmp(sites[*last].operation, sites[site].operation, sizeof sites->operation)) {
		process->sites[site].operation = process->sites[*last].operation;
		return;
	}
	process->sites[site].operation = ++w->sites.operations;
	*last = site;
}

static void text(struct pb_buffer *b, uint32_t number, const char *text, size_t size)
{
	size_t value = pb_open(b, ENUM_VALUES);

	pb_string(b, VALUE_NAME, text, size);
	pb_varint(b, VALUE_NUMBER, number);
	pb_close(b, value);
}

static void foreign_text(struct pb_buffer *b, uint32_t number, const char *from, size_t bytes)
{
	char to[3 * sizeof((struct brick_session_site *)0)->label];
	size_t size = tables_text(to, sizeof to, from, bytes);

	if (size)
		text(b, number, to, size);
}

static void member_texts(
	struct pb_buffer *b, const struct batch *batch, enum format_site_member member)
{
	uint32_t operations = batch->operations;

	for (uint32_t i = batch->first; i < batch->end; i++) {
		const struct brick_session_site *site = &batch->process->tables.sites[i];
		const struct site_numbers *n = &batch->process->sites[i];
		char json[1024];

		if (member == FORMAT_S_SITE)
			text(b, n->site, json, writer_site_json(json, sizeof json, site));
		else if (member == FORMAT_S_TENSOR)
			foreign_text(b, n->tensor, site->label, sizeof site->label);
		else if (n->operation > operations)
			foreign_text(b, operations = n->operation, site->operation,
				sizeof site->operation);
	}
}

static void put_text(struct pb_buffer *b, uint32_t field, const char *text)
{
	pb_string(b, field, text, strlen(text));
}

static void member(struct pb_buffer *b, uint32_t number, const char *name, const char *texts)
{
	size_t field = pb_open(b, MESSAGE_FIELDS);

	put_text(b, FIELD_NAME, name);
	pb_varint(b, FIELD_NUMBER, number);
	pb_varint(b, FIELD_LABEL, LABEL_OPTIONAL);
	pb_varint(b, FIELD_TYPE, texts ? TYPE_ENUM : TYPE_INT64);
	if (texts) {
		size_t type = pb_open(b, FIELD_TYPE_NAME);
		pb_bytes(b, "." FORMAT_PACKAGE ".", strlen("." FORMAT_PACKAGE "."));
		pb_bytes(b, texts, strlen(texts));
		pb_close(b, type);
	}
	pb_close(b, field);
}

static const struct {
	const char *name, *texts;
} members[] = {{NULL, NULL},
#define FORMAT_X(identifier, name, texts) {name, texts},
	FORMAT_SITE_MEMBERS(FORMAT_X)
#undef FORMAT_X
};
enum { MEMBERS = sizeof members / sizeof *members };

static void describe_field(struct pb_buffer *b)
{
	size_t message = pb_open(b, FILE_MESSAGES);

	put_text(b, MESSAGE_NAME, FORMAT_SITE_MESSAGE);
	for (uint32_t i = 1; i < MEMBERS; i++)
		member(b, i, members[i].name, members[i].texts);
	pb_close(b, message);
	size_t extension = pb_open(b, FILE_EXTENSIONS);
	put_text(b, FIELD_NAME, FORMAT_EXTENSION);
	put_text(b, FIELD_EXTENDEE, FORMAT_EXTENDEE);
	pb_varint(b, FIELD_NUMBER, FORMAT_SITE_FIELD);
	pb_varint(b, FIELD_LABEL, LABEL_OPTIONAL);
	pb_varint(b, FIELD_TYPE, TYPE_MESSAGE);
	put_text(b, FIELD_TYPE_NAME, "." FORMAT_PACKAGE "." FORMAT_SITE_MESSAGE);
	pb_close(b, extension);
}

static void describe_texts(struct pb_buffer *b, const struct batch *batch)
{
	for (uint32_t i = 1; i < MEMBERS; i++) {
		if (!members[i].texts)
			continue;
		size_t texts = pb_open(b, FILE_ENUMS);
		put_text(b, ENUM_NAME, members[i].texts);
		member_texts(b, batch, (enum format_site_member)i);
		pb_close(b, texts);
	}
}

/* Perfetto reads a file of one name once; enums that come again grow. */
static int describe(struct trace_writer *w, const struct batch *batch)
{
	struct pb_buffer *b = &w->packets.scratch;
	char name[32];

	b->size = 0;
	snprintf(name, sizeof name, FORMAT_PACKAGE "/%u", w->sites.descriptions++);
	size_t packet = pb_open(b, TRACE_PACKET);
	pb_varint(b, PACKET_SEQUENCE_ID, FORMAT_OWN_SEQUENCE);
	pb_varint(b, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	size_t extension = pb_open(b, PACKET_EXTENSION_DESCRIPTOR);
	size_t set = pb_open(b, EXTENSION_SET), file = pb_open(b, SET_FILES);
	put_text(b, FILE_NAME, name);
	put_text(b, FILE_PACKAGE, FORMAT_PACKAGE);
	if (w->sites.descriptions == 1)
		describe_field(b);
	describe_texts(b, batch);
	pb_close(b, file);
	pb_close(b, set);
	pb_close(b, extension);
	pb_close(b, packet);
	return packets_add(&w->packets);
}

int writer_describe_sites(struct trace_writer *w, struct writer_process *process)
{
	uint32_t count = process->tables.site_count;
	struct site_numbers *sites =
		array_grow(process->sites, &process->site_capacity, count, sizeof *sites);

	if (!sites)
		return packets_fail(&w->packets, -ENOMEM);
	process->sites = sites;
	if (!process->site_count) /* there is no site 0 */
		sites[process->site_count++] = (struct site_numbers){0};
	while (process->site_count < count && !w->packets.error) {
		struct batch batch = {
			process, process->site_count, process->site_count, w->sites.operations};
		for (; batch.end < count && batch.end - batch.first < MAX_SITES_AT_ONCE;
			batch.end++) {
			sites[batch.end] = (struct site_numbers){0};
			number_operation(w, process, batch.end);
			if (number(w, process, batch.end))
				return w->packets.error;
		}
		process->site_count = batch.end;
		describe(w, &batch);
	}
	return w->packets.error;
}
