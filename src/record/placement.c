/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To list a process's pages the kernel walks through all of them, so it is asked at once, and then
 * after 1 s, 4 s, 16 s, and so on; the last answer counts. A thread of its own waits for each
 * answer, which may take seconds. A core's kind is its capacity or highest
 * frequency, relative to the largest of the machine; kinds that differ by less than an eighth are
 * one.
 */
#include "record/placement.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "base/clock_ns.h"
#include "base/file.h"
#include "base/thread.h"

enum {
	PLACEMENT_EVERY_MS = 200,
	PLACEMENT_FIRST_S = 1,
	MOST_CPUS = 4096,
	MOST_NODES = 64,
	PLACEMENT_PATH = 512,
	MOST_SEEN = 4096,	       /* threads, each on so many CPUs */
	PLACEMENT_WAIT_NS = 200000000, /* for an answer, when recording ends */
};

/* One answer about pages. Whoever comes last of its thread and the recorder frees it. */
struct page_list {
	char path[PLACEMENT_PATH];
	struct sink_node nodes[MOST_NODES];
	uint32_t node_count;
	bool is_read;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool has_ended, is_abandoned; /* under the lock */
};

struct placement {
	char *root;
	pid_t pid;
	bool has_nodes;
	uint64_t next_ns, memory_ns, memory_gap_ns;
	ARRAY(struct sink_cpu) cpus;
	struct sink_node nodes[MOST_NODES];
	uint32_t node_count;
	struct page_list *pages; /* NULL: none is being made */
	ARRAY(struct sink_thread_cpu) threads;
};

/* Calls set(p, cpu, value) for each CPU of a list as "0-3,8". */
static void placement_each(struct placement *p, const char *list, uint32_t value,
	void (*set)(struct placement *p, uint32_t cpu, uint32_t value))
{
	while (*list) {
		char *end;
		unsigned long from = strtoul(list, &end, 10), to = from;
		if (end == list)
			return;
		if (*end == '-')
			to = strtoul(end + 1, &end, 10);
		for (unsigned long cpu = from; cpu <= to && cpu < MOST_CPUS; cpu++)
			set(p, (uint32_t)cpu, value);
		list = end + (*end == ',');
	}
}

static struct sink_cpu *placement_cpu(struct placement *p, uint32_t cpu)
{
	for (size_t i = 0; i < p->cpus.count; i++)
		if (p->cpus.items[i].cpu == cpu)
			return &p->cpus.items[i];
	return NULL;
}

static void placement_add_cpu(struct placement *p, uint32_t cpu, uint32_t value)
{
	const struct sink_cpu one = {.cpu = cpu};

	if (!placement_cpu(p, cpu))
		(void)array_push(&p->cpus, one);
}

static void placement_set_node(struct placement *p, uint32_t cpu, uint32_t node)
{
	struct sink_cpu *of = placement_cpu(p, cpu);

	if (of)
		of->node = node;
}

static void placement_set_speed(struct placement *p, uint32_t cpu, uint32_t speed)
{
	struct sink_cpu *of = placement_cpu(p, cpu);

	if (of)
		of->capacity = speed;
}

/* A number of a file below the root; 0: it cannot be read. */
static uint32_t placement_number(const struct placement *p, const char *format, uint32_t number)
{
	char path[PLACEMENT_PATH], text[32] = "";
	int at = snprintf(path, sizeof(path), "%s", p->root);

	snprintf(path + at, sizeof(path) - (size_t)at, format, number);
	file_line(path, text, sizeof(text));
	return (uint32_t)strtoul(text, NULL, 10);
}

static bool placement_list(const struct placement *p, const char *file, char *out, size_t bytes)
{
	char path[PLACEMENT_PATH];

	snprintf(path, sizeof(path), "%s%s", p->root, file);
	return file_line(path, out, bytes);
}

/* Intel's kernels name the kinds themselves, others tell a capacity or a frequency. */
static void placement_find_kinds(struct placement *p)
{
	char fast[1024] = "", slow[1024] = "";
	uint32_t most = 0;

	for (size_t i = 0; i < p->cpus.count; i++) {
		struct sink_cpu *cpu = &p->cpus.items[i];
		cpu->capacity =
			placement_number(p, "/sys/devices/system/cpu/cpu%u/cpu_capacity", cpu->cpu);
		if (!cpu->capacity)
			cpu->capacity = placement_number(p,
				"/sys/devices/system/cpu/cpu%u/cpufreq/cpuinfo_max_freq", cpu->cpu);
	}
	if (placement_list(p, "/sys/devices/cpu_core/cpus", fast, sizeof(fast)) &&
		placement_list(p, "/sys/devices/cpu_atom/cpus", slow, sizeof(slow))) {
		placement_each(p, fast, 1024, placement_set_speed);
		placement_each(p, slow, 512, placement_set_speed);
	}
	for (size_t i = 0; i < p->cpus.count; i++)
		most = p->cpus.items[i].capacity > most ? p->cpus.items[i].capacity : most;
	for (size_t i = 0; i < p->cpus.count; i++)
		p->cpus.items[i].capacity =
			most ? (uint32_t)((uint64_t)p->cpus.items[i].capacity * 1024 / most) : 1024;
}

