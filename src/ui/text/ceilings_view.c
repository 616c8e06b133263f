/* SPDX-License-Identifier: Apache-2.0 */
/* Ceilings for people, and the file that keeps them for a machine. */
#include "ui/text/ceilings_view.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/unknown.h"
#include "analysis/machine/ceilings_file.h"
#include "base/date.h"
#include "base/number.h"
#include "ui/text/terminal.h"
#include "ui/text/text.h"
#include "ui/text/text_table.h"

static struct ceilings *read_kept(const char *path)
{
	struct ceilings_error error;
	struct ceilings *ceilings = NULL;
	int rc = ceilings_read(&ceilings, path, &error);

	if (rc && rc != -ENOENT)
		warn("%s: kept ceilings cannot be used: at byte %zu: %s", path, error.offset,
			error.text);
	return ceilings;
}

struct ceilings *ceilings_kept(const char *host, const char *cpu, char **where)
{
	static struct cpu_info info;
	char *path = ceilings_cache_path(host, cpu);
	struct ceilings *ceilings = path ? read_kept(path) : NULL;

	cpu_info_read(&info);
	bool here = host && !strcmp(host, info.host);
	const char *stale = ceilings && here ? ceilings_stale(ceilings, &info) : NULL;
	if (stale) {
		warn("%s: kept ceilings cannot be used: %s", path, stale);
		ceilings_destroy(ceilings);
		ceilings = NULL;
	}
	if (where)
		*where = path;
	else
		free(path);
	return ceilings;
}

void ceilings_learn(
	struct ceilings *kept, const char *where, const struct roofline *roofline, int learned)
{
	int rc = learned < 0 ? learned : roofline_learn(kept, roofline);

	rc = rc < 0 ? rc : rc | learned;
	if (rc > 0)
		rc = ceilings_write(kept, where);
	if (rc < 0)
		warn("%s: what was reached is not kept: %s", where, strerror(-rc));
}

enum { LABEL = 10, MAX_COLUMNS = 12, CELL = 40 };

struct printer {
	const struct ceilings *ceilings;
	const struct terminal *terminal;
	uint32_t threads[MAX_COLUMNS]; /* in ascending order */
	size_t thread_count;
};

static void ceilings_view_add_threads(struct printer *p, uint32_t threads)
{
	size_t at = 0;

	while (at < p->thread_count && p->threads[at] < threads)
		at++;
	if (p->thread_count == MAX_COLUMNS || (at < p->thread_count && p->threads[at] == threads))
		return;
	memmove(&p->threads[at + 1], &p->threads[at], (p->thread_count - at) * sizeof(uint32_t));
	p->threads[at] = threads;
	p->thread_count++;
}

static void ceilings_view_print_heading(const struct printer *p)
{
	const struct ceilings *c = p->ceilings;
	char text[DATE_BYTES], took[UNITS_BYTES], meant[UNITS_BYTES];
	const char *date = date_text(text, c->unix_ns, "%Y-%m-%d %H:%M:%S UTC");

	say(p, "Machine", "%s, %u CPU%s%s%s%s%s", c->cpu[0] ? c->cpu : "unknown CPU", c->cpus,
		c->cpus == 1 ? "" : "s", c->microcode[0] ? ", microcode " : "", c->microcode,
		c->host[0] ? ", " : "", c->host);
	uint64_t meant_ns = ceilings_budget_ns(c->quick) +
			    c->device_count * ceilings_device_budget_ns(c->quick);
	SCOPED char *late = c->took_ns > meant_ns + meant_ns / 2
				    ? text_format(" instead of %s, as other programs used the CPUs",
					      units_time(meant, meant_ns))
				    : text_copy("");
	say(p, "Measured", "%s, in %s%s%s", date ? date : "at an unknown time",
		units_time(took, c->took_ns), late,
		c->quick ? "; 'brick ceilings' without --quick measures with more care" : "");
}

/* "123  4.0%": the best, and how far the middle of the repetitions was from it. */
static void add_figure(struct table *table, const struct ceilings_figure *f)
{
	char best[UNITS_BYTES];

	if (!f)
		table_cell(table, "-");
	else if (f->count < 2)
		table_format(table, "%s     -", units_number(best, f->best));
	else
		table_format(
			table, "%s %4.1f%%", units_number(best, f->best), 100 * ceilings_spread(f));
}

