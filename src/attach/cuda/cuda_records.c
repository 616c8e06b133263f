/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI's records (cuda_records.h). A record without times is counted as dropped. Records arrive in
 * any order, but a queue's commands must be recorded in the order of their begin. So a command is
 * held back until no command that began earlier can come.
 */
#include "attach/cuda/cuda_records.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "attach/common/device_clock.h"
#include "attach/common/helper_cpu.h"
#include "attach/cuda/calls.h"
#include "attach/cuda/cuda_calibration.h"
#include "attach/cuda/cuda_graphs.h"
#include "attach/cuda/cuda_kernels.h"
#include "attach/cuda/cuda_launches.h"
#include "attach/cuda/cuda_replays.h"
#include "attach/cuda/cuda_streams.h"
#include "attach/cuda/cupti.h"
#include "base/clock_ns.h"
#include "base/scope.h"
#include "brick/clock.h"
#include "brick/probe.h"
#include "brick/queue.h"
#include "lib/device/queue_lane.h"

enum {
	BUFFER_BYTES =
		1 << 18,    /* of a buffer, which CUPTI returns when it is full, or at a flush */
	READY_BUFFERS = 16, /* made in advance */
	MAX_BUFFERS = 256,  /* if all are in use, CUPTI drops records, and counts them */
	MAX_STREAMS = 768,  /* further streams share a queue */
	MAX_HELD = 1 << 16,
	PATIENCE_S = 2,		  /* after a call's end, for which its records are waited for */
	FIRST_RECORDS = 16,	  /* least records for records_lack_correlation() */
	MAX_FIRST_RECORDS = 1000, /* after which it returns false */
};

/*
 * ---- buffers that CUPTI fills ----
 * They are taken on the program's own threads, so they are there before they are asked for, and
 * cleared when they come back and not when they are handed out. Any thread.
 */

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *ready[MAX_BUFFERS];
static uint32_t ready_count, made_count;

/* Anonymous memory is zero; writing to each page now keeps page faults off the program's calls. */
static uint8_t *cuda_records_make(int touch)
{
	uint8_t *buffer = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | (touch ? MAP_POPULATE : 0), -1, 0);
	return buffer == MAP_FAILED ? NULL : buffer;
}

static uint8_t *take_buffer(size_t *bytes)
{
	uint8_t *buffer = NULL;

	pthread_mutex_lock(&pool_lock);
	if (ready_count)
		buffer = ready[--ready_count];
	else if (made_count < MAX_BUFFERS && (buffer = cuda_records_make(0)))
		made_count++;
	pthread_mutex_unlock(&pool_lock);
	*bytes = buffer ? BUFFER_BYTES : 0;
	return buffer;
}

static void give_buffer(uint8_t *buffer, size_t used)
{
	if (!buffer)
		return;
	memset(buffer, 0, used < BUFFER_BYTES ? used : BUFFER_BYTES);
	HOLD(&pool_lock);
	if (ready_count < MAX_BUFFERS)
		ready[ready_count++] = buffer;
}

/*
 * ---- a queue for each stream that records name ----
 * Programs that overlap kernels of one stream (dependent launches, branches of a graph) are why all
 * of them are out-of-order queues. The table is searched from where it ended.
 */

struct stream {
	uint32_t device, context, stream;
	struct brick_queue *queue;
};

static struct stream cuda_records_streams[MAX_STREAMS];
static uint32_t stream_count, last_stream;
static uint64_t devices_seen; /* atomic */
static struct brick_queue *shared;

static struct brick_queue *create_queue(const char *name)
{
	struct brick_queue_options options = BRICK_QUEUE_OPTIONS_INIT;
	struct brick_queue *queue = NULL;

	options.name = name;
	options.backend = "cuda";
	options.flags = BRICK_QUEUE_OUT_OF_ORDER;
	return brick_queue_create(&queue, &options) ? NULL : queue;
}

static struct brick_queue *add_stream(uint32_t device, uint32_t context, uint32_t stream)
{
	char name[64];

