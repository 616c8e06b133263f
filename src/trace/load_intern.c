/* SPDX-License-Identifier: Apache-2.0 */
/* What a packet adds to its sequence's interning tables, or says of sites to all of them. */
#include <stdlib.h>
#include "lib/writer/format.h"
#include "trace/load_state.h"
#include "trace/load_value.h"

struct entry {
	uint64_t iid;
	struct pb_reader text;
};

static int read_entry(struct pb_reader message, struct entry *entry)
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
static int intern_name(struct load *l, struct load_sequence *s, const struct entry *entry)
{
	uint32_t value = RUN_NONE;

	if ((entry->iid >= FORMAT_N_DROPPED && entry->iid <= FORMAT_N_LAUNCHED) ||
		(entry->iid >= FORMAT_N_KERNEL && entry->iid < FORMAT_N_KERNEL_END))
		value = LOAD_OWN_NAME | (uint32_t)entry->iid;
	else if (s->lane)
		value = build_brick(&l->build, (const char *)entry->text.at, pb_size(entry->text));
	return value != RUN_NONE && load_iid_set(l, &s->names, entry->iid, value);
}

static int intern_category(struct load *l, struct load_sequence *s, const struct entry *entry)
{
	uint32_t value = !s->lane || entry->iid == FORMAT_OWN_CATEGORY_IID
				 ? RUN_NONE
				 : build_category(&l->build, (const char *)entry->text.at,
					   pb_size(entry->text));

	return value == RUN_NONE || load_iid_set(l, &s->categories, entry->iid, value);
}

static int intern_annotation(struct load_sequence *s, const struct entry *entry)
{
	static const char *const names[] = {
#define FORMAT_X(identifier, name) [FORMAT_A_##identifier] = name,
		FORMAT_ANNOTATIONS(FORMAT_X)
#undef FORMAT_X
	};

	if (entry->iid >= sizeof s->annotations)
		return 1;
	s->annotations[entry->iid] = FORMAT_A_NONE;
	for (size_t i = 1; i < sizeof names / sizeof *names; i++)
		if (pb_is(entry->text, names[i]))
			s->annotations[entry->iid] = (uint8_t)i;
	return 1;
}

static void read_kernel(struct load *l, struct load_value *value, struct pb_reader text)
{
	struct run_kernel kernel;

	if (!load_kernel_json(text, &kernel))
		return;
	value->index = build_kernel(&l->build, &kernel);
	if (value->index != RUN_NONE)
		value->kind = LOAD_VALUE_KERNEL;
	load_kernel_free(&kernel);
}

/* Names and kernels are told by their ids, the others by what they are. */
static void read_value(
	struct load *l, struct load_value *value, uint64_t iid, struct pb_reader text)
{
	static const char *const sources[FORMAT_SOURCE_COUNT] = FORMAT_SOURCES;

	*value = (struct load_value){.kind = LOAD_VALUE_OTHER, .index = RUN_NONE};
	if (iid >= FORMAT_KERNEL_IID && iid < FORMAT_KERNEL_IID_END) {
		read_kernel(l, value, text);
		return;
	}
	if (iid >= FORMAT_BRICK_IID && iid < FORMAT_KERNEL_IID) {
		value->index = build_brick(&l->build, (const char *)text.at, pb_size(text));
		if (value->index != RUN_NONE)
			value->kind = LOAD_VALUE_BRICK;
		return;
	}
	if (load_site_json(text, &value->site)) {
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
static int add_value(
	struct load *l, struct hashmap *table, uint64_t iid, uint64_t kind, struct pb_reader text)
{
	if (l->value_count >= RUN_NONE / 2 || !build_grow(&l->build, &l->values, &l->value_capacity,
						      l->value_count, sizeof *l->values))
		return 0;
	read_value(l, &l->values[l->value_count], kind, text);
	return load_iid_set(l, table, iid, (uint32_t)l->value_count++);
}

static int intern_value(struct load *l, struct load_sequence *s, const struct entry *entry)
{
	/* what a site's JSON says too is for others to ask for */
	if (!s->lane || (entry->iid >= FORMAT_OPERATION_IID && entry->iid < FORMAT_TENSOR_IID_END))
		return 1;
	return add_value(l, &s->values, entry->iid, entry->iid, entry->text);
}

static int intern(struct load *l, struct load_sequence *s, const struct pb_field *f)
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
		return 1;
	}
}

/* Of several with one number the first counts: what was read since refers to that. */
static int described_site(struct load *l, struct pb_reader message)
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
	       (load_iid_get(&l->sites, entry.iid) != RUN_NONE ||
		       add_value(l, &l->sites, entry.iid, 0, entry.text));
}

/* The others' texts stand in those of sites, too. */
static int described_enum(struct load *l, struct pb_reader message)
{
	struct pb_reader rest = message;
	struct pb_field f;
	int more, good = 1;

	if (pb_next(&rest, &f) <= 0 || f.number != ENUM_NAME || f.wire != PB_LENGTH ||
		!pb_is(f.in, FORMAT_SITE_TEXTS))
		return 1;
	while ((more = pb_next(&rest, &f)) > 0 && !l->build.result)
		if (f.number == ENUM_VALUES && f.wire == PB_LENGTH)
			good &= described_site(l, f.in);
	return more == 0 && good;
}

static int described_file(struct load *l, struct pb_reader message)
{
	struct pb_field f;
	int more, good = 1, ours = 0;

	while ((more = pb_next(&message, &f)) > 0)
		if (f.number == FILE_PACKAGE && f.wire == PB_LENGTH)
			ours = pb_is(f.in, FORMAT_PACKAGE);
		else if (ours && f.number == FILE_ENUMS && f.wire == PB_LENGTH)
			good &= described_enum(l, f.in);
	return more == 0 && good;
}

int load_described(struct load *l, struct pb_reader extension)
{
	struct pb_field set, file;
	int more, good = 1;

	while ((more = pb_next(&extension, &set)) > 0)
		while (set.number == EXTENSION_SET && set.wire == PB_LENGTH &&
			(more = pb_next(&set.in, &file)) > 0)
			if (file.number == SET_FILES && file.wire == PB_LENGTH)
				good &= described_file(l, file.in);
	return more == 0 && good;
}

int load_interned(struct load *l, struct load_sequence *s, struct pb_reader interned)
{
	struct pb_field f;
	int more, good = 1;

	while ((more = pb_next(&interned, &f)) > 0 && !l->build.result)
		if (f.wire == PB_LENGTH)
			good &= intern(l, s, &f);
	return more == 0 && good;
}

void load_values_fini(struct load *l)
{
	for (size_t i = 0; i < l->value_count; i++) {
		free(l->values[i].site.operation);
		free(l->values[i].site.label);
	}
	free(l->values);
	hashmap_fini(&l->sites);
}
