/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills a run's arrays. Equal names, sites and kernels become one entry: each of these arrays has
 * an index by hash. Slices become samples in the order in which they began; a wait right behind a
 * sample becomes part of it. Ten million samples must take less than a second, so nothing is
 * allocated for a single sample.
 */
#include "trace/build.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/fnv.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/order.h"
#include "brick/registry.h"

int build_no_memory(struct build *b)
{
	if (!b->result)
		b->result = -ENOMEM;
	return -ENOMEM;
}

int build_grow(struct build *b, void *array, size_t *capacity, size_t count, size_t bytes)
{
	size_t had = *capacity;
	void *items;

	if (count < had)
		return 0;
	memcpy(&items, array, sizeof(items));
	items = array_grow(items, capacity, count + 1, bytes);
	if (!items)
		return build_no_memory(b);
	memset((char *)items + had * bytes, 0, (*capacity - had) * bytes);
	memcpy(array, &items, sizeof(items));
	return 0;
}

char *build_text(struct build *b, const char *text, size_t bytes)
{
	char *copy = strndup(text, bytes < BUILD_MAX_TEXT ? bytes : BUILD_MAX_TEXT);

	if (!copy)
		build_no_memory(b);
	return copy;
}

struct build_process *build_process(struct build *b)
{
	struct run *run = b->run;

	if (run->process_count >= BUILD_MAX_PROCESSES || BUILD_GROW(b, processes, process) ||
		build_push(b, &b->processes, (struct build_process){0}))
		return NULL;
	return &b->processes.items[run->process_count++];
}

struct build_lane *build_lane(struct build *b, uint32_t process)
{
	struct run *run = b->run;

	if (run->lane_count >= BUILD_MAX_LANES || BUILD_GROW(b, lanes, lane))
		return NULL;
	struct build_lane *lane = calloc(1, sizeof(*lane));
	if (!lane)
		return build_no_memory(b), NULL;
	if (build_push(b, &b->lanes, lane)) {
		free(lane);
		return NULL;
	}
	lane->build = b;
	lane->number = (uint32_t)run->lane_count++;
	lane->ended = RUN_NONE;
	sample_list_init(&lane->samples);
	run->lanes[lane->number].process = process;
	return lane;
}

static bool add_note(struct build *b, uint32_t process, const char *line, size_t bytes)
{
	const char *equals = memchr(line, '=', bytes);
	struct run *run = b->run;

	if (!equals || BUILD_GROW(b, notes, note))
		return false;
	size_t key = (size_t)(equals - line);
	struct run_note note = {
		process, build_text(b, line, key), build_text(b, equals + 1, bytes - key - 1)};
	if (!note.key || !note.value) {
		free(note.key);
		free(note.value);
		return false;
	}
	run->notes[run->note_count++] = note;
	return true;
}

bool build_mark(struct build *b, uint64_t ns, uint32_t kind, const char *text, size_t bytes)
{
	struct run *run = b->run;

	if ((run->mark_count && run->marks[run->mark_count - 1].ns > ns) ||
		BUILD_GROW(b, marks, mark))
		return false;
	struct run_mark mark = {ns, kind, build_text(b, text, bytes)};
	if (!mark.text)
		return false;
	run->marks[run->mark_count++] = mark;
	return true;
}

bool build_energy(struct build *b, uint64_t ns, uint64_t uj, const char *source, size_t bytes)
{
	struct run *run = b->run;
	uint32_t number = 0;

	while (number < run->energy_source_count &&
		(strlen(run->energy_sources[number].name) != bytes ||
			memcmp(run->energy_sources[number].name, source, bytes)))
		number++;
	if (number == run->energy_source_count) {
		if (number == BUILD_MAX_ENERGY_SOURCES ||
			BUILD_GROW(b, energy_sources, energy_source))
			return false;
		char *name = build_text(b, source, bytes);
		if (!name)
			return false;
		run->energy_sources[run->energy_source_count++].name = name;
	}
	struct run_energy_source *of = &run->energy_sources[number];
	if (ns < of->last_ns || uj < of->last_uj || BUILD_GROW(b, energies, energy))
		return false;
	of->last_ns = ns;
	of->last_uj = uj;
	run->energies[run->energy_count++] = (struct run_energy){ns, uj, number};
	return true;
}

