/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds a packet's entries to its sequence's interning tables, and its sites and counters to all
 * sequences.
 */
#include "trace/load_ids.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "format/format.h"
#include "trace/load_json.h"
#include "base/pb_read.h"
#include "trace/run.h"

/* Keeps the first text that comes; false: not enough memory. */
static bool load_ids_keep_text(char **to, struct pb_reader text)
{
	if (!*to)
		*to = strndup((const char *)text.at, pb_size(text));
	return *to;
}

static bool set_site_fact(struct run_site *site, const struct pb_field *f)
{
	bool is_text = f->number == FORMAT_SITE_OPERATION || f->number == FORMAT_SITE_TENSOR;

	if (f->wire != (is_text ? PB_LENGTH : PB_VARINT))
		return true;
	switch (f->number) {
	case FORMAT_SITE_LAYER:
		site->layer = f->value <= INT16_MAX ? (int32_t)f->value - 1 : -1;
		break;
	case FORMAT_SITE_OPERATION:
		return load_ids_keep_text(&site->operation, f->in);
	case FORMAT_SITE_TENSOR:
		return load_ids_keep_text(&site->label, f->in);
	case FORMAT_SITE_ELEMENTS:
		load_site_count(site, &site->elements, BRICK_SITE_HAS_ELEMENTS, f->value);
		break;
	case FORMAT_SITE_BYTES:
		load_site_count(site, &site->bytes, BRICK_SITE_HAS_BYTES, f->value);
		break;
	case FORMAT_SITE_FLOPS:
		load_site_count(site, &site->flops, BRICK_SITE_HAS_FLOPS, f->value);
		break;
	case FORMAT_SITE_UNKNOWN:
		site->flags |= BRICK_SITE_UNKNOWN_OPERATION;
		break;
	case FORMAT_SITE_AT_MOST:
		site->flags |= BRICK_SITE_AT_MOST;
		break;
	}
	return true;
}

static bool load_ids_read_site(struct pb_reader facts, struct run_site *site)
{
	struct pb_field f;
	int more;
	bool good = true;

	*site = (struct run_site){.brick = RUN_NONE, .layer = -1};
	while (good && (more = pb_next(&facts, &f)) > 0)
		good = set_site_fact(site, &f);
	if (good && !more)
		return true;
	free(site->operation);
	free(site->label);
	return false;
}

enum { MAX_SEQUENCES = 1 << 16 };

struct load_sequence *load_sequence(struct load_ids *l, uint32_t id)
{
	if (l->last_sequence && l->last_sequence->id == id)
		return l->last_sequence;
	struct load_sequence *s = hashmap_pointer(hashmap_get(&l->sequences, id));
	if (!s && l->sequences.count < MAX_SEQUENCES) {
		s = calloc(1, sizeof(*s));
		if (!s || hashmap_set_pointer(&l->sequences, id, s)) {
			free(s);
			return build_no_memory(l->build), NULL;
		}
		s->id = id;
	}
	return l->last_sequence = s;
}

static void forget_names(struct load_sequence *s)
{
	hashmap_fini(&s->names);
	hashmap_fini(&s->categories);
	hashmap_fini(&s->values);
}

void load_sequence_clear(struct load_sequence *s)
{
	forget_names(s);
	memset(s->annotations, 0, sizeof(s->annotations));
	s->cleared = true;
	s->names_version++;
}

static bool set_id(struct load_ids *l, struct hashmap *table, uint64_t iid, uint32_t value)
{
	if (iid && hashmap_set(table, iid, value))
		build_no_memory(l->build);
	return iid && !l->build->result;
}

bool load_entry(struct pb_reader message, struct load_entry *entry)
{
	struct pb_field f;
	int more;

	*entry = (struct load_entry){.text = pb_reader("", 0)};
	while ((more = pb_next(&message, &f)) > 0) {
		if (f.number == ENTRY_IID && f.wire == PB_VARINT)
			entry->iid = f.value;
		else if (f.number == ENTRY_TEXT && f.wire == PB_LENGTH)
			entry->text = f.in;
		else if (f.number == FORMAT_FACTS_FIELD && f.wire == PB_LENGTH)
			entry->facts = f.in;
	}
	return more == 0 && entry->iid;
}

