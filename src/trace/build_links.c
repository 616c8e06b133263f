/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands, tiles and waits. They are put into their order, and links by number become links by
 * index. A link to a command that is not in the file leads nowhere: its lane's ledger counts the
 * dropped record; if its process ended before the command's times came, it is counted here.
 *
 * A program waits for all commands of a queue (clFinish, a fence), and its recorder knows the
 * newest one only. Where commands overlap, an older one may have ended last. So when a wait went on
 * behind the end of its command, the command that ended last takes its place. No wait is for a
 * command that ends after it. Where not even the queue is known (streams of HIP), the wait was for
 * a command that ended when the thread woke up, or its command is not known.
 */

#include "trace/build.h"

#include <stdlib.h>
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/order.h"

#define BY_PLACE(x, y) (ORDER((x)->lane, (y)->lane) ?: ORDER((x)->sample, (y)->sample))

COMPARATOR(by_command, struct run_command, BY_PLACE(x, y))
COMPARATOR(by_tile, struct run_tile, BY_PLACE(x, y))
COMPARATOR(by_link, struct build_link, BY_PLACE(x, y) ?: ORDER(x->order, y->order))

/* Sorts, if it is necessary; most often it is not. */
static void build_links_sort(
	void *array, size_t count, size_t bytes, int (*order)(const void *, const void *))
{
	const char *at = array;

	for (size_t i = 1; i < count; i++)
		if (order(at + (i - 1) * bytes, at + i * bytes) > 0) {
			qsort(array, count, bytes, order);
			return;
		}
}

static const struct run_site *build_links_site_of(
	const struct run *run, uint32_t lane, uint32_t sample)
{
	return &run->sites[run->lanes[lane].samples[sample].site];
}

/* The kernel of a command that names none: only its brick is known. */
static uint32_t unknown_kernel(
	struct build *b, const struct run_lane *lane, const struct run_site *site)
{
	const struct run_kernel kernel = {.name = b->run->bricks[site->brick].name,
		.backend = lane->backend,
		.kind = BRICK_KERNEL_OTHER};

	return build_kernel(b, &kernel);
}

/* Sort commands, keep one for each sample, and take bytes and FLOPs from the sites. */
static void finish_commands(struct build *b)
{
	struct run *run = b->run;
	size_t kept = 0;

	build_links_sort(run->commands, run->command_count, sizeof(*run->commands), by_command);
	for (size_t i = 0; i < run->command_count && !b->result; i++) {
		struct run_command command = run->commands[i];
		const struct run_site *site =
			build_links_site_of(run, command.lane, command.sample);
		run_lane_passed(&run->lanes[command.lane], i);
		if (kept && !by_command(&run->commands[kept - 1], &command))
			continue;
		command.bytes = site->flags & BRICK_SITE_HAS_BYTES ? site->bytes : 0;
		command.flops = site->flags & BRICK_SITE_HAS_FLOPS ? site->flops : 0;
		if (command.kernel == RUN_NONE)
			command.kernel = unknown_kernel(b, &run->lanes[command.lane], site);
		if (command.kernel != RUN_NONE)
			run->commands[kept++] = command;
	}
	run->command_count = kept;
}

static void finish_tiles(struct run *run)
{
	size_t kept = 0;

	build_links_sort(run->tiles, run->tile_count, sizeof(*run->tiles), by_tile);
	for (size_t i = 0; i < run->tile_count; i++) {
		struct run_tile tile = run->tiles[i];
		const struct run_site *site = build_links_site_of(run, tile.lane, tile.sample);
		if (kept && !by_tile(&run->tiles[kept - 1], &tile))
			continue;
		tile.elements = site->flags & BRICK_SITE_HAS_ELEMENTS ? site->elements : 0;
		tile.flops = site->flags & BRICK_SITE_HAS_FLOPS ? site->flops : 0;
		run->tiles[kept++] = tile;
	}
	run->tile_count = kept;
}

/* The hash of a command in the index `numbers`. */
static uint64_t number_hash(uint32_t process, uint64_t number)
{
	return hash_add(hash_u64(process), number);
}