static void placement_find_nodes(struct placement *p)
{
	char list[1024] = "";

	for (uint32_t node = 0; node < MOST_NODES; node++) {
		char file[64];
		snprintf(file, sizeof(file), "/sys/devices/system/node/node%u/cpulist", node);
		/* a node without CPUs has memory alone, and an empty list */
		char path[PLACEMENT_PATH];
		snprintf(path, sizeof(path), "%s%s", p->root, file);
		if (access(path, R_OK))
			continue;
		p->nodes[p->node_count++].node = node;
		*list = '\0';
		file_line(path, list, sizeof(list));
		placement_each(p, list, node, placement_set_node);
	}
	p->has_nodes = p->node_count > 1;
}

static bool placement_has_kinds(const struct placement *p)
{
	for (size_t i = 0; i < p->cpus.count; i++)
		if (p->cpus.items[i].capacity < 1024 - 1024 / 8)
			return true;
	return false;
}

int placement_create(struct placement **out, const char *root)
{
	struct placement *p = calloc(1, sizeof(*p));
	char list[1024] = "";

	if (!p)
		return -ENOMEM;
	p->root = strdup(root);
	if (p->root && placement_list(p, "/sys/devices/system/cpu/online", list, sizeof(list)))
		placement_each(p, list, 0, placement_add_cpu);
	if (p->root) {
		placement_find_kinds(p);
		placement_find_nodes(p);
	}
	if (!p->root || (!p->has_nodes && !placement_has_kinds(p))) {
		int error = p->root ? -ENODEV : -ENOMEM;
		placement_destroy(p);
		return error;
	}
	*out = p;
	return 0;
}

/* Adds a line's pages, as "N0=12 N1=3 kernelpagesize_kB=4", to the nodes. */
static void page_list_add(struct page_list *l, const char *line)
{
	const char *size = strstr(line, "kernelpagesize_kB=");
	uint64_t page_bytes = size ? strtoull(strchr(size, '=') + 1, NULL, 10) << 10 : 4096;
	bool is_file = strstr(line, " file=") != NULL;

	for (const char *at = strstr(line, " N"); at; at = strstr(at + 1, " N")) {
		char *end;
		unsigned long node = strtoul(at + 2, &end, 10);
		if (*end != '=')
			continue;
		uint64_t bytes = strtoull(end + 1, NULL, 10) * page_bytes;
		for (uint32_t i = 0; i < l->node_count; i++)
			if (l->nodes[i].node == node && is_file)
				l->nodes[i].file_bytes += bytes;
			else if (l->nodes[i].node == node)
				l->nodes[i].anonymous_bytes += bytes;
	}
}

static void page_list_free(struct page_list *l)
{
	pthread_cond_destroy(&l->ended);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static void *page_list_run(void *argument)
{
	struct page_list *l = argument;
	FILE *in = fopen(l->path, "re");
	char *line = NULL;
	size_t capacity = 0;

	pthread_setname_np(pthread_self(), "brick-pages");
	while (in && getline(&line, &capacity, in) > 0) {
		page_list_add(l, line);
		l->is_read = true; /* a process that has just ended has an empty list */
	}
	free(line);
	if (in)
		fclose(in);
	pthread_mutex_lock(&l->lock);
	l->has_ended = true;
	pthread_cond_signal(&l->ended);
	bool is_abandoned = l->is_abandoned;
	pthread_mutex_unlock(&l->lock);
	if (is_abandoned)
		page_list_free(l);
	return NULL;
}

/* Takes the answer, if it comes in time. */
static void placement_take_pages(struct placement *p, uint64_t until_ns)
{
	const struct timespec until = {(time_t)(until_ns / NS_PER_S), (long)(until_ns % NS_PER_S)};
	struct page_list *l = p->pages;

	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	while (!l->has_ended && until_ns && !pthread_cond_timedwait(&l->ended, &l->lock, &until))
		;
	bool has_ended = l->has_ended;
	pthread_mutex_unlock(&l->lock);
	if (!has_ended)
		return;
	if (l->is_read)
		memcpy(p->nodes, l->nodes, sizeof(p->nodes));
	page_list_free(l);
	p->pages = NULL;
}

static void placement_abandon_pages(struct placement *p)
{
	struct page_list *l = p->pages;

	p->pages = NULL;
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	bool has_ended = l->has_ended;
	l->is_abandoned = true;
	pthread_mutex_unlock(&l->lock);
	if (has_ended)
		page_list_free(l);
}

static void placement_ask_for_pages(struct placement *p)
{
	struct page_list *l = calloc(1, sizeof(*l));
	pthread_condattr_t monotonic;
	pthread_attr_t detached;
	pthread_t thread;

	if (!l)
		return;
	snprintf(l->path, sizeof(l->path), "%s/proc/%d/numa_maps", p->root, (int)p->pid);
	l->node_count = p->node_count;
	for (uint32_t i = 0; i < p->node_count; i++)
		l->nodes[i].node = p->nodes[i].node;
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&l->ended, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	if (thread_start(&thread, &detached, 0, page_list_run, l))
		page_list_free(l);
	else
		p->pages = l;
	pthread_attr_destroy(&detached);
}

/* Makes room: what was seen least, and longest ago, goes first. */
static void placement_forget(struct placement *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->threads.count; i++)
		if ((p->threads.items[i].times /= 2))
			p->threads.items[kept++] = p->threads.items[i];
	p->threads.count = kept;
}