	snprintf(
		name, sizeof(name), "CUDA device %u context %u stream %u", device, context, stream);
	struct brick_queue *queue = create_queue(name);
	if (queue) {
		brick__queue_on_gpu(queue, "cuda", device);
		last_stream = stream_count;
		cuda_records_streams[stream_count++] =
			(struct stream){device, context, stream, queue};
		if (device < 64)
			__atomic_fetch_or(&devices_seen, 1ull << device, __ATOMIC_RELAXED);
	}
	return queue;
}

/* A graph whose first node runs on the host has no device in its record: it is the context's. */
static uint32_t device_of_context(uint32_t device, uint32_t context)
{
	if (device != CUPTI_NO_DEVICE)
		return device;
	for (uint32_t i = 0; i < stream_count; i++)
		if (cuda_records_streams[i].context == context)
			return cuda_records_streams[i].device;
	return 0;
}

uint64_t records_devices(void)
{
	return __atomic_load_n(&devices_seen, __ATOMIC_RELAXED);
}

static struct brick_queue *cuda_records_queue_of(uint32_t device, uint32_t context, uint32_t stream)
{
	for (uint32_t i = 0; i < stream_count; i++) {
		const struct stream *s = &cuda_records_streams[(last_stream + i) % stream_count];
		if (s->stream != stream || s->context != context || s->device != device)
			continue;
		last_stream = (last_stream + i) % stream_count;
		return s->queue;
	}
	if (stream_count < MAX_STREAMS)
		return add_stream(device, context, stream);
	if (!shared)
		shared = create_queue("CUDA, all further streams");
	return shared;
}

/*
 * ---- the clock of records, placed on CLOCK_MONOTONIC ---- CUPTI takes its times from ours, or its
 * clock is placed by readings: on Linux it is CLOCK_REALTIME, which may jump. CUPTI's own error in
 * bringing the device's counter onto its clock is not in the residual: nothing shows it.
 */

static struct device_clock cuda_records_line;
static uint64_t moved_ns;	/* the furthest that a command had to be moved */
static int cuda_records_is_own; /* CUPTI's times are readings of ours */

static uint64_t own_timestamp(void)
{
	return monotonic_ns();
}

int records_clock_offer(void)
{
	cuda_records_is_own =
		cupti.use_timestamp && cupti.use_timestamp(own_timestamp) == CUPTI_FINE;
	return cuda_records_is_own;
}

int records_clock_is_own(void)
{
	return cuda_records_is_own;
}

static bool cuda_records_ask(void *unused, uint64_t *ns)
{
	return cupti.timestamp(ns) == CUPTI_FINE;
}

int records_clock_sample(void)
{
	return cuda_records_is_own ? 0
				   : device_clock_read(&cuda_records_line, cuda_records_ask, NULL);
}

/* A record's time; 0 while there has been no reading. */
static uint64_t clock_ns_of(uint64_t device_ns)
{
	return cuda_records_is_own
		       ? device_ns
		       : brick_correlation_host_ns(&cuda_records_line.correlation, device_ns);
}

uint32_t records_clock_residual_ns(void)
{
	uint64_t residual = cuda_records_line.correlation.residual_ns + moved_ns;
	return residual > UINT32_MAX ? UINT32_MAX : (uint32_t)residual;
}

/* A recent time in ticks as CLOCK_MONOTONIC ns. */
static uint64_t ns_of_ticks(uint64_t ticks)
{
	const struct brick_clock *clock = brick_clock_get();
	uint64_t now = monotonic_ns(), now_ticks = brick_ticks();

	return now_ticks > ticks ? now - brick_clock_duration_ns(clock, now_ticks - ticks)
				 : now + brick_clock_duration_ns(clock, ticks - now_ticks);
}

/*
 * ---- held commands: a heap by begin ----
 * When it is full the earliest go out, whatever may still come: then the queue's own ledger shows
 * what did not fit.
 */

