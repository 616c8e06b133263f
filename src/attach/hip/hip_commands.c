/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues by agent and queue id, copies by their two agents, each with its outstanding commands
 * (commands.h). Of a queue the first one that is not done holds back those behind it, for at most
 * MAX_HELD of them. Streams share queues, so commands may overlap.
 */
#include "attach/hip/hip_commands.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attach/common/demangle.h"
#include "attach/common/notes_once.h"
#include "base/clock_ns.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/scope.h"
#include "brick/attach.h"
#include "brick/queue.h"
#include "lib/device/correlation_residual.h"

enum { MAX_HELD = 1 << 16, READINGS = 3 };
#define PERIOD_NS 500000000ull

struct command {
	struct command *next; /* in its queue */
	struct queue *queue;
	struct brick_launch launch;
	const struct brick_launch_owner *work;
	uint32_t kernel; /* of a copy; of a dispatch it is known at its end */
	uint64_t bytes, flops, begin_ns, end_ns;
	int refs; /* its callbacks to come, and its queue */
	int is_done, is_given_up;
};

struct queue {
	struct brick_queue *lane;
	struct command *first, **last;
	uint32_t held;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct hashmap queues;	 /* hash of what it is -> struct queue */
static struct hashmap kernels;	 /* id -> name, for ever */
static struct hashmap newest_of; /* stream + 1 -> number of the command launched last */
static __thread uint64_t stream_now __attribute__((tls_model("initial-exec"))); /* + 1 */
static struct brick_correlation clock_line;
static int (*read_clock)(uint64_t *ns);
static uint64_t read_ns, newest, lost;

static void sample_clock(void)
{
	struct brick_reading readings[READINGS];
	uint64_t now_ns = monotonic_ns();

	if (clock_line.count &&
		now_ns - read_ns < brick_correlation_period_ns(&clock_line, PERIOD_NS))
		return;
	for (int i = 0; i < READINGS; i++) {
		readings[i].before_ns = monotonic_ns();
		if (read_clock(&readings[i].device_ns) != HIP_FINE)
			return;
		readings[i].after_ns = monotonic_ns();
	}
	read_ns = now_ns;
	brick_correlation_add(&clock_line, readings, READINGS);
}

void commands_clock(int (*read)(uint64_t *ns))
{
	brick_correlation_init(&clock_line);
	read_clock = read;
}

uint64_t commands_stream(uint64_t stream)
{
	uint64_t former = stream_now;

	stream_now = stream;
	return former;
}

uint64_t commands_newest(void)
{
	HOLD(&lock);
	uint64_t number = stream_now ? hashmap_get(&newest_of, stream_now) : HASHMAP_NONE;

	return number == HASHMAP_NONE ? newest : number;
}

void commands_kernel(const struct hip_symbol_data *symbol)
{
	char name[512];
	size_t length = strnlen(symbol->name, sizeof name - 1);

	memcpy(name, symbol->name, length);
	name[length] = '\0';
	if (length > 3 && !strcmp(name + length - 3, ".kd")) /* of the descriptor */
		name[length - 3] = '\0';
	char *readable = demangle(name);
	char *kept = readable ? readable : strdup(name);
	HOLD(&lock);
	uint64_t former = hashmap_get(&kernels, symbol->kernel);
	if (former != HASHMAP_NONE || !kept || hashmap_set_pointer(&kernels, symbol->kernel, kept))
		free(kept);
}

/* Under the lock; NULL: no memory. */
static struct queue *queue_of(uint64_t a, uint64_t b, int is_copy)
{
	uint64_t key = hash_add(hash_add(hash_u64(a), b), (uint64_t)is_copy);
	uint64_t found = hashmap_get(&queues, key);
	char name[96];