/* The command of that number in the process; RUN_NONE: there is none, or the number is 0. */
static uint32_t build_links_command_of(
	const struct hash_index *numbers, const struct run *run, uint32_t process, uint64_t number)
{
	struct hash_probe probe = hash_probe(number_hash(process, number));
	uint32_t i;

	do
		i = hash_index_next(numbers, &probe);
	while (i != HASH_INDEX_NONE &&
		(run->commands[i].number != number ||
			run->lanes[run->commands[i].lane].process != process));
	return number ? i : RUN_NONE;
}

static int index_numbers(struct hash_index *numbers, const struct run *run)
{
	int error = 0;

	for (size_t i = 0; i < run->command_count && !error; i++) {
		const struct run_command *c = &run->commands[i];
		uint32_t process = run->lanes[c->lane].process;
		/* of several the first has it */
		if (c->number &&
			build_links_command_of(numbers, run, process, c->number) == RUN_NONE)
			error = hash_index_add(
				numbers, number_hash(process, c->number), (uint32_t)i);
	}
	return error;
}

static void link_launch(struct run *run, const struct build_link *link, uint32_t target)
{
	struct run_command *command = &run->commands[target];
	const struct run_sample *call = &run->lanes[link->lane].samples[link->sample];

	if (command->launch_lane != RUN_NONE)
		return;
	command->launch_lane = link->lane;
	command->launch_sample = link->sample;
	if (command->launch_ns)
		return;
	command->launch_ns = call->begin_ns;
	command->launch_end_ns = call->end_ns;
}

/*
 * A call that launches many commands is linked to one of them only; the others have its times.
 * Sorting by the call's times puts the linked command before the others, which then take its link.
 */
static int by_call(const void *a, const void *b, void *context)
{
	const struct run *run = context;
	const struct run_command *x = &run->commands[*(const uint32_t *)a];
	const struct run_command *y = &run->commands[*(const uint32_t *)b];
	uint32_t p = run->lanes[x->lane].process, q = run->lanes[y->lane].process;

	return ORDER(p, q) ?: ORDER(x->launch_ns, y->launch_ns)
		?: ORDER(x->launch_end_ns, y->launch_end_ns)
		?: ORDER(x->launch_lane == RUN_NONE, y->launch_lane == RUN_NONE);
}

static bool is_same_call(
	const struct run *run, const struct run_command *a, const struct run_command *b)
{
	return a->launch_ns && a->launch_ns == b->launch_ns &&
	       a->launch_end_ns == b->launch_end_ns &&
	       run->lanes[a->lane].process == run->lanes[b->lane].process;
}

static void finish_shared_launches(struct build *b)
{
	struct run *run = b->run;
	size_t unlinked = 0;

	for (size_t i = 0; i < run->command_count; i++)
		unlinked +=
			run->commands[i].launch_lane == RUN_NONE && run->commands[i].launch_ns != 0;
	uint32_t *order = unlinked ? malloc(run->command_count * sizeof(*order)) : NULL;
	if (!unlinked)
		return;
	if (!order) {
		build_no_memory(b);
		return;
	}
	for (size_t i = 0; i < run->command_count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, run->command_count, sizeof(*order), by_call, run);
	for (size_t i = 1; i < run->command_count; i++) {
		struct run_command *c = &run->commands[order[i]];
		const struct run_command *before = &run->commands[order[i - 1]];
		if (c->launch_lane != RUN_NONE || !is_same_call(run, c, before))
			continue;
		c->launch_lane = before->launch_lane;
		c->launch_sample = before->launch_sample;
	}
	free(order);
}

