/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the run says of itself: instants with nested annotations (see writer_run.c). Later ones
 * replace earlier ones. Values in ticks are kept as they are until the clocks are known
 * (load_finish.c).
 */
#include <stdlib.h>
#include <string.h>
#include "brick/error.h"
#include "trace/load_state.h"

static uint64_t uint_of(struct pb_reader event, const char *name, uint64_t fallback)
{
	return load_find_uint(event, EVENT_ANNOTATIONS, name, fallback);
}

/* A text of the event replaces *to; absent: it stays. */
static void text_of(struct load *l, struct pb_reader event, const char *name, char **to)
{
	struct load_annotation a;

	if (!load_find(event, EVENT_ANNOTATIONS, name, &a) || !a.text.at)
		return;
	free(*to);
	*to = load_text(l, a.text);
}

static void free_list(char **list)
{
	for (char **s = list; s && *s; s++)
		free(*s);
	free(list);
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
		load_no_memory(l);
		return;
	}
	size_t i = 0;
	for (struct pb_reader r = list.inside; load_next(&r, ANNOTATION_ARRAY, &item) > 0;)
		if (item.text.at && (texts[i] = load_text(l, item.text)))
			i++;
	free_list(*to);
	*to = texts;
}

static void clock_of(struct pb_reader event, struct brick_clock *clock)
{
	struct load_annotation a;
	struct brick_clock read = {0};

	if (!load_find(event, EVENT_ANNOTATIONS, "clock", &a))
		return;
#define FORMAT_X(field)                                                                            \
	read.field = (__typeof__(read.field))load_find_uint(a.inside, ANNOTATION_DICT, #field, 0);
	FORMAT_CLOCK_FIELDS(FORMAT_X)
#undef FORMAT_X
	if (read.mult && read.shift < 64)
		*clock = read;
}

static void ledger_of(struct pb_reader event, struct brick_ledger *ledger)
{
	struct load_annotation a;

	if (!load_find(event, EVENT_ANNOTATIONS, "ledger", &a))
		return;
#define FORMAT_X(field)                                                                            \
	ledger->field = load_find_uint(a.inside, ANNOTATION_DICT, #field, ledger->field);
	FORMAT_LEDGER_FIELDS(FORMAT_X)
#undef FORMAT_X
}

static int on_run(struct load *l, struct pb_reader event)
{
	struct run *run = l->run;
	uint64_t version = uint_of(event, "format", 0);

	if (!version)
		return 0;
	if (version > FORMAT_VERSION) {
		load_fail(l, BRICK_EVERSION, "format %llu; this Brick reads up to %d",
			(unsigned long long)version, FORMAT_VERSION);
		return 0;
	}
	l->is_brick = 1;
	run->start_unix_ns = uint_of(event, "start_unix_ns", 0);
	run->start_ns = uint_of(event, "start_ns", 0);
	text_of(l, event, "host", &run->host);
	text_of(l, event, "cpu", &run->cpu);
	list_of(l, event, "command", &run->command);
	return 1;
}

static int on_clock(struct load *l, struct pb_reader event)
{
	clock_of(event, &l->run->clock);
	l->has_clock = l->run->clock.mult != 0;
	return l->has_clock;
}

/* The process that an event is about; NULL when there is none of that number. */
static struct load_process *process_of(struct load *l, struct pb_reader event, uint64_t *number)
{
	*number = uint_of(event, "process", UINT64_MAX);
	return *number < l->run->process_count ? &l->processes[*number] : NULL;
}

static int on_process(struct load *l, struct pb_reader event)
{
	struct run *run = l->run;
	uint64_t number;
	struct load_process *state = process_of(l, event, &number);

	if (!state) {
		if (number != run->process_count || number >= LOAD_MAX_PROCESSES ||
			!load_grow(l, &run->processes, &l->room.processes, run->process_count,
				sizeof *run->processes) ||
			!load_grow(l, &l->processes, &l->room.load_processes, run->process_count,
				sizeof *l->processes))
			return 0;
		run->process_count++;
		state = &l->processes[number];
	}
	struct run_process *process = &run->processes[number];
	process->pid = (uint32_t)uint_of(event, "pid", 0);
	process->parent = (uint32_t)uint_of(event, "parent", 0);
	process->rank = (int32_t)uint_of(event, "rank", (uint64_t)-1);
	process->world = (int32_t)uint_of(event, "world", (uint64_t)-1);
	process->mode = (uint32_t)uint_of(event, "mode", 0);
	process->start_ns = uint_of(event, "start_ns", 0);
	text_of(l, event, "host", &process->host);
	text_of(l, event, "executable", &process->executable);
	list_of(l, event, "command", &process->command);
	state->pair_cost = uint_of(event, "pair_cost", 0);
	state->pair_cost_low = uint_of(event, "pair_cost_low", 0);
	state->pair_cost_high = uint_of(event, "pair_cost_high", 0);
	ledger_of(event, &process->ledger);
	clock_of(event, &state->clock);
	process->clock_source = state->clock.source;
	return 1;
}

/* A lane and its sequence belong together from here on; neither can have had another one. */
static int on_lane(struct load *l, struct pb_reader event)
{
	struct run *run = l->run;
	uint64_t number = uint_of(event, "lane", UINT64_MAX);
	uint64_t process = uint_of(event, "process", UINT64_MAX);
	uint64_t id = uint_of(event, "sequence", 0);

	if (number != run->lane_count || number >= LOAD_MAX_LANES ||
		process >= run->process_count || !id || id > UINT32_MAX)
		return 0;
	struct load_sequence *s = load_sequence(l, (uint32_t)id);
	if (!s || s->lane != RUN_NONE ||
		!load_grow(l, &run->lanes, &l->room.lanes, number, sizeof *run->lanes) ||
		!load_grow(l, &l->lanes, &l->room.load_lanes, number, sizeof *l->lanes))
		return 0;
	struct run_lane *lane = &run->lanes[number];
	lane->process = (uint32_t)process;
	lane->kind = (uint32_t)uint_of(event, "kind", 0);
	lane->tid = uint_of(event, "tid", 0);
	text_of(l, event, "name", &lane->name);
	l->lanes[number].start_ticks = uint_of(event, "start_ticks", 0);
	s->lane = (uint32_t)number;
	run->lane_count++;
	return 1;
}

/* The lane's statistics have room for a brick. */
static struct brick_stat *stat_slot(struct load *l, struct load_lane *lane, uint32_t brick)
{
	if (brick >= lane->stat_room) {
		size_t room = brick + brick / 2 + 32;
		struct brick_stat *stats = realloc(lane->stats, room * sizeof *stats);
		if (!stats)
			return load_no_memory(l), NULL;
		memset(stats + lane->stat_room, 0, (room - lane->stat_room) * sizeof *stats);
		lane->stats = stats;
		lane->stat_room = room;
	}
	return &lane->stats[brick];
}

static uint32_t named_brick(struct load *l, struct pb_reader message, uint32_t field)
{
	struct load_annotation name, category;

	if (!load_find(message, field, "brick", &name) || !name.text.at)
		return RUN_NONE;
	uint32_t brick = load_brick(l, name.text);
	if (brick != RUN_NONE && l->run->bricks[brick].category == RUN_NONE &&
		load_find(message, field, "category", &category) && category.text.at)
		l->run->bricks[brick].category = load_category(l, category.text);
	return brick;
}

static void set_stat_field(struct brick_stat *stat, const struct load_annotation *a)
{
#define FORMAT_X(field)                                                                            \
	if (pb_is(a->name, #field))                                                                \
		stat->field = a->value;
	FORMAT_STAT_FIELDS(FORMAT_X)
#undef FORMAT_X
}

static int read_stat(struct load *l, struct load_lane *lane, struct pb_reader dict)
{
	struct load_annotation a;
	uint32_t brick = named_brick(l, dict, ANNOTATION_DICT);
	struct brick_stat *stat = brick == RUN_NONE ? NULL : stat_slot(l, lane, brick);

	if (!stat)
		return 0;
	*stat = (struct brick_stat){0};
	while (load_next(&dict, ANNOTATION_DICT, &a) > 0)
		set_stat_field(stat, &a);
	return 1;
}

static int on_statistics(struct load *l, struct pb_reader event)
{
	uint64_t number = uint_of(event, "lane", UINT64_MAX);
	struct load_annotation list, item;
	int good = 1;

	if (number >= l->run->lane_count)
		return 0;
	struct run_lane *lane = &l->run->lanes[number];
	struct load_lane *state = &l->lanes[number];
	lane->tid = uint_of(event, "tid", lane->tid);
	text_of(l, event, "name", &lane->name);
	lane->hook_calls = uint_of(event, "hook_calls", 0);
	lane->hook_timed = uint_of(event, "hook_timed", 0);
	state->hook_ticks = uint_of(event, "hook_ticks", 0);
	state->end_ticks = uint_of(event, "end_ticks", 0);
	ledger_of(event, &lane->ledger);
	if (!load_find(event, EVENT_ANNOTATIONS, "bricks", &list))
		return 0;
	while (load_next(&list.inside, ANNOTATION_ARRAY, &item) > 0 && !l->result)
		good &= read_stat(l, state, item.inside);
	return good && stat_slot(l, state, 0);
}

static uint64_t **histogram_slot(struct load *l, struct load_process *process, uint32_t brick)
{
	if (brick >= process->histogram_room) {
		size_t room = brick + brick / 2 + 32;
		uint64_t **grown = realloc(process->histograms, room * sizeof *grown);
		if (!grown)
			return load_no_memory(l), NULL;
		memset(grown + process->histogram_room, 0,
			(room - process->histogram_room) * sizeof *grown);
		process->histograms = grown;
		process->histogram_room = room;
	}
	return &process->histograms[brick];
}

/* Digits up to something else; 0 when there are none. */
static int read_number(struct pb_reader *text, uint64_t *value)
{
	const uint8_t *start = text->at;

	*value = 0;
	while (text->at < text->end && *text->at >= '0' && *text->at <= '9')
		*value = *value * 10 + (uint64_t)(*text->at++ - '0');
	return text->at > start;
}

static int read_buckets(struct pb_reader text, uint64_t *buckets)
{
	uint64_t index, count;

	while (text.at < text.end) {
		if (!read_number(&text, &index) || text.at == text.end || *text.at++ != ':' ||
			!read_number(&text, &count) || index >= BRICK_HISTOGRAM_BUCKETS)
			return 0;
		buckets[index] = count;
		if (text.at < text.end && *text.at++ != ' ')
			return 0;
	}
	return 1;
}

static int on_histogram(struct load *l, struct pb_reader event)
{
	struct load_annotation text;
	uint64_t number;
	struct load_process *process = process_of(l, event, &number);
	uint32_t brick = process ? named_brick(l, event, EVENT_ANNOTATIONS) : RUN_NONE;
	uint64_t **slot = brick == RUN_NONE ? NULL : histogram_slot(l, process, brick);

	if (!slot || !load_find(event, EVENT_ANNOTATIONS, "buckets", &text) || !text.text.at)
		return 0;
	if (!*slot)
		*slot = malloc(BRICK_HISTOGRAM_BUCKETS * sizeof **slot);
	if (!*slot)
		return load_no_memory(l), 0;
	memset(*slot, 0, BRICK_HISTOGRAM_BUCKETS * sizeof **slot);
	return read_buckets(text.text, *slot);
}

static void drop_notes(struct run *run, uint32_t process)
{
	size_t kept = 0;

	for (size_t i = 0; i < run->note_count; i++) {
		if (run->notes[i].process != process) {
			run->notes[kept++] = run->notes[i];
			continue;
		}
		free(run->notes[i].key);
		free(run->notes[i].value);
	}
	run->note_count = kept;
}

static int add_note(struct load *l, uint32_t process, struct pb_reader line)
{
	const uint8_t *equals = memchr(line.at, '=', pb_size(line));
	struct run *run = l->run;

	if (!equals ||
		!load_grow(l, &run->notes, &l->room.notes, run->note_count, sizeof *run->notes))
		return 0;
	struct run_note note = {process, load_text(l, (struct pb_reader){line.at, equals}),
		load_text(l, (struct pb_reader){equals + 1, line.end})};
	if (!note.key || !note.value) {
		free(note.key);
		free(note.value);
		return 0;
	}
	run->notes[run->note_count++] = note;
	return 1;
}

static int on_notes(struct load *l, struct pb_reader event)
{
	struct load_annotation text;
	uint64_t number;
	int good = 1;

	if (!process_of(l, event, &number) ||
		!load_find(event, EVENT_ANNOTATIONS, "text", &text) || !text.text.at)
		return 0;
	drop_notes(l->run, (uint32_t)number);
	for (struct pb_reader r = text.text; r.at < r.end;) {
		const uint8_t *end = memchr(r.at, '\n', pb_size(r));
		struct pb_reader line = {r.at, end ? end : r.end};
		good &= add_note(l, (uint32_t)number, line);
		r.at = end ? end + 1 : r.end;
	}
	return good;
}

static int on_account(struct load *l, struct pb_reader event)
{
	struct run *run = l->run;

	run->end_ns = uint_of(event, "end_ns", run->end_ns);
	run->consumer_cpu_ns = uint_of(event, "consumer_cpu_ns", 0);
	run->program_cpu_ns = uint_of(event, "program_cpu_ns", 0);
	run->lost_processes = uint_of(event, "lost_processes", 0);
	run->cpus = (uint32_t)uint_of(event, "cpus", 0);
	run->exit_code = (int32_t)uint_of(event, "exit_code", (uint64_t)-1);
	run->bad_records = uint_of(event, "bad_records", run->bad_records);
	return 1;
}

static int on_process_end(struct load *l, struct pb_reader event)
{
	uint64_t number;
	struct load_process *process = process_of(l, event, &number);

	if (!process)
		return 0;
	process->end_ticks = uint_of(event, "end_ticks", 0);
	process->ended = 1;
	l->run->processes[number].closed = uint_of(event, "closed", 0) != 0;
	return 1;
}

static int on_end(struct load *l, struct pb_reader event)
{
	l->run->complete = 1;
	l->run->bad_records = uint_of(event, "bad_records", l->run->bad_records);
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
		{FORMAT_STATISTICS, on_statistics},
		{FORMAT_HISTOGRAM, on_histogram},
		{FORMAT_NOTES, on_notes},
		{FORMAT_ACCOUNT, on_account},
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
