/* SPDX-License-Identifier: Apache-2.0 */
/* A run's arrays while it is made: they grow, and what was not handed over is freed. */
#include "trace/build.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int build_no_memory(struct build *b)
{
	if (!b->result)
		b->result = -ENOMEM;
	return -ENOMEM;
}

int build_grow(struct build *b, void *array, size_t *capacity, size_t count, size_t bytes)
{
	void *data;

	if (count < *capacity)
		return 1;
	memcpy(&data, array, sizeof data);
	size_t wanted = *capacity ? *capacity * 2 : 16;
	void *grown = wanted <= SIZE_MAX / 2 / bytes ? realloc(data, wanted * bytes) : NULL;
	if (!grown) {
		build_no_memory(b);
		return 0;
	}
	memset((char *)grown + *capacity * bytes, 0, (wanted - *capacity) * bytes);
	memcpy(array, &grown, sizeof grown);
	*capacity = wanted;
	return 1;
}

char *build_text(struct build *b, const char *text, size_t bytes)
{
	char *copy = strndup(text, bytes < BUILD_MAX_TEXT ? bytes : BUILD_MAX_TEXT);

	if (!copy)
		build_no_memory(b);
	return copy;
}

int build_init(struct build *b, const char *path)
{
	*b = (struct build){.wait_brick = RUN_NONE, .run = calloc(1, sizeof *b->run)};
	sample_store_init(&b->store, SAMPLE_STORE_BYTES);
	if (!b->run)
		return build_no_memory(b);
	b->run->exit_code = -1;
	b->run->path = strdup(path);
	return b->run->path ? 0 : build_no_memory(b);
}

static void free_process(struct build_process *process)
{
	for (size_t i = 0; i < process->histogram_capacity; i++)
		free(process->histograms[i]);
	free(process->histograms);
}

int build_fini(struct build *b, struct run **out)
{
	for (size_t i = 0; b->lanes && i < b->run->lane_count; i++) {
		free(b->lanes[i]->stats);
		sample_list_fini(&b->store, &b->lanes[i]->samples);
		free(b->lanes[i]);
	}
	for (size_t i = 0; i < b->capacity.build_processes; i++)
		free_process(&b->processes[i]);
	free(b->lanes);
	free(b->processes);
	free(b->links);
	sample_store_fini(&b->store);
	build_names_fini(b);
	if (b->result)
		run_destroy(b->run);
	else
		*out = b->run;
	return b->result;
}

struct build_process *build_process(struct build *b)
{
	struct run *run = b->run;

	if (run->process_count >= BUILD_MAX_PROCESSES ||
		!build_grow(b, &run->processes, &b->capacity.processes, run->process_count,
			sizeof *run->processes) ||
		!build_grow(b, &b->processes, &b->capacity.build_processes, run->process_count,
			sizeof *b->processes))
		return NULL;
	return &b->processes[run->process_count++];
}

struct build_lane *build_lane(struct build *b, uint32_t process)
{
	struct run *run = b->run;

	if (run->lane_count >= BUILD_MAX_LANES ||
		!build_grow(
			b, &run->lanes, &b->capacity.lanes, run->lane_count, sizeof *run->lanes) ||
		!build_grow(b, &b->lanes, &b->capacity.build_lanes, run->lane_count,
			sizeof(struct build_lane *)))
		return NULL;
	struct build_lane *lane = calloc(1, sizeof *lane);
	if (!lane)
		return build_no_memory(b), NULL;
	lane->build = b;
	lane->number = (uint32_t)run->lane_count;
	lane->ended = RUN_NONE;
	sample_list_init(&lane->samples);
	run->lanes[lane->number].process = process;
	b->lanes[run->lane_count++] = lane;
	return lane;
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

static int add_note(struct build *b, uint32_t process, const char *line, size_t bytes)
{
	const char *equals = memchr(line, '=', bytes);
	struct run *run = b->run;

	if (!equals || !build_grow(b, &run->notes, &b->capacity.notes, run->note_count,
			       sizeof *run->notes))
		return 0;
	size_t key = (size_t)(equals - line);
	struct run_note note = {
		process, build_text(b, line, key), build_text(b, equals + 1, bytes - key - 1)};
	if (!note.key || !note.value) {
		free(note.key);
		free(note.value);
		return 0;
	}
	run->notes[run->note_count++] = note;
	return 1;
}

int build_notes(struct build *b, uint32_t process, const char *text, size_t bytes)
{
	const char *at = text, *end = text + bytes;
	int good = 1;

	drop_notes(b->run, process);
	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((line_end ? line_end : end) - at);
		good &= add_note(b, process, at, length);
		at = line_end ? line_end + 1 : end;
	}
	return good;
}

/* How many bricks an array by brick is for, when it must have that one. */
static size_t bricks_for(uint32_t brick)
{
	return brick + brick / 2 + 32;
}

struct brick_stat *build_stat(struct build *b, struct build_lane *lane, uint32_t brick)
{
	if (brick >= lane->stat_capacity) {
		size_t count = bricks_for(brick);
		struct brick_stat *stats = realloc(lane->stats, count * sizeof *stats);
		if (!stats)
			return build_no_memory(b), NULL;
		memset(stats + lane->stat_capacity, 0,
			(count - lane->stat_capacity) * sizeof *stats);
		lane->stats = stats;
		lane->stat_capacity = count;
	}
	return &lane->stats[brick];
}

uint64_t *build_histogram(struct build *b, struct build_process *process, uint32_t brick)
{
	if (brick >= process->histogram_capacity) {
		size_t count = bricks_for(brick);
		uint64_t **grown = realloc(process->histograms, count * sizeof *grown);
		if (!grown)
			return build_no_memory(b), NULL;
		memset(grown + process->histogram_capacity, 0,
			(count - process->histogram_capacity) * sizeof *grown);
		process->histograms = grown;
		process->histogram_capacity = count;
	}
	uint64_t **slot = &process->histograms[brick];
	if (!*slot)
		*slot = malloc(BRICK_HISTOGRAM_BUCKETS * sizeof **slot);
	if (!*slot)
		return build_no_memory(b), NULL;
	memset(*slot, 0, BRICK_HISTOGRAM_BUCKETS * sizeof **slot);
	return *slot;
}

int build_digest_possible(const struct brick_digest *d)
{
	uint64_t elements = brick_digest_elements(d);
	int finite =
		isfinite(d->min) && isfinite(d->max) && isfinite(d->sum) && isfinite(d->square_sum);

	for (size_t i = 0; i < BRICK_DIGEST_BUCKETS; i++)
		finite &= isfinite(d->sketch[i]) != 0;
	return finite && d->dtype >= BRICK_DTYPE_F32 && d->dtype <= BRICK_DTYPE_BF16 &&
	       d->square_sum >= 0 && d->nan_count <= elements &&
	       d->plus_infinite_count <= elements && d->minus_infinite_count <= elements;
}

int build_digest(struct build *b, struct run_digest *digest)
{
	struct run *run = b->run;

	if (!build_grow(b, &run->digests, &b->capacity.digests, run->digest_count,
		    sizeof *run->digests)) {
		free(digest->operation);
		free(digest->label);
		return 0;
	}
	run->digests[run->digest_count++] = *digest;
	return 1;
}
