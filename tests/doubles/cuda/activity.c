/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI's double: activity records of what the driver's double did (double.h). It
 * keeps the rules that are written down: a buffer is asked for on the thread of the program, is the
 * tool's again when it has been completed, and must have been cleared if the tool said so; a record
 * is delivered when it is complete, or without its times when a flush is forced; records of one
 * stream come in any order; ids of nodes and of calls are unique. It ends the program when the tool
 * breaks a rule.
 */
#include "tests/doubles/cuda/activity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_PENDING = 1 << 17, DELIVER_AT = 2048, MAX_BUFFERS = 256 };

struct pending {
	uint64_t end;	   /* host ns, when it is complete */
	uint64_t apart_ns; /* more, for further nodes of a whole replay */
	uint32_t context;
	int is_of_tool;
	union {
		struct cupti_record any;
		struct cupti_kernel kernel;
		struct cupti_memcpy memcpy;
		struct cupti_memset memset;
		struct cupti_graph_trace graph;
	} record;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t flushing = PTHREAD_MUTEX_INITIALIZER; /* what launches wait for */
static pthread_mutex_t delivery = PTHREAD_MUTEX_INITIALIZER;
static cupti_request_fn request;
static cupti_complete_fn complete;
static uint8_t wanted_kinds[64];
static uint8_t zeroed;
static pid_t owner;
static struct pending *pending;
static size_t pending_count, dropped;
static uint8_t *spare; /* a buffer that was asked for and is not filled yet */
static size_t spare_bytes;
static uint8_t *out[MAX_BUFFERS]; /* buffers that are ours */

void double_broken(const char *rule)
{
	fprintf(stderr, "double: the tool breaks a rule: %s\n", rule);
	_Exit(99);
}

/* ---- buffers ---- */

static void own(uint8_t *buffer)
{
	int free_place = -1;

	for (int i = 0; i < MAX_BUFFERS; i++) {
		if (out[i] == buffer)
			double_broken("a buffer was handed out twice");
		if (!out[i])
			free_place = i;
	}
	if (free_place < 0)
		double_broken("more than 256 buffers are out: memory is not bounded");
	out[free_place] = buffer;
}

static void disown(const uint8_t *buffer)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < MAX_BUFFERS; i++)
		if (out[i] == buffer)
			out[i] = NULL;
	pthread_mutex_unlock(&lock);
}

static void ask(void)
{
	size_t most = 0;

	if (spare || !request)
		return;
	request(&spare, &spare_bytes, &most);
	if (!spare)
		return;
	own(spare);
	if ((uintptr_t)spare % 8)
		double_broken("a buffer is not aligned");
	for (size_t i = 0; zeroed && i < spare_bytes; i++)
		if (spare[i])
			double_broken("a buffer was not cleared");
}

static size_t size_of(const struct cupti_record *record)
{
	switch (record->kind) {
	case CUPTI_CONCURRENT_KERNEL:
		return sizeof(struct cupti_kernel);
	case CUPTI_MEMCPY:
		return sizeof(struct cupti_memcpy);
	case CUPTI_MEMSET:
		return sizeof(struct cupti_memset);
	case CUPTI_GRAPH_TRACE:
		return sizeof(struct cupti_graph_trace);
	default:
		return 0;
	}
}

/* ---- records ---- */

/* How the replay that the thread makes is recorded: as kinds were when it began. */
static __thread struct {
	uint32_t correlation;
	int is_whole, is_first;
} replay;

static int is_wanted(enum op_kind kind)
{
	return wanted_kinds[kind == OP_KERNEL ? CUPTI_CONCURRENT_KERNEL
			    : kind == OP_COPY ? CUPTI_MEMCPY
					      : CUPTI_MEMSET];
}

static uint8_t born_whole[1 << 12]; /* by the executable graph's number */

void double_activity_exec_made(const struct graph *exec)
{
	if (exec->count < double_options()->atbirth && exec->number < sizeof born_whole)
		born_whole[exec->number] = (uint8_t)wanted_kinds[CUPTI_GRAPH_TRACE];
}