bool build_fault(struct build *b, const struct run_fault *fault)
{
	if (fault->end_ns < fault->begin_ns || BUILD_GROW(b, faults, fault))
		return false;
	b->run->faults[b->run->fault_count++] = *fault;
	return true;
}

bool build_cpu(struct build *b, const struct run_cpu *cpu)
{
	if (BUILD_GROW(b, placed_cpus, placed_cpu))
		return false;
	b->run->placed_cpus[b->run->placed_cpu_count++] = *cpu;
	return true;
}

bool build_node(struct build *b, const struct run_node *node)
{
	if (BUILD_GROW(b, placed_nodes, placed_node))
		return false;
	b->run->placed_nodes[b->run->placed_node_count++] = *node;
	return true;
}

bool build_thread_cpu(struct build *b, const struct run_thread_cpu *thread)
{
	struct run *run = b->run;
	size_t cpu = 0;

	while (cpu < run->placed_cpu_count && run->placed_cpus[cpu].cpu != thread->cpu)
		cpu++;
	if (cpu == run->placed_cpu_count || BUILD_GROW(b, placed_threads, placed_thread))
		return false;
	run->placed_threads[run->placed_thread_count] = *thread;
	run->placed_threads[run->placed_thread_count++].cpu = (uint32_t)cpu;
	return true;
}

bool build_notes(struct build *b, uint32_t process, const char *text, size_t bytes)
{
	const char *at = text, *end = text + bytes;
	bool good = true;

	struct run *run = b->run;
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
	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((line_end ? line_end : end) - at);
		good &= add_note(b, process, at, length);
		at = line_end ? line_end + 1 : end;
	}
	return good;
}

/* The size for an array by brick that must hold `brick`, with room for more. */
static size_t bricks_for(uint32_t brick)
{
	return brick + brick / 2 + 32;
}

struct build_stat *build_stat(struct build *b, struct build_lane *lane, uint32_t brick)
{
	if (brick >= lane->stat_capacity) {
		size_t count = bricks_for(brick);
		struct build_stat *stats = realloc(lane->stats, count * sizeof(*stats));
		if (!stats)
			return build_no_memory(b), NULL;
		memset(stats + lane->stat_capacity, 0,
			(count - lane->stat_capacity) * sizeof(*stats));
		lane->stats = stats;
		lane->stat_capacity = count;
	}
	return &lane->stats[brick];
}

struct ticks_lengths **build_histogram(
	struct build *b, struct build_process *process, uint32_t brick)
{
	if (brick >= process->histogram_capacity) {
		size_t count = bricks_for(brick);
		struct ticks_lengths **grown = realloc(process->histograms, count * sizeof(*grown));
		if (!grown)
			return build_no_memory(b), NULL;
		memset(grown + process->histogram_capacity, 0,
			(count - process->histogram_capacity) * sizeof(*grown));
		process->histograms = grown;
		process->histogram_capacity = count;
	}
	free(process->histograms[brick]);
	process->histograms[brick] = NULL;
	return &process->histograms[brick];
}

bool build_digest_possible(const struct brick_digest *d)
{
	uint64_t elements = brick_digest_elements(d);
	bool finite =
		isfinite(d->min) && isfinite(d->max) && isfinite(d->sum) && isfinite(d->square_sum);

	for (size_t i = 0; i < BRICK_DIGEST_BUCKETS; i++)
		finite &= isfinite(d->sketch[i]) != 0;
	return finite && d->dtype >= BRICK_DTYPE_F32 && d->dtype <= BRICK_DTYPE_BF16 &&
	       d->square_sum >= 0 && d->nan_count <= elements &&
	       d->plus_infinite_count <= elements && d->minus_infinite_count <= elements;
}

