/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three software events for each CPU write into one ring: PAGE_FAULTS when a fault begins,
 * PAGE_FAULTS_MIN or _MAJ when it was served, all inherited by threads and children. A thread may
 * end a fault on another CPU than it began on, so the rings are read together, and a record is
 * looked at in the order of time. A fault that is answered by a signal has no end.
 */
#include "record/fault_records.h"

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
#include "base/clock_ns.h"
#include "base/hashmap.h"
#include "base/number.h"
#include "base/order.h"
#include "base/time_namespace.h"
#include "lib/drain/off_cpu.h"
#include "lib/sys/perf_ring.h"
#include "lib/writer/sink.h"
#include "record/encoder.h"
#include "record/watched_session.h"

enum {
	ALL_RINGS_PAGES = 8192, /* of all CPUs together: 32 MiB of 4 KiB pages */
	MOST_PAGES = 256,	/* of one CPU: 11000 faults */
	FEWEST_PAGES = 8,
	ENOUGH_FAULTS = 1 << 18,
	FEW_FAULTS = 128,
	QUIET_S = 10, /* with few faults */
	FAULT_LOOK_MS = 100,
	FAULT_IDLE_MS = 1000,
};

enum fault_event { FAULT_BEGINS, FAULT_WAS_MINOR, FAULT_WAS_MAJOR, FAULT_EVENTS };

struct fault_source {
	struct perf_ring ring;
	int fds[FAULT_EVENTS]; /* the ring is that of the first */
	uint64_t ids[FAULT_EVENTS];
};

/* As the kernel writes it with IDENTIFIER, TID and TIME. */
struct fault_sample {
	struct perf_event_header header;
	uint64_t id;
	uint32_t pid, tid;
	uint64_t time;
};

struct fault_record {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t pid, tid;
	enum fault_event event;
};

struct fault_records {
	int64_t time_offset; /* from the kernel's clock to ours */
	int epoll_fd;
	bool sees_kernel;	     /* faults inside of system calls, too */
	bool is_elsewhere;	     /* a session's process is known by another number there */
	uint64_t lost, seen;	     /* records; faults */
	uint64_t told;		     /* faults of processes with a session */
	uint64_t busy_ns, busy_seen; /* when there were more than few faults, and how many then */
	uint64_t until_ns;	     /* complete up to here; UINT64_MAX: the kernel goes on */
	ARRAY(struct fault_source) sources;
	const struct fault_source *reading; /* while its ring is read */
	ARRAY(struct fault_record) records; /* not looked at yet */
	ARRAY(struct sink_fault) faults;    /* of processes without a session so far */
	struct hashmap begun;		    /* tid -> since when it is in a fault */
};

static int fault_open(pid_t pid, int cpu, enum fault_event event, bool sees_kernel)
{
	static const uint64_t of[FAULT_EVENTS] = {PERF_COUNT_SW_PAGE_FAULTS,
		PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_COUNT_SW_PAGE_FAULTS_MAJ};
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = of[event],
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.inherit = 1,
		.disabled = 1,
		.enable_on_exec = 1,
		.exclude_kernel = !sees_kernel,
		.exclude_hv = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = FEWEST_PAGES / 2 * 4096,
	};
	long fd = syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static void fault_source_close(const struct fault_source *source)
{
	if (source->ring.page)
		perf_ring_unmap(&source->ring);
	for (int i = 0; i < FAULT_EVENTS; i++)
		if (source->fds[i] >= 0)
			close(source->fds[i]);
}

static size_t fault_ring_pages(long cpus)
{
	size_t pages = MOST_PAGES;

	while (pages > FEWEST_PAGES && pages * (size_t)cpus > ALL_RINGS_PAGES)
		pages /= 2;
	return pages;
}

static int fault_source_map(struct fault_source *source, size_t pages)
{
	int error = perf_ring_map(&source->ring, source->fds[FAULT_BEGINS], pages);

	for (int i = FAULT_BEGINS + 1; i < FAULT_EVENTS && !error; i++)
		if (ioctl(source->fds[i], PERF_EVENT_IOC_SET_OUTPUT, source->fds[FAULT_BEGINS]))
			error = -errno;
	for (int i = 0; i < FAULT_EVENTS && !error; i++)
		if (ioctl(source->fds[i], PERF_EVENT_IOC_ID, &source->ids[i]))
			error = -errno;
	return error;
}