/* A command whose record has come. */
struct held_command {
	uint64_t begin, end;	    /* on CUPTI's clock */
	uint64_t queued, submitted; /* likewise; 0: not known */
	struct brick_queue *queue;
	uint64_t bytes, graph_node;
	uint32_t correlation, kernel;
	replay_shape shape; /* of a whole replay, if estimates are wanted; else 0 */
	bool is_replay;	    /* a whole one: `kernel` is CUPTI's number of the graph */
	bool is_estimated;
};

/*
 * Counts commands that were recorded, those without a known launch or node, and those that came too
 * late for the order; estimates, and replays that were not shared out: no sample, or no room.
 */
static struct {
	uint64_t recorded, without_launch, without_node, refused, estimated, left_whole;
} cuda_records_counts;

static struct held_command *heap;
static uint32_t held_count;

static void swap(uint32_t a, uint32_t b)
{
	struct held_command other = heap[a];
	heap[a] = heap[b];
	heap[b] = other;
}

static void cuda_records_sink(uint32_t i)
{
	for (;;) {
		uint32_t least = i, left = 2 * i + 1, right = left + 1;
		if (left < held_count && heap[left].begin < heap[least].begin)
			least = left;
		if (right < held_count && heap[right].begin < heap[least].begin)
			least = right;
		if (least == i)
			return;
		swap(i, least);
		i = least;
	}
}

/* Finds the launch of a command. A node of a graph gives it the brick and layer. */
static void find_launch(const struct held_command *held, struct brick_launch *launch,
	const struct brick_launch_owner **work)
{
	*work = NULL;
	if (!held->correlation || !launches_take(held->correlation, launch, work)) {
		*launch = (struct brick_launch){
			.number = brick_launch_number(),
			.session = __atomic_load_n(&brick__on, __ATOMIC_RELAXED),
			.brick = BRICK_NONE,
			.layer = -1,
		};
		cuda_records_counts.without_launch++;
	}
	if (!held->graph_node)
		return;
	launch->brick = BRICK_NONE;
	launch->layer = -1;
	*work = NULL;
	cuda_records_counts.without_node +=
		!nodes_find(held->graph_node, &launch->brick, &launch->layer, work);
}

static uint64_t or_unknown(uint64_t device_ns)
{
	return device_ns ? clock_ns_of(device_ns) : 0;
}

/* Nothing begins before the call that launched it. */
static void begin_behind_launch(struct brick_command *command)
{
	uint64_t launch = command->launch.begin ? ns_of_ticks(command->launch.begin) : 0;

	if (command->begin_ns >= launch)
		return;
	uint64_t by = launch - command->begin_ns;
	moved_ns = by > moved_ns ? by : moved_ns;
	command->begin_ns += by;
	command->end_ns += by;
	command->residual_ns += (uint32_t)by;
}

static void cuda_records_record(const struct held_command *held)
{
	uint64_t after[MAX_EVENTS_AFTER];
	struct brick_command command = {
		.size = sizeof(command),
		.kernel = held->kernel,
		.source =
			held->is_estimated ? BRICK_SOURCE_ESTIMATED : BRICK_SOURCE_DEVICE_ACTIVITY,
		.queued_ns = or_unknown(held->queued),
		.submitted_ns = or_unknown(held->submitted),
		.begin_ns = clock_ns_of(held->begin),
		.end_ns = clock_ns_of(held->end),
		.bytes = held->bytes,
		.residual_ns = records_clock_residual_ns(),
		.after_count = events_after(held->correlation, after),
		.after = after,
	};

	const struct brick_launch_owner *work;
	find_launch(held, &command.launch, &work);
	if (work) {
		command.bytes = __atomic_load_n(&work->bytes, __ATOMIC_RELAXED);
		command.flops = __atomic_load_n(&work->flops, __ATOMIC_RELAXED);
	}
	begin_behind_launch(&command);
	if (brick_queue_record(held->queue, &command))
		cuda_records_counts.refused++;
	else
		cuda_records_counts.recorded++;
}