/*
 * Names of lanes' events are bricks, except for Brick's own and those of kernels, which have ids
 * that no brick has.
 */
static bool load_ids_intern_name(
	struct load_ids *l, struct load_sequence *s, const struct load_entry *entry)
{
	uint32_t value = RUN_NONE;

	if ((entry->iid >= FORMAT_N_DROPPED && entry->iid < FORMAT_N_OWN_END) ||
		(entry->iid >= FORMAT_N_KERNEL && entry->iid < FORMAT_N_KERNEL_END))
		value = LOAD_OWN_NAME | (uint32_t)entry->iid;
	else if (s->lane)
		value = build_brick(l->build, (const char *)entry->text.at, pb_size(entry->text));
	return value != RUN_NONE && set_id(l, &s->names, entry->iid, value);
}

static bool load_ids_intern_category(
	struct load_ids *l, struct load_sequence *s, const struct load_entry *entry)
{
	uint32_t value = !s->lane || entry->iid == FORMAT_OWN_CATEGORY_IID
				 ? RUN_NONE
				 : build_category(l->build, (const char *)entry->text.at,
					   pb_size(entry->text));

	return value == RUN_NONE || set_id(l, &s->categories, entry->iid, value);
}

static bool intern_annotation(struct load_sequence *s, const struct load_entry *entry)
{
	static const char *const names[] = {
#define FORMAT_X(identifier, name) [FORMAT_A_##identifier] = name,
		FORMAT_ANNOTATIONS(FORMAT_X)
#undef FORMAT_X
	};

	if (entry->iid >= sizeof(s->annotations))
		return true;
	s->annotations[entry->iid] = FORMAT_A_NONE;
	for (size_t i = 1; i < sizeof(names) / sizeof(*names); i++)
		if (pb_is(entry->text, names[i]))
			s->annotations[entry->iid] = (uint8_t)i;
	return true;
}

