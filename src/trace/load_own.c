/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads Brick's own instants, which describe the run, its processes and lanes in nested annotations
 * (docs/FORMAT.md). Later ones replace earlier ones, statistics brick by brick. Values in ticks are
 * kept as they are until the clocks are known (build_finish.c). A digest that is not whole and
 * possible is refused, so that nobody compares a sketch of zeros.
 */
#include "trace/load_own.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/members.h"
#include "base/number.h"
#include "format/format.h"
#include "format/mark.h"
#include "trace/load_annotation.h"

enum { MAX_SOURCE = 16 << 20 }; /* bytes of a program's source */

/* Replaces *to by a text of the event; if the event has none, *to stays. */
static void set_text(struct load_ids *l, struct pb_reader event, const char *name, char **to)
{
	struct load_annotation a;

	if (!load_find(event, EVENT_ANNOTATIONS, name, &a) || !a.text.at)
		return;
	free(*to);
	*to = build_text(l->build, (const char *)a.text.at, pb_size(a.text));
}

/* Replaces *to by a list of texts of the event; if the event has none, *to stays. */
static void load_own_list_of(
	struct load_ids *l, struct pb_reader event, const char *name, char ***to)
{
	struct load_annotation list, item;
	size_t count = 0;

	if (!load_find(event, EVENT_ANNOTATIONS, name, &list))
		return;
	for (struct pb_reader r = list.inside; load_next(&r, ANNOTATION_ARRAY, &item) > 0;)
		count++;
	char **texts = calloc(count + 1, sizeof(*texts));
	if (!texts) {
		build_no_memory(l->build);
		return;
	}
	size_t i = 0;
	for (struct pb_reader r = list.inside; load_next(&r, ANNOTATION_ARRAY, &item) > 0;)
		if (item.text.at && (texts[i] = build_text(l->build, (const char *)item.text.at,
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

static void read_ledger(struct pb_reader event, struct brick_ledger *ledger)
{
	struct load_annotation a;

	if (!load_find(event, EVENT_ANNOTATIONS, "ledger", &a))
		return;
#define FORMAT_X(field) \
	ledger->field = load_find_uint(a.inside, ANNOTATION_DICT, #field, ledger->field);
	FORMAT_LEDGER_FIELDS(FORMAT_X)
#undef FORMAT_X
}

static struct build_process *find_process(
	struct load_ids *l, struct pb_reader event, uint64_t *number)
{
	*number = load_uint(event, "process", UINT64_MAX);
	return *number < l->build->run->process_count ? &l->build->processes.items[*number] : NULL;
}

static bool on_run(struct load_ids *l, struct pb_reader event)
{
	struct run *run = l->build->run;
	uint64_t version = load_uint(event, "format", 0);

	if (!version)
		return false;
	l->build->format = version;
	if (version > FORMAT_VERSION)
		return false;
	run->start_unix_ns = load_uint(event, "start_unix_ns", 0);
	run->start_ns = load_uint(event, "start_ns", 0);
	run->recorder = (uint32_t)load_uint(event, "recorder", 0);
	set_text(l, event, "host", &run->host);
	set_text(l, event, "cpu", &run->cpu);
	set_text(l, event, "isa", &run->isa);
	set_text(l, event, "version", &run->version);
	load_own_list_of(l, event, "command", &run->command);
	return true;
}

static bool on_clock(struct load_ids *l, struct pb_reader event)
{
	clock_of(event, &l->build->run->clock);
	l->build->has_clock = l->build->run->clock.mult != 0;
	return l->build->has_clock;
}

static bool load_own_on_process(struct load_ids *l, struct pb_reader event)
{
	struct run *run = l->build->run;
	uint64_t number;
	struct build_process *state = find_process(l, event, &number);

	if (!state) {
		if (number != run->process_count || !(state = build_process(l->build)))
			return false;
	}
	struct run_process *process = &run->processes[number];
	process->pid = (uint32_t)load_uint(event, "pid", 0);
	process->parent = (uint32_t)load_uint(event, "parent", 0);
	process->rank = (int32_t)load_uint(event, "rank", (uint64_t)-1);
	process->world = (int32_t)load_uint(event, "world", (uint64_t)-1);
	process->mode = (uint32_t)load_uint(event, "mode", 0);
	process->start_ns = load_uint(event, "start_ns", 0);
	set_text(l, event, "host", &process->host);
	set_text(l, event, "executable", &process->executable);
	load_own_list_of(l, event, "command", &process->command);
	state->flow_base = load_uint(event, "flow_base", 0);
	load_uints(state, event, pair_cost, pair_cost_low, pair_cost_high, pair_cost_streamed,
		pair_cost_cold, pair_stream_ticks);
	read_ledger(event, &process->ledger);
	clock_of(event, &state->clock);
	process->clock_source = state->clock.source;
	return true;
}

/* The sequence that says when the lane's threads were off their CPUs, if there is one. */
static bool load_own_off_cpu_sequence(struct load_ids *l, struct build_lane *lane, uint64_t id)
{
	if (!id)
		return true;
	struct load_sequence *s = id <= UINT32_MAX ? load_sequence(l, (uint32_t)id) : NULL;
	if (!s || s->lane || s->off_cpu.lane)
		return false;
	s->off_cpu.lane = lane;
	return true;
}

/* A lane and its sequence belong together from here on; neither can have had another one. */
static bool load_own_on_lane(struct load_ids *l, struct pb_reader event)
{
	struct run *run = l->build->run;
	uint64_t number = load_uint(event, "lane", UINT64_MAX);
	uint64_t process = load_uint(event, "process", UINT64_MAX);
	uint64_t id = load_uint(event, "sequence", 0);

	if (number != run->lane_count || process >= run->process_count || !id || id > UINT32_MAX)
		return false;
	struct load_sequence *s = load_sequence(l, (uint32_t)id);
	if (!s || s->lane || s->off_cpu.lane ||
		!(s->lane = build_lane(l->build, (uint32_t)process)))
		return false;
	struct run_lane *lane = &run->lanes[number];
	lane->kind = (uint32_t)load_uint(event, "kind", 0);
	lane->tid = lane->first_tid = load_uint(event, "tid", 0);
	set_text(l, event, "name", &lane->name);
	set_text(l, event, "backend", &lane->backend);
	lane->queue_flags = (uint32_t)load_uint(event, "queue_flags", 0);
	lane->gpu = (uint32_t)load_uint(event, "gpu", 0);
	s->lane->start_ticks = load_uint(event, "start_ticks", 0);
	return load_own_off_cpu_sequence(l, s->lane, load_uint(event, "off_cpu_sequence", 0));
}

static bool on_notes(struct load_ids *l, struct pb_reader event)
{
	struct load_annotation text;
	uint64_t number;

	if (!find_process(l, event, &number) ||
		!load_find(event, EVENT_ANNOTATIONS, "text", &text) || !text.text.at)
		return false;
	return build_notes(
		l->build, (uint32_t)number, (const char *)text.text.at, pb_size(text.text));
}

static bool on_mark(struct load_ids *l, struct pb_reader event)
{
	struct load_annotation text;
	uint64_t kind = load_uint(event, "kind", MARK_KINDS);

	if (!load_find(event, EVENT_ANNOTATIONS, "text", &text) || !text.text.at)
		text.text = pb_reader("", 0);
	return kind < MARK_KINDS && build_mark(l->build, load_uint(event, "ns", 0), (uint32_t)kind,
					    (const char *)text.text.at, pb_size(text.text));
}

static bool on_energy(struct load_ids *l, struct pb_reader event)
{
	struct load_annotation source;

	return load_find(event, EVENT_ANNOTATIONS, "source", &source) && source.text.at &&
	       build_energy(l->build, load_uint(event, "ns", 0), load_uint(event, "uj", 0),
		       (const char *)source.text.at, pb_size(source.text));
}

static bool on_faults(struct load_ids *l, struct pb_reader event)
{
	struct run_fault fault = {.end_ns = load_uint(event, "ns", 0),
		.pid = (uint32_t)load_uint(event, "pid", 0),
		.tid = (uint32_t)load_uint(event, "tid", 0),
		.lane = RUN_NONE};
	struct load_annotation list, item;

	if (!load_find(event, EVENT_ANNOTATIONS, "faults", &list))
		return false;
	while (load_next(&list.inside, ANNOTATION_ARRAY, &item) > 0) {
		bool wraps = __builtin_add_overflow(fault.end_ns, item.value, &fault.begin_ns);
		if (wraps || load_next(&list.inside, ANNOTATION_ARRAY, &item) <= 0)
			return false;
		fault.is_major = item.value & 1;
		if (__builtin_add_overflow(fault.begin_ns, item.value >> 1, &fault.end_ns) ||
			!build_fault(l->build, &fault))
			return false;
	}
	return true;
}

/* The next three numbers of a list. False: there are not so many. */
static bool load_own_three(struct pb_reader *list, uint64_t out[static 3])
{
	struct load_annotation item;

	for (int i = 0; i < 3; i++) {
		if (load_next(list, ANNOTATION_ARRAY, &item) <= 0)
			return false;
		out[i] = item.value;
	}
	return true;
}

static bool on_placement(struct load_ids *l, struct pb_reader event)
{
	struct load_annotation cpus, nodes, threads;
	uint32_t pid = (uint32_t)load_uint(event, "pid", 0);
	uint64_t of[3];
	bool good = load_find(event, EVENT_ANNOTATIONS, "cpus", &cpus) &&
		    load_find(event, EVENT_ANNOTATIONS, "nodes", &nodes) &&
		    load_find(event, EVENT_ANNOTATIONS, "threads", &threads) &&
		    !l->build->run->placed_cpu_count;

	while (good && load_own_three(&cpus.inside, of))
		good = build_cpu(l->build,
			&(struct run_cpu){(uint32_t)of[0], (uint32_t)of[1], (uint32_t)of[2]});
	while (good && load_own_three(&nodes.inside, of))
		good = build_node(l->build, &(struct run_node){(uint32_t)of[0], pid, of[1], of[2]});
	while (good && load_own_three(&threads.inside, of))
		good = build_thread_cpu(l->build,
			&(struct run_thread_cpu){pid, (uint32_t)of[0], (uint32_t)of[1], of[2]});
	return good;
}

static void on_fault_account(struct pb_reader event, struct fault_account *to)
{
	uint64_t known = load_uint(event, "faults_known", 0);

	*to = (struct fault_account){.is_known = known != 0,
		.sees_kernel = known > 1,
		.error = (int32_t)load_uint(event, "faults_error", 0),
		.lost = load_uint(event, "faults_lost", 0),
		.until_ns = load_uint(event, "faults_until_ns", UINT64_MAX)};
}

static void on_machine(struct pb_reader event, struct machine_use *use)
{
	struct load_annotation name;

	*use = (struct machine_use){0};
	load_uints(use, event, busy_ns, steal_ns, idle_ns, interrupt_ns, interrupt_cpu,
		interrupt_cpu_ns, interrupt_cpu_all_ns, throttled_ns, neighbour_ns, quota_permille,
		memory_limit_bytes, system_ns, minor_faults, major_faults, peak_bytes);
	if (load_find(event, EVENT_ANNOTATIONS, "neighbour", &name) && name.text.at)
		snprintf(use->neighbour, sizeof(use->neighbour), "%.*s", (int)pb_size(name.text),
			(const char *)name.text.at);
}

/* Gaps must be in the order of time and must not touch. */
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

static void on_stacks(struct pb_reader event, struct stack_account *to)
{
	struct load_annotation dict, reason;

	*to = (struct stack_account){0};
	if (!load_find(event, EVENT_ANNOTATIONS, "stacks", &dict))
		return;
#define MEMBER(m) to->m = (__typeof__(to->m))load_find_uint(dict.inside, ANNOTATION_DICT, #m, 0)
	MEMBER(hz);
	MEMBER(taken);
	MEMBER(unknown);
	MEMBER(lost);
	MEMBER(throttled);
	MEMBER(nameless);
	MEMBER(error);
#undef MEMBER
	if (load_find(dict.inside, ANNOTATION_DICT, "reason", &reason) && reason.text.at)
		snprintf(to->reason, sizeof(to->reason), "%.*s", (int)pb_size(reason.text),
			(const char *)reason.text.at);
}

static bool on_account(struct load_ids *l, struct pb_reader event)
{
	struct run *run = l->build->run;
	struct load_annotation refused;

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
	on_stacks(event, &run->stack_account);
	on_fault_account(event, &run->fault_account);
	on_machine(event, &run->machine);
	run->energy_error = (int32_t)load_uint(event, "energy_error", 0);
	if (load_find(event, EVENT_ANNOTATIONS, "energy_refused", &refused) && refused.text.at)
		snprintf(run->energy_refused, sizeof(run->energy_refused), "%.*s",
			(int)number_min(pb_size(refused.text), sizeof(run->energy_refused)),
			(const char *)refused.text.at);
	return true;
}

static bool load_own_on_process_end(struct load_ids *l, struct pb_reader event)
{
	uint64_t number;
	struct build_process *process = find_process(l, event, &number);

	if (!process)
		return false;
	process->end_ticks = load_uint(event, "end_ticks", 0);
	process->ended = true;
	l->build->run->processes[number].closed = load_uint(event, "closed", 0) != 0;
	return true;
}

static char *source_text(struct load_ids *l, struct pb_reader event)
{
	struct load_annotation a;

	if (!load_find(event, EVENT_ANNOTATIONS, "source", &a) || !a.text.at)
		return NULL;
	size_t bytes = pb_size(a.text) < MAX_SOURCE ? pb_size(a.text) : MAX_SOURCE;
	char *copy = strndup((const char *)a.text.at, bytes);
	if (!copy)
		build_no_memory(l->build);
	return copy;
}

static bool on_code(struct load_ids *l, struct pb_reader event)
{
	struct run_code code = {
		.hash = load_uint(event, "hash", 0), .source = source_text(l, event)};

	if (!code.source)
		return false;
	set_text(l, event, "name", &code.name);
	set_text(l, event, "path", &code.path);
	return build_code(l->build, &code);
}

static bool load_own_on_end(struct load_ids *l, struct pb_reader event)
{
	l->build->run->complete = 1;
	l->build->run->bad_records = load_uint(event, "bad_records", l->build->run->bad_records);
	return true;
}

static uint32_t named_brick(struct load_ids *l, struct pb_reader message, uint32_t field)
{
	struct load_annotation name, category;

	if (!load_find(message, field, "brick", &name) || !name.text.at)
		return RUN_NONE;
	uint32_t brick = build_brick(l->build, (const char *)name.text.at, pb_size(name.text));
	if (brick != RUN_NONE && l->build->run->bricks[brick].category == RUN_NONE &&
		load_find(message, field, "category", &category) && category.text.at)
		l->build->run->bricks[brick].category = build_category(
			l->build, (const char *)category.text.at, pb_size(category.text));
	return brick;
}

static bool read_stat(struct load_ids *l, struct build_lane *lane, struct pb_reader dict)
{
	struct load_annotation a;
	uint32_t brick = named_brick(l, dict, ANNOTATION_DICT);
	struct build_stat *stat = brick == RUN_NONE ? NULL : build_stat(l->build, lane, brick);

	if (!stat)
		return false;
	*stat = (struct build_stat){0};
	while (load_next(&dict, ANNOTATION_DICT, &a) > 0) {
#define FORMAT_X(field)            \
	if (pb_is(a.name, #field)) \
		stat->own.field = a.value;
		FORMAT_STAT_FIELDS(FORMAT_X)
#undef FORMAT_X
		if (pb_is(a.name, "cycles_min"))
			stat->cycles_min = a.value;
		if (pb_is(a.name, "cycles_max"))
			stat->cycles_max = a.value;
	}
	return true;
}

static bool on_statistics(struct load_ids *l, struct pb_reader event)
{
	uint64_t number = load_uint(event, "lane", UINT64_MAX);
	struct load_annotation list, item;
	bool good = true;

	if (number >= l->build->run->lane_count)
		return false;
	struct run_lane *lane = &l->build->run->lanes[number];
	struct build_lane *state = l->build->lanes.items[number];
	lane->tid = load_uint(event, "tid", lane->tid);
	set_text(l, event, "name", &lane->name);
	lane->hook_calls = load_uint(event, "hook_calls", 0);
	lane->hook_timed = load_uint(event, "hook_timed", 0);
	state->hook_ticks = load_uint(event, "hook_ticks", 0);
	state->end_ticks = load_uint(event, "end_ticks", 0);
	read_ledger(event, &lane->ledger);
	if (!load_find(event, EVENT_ANNOTATIONS, "bricks", &list))
		return false;
	while (load_next(&list.inside, ANNOTATION_ARRAY, &item) > 0 && !l->build->result)
		good &= read_stat(l, state, item.inside);
	return good && build_stat(l->build, state, 0);
}

/* Digits up to something else; 0 when there are none. */
static bool load_own_read_number(struct pb_reader *text, uint64_t *value)
{
	const uint8_t *start = text->at;

	*value = 0;
	while (text->at < text->end && *text->at >= '0' && *text->at <= '9')
		*value = *value * 10 + (uint64_t)(*text->at++ - '0');
	return text->at > start;
}

static bool read_buckets(struct build *b, struct pb_reader text, struct ticks_lengths **lengths)
{
	uint64_t index, count;

	while (text.at < text.end) {
		if (!load_own_read_number(&text, &index) || text.at == text.end ||
			*text.at++ != ':' || !load_own_read_number(&text, &count) ||
			index >= BRICK_HISTOGRAM_BUCKETS)
			return false;
		if (!ticks_lengths_add(lengths, (uint32_t)index, count))
			return build_no_memory(b), false;
		if (text.at < text.end && *text.at++ != ' ')
			return false;
	}
	return true;
}

static bool on_histogram(struct load_ids *l, struct pb_reader event)
{
	struct load_annotation text;
	uint64_t number;
	struct build_process *process = find_process(l, event, &number);
	uint32_t brick = process ? named_brick(l, event, EVENT_ANNOTATIONS) : RUN_NONE;

	if (brick == RUN_NONE || !load_find(event, EVENT_ANNOTATIONS, "buckets", &text) ||
		!text.text.at)
		return false;
	struct ticks_lengths **lengths = build_histogram(l->build, process, brick);
	return lengths && read_buckets(l->build, text.text, lengths);
}

static double find_double(struct pb_reader event, const char *name, bool *good)
{
	struct load_annotation a;
	struct pb_field f;

	if (load_find(event, EVENT_ANNOTATIONS, name, &a))
		for (struct pb_reader r = a.inside; pb_next(&r, &f) > 0;)
			if (f.number == ANNOTATION_DOUBLE && f.wire == PB_FIXED64)
				return pb_double_value(f.value);
	*good = false;
	return 0;
}

/* A list of exactly `count` numbers. */
static bool find_list(struct pb_reader event, const char *name, uint64_t *values, size_t count)
{
	struct load_annotation list, item;
	size_t n = 0;

	if (!load_find(event, EVENT_ANNOTATIONS, name, &list))
		return false;
	for (struct pb_reader r = list.inside; load_next(&r, ANNOTATION_ARRAY, &item) > 0; n++) {
		if (n == count)
			return false;
		values[n] = item.value;
	}
	return n == count;
}

static int digit_of(uint8_t c)
{
	return c >= 'A' && c <= 'Z'   ? c - 'A'
	       : c >= 'a' && c <= 'z' ? c - 'a' + 26
	       : c >= '0' && c <= '9' ? c - '0' + 52
	       : c == '+'	      ? 62
	       : c == '/'	      ? 63
				      : -1;
}

/* Exactly `bytes` bytes, which must be no multiple of 3. */
static bool unbase64(uint8_t *to, size_t bytes, struct pb_reader text)
{
	size_t digits = (bytes * 8 + 5) / 6;
	uint32_t word = 0, bits = 0;

	if (pb_size(text) != (bytes + 2) / 3 * 4)
		return false;
	for (size_t i = 0, n = 0; i < digits; i++) {
		int digit = digit_of(text.at[i]);
		if (digit < 0)
			return false;
		word = word << 6 | (uint32_t)digit;
		bits += 6;
		if (bits >= 8 && n < bytes) {
			bits -= 8;
			to[n++] = (uint8_t)(word >> bits);
		}
	}
	return true;
}

static bool find_sketch(struct pb_reader event, double *sketch)
{
	uint8_t bytes[BRICK_DIGEST_BUCKETS * 8];
	struct load_annotation a;

	if (!load_find(event, EVENT_ANNOTATIONS, "sketch", &a) || !a.text.at ||
		!unbase64(bytes, sizeof(bytes), a.text))
		return false;
	for (size_t i = 0; i < BRICK_DIGEST_BUCKETS; i++) {
		uint64_t bits = 0;
		for (size_t k = 0; k < 8; k++)
			bits |= (uint64_t)bytes[i * 8 + k] << (8 * k);
		sketch[i] = pb_double_value(bits);
	}
	return true;
}

static bool read_digest(struct pb_reader event, struct brick_digest *d)
{
	bool good = true;

	d->dtype = (uint32_t)load_uint(event, "dtype", BRICK_DTYPE_OTHER);
	d->flags = (uint32_t)load_uint(event, "flags", 0);
	d->nan_count = load_uint(event, "nan", 0);
	d->plus_infinite_count = load_uint(event, "plus_infinite", 0);
	d->minus_infinite_count = load_uint(event, "minus_infinite", 0);
	d->nonfinite = load_uint(event, "nonfinite", 0);
	d->fnv64 = load_uint(event, "fnv64", 0);
	d->min = find_double(event, "min", &good);
	d->max = find_double(event, "max", &good);
	d->sum = find_double(event, "sum", &good);
	d->square_sum = find_double(event, "square_sum", &good);
	return good && find_list(event, "ne", d->ne, 4) && find_sketch(event, d->sketch) &&
	       build_digest_possible(d);
}

static bool on_digest(struct load_ids *l, struct pb_reader event)
{
	struct run_digest digest = {.operation = NULL};
	struct load_annotation name;
	uint64_t process;

	if (!find_process(l, event, &process) || !read_digest(event, &digest.digest) ||
		!load_find(event, EVENT_ANNOTATIONS, "brick", &name) || !name.text.at)
		return false;
	digest.process = (uint32_t)process;
	digest.brick = build_brick(l->build, (const char *)name.text.at, pb_size(name.text));
	digest.layer = (int32_t)load_uint(event, "layer", (uint64_t)-1);
	digest.step = load_uint(event, "step", 0);
	digest.tokens = load_uint(event, "tokens", 0);
	digest.decode = load_uint(event, "decode", 0) != 0;
	digest.output = load_uint(event, "output", 0);
	find_list(event, "inputs", digest.inputs, BRICK_DIGEST_INPUTS);
	digest.ns = load_uint(event, "ticks", 0);
	if (digest.brick == RUN_NONE)
		return false;
	set_text(l, event, "op", &digest.operation);
	set_text(l, event, "tensor", &digest.label);
	return build_digest(l->build, &digest);
}

static struct pb_reader load_own_name_of(struct pb_reader event)
{
	struct pb_field f;
	struct pb_reader name = pb_reader("", 0);

	while (pb_next(&event, &f) > 0)
		if (f.number == EVENT_NAME && f.wire == PB_LENGTH)
			name = f.in;
	return name;
}

bool load_own_event(struct load_ids *l, struct pb_reader event)
{
	static const struct {
		const char *name;
		bool (*read)(struct load_ids *, struct pb_reader);
	} kinds[] = {
		{FORMAT_CLOCK, on_clock},
		{FORMAT_PROCESS, load_own_on_process},
		{FORMAT_LANE, load_own_on_lane},
		{FORMAT_STATISTICS, on_statistics},
		{FORMAT_HISTOGRAM, on_histogram},
		{FORMAT_NOTES, on_notes},
		{FORMAT_CODE, on_code},
		{FORMAT_MARK, on_mark},
		{FORMAT_ENERGY, on_energy},
		{FORMAT_FAULTS, on_faults},
		{FORMAT_PLACEMENT, on_placement},
		{FORMAT_ACCOUNT, on_account},
		{FORMAT_DIGEST, on_digest},
		{FORMAT_PROCESS_END, load_own_on_process_end},
		{FORMAT_END, load_own_on_end},
	};
	struct pb_reader name = load_own_name_of(event);

	if (pb_is(name, FORMAT_RUN))
		return on_run(l, event);
	for (size_t i = 0; l->build->format && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (pb_is(name, kinds[i].name))
			return kinds[i].read(l, event);
	return true;
}
