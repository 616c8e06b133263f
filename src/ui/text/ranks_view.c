/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences, a table, JSON (schema brick/ranks/1) and CSV of the ranks of a job. */
#include "ui/text/ranks_view.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/unknown.h"
#include "base/order.h"
#include "ui/text/csv_out.h"
#include "ui/text/json_out.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/text_table.h"

enum { RANKS_LABEL = 13, RANKS_SAID = 2 };

static const struct table_column ranks_view_columns[] = {{"RANK", TABLE_RIGHT, 0},
	{"HOST", TABLE_LEFT, 5}, {"STEPS", TABLE_RIGHT, 6}, {"TOKENS/S", TABLE_RIGHT, 4},
	{"WORK", TABLE_RIGHT, 0}, {"WAIT", TABLE_RIGHT, 0}, {"WAIT %", TABLE_RIGHT, 3},
	{"LAST", TABLE_RIGHT, 2}, {"OTHERS WAITED", TABLE_RIGHT, 0}, {"LONGER", TABLE_RIGHT, 1},
	{"IN", TABLE_LEFT, 1}, {"ON PATH", TABLE_RIGHT, 2}, {"CLOCK TO", TABLE_RIGHT, 7}};

/* The name of the brick in which a rank took longer; "": in nothing. */
static const char *ranks_view_brick(const struct rank_row *row)
{
	if (!row->longer_ns)
		return "";
	return row->was_preempted ? "(preempted)" : row->brick ? row->brick : "(no brick)";
}

static void ranks_append_longer(
	char **text, uint64_t longer_ns, bool was_preempted, const char *brick)
{
	char longer[UNITS_BYTES];

	if (longer_ns)
		text_append(text, " ", "as it %s %s longer%s%s",
			was_preempted ? "did not run" : "took", units_time(longer, longer_ns),
			was_preempted ? "" : " in ",
			was_preempted ? ""
			: brick	      ? brick
				      : "no brick");
}

static const struct rank_clock *ranks_view_clock(
	const struct rank_job *job, const struct rank_row *row)
{
	return &job->clocks[row->clock];
}

/* ns of a bound or a residual; ANALYSIS_UNKNOWN: not known. */
static uint64_t ranks_view_ns(double ns)
{
	return isfinite(ns) ? rank_job_ns(ceil(ns)) : ANALYSIS_UNKNOWN;
}

static double ranks_view_rate(const struct rank_row *row)
{
	return row->tokens == ANALYSIS_UNKNOWN || row->wall_ns == ANALYSIS_UNKNOWN
		       ? -1
		       : known_ratio(row->tokens, row->wall_ns) * 1e9;
}

/* The two ranks that made others wait longest, and why they came late. */
static void ranks_append_late(char **text, const struct rank_job *job)
{
	char waited[UNITS_BYTES];
	uint64_t below = UINT64_MAX;
	bool is_any = !job->is_judged;

	for (uint32_t i = 0; i < job->count; i++)
		is_any = is_any || job->rows[i].is_late;
	if (!is_any) {
		text_append(text, ": ", "no rank is late beyond chance");
		return;
	}
	for (int said = 0; said < RANKS_SAID; said++) {
		const struct rank_row *row = NULL;
		for (uint32_t i = 0; i < job->count; i++)
			if (job->rows[i].caused_ns && job->rows[i].caused_ns < below &&
				(job->rows[i].is_late || !job->is_judged) &&
				(!row || job->rows[i].caused_ns > row->caused_ns))
				row = &job->rows[i];
		if (!row)
			break;
		below = row->caused_ns;
		text_append(text, said ? "; " : ": ", "rank %d", (int)row->rank);
		if (job->collectives)
			text_append(text, " ", "was last at %llu, others",
				(unsigned long long)row->last);
		else
			text_append(text, " ", "sent late, others");
		text_append(text, " ", "waited %s", units_time(waited, row->caused_ns));
		ranks_append_longer(text, row->longer_ns, row->was_preempted, row->brick);
	}
}

