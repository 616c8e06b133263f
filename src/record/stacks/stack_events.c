/* SPDX-License-Identifier: Apache-2.0 */
/*
 * There is one event per CPU, which every thread and child inherits: the kernel has no rings for
 * inherited events that follow a thread over all CPUs. Of a process that runs already, each thread
 * has such events, into one ring per CPU. An event's clock is
 * PERF_COUNT_SW_CPU_CLOCK, which virtual machines have, too; the rest of a period carries over to
 * the thread's next turn. A thread's first period begins with the thread, so a thread that ends
 * sooner has no sample. Samples in the kernel are left out (exclude_kernel), because they take
 * privileges. A thread's records may lie in several rings, so all rings are read and sorted before
 * an event is handed out.
 */
#include "record/stacks/stack_events.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/array.h"
#include "base/clock_ns.h"
#include "base/file.h"
#include "base/order.h"
#include "base/time_namespace.h"
#include "lib/sys/perf_ring.h"

/*
 * A ring has 128 KiB for each CPU: together with the ring of switches, that is within a plain
 * user's perf_event_mlock_kb (516). map_ring() takes less where the limits are less. A stack has
 * 127 addresses at most (kernel.perf_event_max_stack).
 */
enum { RING_PAGES = 32, MOST_BYTES = 48 + 8 * 130, MOST_EVENTS = 4096 };

enum { FORMAT_LOST = 1 << 4 }; /* PERF_FORMAT_LOST, which headers may not have yet */

/* Additions of newer kernels; each includes the ones before it. */
enum news { NEWS_NONE, NEWS_BUILD_ID /* Linux 5.12 */, NEWS_LOST /* Linux 6.0 */ };

enum start { NOW, ON_EXEC };

struct source {
	struct perf_ring ring; /* no page: it writes into that of another source of its CPU */
	int fd;		       /* the event */
	int cpu;
	bool tells_lost; /* read(2) of the event gives the number of lost records */
};

/* A record that was read and not handed out yet. */
struct kept {
	uint64_t time_ns; /* by our CLOCK_MONOTONIC */
	uint64_t order;	  /* in which records were read: decides between equal times */
	size_t at;	  /* its first word's place in `words` */
};

struct stack_events {
	unsigned hz;
	int64_t time_offset; /* ns to add to the kernel's times (time_namespace.h) */
	uint64_t lost;	     /* records, by PERF_RECORD_LOST */
	uint64_t throttled;
	uint64_t order;	 /* of the next record */
	uint64_t unkept; /* records lost for lack of memory */
	ARRAY(struct source) sources;
	ARRAY(struct kept) kept;
	ARRAY(uint64_t) words; /* the kept records, each from a whole word on */
};

/* What sample_id_all puts behind each record, with TID, TIME and CPU. */
struct trailer {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
};

struct stack_record {
	struct perf_event_header header;
	struct trailer of;
	uint64_t count;
	uint64_t addresses[];
};

struct map_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, bytes, offset;
	union {
		struct {
			uint32_t major, minor;
			uint64_t inode, generation;
		};
		struct {
			uint8_t id_bytes, reserved_1;
			uint16_t reserved_2;
			uint8_t id[20];
		};
	};
	uint32_t protection, flags;
	char path[];
};

struct name_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	char name[];
};

struct thread_record { /* starts or ends */
	struct perf_event_header header;
	uint32_t pid, parent, tid, parent_tid;
	uint64_t time;
};

static int stack_events_open(pid_t pid, int cpu, unsigned hz, enum start start, enum news news)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		/* no frequency: perf_event_max_sample_rate may be below it */
		.sample_period = NS_PER_S / hz,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
			       PERF_SAMPLE_CALLCHAIN,
		.exclude_callchain_kernel = 1,
		.read_format = news >= NEWS_LOST ? FORMAT_LOST : 0,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.build_id = news >= NEWS_BUILD_ID,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.inherit = 1,
		.disabled = start == ON_EXEC,
		.enable_on_exec = start == ON_EXEC,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	long fd = syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

/* As large a ring as the user may have. */
static int map_ring(struct perf_ring *ring, int fd)
{
	int error = -EPERM;

	for (size_t pages = RING_PAGES; pages && error == -EPERM; pages /= 2)
		error = perf_ring_map(ring, fd, pages);
	return error;
}