static int fault_follow_on(struct fault_records *f, pid_t pid, int cpu, size_t pages)
{
	struct fault_source source = {.fds = {-1, -1, -1}};
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	int error = 0;

	for (int i = 0; i < FAULT_EVENTS && !error; i++) {
		source.fds[i] = fault_open(pid, cpu, (enum fault_event)i, f->sees_kernel);
		if (source.fds[i] == -EACCES && f->sees_kernel && !f->sources.count && !i) {
			f->sees_kernel = false;
			source.fds[i] = fault_open(pid, cpu, (enum fault_event)i, false);
		}
		error = source.fds[i] < 0 ? source.fds[i] : 0;
	}
	if (!error)
		error = fault_source_map(&source, pages);
	if (!error && epoll_ctl(f->epoll_fd, EPOLL_CTL_ADD, source.fds[FAULT_BEGINS], &event))
		error = -errno;
	if (!error)
		error = array_push(&f->sources, source);
	if (error)
		fault_source_close(&source);
	return error == -ENODEV ? 0 : error; /* this CPU is offline */
}

static void fault_stop(struct fault_records *f)
{
	for (size_t i = 0; i < f->sources.count; i++)
		fault_source_close(&f->sources.items[i]);
	f->sources.count = 0;
}

/* -EPERM: the user may not lock so much memory. */
static int fault_follow(struct fault_records *f, pid_t program, long cpus, size_t pages)
{
	int error = 0;

	for (int cpu = 0; cpu < cpus && !error; cpu++)
		error = fault_follow_on(f, program, cpu, pages);
	if (error)
		fault_stop(f);
	return error;
}

int fault_records_follow(struct fault_records **out, pid_t program)
{
	struct fault_records *f = calloc(1, sizeof(*f));
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	if (!f)
		return -ENOMEM;
	f->sees_kernel = true;
	f->until_ns = UINT64_MAX;
	f->busy_ns = monotonic_ns();
	f->time_offset = time_namespace_offset_ns(CLOCK_MONOTONIC);
	f->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	int error = f->epoll_fd < 0 ? -errno : 0;
	size_t pages = fault_ring_pages(cpus);
	if (!error)
		error = fault_follow(f, program, cpus, pages);
	while (error == -EPERM && (pages /= 2) >= FEWEST_PAGES)
		error = fault_follow(f, program, cpus, pages);
	if (error) {
		fault_records_destroy(f);
		return error;
	}
	*out = f;
	return 0;
}

int fault_records_fd(const struct fault_records *f)
{
	return f->epoll_fd;
}

static int fault_keep(void *context, const struct perf_ring *ring, uint64_t at,
	const struct perf_event_header *header)
{
	struct fault_records *f = context;
	struct fault_sample sample;
	int event = 0;

	if (header->type != PERF_RECORD_SAMPLE || header->size != sizeof(sample))
		return 0;
	perf_ring_copy(ring, at, &sample, sizeof(sample));
	while (event < FAULT_EVENTS && f->reading->ids[event] != sample.id)
		event++;
	const struct fault_record record = {.time_ns = sample.time + (uint64_t)f->time_offset,
		.pid = sample.pid,
		.tid = sample.tid,
		.event = (enum fault_event)event};
	int error = event < FAULT_EVENTS ? array_push(&f->records, record) : 0;
	f->lost += error != 0;
	return error;
}

/* The kernel writes a thread's records of one moment in their order, begin before end. */
COMPARATOR(fault_records_order, struct fault_record,
	ORDER(x->time_ns, y->time_ns) ?: ORDER(x->event, y->event))

static void fault_look_at(struct fault_records *f, const struct fault_record *record)
{
	if (record->event == FAULT_BEGINS) {
		f->lost += hashmap_set(&f->begun, record->tid, record->time_ns) != 0;
		return;
	}
	uint64_t begin_ns = hashmap_take(&f->begun, record->tid);
	const struct sink_fault fault = {.begin_ns = begin_ns,
		.end_ns = record->time_ns,
		.pid = record->pid,
		.tid = record->tid,
		.is_major = record->event == FAULT_WAS_MAJOR};
	f->seen++;
	if (begin_ns != HASHMAP_NONE)
		f->lost += array_push(&f->faults, fault) != 0;
}