char *ranks_sentence(const struct rank_job *job)
{
	if (!job->collectives)
		return NULL;
	char *text = text_format("%u of %d, %llu collective%s", job->count, (int)job->rows[0].world,
		(unsigned long long)job->collectives, plural_s(job->collectives));
	ranks_append_late(&text, job);
	return text;
}

char *ranks_place(const struct rank_job *job)
{
	const struct rank_row *row = &job->rows[0];
	char *text = text_format("%d of %d", (int)row->rank, (int)row->world);

	if (row->host)
		text_append(&text, " ", "on %s", row->host);
	if (job->launcher)
		text_append(&text, ", ", "by %s", job->launcher);
	return text;
}

/* A row without the numbers that need its clock and collectives, where these are not known. */
static struct rank_row ranks_view_known(const struct rank_job *job, const struct rank_row *row)
{
	struct rank_row known = *row;

	if (!job->collectives || !ranks_view_clock(job, row)->is_aligned)
		known.work_ns = ANALYSIS_UNKNOWN;
	if (!job->compared || !ranks_view_clock(job, row)->is_aligned)
		known.last = known.longer_ns = ANALYSIS_UNKNOWN;
	if ((!job->collectives && !job->path_ns) || !ranks_view_clock(job, row)->is_aligned)
		known.exposed_ns = ANALYSIS_UNKNOWN;
	if ((!job->compared && !job->path_ns) || !ranks_view_clock(job, row)->is_aligned)
		known.waited_ns = known.caused_ns = ANALYSIS_UNKNOWN;
	if (!job->path_ns || !ranks_view_clock(job, row)->is_aligned)
		known.path_ns = ANALYSIS_UNKNOWN;
	return known;
}

static json_t *ranks_row_json(const struct rank_job *job, const struct rank_row *full)
{
	const struct rank_row known = ranks_view_known(job, full), *row = &known;
	json_t *object = json_object();

	json_put_numbers(object, row, rank, world, pid);
	json_put_numbers(object, row, collectives, bytes, work_ns, exposed_ns, waited_ns, last,
		caused_ns, longer_ns);
	json_put(object, "longer_in", json_text(row->brick));
	json_put(object, "was_preempted", json_boolean(row->was_preempted));
	json_put(object, "is_late",
		isnan(row->behind_ns) ? json_null() : json_boolean(row->is_late));
	json_put(object, "behind_ns",
		isnan(row->behind_ns) ? json_null() : json_signed(row->behind_ns));
	json_put_numbers(object, row, path_ns);
	return object;
}

json_t *ranks_rows_to_json(const struct rank_job *job)
{
	if (!job->collectives)
		return json_null();
	json_t *list = json_array();
	for (uint32_t i = 0; i < job->count; i++)
		json_add(list, ranks_row_json(job, &job->rows[i]));
	return list;
}

/* Numbers of different values of a member of rows, which are few. */
static size_t ranks_view_hosts(const struct rank_job *job)
{
	SCOPED const char **hosts = malloc((job->count + 1) * sizeof(*hosts));
	size_t count = 0, different = 0;

	for (uint32_t i = 0; hosts && i < job->count; i++)
		if (job->rows[i].host)
			hosts[count++] = job->rows[i].host;
	if (count)
		qsort(hosts, count, sizeof(*hosts), order_texts);
	for (size_t i = 0; i < count; i++)
		different += !i || strcmp(hosts[i], hosts[i - 1]) != 0;
	return different;
}

/* The clock that rows know least of; NULL: all have the first one. */
static const struct rank_row *ranks_view_worst_clock(const struct rank_job *job)
{
	const struct rank_row *worst = NULL;

	for (uint32_t i = 0; i < job->count; i++) {
		const struct rank_row *row = &job->rows[i];
		if (row->clock && (!worst || ranks_view_clock(job, row)->bound_ns >
						     ranks_view_clock(job, worst)->bound_ns))
			worst = row;
	}
	return worst;
}

/* Sentences, each under a label, "" for the first; texts are the caller's. */
struct ranks_lines {
	struct {
		const char *label;
		char *text; /* NULL: no memory */
	} list[8];
	size_t count;
};

static void ranks_lines_fini(struct ranks_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++)
		free(lines->list[i].text);
}