int double_activity_is_timed(enum op_kind kind, uint64_t node, uint32_t correlation)
{
	replay.is_first = correlation != replay.correlation;
	if (replay.is_first) {
		replay.correlation = correlation;
		replay.is_whole = node && (wanted_kinds[CUPTI_GRAPH_TRACE] ||
						  born_whole[node >> 32 & (sizeof born_whole - 1)]);
	}
	return is_wanted(kind) && (!replay.is_whole || replay.is_first);
}

static cupti_timestamp_fn now_of_tool;

/* Without one of the tool's, a clock of CUPTI's own, that is none of the host's. */
DOUBLE_API int cuptiActivityRegisterTimestampCallback(cupti_timestamp_fn now)
{
	if (double_options()->nostamp)
		return 1;
	for (size_t i = 0; i < sizeof wanted_kinds; i++)
		if (wanted_kinds[i])
			double_broken("a time stamp callback comes after the kinds");
	now_of_tool = now;
	return CUPTI_FINE;
}

/* Times of the device are brought onto the clock of the tool. */
static uint64_t stamp(uint64_t host)
{
	static int64_t ahead;
	static int is_known;

	if (!now_of_tool)
		return double_device_ns(host);
	if (!is_known) {
		ahead = (int64_t)(now_of_tool() - double_now());
		if (ahead < 1000000 && ahead > -1000000)
			ahead = 0; /* the same clock, read twice */
		is_known = 1;
	}
	return host + (uint64_t)ahead;
}

static uint32_t correlation_of(const struct command *c)
{
	static int count;

	if (double_options()->oddid && !double_cost_is_tool() && !count++)
		return 0;
	int calls = wanted_kinds[CUPTI_DRIVER_CALL] || wanted_kinds[CUPTI_RUNTIME_CALL];
	return double_options()->noids && !calls ? 0 : c->correlation;
}

/* Fields that records of all kinds of commands have. */
#define OF_COMMAND(c)                                                                     \
	.start = stamp((c)->begin), .end = stamp((c)->end), .device = (c)->device,        \
	.context = (c)->context, .stream = (c)->stream, .correlation = correlation_of(c), \
	.graph_node = (c)->node

static void fill_kernel(struct cupti_kernel *k, const struct command *c)
{
	*k = (struct cupti_kernel){OF_COMMAND(c), .kind = CUPTI_CONCURRENT_KERNEL, .registers = 24,
		.static_shared = 256, .dynamic_shared = (int32_t)c->op->shared,
		.name = c->op->function->name};
	for (int i = 0; i < 3; i++) {
		k->grid[i] = (int32_t)c->op->grid[i];
		k->block[i] = (int32_t)c->op->block[i];
	}
}

static void fill_record(struct pending *p, const struct command *c)
{
	p->end = c->end + (uint64_t)double_options()->late_ms * 1000000u;
	p->apart_ns = 0;
	p->context = c->context;
	p->is_of_tool = double_cost_is_tool();
	if (c->op->kind == OP_KERNEL)
		fill_kernel(&p->record.kernel, c);
	else if (c->op->kind == OP_COPY)
		p->record.memcpy = (struct cupti_memcpy){OF_COMMAND(c), .kind = CUPTI_MEMCPY,
			.copy = c->op->copy, .bytes = c->op->bytes};
	else
		p->record.memset = (struct cupti_memset){OF_COMMAND(c), .kind = CUPTI_MEMSET,
			.value = c->op->fill, .bytes = c->op->bytes};
}

/* Records of what the tool launches itself are never lost. */
static int is_lost(const struct pending *p)
{
	static long seen;
	long lose = double_options()->lose;
	return lose && !p->is_of_tool && ++seen % lose == 0;
}