static void fault_read(struct fault_records *f, uint64_t until_ns)
{
	size_t done = 0;
	uint64_t lost = f->lost;

	for (size_t i = 0; i < f->sources.count; i++) {
		f->reading = &f->sources.items[i];
		(void)perf_ring_read(&f->reading->ring, &f->lost, fault_keep, f);
	}
	array_sort(&f->records, fault_records_order);
	if (f->lost != lost) /* a begin may have lost its end */
		hashmap_clear(&f->begun);
	while (done < f->records.count && f->records.items[done].time_ns < until_ns)
		fault_look_at(f, &f->records.items[done++]);
	f->records.count -= done;
	if (f->records.count)
		memmove(f->records.items, f->records.items + done,
			f->records.count * sizeof(*f->records.items));
}

static const struct watched *fault_session_of(const struct watched *sessions, uint32_t pid)
{
	while (sessions && (uint32_t)sessions->process.pid != pid)
		sessions = sessions->next;
	return sessions;
}

COMPARATOR(fault_threads_order, struct sink_fault,
	ORDER(x->pid, y->pid) ?: ORDER(x->tid, y->tid) ?: ORDER(x->begin_ns, y->begin_ns))

static void fault_hand_over(
	struct fault_records *f, const struct watched *sessions, struct encoder *e)
{
	ARRAY(struct sink_fault) told = {0};
	size_t kept = 0;

	for (const struct watched *s = sessions; s; s = s->next)
		f->is_elsewhere |= !s->process.pid || s->is_elsewhere;
	for (size_t i = 0; i < f->faults.count; i++) {
		const struct sink_fault fault = f->faults.items[i];
		if (!fault_session_of(sessions, fault.pid))
			f->faults.items[kept++] = fault;
		else
			f->lost += array_push(&told, fault) != 0;
	}
	f->faults.count = f->is_elsewhere ? 0 : kept;
	f->told += told.count;
	array_sort(&told, fault_threads_order);
	if (told.count && !f->is_elsewhere && !encoder_faults(e, told.items, told.count))
		return;
	f->lost += f->is_elsewhere ? 0 : told.count;
	array_fini(&told);
}

/* now_ns may be before a look at a session's end, which came in the same turn. */
static bool fault_is_over(struct fault_records *f, uint64_t now_ns)
{
	if (f->seen - f->busy_seen > FEW_FAULTS) {
		f->busy_seen = f->seen;
		f->busy_ns = now_ns;
	}
	return f->told >= ENOUGH_FAULTS || f->faults.count >= ENOUGH_FAULTS ||
	       number_minus(now_ns, f->busy_ns) >= QUIET_S * NS_PER_S;
}

uint32_t fault_records_turn(
	struct fault_records *f, const struct watched *sessions, struct encoder *e, uint64_t now_ns)
{
	struct epoll_event events[16];

	if (f->sources.count) {
		while (epoll_wait(f->epoll_fd, events, 16, 0) > 0)
			;
		fault_read(f, now_ns - OFF_CPU_VISIBLE_NS);
		if (fault_is_over(f, now_ns)) {
			f->until_ns = now_ns - OFF_CPU_VISIBLE_NS;
			fault_stop(f);
		}
	}
	if (f->faults.count)
		fault_hand_over(f, sessions, e);
	return f->sources.count ? FAULT_LOOK_MS : FAULT_IDLE_MS;
}

void fault_records_account(const struct fault_records *f, struct fault_account *account)
{
	account->is_known = !f->is_elsewhere;
	account->error = f->is_elsewhere ? OFF_CPU_ELSEWHERE : 0;
	account->sees_kernel = f->sees_kernel;
	account->lost = f->lost;
	account->until_ns = f->until_ns;
}

void fault_records_destroy(struct fault_records *f)
{
	if (!f)
		return;
	fault_stop(f);
	array_fini(&f->sources);
	array_fini(&f->records);
	array_fini(&f->faults);
	hashmap_fini(&f->begun);
	if (f->epoll_fd >= 0)
		close(f->epoll_fd);
	free(f);
}
