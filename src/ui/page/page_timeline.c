/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ran when, lane by lane, for the page: of the whole run in columns, of some ranges of time
 * sample by sample. A server answers for any range: with samples where they are few enough, else
 * with columns. Called by page.c and `brick serve`.
 */
#include <stdlib.h>

#include "analysis/accounts/launches.h"
#include "ui/page/lane_range.h"
#include "ui/page/pack.h"
#include "ui/page/page.h"
#include "ui/text/die.h"
#include "ui/text/exit_code.h"
#include "ui/text/json_out.h"
#include "ui/text/memory.h"

enum { SLICES_MAX = 30000, COLUMNS_MAX = 1500 };

/* What slices are of: sites, kernels, and the texts that both have. */
struct slices {
	const struct page *page;
	struct page_names names;
	uint32_t *number_of; /* [site_count]: + 1 */
	json_t *brick, *layer, *operation, *label;
	uint32_t count;
};

static json_t *optional_name(struct slices *s, const char *name)
{
	return name ? json_integer(page_names_add(&s->names, name)) : json_integer(-1);
}

static struct slices slices_begin(const struct page *page)
{
	return (struct slices){page, page_names_begin(),
		xcalloc(page->run->site_count + 1, sizeof(uint32_t)), json_array(), json_array(),
		json_array(), json_array(), 0};
}

static uint32_t site_number(struct slices *s, uint32_t site)
{
	const struct run *run = s->page->run;
	const struct run_site *from = &run->sites[site];

	if (s->number_of[site])
		return s->number_of[site] - 1;
	json_add(s->brick, optional_name(s, run->bricks[from->brick].name));
	json_add(s->layer, json_integer(from->layer < 0 ? -1 : from->layer));
	json_add(s->operation, optional_name(s, from->operation));
	json_add(s->label, optional_name(s, from->label));
	s->number_of[site] = ++s->count;
	return s->count - 1;
}

static void slices_end(struct slices *s, json_t *object)
{
	json_t *sites = json_object();

	json_put(sites, "brick", s->brick);
	json_put(sites, "layer", s->layer);
	json_put(sites, "operation", s->operation);
	json_put(sites, "label", s->label);
	json_put(object, "sites", sites);
	json_put(object, "names", page_names_end(&s->names));
	free(s->number_of);
}

/* The kernel of a queue's command: its name + 1. */
static uint64_t kernel_number(struct slices *s, uint32_t lane, size_t sample)
{
	const struct run *run = s->page->run;
	const struct run_command *command = launches_command(run, lane, (uint32_t)sample);

	if (!command || command->kernel == RUN_NONE)
		return 0;
	return (uint64_t)page_names_add(&s->names, run->kernels[command->kernel].name) + 1;
}

/* Begin since the one before, length, what, waiting after it, kernel of a queue. */
static json_t *lane_slices(
	struct slices *s, uint32_t number, uint64_t since_ns, uint64_t until_ns, size_t row)
{
	const struct run *run = s->page->run;
	const struct run_lane *lane = &run->lanes[number];
	struct lane_range range = lane_range(lane, since_ns, until_ns);
	struct pack pack = {0};
	uint64_t last_ns = run->start_ns, count = 0;

	for (size_t i = range.first; i < range.end; i++) {
		const struct run_sample *sample = &lane->samples[i];
		if (!lane_range_holds(sample, since_ns))
			continue;
		uint64_t begin_ns = sample->begin_ns > last_ns ? sample->begin_ns : last_ns;
		pack_add(&pack, begin_ns - last_ns);
		pack_add(&pack, sample->end_ns > begin_ns ? sample->end_ns - begin_ns : 0);
		pack_add(&pack, site_number(s, sample->site));
		pack_add(&pack, sample->wait_ns);
		pack_add(&pack, kernel_number(s, number, i));
		last_ns = begin_ns;
		count++;
	}
	if (!count)
		return NULL;
	json_t *object = json_object();
	json_put(object, "lane", json_number(row));
	json_put(object, "count", json_number(count));
	json_put(object, "slices", pack_end(&pack));
	return object;
}

static json_t *window_json(struct slices *s, uint64_t since_ns, uint64_t until_ns)
{
	const struct page *page = s->page;
	json_t *object = json_object(), *lanes = json_array();

	for (size_t i = 0; i < page->bins.lane_total; i++) {
		json_t *lane = lane_slices(s, page->bins.lanes[i], since_ns, until_ns, i);
		if (lane)
			json_add(lanes, lane);
	}
	json_put(object, "begin_ns", json_number(since_ns - page->run->start_ns));
	json_put(object, "end_ns", json_number(until_ns - page->run->start_ns));
	json_put(object, "lanes", lanes);
	return object;
}