bool build_digest(struct build *b, struct run_digest *digest)
{
	struct run *run = b->run;

	if (BUILD_GROW(b, digests, digest)) {
		free(digest->operation);
		free(digest->label);
		return false;
	}
	run->digests[run->digest_count++] = *digest;
	return true;
}

static uint64_t build_hash_text(uint64_t hash, const char *text)
{
	return text ? fnv1a_add(hash, text, strlen(text) + 1) : hash;
}

/* Makes room for one more. */
static bool index_fits(struct build *b, struct hash_index *index)
{
	if (hash_index_reserve(index))
		return build_no_memory(b), false;
	return true;
}

/* The number of bytes of a name that are kept: up to BUILD_MAX_TEXT, or its first NUL. */
static size_t build_cut(const char *name, size_t bytes)
{
	return strnlen(name, bytes < BUILD_MAX_TEXT ? bytes : BUILD_MAX_TEXT);
}

static bool build_same(const char *name, const char *text, size_t bytes)
{
	return !strncmp(name, text, bytes) && !name[bytes];
}

uint32_t build_category(struct build *b, const char *name, size_t bytes)
{
	struct run *run = b->run;

	bytes = build_cut(name, bytes);
	uint64_t hash = fnv1a(name, bytes);
	struct hash_probe probe = hash_probe(hash);
	for (uint32_t i; (i = hash_index_next(&b->category_index, &probe)) != HASH_INDEX_NONE;)
		if (build_same(run->categories[i].name, name, bytes))
			return i;
	if (run->category_count >= BUILD_MAX_NAMES || !index_fits(b, &b->category_index) ||
		BUILD_GROW(b, categories, category))
		return RUN_NONE;
	char *copy = build_text(b, name, bytes);
	if (!copy)
		return RUN_NONE;
	run->categories[run->category_count].name = copy;
	hash_index_add(&b->category_index, hash, (uint32_t)run->category_count);
	return (uint32_t)run->category_count++;
}

static int32_t build_well_known(const char *name)
{
	static const char *const names[] = {
#define BRICK_X(id, identifier, name, category, aliases) [id] = name,
		BRICK_WELL_KNOWN(BRICK_X) BRICK_BUILT_IN(BRICK_X)
#undef BRICK_X
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i], name))
			return (int32_t)i;
	return -1;
}

uint32_t build_brick(struct build *b, const char *name, size_t bytes)
{
	struct run *run = b->run;

	bytes = build_cut(name, bytes);
	uint64_t hash = fnv1a(name, bytes);
	struct hash_probe probe = hash_probe(hash);
	for (uint32_t i; (i = hash_index_next(&b->brick_index, &probe)) != HASH_INDEX_NONE;)
		if (build_same(run->bricks[i].name, name, bytes))
			return i;
	if (run->brick_count >= BUILD_MAX_NAMES || !index_fits(b, &b->brick_index) ||
		BUILD_GROW(b, bricks, brick))
		return RUN_NONE;
	char *copy = build_text(b, name, bytes);
	if (!copy || build_push(b, &b->plain_sites, RUN_NONE)) {
		free(copy);
		return RUN_NONE;
	}
	uint32_t brick = (uint32_t)run->brick_count++;
	run->bricks[brick] = (struct run_brick){copy, RUN_NONE, build_well_known(copy)};
	if (run->bricks[brick].well_known == BRICK_BARRIER_WAIT)
		b->wait_brick = brick;
	hash_index_add(&b->brick_index, hash, brick);
	return brick;
}

static uint64_t hash_site(const struct run_site *site)
{
	const uint64_t numbers[] = {site->brick, (uint64_t)(int64_t)site->layer, site->flags,
		site->elements, site->bytes, site->flops, site->output_tokens};
	uint64_t hash = FNV1A_BASIS;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		hash = hash_add(hash, numbers[i]);
	return build_hash_text(build_hash_text(hash, site->operation), site->label);
}

