/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which level of memory holds the data of each node of a step: the hardware's own answer, to hold
 * bench/roofs.py's against. Nodes are replayed in their order, again and again: of each its own
 * data are read, and of one piece of memory as much as it passes on. Before that, a few lines of
 * its own data are followed as a list in random order: no prefetcher helps, so the time of a line
 * tells where it was. Beside it, the same of sets that lie in a level for certain: half of each
 * cache (four times the one before it, if that is less), and four times the last.
 *
 * Input: a line for each node, "BRICK OWN PASSED" in bytes. Output, in ns of a line: "level NAME
 * NS", then "BRICK NS LINES".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "analysis/machine/machine_cpu.h"
#include "base/clock_ns.h"
#include "base/order.h"

enum { LINE = 64, NAME = 64, NODES = 4096, LEVELS = CPU_LEVELS + 1, ROUNDS = 61, FOLLOWED = 64 };

struct line {
	struct line *next;
	char rest[LINE - sizeof(struct line *)];
};

/* `followed` of its lines, in a ring from first on. */
struct set {
	struct line *lines, *first;
	size_t count, followed;
	double ns[ROUNDS];
};

struct node {
	char brick[NAME];
	struct set own;
	size_t passed; /* lines */
};

static uint64_t state = 88172645463325252u;

static uint64_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Lines are taken at random from as many pieces of the set, and these in random order. */
static void link_up(struct set *set, struct line *lines, size_t count)
{
	size_t order[FOLLOWED], n = count < FOLLOWED ? count : FOLLOWED;

	*set = (struct set){.lines = lines, .count = count, .followed = n};
	for (size_t i = 0; i < n; i++)
		order[i] = i * count / n + next_random() % (count / n);
	for (size_t i = n; i > 1; i--) {
		size_t k = next_random() % i, kept = order[i - 1];
		order[i - 1] = order[k];
		order[k] = kept;
	}
	for (size_t i = 0; i < n; i++)
		lines[order[i]].next = &lines[order[(i + 1) % n]];
	set->first = n ? &lines[order[0]] : NULL;
}

static struct line *take_memory(size_t bytes)
{
	size_t huge = 2u << 20, whole = (bytes + huge) / huge * huge;
	char *memory = mmap(
		NULL, whole + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		exit(4);
	memory += huge - (uintptr_t)memory % huge;
	madvise(memory, whole, MADV_HUGEPAGE);
	memset(memory, 0, bytes);
	return (struct line *)memory;
}

static struct line *volatile sink;
static volatile char sum;

static void read_all(const struct line *lines, size_t count)
{
	char all = 0;

	for (size_t i = 0; i < count; i++)
		all ^= lines[i].rest[0];
	sum = all;
}

/* ns of a line, before all of them are read. */
static double follow(const struct set *set, double pair_ns)
{
	struct line *at = set->first;

	if (!set->count)
		return 0;
	uint64_t begin_ns = monotonic_ns();
	for (size_t i = 0; i < set->followed; i++)
		at = at->next;
	sink = at;
	uint64_t end_ns = monotonic_ns();
	read_all(set->lines, set->count);
	return ((double)(end_ns - begin_ns) - pair_ns) / (double)set->followed;
}

static double middle(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), order_doubles);
	return values[count / 2];
}

static double cost_of_a_pair(void)
{
	double values[101];

	for (int i = 0; i < 101; i++) {
		uint64_t begin_ns = monotonic_ns();
		values[i] = (double)(monotonic_ns() - begin_ns);
	}
	return middle(values, 101);
}

/* Sets that lie in the levels for certain. */
static size_t find_levels(struct set *sets, char names[][NAME])
{
	static struct cpu_info info;
	size_t count = 0;
	uint64_t before = 0;

	cpu_info_read(&info);
	for (int i = 0; i < CPU_LEVELS; i++) {
		uint64_t bytes = info.data[i].bytes / 2;
		if (!bytes)
			continue;
		bytes = before && 4 * before < bytes ? 4 * before : bytes;
		snprintf(names[count], NAME, "L%d", i + 1);
		link_up(&sets[count++], take_memory(bytes), bytes / LINE);
		before = info.data[i].bytes;
	}
	before = before ? before : 32u << 20;
	snprintf(names[count], NAME, "memory");
	link_up(&sets[count++], take_memory(4 * before), 4 * before / LINE);
	return count;
}

static size_t read_nodes(struct node *nodes, struct line **shared)
{
	unsigned long long own, passed;
	size_t count = 0, most = 0, all = 0;

	while (count < NODES && scanf("%63s %llu %llu", nodes[count].brick, &own, &passed) == 3) {
		nodes[count].own.count = own / LINE;
		nodes[count].passed = passed / LINE;
		all += own / LINE;
		most = passed / LINE > most ? passed / LINE : most;
		count++;
	}
	struct line *memory = take_memory(all * LINE);
	*shared = take_memory(most * LINE);
	for (size_t i = 0; i < count; i++) {
		size_t lines = nodes[i].own.count;
		link_up(&nodes[i].own, memory, lines);
		memory += lines;
	}
	return count;
}

static double middle_of(struct set *set)
{
	return middle(set->ns, ROUNDS);
}

int main(void)
{
	static struct node nodes[NODES];
	static struct set levels[LEVELS];
	char names[LEVELS][NAME];
	struct line *shared;
	size_t node_count = read_nodes(nodes, &shared), level_count = find_levels(levels, names);
	double pair_ns = cost_of_a_pair();

	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < level_count; i++)
			for (int again = 0; again < 3; again++) /* the last one counts */
				levels[i].ns[round] = follow(&levels[i], pair_ns);
		for (int step = 0; step < 4; step++)
			for (size_t i = 0; i < node_count; i++) {
				read_all(shared, nodes[i].passed);
				nodes[i].own.ns[round] = follow(&nodes[i].own, pair_ns);
			}
	}
	for (size_t i = 0; i < level_count; i++)
		printf("level %s %.3f\n", names[i], middle_of(&levels[i]));
	for (size_t i = 0; i < node_count; i++)
		printf("%s %.3f %zu\n", nodes[i].brick, middle_of(&nodes[i].own),
			nodes[i].own.count);
	return 0;
}