static void drop_times(struct pending *p)
{
	if (p->record.any.kind == CUPTI_CONCURRENT_KERNEL)
		p->record.kernel.start = p->record.kernel.end = 0;
	else if (p->record.any.kind == CUPTI_MEMCPY)
		p->record.memcpy.start = p->record.memcpy.end = 0;
	else if (p->record.any.kind == CUPTI_GRAPH_TRACE)
		p->record.graph.start = p->record.graph.end = 0;
	else
		p->record.memset.start = p->record.memset.end = 0;
}

/* Under the lock: take the records that are complete (or all) out, in an order of our choice. */
static size_t take(struct pending *taken, size_t most, int forced)
{
	uint64_t now = double_now();
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < pending_count; i++) {
		struct pending *p = &pending[i];
		int waits = double_options()->shuffle && !forced && rand() % 4 == 0;
		if (count < most && !waits && (forced || p->end + p->apart_ns <= now)) {
			if (p->end - (uint64_t)double_options()->late_ms * 1000000u > now)
				drop_times(p);
			taken[count++] = *p;
		} else {
			pending[kept++] = *p;
		}
	}
	pending_count = kept;
	for (size_t i = count; double_options()->shuffle && i > 1; i--) {
		size_t other = (size_t)rand() % i;
		struct pending swapped = taken[i - 1];
		taken[i - 1] = taken[other];
		taken[other] = swapped;
	}
	return count;
}

/* What a flush holds back is kept: all that is known is that who never asks may get nothing. */
void double_activity_context_goes(uint32_t id)
{
	uint64_t now = double_now();
	size_t kept = 0;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < pending_count; i++)
		if (double_options()->shuffle || pending[i].end > now || pending[i].context != id)
			pending[kept++] = pending[i];
	pending_count = kept;
	pthread_mutex_unlock(&lock);
}

/* One buffer's worth. Under `delivery`, which keeps buffers apart; callbacks run without `lock`. */
static size_t deliver_one(int forced)
{
	static struct pending taken[DELIVER_AT];
	size_t used = 0, lost = 0;

	pthread_mutex_lock(&lock);
	if (pending_count)
		ask();
	uint8_t *buffer = spare;
	size_t bytes_there = spare_bytes;
	size_t most = buffer ? bytes_there / sizeof(struct cupti_kernel) : 0;
	size_t count = take(taken, most && most < DELIVER_AT ? most : DELIVER_AT, forced);
	if (count && buffer)
		spare = NULL;
	pthread_mutex_unlock(&lock);
	for (size_t i = 0; i < count; i++) {
		if (is_lost(&taken[i]) || !buffer) {
			lost++;
			continue;
		}
		size_t bytes = size_of(&taken[i].record.any);
		memcpy(buffer + used, &taken[i].record, bytes);
		used += bytes;
	}
	dropped += lost;
	if (count && buffer) {
		disown(buffer);
		complete(NULL, 0, buffer, bytes_there, used);
	}
	return count;
}

static void deliver(int forced)
{
	if (!complete)
		return;
	pthread_mutex_lock(&delivery);
	while (deliver_one(forced))
		;
	pthread_mutex_unlock(&delivery);
}

/* Under the lock: a launch of a graph is one record, from its first node to its last. */
static void fill_graph(const struct command *c)
{
	struct pending *p = NULL;

	for (size_t i = pending_count; !p && i-- > 0 && !replay.is_first;)
		if (pending[i].record.any.kind == CUPTI_GRAPH_TRACE &&
			pending[i].record.graph.correlation == c->correlation)
			p = &pending[i];
	if (!p) {
		if (pending_count == MAX_PENDING) {
			dropped++;
			return;
		}
		p = &pending[pending_count++];
		p->is_of_tool = double_cost_is_tool();
		p->apart_ns = 10000000;
		p->record.graph = (struct cupti_graph_trace){.kind = CUPTI_GRAPH_TRACE,
			.correlation = c->correlation,
			.start = stamp(c->begin),
			.graph = 1,
			.device = double_options()->hostfirst ? CUPTI_NO_DEVICE : c->device,
			.context = c->context,
			.stream = c->stream};
	}
	p->end = c->end + (uint64_t)double_options()->late_ms * 1000000u;
	p->context = c->context;
	p->record.graph.end = stamp(c->end);
}

