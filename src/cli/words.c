/* SPDX-License-Identifier: Apache-2.0 */
/* Collects words for values, from tables, a recording or the history. */
#include "cli/words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/steps/step_times.h"
#include "analysis/history/store.h"
#include "cli/die.h"

enum { RUNS_LOOKED_AT = 200 }; /* of a history, the newest */

void words_add(struct option_words *words, const char *word)
{
	for (size_t i = 0; i < words->list.count; i++)
		if (!strcmp(words->list.items[i], word))
			return;
	xpush(&words->list, xstrdup(word));
}

void words_add_all(struct option_words *words, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		words_add(words, names[i]);
}

void words_fini(struct option_words *words)
{
	for (size_t i = 0; i < words->list.count; i++)
		free(words->list.items[i]);
	array_fini(&words->list);
}

void words_phases(struct option_words *words)
{
	for (int phase = 0; phase < STEP_PHASES; phase++)
		words_add(words, step_phase_name(phase));
}

void words_phases_or_all(struct option_words *words)
{
	words_phases(words);
	words_add(words, "all");
}
WORDS(words_step, "decode", "prefill", "slowest");
WORDS(words_steps, "slowest", "slow");
WORDS(words_rows, "brick", "layer");

/* ---- of a recording ---- */

void words_layers(struct option_words *words)
{
	int32_t last = -1;
	for (size_t i = 0; words->run && i < words->run->site_count; i++)
		if (words->run->sites[i].layer > last)
			last = words->run->sites[i].layer;
	for (int32_t layer = -1; words->run && layer <= last; layer++) {
		SCOPED char *number = xasprintf("%d", layer);
		words_add(words, number);
	}
}

void words_threads(struct option_words *words)
{
	for (size_t i = 0; words->run && i < words->run->lane_count; i++)
		if (words->run->lanes[i].name && *words->run->lanes[i].name)
			words_add(words, words->run->lanes[i].name);
}

void words_bricks(struct option_words *words)
{
	for (size_t i = 0; words->run && i < words->run->site_count; i++) {
		const struct run_brick *brick = &words->run->bricks[words->run->sites[i].brick];
		words_add(words, brick->name);
	}
}

/* ---- of the history ---- */

static int add_labels(void *context, struct history_run *run)
{
	for (size_t i = 0; i < run->labels.count; i++)
		words_add(context, run->labels.items[i]);
	return 0;
}

/* Quietly: where there is no history, or it does not answer, there are none. */
static bool add_from_history(struct option_words *words)
{
	const struct history_filter newest = {.limit = RUNS_LOOKED_AT};
	const struct history_open at_once = {.patience_ms = 500};
	SCOPED_TO(history_store_close) struct history_store *store = NULL;
	SCOPED char *where = history_default();
	return where && history_store_open(&store, where, &at_once) == 0 &&
	       history_store_list(store, &newest, add_labels, words) == 0;
}

void words_labels(struct option_words *words)
{
	add_from_history(words);
}

void words_references(struct option_words *words)
{
	SCOPED_BY(words_fini) struct option_words labels = {0};
	if (add_from_history(&labels))
		words_add(words, "@last");
	for (size_t i = 0; i < labels.list.count; i++) {
		SCOPED char *reference = xasprintf("@%s", labels.list.items[i]);
		words_add(words, reference);
	}
}