static void heap_put(const struct held_command *command)
{
	heap[held_count] = *command;
	for (uint32_t i = held_count++; i && heap[i].begin < heap[(i - 1) / 2].begin;
		i = (i - 1) / 2)
		swap(i, (i - 1) / 2);
}

/* The samples of earlier replays have come by now. False: there are none, or no room. */
static bool put_estimates(const struct held_command *replay)
{
	const struct replay_node *nodes;
	int count = replays_estimate(replay->shape, replay->correlation, replay->queue,
		replay->begin, replay->end, &nodes);

	if (count < 0)
		replays_unknown(replay->shape);
	if (count < 0 || held_count + (uint32_t)count > MAX_HELD) {
		cuda_records_counts.left_whole++;
		return false;
	}
	for (int i = 0; i < count; i++)
		heap_put(&(struct held_command){.begin = nodes[i].begin,
			.end = nodes[i].end,
			.queue = nodes[i].queue,
			.bytes = nodes[i].bytes,
			.graph_node = nodes[i].graph_node,
			.correlation = replay->correlation,
			.kernel = nodes[i].kernel,
			.is_estimated = true});
	cuda_records_counts.estimated += (uint64_t)count;
	return true;
}

static void release_first(void)
{
	struct held_command first = heap[0];

	heap[0] = heap[--held_count];
	cuda_records_sink(0);
	if (first.shape && put_estimates(&first))
		return;
	if (first.is_replay)
		first.kernel = kernels_graph(first.kernel);
	cuda_records_record(&first);
}

static void hold_back(const struct held_command *command)
{
	while (heap && held_count == MAX_HELD)
		release_first();
	if (heap)
		heap_put(command);
}

static void release_before(uint64_t before_ns)
{
	while (held_count && (before_ns == UINT64_MAX || clock_ns_of(heap[0].begin) < before_ns))
		release_first();
}

/* Records. */

static pthread_mutex_t cuda_records_lock = PTHREAD_MUTEX_INITIALIZER;
static struct helper_cpu cuda_records_cpu = {.name = "CUPTI's threads"}; /* under the lock */
static __thread int cuda_records_is_ours;
static bool cuda_records_are_over; /* under the lock: later records are nobody's */
static bool correlation_is_decided;
static uint64_t cuda_records_kernels, copies, dropped, incomplete, broken, uncorrelated, disowned,
	unwanted;

static void cuda_records_hold(
	struct held_command *held, uint32_t device, uint32_t context, uint32_t stream)
{
	if (launches_are_passed_over(held->correlation, LAUNCHES_DISOWNED)) {
		disowned++;
		return;
	}
	if (launches_are_passed_over(held->correlation, LAUNCHES_IGNORED) ||
		(held->correlation && calls_came_before(held->correlation))) {
		unwanted++;
		return;
	}
	held->queue = cuda_records_queue_of(device, context, stream);
	if (held->correlation && held->shape)
		launches_seen_whole(held->correlation);
	else if (held->correlation)
		launches_seen(held->correlation);
	else
		uncorrelated++;
	if (!held->queue)
		return;
	if (!held->begin || !held->end) {
		incomplete++;
		brick_queue_dropped(
			held->queue, held->shape ? launches_exec(held->correlation).records : 1);
		return;
	}
	if (held->graph_node) {
		struct exec_launch exec = launches_exec(held->correlation);
		replays_node(exec.shape, exec.records, held->correlation,
			&(struct replay_node){held->queue, held->begin, held->end, held->bytes,
				held->graph_node, held->kernel});
	}
	hold_back(held);
}

static void cuda_records_take_kernel(const struct cupti_kernel *k)
{
	if (k->name && !strcmp(k->name, CUDA_CALIBRATION_KERNEL)) {
		if (k->graph_node)
			replays_own_record(false);
		return; /* it would be a kernel of the table, too */
	}
	struct held_command held = {
		.begin = k->start,
		.end = k->end,
		.queued = k->queued,
		.submitted = k->submitted,
		.graph_node = k->graph_node,
		.correlation = k->correlation,
		.kernel = kernels_of(k),
	};

	cuda_records_kernels++;
	cuda_records_hold(&held, k->device, k->context, k->stream);
}

