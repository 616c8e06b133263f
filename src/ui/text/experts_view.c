/* SPDX-License-Identifier: Apache-2.0 */
/* Experts for people, as JSON (schema brick/experts/1), and as CSV (experts_view.h). */
#include "ui/text/experts_view.h"

#include <inttypes.h>
#include <string.h>

#include "analysis/statistics/unknown.h"
#include "analysis/cost/losses.h"
#include "ui/text/csv_out.h"
#include "ui/text/json_out.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/text_table.h"

enum { MAP_WIDTH = 64 };

static const struct table_column layer_columns[] = {{"LAYER", TABLE_RIGHT, 0},
	{"EXPERTS", TABLE_RIGHT, 0}, {"UNUSED", TABLE_RIGHT, 0}, {"EVEN AS", TABLE_RIGHT, 0},
	{"TOKENS", TABLE_RIGHT, 0}, {"HOTTEST", TABLE_RIGHT, 0}, {"ITS SHARE", TABLE_RIGHT, 0},
	{"READ", TABLE_RIGHT, 1}, {"TIME", TABLE_RIGHT, 1}, {"EACH", TABLE_RIGHT, 1}};

static const struct table_column kept_columns[] = {{"  KEPT", TABLE_RIGHT, 0},
	{"MEMORY", TABLE_RIGHT, 0}, {"TOKENS", TABLE_RIGHT, 0}, {"READS", TABLE_RIGHT, 0}};

static void bytes_cell(struct table *table, uint64_t bytes)
{
	char text[UNITS_BYTES];

	table_cell(table, units_bytes(text, bytes));
}

/* A shade by the multiple of an even share, in powers of two. */
static char experts_view_shade(double multiple)
{
	static const char shades[] = ".:-=+*#";
	double least = 0.25;
	size_t i = 0;

	if (multiple <= 0)
		return ' ';
	for (; i + 2 < sizeof(shades) && multiple >= least; i++)
		least *= 2;
	return shades[i];
}

static void experts_view_print_map(const struct expert_model *m, const struct terminal *terminal)
{
	FILE *out = terminal->out;
	uint32_t most = 0;

	for (size_t i = 0; i < m->layers.count; i++)
		most = m->layers.items[i].experts > most ? m->layers.items[i].experts : most;
	uint32_t each = (most + MAP_WIDTH - 1) / MAP_WIDTH;
	SCOPED char *places =
		each > 1 ? text_format(", %" PRIu32 " experts in each place", each) : text_copy("");
	fputc('\n', out);
	paragraph(terminal, 0, "", "Tokens by layer and expert, from expert 0 on%s.",
		places ? places : "");
	paragraph(terminal, 0, "",
		"' ' none, . under 1/4 of an even share, : under 1/2, - under 1, = 1 to 2, + 2 to "
		"4, * 4 to 8, # more");
	for (size_t i = 0; i < m->layers.count; i++) {
		const struct expert_layer *l = &m->layers.items[i];
		fprintf(out, "%5" PRId32 " |", l->layer);
		for (uint32_t k = 0; k < l->experts; k += each) {
			uint64_t tokens = 0;
			uint32_t n = 0;
			for (; n < each && k + n < l->experts; n++)
				tokens += l->expert[k + n].tokens;
			fputc(experts_view_shade(l->tokens ? (double)tokens * l->experts /
								     (double)l->tokens / n
							   : 0),
				out);
		}
		fputs("|\n", out);
	}
}

static void print_kept(const struct expert_model *m, const struct terminal *terminal)
{
	struct table *table =
		table_create(kept_columns, sizeof(kept_columns) / sizeof(*kept_columns));

	if (m->kept_count) {
		fputc('\n', terminal->out);
		paragraph(terminal, 0, "",
			"The hottest experts of each layer in fast memory would have served of "
			"this recording");
	}
	for (uint32_t i = 0; i < m->kept_count; i++) {
		table_row(table, STYLE_PLAIN);
		table_format(table, "%" PRIu32, m->kept[i].experts);
		bytes_cell(table, m->kept[i].bytes);
		table_percent(table, m->kept[i].tokens);
		table_percent(table, m->kept[i].reads);
	}
	if (m->kept_count)
		table_print(table, terminal);
	table_destroy(table);
}