/* What a record takes from the program; a launch of a whole graph has one. */
static void pay(const struct command *c)
{
	if (double_options()->cost_flush_us) {
		uint64_t begin = double_now();
		pthread_mutex_lock(&flushing);
		pthread_mutex_unlock(&flushing);
		double_cost_add(double_now() - begin);
	}
	if (c->node && !replay.is_whole)
		double_cost(double_options()->cost_node);
	else if (!replay.is_whole || replay.is_first)
		double_cost(double_options()->cost_record);
}

static void keep_record(const struct command *c)
{
	pthread_mutex_lock(&lock);
	ask();
	if (replay.is_whole)
		fill_graph(c);
	else if (pending_count < MAX_PENDING)
		fill_record(&pending[pending_count++], c);
	else
		dropped++;
	size_t count = pending_count;
	pthread_mutex_unlock(&lock);
	if (count >= DELIVER_AT && count % DELIVER_AT == 0)
		deliver(0);
}

void double_activity(const struct command *c)
{
	if (!is_wanted(c->op->kind))
		return;
	uint64_t begin = double_now(), before = double_cost_saved_ns();
	pay(c);
	keep_record(c);
	double_cost_work(begin, before);
}

int double_activity_start(void)
{
	owner = getpid();
	pending = calloc(MAX_PENDING, sizeof *pending);
	return pending ? 0 : -1;
}

/* ---- the interface ---- */

DOUBLE_API int cuptiActivityRegisterCallbacks(cupti_request_fn requested, cupti_complete_fn done)
{
	request = requested;
	complete = done;
	return CUPTI_FINE;
}

DOUBLE_API int cuptiActivityEnable(uint32_t kind)
{
	if (kind >= sizeof wanted_kinds)
		return CUPTI_BAD_KIND;
	if (!complete)
		return 7;
	if (kind == CUPTI_GRAPH_TRACE && double_options()->nowhole)
		return CUPTI_BAD_KIND;
	double_cost_in_tool(double_options()->cost_switch);
	wanted_kinds[kind] = kind != CUPTI_GRAPH_TRACE || !double_options()->bothkinds;
	return CUPTI_FINE;
}

DOUBLE_API int cuptiActivityDisable(uint32_t kind)
{
	double_cost_in_tool(double_options()->cost_switch);
	if (kind < sizeof wanted_kinds && (kind != CUPTI_GRAPH_TRACE || !double_options()->stuck))
		wanted_kinds[kind] = 0;
	return CUPTI_FINE;
}

DOUBLE_API int cuptiActivitySetAttribute(uint32_t attribute, size_t *bytes, void *value)
{
	if (attribute == CUPTI_BUFFERS_ARE_ZEROED && *bytes == 1)
		zeroed = *(uint8_t *)value;
	return CUPTI_FINE;
}

DOUBLE_API int cuptiActivityGetNextRecord(
	uint8_t *buffer, size_t valid, struct cupti_record **record)
{
	uint8_t *next = *record ? (uint8_t *)*record + size_of(*record) : buffer;

	if (next >= buffer + valid)
		return CUPTI_LIMIT_REACHED;
	*record = (void *)next;
	return size_of(*record) ? CUPTI_FINE : CUPTI_BAD_KIND;
}

DOUBLE_API int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count)
{
	*count = dropped;
	dropped = 0;
	return CUPTI_FINE;
}

DOUBLE_API int cuptiActivityFlushAll(uint32_t flags)
{
	if (getpid() != owner)
		double_broken("CUPTI is called in the child of a fork");
	if (double_options()->cost_flush_us) {
		pthread_mutex_lock(&flushing);
		usleep((useconds_t)double_options()->cost_flush_us);
		pthread_mutex_unlock(&flushing);
	}
	deliver((flags & CUPTI_FLUSH_FORCED) != 0);
	return CUPTI_FINE;
}