/* Records of all kinds of transfers name their fields alike. */
#define TAKE_TRANSFER(record, what)                                                              \
	do {                                                                                     \
		struct held_command held = {                                                     \
			.begin = (record)->start,                                                \
			.end = (record)->end,                                                    \
			.bytes = (record)->bytes,                                                \
			.graph_node = (record)->graph_node,                                      \
			.correlation = (record)->correlation,                                    \
			.kernel = (what),                                                        \
		};                                                                               \
		copies++;                                                                        \
		cuda_records_hold(&held, (record)->device, (record)->context, (record)->stream); \
	} while (0)

static void take_graph(const struct cupti_graph_trace *g)
{
	struct held_command held = {
		.begin = g->start,
		.end = g->end,
		.correlation = g->correlation,
		.kernel = g->graph,
		.is_replay = true,
	};

	if (launches_are_passed_over(g->correlation, LAUNCHES_OWN)) {
		replays_own_record(true);
		return;
	}
	if (replays_may_be_light())
		held.shape = launches_exec(g->correlation).shape;
	cuda_records_hold(&held, device_of_context(g->device, g->context), g->context, g->stream);
}

static void cuda_records_take(const struct cupti_record *record)
{
	const struct cupti_memcpy *copy;
	const struct cupti_memcpy_peer *peer;
	const struct cupti_memset *fill;

	switch (record->kind) {
	case CUPTI_CONCURRENT_KERNEL:
		cuda_records_take_kernel((const void *)record);
		break;
	case CUPTI_MEMCPY:
		copy = (const void *)record;
		TAKE_TRANSFER(copy, kernels_copy(copy->copy));
		break;
	case CUPTI_MEMCPY_PEER:
		peer = (const void *)record;
		TAKE_TRANSFER(peer, kernels_copy(peer->copy));
		break;
	case CUPTI_MEMSET:
		fill = (const void *)record;
		TAKE_TRANSFER(fill, kernels_fill());
		break;
	case CUPTI_GRAPH_TRACE:
		take_graph((const void *)record);
		break;
	default:
		break;
	}
}

static void count_dropped(uint64_t count)
{
	struct brick_queue *queue = !count	   ? NULL
				    : stream_count ? cuda_records_streams[0].queue
						   : cuda_records_queue_of(0, 0, 0);

	dropped += count;
	if (queue)
		brick_queue_dropped(queue, count);
}

int records_prepare(void)
{
	while (made_count < READY_BUFFERS) {
		uint8_t *buffer = cuda_records_make(1);
		if (!buffer)
			return -ENOMEM;
		ready[ready_count++] = buffer;
		made_count++;
	}
	if (!heap)
		heap = calloc(MAX_HELD, sizeof(*heap));
	HOLD(&cuda_records_lock);
	cuda_records_are_over = correlation_is_decided = false;
	launches_restart();
	cuda_records_kernels = copies = dropped = incomplete = broken = 0;
	uncorrelated = disowned = unwanted = 0;
	memset(&cuda_records_counts, 0, sizeof(cuda_records_counts));
	return heap ? 0 : -ENOMEM;
}

void records_stop(void)
{
	HOLD(&cuda_records_lock);
	cuda_records_are_over = true;
}

void records_forget(void)
{
	HOLD(&cuda_records_lock);
	while (stream_count)
		brick_queue_destroy(cuda_records_streams[--stream_count].queue);
	brick_queue_destroy(shared);
	shared = NULL;
	last_stream = 0;
	__atomic_store_n(&devices_seen, 0, __ATOMIC_RELAXED);
	free(heap);
	heap = NULL;
	held_count = 0;
	HOLD(&pool_lock);
	for (; ready_count; made_count--)
		munmap(ready[--ready_count], BUFFER_BYTES);
}