static bool same_site(const struct run_site *a, const struct run_site *b)
{
	return a->brick == b->brick && a->layer == b->layer && a->flags == b->flags &&
	       a->elements == b->elements && a->bytes == b->bytes && a->flops == b->flops &&
	       a->output_tokens == b->output_tokens && text_is_same(a->operation, b->operation) &&
	       text_is_same(a->label, b->label);
}

/* Replaces texts by copies; NULL stays. False: not enough memory. */
static bool copy_texts(struct build *b, char **first, char **second)
{
	char *one = *first ? strdup(*first) : NULL, *other = *second ? strdup(*second) : NULL;

	if ((*first && !one) || (*second && !other)) {
		build_no_memory(b);
		free(one);
		free(other);
		return false;
	}
	*first = one;
	*second = other;
	return true;
}

uint32_t build_site(struct build *b, const struct run_site *site)
{
	struct run *run = b->run;
	uint64_t hash = hash_site(site);

	struct hash_probe probe = hash_probe(hash);
	for (uint32_t i; (i = hash_index_next(&b->site_index, &probe)) != HASH_INDEX_NONE;)
		if (same_site(&run->sites[i], site))
			return i;
	if (run->site_count >= RUN_NONE / 2 || !index_fits(b, &b->site_index) ||
		BUILD_GROW(b, sites, site))
		return RUN_NONE;
	struct run_site *new = &run->sites[run->site_count];
	*new = *site;
	if (!copy_texts(b, &new->operation, &new->label))
		return RUN_NONE;
	hash_index_add(&b->site_index, hash, (uint32_t)run->site_count);
	return (uint32_t)run->site_count++;
}

static uint64_t hash_kernel(const struct run_kernel *k)
{
	const uint64_t numbers[] = {k->kind, k->grid[0], k->grid[1], k->grid[2], k->block[0],
		k->block[1], k->block[2], k->registers, k->shared_bytes, k->code};
	uint64_t hash = FNV1A_BASIS;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		hash = hash_add(hash, numbers[i]);
	return build_hash_text(build_hash_text(hash, k->name), k->backend);
}

static bool same_kernel(const struct run_kernel *a, const struct run_kernel *b)
{
	return a->kind == b->kind && !memcmp(a->grid, b->grid, sizeof(a->grid)) &&
	       !memcmp(a->block, b->block, sizeof(a->block)) && a->registers == b->registers &&
	       a->shared_bytes == b->shared_bytes && a->code == b->code &&
	       text_is_same(a->name, b->name) && text_is_same(a->backend, b->backend);
}

uint32_t build_kernel(struct build *b, const struct run_kernel *kernel)
{
	struct run *run = b->run;
	uint64_t hash = hash_kernel(kernel);

	struct hash_probe probe = hash_probe(hash);
	for (uint32_t i; (i = hash_index_next(&b->kernel_index, &probe)) != HASH_INDEX_NONE;)
		if (same_kernel(&run->kernels[i], kernel))
			return i;
	if (run->kernel_count >= RUN_NONE / 2 || !index_fits(b, &b->kernel_index) ||
		BUILD_GROW(b, kernels, kernel))
		return RUN_NONE;
	struct run_kernel *new = &run->kernels[run->kernel_count];
	*new = *kernel;
	if (!copy_texts(b, &new->name, &new->backend))
		return RUN_NONE;
	hash_index_add(&b->kernel_index, hash, (uint32_t)run->kernel_count);
	return (uint32_t)run->kernel_count++;
}

static bool knows_code(const struct build *b, uint64_t hash)
{
	struct hash_probe probe = hash_probe(hash);
	for (uint32_t i; (i = hash_index_next(&b->code_index, &probe)) != HASH_INDEX_NONE;)
		if (b->run->codes[i].hash == hash)
			return true;
	return false;
}