void experts_text(const struct run *run, const struct experts *e, FILE *out)
{
	struct terminal terminal;
	char lost[UNITS_BYTES];

	terminal_init(&terminal, out);
	for (size_t i = 0; i < e->models.count; i++) {
		const struct expert_model *m = &e->models.items[i];
		if (i)
			fputc('\n', out);
		const char *name = run_model_name(run, m->process, m->model);
		uint64_t tokens = 0, bytes = 0, experts = 0;
		char count[UNITS_BYTES], read[UNITS_BYTES], of[UNITS_BYTES];
		for (size_t k = 0; k < m->layers.count; k++) {
			tokens += m->layers.items[k].tokens;
			bytes += m->layers.items[k].bytes;
			experts += m->layers.items[k].experts;
		}
		paragraph(&terminal, 0, "",
			"%s%s%zu layer%s with %s experts: tokens chose %s times, %s of weights "
			"were read",
			name ? name : "", name ? ", " : "", m->layers.count,
			plural_s(m->layers.count), units_count(of, experts),
			units_count(count, tokens), units_bytes(read, bytes));
		fputc('\n', terminal.out);
		struct table *table =
			table_create(layer_columns, sizeof(layer_columns) / sizeof(*layer_columns));
		for (size_t k = 0; k < m->layers.count; k++) {
			const struct expert_layer *l = &m->layers.items[k];
			table_row(table, STYLE_PLAIN);
			table_format(table, "%" PRId32, l->layer);
			table_count(table, l->experts);
			table_count(table, l->unused);
			table_number(table, l->even_as);
			table_count(table, l->tokens);
			table_format(table, "%" PRIu32, l->most);
			table_percent(table, known_ratio(l->expert[l->most].tokens, l->tokens));
			bytes_cell(table, l->bytes);
			table_time(table, l->ns);
			table_time(table, l->executions ? l->ns / l->executions : ANALYSIS_UNKNOWN);
		}
		table_print(table, &terminal);
		table_destroy(table);
		experts_view_print_map(m, &terminal);
		print_kept(m, &terminal);
	}
	if (e->unknown) {
		fputc('\n', out);
		paragraph(&terminal, 0, "",
			"The experts of %" PRIu64 " of %" PRIu64
			" products are not known: a device computed them, or their numbers were "
			"not read.",
			e->unknown, e->executions);
	}
	if (losses_dropped(run)) {
		fputc('\n', out);
		paragraph(&terminal, 0, "", "%s records were lost: counts are too low.",
			units_count(lost, losses_dropped(run)));
	}
}

static json_t *layer_json(const struct expert_layer *l)
{
	json_t *o = json_object(), *list = json_array();

	json_put(o, "layer", json_integer(l->layer));
	json_put_numbers(o, l, experts, unused, tokens, bytes, expert_bytes, executions, ns);
	json_put(o, "even_as_experts", json_rate(l->even_as));
	json_put(o, "hottest", json_number(l->most));
	for (uint32_t i = 0; i < l->experts; i++) {
		json_t *expert = json_object();
		json_put(expert, "expert", json_number(i));
		json_put_numbers(expert, &l->expert[i], tokens, bytes);
		json_add(list, expert);
	}
	json_put(o, "by_expert", list);
	return o;
}

static json_t *experts_view_model_json(const struct run *run, const struct expert_model *m)
{
	json_t *o = json_object(), *layers = json_array(), *list = json_array();

	json_put(o, "pid", json_number(run->processes[m->process].pid));
	json_put(o, "model", json_number(m->model == RUN_NONE ? ANALYSIS_UNKNOWN : m->model));
	json_put(o, "model_name", json_text(run_model_name(run, m->process, m->model)));
	for (size_t i = 0; i < m->layers.count; i++)
		json_add(layers, layer_json(&m->layers.items[i]));
	json_put(o, "layers", layers);
	for (uint32_t i = 0; i < m->kept_count; i++) {
		json_t *kept = json_object();
		json_put_numbers(kept, &m->kept[i], experts, bytes);
		json_put(kept, "token_share", json_rate(m->kept[i].tokens));
		json_put(kept, "read_share", json_rate(m->kept[i].reads));
		json_add(list, kept);
	}
	json_put(o, "kept", list);
	return o;
}

json_t *experts_to_json(const struct run *run, const struct experts *e)
{
	json_t *o = json_object(), *models = json_array();

	json_put(o, "schema", json_text("brick/experts/1"));
	for (size_t i = 0; i < e->models.count; i++)
		json_add(models, experts_view_model_json(run, &e->models.items[i]));
	json_put(o, "models", models);
	json_put(o, "executions", json_number(e->executions));
	json_put(o, "unknown_executions", json_number(e->unknown));
	json_put(o, "dropped_records", json_number(losses_dropped(run)));
	return o;
}

void experts_csv(const struct run *run, const struct experts *e, FILE *out)
{
	static const char *const titles[] = {"pid", "model", "layer", "expert", "tokens", "bytes"};

	for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++)
		csv_text(out, titles[i]);
	csv_end(out);
	for (size_t i = 0; i < e->models.count; i++) {
		const struct expert_model *m = &e->models.items[i];
		for (size_t k = 0; k < m->layers.count; k++) {
			const struct expert_layer *l = &m->layers.items[k];
			for (uint32_t n = 0; n < l->experts; n++) {
				csv_number(out, run->processes[m->process].pid);
				csv_number(out, m->model == RUN_NONE ? ANALYSIS_UNKNOWN : m->model);
				csv_integer(out, l->layer);
				csv_number(out, n);
				csv_number(out, l->expert[n].tokens);
				csv_number(out, l->expert[n].bytes);
				csv_end(out);
			}
		}
	}
}
