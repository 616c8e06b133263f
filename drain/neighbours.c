/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files are those of proc(5): the first line of /proc/stat has user, nice, system, idle,
 * iowait, irq, softirq and steal, in ticks of sysconf(_SC_CLK_TCK); guest time is in user already.
 * In /proc/PID/stat the name stands in parentheses that it may contain itself, so fields are
 * counted from the last one.
 */
#include "drain/neighbours.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "base/hashmap.h"

enum { CPU_FIELDS = 8, IDLE = 3, IOWAIT = 4, IRQ = 5, SOFTIRQ = 6, STEAL = 7 };

struct neighbours {
	uint64_t cpu[CPU_FIELDS];
	struct hashmap ticks; /* pid -> of CPU time */
	long per_second;
};

struct process {
	uint32_t pid, parent;
	uint64_t ticks;
	char name[48];
};

static int read_cpu(uint64_t cpu[CPU_FIELDS])
{
	unsigned long long v[CPU_FIELDS] = {0};
	FILE *in = fopen("/proc/stat", "re");

	if (!in)
		return -ENOENT;
	int n = fscanf(in, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2],
		&v[3], &v[4], &v[5], &v[6], &v[7]);
	fclose(in);
	for (int i = 0; i < CPU_FIELDS; i++)
		cpu[i] = v[i];
	return n > IDLE ? 0 : -ENOENT;
}

static int read_process(const char *number, struct process *p)
{
	char path[64], text[1024];
	unsigned long long user = 0, kernel = 0;

	snprintf(path, sizeof path, "/proc/%.20s/stat", number);
	file_begin(path, text, sizeof text);
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	if (!open || !close || close < open)
		return -ENOENT;
	snprintf(p->name, sizeof p->name, "%.*s", (int)(close - open - 1), open + 1);
	p->pid = (uint32_t)atol(number);
	/* 3 state, 4 ppid, 5 to 13, 14 utime, 15 stime */
	if (sscanf(close + 1, " %*c %u %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &p->parent,
		    &user, &kernel) != 3)
		return -ENOENT;
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
	struct neighbours *n = calloc(1, sizeof *n);

	if (!n)
		return -ENOMEM;
	n->per_second = sysconf(_SC_CLK_TCK);
	int error = read_cpu(n->cpu);
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
	uint32_t tree;
};

static int note_parent(void *context, const struct process *p)
{
	struct search *s = context;

	return hashmap_set(&s->parents, p->pid, p->parent);
}

static int is_ours(const struct search *s, uint32_t pid)
{
	uint64_t at = pid;

	for (size_t i = 0; at && at != HASHMAP_NONE && i <= s->parents.count; i++) {
		if (at == s->tree || at == (uint64_t)getpid())
			return 1;
		at = hashmap_get(&s->parents, at);
	}
	return 0;
}

static int find_most(void *context, const struct process *p)
{
	struct search *s = context;
	uint64_t before = hashmap_get(&s->begin->ticks, p->pid);
	struct process since = *p;

	/* a number that was used again belongs to a younger process */
	if (before != HASHMAP_NONE && before <= p->ticks)
		since.ticks -= before;
	if (since.ticks > s->most.ticks && !is_ours(s, p->pid))
		s->most = since;
	return 0;
}

static uint64_t ticks_ns(const struct neighbours *n, uint64_t ticks)
{
	return ticks * (1000000000ull / (uint64_t)n->per_second);
}

int neighbours_use(const struct neighbours *n, uint32_t tree, struct machine_use *out)
{
	struct search search = {.begin = n, .tree = tree};
	uint64_t now[CPU_FIELDS], all = 0;
	int error = read_cpu(now);

	*out = (struct machine_use){0};
	if (error)
		return error;
	for (int i = 0; i < CPU_FIELDS; i++)
		all += now[i] -= n->cpu[i] < now[i] ? n->cpu[i] : now[i];
	out->steal_ns = ticks_ns(n, now[STEAL]);
	out->interrupt_ns = ticks_ns(n, now[IRQ] + now[SOFTIRQ]);
	out->idle_ns = ticks_ns(n, now[IDLE] + now[IOWAIT]);
	out->busy_ns = ticks_ns(n, all - now[STEAL] - now[IDLE] - now[IOWAIT]);
	error = for_all(note_parent, &search);
	if (!error)
		error = for_all(find_most, &search);
	if (!error && search.most.ticks) {
		out->neighbour_ns = ticks_ns(n, search.most.ticks);
		snprintf(out->neighbour, sizeof out->neighbour, "%s (%u)", search.most.name,
			search.most.pid);
	}
	hashmap_fini(&search.parents);
	return error;
}

void neighbours_destroy(struct neighbours *n)
{
	if (!n)
		return;
	hashmap_fini(&n->ticks);
	free(n);
}