static void finish_links(struct build *b, const struct hash_index *numbers)
{
	struct run *run = b->run;
	size_t at = 0;

	build_links_sort(b->links.items, b->links.count, sizeof(*b->links.items), by_link);
	for (size_t i = 0; i < b->links.count && !b->result; i++) {
		const struct build_link *link = &b->links.items[i];
		uint32_t target = build_links_command_of(
			numbers, run, run->lanes[link->lane].process, link->number);
		if (target == RUN_NONE) {
			run->processes[run->lanes[link->lane].process].unanswered +=
				link->kind == BUILD_LINK_LAUNCHED;
			continue;
		}
		while (at < run->command_count && BY_PLACE(&run->commands[at], link) < 0)
			at++;
		bool is_command = at < run->command_count && run->commands[at].lane == link->lane &&
				  run->commands[at].sample == link->sample;
		if (link->kind == BUILD_LINK_LAUNCHED)
			link_launch(run, link, target);
		else if (is_command) {
			struct run_command *command = &run->commands[at];
			if (command != &run->commands[target] && run->dependency_count < RUN_NONE &&
				!BUILD_GROW(b, dependencies, dependency)) {
				if (!command->dependency_count)
					command->dependency_first = (uint32_t)run->dependency_count;
				command->dependency_count++;
				run->dependencies[run->dependency_count++] = target;
			}
		} else if (!BUILD_GROW(b, waits, wait)) {
			run->waits[run->wait_count++] =
				(struct run_wait){link->lane, link->sample, target, 0};
		}
	}
}

enum { AWAKE_NS = 50000 }; /* a thread has woken up by then */

/* The lane's last command up to that number that ended between the two times, or NULL. */
static const struct run_command *last_of(
	const struct run *run, uint32_t lane, uint64_t number, uint64_t after_ns, uint64_t by_ns)
{
	const struct run_lane *l = &run->lanes[lane];

	for (size_t i = run_sample_from(l, by_ns); i-- && l->samples[i].begin_ns < by_ns;) {
		if (l->samples[i].depth || l->samples[i].end_ns > by_ns)
			continue;
		if (l->samples[i].end_ns <= after_ns)
			return NULL;
		size_t place = run_command_from(run, lane, (uint32_t)i);
		const struct run_command *c = &run->commands[place];
		if (place < run->command_count && c->lane == lane && c->sample == i &&
			c->number <= number)
			return c;
	}
	return NULL;
}

/* The command that the wait was for; NULL: not known. */
static const struct run_command *aim(const struct run *run, const struct run_wait *wait)
{
	const struct run_sample *sample = &run->lanes[wait->lane].samples[wait->sample];
	const struct run_command *told = &run->commands[wait->command], *last = told;
	uint64_t last_ns = run_command_sample(run, told)->end_ns;
	bool (*is_among)(const struct run_lane *, const struct run_lane *) = run_is_same_queue;

	if (last_ns > sample->end_ns + AWAKE_NS) {
		is_among = run_is_same_device;
		last = NULL;
		last_ns = sample->end_ns > sample->begin_ns + AWAKE_NS ? sample->end_ns - AWAKE_NS
								       : sample->begin_ns;
	} else if (sample->end_ns <= last_ns + AWAKE_NS) {
		return told;
	}
	for (uint32_t i = 0; i < run->lane_count; i++) {
		if (!is_among(&run->lanes[i], &run->lanes[told->lane]))
			continue;
		const struct run_command *c =
			last_of(run, i, told->number, last_ns, sample->end_ns);
		if (c) {
			last = c;
			last_ns = run_command_sample(run, c)->end_ns;
		}
	}
	return last;
}

static void finish_waits(struct run *run)
{
	size_t kept = 0;

	for (size_t i = 0; i < run->wait_count; i++) {
		const struct run_command *command = aim(run, &run->waits[i]);
		if (!command)
			continue;
		run->waits[kept] = run->waits[i];
		run->waits[kept++].command = (uint32_t)(command - run->commands);
	}
	run->wait_count = kept;
}

void build_links_finish(struct build *b)
{
	struct hash_index numbers = {0};

	if (b->run->tile_count)
		finish_tiles(b->run);
	if (!b->run->command_count && !b->links.count)
		return;
	finish_commands(b);
	if (b->result)
		return;
	if (index_numbers(&numbers, b->run))
		build_no_memory(b);
	else
		finish_links(b, &numbers);
	hash_index_fini(&numbers);
	if (!b->result)
		finish_shared_launches(b);
	finish_waits(b->run);
}
