/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To follow another process takes one event per CPU, which every thread and child inherits: the
 * kernel has no rings for inherited events that follow a thread over all CPUs. To follow a
 * process that runs already takes such events for each of its threads, into one ring per CPU. A
 * thread of this process has one event, which lives as long as its ring is mapped, without its
 * descriptor. Each ring is in the order of time; a thread's records may lie in several, so all
 * are read and sorted before any is handed out.
 */
#include "lib/sys/switches.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/array.h"
#include "base/order.h"
#include "base/time_namespace.h"
#include "lib/sys/confined.h"
#include "lib/sys/perf_ring.h"
#include "lib/sys/sys.h"

enum {
	WAKE_BYTES = 24 << 10, /* records that wait before the descriptor becomes readable */
	RING_PAGES = 64,       /* of another process, for each CPU: 256 KiB, some 10000 switches; a
				  plain user may lock 516 KiB for each (perf_event_mlock_kb) */
	THREAD_PAGES = 16,     /* of a thread of our own: 64 KiB */
	MIN_PAGES = 1,	       /* of a thread for which that is too much memory */
	RECORD_BYTES = 24,     /* of a switch: struct switch_record */
	MAX_EVENTS = 4096
};

struct ring {
	struct perf_ring map;
	int fd;		/* -1: none */
	int cpu;	/* of another process; -1: of a thread */
	uint32_t tid;	/* of this process; 0: another's */
	int ended;	/* the thread has left */
	uint64_t began; /* the ring's position at brick__switches_begin(); 0: not called */
};

struct brick__switches {
	uint64_t lost, lost_before;
	int64_t time_offset; /* from the kernel's clock to ours */
	int epoll_fd;	     /* -1: none */
	ARRAY(struct ring) rings;
	ARRAY(int) events;		  /* descriptors of those that write into another's ring */
	ARRAY(struct brick__switch) read; /* not handed out yet */
};

/* As the kernel writes it with sample_id_all, TID and TIME. */
struct switch_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t time;
};

enum start { NOW, ON_EXEC };

static int switches_open_event(pid_t pid, int cpu, enum start start)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.context_switch = 1,
		.inherit = pid != 0,
		.disabled = start == ON_EXEC,
		.enable_on_exec = start == ON_EXEC,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = WAKE_BYTES,
	};
	long fd = syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static void close_ring(const struct ring *ring)
{
	perf_ring_unmap(&ring->map);
	if (ring->fd >= 0)
		close(ring->fd);
}

/* Map an event's ring and keep it. The descriptor stays the caller's after an error. */
static int add_ring(struct brick__switches *s, struct ring ring, size_t pages)
{
	int error = perf_ring_map(&ring.map, ring.fd, pages), fd = ring.fd;

	if (error)
		return error;
	if (ring.tid)
		ring.fd = -1;
	error = array_push(&s->rings, ring);
	if (error)
		perf_ring_unmap(&ring.map);
	else if (ring.tid)
		close(fd);
	return error;
}

static struct ring *ring_of_cpu(struct brick__switches *s, int cpu)
{
	for (size_t i = 0; i < s->rings.count; i++)
		if (s->rings.items[i].cpu == cpu)
			return &s->rings.items[i];
	return NULL;
}

/* The descriptor of epoll becomes readable once each time the kernel wakes those who wait. */
static int switches_wait_for(struct brick__switches *s, int fd)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};

	if (s->epoll_fd < 0)
		s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return s->epoll_fd < 0 || epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/* An event, into the CPU's ring, which is its own if it is the first. */
static int switches_follow_on(struct brick__switches *s, pid_t pid, int cpu, enum start start)
{
	const struct ring *ring = ring_of_cpu(s, cpu);
	int fd = switches_open_event(pid, cpu, start);
	int error;

	if (fd < 0)
		return fd;
	if (ring)
		error = ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) ? -errno
								       : array_push(&s->events, fd);
	else
		error = add_ring(s, (struct ring){.fd = fd, .cpu = cpu}, RING_PAGES);
	if (error)
		close(fd);
	return error || ring ? error : switches_wait_for(s, fd);
}

int brick__switches_create(struct brick__switches **out)
{
	struct brick__switches *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->epoll_fd = -1;
	s->time_offset = time_namespace_offset_ns(CLOCK_MONOTONIC);
	*out = s;
	return 0;
}

int brick__switches_follow(struct brick__switches **out, pid_t pid)
{
	struct brick__switches *s;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int error = brick__switches_create(&s);

	if (error)
		return error;
	for (int cpu = 0; cpu < cpus && !error; cpu++) {
		error = switches_follow_on(s, pid, cpu, ON_EXEC);
		if (error == -ENODEV) /* this CPU is offline */
			error = 0;
	}
	if (!error && !s->rings.count)
		error = -ENODEV;
	if (error) {
		brick__switches_close(s);
		return error;
	}
	*out = s;
	return 0;
}

int brick__switches_add(struct brick__switches *s, pid_t tid)
{
	int error = s->rings.count + s->events.count < MAX_EVENTS ? 0 : -E2BIG;

	for (int cpu = 0; cpu < (int)sysconf(_SC_NPROCESSORS_CONF) && !error; cpu++) {
		error = switches_follow_on(s, tid, cpu, NOW);
		if (error == -ENODEV || error == -ESRCH)
			error = 0;
	}
	return error;
}