static void ranks_lines_add(struct ranks_lines *lines, const char *label, char *text)
{
	lines->list[lines->count].label = label;
	lines->list[lines->count++].text = text;
}

static void ranks_lines_clocks(struct ranks_lines *lines, const struct rank_job *job)
{
	const struct rank_row *worst = ranks_view_worst_clock(job);
	double residual = NAN, drift = 0;
	uint32_t clocks = 0, unknown = 0;
	char bound[UNITS_BYTES], apart[UNITS_BYTES], by[UNITS_BYTES];

	for (uint32_t i = 0; i < job->count; i++) {
		const struct rank_clock *clock = ranks_view_clock(job, &job->rows[i]);
		unknown += job->rows[i].clock && !clock->is_aligned;
		residual = fmax(residual, clock->residual_ns);
		drift = fmax(drift, fabs(clock->drift));
	}
	for (uint32_t i = 0; i < job->clock_count; i++)
		clocks += job->clocks[i].is_aligned;
	if (!worst || (!job->collectives && !job->paired)) {
		ranks_lines_add(lines, "Clocks",
			text_copy(worst ? "they cannot be aligned: the ranks have no collectives "
					  "or messages in common"
					: "all ranks have one clock"));
		return;
	}
	char *text = text_format("%u, aligned by %llu collective%s", clocks,
		(unsigned long long)job->collectives, plural_s(job->collectives));
	if (job->paired)
		text_append(&text, " ", "and %llu message%s", (unsigned long long)job->paired,
			plural_s(job->paired));
	uint64_t ns = ranks_view_ns(ranks_view_clock(job, worst)->bound_ns);
	if (ns == ANALYSIS_UNKNOWN)
		text_append(&text, "", "; no line explains that of rank %d, or nothing bounds it",
			(int)worst->rank);
	else
		text_append(&text, " ", "to %s at most (rank %d)", units_time(bound, ns),
			(int)worst->rank);
	if (isfinite(residual))
		text_append(&text, "; ", "ends of collectives are %s apart (median)",
			units_time(apart, ranks_view_ns(residual)));
	text_append(&text, "; ", "drift up to %.1f ppm", drift * 1e6);
	if (job->disordered)
		text_append(&text, "; ", "%llu of them remain out of order, by up to %s",
			(unsigned long long)job->disordered,
			units_time(by, ranks_view_ns(job->disordered_ns)));
	if (unknown)
		text_append(&text, "; ", "%u rank%s met no other", unknown, plural_s(unknown));
	ranks_lines_add(lines, "Clocks", text);
}

static void ranks_lines_steps(struct ranks_lines *lines, const struct rank_job *job)
{
	const struct rank_step *worst = job->worst_count ? job->worst[0] : NULL;
	char median[UNITS_BYTES], most[UNITS_BYTES], waited[UNITS_BYTES];

	if (!job->step_count || job->step_imbalance < 0)
		return;
	char *text = text_format("%zu with collectives; imbalance %s (median), %s at most",
		job->step_count, units_percent(median, job->step_imbalance),
		units_percent(most, job->step_imbalance_most));
	if (worst && worst->waited_ns) {
		text_append(&text, "; ", "in step %u others waited %s, most for rank %d%s",
			worst->number, units_time(waited, worst->waited_ns),
			(int)job->rows[worst->late].rank, worst->longer_ns ? "," : "");
		ranks_append_longer(&text, worst->longer_ns, worst->was_preempted, worst->brick);
	}
	ranks_lines_add(lines, "Steps", text);
}

