/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files are those of proc(5): the first lines of /proc/stat have user, nice, system, idle,
 * iowait, irq, softirq and steal, in ticks of sysconf(_SC_CLK_TCK); guest time is in user already.
 * In /proc/PID/stat the name stands in parentheses that it may contain itself, so fields are
 * counted from the last one.
 */
#include "lib/drain/neighbours.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "base/file.h"
#include "base/hashmap.h"
#include "base/scope.h"

uint32_t drain_cpus_online(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (uint32_t)n : 1;
}

enum { CPU_FIELDS = 8, IDLE = 3, IOWAIT = 4, IRQ = 5, SOFTIRQ = 6, STEAL = 7 };

/* A line of /proc/stat. */
struct cpu {
	uint32_t number; /* ALL_CPUS: of all of them */
	uint64_t ticks[CPU_FIELDS];
};

enum { ALL_CPUS = UINT32_MAX };

struct cpus {
	ARRAY(struct cpu) list; /* the first is of all */
};

struct neighbours {
	struct cpus cpus;     /* at the beginning */
	struct hashmap ticks; /* pid -> ticks of CPU time at the beginning */
	long per_second;      /* ticks */
};

enum { THREAD_OF_KERNEL = 0x00200000 }; /* PF_KTHREAD, of the kernel */

struct process {
	uint32_t pid, parent;
	uint64_t ticks;
	char name[48];
};

static bool neighbours_read_line(const char *line, struct cpu *cpu)
{
	unsigned long long v[CPU_FIELDS] = {0};
	int at = 0;

	*cpu = (struct cpu){.number = ALL_CPUS};
	if (strncmp(line, "cpu ", 4) && sscanf(line, "cpu%u%n", &cpu->number, &at) != 1)
		return false;
	int n = sscanf(line + (at ? at : 3), "%llu %llu %llu %llu %llu %llu %llu %llu", &v[0],
		&v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]);
	for (int i = 0; i < CPU_FIELDS; i++)
		cpu->ticks[i] = v[i];
	return n > IDLE;
}

static int neighbours_read_cpus(struct cpus *cpus)
{
	char line[256];
	struct cpu cpu;
	SCOPED_TO(fclose) FILE *in = fopen("/proc/stat", "re");
	int error = in ? 0 : -ENOENT;

	while (!error && fgets(line, sizeof(line), in) && neighbours_read_line(line, &cpu))
		error = array_push(&cpus->list, cpu);
	return error ? error : cpus->list.count ? 0 : -ENOENT;
}

static const struct cpu *cpu_of(const struct cpus *cpus, uint32_t number)
{
	for (size_t i = 0; i < cpus->list.count; i++)
		if (cpus->list.items[i].number == number)
			return &cpus->list.items[i];
	return NULL;
}

/* `now` becomes what came since then; nothing for a CPU that was not there. */
static void neighbours_subtract(struct cpus *now, const struct cpus *then)
{
	for (size_t i = 0; i < now->list.count; i++) {
		struct cpu *cpu = &now->list.items[i];
		const struct cpu *before = cpu_of(then, cpu->number);
		for (int k = 0; k < CPU_FIELDS; k++)
			cpu->ticks[k] -= before && before->ticks[k] < cpu->ticks[k]
						 ? before->ticks[k]
						 : cpu->ticks[k];
	}
}

/* Reads a process; the names of the kernel's own threads are in brackets, as ps(1) has them. */
static int read_process(const char *number, struct process *p)
{
	char path[64], text[1024];
	unsigned long long user = 0, kernel = 0;
	unsigned flags = 0;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", number);
	file_begin(path, text, sizeof(text));
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	if (!open || !close || close < open)
		return -ENOENT;
	p->pid = (uint32_t)atol(number);
	/* 3 state, 4 ppid, 5 to 8, 9 flags, 10 to 13, 14 utime, 15 stime */
	if (sscanf(close + 1, " %*c %u %*d %*d %*d %*d %u %*u %*u %*u %*u %llu %llu", &p->parent,
		    &flags, &user, &kernel) != 4)
		return -ENOENT;
	bool is_kernel = flags & THREAD_OF_KERNEL;
	snprintf(p->name, sizeof(p->name), "%s%.*s%s", is_kernel ? "[" : "",
		(int)(close - open - 1), open + 1, is_kernel ? "]" : "");
	p->ticks = user + kernel;
	return 0;
}

/* Call `each` for every process that there is; those that go meanwhile are left out. */
static int for_all(int (*each)(void *context, const struct process *p), void *context)
{
	DIR *all = opendir("/proc");
	int error = all ? 0 : -errno;

	for (struct dirent *entry; all && !error && (entry = readdir(all));) {
		struct process p;
		if (isdigit((unsigned char)entry->d_name[0]) && !read_process(entry->d_name, &p))
			error = each(context, &p);
	}
	if (all)
		closedir(all);
	return error;
}