static const struct source *source_of_cpu(const struct stack_events *e, int cpu)
{
	for (size_t i = 0; i < e->sources.count; i++)
		if (e->sources.items[i].cpu == cpu && e->sources.items[i].ring.page)
			return &e->sources.items[i];
	return NULL;
}

static int stack_events_follow_on(struct stack_events *e, pid_t pid, int cpu, enum start start)
{
	enum news news = NEWS_LOST;
	struct source source = {.fd = stack_events_open(pid, cpu, e->hz, start, news), .cpu = cpu};
	const struct source *first = source_of_cpu(e, cpu);

	while (source.fd == -EINVAL && news > NEWS_NONE)
		source.fd = stack_events_open(pid, cpu, e->hz, start, --news);
	source.tells_lost = news >= NEWS_LOST;
	if (source.fd < 0)
		return source.fd == -ENODEV ? 0 : source.fd; /* this CPU is offline */
	int error = !first ? map_ring(&source.ring, source.fd)
		    : ioctl(source.fd, PERF_EVENT_IOC_SET_OUTPUT, first->fd) ? -errno
									     : 0;
	if (!error && array_push(&e->sources, source)) {
		perf_ring_unmap(&source.ring);
		error = -ENOMEM;
	}
	if (error)
		close(source.fd);
	return error;
}

/* All but the first `kept`, whose rings no earlier one writes into. */
static void close_sources(struct stack_events *e, size_t kept)
{
	for (size_t i = kept; i < e->sources.count; i++) {
		perf_ring_unmap(&e->sources.items[i].ring);
		close(e->sources.items[i].fd);
	}
	e->sources.count = kept < e->sources.count ? kept : e->sources.count;
}

static int stack_events_follow_thread(struct stack_events *e, pid_t pid, enum start start)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int error = 0;

	for (int cpu = 0; cpu < cpus && !error; cpu++)
		error = e->sources.count < MOST_EVENTS ? stack_events_follow_on(e, pid, cpu, start)
						       : -E2BIG;
	return error;
}

int stack_events_create(struct stack_events **out, unsigned hz)
{
	struct stack_events *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->hz = hz;
	e->time_offset = time_namespace_offset_ns(CLOCK_MONOTONIC);
	*out = e;
	return 0;
}

int stack_events_follow(struct stack_events **out, pid_t pid, unsigned hz)
{
	struct stack_events *e;
	int error = stack_events_create(&e, hz);

	if (error)
		return error;
	error = stack_events_follow_thread(e, pid, ON_EXEC);
	if (!error && !e->sources.count)
		error = -ENODEV;
	if (error) {
		stack_events_close(e);
		return error;
	}
	*out = e;
	return 0;
}

/* What its address space has that runs, as the kernel would have told it. */
static int tell_mappings(pid_t pid, stack_event_fn take, void *context)
{
	char path[64];
	char *line = NULL, rights[8];
	size_t room = 0;
	struct stack_event event = {.kind = STACK_MAPPED,
		.time_ns = monotonic_ns(),
		.pid = (uint32_t)pid,
		.tid = (uint32_t)pid};

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *maps = fopen(path, "re");
	if (!maps)
		return -ENOENT;
	while (getline(&line, &room, maps) > 0) {
		uint64_t end;
		int at = 0;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %" SCNu64 " %n",
			    &event.start, &end, rights, &event.offset, &event.inode, &at) < 5 ||
			!at || !strchr(rights, 'x'))
			continue;
		line[at + (int)strcspn(line + at, "\n")] = '\0';
		event.bytes = end - event.start;
		event.text = line[at] ? line + at : "//anon"; /* the kernel's own word */
		take(context, &event);
	}
	free(line);
	fclose(maps);
	return 0;
}

static void tell_name(pid_t pid, pid_t tid, stack_event_fn take, void *context)
{
	char path[64], name[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)tid);
	if (file_line(path, name, sizeof(name)))
		take(context, &(struct stack_event){.kind = STACK_NAMED,
				      .time_ns = monotonic_ns(),
				      .pid = (uint32_t)pid,
				      .tid = (uint32_t)tid,
				      .text = name});
}

