/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of texts, and lists that grow; then JSON. Lines come from files, so nothing in them is
 * trusted. Integers of JSON have a sign: numbers from 2^63 on are read back as 0.
 */
#include "analysis/history/history_run.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fnv.h"
#include "base/hash.h"
#include "base/order.h"
#include "base/scope.h"
#include "base/utf8.h"

enum { TEXTS = 10 }; /* members of a run that are texts */

/* Addresses of all texts: each is made by init and freed by fini. */
static void texts_of(struct history_run *run, char **texts[TEXTS])
{
	char **all[TEXTS] = {&run->kind, &run->host, &run->cpu, &run->engine, &run->version,
		&run->command, &run->path, &run->batch, &run->model, &run->workload};

	memcpy(texts, all, sizeof(all));
}

/* A copy whose bytes that are no UTF-8 became U+FFFD: JSON holds no others. NULL: no memory. */
static char *history_run_copy(const char *text)
{
	static const char other[] = "\xef\xbf\xbd";
	size_t left = strlen(text);
	char *copy = malloc(3 * left + 1), *to = copy;

	for (size_t n; copy && left; text += n, left -= n) {
		n = utf8_character(text, left);
		to = mempcpy(to, n ? text : other, n ? n : strlen(other));
		n = n ? n : 1;
	}
	if (copy)
		*to = '\0';
	return copy;
}

int history_text_set(char **text, const char *value)
{
	char *copy = history_run_copy(value ? value : "");

	if (!copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	return 0;
}

int history_run_init(struct history_run *run)
{
	char **texts[TEXTS];
	int rc = 0;

	*run = (struct history_run){.exit_code = -1, .rank = -1};
	texts_of(run, texts);
	for (int i = 0; i < TEXTS && rc == 0; i++)
		rc = history_text_set(texts[i], "");
	if (rc < 0)
		history_run_fini(run);
	return rc;
}

static void part_fini(struct history_part *part)
{
	free(part->phase);
	free(part->kind);
	free(part->name);
	history_histogram_fini(&part->histogram);
}

void history_run_fini(struct history_run *run)
{
	char **texts[TEXTS];

	texts_of(run, texts);
	for (int i = 0; i < TEXTS; i++)
		free(*texts[i]);
	for (size_t i = 0; i < run->facts.count; i++) {
		free(run->facts.items[i].key);
		free(run->facts.items[i].value);
	}
	for (size_t i = 0; i < run->labels.count; i++)
		free(run->labels.items[i]);
	for (size_t i = 0; i < run->parts.count; i++)
		part_fini(&run->parts.items[i]);
	array_fini(&run->facts);
	array_fini(&run->labels);
	array_fini(&run->parts);
	memset(run, 0, sizeof(*run));
}

struct history_part *history_run_part(
	struct history_run *run, const char *phase, const char *kind, const char *name)
{
	struct history_part part = {.phase = history_run_copy(phase),
		.kind = history_run_copy(kind),
		.name = history_run_copy(name),
		.united = 1};

	if (!part.phase || !part.kind || !part.name || array_push(&run->parts, part)) {
		part_fini(&part);
		return NULL;
	}
	return &run->parts.items[run->parts.count - 1];
}

int history_run_fact(struct history_run *run, const char *key, const char *value)
{
	struct history_fact fact = {history_run_copy(key), history_run_copy(value)};

	if (fact.key && fact.value && !array_push(&run->facts, fact))
		return 0;
	free(fact.key);
	free(fact.value);
	return -ENOMEM;
}

const char *history_run_fact_find(const struct history_run *run, const char *key)
{
	for (size_t i = 0; i < run->facts.count; i++)
		if (!strcmp(run->facts.items[i].key, key))
			return run->facts.items[i].value;
	return NULL;
}

int history_run_label(struct history_run *run, const char *label)
{
	char *copy = history_run_copy(label);

	for (size_t i = 0; i < run->labels.count && copy; i++)
		if (!strcmp(run->labels.items[i], copy)) {
			free(copy);
			return 0;
		}
	if (copy && !array_push(&run->labels, copy))
		return 0;
	free(copy);
	return -ENOMEM;
}

COMPARATOR(history_run_by_name, struct history_part,
	strcmp(x->phase, y->phase) ?: strcmp(x->kind, y->kind) ?: strverscmp(x->name, y->name))

void history_run_order(struct history_run *run)
{
	array_sort(&run->parts, history_run_by_name);
}

void history_run_identify(struct history_run *run, uint64_t salt)
{
	uint64_t hash = hash_add(fnv1a_text(run->host), run->start_ns);

	hash = hash_add(hash, fnv1a_text(run->command));
	hash = hash_add(hash_add(hash, fnv1a_text(run->engine)), fnv1a_text(run->kind));
	hash = hash_add(hash, salt);
	snprintf(run->id, sizeof(run->id), "%016llx", (unsigned long long)hash);
}

const struct history_part *history_run_step(const struct history_run *run, const char *phase)
{
	for (size_t i = 0; i < run->parts.count; i++)
		if (!strcmp(run->parts.items[i].kind, "step") &&
			!strcmp(run->parts.items[i].phase, phase))
			return &run->parts.items[i];
	return NULL;
}

/* As JSON. */

static json_t *integer(uint64_t value)
{
	return json_integer((json_int_t)value);
}

json_t *history_run_json(const struct history_run *run)
{
	return json_pack("{ss ss ss ss ss ss ss ss ss ss ss so so so sI sI sf}", "id", run->id,
		"kind", run->kind, "host", run->host, "cpu", run->cpu, "engine", run->engine,
		"version", run->version, "command", run->command, "path", run->path, "batch",
		run->batch, "model", run->model, "workload", run->workload, "start_ns",
		integer(run->start_ns), "wall_ns", integer(run->wall_ns), "ttft_ns",
		integer(run->ttft_ns), "exit_code", (json_int_t)run->exit_code, "rank",
		(json_int_t)run->rank, "value", run->value);
}

json_t *history_part_json(const struct history_part *p)
{
	return json_pack("{ss ss ss so so so so so sf}", "phase", p->phase, "kind", p->kind, "name",
		p->name, "count", integer(p->count), "tokens", integer(p->tokens), "total_ns",
		integer(p->total_ns), "typical_tokens", integer(p->typical_tokens), "typical_ns",
		integer(p->typical_ns), "united", p->united);
}

static json_t *history_run_part_json(const struct history_part *p)
{
	SCOPED char *histogram = history_histogram_text(&p->histogram);
	json_auto_t *json = histogram ? history_part_json(p) : NULL;

	if (!json || json_object_set_new(json, "histogram", json_string(histogram)))
		return NULL;
	return json_incref(json);
}

char *history_run_line(const struct history_run *run)
{
	json_auto_t *json = history_run_json(run);
	json_t *facts = json_array(), *labels = json_array(), *parts = json_array();
	int failed = 0; /* a line is whole, or none */

	for (size_t i = 0; i < run->facts.count; i++)
		failed |= json_array_append_new(facts,
			json_pack("[ss]", run->facts.items[i].key, run->facts.items[i].value));
	for (size_t i = 0; i < run->labels.count; i++)
		failed |= json_array_append_new(labels, json_string(run->labels.items[i]));
	for (size_t i = 0; i < run->parts.count; i++)
		failed |= json_array_append_new(parts, history_run_part_json(&run->parts.items[i]));
	failed |= json_object_set_new(json, "facts", facts);
	failed |= json_object_set_new(json, "labels", labels);
	failed |= json_object_set_new(json, "parts", parts);
	return failed ? NULL : json_dumps(json, JSON_COMPACT | JSON_ENSURE_ASCII);
}

void history_part_take(struct history_part *part, const json_t *json)
{
	part->count = json_number_of(json, "count");
	part->tokens = json_number_of(json, "tokens");
	part->total_ns = json_number_of(json, "total_ns");
	part->typical_tokens = json_number_of(json, "typical_tokens");
	part->typical_ns = json_number_of(json, "typical_ns");
	const json_t *united = json_object_get(json, "united"); /* older lines have none */
	part->united = united ? json_number_value(united) : 1;
}

static int parse_part(struct history_run *run, const json_t *json)
{
	struct history_part *part = history_run_part(run, json_text_of(json, "phase"),
		json_text_of(json, "kind"), json_text_of(json, "name"));

	if (!part)
		return -ENOMEM;
	history_part_take(part, json);
	return history_histogram_parse(&part->histogram, json_text_of(json, "histogram"));
}

int history_run_take(struct history_run *run, const json_t *json)
{
	const struct {
		const char *key;
		char **to;
	} texts[] = {{"kind", &run->kind}, {"host", &run->host}, {"cpu", &run->cpu},
		{"engine", &run->engine}, {"version", &run->version}, {"command", &run->command},
		{"path", &run->path}, {"batch", &run->batch}, {"model", &run->model},
		{"workload", &run->workload}};
	int rc = 0;

	strncpy(run->id, json_text_of(json, "id"), HISTORY_ID_BYTES - 1);
	run->start_ns = json_number_of(json, "start_ns");
	run->wall_ns = json_number_of(json, "wall_ns");
	run->ttft_ns = json_number_of(json, "ttft_ns");
	run->exit_code = json_integer_value(json_object_get(json, "exit_code"));
	const json_t *rank = json_object_get(json, "rank"); /* older lines have none */
	run->rank = rank ? json_integer_value(rank) : -1;
	run->value = json_number_value(json_object_get(json, "value"));
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts) && rc == 0; i++)
		rc = history_text_set(texts[i].to, json_text_of(json, texts[i].key));
	return rc;
}