/* Steps of which each sample is in the page; the gaps between neighbours go with them. */
static json_t *windows_json(struct slices *s)
{
	const struct page *page = s->page;
	size_t count;
	SCOPED uint32_t *kept = page_choose_kept(page, &count);
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++) {
		uint64_t since_ns = page->run->steps[kept[i]].begin_ns;
		uint64_t until_ns = page_step_end_ns(page, kept[i]);
		if (i + 1 < count && kept[i + 1] == kept[i] + 1 &&
			page->run->steps[kept[i + 1]].begin_ns > until_ns)
			until_ns = page->run->steps[kept[i + 1]].begin_ns;
		if (since_ns >= page->run->start_ns && until_ns > since_ns)
			json_add(array, window_json(s, since_ns, until_ns));
	}
	run_release(page->run);
	return array;
}

static json_t *columns_json(const struct page *page, const struct lane_bins *bins)
{
	json_t *object = json_object(), *lanes = json_array(), *bricks = json_array();

	for (uint32_t i = 0; i < page->run->brick_count; i++)
		json_add(bricks, json_text(page->run->bricks[i].name));
	for (size_t i = 0; i < bins->lane_total; i++) {
		struct pack brick = {0}, percent = {0};
		json_t *lane = json_object();
		for (size_t k = 0; k < bins->count; k++) {
			pack_add(&brick, bins->bins[i * bins->count + k].brick);
			pack_add(&percent, bins->bins[i * bins->count + k].percent);
		}
		json_put(lane, "brick", pack_end(&brick));
		json_put(lane, "percent", pack_end(&percent));
		json_add(lanes, lane);
	}
	json_put(object, "begin_ns", json_number(bins->begin_ns - page->run->start_ns));
	json_put(object, "column_ns", json_number(bins->bin_ns));
	json_put(object, "count", json_number(bins->count));
	json_put(object, "bricks", bricks);
	json_put(object, "lanes", lanes);
	return object;
}

static json_t *lanes_json(const struct page *page)
{
	json_t *array = json_array();

	for (size_t i = 0; i < page->bins.lane_total; i++) {
		const struct run_lane *lane = &page->run->lanes[page->bins.lanes[i]];
		json_t *object = json_object();
		json_put(object, "name", json_text(lane->name));
		json_put(object, "tid", json_number(lane->tid));
		json_put(object, "process", json_number(page->run->processes[lane->process].pid));
		json_put(object, "queue", json_boolean(lane->kind == BRICK_LANE_QUEUE));
		json_put(object, "backend", json_text(lane->backend));
		json_add(array, object);
	}
	return array;
}

static size_t lanes_with_samples(const struct run *run)
{
	size_t count = 0;

	for (size_t i = 0; i < run->lane_count; i++)
		count += run->lanes[i].sample_count != 0;
	return count;
}

json_t *page_timeline(const struct page *page, bool whole)
{
	const struct run *run = page->run;
	struct slices slices = slices_begin(page);
	json_t *object = json_object();

	json_put(object, "wall_ns",
		json_number(run->end_ns > run->start_ns ? run->end_ns - run->start_ns : 0));
	json_put(object, "lanes", lanes_json(page));
	json_put(object, "lanes_left_out",
		json_number(lanes_with_samples(run) - page->bins.lane_total));
	json_put(object, "columns", columns_json(page, &page->bins));
	json_put(object, "windows", whole ? windows_json(&slices) : json_array());
	slices_end(&slices, object);
	return object;
}

static size_t samples_between(const struct page *page, uint64_t since_ns, uint64_t until_ns)
{
	size_t samples = 0;

	for (size_t i = 0; i < page->bins.lane_total; i++) {
		const struct run_lane *lane = &page->run->lanes[page->bins.lanes[i]];
		samples += run_sample_from(lane, until_ns) - run_sample_from(lane, since_ns);
	}
	return samples;
}

static json_t *range_columns(const struct page *page, uint64_t since_ns, uint64_t until_ns)
{
	SCOPED_BY(lane_bins_fini) struct lane_bins bins;
	size_t lanes = page->bins.lane_total;

	if (lane_bins_init(&bins, page->run, &page->index, page->bins.lanes, lanes, since_ns,
		    until_ns, COLUMNS_MAX / (lanes / 40 + 1)) < 0)
		die(CLI_SYSTEM, "not enough memory for the time line");
	lane_bins_fill(&bins);
	return columns_json(page, &bins);
}

json_t *page_range_json(const struct page *page, uint64_t since_ns, uint64_t until_ns)
{
	struct slices slices = slices_begin(page);
	json_t *object = json_object(), *windows = json_array();
	uint64_t start_ns = page->run->start_ns;
	uint64_t wall_ns = page->run->end_ns > start_ns ? page->run->end_ns - start_ns : 1;

	until_ns = !until_ns ? 1 : until_ns < wall_ns ? until_ns : wall_ns;
	since_ns = since_ns < until_ns ? since_ns : until_ns - 1;
	bool few = samples_between(page, start_ns + since_ns, start_ns + until_ns) <= SLICES_MAX;
	if (few)
		json_add(windows, window_json(&slices, start_ns + since_ns, start_ns + until_ns));
	else
		json_put(object, "columns",
			range_columns(page, start_ns + since_ns, start_ns + until_ns));
	json_put(object, "windows", windows);
	slices_end(&slices, object);
	run_release(page->run);
	return object;
}
