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
#include "trace/pb_read.h"
#include "trace/run.h"

/*
 * The JSON objects that stand for sites and kernels (docs/FORMAT.md): flat, with text, integers,
 * true and lists of integers as values. Reading ends at the first thing that is something else.
 * Unknown members are skipped, so that later writers may add some. The caller frees the texts.
 */
struct json {
	const char *at, *end;
};

struct json_value {
	char *text; /* owned by the reader until taken; NULL: no text */
	int64_t number;
	uint64_t count;	  /* the number, when it is not negative */
	uint64_t list[3]; /* the first numbers of a list */
	bool is_true;
};

/* Blanks, then that character; 0: something else stands there. */
static bool load_ids_skip(struct json *j, char wanted)
{
	while (j->at < j->end && strchr(" \t\r\n", *j->at) && *j->at)
		j->at++;
	if (j->at == j->end || *j->at != wanted)
		return false;
	j->at++;
	return true;
}

static bool hex4(const char *s, uint32_t *code)
{
	*code = 0;
	for (int i = 0; i < 4; i++) {
		const char *digits = "0123456789abcdef", *d = strchr(digits, s[i] | 0x20);
		if (!s[i] || !d || !*d)
			return false;
		*code = *code << 4 | (uint32_t)(d - digits);
	}
	return true;
}

/* One escaped character; those that Brick does not write become '?'. */
static bool escaped(struct json *j, char *to)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	uint32_t code;

	if (j->at == j->end)
		return false;
	char c = *j->at++;
	const char *known = c ? strchr(names, c) : NULL;
	if (known) {
		*to = values[known - names];
		return true;
	}
	if (c != 'u' || j->end - j->at < 4 || !hex4(j->at, &code))
		return false;
	j->at += 4;
	*to = code && code < 0x80 ? (char)code : '?';
	return true;
}

static bool load_ids_read_text(struct json *j, char **out)
{
	size_t size = 0;
	char *text = load_ids_skip(j, '"') ? malloc((size_t)(j->end - j->at) + 1) : NULL;

	if (!text)
		return false;
	while (j->at < j->end && *j->at != '"') {
		char c = *j->at++;
		if (c == '\\' && !escaped(j, &c)) {
			free(text);
			return false;
		}
		text[size++] = c;
	}
	text[size] = 0;
	if (!load_ids_skip(j, '"')) {
		free(text);
		return false;
	}
	*out = text;
	return true;
}

static bool load_ids_read_number(struct json *j, struct json_value *value)
{
	bool negative = load_ids_skip(j, '-');
	int digits = 0;

	for (; j->at < j->end && *j->at >= '0' && *j->at <= '9'; digits++)
		value->count = value->count * 10 + (uint64_t)(*j->at++ - '0');
	value->number = negative ? -(int64_t)(value->count & INT64_MAX)
				 : (int64_t)(value->count & INT64_MAX);
	return digits > 0 && digits <= 20;
}

/* The first numbers are kept. */
static bool load_ids_read_list(struct json *j, struct json_value *value)
{
	const size_t most = sizeof(value->list) / sizeof(*value->list);
	size_t count = 0;

	do {
		struct json_value item = {0};
		if (!load_ids_read_number(j, &item))
			return false;
		if (count < most)
			value->list[count++] = item.count;
	} while (load_ids_skip(j, ','));
	return load_ids_skip(j, ']');
}

static bool read_json_value(struct json *j, struct json_value *value)
{
	memset(value, 0, sizeof(*value));
	if (j->at < j->end && *j->at == '"')
		return load_ids_read_text(j, &value->text);
	if (load_ids_skip(j, '['))
		return load_ids_read_list(j, value);
	if (j->end - j->at >= 4 && !memcmp(j->at, "true", 4)) {
		value->is_true = true;
		j->at += 4;
		return true;
	}
	return load_ids_read_number(j, value);
}

/* Moves the value's text, or NULL, to *text, in place of the former one. */
static void load_ids_take(char **text, struct json_value *value)
{
	free(*text);
	*text = value->text;
	value->text = NULL;
}

/* Takes one member of an object; its text is freed unless taken. */
typedef void (*member_fn)(void *to, const char *key, struct json_value *value);

static bool load_ids_read_member(struct json *j, member_fn member, void *to)
{
	struct json_value value;
	char *key;

	if (!load_ids_read_text(j, &key))
		return false;
	bool good = load_ids_skip(j, ':') && read_json_value(j, &value);
	if (good) {
		member(to, key, &value);
		free(value.text);
	}
	free(key);
	return good;
}

static bool load_ids_read_object(struct json *j, member_fn member, void *to)
{
	bool good = load_ids_skip(j, '{') && load_ids_read_member(j, member, to);

	while (good && load_ids_skip(j, ','))
		good = load_ids_read_member(j, member, to);
	return good && load_ids_skip(j, '}');
}

static void load_ids_set_count(
	struct run_site *site, uint64_t *member, uint32_t flag, uint64_t count)
{
	*member = count;
	site->flags |= flag;
}