int stack_events_add(struct stack_events *e, pid_t pid, stack_event_fn take, void *context)
{
	char path[32];
	const struct dirent *entry;
	size_t before = e->sources.count;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *threads = opendir(path);
	int error = threads ? tell_mappings(pid, take, context) : -ENOENT;
	while (!error && (entry = readdir(threads))) {
		pid_t tid = atoi(entry->d_name); /* 0 of "." and ".." */
		if (tid <= 0)
			continue;
		error = stack_events_follow_thread(e, tid, NOW);
		if (error == -ESRCH) /* it has ended */
			error = 0;
		if (tid != pid)
			take(context, &(struct stack_event){.kind = STACK_STARTED,
					      .time_ns = monotonic_ns(),
					      .pid = (uint32_t)pid,
					      .tid = (uint32_t)tid,
					      .text = "",
					      .parent = (uint32_t)pid});
		tell_name(pid, tid, take, context);
	}
	if (threads)
		closedir(threads);
	if (error) /* threads that nobody reads the stacks of would pay for them */
		close_sources(e, before);
	return error;
}

static struct trailer trailer_of(const struct perf_event_header *header)
{
	struct trailer t;
	size_t at = header->type == PERF_RECORD_SAMPLE ? offsetof(struct stack_record, of)
						       : header->size - sizeof(t);

	memcpy(&t, (const char *)header + at, sizeof(t));
	return t;
}

static bool stack_events_is_wanted(const struct perf_event_header *header)
{
	switch (header->type) {
	case PERF_RECORD_SAMPLE:
		return header->size >= sizeof(struct stack_record);
	case PERF_RECORD_MMAP2:
		return header->size > sizeof(struct map_record) + sizeof(struct trailer);
	case PERF_RECORD_COMM:
		return header->size > sizeof(struct name_record) + sizeof(struct trailer);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return header->size >= sizeof(struct thread_record) + sizeof(struct trailer);
	default:
		return false;
	}
}

/* Append a copy of a record of the ring to the kept records, if it is of a wanted type. */
static int stack_events_keep(
	struct stack_events *e, const struct perf_ring *ring, uint64_t at, uint32_t bytes)
{
	size_t words = (bytes + 7) / 8;

	if (array_reserve(&e->words, words) || array_reserve(&e->kept, 1))
		return -ENOMEM;
	uint64_t *to = e->words.items + e->words.count;
	perf_ring_copy(ring, at, to, bytes);
	if (!stack_events_is_wanted((const struct perf_event_header *)to))
		return 0;
	struct trailer t = trailer_of((const struct perf_event_header *)to);
	const struct kept one = {
		.time_ns = t.time + (uint64_t)e->time_offset,
		.order = e->order++,
		.at = e->words.count,
	};
	e->words.count += words;
	return array_push(&e->kept, one);
}

static int take_record(void *context, const struct perf_ring *ring, uint64_t at,
	const struct perf_event_header *header)
{
	struct stack_events *e = context;
	bool is_throttle = header->type == PERF_RECORD_THROTTLE;
	int error = is_throttle ? 0 : stack_events_keep(e, ring, at, header->size);

	e->throttled += is_throttle;
	e->unkept += error != 0;
	return error;
}

COMPARATOR(stack_events_by_time, struct kept,
	ORDER(x->time_ns, y->time_ns) ?: ORDER(x->order, y->order))

/* The text at the end of a record ends before its trailer at the latest. */
static const char *stack_events_text_of(const char *text, const struct perf_event_header *header)
{
	size_t most = header->size - sizeof(struct trailer) - (size_t)(text - (const char *)header);

	return memchr(text, 0, most) ? text : "";
}

static struct stack_event stack_events_of(const struct stack_events *e, const struct kept *kept)
{
	const void *record = e->words.items + kept->at;
	const struct perf_event_header *header = record;
	struct trailer t = trailer_of(header);
	struct stack_event event = {
		.time_ns = kept->time_ns, .pid = t.pid, .tid = t.tid, .cpu = t.cpu, .text = ""};