static uint32_t load_ids_as_size(uint64_t value)
{
	return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

/* grids, blocks: how many sizes there were before. */
static bool set_kernel_fact(
	struct run_kernel *kernel, const struct pb_field *f, unsigned *grids, unsigned *blocks)
{
	bool is_text = f->number == FORMAT_KERNEL_NAME || f->number == FORMAT_KERNEL_BACKEND;

	if (f->wire != (is_text ? PB_LENGTH : PB_VARINT))
		return true;
	switch (f->number) {
	case FORMAT_KERNEL_KIND:
		kernel->kind = f->value < FORMAT_KERNEL_KIND_COUNT ? (uint32_t)f->value
								   : BRICK_KERNEL_OTHER;
		break;
	case FORMAT_KERNEL_NAME:
		return load_ids_keep_text(&kernel->name, f->in);
	case FORMAT_KERNEL_BACKEND:
		return load_ids_keep_text(&kernel->backend, f->in);
	case FORMAT_KERNEL_GRID:
		if (*grids < 3)
			kernel->grid[(*grids)++] = load_ids_as_size(f->value);
		break;
	case FORMAT_KERNEL_BLOCK:
		if (*blocks < 3)
			kernel->block[(*blocks)++] = load_ids_as_size(f->value);
		break;
	case FORMAT_KERNEL_SHARED_BYTES:
		kernel->shared_bytes = f->value;
		break;
	case FORMAT_KERNEL_REGISTERS:
		kernel->registers = load_ids_as_size(f->value);
		break;
	case FORMAT_KERNEL_CODE:
		kernel->code = f->value;
		break;
	}
	return true;
}

static bool load_ids_read_kernel(struct pb_reader facts, struct run_kernel *kernel)
{
	struct pb_field f;
	unsigned grids = 0, blocks = 0;
	int more;
	bool good = true;

	*kernel = (struct run_kernel){.kind = BRICK_KERNEL_OTHER};
	while (good && (more = pb_next(&facts, &f)) > 0)
		good = set_kernel_fact(kernel, &f, &grids, &blocks);
	if (good && !more && kernel->name)
		return true;
	free(kernel->name);
	free(kernel->backend);
	return false;
}

static void load_ids_add_kernel(
	struct load_ids *l, struct load_value *value, const struct load_entry *entry)
{
	struct run_kernel kernel;

	if (!(entry->facts.at ? load_ids_read_kernel(entry->facts, &kernel)
			      : load_json_kernel(entry->text, &kernel)))
		return;
	value->index = build_kernel(l->build, &kernel);
	if (value->index != RUN_NONE)
		value->kind = LOAD_VALUE_KERNEL;
	free(kernel.name);
	free(kernel.backend);
}

/* Names and kernels are told by their ids, the others by themselves. */
static void load_ids_read_value(
	struct load_ids *l, struct load_value *value, uint64_t iid, const struct load_entry *entry)
{
	const struct pb_reader text = entry->text;
	static const char *const sources[FORMAT_SOURCE_COUNT] = FORMAT_SOURCES;

	*value = (struct load_value){.kind = LOAD_VALUE_OTHER, .index = RUN_NONE};
	if (iid >= FORMAT_KERNEL_IID && iid < FORMAT_KERNEL_IID_END) {
		load_ids_add_kernel(l, value, entry);
		return;
	}
	if ((iid >= FORMAT_BRICK_IID && iid < FORMAT_KERNEL_IID) ||
		(iid >= FORMAT_MORE_BRICKS_IID && iid < FORMAT_MORE_BRICKS_IID_END)) {
		value->index = build_brick(l->build, (const char *)text.at, pb_size(text));
		if (value->index != RUN_NONE)
			value->kind = LOAD_VALUE_BRICK;
		return;
	}
	if (entry->facts.at ? load_ids_read_site(entry->facts, &value->site)
			    : load_json_site(text, &value->site)) {
		value->kind = LOAD_VALUE_SITE;
		return;
	}
	value->site = (struct run_site){0};
	for (uint32_t i = 0; i < FORMAT_SOURCE_COUNT; i++)
		if (pb_is(text, sources[i])) {
			value->kind = LOAD_VALUE_SOURCE;
			value->source = i;
		}
}

/* kind: an id of the value's kind; 0: the entry tells it. */
static bool load_ids_add_value(
	struct load_ids *l, struct hashmap *table, uint64_t kind, const struct load_entry *entry)
{
	struct load_value value;

	if (l->values.count >= RUN_NONE / 2 || array_reserve(&l->values, 1))
		return build_no_memory(l->build), false;
	load_ids_read_value(l, &value, kind, entry);
	l->values.items[l->values.count] = value;
	return set_id(l, table, entry->iid, (uint32_t)l->values.count++);
}

static bool intern_value(
	struct load_ids *l, struct load_sequence *s, const struct load_entry *entry)
{
	/* in files of version 1: values that the site's JSON has, too, are asked for there */
	if (!s->lane || (entry->iid >= FORMAT_OPERATION_IID && entry->iid < FORMAT_TENSOR_IID_END))
		return true;
	return load_ids_add_value(l, &s->values, entry->iid, entry);
}

static bool load_ids_intern(struct load_ids *l, struct load_sequence *s, const struct pb_field *f)
{
	struct load_entry entry;

	switch (f->number) {
	case INTERNED_CATEGORIES:
		return load_entry(f->in, &entry) && load_ids_intern_category(l, s, &entry);
	case INTERNED_EVENT_NAMES:
		return load_entry(f->in, &entry) && load_ids_intern_name(l, s, &entry);
	case INTERNED_ANNOTATION_NAMES:
		return load_entry(f->in, &entry) && intern_annotation(s, &entry);
	case INTERNED_STRING_VALUES:
		return load_entry(f->in, &entry) && intern_value(l, s, &entry);
	default:
		return true;
	}
}

/* If several sites have one number, the first counts: events that were read since refer to it. */
static bool described_site(struct load_ids *l, struct pb_reader message)
{
	struct pb_field f;
	struct load_entry entry = {.text = pb_reader("", 0)};
	int more;

	while ((more = pb_next(&message, &f)) > 0) {
		if (f.number == VALUE_NUMBER && f.wire == PB_VARINT)
			entry.iid = f.value;
		else if (f.number == VALUE_NAME && f.wire == PB_LENGTH)
			entry.text = f.in;
		else if (f.number == FORMAT_FACTS_FIELD && f.wire == PB_LENGTH)
			entry.facts = f.in;
	}
	return more == 0 && entry.iid &&
	       (load_id(&l->sites, entry.iid) != RUN_NONE ||
		       load_ids_add_value(l, &l->sites, 0, &entry));
}

/* The others' texts stand in those of sites, too. */
static bool described_enum(struct load_ids *l, struct pb_reader message)
{
	struct pb_reader rest = message;
	struct pb_field f;
	int more;
	bool good = true;

	if (pb_next(&rest, &f) <= 0 || f.number != ENUM_NAME || f.wire != PB_LENGTH ||
		!pb_is(f.in, FORMAT_SITE_TEXTS))
		return true;
	while ((more = pb_next(&rest, &f)) > 0 && !l->build->result)
		if (f.number == ENUM_VALUES && f.wire == PB_LENGTH)
			good &= described_site(l, f.in);
	return more == 0 && good;
}

static bool described_file(struct load_ids *l, struct pb_reader message)
{
	struct pb_field f;
	int more;
	bool good = true, ours = false;

	while ((more = pb_next(&message, &f)) > 0)
		if (f.number == FILE_PACKAGE && f.wire == PB_LENGTH)
			ours = pb_is(f.in, FORMAT_PACKAGE);
		else if (ours && f.number == FILE_ENUMS && f.wire == PB_LENGTH)
			good &= described_enum(l, f.in);
	return more == 0 && good;
}

bool load_described(struct load_ids *l, struct pb_reader extension)
{
	struct pb_field set, file;
	int more;
	bool good = true;

	while ((more = pb_next(&extension, &set)) > 0)
		while (set.number == EXTENSION_SET && set.wire == PB_LENGTH &&
			(more = pb_next(&set.in, &file)) > 0)
			if (file.number == SET_FILES && file.wire == PB_LENGTH)
				good &= described_file(l, file.in);
	return more == 0 && good;
}

bool load_interned(struct load_ids *l, struct load_sequence *s, struct pb_reader interned)
{
	struct pb_field f;
	int more;
	bool good = true;

	while ((more = pb_next(&interned, &f)) > 0 && !l->build->result)
		if (f.wire == PB_LENGTH)
			good &= load_ids_intern(l, s, &f);
	return more == 0 && good;
}

bool load_counter(struct load_ids *l, uint64_t uuid, struct pb_reader name)
{
	uint32_t brick = build_brick(l->build, (const char *)name.at, pb_size(name));

	return brick != RUN_NONE &&
	       !build_push(l->build, &l->counters, (struct load_counter){uuid, brick});
}

void load_ids_fini(struct load_ids *l)
{
	for (struct hashmap_slot *i = NULL; (i = hashmap_next(&l->sequences, i));) {
		struct load_sequence *s = hashmap_pointer(i->value);
		forget_names(s);
		free(s);
	}
	hashmap_fini(&l->sequences);
	for (size_t i = 0; i < l->values.count; i++) {
		free(l->values.items[i].site.operation);
		free(l->values.items[i].site.label);
	}
	array_fini(&l->values);
	hashmap_fini(&l->sites);
	array_fini(&l->counters);
}