	if (found != HASHMAP_NONE)
		return hashmap_pointer(found);
	struct queue *queue = calloc(1, sizeof *queue);
	if (!queue)
		return NULL;
	queue->last = &queue->first;
	snprintf(name, sizeof name,
		is_copy ? "copies, agent %llu to %llu" : "agent %llu queue %llu",
		(unsigned long long)a, (unsigned long long)b);
	const struct brick_queue_options options = {.size = sizeof options,
		.name = name,
		.backend = "hip",
		.flags = BRICK_QUEUE_OUT_OF_ORDER};
	if (!brick_queue_create(&queue->lane, &options) &&
		!hashmap_set_pointer(&queues, key, queue))
		return queue;
	brick_queue_destroy(queue->lane);
	free(queue);
	return NULL;
}

/* Times that are not there, or that no clock places, are not made up. */
static void record(const struct command *c)
{
	struct brick_command command = {.size = sizeof command,
		.launch = c->launch,
		.kernel = c->kernel,
		.source = BRICK_SOURCE_DEVICE_ACTIVITY,
		.begin_ns = brick_correlation_host_ns(&clock_line, c->begin_ns),
		.end_ns = brick_correlation_host_ns(&clock_line, c->end_ns),
		.bytes = c->work ? c->work->bytes : c->bytes,
		.flops = c->work ? c->work->flops : 0,
		.residual_ns = (uint32_t)brick__correlation_residual_ns(&clock_line, c->end_ns)};

	if (c->is_given_up || !c->begin_ns || !c->end_ns || !clock_line.count)
		brick_queue_dropped(c->queue->lane, 1);
	else
		brick_queue_record(c->queue->lane, &command);
}

/* Under the lock. */
static void drop(struct command *c)
{
	if (!--c->refs)
		free(c);
}

/* Under the lock. */
static void release(struct queue *queue)
{
	while (queue->first && (queue->first->is_done || queue->held > MAX_HELD)) {
		struct command *c = queue->first;
		queue->first = c->next;
		if (!queue->first)
			queue->last = &queue->first;
		queue->held--;
		c->is_given_up = !c->is_done;
		lost += (uint64_t)c->is_given_up;
		record(c);
		drop(c);
	}
}

static struct command *begin(uint64_t a, uint64_t b, int is_copy)
{
	struct command *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->refs = 2;
	brick_launch_begin(&c->launch);
	if (!c->launch.number) { /* nothing is recorded */
		free(c);
		return NULL;
	}
	c->work = is_copy ? NULL : brick_launch_work();
	HOLD(&lock);
	newest = c->launch.number;
	if (stream_now)
		hashmap_set(&newest_of, stream_now, newest);
	c->queue = queue_of(a, b, is_copy);
	if (c->queue) {
		c->refs++;
		*c->queue->last = c;
		c->queue->last = &c->next;
		c->queue->held++;
	}
	return c;
}

void *commands_dispatch(const struct hip_dispatch_data *data)
{
	return begin(data->info.agent, data->info.queue, 0);
}

void *commands_copy(const struct hip_copy_data *data, int32_t direction)
{
	static const char *const names[] = {[HIP_COPY_HOST_TO_DEVICE] = "copy to device",
		[HIP_COPY_DEVICE_TO_HOST] = "copy to host",
		[HIP_COPY_ON_DEVICE] = "copy on device"};
	static const uint32_t kinds[] = {[HIP_COPY_HOST_TO_DEVICE] = BRICK_KERNEL_H2D,
		[HIP_COPY_DEVICE_TO_HOST] = BRICK_KERNEL_D2H,
		[HIP_COPY_ON_DEVICE] = BRICK_KERNEL_D2D};
	int known = direction >= HIP_COPY_HOST_TO_DEVICE && direction <= HIP_COPY_ON_DEVICE;
	const struct brick_kernel kernel = {.size = sizeof kernel,
		.name = known ? names[direction] : "copy",
		.backend = "hip",
		.kind = known ? kinds[direction] : BRICK_KERNEL_D2D};
	struct command *c = begin(data->from_agent, data->to_agent, 1);

	if (c)
		c->kernel = brick_kernel_register(&kernel);
	return c;
}

void commands_launched(void *user)
{
	struct command *c = user;

	if (!c)
		return;
	HOLD(&lock);
	brick_launch_end(&c->launch);
	drop(c);
}

/* Under the lock. */
static uint32_t kernel_of(const struct hip_dispatch_data *data)
{
	uint64_t name = hashmap_get(&kernels, data->info.kernel);
	struct brick_kernel kernel = {.size = sizeof kernel,
		.name = name == HASHMAP_NONE ? "kernel" : hashmap_pointer(name),
		.backend = "hip",
		.kind = BRICK_KERNEL_COMPUTE,
		.shared_bytes = data->info.group_bytes};

	for (int i = 0; i < 3; i++) {
		uint32_t group = data->info.group[i] ? data->info.group[i] : 1;
		kernel.block[i] = group;
		kernel.grid[i] = (data->info.grid[i] + group - 1) / group;
	}
	return brick_kernel_register(&kernel);
}

/* Under the lock. */
static void finish(struct command *c, uint64_t begin_ns, uint64_t end_ns)
{
	if (!c->is_given_up && c->queue) {
		sample_clock();
		c->begin_ns = begin_ns;
		c->end_ns = end_ns;
		c->is_done = 1;
		release(c->queue);
	}
	drop(c);
}

void commands_dispatched(void *user, const struct hip_dispatch_data *data)
{
	struct command *c = user;

	if (!c)
		return;
	HOLD(&lock);
	c->kernel = kernel_of(data);
	finish(c, data->start, data->end);
}

void commands_copied(void *user, const struct hip_copy_data *data)
{
	struct command *c = user;

	if (!c)
		return;
	HOLD(&lock);
	c->bytes = data->bytes;
	finish(c, data->start, data->end);
}

void commands_end(void)
{
	HOLD(&lock);
	for (const struct hashmap_slot *s = NULL; (s = hashmap_next(&queues, s));) {
		struct queue *queue = hashmap_pointer(s->value);
		brick_queue_dropped(queue->lane, queue->held);
		lost += queue->held;
	}
	note_once("hip.commands", "%llu never came; clock within %llu ns", (unsigned long long)lost,
		(unsigned long long)clock_line.residual_ns);
}