/* The work that nobody waits for is not on the path. */
static void ranks_lines_path(struct ranks_lines *lines, const struct rank_job *job)
{
	enum { PARTS_SAID = 3 };
	char time[UNITS_BYTES], share[UNITS_BYTES];
	double whole = (double)job->path_ns;

	if (!job->path_ns)
		return;
	char *text = text_format("%s from the first collective or message to the last",
		units_time(time, job->path_ns));
	uint64_t below = UINT64_MAX;
	for (int said = 0; said < RANKS_SAID; said++) {
		const struct rank_row *row = NULL;
		for (uint32_t i = 0; i < job->count; i++)
			if (job->rows[i].path_ns && job->rows[i].path_ns < below &&
				(!row || job->rows[i].path_ns > row->path_ns))
				row = &job->rows[i];
		if (!row)
			break;
		below = row->path_ns;
		text_append(&text, said ? ", " : ": ", "%s on rank %d",
			units_percent(share, (double)row->path_ns / whole), (int)row->rank);
	}
	for (uint32_t i = 0; i < job->part_count && i < PARTS_SAID; i++) {
		const struct rank_part *part = &job->parts[i];
		text_append(&text, i ? ", " : "; ", "%s of rank %d %s",
			part->brick ? part->brick : "no brick", (int)job->rows[part->row].rank,
			units_percent(share, (double)part->ns / whole));
	}
	if (job->exchange_ns > 0)
		text_append(&text, "; ", "collectives after all had come %s",
			units_percent(share, job->exchange_ns / whole));
	if (job->message_ns > 0)
		text_append(&text, "; ", "messages on the way %s",
			units_percent(share, job->message_ns / whole));
	ranks_lines_add(lines, "Path", text);
}

/* The ranks between those that have a recording: at most `room` of them; returns how many. */
static size_t ranks_view_missing(const struct rank_job *job, int32_t *ranks, size_t room)
{
	int64_t next = 0; /* a damaged recording's rank may be the largest one */
	size_t missing = 0;

	for (uint32_t i = 0; i <= job->count; i++) {
		int64_t until = i < job->count ? job->rows[i].rank : job->rows[0].world;
		for (int64_t r = next; r < until && missing + (size_t)(r - next) < room; r++)
			ranks[missing + (size_t)(r - next)] = (int32_t)r;
		missing += until > next ? (size_t)(until - next) : 0;
		next = until < next ? next : until + 1;
	}
	return missing;
}

static void ranks_append_missing(char **text, const struct rank_job *job)
{
	enum { SAID = 5 };
	int32_t ranks[SAID];
	size_t missing = ranks_view_missing(job, ranks, SAID);

	for (size_t i = 0; i < missing && i < SAID; i++)
		if (i)
			text_append(text, ", ", "%d", (int)ranks[i]);
		else
			text_append(
				text, ", ", "none of rank%s %d", plural_s(missing), (int)*ranks);
	if (missing > SAID)
		text_append(text, " ", "and %zu more", missing - SAID);
}

static json_t *ranks_missing_json(const struct rank_job *job)
{
	enum { TOLD = 64 };
	int32_t ranks[TOLD];
	size_t missing = ranks_view_missing(job, ranks, TOLD);
	json_t *list = json_array();

	for (size_t i = 0; i < missing && i < TOLD; i++)
		json_add(list, json_number((uint64_t)ranks[i]));
	return list;
}

static void ranks_lines_make(struct ranks_lines *lines, const struct ranks_view *view)
{
	const struct rank_job *job = view->job;
	size_t hosts = ranks_view_hosts(job);
	char imbalance[UNITS_BYTES];

	lines->count = 0;
	char *text = text_format("%u of %d ranks", job->count, (int)job->rows[0].world);
	if (hosts)
		text_append(&text, " ", "on %zu host%s", hosts, plural_s(hosts));
	if (job->launcher)
		text_append(&text, ", ", "by %s", job->launcher);
	text_append(&text, ", ", "%u recording%s", job->sources, plural_s(job->sources));
	ranks_append_missing(&text, job);
	ranks_lines_add(lines, "", text);
	ranks_lines_clocks(lines, job);
	text = job->collectives ? text_format("%llu", (unsigned long long)job->collectives)
				: text_copy("none that all ranks took part in");
	if (text)
		ranks_append_late(&text, job);
	ranks_lines_add(lines, "Collectives", text);
	if (job->imbalance >= 0)
		ranks_lines_add(lines, "Imbalance",
			text_format("%s: between collectives the rank with the most work has so "
				    "much more than the mean",
				units_percent(imbalance, job->imbalance)));
	ranks_lines_steps(lines, job);
	ranks_lines_path(lines, job);
	if (view->unfinished || view->dropped)
		ranks_lines_add(lines, "Losses",
			text_format("%llu records dropped; %llu recordings were never finished",
				(unsigned long long)view->dropped,
				(unsigned long long)view->unfinished));
}