static void set_site_member(void *to, const char *key, struct json_value *value)
{
	struct run_site *site = to;

	if (!strcmp(key, "layer"))
		site->layer = (int32_t)value->number;
	else if (!strcmp(key, "op"))
		load_ids_take(&site->operation, value);
	else if (!strcmp(key, "tensor"))
		load_ids_take(&site->label, value);
	else if (!strcmp(key, "elements"))
		load_ids_set_count(site, &site->elements, BRICK_SITE_HAS_ELEMENTS, value->count);
	else if (!strcmp(key, "bytes"))
		load_ids_set_count(site, &site->bytes, BRICK_SITE_HAS_BYTES, value->count);
	else if (!strcmp(key, "flops"))
		load_ids_set_count(site, &site->flops, BRICK_SITE_HAS_FLOPS, value->count);
	else if (!strcmp(key, "unknown") && value->is_true)
		site->flags |= BRICK_SITE_UNKNOWN_OPERATION;
	else if (!strcmp(key, "at_most") && value->is_true)
		site->flags |= BRICK_SITE_AT_MOST;
}

static bool json_read_site(struct pb_reader text, struct run_site *site)
{
	struct json j = {(const char *)text.at, (const char *)text.end};

	*site = (struct run_site){.brick = RUN_NONE, .layer = -1};
	if (load_ids_read_object(&j, set_site_member, site))
		return true;
	free(site->operation);
	free(site->label);
	return false;
}

static void take_triple(uint32_t *triple, const struct json_value *value)
{
	for (int i = 0; i < 3; i++)
		triple[i] = value->list[i] > UINT32_MAX ? UINT32_MAX : (uint32_t)value->list[i];
}

static uint32_t kind_named(const char *name)
{
	static const char *const kinds[] = FORMAT_KERNEL_KINDS;

	for (uint32_t i = 0; name && i < FORMAT_KERNEL_KIND_COUNT; i++)
		if (!strcmp(name, kinds[i]))
			return i;
	return BRICK_KERNEL_OTHER;
}

static void set_kernel_member(void *to, const char *key, struct json_value *value)
{
	struct run_kernel *kernel = to;

	if (!strcmp(key, "name"))
		load_ids_take(&kernel->name, value);
	else if (!strcmp(key, "backend"))
		load_ids_take(&kernel->backend, value);
	else if (!strcmp(key, "kind"))
		kernel->kind = kind_named(value->text);
	else if (!strcmp(key, "grid"))
		take_triple(kernel->grid, value);
	else if (!strcmp(key, "block"))
		take_triple(kernel->block, value);
	else if (!strcmp(key, "shared"))
		kernel->shared_bytes = value->count;
	else if (!strcmp(key, "registers"))
		kernel->registers = (uint32_t)value->count;
	else if (!strcmp(key, "code") && value->text)
		kernel->code = strtoull(value->text, NULL, 16);
}

static void json_kernel_free(struct run_kernel *kernel)
{
	free(kernel->name);
	free(kernel->backend);
}

static bool json_read_kernel(struct pb_reader text, struct run_kernel *kernel)
{
	struct json j = {(const char *)text.at, (const char *)text.end};

	*kernel = (struct run_kernel){.kind = BRICK_KERNEL_OTHER};
	if (load_ids_read_object(&j, set_kernel_member, kernel) && kernel->name)
		return true;
	json_kernel_free(kernel);
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

	*entry = (struct load_entry){0, pb_reader("", 0)};
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

static void load_ids_read_kernel(
	struct load_ids *l, struct load_value *value, struct pb_reader text)
{
	struct run_kernel kernel;

	if (!json_read_kernel(text, &kernel))
		return;
	value->index = build_kernel(l->build, &kernel);
	if (value->index != RUN_NONE)
		value->kind = LOAD_VALUE_KERNEL;
	json_kernel_free(&kernel);
}

/* Names and kernels are told by their ids, the others by themselves. */
static void load_ids_read_value(
	struct load_ids *l, struct load_value *value, uint64_t iid, struct pb_reader text)
{
	static const char *const sources[FORMAT_SOURCE_COUNT] = FORMAT_SOURCES;

	*value = (struct load_value){.kind = LOAD_VALUE_OTHER, .index = RUN_NONE};
	if (iid >= FORMAT_KERNEL_IID && iid < FORMAT_KERNEL_IID_END) {
		load_ids_read_kernel(l, value, text);
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

/* kind: an id of the value's kind; 0: its text tells it. */
static bool load_ids_add_value(struct load_ids *l, struct hashmap *table, uint64_t iid,
	uint64_t kind, struct pb_reader text)
{
	struct load_value value;

	if (l->values.count >= RUN_NONE / 2 || array_reserve(&l->values, 1))
		return build_no_memory(l->build), false;
	load_ids_read_value(l, &value, kind, text);
	l->values.items[l->values.count] = value;
	return set_id(l, table, iid, (uint32_t)l->values.count++);
}

static bool intern_value(
	struct load_ids *l, struct load_sequence *s, const struct load_entry *entry)
{
	/* values that the site's JSON has, too, are asked for there */
	if (!s->lane || (entry->iid >= FORMAT_OPERATION_IID && entry->iid < FORMAT_TENSOR_IID_END))
		return true;
	return load_ids_add_value(l, &s->values, entry->iid, entry->iid, entry->text);
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
	struct load_entry entry = {0, pb_reader("", 0)};
	int more;

	while ((more = pb_next(&message, &f)) > 0) {
		if (f.number == VALUE_NUMBER && f.wire == PB_VARINT)
			entry.iid = f.value;
		else if (f.number == VALUE_NAME && f.wire == PB_LENGTH)
			entry.text = f.in;
	}
	return more == 0 && entry.iid &&
	       (load_id(&l->sites, entry.iid) != RUN_NONE ||
		       load_ids_add_value(l, &l->sites, entry.iid, 0, entry.text));
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
