/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of a run about memory say what has changed; a row keeps the last entry, and the peak. */
#include "analysis/accounts/memory_accounts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hashmap.h"
#include "base/order.h"
#include "base/scope.h"

const char *memory_kind_name(uint32_t kind)
{
	static const char *const names[BRICK_MEMORY_KINDS] = {"all", "weights", "gradients",
		"optimizer", "activations", "cache", "workspace", "other", "system", "compute",
		"outputs", "states", "anonymous"};

	return kind < BRICK_MEMORY_KINDS ? names[kind] : "unknown";
}

static struct memory_row memory_row_about(const struct run *run, const struct run_memory *m)
{
	return (struct memory_row){.process = run->lanes[m->lane].process,
		.gpu = m->gpu,
		.kind = m->kind,
		.site = m->is_of_site ? m->site : RUN_NONE};
}

static uint64_t memory_row_key(const struct memory_row *row)
{
	return hash_add(hash_add(row->process, row->gpu << 8 | row->kind), row->site);
}

COMPARATOR(memory_rows_order, struct memory_row,
	ORDER(x->process, y->process) ?: ORDER(x->gpu, y->gpu)
					    ?: ORDER(x->site != RUN_NONE, y->site != RUN_NONE)
						       ?: ORDER(y->peak_bytes, x->peak_bytes)
								  ?: ORDER(x->kind, y->kind)
									     ?: ORDER(x->site, y->site))

int memory_rows_measure(struct memory_rows *rows, const struct run *run)
{
	SCOPED_BY(hashmap_fini) struct hashmap by_key = {0};

	for (size_t i = 0; i < run->memory_count; i++) {
		const struct run_memory *m = &run->memories[i];
		const struct memory_row about = memory_row_about(run, m);
		if (m->is_of_site && m->site == RUN_NONE)
			continue;
		uint64_t at = hashmap_get(&by_key, memory_row_key(&about));
		if (at == HASHMAP_NONE) {
			at = rows->list.count;
			if (array_push(&rows->list, about) ||
				hashmap_set(&by_key, memory_row_key(&about), at))
				return -ENOMEM;
		}
		struct memory_row *row = &rows->list.items[at];
		row->live_bytes = m->live_bytes;
		if (m->peak_bytes > row->peak_bytes) {
			row->peak_bytes = m->peak_bytes;
			row->peak_ns = m->ns;
		}
	}
	if (rows->list.count)
		qsort(rows->list.items, rows->list.count, sizeof(*rows->list.items),
			memory_rows_order);
	return 0;
}

void memory_rows_fini(struct memory_rows *rows)
{
	array_fini(&rows->list);
}

const struct memory_row *memory_rows_of(
	const struct memory_rows *rows, uint32_t process, uint32_t gpu, enum brick_memory_kind kind)
{
	for (size_t i = 0; i < rows->list.count; i++) {
		const struct memory_row *row = &rows->list.items[i];
		if (row->process == process && row->gpu == gpu && row->kind == kind &&
			row->site == RUN_NONE)
			return row;
	}
	return NULL;
}

/*
 * ---- growth ----
 */

/*
 * SHARE: growth is a tenth of what is alive or more: buffers and caches settle slowly. With fewer
 * steps than MANY, it must be even: no part has a quarter of it.
 */
enum {
	PARTS = 8,
	FEW_STEPS = 16,
	MANY_STEPS = 32,
	LEAST_BYTES = 1 << 20,
	SHARE = 10,
	GROWN_PARTS = 5,
	EVEN_PARTS = 4
};

/* The end of a step of the process, and the bytes alive then, without caches. */
struct memory_moment {
	uint64_t ns, bytes;
};

struct memory_series {
	ARRAY(struct memory_moment) of;
};

static void memory_series_fini(struct memory_series *series)
{
	array_fini(&series->of);
}

COMPARATOR(memory_moments_order, struct memory_moment, ORDER(x->ns, y->ns))

/* A step that tells nothing has what the step before had; steps before the first entry are left
 * out. */
static int memory_series_fill(struct memory_series *series, const struct run *run,
	const uint8_t *counts, const struct memory_row *row)
{
	uint64_t all = 0, cache = 0;
	size_t next = 0, count = 0;
	bool is_known = false;

	for (size_t i = 0; i < run->step_count; i++) {
		const struct run_step *step = &run->steps[i];
		const struct memory_moment moment = {.ns = step->end_ns};
		if (counts[i] && run->lanes[step->lane].process == row->process &&
			array_push(&series->of, moment))
			return -ENOMEM;
	}
	if (series->of.count)
		qsort(series->of.items, series->of.count, sizeof(*series->of.items),
			memory_moments_order);
	for (size_t i = 0; i < series->of.count; i++) {
		const uint64_t ns = series->of.items[i].ns;
		for (; next < run->memory_count && run->memories[next].ns <= ns; next++) {
			const struct run_memory *m = &run->memories[next];
			if (m->is_of_site || m->gpu != row->gpu ||
				run->lanes[m->lane].process != row->process)
				continue;
			if (row->kind == BRICK_MEMORY_ALL && m->kind == BRICK_MEMORY_CACHE)
				cache = m->live_bytes;
			all = m->kind == row->kind ? m->live_bytes : all;
			is_known |= m->kind == row->kind;
		}
		if (is_known)
			series->of.items[count++] =
				(struct memory_moment){ns, all > cache ? all - cache : 0};
	}
	series->of.count = count;
	return 0;
}

/*
 * True if the least value of each part is larger than in the part before it. The system is asked
 * seldom: of its count, parts may have the same value as no reading came, if five grow, and none by
 * half of it all.
 */