json_t *ranks_lines_to_json(const struct ranks_view *view)
{
	SCOPED_BY(ranks_lines_fini) struct ranks_lines lines;
	json_t *list = json_array();

	ranks_lines_make(&lines, view);
	for (size_t i = 0; i < lines.count; i++) {
		json_t *line = json_object();
		json_put(line, "label", json_text(lines.list[i].label));
		json_put(line, "text", json_text(lines.list[i].text));
		json_add(list, line);
	}
	return list;
}

COMPARATOR(ranks_by_caused, const struct rank_row *const,
	ORDER((*y)->caused_ns, (*x)->caused_ns) ?: ORDER((*x)->rank, (*y)->rank))
COMPARATOR(ranks_by_path, const struct rank_row *const,
	ORDER((*y)->path_ns, (*x)->path_ns) ?: ORDER((*x)->rank, (*y)->rank))
COMPARATOR(ranks_by_rank, const struct rank_row *const, ORDER((*x)->rank, (*y)->rank))

static void ranks_text_row(
	struct table *table, const struct rank_job *job, const struct rank_row *full)
{
	const struct rank_row known = ranks_view_known(job, full), *row = &known;
	const struct rank_clock *clock = ranks_view_clock(job, row);

	table_row(table, STYLE_PLAIN);
	table_format(table, "%d", (int)row->rank);
	table_cell(table, row->host);
	table_count(table, row->steps);
	table_number(table, ranks_view_rate(row));
	table_time(table, row->work_ns);
	table_time(table, row->exposed_ns);
	table_percent(
		table, row->work_ns == ANALYSIS_UNKNOWN
			       ? -1
			       : known_ratio(row->exposed_ns, row->exposed_ns + row->work_ns));
	table_count(table, row->last);
	table_time(table, row->caused_ns);
	table_time(table, row->longer_ns);
	table_cell(table, ranks_view_brick(full));
	table_time(table, row->path_ns);
	table_time(table, ranks_view_ns(clock->bound_ns));
}

void ranks_text(const struct ranks_view *view, FILE *out)
{
	const struct rank_job *job = view->job;
	struct terminal terminal;
	SCOPED const struct rank_row **rows = malloc((job->count + 1) * sizeof(*rows));
	SCOPED_TO(table_destroy)
	struct table *table = table_create(
		ranks_view_columns, sizeof(ranks_view_columns) / sizeof(*ranks_view_columns));
	size_t shown = view->most < job->count ? view->most : job->count;

	SCOPED_BY(ranks_lines_fini) struct ranks_lines lines;

	terminal_init(&terminal, out);
	ranks_lines_make(&lines, view);
	for (size_t i = 0; i < lines.count; i++)
		paragraph(&terminal, i ? RANKS_LABEL : 0, lines.list[i].label, "%s",
			lines.list[i].text ? lines.list[i].text : "");
	fputc('\n', out);
	for (uint32_t i = 0; rows && i < job->count; i++)
		rows[i] = &job->rows[i];
	if (!rows)
		return;
	/* of many, those that others waited for */
	if (shown < job->count)
		qsort(rows, job->count, sizeof(*rows), ranks_by_caused);
	qsort(rows, shown, sizeof(*rows), ranks_by_rank);
	for (size_t i = 0; i < shown; i++)
		ranks_text_row(table, job, rows[i]);
	table_hide_empty(table);
	table_print(table, &terminal);
	if (shown < job->count)
		fprintf(out, "\n%zu more ranks, for which others waited less.\n",
			job->count - shown);
}

/* How far a rank's clock is ahead of the first one at its first collective, or message. */
static json_t *ranks_view_ahead(const struct rank_job *job, const struct rank_row *row)
{
	const struct rank_clock *clock = ranks_view_clock(job, row);

	if (!clock->is_aligned)
		return json_null();
	uint64_t came_ns = row->calls.count ? row->calls.list[0].begin_ns : clock->origin_ns;
	/* whole: a double in JSON has nine digits */
	return json_integer((int64_t)(came_ns - job->clocks[0].origin_ns -
				      (uint64_t)rank_clock_time(clock, came_ns)));
}