bool build_code(struct build *b, struct run_code *code)
{
	struct run *run = b->run;
	bool known = knows_code(b, code->hash);

	if (known || run->code_count >= RUN_NONE / 2 || !index_fits(b, &b->code_index) ||
		BUILD_GROW(b, codes, code)) {
		free(code->name);
		free(code->path);
		free(code->source);
		return known;
	}
	hash_index_add(&b->code_index, code->hash, (uint32_t)run->code_count);
	run->codes[run->code_count++] = *code;
	return true;
}

static bool same_counts(const struct run_site *a, const struct run_site *b)
{
	return a->layer == b->layer && a->flags == b->flags && a->elements == b->elements &&
	       a->bytes == b->bytes && a->flops == b->flops &&
	       a->output_tokens == b->output_tokens && !a->operation && !a->label;
}

uint32_t build_plain_site(struct build *b, const struct run_site *site)
{
	uint32_t *last = &b->plain_sites.items[site->brick];

	if (*last == RUN_NONE || !same_counts(&b->run->sites[*last], site))
		*last = build_site(b, site);
	return *last;
}

static bool grow_samples(struct build_lane *lane)
{
	struct build *b = lane->build;
	int error = sample_list_grow(&b->store, &lane->samples);

	if (error && !b->result)
		b->result = error;
	return !error;
}

/*
 * True for a wait that belongs to the sample that has just ended: it begins where that sample ends,
 * and has no annotations.
 */
static inline bool is_its_wait(struct build_lane *lane, const struct build_slice *slice)
{
	return slice->brick == lane->build->wait_brick && slice->bare && lane->ended != RUN_NONE &&
	       build_sample(lane, lane->ended)->end_ns == lane->now;
}

static __attribute__((noinline)) uint32_t bare_site(struct build *b, uint32_t brick)
{
	const struct run_site site = {.brick = brick, .layer = -1};

	return build_plain_site(b, &site);
}

/* Keeps only where the step's sample is; build_steps_finish() fills in the rest. */
static __attribute__((noinline)) void build_add_step(const struct build_lane *lane)
{
	struct build *b = lane->build;
	struct run *run = b->run;

	if (!BUILD_GROW(b, steps, step))
		run->steps[run->step_count++] = (struct run_step){
			.lane = lane->number, .sample = (uint32_t)lane->samples.count};
}

static inline bool build_begin(struct build_lane *lane, const struct build_slice *slice)
{
	if (is_its_wait(lane, slice)) {
		lane->in_wait = true;
		lane->wait_begin = lane->now;
		return true;
	}
	uint32_t site =
		slice->site != RUN_NONE ? slice->site : bare_site(lane->build, slice->brick);
	struct sample_list *samples = &lane->samples;
	if (site == RUN_NONE ||
		(samples->count - samples->first == samples->capacity && !grow_samples(lane))) {
		lane->too_deep++;
		return false;
	}
	samples->tail[samples->count - samples->first] = (struct run_sample){
		.begin_ns = lane->now,
		.site = site,
		.depth = (uint8_t)lane->depth,
		.source = slice->source,
		.flags = RUN_SAMPLE_OPEN,
	};
	if (__builtin_expect(slice->step, 0))
		build_add_step(lane);
	lane->stack[lane->depth++] = (uint32_t)samples->count++;
	lane->ended = RUN_NONE;
	return true;
}

static inline bool build_end(struct build_lane *lane)
{
	if (lane->in_wait) {
		uint32_t *wait = &build_sample(lane, lane->ended)->wait_ns;
		*wait = build_saturate(*wait + (lane->now - lane->wait_begin));
		lane->in_wait = false;
		return true;
	}
	lane->ended = lane->stack[--lane->depth];
	struct run_sample *sample = build_sample(lane, lane->ended);
	sample->end_ns = lane->now;
	sample->flags = 0;
	return true;
}