static bool memory_series_grows(
	const struct memory_series *series, struct memory_growth *growth, uint64_t *since_ns)
{
	size_t first = series->of.count / PARTS, count = series->of.count - first, begin = 0;
	uint64_t before = 0, most = 0;
	unsigned grown_parts = 0;

	bool are_few = series->of.count < MANY_STEPS;
	if (series->of.count < (growth->is_of_system ? MANY_STEPS : FEW_STEPS))
		return false;
	for (size_t part = 0; part < PARTS; part++) {
		size_t least = first + count * part / PARTS;
		for (size_t i = least; i < first + count * (part + 1) / PARTS; i++)
			if (series->of.items[i].bytes < series->of.items[least].bytes)
				least = i;
		const struct memory_moment *moment = &series->of.items[least];
		if (part && moment->bytes <= before &&
			(moment->bytes < before || !growth->is_of_system))
			return false;
		if (part && moment->bytes > before) {
			grown_parts++;
			most = moment->bytes - before > most ? moment->bytes - before : most;
		}
		before = moment->bytes;
		if (!part) {
			growth->first_bytes = moment->bytes;
			begin = least;
			*since_ns = moment->ns;
		}
		growth->last_bytes = moment->bytes;
		growth->steps = least - begin;
	}
	uint64_t grown = growth->last_bytes - growth->first_bytes;
	if (growth->is_of_system && (grown_parts < GROWN_PARTS || most > grown / 2))
		return false;
	if (are_few && most > grown / EVEN_PARTS)
		return false;
	return grown >= LEAST_BYTES && grown >= growth->last_bytes / SHARE;
}

/* True for what may own a part of the memory that grows: operators, else kinds. */
static bool memory_may_own(
	const struct memory_growth *growth, const struct memory_row *row, bool of_sites)
{
	return row->process == growth->process && row->gpu == growth->gpu &&
	       (row->site != RUN_NONE) == of_sites && row->kind != BRICK_MEMORY_CACHE &&
	       row->kind != BRICK_MEMORY_ALL && row->kind != BRICK_MEMORY_SYSTEM &&
	       row->kind != BRICK_MEMORY_ANONYMOUS;
}

/*
 * States are all that were saved so far, of which the program may have freed any. They are its own
 * memory, so that of the process grows by about as much if they are kept.
 */
static bool memory_states_are_kept(const struct memory_growth *growth, uint64_t saved_bytes)
{
	uint64_t grown = growth->last_bytes - growth->first_bytes;

	return growth->is_of_system && saved_bytes >= grown / 2 && saved_bytes <= grown + grown / 2;
}

/* Find the row, of a site or of a kind, that has grown most from a time to the end. */
static int memory_growth_place(
	struct memory_growth *growth, const struct run *run, uint64_t since_ns, bool of_sites)
{
	SCOPED_BY(hashmap_fini) struct hashmap before = {0};
	SCOPED_BY(hashmap_fini) struct hashmap last = {0};

	growth->site = RUN_NONE;
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < run->memory_count; i++) {
			const struct run_memory *m = &run->memories[i];
			const struct memory_row row = memory_row_about(run, m);
			if (!memory_may_own(growth, &row, of_sites))
				continue;
			uint64_t key = memory_row_key(&row);
			if (!pass) {
				if ((m->ns <= since_ns &&
					    hashmap_set(&before, key, m->live_bytes)) ||
					hashmap_set(&last, key, m->live_bytes))
					return -ENOMEM;
				continue;
			}
			uint64_t base = hashmap_get(&before, key), live = hashmap_get(&last, key);
			base = base == HASHMAP_NONE ? 0 : base;
			if (live > base && m->kind == BRICK_MEMORY_STATES &&
				!memory_states_are_kept(growth, live - base))
				continue;
			if (live > base && live - base > growth->owner_bytes) {
				growth->owner_bytes = live - base;
				growth->site = row.site;
				growth->kind = m->kind;
			}
		}
	return 0;
}

/* Where allocators' memory grows, the process's does, too, so it is looked at last. */
static int memory_growth_of_rows(struct memory_growth *growth, const struct memory_rows *rows,
	const struct run *run, const uint8_t *counts, enum brick_memory_kind kind)
{
	int error = 0;

	for (size_t i = 0; i < rows->list.count && !error; i++) {
		const struct memory_row *row = &rows->list.items[i];
		if (row->kind != (uint32_t)kind || row->site != RUN_NONE)
			continue;
		SCOPED_BY(memory_series_fini) struct memory_series series = {0};
		uint64_t since_ns = 0;
		*growth = (struct memory_growth){.process = row->process,
			.gpu = row->gpu,
			.is_of_system = kind == BRICK_MEMORY_ANONYMOUS};
		error = memory_series_fill(&series, run, counts, row);
		if (error || !memory_series_grows(&series, growth, &since_ns))
			continue;
		error = memory_growth_place(growth, run, since_ns, true);
		if (!error && !growth->owner_bytes)
			error = memory_growth_place(growth, run, since_ns, false);
		return error ?: 1;
	}
	return error;
}

int memory_growth_find(struct memory_growth *growth, const struct run *run, const uint8_t *counts)
{
	SCOPED_BY(memory_rows_fini) struct memory_rows rows = {0};
	int error = memory_rows_measure(&rows, run);

	if (!error)
		error = memory_growth_of_rows(growth, &rows, run, counts, BRICK_MEMORY_ALL);
	if (!error)
		error = memory_growth_of_rows(growth, &rows, run, counts, BRICK_MEMORY_ANONYMOUS);
	return error;
}