/* Columns: names, then one for each number of threads. */
struct columns {
	struct table_column columns[3 + MAX_COLUMNS];
	char titles[MAX_COLUMNS][CELL];
};

static struct table *ceilings_view_open_table(
	const struct printer *p, struct columns *c, const char *a, const char *b, const char *third)
{
	const char *names[] = {a, b, third};
	size_t count = 0;

	for (size_t i = 0; i < 3 && names[i]; i++)
		c->columns[count++] = (struct table_column){names[i], 1, 0};
	for (size_t i = 0; i < p->thread_count; i++) {
		snprintf(c->titles[i], CELL, "%u THREAD%s", p->threads[i],
			p->threads[i] == 1 ? "" : "S");
		/* The fewest and the most threads stay when there is no room. */
		unsigned rank = i == 0 || i + 1 == p->thread_count ? 0 : (unsigned)(i + 1);
		c->columns[count++] = (struct table_column){c->titles[i], 0, rank};
	}
	return table_create(c->columns, count);
}

static void close_table(const struct printer *p, struct table *table)
{
	fputc('\n', p->terminal->out);
	table_print(table, p->terminal);
	table_destroy(table);
}

static const struct ceilings_compute *compute_row(
	const struct ceilings *c, const struct ceilings_compute *like, uint32_t threads)
{
	for (size_t i = 0; i < c->compute_count; i++) {
		const struct ceilings_compute *row = &c->compute[i];
		if (row->threads == threads && !strcmp(row->isa, like->isa) &&
			!strcmp(row->type, like->type))
			return row;
	}
	return NULL;
}

static void print_compute(const struct printer *p)
{
	const struct ceilings *c = p->ceilings;
	struct columns columns;
	struct table *table = ceilings_view_open_table(p, &columns, "GFLOP/s", "TYPE", NULL);

	for (size_t i = 0; i < c->compute_count; i++) {
		const struct ceilings_compute *first = NULL;
		for (size_t k = 0; k < p->thread_count && !first; k++)
			first = compute_row(c, &c->compute[i], p->threads[k]);
		if (first == &c->compute[i]) {
			table_row(table, STYLE_PLAIN);
			table_cell(table, first->isa);
			table_cell(table, first->type);
			for (size_t k = 0; k < p->thread_count; k++) {
				const struct ceilings_compute *row =
					compute_row(p->ceilings, first, p->threads[k]);
				add_figure(table, row ? &row->rate : NULL);
			}
		}
	}
	close_table(p, table);
}

static void add_size(struct table *table, uint64_t bytes)
{
	if (!bytes)
		table_cell(table, "");
	else if (bytes >= 1 << 20)
		table_format(table, "%.4g MiB", (double)bytes / (1 << 20));
	else
		table_format(table, "%.4g KiB", (double)bytes / (1 << 10));
}

static void print_bandwidth(const struct printer *p)
{
	static const char *const kernels[] = {"read", "copy", "triad"};
	struct columns columns;
	struct table *table = ceilings_view_open_table(p, &columns, "GB/s", "SIZE", "KERNEL");

	const struct ceilings *c = p->ceilings;
	for (size_t i = 0; i < c->level_count; i++) {
		const struct ceilings_level *level = &c->levels[i];
		/* the working sets that a cache held */
		if (i + 1 < c->level_count) {
			table_row(table, STYLE_PLAIN);
			table_cell(table, level->name);
			add_size(table, level->bytes);
			table_cell(table, "holds");
			for (size_t n = 0; n < p->thread_count; n++) {
				uint64_t bytes = 0;
				for (size_t k = 0; k < c->usable_count; k++)
					if (c->usable[k].threads == p->threads[n] &&
						!strcmp(c->usable[k].level, level->name))
						bytes = c->usable[k].bytes;
				add_size(table, bytes);
			}
		}
		for (size_t k = 0; k < 3; k++) {
			table_row(table, STYLE_PLAIN);
			table_cell(table, level->name);
			add_size(table, level->bytes);
			table_cell(table, kernels[k]);
			for (size_t n = 0; n < p->thread_count; n++) {
				const struct ceilings_bandwidth *row = ceilings_fastest_of(
					c, level->name, kernels[k], p->threads[n]);
				add_figure(table, row ? &row->rate : NULL);
			}
		}
	}
	close_table(p, table);
}

