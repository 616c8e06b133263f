/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of texts, and lists that grow. */
#include "analysis/history/history_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fnv.h"
#include "base/hash.h"

enum { TEXTS = 8 };

static void texts_of(struct history_run *run, char **texts[TEXTS])
{
	char **all[TEXTS] = {&run->kind, &run->host, &run->cpu, &run->engine, &run->version,
		&run->command, &run->path, &run->batch};

	memcpy(texts, all, sizeof(all));
}

int history_text_set(char **text, const char *value)
{
	char *copy = strdup(value ? value : "");

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

	*run = (struct history_run){.exit_code = -1};
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
	struct history_part part = {
		.phase = strdup(phase), .kind = strdup(kind), .name = strdup(name), .united = 1};

	if (!part.phase || !part.kind || !part.name || array_push(&run->parts, part)) {
		part_fini(&part);
		return NULL;
	}
	return &run->parts.items[run->parts.count - 1];
}

int history_run_fact(struct history_run *run, const char *key, const char *value)
{
	struct history_fact fact = {strdup(key), strdup(value)};

	if (fact.key && fact.value && !array_push(&run->facts, fact))
		return 0;
	free(fact.key);
	free(fact.value);
	return -ENOMEM;
}

int history_run_label(struct history_run *run, const char *label)
{
	char *copy = strdup(label);

	for (size_t i = 0; i < run->labels.count && copy; i++)
		if (!strcmp(run->labels.items[i], label)) {
			free(copy);
			return 0;
		}
	if (copy && !array_push(&run->labels, copy))
		return 0;
	free(copy);
	return -ENOMEM;
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