void records_thread_is_ours(void)
{
	cuda_records_is_ours = 1;
}

void records_request(uint8_t **buffer, size_t *bytes, size_t *most_records)
{
	KEEP_ERRNO();

	*buffer = take_buffer(bytes);
	*most_records = 0; /* as many as it holds */
}

void records_complete(
	cuda_handle context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	KEEP_ERRNO();
	struct cupti_record *record = NULL;
	size_t missing = 0;
	int result = CUPTI_FINE;
	uint64_t begin_ns = cuda_records_is_ours ? 0 : thread_cpu_ns();

	valid = valid <= bytes ? valid : bytes;
	pthread_mutex_lock(&cuda_records_lock);
	records_clock_sample();
	while (buffer && valid && !cuda_records_are_over &&
		(result = cupti.next_record(buffer, valid, &record)) == CUPTI_FINE && record)
		cuda_records_take(record);
	broken += result != CUPTI_FINE && result != CUPTI_LIMIT_REACHED;
	if (cupti.dropped(context, stream, &missing) == CUPTI_FINE)
		count_dropped(missing);
	if (!cuda_records_is_ours)
		helper_cpu_at(
			&cuda_records_cpu, cuda_records_cpu.now_ns + thread_cpu_ns() - begin_ns);
	pthread_mutex_unlock(&cuda_records_lock);
	give_buffer(buffer, valid);
}

void records_flush(int last)
{
	HOLD(&cuda_records_lock);
	records_clock_sample();
	nodes_next_round();
	if (!last) {
		/* In this order: a command that begins after `since` was read cannot have been
		 * launched before it. */
		uint64_t now = brick_ticks();
		uint64_t give_up =
			launches_patience_ends(now, PATIENCE_S * brick_clock_get()->frequency);
		uint64_t since = launches_pending_since(give_up);
		uint64_t before = ns_of_ticks(since < now ? since : now);
		release_before(before - records_clock_residual_ns());
	} else {
		launches_pending_since(UINT64_MAX);
		release_before(UINT64_MAX);
		helper_cpu_end(&cuda_records_cpu);
		/* without those that CUPTI dropped and counted, and those that came without an id
		 */
		uint64_t unanswered = launches_unanswered(), known = dropped + uncorrelated;
		if (unanswered > known)
			count_dropped(unanswered - known);
	}
}

bool records_are_awaited(void)
{
	HOLD(&cuda_records_lock);
	return launches_are_awaited();
}

int records_lack_correlation(void)
{
	HOLD(&cuda_records_lock);
	uint64_t seen = cuda_records_kernels + copies,
		 lacking = uncorrelated + cuda_records_counts.without_launch;
	int lack = !correlation_is_decided && seen >= FIRST_RECORDS && lacking > seen / 2;
	correlation_is_decided |= lack || seen >= MAX_FIRST_RECORDS;
	return lack;
}

void records_describe(char *text, size_t bytes)
{
	HOLD(&cuda_records_lock);
	snprintf(text, bytes,
		"%llu kernels, %llu copies and fills; %llu records dropped, %llu without times, "
		"%llu buffers unreadable; %llu commands without their call, %llu graph nodes "
		"unknown, %llu refused, %llu left to the program, %llu launched while nothing was "
		"recorded; times of %llu commands estimated, %llu replays left whole",
		(unsigned long long)cuda_records_kernels, (unsigned long long)copies,
		(unsigned long long)dropped, (unsigned long long)incomplete,
		(unsigned long long)broken, (unsigned long long)cuda_records_counts.without_launch,
		(unsigned long long)cuda_records_counts.without_node,
		(unsigned long long)cuda_records_counts.refused, (unsigned long long)disowned,
		(unsigned long long)unwanted, (unsigned long long)cuda_records_counts.estimated,
		(unsigned long long)cuda_records_counts.left_whole);
}