	if (header->type == PERF_RECORD_SAMPLE) {
		const struct stack_record *stack = (const struct stack_record *)header;
		size_t most = (header->size - sizeof(*stack)) / sizeof(uint64_t);
		event.kind = STACK_TAKEN;
		event.addresses = stack->addresses;
		event.count = stack->count < most ? (size_t)stack->count : most;
	} else if (header->type == PERF_RECORD_MMAP2) {
		const struct map_record *map = (const struct map_record *)header;
		event.kind = STACK_MAPPED;
		event.start = map->start;
		event.bytes = map->bytes;
		event.offset = map->offset;
		event.text = stack_events_text_of(map->path, header);
		if (!(header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID)) {
			event.inode = map->inode;
		} else if (map->id_bytes <= sizeof(event.build_id)) {
			memcpy(event.build_id, map->id, map->id_bytes);
			event.build_id_bytes = map->id_bytes;
		}
	} else if (header->type == PERF_RECORD_COMM) {
		const struct name_record *named = record;
		event.kind = STACK_NAMED;
		event.pid = named->pid;
		event.tid = named->tid;
		event.text = stack_events_text_of(named->name, header);
		event.is_exec = (header->misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
	} else {
		const struct thread_record *thread = (const struct thread_record *)header;
		event.kind = header->type == PERF_RECORD_FORK ? STACK_STARTED : STACK_ENDED;
		/* the trailer has the numbers of the parent */
		event.pid = thread->pid;
		event.tid = thread->tid;
		event.parent = thread->parent;
	}
	return event;
}

/* Drop the first `done` kept records. Copies the others, which are few, to new memory. */
static void stack_events_forget(struct stack_events *e, size_t done)
{
	ARRAY(uint64_t) words = {0};
	size_t left = e->kept.count - done, kept = 0;

	for (size_t i = done; i < e->kept.count; i++) {
		struct kept one = e->kept.items[i];
		const uint64_t *from = e->words.items + one.at;
		size_t count =
			(((const struct perf_event_header *)(const void *)from)->size + 7u) / 8;
		one.at = words.count;
		if (array_append(&words, from, count))
			break;
		e->kept.items[kept++] = one;
	}
	e->unkept += left - kept;
	e->kept.count = kept;
	array_fini(&e->words);
	e->words.items = words.items;
	e->words.count = words.count;
	e->words.capacity = words.capacity;
}

int stack_events_read(struct stack_events *e, uint64_t until_ns, stack_event_fn take, void *context)
{
	size_t done = 0;
	int error = 0;

	for (size_t i = 0; i < e->sources.count; i++)
		if (e->sources.items[i].ring.page &&
			perf_ring_read(&e->sources.items[i].ring, &e->lost, take_record, e))
			error = -ENOMEM;
	if (e->kept.count)
		qsort(e->kept.items, e->kept.count, sizeof(*e->kept.items), stack_events_by_time);
	while (done < e->kept.count && e->kept.items[done].time_ns < until_ns) {
		struct stack_event event = stack_events_of(e, &e->kept.items[done++]);
		take(context, &event);
	}
	stack_events_forget(e, done);
	return error;
}

/*
 * A ring gets its PERF_RECORD_LOST only with the next record that finds room, which never comes at
 * the end. The event's own count (Linux 6.0) has all losses.
 */
uint64_t stack_events_lost(const struct stack_events *e)
{
	struct {
		uint64_t value, lost;
	} counted;
	uint64_t lost = 0;

	for (size_t i = 0; i < e->sources.count; i++)
		if (e->sources.items[i].tells_lost &&
			read(e->sources.items[i].fd, &counted, sizeof(counted)) == sizeof(counted))
			lost += counted.lost;
	return (lost > e->lost ? lost : e->lost) + e->unkept;
}

uint64_t stack_events_throttled(const struct stack_events *e)
{
	return e->throttled;
}

uint32_t stack_events_last_ms(const struct stack_events *e)
{
	uint64_t least = RING_PAGES * UINT64_C(4096);

	for (size_t i = 0; i < e->sources.count; i++)
		if (e->sources.items[i].ring.page &&
			e->sources.items[i].ring.page->data_size < least)
			least = e->sources.items[i].ring.page->data_size;
	return (uint32_t)(least * 1000 / (MOST_BYTES * (uint64_t)e->hz));
}

bool stack_events_any(const struct stack_events *e)
{
	return e->sources.count != 0;
}

void stack_events_close(struct stack_events *e)
{
	if (!e)
		return;
	close_sources(e, 0);
	array_fini(&e->sources);
	array_fini(&e->kept);
	array_fini(&e->words);
	free(e);
}
