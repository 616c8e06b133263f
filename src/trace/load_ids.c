/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a packet adds to its sequence's interning tables, or says of sites and counters to all
 * sequences.
 */
#include "trace/load_ids.h"

#include <stdlib.h>
#include <string.h>
#include "lib/writer/format.h"
#include "trace/load_json.h"

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

struct entry {
	uint64_t iid;
	struct pb_reader text;
};

static bool read_entry(struct pb_reader message, struct entry *entry)
{
	struct pb_field f;
	int more;

	*entry = (struct entry){0, pb_reader("", 0)};
	while ((more = pb_next(&message, &f)) > 0) {
		if (f.number == ENTRY_IID && f.wire == PB_VARINT)
			entry->iid = f.value;
		else if (f.number == ENTRY_TEXT && f.wire == PB_LENGTH)
			entry->text = f.in;
	}
	return more == 0 && entry->iid;
}

/*
 * Names of lanes' events are bricks, except for Brick's own and those of kernels, which have ids
 * that no brick has.
 */
static bool intern_name(struct load_ids *l, struct load_sequence *s, const struct entry *entry)
{
	uint32_t value = RUN_NONE;

	if ((entry->iid >= FORMAT_N_DROPPED && entry->iid < FORMAT_N_OWN_END) ||
		(entry->iid >= FORMAT_N_KERNEL && entry->iid < FORMAT_N_KERNEL_END))
		value = LOAD_OWN_NAME | (uint32_t)entry->iid;
	else if (s->lane)
		value = build_brick(l->build, (const char *)entry->text.at, pb_size(entry->text));
	return value != RUN_NONE && set_id(l, &s->names, entry->iid, value);
}

static bool intern_category(struct load_ids *l, struct load_sequence *s, const struct entry *entry)
{
	uint32_t value = !s->lane || entry->iid == FORMAT_OWN_CATEGORY_IID
				 ? RUN_NONE
				 : build_category(l->build, (const char *)entry->text.at,
					   pb_size(entry->text));

	return value == RUN_NONE || set_id(l, &s->categories, entry->iid, value);
}

static bool intern_annotation(struct load_sequence *s, const struct entry *entry)
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

static void read_kernel(struct load_ids *l, struct load_value *value, struct pb_reader text)
{
	struct run_kernel kernel;

	if (!json_read_kernel(text, &kernel))
		return;
	value->index = build_kernel(l->build, &kernel);
	if (value->index != RUN_NONE)
		value->kind = LOAD_VALUE_KERNEL;
	json_kernel_free(&kernel);
}

/* Names and kernels are told by their ids, the others by what they are. */
static void read_value(
	struct load_ids *l, struct load_value *value, uint64_t iid, struct pb_reader text)
{
	static const char *const sources[FORMAT_SOURCE_COUNT] = FORMAT_SOURCES;

	*value = (struct load_value){.kind = LOAD_VALUE_OTHER, .index = RUN_NONE};
	if (iid >= FORMAT_KERNEL_IID && iid < FORMAT_KERNEL_IID_END) {
		read_kernel(l, value, text);
		return;
	}
	if ((iid >= FORMAT_BRICK_IID && iid < FORMAT_KERNEL_IID) ||
		(iid >= FORMAT_MORE_BRICKS_IID && iid < FORMAT_MORE_BRICKS_IID_END)) {
		value->index = build_brick(l->build, (const char *)text.at, pb_size(text));
		if (value->index != RUN_NONE)
			value->kind = LOAD_VALUE_BRICK;
		return;
	}
	if (json_read_site(text, &value->site)) {
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

/* kind: an id that tells what it is; 0: the text does. */
static bool add_value(struct load_ids *l, struct hashmap *table, uint64_t iid, uint64_t kind,
	struct pb_reader text)
{
	struct load_value value;

	if (l->values.count >= RUN_NONE / 2 || array_reserve(&l->values, 1))
		return build_no_memory(l->build), false;
	read_value(l, &value, kind, text);
	l->values.items[l->values.count] = value;
	return set_id(l, table, iid, (uint32_t)l->values.count++);
}

static bool intern_value(struct load_ids *l, struct load_sequence *s, const struct entry *entry)
{
	/* what a site's JSON says too is for others to ask for */
	if (!s->lane || (entry->iid >= FORMAT_OPERATION_IID && entry->iid < FORMAT_TENSOR_IID_END))
		return true;
	return add_value(l, &s->values, entry->iid, entry->iid, entry->text);
}

static bool intern(struct load_ids *l, struct load_sequence *s, const struct pb_field *f)
{
	struct entry entry;

	switch (f->number) {
	case INTERNED_CATEGORIES:
		return read_entry(f->in, &entry) && intern_category(l, s, &entry);
	case INTERNED_EVENT_NAMES:
		return read_entry(f->in, &entry) && intern_name(l, s, &entry);
	case INTERNED_ANNOTATION_NAMES:
		return read_entry(f->in, &entry) && intern_annotation(s, &entry);
	case INTERNED_STRING_VALUES:
		return read_entry(f->in, &entry) && intern_value(l, s, &entry);
	default:
		return true;
	}
}

/* If several sites have one number, the first counts: events that were read since refer to it. */
static bool described_site(struct load_ids *l, struct pb_reader message)
{
	struct pb_field f;
	struct entry entry = {0, pb_reader("", 0)};
	int more;

	while ((more = pb_next(&message, &f)) > 0) {
		if (f.number == VALUE_NUMBER && f.wire == PB_VARINT)
			entry.iid = f.value;
		else if (f.number == VALUE_NAME && f.wire == PB_LENGTH)
			entry.text = f.in;
	}
	return more == 0 && entry.iid &&
	       (load_id(&l->sites, entry.iid) != RUN_NONE ||
		       add_value(l, &l->sites, entry.iid, 0, entry.text));
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
			good &= intern(l, s, &f);
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
