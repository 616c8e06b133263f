/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the run says of itself: instants with nested annotations (see writer_run.c). Later ones
 * replace earlier ones. Values in ticks are kept as they are until the clocks are known
 * (build_finish.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include "brick/error.h"
#include "trace/load_own.h"

enum { MAX_SOURCE = 16 << 20 };

/* A text of the event replaces *to; absent: it stays. */
void load_text_of(struct load *l, struct pb_reader event, const char *name, char **to)
{
	struct load_annotation a;

	if (!load_find(event, EVENT_ANNOTATIONS, name, &a) || !a.text.at)
		return;
	free(*to);
	*to = build_text(&l->build, (const char *)a.text.at, pb_size(a.text));
}

/* A list of texts replaces *to. */
static void list_of(struct load *l, struct pb_reader event, const char *name, char ***to)
{
	struct load_annotation list, item;
	size_t count = 0;

	if (!load_find(event, EVENT_ANNOTATIONS, name, &list))
		return;
	for (struct pb_reader r = list.inside; load_next(&r, ANNOTATION_ARRAY, &item) > 0;)
		count++;
	char **texts = calloc(count + 1, sizeof *texts);
	if (!texts) {
		build_no_memory(&l->build);
		return;
	}
	size_t i = 0;
	for (struct pb_reader r = list.inside; load_next(&r, ANNOTATION_ARRAY, &item) > 0;)
		if (item.text.at && (texts[i] = build_text(&l->build, (const char *)item.text.at,
					     pb_size(item.text))))
			i++;
	run_list_free(*to);
	*to = texts;
}

static void clock_of(struct pb_reader event, struct brick_clock *clock)
{
	struct load_annotation a;
	struct brick_clock read = {0};

	if (!load_find(event, EVENT_ANNOTATIONS, "clock", &a))
		return;
#define FORMAT_X(field) \
	read.field = (__typeof__(read.field))load_find_uint(a.inside, ANNOTATION_DICT, #field, 0);
	FORMAT_CLOCK_FIELDS(FORMAT_X)
#undef FORMAT_X
	if (read.mult && read.shift < 64)
		*clock = read;
}

void load_ledger(struct pb_reader event, struct brick_ledger *ledger)
{
	struct load_annotation a;

	if (!load_find(event, EVENT_ANNOTATIONS, "ledger", &a))
		return;
#define FORMAT_X(field) \
	ledger->field = load_find_uint(a.inside, ANNOTATION_DICT, #field, ledger->field);
	FORMAT_LEDGER_FIELDS(FORMAT_X)
#undef FORMAT_X
}

static int on_run(struct load *l, struct pb_reader event)
{
	struct run *run = l->build.run;
	uint64_t version = load_uint(event, "format", 0);

	if (!version)
		return 0;
	if (version > FORMAT_VERSION) {
		load_fail(l, BRICK_EVERSION, "format %llu; this Brick reads up to %d",
			(unsigned long long)version, FORMAT_VERSION);
		return 0;
	}
	l->is_brick = 1;
	run->start_unix_ns = load_uint(event, "start_unix_ns", 0);
	run->start_ns = load_uint(event, "start_ns", 0);
	load_text_of(l, event, "host", &run->host);
	load_text_of(l, event, "cpu", &run->cpu);
	load_text_of(l, event, "version", &run->version);
	list_of(l, event, "command", &run->command);
	return 1;
}

static int on_clock(struct load *l, struct pb_reader event)
{
	clock_of(event, &l->build.run->clock);
	l->build.has_clock = l->build.run->clock.mult != 0;
	return l->build.has_clock;
}

struct build_process *load_process(struct load *l, struct pb_reader event, uint64_t *number)
{
	*number = load_uint(event, "process", UINT64_MAX);
	return *number < l->build.run->process_count ? &l->build.processes[*number] : NULL;
}

static int on_process(struct load *l, struct pb_reader event)
{
	struct run *run = l->build.run;
	uint64_t number;
	struct build_process *state = load_process(l, event, &number);

	if (!state) {
		if (number != run->process_count ||
			!build_grow(&l->build, &l->flow_bases, &l->flow_base_capacity,
				run->process_count, sizeof *l->flow_bases) ||
			!(state = build_process(&l->build)))
			return 0;
	}
	struct run_process *process = &run->processes[number];
	process->pid = (uint32_t)load_uint(event, "pid", 0);
	process->parent = (uint32_t)load_uint(event, "parent", 0);
	process->rank = (int32_t)load_uint(event, "rank", (uint64_t)-1);
	process->world = (int32_t)load_uint(event, "world", (uint64_t)-1);
	process->mode = (uint32_t)load_uint(event, "mode", 0);
	process->start_ns = load_uint(event, "start_ns", 0);
	load_text_of(l, event, "host", &process->host);
	load_text_of(l, event, "executable", &process->executable);
	list_of(l, event, "command", &process->command);
	l->flow_bases[number] = load_uint(event, "flow_base", 0);
	load_uints(state, event, pair_cost, pair_cost_low, pair_cost_high, pair_cost_streamed,
		pair_cost_cold, pair_stream_ticks);
	load_ledger(event, &process->ledger);
	clock_of(event, &state->clock);
	process->clock_source = state->clock.source;
	return 1;
}

/* The sequence that says when the lane's threads were off their CPUs, if there is one. */
static int off_cpu_sequence(struct load *l, struct build_lane *lane, uint64_t id)
{
	if (!id)
		return 1;
	struct load_sequence *s = id <= UINT32_MAX ? load_sequence(l, (uint32_t)id) : NULL;
	if (!s || s->lane || s->off_cpu.lane)
		return 0;
	s->off_cpu.lane = lane;
	return 1;
}

/* A lane and its sequence belong together from here on; neither can have had another one. */
static int on_lane(struct load *l, struct pb_reader event)
{
	struct run *run = l->build.run;
	uint64_t number = load_uint(event, "lane", UINT64_MAX);
	uint64_t process = load_uint(event, "process", UINT64_MAX);
	uint64_t id = load_uint(event, "sequence", 0);

	if (number != run->lane_count || process >= run->process_count || !id || id > UINT32_MAX)
		return 0;
	struct load_sequence *s = load_sequence(l, (uint32_t)id);
	if (!s || s->lane || s->off_cpu.lane ||
		!(s->lane = build_lane(&l->build, (uint32_t)process)))
		return 0;
	struct run_lane *lane = &run->lanes[number];
	lane->kind = (uint32_t)load_uint(event, "kind", 0);
	lane->tid = lane->first_tid = load_uint(event, "tid", 0);
	load_text_of(l, event, "name", &lane->name);
	load_text_of(l, event, "backend", &lane->backend);
	lane->queue_flags = (uint32_t)load_uint(event, "queue_flags", 0);
	s->lane->start_ticks = load_uint(event, "start_ticks", 0);
	return off_cpu_sequence(l, s->lane, load_uint(event, "off_cpu_sequence", 0));
}

static int on_notes(struct load *l, struct pb_reader event)
{
	struct load_annotation text;
	uint64_t number;

	if (!load_process(l, event, &number) ||
		!load_find(event, EVENT_ANNOTATIONS, "text", &text) || !text.text.at)
		return 0;
	return build_notes(
		&l->build, (uint32_t)number, (const char *)text.text.at, pb_size(text.text));
}

static void on_machine(struct pb_reader event, struct machine_use *use)
{
	struct load_annotation name;

	*use = (struct machine_use){0};
	load_uints(use, event, busy_ns, steal_ns, idle_ns, interrupt_ns, interrupt_cpu,
		interrupt_cpu_ns, interrupt_cpu_all_ns, throttled_ns, neighbour_ns);
	if (load_find(event, EVENT_ANNOTATIONS, "neighbour", &name) && name.text.at)
		snprintf(use->neighbour, sizeof use->neighbour, "%.*s", (int)pb_size(name.text),
			(const char *)name.text.at);
}

/* By time, as whoever looks for one relies on. */
static void add_gap(struct off_cpu_account *to, struct pb_reader dict)
{
	const struct off_cpu_gap gap = {
		.begin_ns = load_find_uint(dict, ANNOTATION_DICT, "begin_ns", 0),
		.end_ns = load_find_uint(dict, ANNOTATION_DICT, "end_ns", UINT64_MAX),
		.per_s = load_find_uint(dict, ANNOTATION_DICT, "per_s", 0),
		.each_ns = load_find_uint(dict, ANNOTATION_DICT, "each_ns", 0),
	};
	uint64_t free_ns = to->gap_count ? to->gaps[to->gap_count - 1].end_ns : 0;

	if (to->gap_count < OFF_CPU_GAPS && gap.begin_ns >= free_ns && gap.begin_ns < gap.end_ns)
		to->gaps[to->gap_count++] = gap;
}

static void on_gaps(struct pb_reader event, struct off_cpu_account *to)
{
	struct load_annotation list, gap;

	to->gap_count = 0;
	if (!load_find(event, EVENT_ANNOTATIONS, "off_cpu_gaps", &list))
		return;
	while (load_next(&list.inside, ANNOTATION_ARRAY, &gap) > 0)
		add_gap(to, gap.inside);
}

static int on_account(struct load *l, struct pb_reader event)
{
	struct run *run = l->build.run;

	run->end_ns = load_uint(event, "end_ns", run->end_ns);
	load_uints(run, event, consumer_cpu_ns, program_cpu_ns, lost_processes, refused_records,
		cpus, usable_cpus);
	run->exit_code = (int32_t)load_uint(event, "exit_code", (uint64_t)-1);
	run->bad_records = load_uint(event, "bad_records", run->bad_records);
	uint64_t residual_ns = load_uint(event, "residual_ns", 0);
	if (residual_ns > run->clock.residual_ns && residual_ns <= UINT32_MAX)
		run->clock.residual_ns = (uint32_t)residual_ns;
	run->off_cpu.source = (uint32_t)load_uint(event, "off_cpu", OFF_CPU_UNKNOWN);
	run->off_cpu.error = (int32_t)load_uint(event, "off_cpu_error", 0);
	run->off_cpu.lost = load_uint(event, "off_cpu_lost", 0);
	run->off_cpu.cost_low_ns = load_uint(event, "off_cpu_cost_low_ns", 0);
	run->off_cpu.cost_ns = load_uint(event, "off_cpu_cost_ns", 0);
	run->off_cpu.cost_high_ns = load_uint(event, "off_cpu_cost_high_ns", 0);
	load_uints(&run->off_cpu, event, watched_ns, ran_ns, queued_ns);
	on_gaps(event, &run->off_cpu);
	on_machine(event, &run->machine);
	return 1;
}

static int on_process_end(struct load *l, struct pb_reader event)
{
	uint64_t number;
	struct build_process *process = load_process(l, event, &number);

	if (!process)
		return 0;
	process->end_ticks = load_uint(event, "end_ticks", 0);
	process->ended = 1;
	l->build.run->processes[number].closed = load_uint(event, "closed", 0) != 0;
	return 1;
}

static char *source_text(struct load *l, struct pb_reader event)
{
	struct load_annotation a;

	if (!load_find(event, EVENT_ANNOTATIONS, "source", &a) || !a.text.at)
		return NULL;
	size_t bytes = pb_size(a.text) < MAX_SOURCE ? pb_size(a.text) : MAX_SOURCE;
	char *copy = strndup((const char *)a.text.at, bytes);
	if (!copy)
		build_no_memory(&l->build);
	return copy;
}

static int on_code(struct load *l, struct pb_reader event)
{
	struct run_code code = {
		.hash = load_uint(event, "hash", 0), .source = source_text(l, event)};

	if (!code.source)
		return 0;
	load_text_of(l, event, "name", &code.name);
	load_text_of(l, event, "path", &code.path);
	return build_code(&l->build, &code);
}

static int on_end(struct load *l, struct pb_reader event)
{
	l->build.run->complete = 1;
	l->build.run->bad_records = load_uint(event, "bad_records", l->build.run->bad_records);
	return 1;
}

static struct pb_reader name_of(struct pb_reader event)
{
	struct pb_field f;
	struct pb_reader name = pb_reader("", 0);

	while (pb_next(&event, &f) > 0)
		if (f.number == EVENT_NAME && f.wire == PB_LENGTH)
			name = f.in;
	return name;
}

int load_own_event(struct load *l, struct pb_reader event)
{
	static const struct {
		const char *name;
		int (*read)(struct load *, struct pb_reader);
	} kinds[] = {
		{FORMAT_CLOCK, on_clock},
		{FORMAT_PROCESS, on_process},
		{FORMAT_LANE, on_lane},
		{FORMAT_STATISTICS, load_statistics},
		{FORMAT_HISTOGRAM, load_histogram},
		{FORMAT_NOTES, on_notes},
		{FORMAT_CODE, on_code},
		{FORMAT_ACCOUNT, on_account},
		{FORMAT_DIGEST, load_digest},
		{FORMAT_PROCESS_END, on_process_end},
		{FORMAT_END, on_end},
	};
	struct pb_reader name = name_of(event);

	if (pb_is(name, FORMAT_RUN))
		return on_run(l, event);
	for (size_t i = 0; l->is_brick && i < sizeof kinds / sizeof *kinds; i++)
		if (pb_is(name, kinds[i].name))
			return kinds[i].read(l, event);
	return 1;
}
