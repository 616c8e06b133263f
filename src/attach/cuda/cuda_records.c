/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From records to held commands (records.h). A record that never got its times is not given any:
 * it is counted as dropped.
 */
#include "attach/cuda/cuda_records.h"

#include <pthread.h>
#include <stdio.h>
#include "attach/cuda/buffers.h"
#include "attach/cuda/cupti.h"
#include "attach/cuda/host_clock.h"
#include "attach/cuda/cuda_kernels.h"
#include "attach/cuda/cuda_launches.h"
#include "attach/cuda/nodes.h"
#include "attach/cuda/reorder.h"
#include "attach/cuda/streams.h"
#include "attach/common/helper_cpu.h"
#include "base/scope.h"
#include "brick/clock.h"

/* A call that ended so long ago and has no record yet is not waited for (launches.h). */
enum { PATIENCE_S = 2 };
/* Records by which it is decided whether ids are missing: at least, and at most. */
enum { FIRST_RECORDS = 16, MAX_FIRST_RECORDS = 1000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct helper_cpu cpu = {.name = "CUPTI's threads"}; /* for our records, under the lock */
static __thread int is_ours;
static uint64_t kernels, copies, graphs, dropped, incomplete, broken, uncorrelated, disowned,
	unwanted;

static void hold(struct held_command *held, uint32_t device, uint32_t context, uint32_t stream)
{
	if (launches_are_passed_over(held->correlation, LAUNCHES_DISOWNED)) {
		disowned++;
		return;
	}
	if (launches_are_passed_over(held->correlation, LAUNCHES_IGNORED)) {
		unwanted++;
		return;
	}
	held->queue = streams_queue(device, context, stream);
	if (held->correlation)
		launches_seen(held->correlation);
	else
		uncorrelated++;
	if (!held->queue)
		return;
	if (!held->begin || !held->end) {
		incomplete++;
		brick_queue_dropped(held->queue, 1);
		return;
	}
	reorder_hold(held);
}

static void take_kernel(const struct cupti_kernel *k)
{
	struct held_command held = {
		.begin = k->start,
		.end = k->end,
		.queued = k->queued,
		.submitted = k->submitted,
		.graph_node = k->graph_node,
		.correlation = k->correlation,
		.kernel = kernels_of(k),
	};

	kernels++;
	hold(&held, k->device, k->context, k->stream);
}

/* Records of all kinds of transfers name their fields alike. */
#define TAKE_TRANSFER(record, what)                                                 \
	do {                                                                        \
		struct held_command held = {                                        \
			.begin = (record)->start,                                   \
			.end = (record)->end,                                       \
			.bytes = (record)->bytes,                                   \
			.graph_node = (record)->graph_node,                         \
			.correlation = (record)->correlation,                       \
			.kernel = (what),                                           \
		};                                                                  \
		copies++;                                                           \
		hold(&held, (record)->device, (record)->context, (record)->stream); \
	} while (0)

static void take_memcpy(const struct cupti_memcpy *m)
{
	TAKE_TRANSFER(m, kernels_copy(m->copy));
}

static void take_peer(const struct cupti_memcpy_peer *m)
{
	TAKE_TRANSFER(m, kernels_copy(m->copy));
}

static void take_memset(const struct cupti_memset *m)
{
	TAKE_TRANSFER(m, kernels_fill());
}

static void take_graph(const struct cupti_graph_trace *g)
{
	struct held_command held = {
		.begin = g->start,
		.end = g->end,
		.correlation = g->correlation,
		.kernel = kernels_graph(g->graph),
	};

	graphs++;
	hold(&held, g->device, g->context, g->stream);
}

static void take(const struct cupti_record *record)
{
	switch (record->kind) {
	case CUPTI_CONCURRENT_KERNEL:
		take_kernel((const void *)record);
		break;
	case CUPTI_MEMCPY:
		take_memcpy((const void *)record);
		break;
	case CUPTI_MEMCPY_PEER:
		take_peer((const void *)record);
		break;
	case CUPTI_MEMSET:
		take_memset((const void *)record);
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
	struct brick_queue *queue = count ? streams_any() : NULL;

	dropped += count;
	if (queue)
		brick_queue_dropped(queue, count);
}

void records_thread_is_ours(void)
{
	is_ours = 1;
}

void records_buffer(cuda_handle context, uint32_t stream, uint8_t *buffer, size_t valid)
{
	struct cupti_record *record = NULL;
	size_t missing = 0;
	int result = CUPTI_FINE;
	uint64_t begin_ns = is_ours ? 0 : thread_cpu_ns();

	pthread_mutex_lock(&lock);
	host_clock_sample();
	while (buffer && valid &&
		(result = cupti.next_record(buffer, valid, &record)) == CUPTI_FINE && record)
		take(record);
	broken += result != CUPTI_FINE && result != CUPTI_LIMIT_REACHED;
	if (cupti.dropped(context, stream, &missing) == CUPTI_FINE)
		count_dropped(missing);
	if (!is_ours)
		helper_cpu_at(&cpu, cpu.now_ns + thread_cpu_ns() - begin_ns);
	pthread_mutex_unlock(&lock);
	buffers_give(buffer, valid);
}

/* In this order: what begins after `since` was read cannot have been launched before it. */
static void release(void)
{
	const struct brick_clock *clock = brick_clock_get();
	uint64_t now = brick_ticks();
	uint64_t give_up = launches_patience_ends(now, PATIENCE_S * clock->frequency);
	uint64_t since = launches_pending_since(give_up);
	uint64_t before = host_clock_of_ticks(since < now ? since : now);

	reorder_release(before - host_clock_residual_ns());
}

void records_flush(int last)
{
	HOLD(&lock);
	host_clock_sample();
	nodes_next_round();
	if (!last) {
		release();
	} else {
		launches_pending_since(UINT64_MAX);
		reorder_release(UINT64_MAX);
		helper_cpu_end(&cpu);
		/* without those that CUPTI dropped and counted, and those that came without an id
		 */
		uint64_t unanswered = launches_unanswered(), known = dropped + uncorrelated;
		if (unanswered > known)
			count_dropped(unanswered - known);
	}
}

int records_lack_correlation(void)
{
	static int is_decided;

	HOLD(&lock);
	uint64_t seen = kernels + copies, lacking = uncorrelated + reorder_counts.without_launch;
	int lack = !is_decided && seen >= FIRST_RECORDS && lacking > seen / 2;
	is_decided |= lack || seen >= MAX_FIRST_RECORDS;
	return lack;
}

void records_describe(char *text, size_t bytes)
{
	HOLD(&lock);
	snprintf(text, bytes,
		"%llu kernels, %llu copies and fills; %llu records dropped, %llu without times, "
		"%llu buffers unreadable; %llu commands without their call, %llu graph nodes "
		"unknown, %llu refused, %llu left to the program, %llu launched while nothing was "
		"recorded",
		(unsigned long long)kernels, (unsigned long long)copies,
		(unsigned long long)dropped, (unsigned long long)incomplete,
		(unsigned long long)broken, (unsigned long long)reorder_counts.without_launch,
		(unsigned long long)reorder_counts.without_node,
		(unsigned long long)reorder_counts.refused, (unsigned long long)disowned,
		(unsigned long long)unwanted);
}