static void placement_saw(struct placement *p, uint32_t tid, uint32_t cpu)
{
	const struct sink_thread_cpu one = {.tid = tid, .cpu = cpu, .times = 1};

	for (size_t i = 0; i < p->threads.count; i++)
		if (p->threads.items[i].tid == tid && p->threads.items[i].cpu == cpu) {
			p->threads.items[i].times++;
			return;
		}
	while (p->threads.count >= MOST_SEEN)
		placement_forget(p);
	if (placement_cpu(p, cpu)) /* else it came online later */
		(void)array_push(&p->threads, one);
}

/* Field 39 of a thread's stat, behind its name in brackets, is the CPU that it ran on last. */
static void placement_look_at_thread(struct placement *p, pid_t tid)
{
	enum { STATE_FIELD = 3, CPU_FIELD = 39 };
	char path[64], text[1024];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)p->pid, (int)tid);
	file_begin(path, text, sizeof(text));
	const char *at = strrchr(text, ')');
	if (!at || strncmp(at, ") R", 3) != 0)
		return;
	at += 2;
	for (int field = STATE_FIELD; at && field < CPU_FIELD; field++)
		at = strchr(at + 1, ' ');
	if (at)
		placement_saw(p, (uint32_t)tid, (uint32_t)strtoul(at, NULL, 10));
}

void placement_turn(struct placement *p, pid_t pid, uint64_t now_ns)
{
	char path[64];

	if (!pid || now_ns < p->next_ns)
		return;
	p->next_ns = now_ns + PLACEMENT_EVERY_MS * 1000000ull;
	if (pid != p->pid) {
		p->pid = pid;
		p->threads.count = 0;
		p->memory_gap_ns = PLACEMENT_FIRST_S * NS_PER_S;
		p->memory_ns = now_ns;
		placement_abandon_pages(p);
		for (uint32_t i = 0; i < p->node_count; i++)
			p->nodes[i].file_bytes = p->nodes[i].anonymous_bytes = 0;
	}
	placement_take_pages(p, 0);
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *threads = opendir(path);
	for (struct dirent *entry; threads && (entry = readdir(threads));)
		if (atoi(entry->d_name) > 0)
			placement_look_at_thread(p, atoi(entry->d_name));
	if (threads)
		closedir(threads);
	if (!p->has_nodes || p->pages || now_ns < p->memory_ns)
		return;
	placement_ask_for_pages(p);
	p->memory_ns = now_ns + p->memory_gap_ns;
	p->memory_gap_ns *= 4;
}

int placement_finish(struct placement *p, struct trace_writer *w)
{
	placement_take_pages(p, monotonic_ns() + PLACEMENT_WAIT_NS);
	const struct sink_placement all = {.pid = (uint32_t)p->pid,
		.cpus = p->cpus.items,
		.cpu_count = p->cpus.count,
		.nodes = p->nodes,
		.node_count = p->node_count,
		.threads = p->threads.items,
		.thread_count = p->threads.count};

	return p->pid ? sink_placement(w, &all) : 0;
}

void placement_destroy(struct placement *p)
{
	if (!p)
		return;
	placement_abandon_pages(p);
	array_fini(&p->cpus);
	array_fini(&p->threads);
	free(p->root);
	free(p);
}