/* False: the begin cannot be used, and is left out together with its end and all inside of it. */
static inline bool can_begin(struct build_lane *lane)
{
	if (__builtin_expect(!lane->too_deep && !lane->in_wait && lane->depth < BUILD_MAX_DEPTH, 1))
		return true;
	lane->too_deep++;
	return false;
}

static inline bool can_end(struct build_lane *lane)
{
	if (__builtin_expect(!lane->too_deep && (lane->in_wait || lane->depth), 1))
		return true;
	lane->too_deep -= lane->too_deep > 0;
	return false;
}

bool build_can_begin(struct build_lane *lane)
{
	return can_begin(lane);
}

void build_seen(struct build_lane *lane)
{
	if (lane->now > lane->last_ns)
		lane->last_ns = lane->now;
}

bool build_slice(struct build_lane *lane, const struct build_slice *slice)
{
	build_seen(lane);
	return slice->is_end ? can_end(lane) && build_end(lane)
			     : can_begin(lane) && build_begin(lane, slice);
}

bool build_thread_name(struct build_lane *lane, uint64_t tid, const char *name, size_t bytes)
{
	struct build *b = lane->build;
	struct run *run = b->run;
	char *text = build_text(b, name, bytes);

	if (!text || BUILD_GROW(b, thread_names, thread_name)) {
		free(text);
		return false;
	}
	run->thread_names[run->thread_name_count++] =
		(struct run_thread_name){lane->number, tid, text};
	return true;
}

bool build_point(struct build_lane *lane, enum run_point_kind kind, uint32_t brick, double value)
{
	struct build *b = lane->build;
	struct run *run = b->run;

	if (BUILD_GROW(b, points, point))
		return false;
	run->points[run->point_count++] = (struct run_point){.ns = lane->now,
		.lane = lane->number,
		.kind = kind,
		.brick = brick,
		.value = value};
	return true;
}

bool build_sequence_event(struct build_lane *lane, const struct run_sequence_event *event)
{
	struct build *b = lane->build;
	struct run *run = b->run;

	if (run->sequence_event_count >= RUN_NONE || BUILD_GROW(b, sequence_events, sequence_event))
		return false;
	struct run_sequence_event *added = &run->sequence_events[run->sequence_event_count];
	*added = *event;
	added->ns = lane->now;
	added->lane = lane->number;
	/* the order in the file, until build_steps_finish() has sorted and sets the step */
	added->step = (uint32_t)run->sequence_event_count++;
	return true;
}

bool build_expert(struct build_lane *lane, const struct run_expert *expert)
{
	struct build *b = lane->build;
	struct run *run = b->run;

	if (run->expert_count >= RUN_NONE || BUILD_GROW(b, experts, expert))
		return false;
	struct run_expert *added = &run->experts[run->expert_count];
	*added = *expert;
	added->ns = lane->now;
	added->lane = lane->number;
	/* the order in the file, until build_steps_finish() has sorted and sets the step */
	added->step = (uint32_t)run->expert_count++;
	return true;
}

bool build_memory(struct build_lane *lane, const struct run_memory *memory)
{
	struct build *b = lane->build;
	struct run *run = b->run;

	if (run->memory_count >= RUN_NONE || BUILD_GROW(b, memories, memory))
		return false;
	struct run_memory *added = &run->memories[run->memory_count];
	*added = *memory;
	added->ns = lane->now;
	added->lane = lane->number;
	/* the order in the file, until build_steps_finish() has sorted and sets the step */
	added->step = (uint32_t)run->memory_count++;
	return true;
}

bool build_message(struct build_lane *lane, const struct run_message *message)
{
	struct build *b = lane->build;
	struct run *run = b->run;

	if (run->message_count >= RUN_NONE || BUILD_GROW(b, messages, message))
		return false;
	struct run_message *added = &run->messages[run->message_count++];
	*added = *message;
	added->lane = lane->number;
	added->sample = lane->ended;
	return true;
}

void build_link(
	struct build_lane *lane, uint32_t sample, enum build_link_kind kind, uint64_t number)
{
	struct build *b = lane->build;