/* The place of a brick in the list, to which it is added if it is new. numbers: places + 1. */
static json_t *ranks_strip_brick(
	const struct rank_job *job, json_t *list, uint32_t *numbers, uint32_t brick)
{
	if (!numbers[brick]) {
		json_t *one = json_object();
		json_put_texts(one, &job->bricks.items[brick], name, category);
		json_add(list, one);
		numbers[brick] = (uint32_t)json_array_size(list);
	}
	return json_number(numbers[brick] - 1);
}

/* The ranks with the most of the path in one array each, the others in one. */
static json_t *ranks_strip_json(const struct rank_job *job)
{
	enum { RANKS_APART = 64 };
	const struct rank_strip *strip = &job->strip;
	json_t *object = json_object(), *ranks = json_array(), *bricks = json_array();
	json_t *exchange = json_array(), *message = json_array(), *others = json_array();
	SCOPED const struct rank_row **rows = malloc((job->count + 1) * sizeof(*rows));
	SCOPED uint64_t *others_ns = calloc(strip->columns, sizeof(*others_ns));
	SCOPED uint32_t *numbers = calloc(job->ordered_bricks + 1, sizeof(*numbers));
	uint32_t count = 0;

	if (text_fail(rows && others_ns && numbers ? 0 : -ENOMEM))
		return object;
	for (uint32_t i = 0; i < job->count; i++)
		if (job->rows[i].strip)
			rows[count++] = &job->rows[i];
	qsort(rows, count, sizeof(*rows), ranks_by_path);
	uint32_t apart = count < RANKS_APART ? count : RANKS_APART;
	qsort(rows, apart, sizeof(*rows), ranks_by_rank);
	for (uint32_t i = 0; i < apart; i++) {
		json_t *one = json_object(), *ns = json_array(), *in = json_array();
		for (uint32_t k = 0; k < strip->columns; k++) {
			const struct rank_column *column = &rows[i]->strip[k];
			json_add(ns, json_number(column->ns));
			json_add(in, column->brick == RUN_NONE ? json_null()
							       : ranks_strip_brick(job, bricks,
									 numbers, column->brick));
		}
		json_put(one, "rank", json_integer(rows[i]->rank));
		json_put(one, "ns", ns);
		json_put(one, "bricks", in);
		json_add(ranks, one);
	}
	for (uint32_t i = apart; i < count; i++)
		for (uint32_t k = 0; k < strip->columns; k++)
			others_ns[k] += rows[i]->strip[k].ns;
	for (uint32_t k = 0; k < strip->columns; k++) {
		json_add(exchange, json_number(rank_job_ns(strip->exchange_ns[k])));
		json_add(message, json_number(rank_job_ns(strip->message_ns[k])));
		json_add(others, json_number(others_ns[k]));
	}
	json_put_numbers(object, strip, column_ns);
	json_put(object, "ranks", ranks);
	json_put(object, "bricks", bricks);
	json_put(object, "others_ns", others);
	json_put(object, "exchange_ns", exchange);
	json_put(object, "message_ns", message);
	return object;
}

static json_t *ranks_path_json(const struct rank_job *job)
{
	json_t *object = json_object(), *parts = json_array();

	json_put(object, "whole_ns", json_number(job->path_ns));
	json_put_rates(object, job, exchange_ns, message_ns);
	for (uint32_t i = 0; i < job->part_count; i++) {
		json_t *part = json_object();
		json_put(part, "rank", json_integer(job->rows[job->parts[i].row].rank));
		json_put(part, "brick", json_text(job->parts[i].brick));
		json_put(part, "ns", json_number(job->parts[i].ns));
		json_add(parts, part);
	}
	json_put(object, "parts", parts);
	json_put(object, "strip", ranks_strip_json(job));
	return object;
}

