/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single steps by brick: what each brick, and none, took of the wall time of each step. The columns
 * of a step add up to it. Called by page.c.
 */
#include <stdlib.h>

#include "ui/page/pack.h"
#include "ui/page/page.h"
#include "ui/text/json_out.h"

/* The page's bricks, then all others together. */
static void pack_parts(struct pack *pack, const struct page *page, uint32_t step)
{
	const struct breakdown *b = page->breakdown;
	const uint64_t *parts = breakdown_part(b, step);
	uint64_t rest = 0;

	for (uint32_t i = 0; i <= b->brick_count; i++)
		rest += parts[i];
	for (size_t i = 0; i < page_bricks(page); i++) {
		uint64_t ns = parts[page->report.summary->rows[i].id];
		pack_add(pack, ns);
		rest -= ns;
	}
	pack_add(pack, rest);
}

enum { NUMBER, PHASE, TOKENS, BEGIN, TOTAL, UNATTRIBUTED, PARTS, PACKS };

static void pack_step(struct pack packs[PACKS], const struct page *page, uint32_t i)
{
	const struct run *run = page->run;
	const struct run_step *step = &run->steps[i];
	const struct step_time *time = &page->times->steps[i];

	pack_add(&packs[PHASE], step->phase);
	pack_add(&packs[TOKENS], step->tokens);
	pack_add(
		&packs[BEGIN], step->begin_ns > run->start_ns ? step->begin_ns - run->start_ns : 0);
	pack_add(&packs[TOTAL], step_time_total_ns(time));
	pack_add(&packs[UNATTRIBUTED], time->unattributed_ns);
	pack_parts(&packs[PARTS], page, i);
}

json_t *page_each(const struct page *page)
{
	static const char *const names[PACKS] = {
		"number", "phase", "tokens", "begin_ns", "total_ns", "unattributed_ns", "brick_ns"};
	struct pack packs[PACKS] = {0};
	SCOPED uint32_t *numbers = page_numbers(page);
	json_t *object = json_object(), *phases = json_array();

	for (size_t i = 0; i < page->each_count; i++) {
		pack_add(&packs[NUMBER], numbers[page->each[i]]);
		pack_step(packs, page, page->each[i]);
	}
	for (int phase = 0; phase < STEP_PHASES; phase++)
		json_add(phases, json_text(step_phase_name(phase)));
	json_put(object, "of", json_number(page->index.count));
	json_put(object, "count", json_number(page->each_count));
	json_put(object, "bricks", json_number(page_bricks(page)));
	json_put(object, "phases", phases);
	for (int i = 0; i < PACKS; i++)
		json_put(object, names[i], pack_end(&packs[i]));
	return object;
}