static void print_latency(const struct printer *p)
{
	static const struct table_column columns[] = {
		{"LATENCY", 1, 0}, {"OF", 1, 0}, {"BEST", 0, 0}, {"MEDIAN", 0, 0}};
	const struct ceilings *c = p->ceilings;
	struct table *table = table_create(columns, 4);

	for (size_t i = 0; i < c->latency_count; i++) {
		const struct ceilings_latency *row = &c->latency[i];
		table_row(table, STYLE_PLAIN);
		table_cell(table, row->what);
		if (row->threads > 1)
			table_format(table, "%u %s", row->threads, row->backend);
		else
			table_cell(table, row->backend);
		table_time(table, number_of_double(row->ns.best + 0.5));
		table_time(table, number_of_double(row->ns.median + 0.5));
	}
	if (c->latency_count)
		close_table(p, table);
	else
		table_destroy(table);
}

static void ceilings_view_print_devices(const struct printer *p)
{
	static const struct table_column columns[] = {{"DEVICE", 1, 0}, {"BY", 1, 0},
		{"GFLOP/s F32", 0, 0}, {"GB/s CACHE", 0, 2}, {"GB/s MEMORY", 0, 0},
		{"EMPTY KERNEL", 0, 1}};
	const struct ceilings *c = p->ceilings;

	if (!c->device_count)
		return;
	struct table *table = table_create(columns, 6);
	for (size_t i = 0; i < c->device_count; i++) {
		const struct ceilings_device *d = &c->devices[i];
		const struct ceilings_compute *f32 = ceilings_peak(&d->can, "f32", 1);
		const struct ceilings_bandwidth *cache = ceilings_fastest(&d->can, "cache", 1);
		const struct ceilings_bandwidth *memory = ceilings_fastest(&d->can, "memory", 1);
		const struct ceilings_latency *kernel =
			ceilings_latency_of(&d->can, "kernel", "kernel", 1);
		table_row(table, STYLE_PLAIN);
		table_cell(table, d->name);
		table_cell(table, d->backend);
		add_figure(table, f32 ? &f32->rate : NULL);
		add_figure(table, cache ? &cache->rate : NULL);
		add_figure(table, memory ? &memory->rate : NULL);
		table_time(
			table, kernel ? number_of_double(kernel->ns.best + 0.5) : ANALYSIS_UNKNOWN);
	}
	close_table(p, table);
}

static void print_end(const struct printer *p, const char *where)
{
	const struct ceilings *c = p->ceilings;

	fputc('\n', p->terminal->out);
	for (size_t i = 0; i < c->missing_count; i++)
		say(p, i ? "" : "Missing", "%s: %s", c->missing[i].what, c->missing[i].reason);
	if (c->device_count)
		say(p, "Devices",
			"their kernels are timed by their own clocks: multiplying and adding in "
			"f32, without units for matrices; reading a set that its caches hold, and "
			"one that they do not.");
	if (ceilings_noisy(c)) {
		say_in(p, STYLE_WARN, "Doubt",
			"repetitions differ much: the machine was doing other things. Let it "
			"rest, and measure again with --force.");
	}
	say(p, "Best",
		"of the repetitions is shown, and how far their middle was below it. A "
		"multiply-add is two operations; of i8, GOP/s. Bytes count as read and "
		"written by the kernel.");
	if (where)
		say(p, "Kept in", "%s", where);
}

void ceilings_print(const struct ceilings *ceilings, const char *where, FILE *out)
{
	struct terminal terminal;
	struct printer p = {.ceilings = ceilings, .terminal = &terminal};

	terminal_init(&terminal, out);
	for (size_t i = 0; i < ceilings->compute_count; i++)
		ceilings_view_add_threads(&p, ceilings->compute[i].threads);
	for (size_t i = 0; i < ceilings->bandwidth_count; i++)
		ceilings_view_add_threads(&p, ceilings->bandwidth[i].threads);
	ceilings_view_print_heading(&p);
	print_compute(&p);
	print_bandwidth(&p);
	print_latency(&p);
	ceilings_view_print_devices(&p);
	print_end(&p, where);
}