static json_t *ranks_steps_json(const struct rank_job *job)
{
	json_t *object = json_object(), *worst = json_array();

	json_put(object, "count", json_number(job->step_count));
	json_put(object, "imbalance", json_rate(job->step_imbalance));
	json_put(object, "imbalance_most", json_rate(job->step_imbalance_most));
	for (uint32_t i = 0; i < job->worst_count; i++) {
		const struct rank_step *step = job->worst[i];
		json_t *one = json_object();
		json_put_numbers(one, step, number, waited_ns);
		json_put(one, "imbalance", json_rate(rank_step_imbalance(step)));
		json_put(one, "late", json_integer(job->rows[step->late].rank));
		json_put_numbers(one, step, longer_ns);
		json_put(one, "longer_in", json_text(step->brick));
		json_put(one, "was_preempted", json_boolean(step->was_preempted));
		json_add(worst, one);
	}
	json_put(object, "worst", worst);
	return object;
}

json_t *ranks_to_json(const struct ranks_view *view)
{
	const struct rank_job *job = view->job;
	json_t *root = json_object(), *list = json_array();

	json_put(root, "schema", json_text("brick/ranks/1"));
	json_put(root, "world", json_number((uint64_t)job->rows[0].world));
	json_put_texts(root, job, launcher);
	json_put(root, "recordings", json_number(job->sources));
	json_put_numbers(root, job, collectives, paired, disordered);
	json_put_rates(root, job, disordered_ns, imbalance);
	json_put_numbers(root, view, unfinished, dropped);
	json_put(root, "missing", ranks_missing_json(job));
	json_put(root, "path", job->path_ns ? ranks_path_json(job) : json_null());
	json_put(root, "steps", job->step_count ? ranks_steps_json(job) : json_null());
	for (uint32_t i = 0; i < job->count; i++) {
		const struct rank_row *row = &job->rows[i];
		const struct rank_clock *clock = ranks_view_clock(job, row);
		json_t *object = ranks_row_json(job, row);
		json_put_texts(object, row, host);
		json_put(object, "recording", json_text(view->paths[row->source]));
		json_put_numbers(object, row, steps, tokens, wall_ns);
		json_put(object, "tokens_per_s", json_rate(ranks_view_rate(row)));
		json_put(object, "clock", json_number(row->clock));
		json_put(object, "clock_ahead_ns", ranks_view_ahead(job, row));
		json_put(object, "clock_drift",
			clock->is_aligned ? json_signed(1 / (1 + clock->drift) - 1) : json_null());
		json_put(object, "clock_bound_ns", json_rate(clock->bound_ns));
		json_put(object, "clock_residual_ns", json_rate(clock->residual_ns));
		json_add(list, object);
	}
	json_put(root, "ranks", list);
	return root;
}

void ranks_csv(const struct ranks_view *view, FILE *out)
{
	const struct rank_job *job = view->job;

	fputs("rank,world,host,recording,steps,tokens_per_s,collectives,bytes,work_ns,exposed_ns,"
	      "waited_ns,last,caused_ns,longer_ns,longer_in,was_preempted,"
	      "is_late,path_ns,clock_bound_ns",
		out);
	csv_end(out);
	for (uint32_t i = 0; i < job->count; i++) {
		const struct rank_row known = ranks_view_known(job, &job->rows[i]), *row = &known;
		const struct rank_clock *clock = ranks_view_clock(job, row);
		csv_integer(out, row->rank);
		csv_integer(out, row->world);
		csv_text(out, row->host);
		csv_text(out, view->paths[row->source]);
		csv_number(out, row->steps);
		csv_ratio(out, ranks_view_rate(row));
		csv_number(out, row->collectives);
		csv_number(out, row->bytes);
		csv_number(out, row->work_ns);
		csv_number(out, row->exposed_ns);
		csv_number(out, row->waited_ns);
		csv_number(out, row->last);
		csv_number(out, row->caused_ns);
		csv_number(out, row->longer_ns);
		csv_text(out, row->brick);
		csv_number(out, row->was_preempted);
		csv_number(out, isnan(row->behind_ns) ? ANALYSIS_UNKNOWN : row->is_late);
		csv_number(out, row->path_ns);
		csv_number(out, ranks_view_ns(clock->bound_ns));
		csv_end(out);
	}
}