int brick__switches_join(struct brick__switches *s)
{
	if (brick__sys_is_confined())
		return -EPERM;
	struct ring ring = {.fd = switches_open_event(0, -1, NOW),
		.cpu = -1,
		.tid = (uint32_t)brick__sys_thread_id()};

	if (ring.fd < 0)
		return ring.fd;
	int error = add_ring(s, ring, THREAD_PAGES);
	if (error == -EPERM)
		error = add_ring(s, ring, MIN_PAGES);
	if (error)
		close(ring.fd);
	return error;
}

void brick__switches_leave(struct brick__switches *s)
{
	uint32_t tid = (uint32_t)brick__sys_thread_id();

	for (size_t i = 0; i < s->rings.count; i++)
		s->rings.items[i].ended |= s->rings.items[i].tid == tid;
}

/* What there is no memory for is counted. */
static int keep_switch(void *context, const struct perf_ring *ring, uint64_t at,
	const struct perf_event_header *header)
{
	struct brick__switches *s = context;
	struct switch_record record;

	if (header->type != PERF_RECORD_SWITCH || header->size != RECORD_BYTES)
		return 0;
	perf_ring_copy(ring, at, &record, sizeof(record));
	const struct brick__switch one = {
		.time_ns = record.time + (uint64_t)s->time_offset,
		.pid = record.pid,
		.tid = record.tid,
		.out = (header->misc & PERF_RECORD_MISC_SWITCH_OUT) != 0,
		.preempted = (header->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0,
	};
	int error = array_push(&s->read, one);
	s->lost += error != 0;
	return error;
}

/* One thread's records of one moment: first it leaves. */
COMPARATOR(switches_by_time, struct brick__switch,
	ORDER(x->time_ns, y->time_ns) ?: ORDER(y->out, x->out))

/* The kernel tells of losses as soon as there is room again: in front of the next record. */
static uint64_t lost_before(const struct ring *ring)
{
	struct {
		struct perf_event_header header;
		uint64_t id, lost;
	} record;
	const uint64_t at = ring->map.page->data_tail;

	if (!ring->began || at != ring->began || perf_ring_used(&ring->map) < sizeof(record))
		return 0;
	perf_ring_copy(&ring->map, at, &record, sizeof(record));
	return record.header.type == PERF_RECORD_LOST ? record.lost : 0;
}

int brick__switches_read(
	struct brick__switches *s, uint64_t until_ns, brick__switch_fn take, void *context)
{
	size_t done = 0;
	int error = 0;

	for (size_t i = s->rings.count; i-- > 0;) {
		struct ring *ring = &s->rings.items[i];
		s->lost_before += lost_before(ring);
		if (perf_ring_read(&ring->map, &s->lost, keep_switch, s))
			error = -ENOMEM;
		if (!ring->ended)
			continue;
		close_ring(ring);
		*ring = s->rings.items[--s->rings.count];
	}
	if (!s->read.count)
		return error;
	qsort(s->read.items, s->read.count, sizeof(*s->read.items), switches_by_time);
	while (done < s->read.count && s->read.items[done].time_ns < until_ns)
		take(context, &s->read.items[done++]);
	s->read.count -= done;
	memmove(s->read.items, s->read.items + done, s->read.count * sizeof(*s->read.items));
	return error;
}

uint64_t brick__switches_lost(const struct brick__switches *s)
{
	return s->lost;
}

void brick__switches_begin(struct brick__switches *s)
{
	for (size_t i = 0; i < s->rings.count; i++)
		s->rings.items[i].began = s->rings.items[i].map.page->data_tail;
}

uint64_t brick__switches_lost_before(const struct brick__switches *s)
{
	return s->lost_before;
}

unsigned brick__switches_fill(const struct brick__switches *s)
{
	unsigned most = 0;

	for (size_t i = 0; i < s->rings.count; i++) {
		const struct ring *ring = &s->rings.items[i];
		unsigned percent =
			(unsigned)(perf_ring_used(&ring->map) * 100 / ring->map.page->data_size);
		most = percent > most ? percent : most;
	}
	return most;
}

int brick__switches_wait_fd(const struct brick__switches *s)
{
	return s->epoll_fd;
}

uint64_t brick__switches_waiting(const struct brick__switches *s)
{
	struct epoll_event events[16];
	uint64_t bytes = 0;

	while (s->epoll_fd >= 0 && epoll_wait(s->epoll_fd, events, 16, 0) > 0)
		;

	for (size_t i = 0; i < s->rings.count; i++)
		bytes += perf_ring_used(&s->rings.items[i].map);
	return bytes / RECORD_BYTES + s->read.count;
}

void brick__switches_close(struct brick__switches *s)
{
	for (size_t i = 0; s && i < s->rings.count; i++)
		close_ring(&s->rings.items[i]);
	for (size_t i = 0; s && i < s->events.count; i++)
		close(s->events.items[i]);
	if (s && s->epoll_fd >= 0)
		close(s->epoll_fd);
	if (s) {
		array_fini(&s->rings);
		array_fini(&s->events);
		array_fini(&s->read);
	}
	free(s);
}