static int note_ticks(void *context, const struct process *p)
{
	struct neighbours *n = context;

	return hashmap_set(&n->ticks, p->pid, p->ticks);
}

int neighbours_create(struct neighbours **out)
{
	struct neighbours *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->per_second = sysconf(_SC_CLK_TCK);
	int error = neighbours_read_cpus(&n->cpus);
	if (!error)
		error = for_all(note_ticks, n);
	if (error) {
		neighbours_destroy(n);
		return error;
	}
	*out = n;
	return 0;
}

struct search {
	const struct neighbours *begin;
	struct hashmap parents;
	struct process most; /* `ticks`: since the begin */
	uint64_t own_ticks;
	uint32_t tree;
};

static int note_parent(void *context, const struct process *p)
{
	struct search *s = context;

	return hashmap_set(&s->parents, p->pid, p->parent);
}

static bool neighbours_is_ours(const struct search *s, uint32_t pid)
{
	uint64_t at = pid;

	for (size_t i = 0; at && at != HASHMAP_NONE && i <= s->parents.count; i++) {
		if (at == s->tree || at == (uint64_t)getpid())
			return true;
		at = hashmap_get(&s->parents, at);
	}
	return false;
}

static int find_most(void *context, const struct process *p)
{
	struct search *s = context;
	uint64_t before = hashmap_get(&s->begin->ticks, p->pid);
	struct process since = *p;

	/* a number that was used again belongs to a younger process */
	if (before != HASHMAP_NONE && before <= p->ticks)
		since.ticks -= before;
	if (!since.ticks)
		return 0;
	if (neighbours_is_ours(s, p->pid))
		s->own_ticks += since.ticks;
	else if (since.ticks > s->most.ticks)
		s->most = since;
	return 0;
}

static uint64_t ticks_ns(const struct neighbours *n, uint64_t ticks)
{
	return ticks * (1000000000ull / (uint64_t)n->per_second);
}

static uint64_t all_of(const struct cpu *cpu)
{
	uint64_t all = 0;

	for (int i = 0; i < CPU_FIELDS; i++)
		all += cpu->ticks[i];
	return all;
}

static void most_interrupted(
	const struct neighbours *n, const struct cpus *cpus, struct machine_use *out)
{
	for (size_t i = 1; i < cpus->list.count; i++) {
		const struct cpu *cpu = &cpus->list.items[i];
		uint64_t taken = ticks_ns(n, cpu->ticks[IRQ] + cpu->ticks[SOFTIRQ]);
		if (taken <= out->interrupt_cpu_ns)
			continue;
		out->interrupt_cpu = cpu->number;
		out->interrupt_cpu_ns = taken;
		out->interrupt_cpu_all_ns = ticks_ns(n, all_of(cpu));
	}
}

int neighbours_use(
	const struct neighbours *n, uint32_t tree, struct machine_use *out, uint64_t *own_ns)
{
	struct search search = {.begin = n, .tree = tree};
	struct cpus now = {0};
	int error = neighbours_read_cpus(&now);

	*out = (struct machine_use){0};
	if (!error) {
		neighbours_subtract(&now, &n->cpus);
		const uint64_t *ticks = now.list.items->ticks;
		out->steal_ns = ticks_ns(n, ticks[STEAL]);
		out->interrupt_ns = ticks_ns(n, ticks[IRQ] + ticks[SOFTIRQ]);
		out->idle_ns = ticks_ns(n, ticks[IDLE] + ticks[IOWAIT]);
		out->busy_ns = ticks_ns(
			n, all_of(now.list.items) - ticks[STEAL] - ticks[IDLE] - ticks[IOWAIT]);
		most_interrupted(n, &now, out);
	}
	array_fini(&now.list);
	if (error)
		return error;
	error = for_all(note_parent, &search);
	if (!error)
		error = for_all(find_most, &search);
	if (!error && search.most.ticks) {
		out->neighbour_ns = ticks_ns(n, search.most.ticks);
		snprintf(out->neighbour, sizeof(out->neighbour), "%s (%u)", search.most.name,
			search.most.pid);
	}
	if (own_ns)
		*own_ns = ticks_ns(n, search.own_ticks);
	hashmap_fini(&search.parents);
	return error;
}

void neighbours_destroy(struct neighbours *n)
{
	if (!n)
		return;
	hashmap_fini(&n->ticks);
	array_fini(&n->cpus.list);
	free(n);
}