static int parse_lists(struct history_run *run, const json_t *json)
{
	const json_t *value;
	size_t i;
	int rc = 0;

	json_array_foreach(json_object_get(json, "facts"), i, value)
	{
		const char *key = json_string_value(json_array_get(value, 0));
		const char *fact = json_string_value(json_array_get(value, 1));
		if (rc == 0 && key && fact)
			rc = history_run_fact(run, key, fact);
	}
	json_array_foreach(json_object_get(json, "labels"), i, value)
	{
		if (rc == 0 && json_string_value(value))
			rc = history_run_label(run, json_string_value(value));
	}
	json_array_foreach(json_object_get(json, "parts"), i, value)
	{
		if (rc == 0)
			rc = parse_part(run, value);
	}
	return rc;
}

static bool is_id(const char *text)
{
	return strlen(text) == HISTORY_ID_BYTES - 1 &&
	       strspn(text, "0123456789abcdef") == HISTORY_ID_BYTES - 1;
}

int history_run_parse(struct history_run *run, const char *line, size_t bytes)
{
	json_auto_t *json = json_loadb(line, bytes, 0, NULL);

	if (!json || !is_id(json_text_of(json, "id")))
		return -EINVAL;
	int rc = history_run_init(run);
	if (rc == 0) {
		rc = history_run_take(run, json);
		if (rc == 0)
			rc = parse_lists(run, json);
		if (rc < 0)
			history_run_fini(run);
	}
	return rc;
}