	if (number)
		build_push(b, &b->links,
			(struct build_link){number, b->links.count, lane->number, sample, kind});
}

struct run_command *build_command(struct build_lane *lane, uint32_t sample)
{
	struct build *b = lane->build;
	struct run *run = b->run;

	if (lane->last_command && run->commands[lane->last_command - 1].sample == sample)
		return &run->commands[lane->last_command - 1];
	if (run->command_count >= RUN_NONE / 2 || BUILD_GROW(b, commands, command))
		return NULL;
	struct run_command *command = &run->commands[run->command_count++];
	*command = (struct run_command){.lane = lane->number,
		.sample = sample,
		.kernel = RUN_NONE,
		.launch_lane = RUN_NONE,
		.launch_sample = RUN_NONE};
	lane->last_command = run->command_count;
	return command;
}

void build_tile(struct build_lane *lane, const struct run_tile *tile)
{
	struct build *b = lane->build;
	struct run *run = b->run;

	if (!BUILD_GROW(b, tiles, tile)) {
		run->tiles[run->tile_count] = *tile;
		run->tiles[run->tile_count++].lane = lane->number;
	}
}

uint64_t build_before(const struct run_sample *sample, uint64_t delta)
{
	uint64_t ns = sample->begin_ns - delta;

	return (int64_t)delta >= 0 ? (delta < sample->begin_ns ? ns : 0)
				   : (ns > sample->begin_ns ? ns : 0);
}

bool build_off_cpu(struct build_lane *lane, uint64_t begin_ns, uint64_t end_ns, bool preempted)
{
	struct build *b = lane->build;
	struct run_lane *to = &b->run->lanes[lane->number];
	struct run_off_cpu *last = to->off_cpu_count ? &to->off_cpu[to->off_cpu_count - 1] : NULL;
	struct run_off_cpu next = {.begin_ns = begin_ns, .end_ns = end_ns, .preempted = preempted};

	if (begin_ns >= end_ns || (last && begin_ns < last->end_ns))
		return false;
	if (last) {
		next.before = last->before;
		*(last->preempted ? &next.before.preempted_ns : &next.before.blocked_ns) +=
			last->end_ns - last->begin_ns;
	}
	if (build_grow(b, &to->off_cpu, &lane->off_cpu_capacity, to->off_cpu_count,
		    sizeof(*to->off_cpu)))
		return false;
	to->off_cpu[to->off_cpu_count++] = next;
	return true;
}

int build_init(struct build *b, const char *path)
{
	*b = (struct build){.wait_brick = RUN_NONE, .run = calloc(1, sizeof(*b->run))};
	sample_store_init(&b->store, SAMPLE_STORE_BYTES);
	if (!b->run)
		return build_no_memory(b);
	b->run->exit_code = -1;
	b->run->path = strdup(path);
	return b->run->path ? 0 : build_no_memory(b);
}

int build_fini(struct build *b, struct run **out)
{
	for (size_t i = 0; i < b->lanes.count; i++) {
		free(b->lanes.items[i]->stats);
		sample_list_fini(&b->store, &b->lanes.items[i]->samples);
		free(b->lanes.items[i]);
	}
	for (size_t i = 0; i < b->processes.count; i++) {
		struct build_process *process = &b->processes.items[i];
		for (size_t k = 0; k < process->histogram_capacity; k++)
			free(process->histograms[k]);
		free(process->histograms);
	}
	array_fini(&b->lanes);
	array_fini(&b->processes);
	array_fini(&b->links);
	sample_store_fini(&b->store);
	hash_index_fini(&b->kernel_index);
	hash_index_fini(&b->code_index);
	hash_index_fini(&b->category_index);
	hash_index_fini(&b->brick_index);
	hash_index_fini(&b->site_index);
	array_fini(&b->plain_sites);
	if (b->result)
		run_destroy(b->run);
	else
		*out = b->run;
	return b->result;
}
