/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches without work, three ways: as they are traced (TRACED), without records of kernels
 * (BARE), without callbacks (QUIET); and replays as light recording has them (LIGHT): recorded as a
 * whole, with a sample after each, so that the cost of a switch is in both. The kind of records and
 * the callback are switched while no kernel of the program has been launched yet, and launches of
 * other threads wait in their callbacks (calls.c); the one that is switched off is that of a call
 * which the program does not make. So no record of the program is lost. Ways take turns, since
 * clocks of CPU and device change their speed. A replay is timed on the host and on the device, by
 * events: a cost of the device's shows only there.
 */
#include "attach/cuda/cuda_calibration.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "attach/cuda/cuda_replays.h"
#include "attach/cuda/cupti.h"
#include "base/clock_ns.h"
#include "base/order.h"
#include "brick/abi/overhead.h"
#include "brick/brick.h"
#include "lib/sys/functions.h"

enum {
	GROUPS = 4, /* turns of all ways */
	BLOCKS = 4, /* of each way in a turn */
	LAUNCHES = 24,
	FAR_LAUNCHES = 4,   /* each behind FAR_BYTES of other data */
	NODES = 16,	    /* of the graph: of so many blocks that the device takes longer */
	NODE_BLOCKS = 4000, /* than the host */
	ALL = GROUPS * BLOCKS,
	FAR_BYTES = 512 << 10,
	ENOUGH_MS = 100, /* then the turns that there are suffice */
};

enum way { TRACED, BARE, QUIET, LIGHT, WAYS };

/* Times of blocks, ns. */
struct calibration_times {
	uint32_t count;
	uint64_t launches[ALL], far[ALL];  /* of all launches of a block */
	uint64_t replays[ALL], ended[ALL]; /* of a replay: its call, and on the device */
	uint64_t samples[ALL];		   /* of one with both switches */
};

struct calibration {
	struct {
		int (*capture_mode)(int *);
		int (*load)(void **, const void *);
		int (*function)(void **, void *, const char *);
		int (*stream)(void **, unsigned), (*stream_sync)(void *), (*stream_destroy)(void *);
		int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			unsigned, void *, void **, void **);
		int (*capture)(void *, int), (*end_capture)(void *, void **);
		int (*instantiate)(void **, void *, unsigned long long);
		int (*replay)(void *, void *), (*exec_destroy)(void *), (*graph_destroy)(void *);
		int (*event)(void **, unsigned), (*event_destroy)(void *);
		int (*record)(void *, void *), (*elapsed)(float *, void *, void *);
	} cu;
	void *driver, *module, *kernel, *stream, *graph, *exec;
	void *light; /* another exec, made while replays are recorded as a whole */
	void *events[2];
	char *data; /* FAR_BYTES */
	struct calibration_call call;
	bool is_relaxed; /* the thread's captures, */
	int mode;	 /* which had this mode before */
	uint64_t begin_ns;
	const char *failed; /* the call that failed; NULL: none */
	int error;
	uint64_t nodes, wholes; /* records that replays should bring */
	const char *obstacle;	/* to records of whole replays; NULL: none */
	struct calibration_times times[WAYS];
};

#define NEEDED(member, name)                                                         \
	{                                                                            \
		name, offsetof(__typeof__(((struct calibration *)0)->cu), member), 0 \
	}
static const struct sys_function calibration_functions[] = {
	NEEDED(capture_mode, "cuThreadExchangeStreamCaptureMode"),
	NEEDED(load, "cuModuleLoadData"),
	NEEDED(function, "cuModuleGetFunction"),
	NEEDED(stream, "cuStreamCreate"),
	NEEDED(stream_sync, "cuStreamSynchronize"),
	NEEDED(stream_destroy, "cuStreamDestroy_v2"),
	NEEDED(capture, "cuStreamBeginCapture_v2"),
	NEEDED(end_capture, "cuStreamEndCapture"),
	NEEDED(instantiate, "cuGraphInstantiateWithFlags"),
	NEEDED(replay, "cuGraphLaunch"),
	NEEDED(exec_destroy, "cuGraphExecDestroy"),
	NEEDED(graph_destroy, "cuGraphDestroy"),
	NEEDED(event, "cuEventCreate"),
	NEEDED(event_destroy, "cuEventDestroy_v2"),
	NEEDED(record, "cuEventRecord"),
	NEEDED(elapsed, "cuEventElapsedTime"),
};

/* The first that the driver takes. */
#define PTX(target)                         \
	"//\n.version 6.3\n.target " target \
	"\n.address_size 64\n.visible .entry " CUDA_CALIBRATION_KERNEL "()\n{\n  ret;\n}\n"
static const char *const calibration_code[] = {PTX("sm_75"), PTX("sm_50")};

enum { CAPTURE_RELAXED = 2, STREAM_APART = 1 };

static void calibration_noted(struct calibration *c, const char *name, int error)
{
	if (!error || c->failed)
		return;
	c->failed = name;
	c->error = error;
}

/* Calls nothing once a call has failed. */
#define TRY(c, name, call)                                  \
	do {                                                \
		if (!(c)->failed)                           \
			calibration_noted(c, name, (call)); \
	} while (0)

static void launch_some(struct calibration *c, int count, unsigned blocks)
{
	for (int i = 0; i < count && !c->failed; i++)
		TRY(c, c->call.name,
			c->cu.launch(c->kernel, blocks, 1, 1, 32, 1, 1, 0, c->stream, NULL, NULL));
}

static void wait_for_them(struct calibration *c)
{
	TRY(c, "cuStreamSynchronize", c->cu.stream_sync(c->stream));
}

static void calibration_prepare(struct calibration *c)
{
	size_t count = sizeof(calibration_functions) / sizeof(*calibration_functions);
	int error = -1;

	c->driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	const char *missing =
		c->driver ? sys_functions_find(c->driver, calibration_functions, count, &c->cu)
			  : "libcuda.so.1";
	if (!missing && (!c->call.id || !sys_function_find(c->driver, c->call.name, &c->cu.launch)))
		missing = c->call.name;
	if (missing) {
		calibration_noted(c, missing, -1);
		return;
	}
	c->cu.capture_mode(&c->mode); /* nothing here ends a capture of the program's */
	c->is_relaxed = true;
	for (size_t i = 0; error && i < sizeof(calibration_code) / sizeof(char *); i++)
		error = c->cu.load(&c->module, calibration_code[i]);
	calibration_noted(c, "cuModuleLoadData", error);
	TRY(c, "cuModuleGetFunction",
		c->cu.function(&c->kernel, c->module, CUDA_CALIBRATION_KERNEL));
	TRY(c, "cuStreamCreate", c->cu.stream(&c->stream, STREAM_APART));
	TRY(c, "cuStreamBeginCapture", c->cu.capture(c->stream, CAPTURE_RELAXED));
	launch_some(c, NODES, NODE_BLOCKS);
	TRY(c, "cuStreamEndCapture", c->cu.end_capture(c->stream, &c->graph));
	for (int i = 0; i < 2; i++)
		TRY(c, "cuEventCreate", c->cu.event(&c->events[i], 0));
	TRY(c, "cuGraphInstantiate", c->cu.instantiate(&c->exec, c->graph, 0));
	c->data = mmap(NULL, FAR_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (c->data == MAP_FAILED) {
		c->data = NULL;
		calibration_noted(c, "mmap", -1);
	}
}

/* The module stays: records that are still to come have its kernel's name. */
static void calibration_clean(struct calibration *c)
{
	for (int i = 0; i < 2; i++)
		if (c->events[i])
			c->cu.event_destroy(c->events[i]);
	if (c->exec)
		c->cu.exec_destroy(c->exec);
	if (c->light)
		c->cu.exec_destroy(c->light);
	if (c->graph)
		c->cu.graph_destroy(c->graph);
	if (c->stream)
		c->cu.stream_destroy(c->stream);
	if (c->is_relaxed)
		c->cu.capture_mode(&c->mode);
	if (c->data)
		munmap(c->data, FAR_BYTES);
	if (c->driver)
		dlclose(c->driver);
}

/* Brings in data that the launch before has not used. */
static void go_far(volatile char *data)
{
	for (size_t i = 0; i < FAR_BYTES; i += 64)
		data[i]++;
}

/* The device's own clock tells when it was done: a host that wakes up is late by more than that. */
static void time_replay(
	struct calibration *c, struct calibration_times *times, uint32_t i, void *exec)
{
	float ms = 0;

	TRY(c, "cuEventRecord", c->cu.record(c->events[0], c->stream));
	uint64_t begin = monotonic_ns();
	TRY(c, "cuGraphLaunch", c->cu.replay(exec, c->stream));
	times->replays[i] = monotonic_ns() - begin;
	TRY(c, "cuEventRecord", c->cu.record(c->events[1], c->stream));
	wait_for_them(c);
	TRY(c, "cuEventElapsedTime", c->cu.elapsed(&ms, c->events[0], c->events[1]));
	times->ended[i] = ms > 0 && ms < 1000 ? (uint64_t)((double)ms * 1e6) : 0;
}

static int switch_whole(bool on)
{
	return on ? cupti.enable(CUPTI_GRAPH_TRACE) : cupti.disable(CUPTI_GRAPH_TRACE);
}

/* Waits as seldom as can be: on a busy machine a thread that waits comes back late. */
static void time_block(struct calibration *c, struct calibration_times *times, void *exec)
{
	uint32_t i = times->count;
	uint64_t begin = monotonic_ns();

	launch_some(c, LAUNCHES, 1);
	times->launches[i] = monotonic_ns() - begin;
	times->far[i] = 0;
	for (int k = 0; k < FAR_LAUNCHES; k++) {
		go_far(c->data);
		begin = monotonic_ns();
		launch_some(c, 1, 1);
		times->far[i] += monotonic_ns() - begin;
	}
	wait_for_them(c);
	time_replay(c, times, i, exec);
	times->count += !c->failed;
}

/* Whole replays are on before and after. The sample is as far from other work as the replay. */
static void time_light(struct calibration *c, struct calibration_times *times, void *exec)
{
	uint64_t *sample = &times->samples[times->count];

	time_block(c, times, exec);
	go_far(c->data);
	uint64_t begin = monotonic_ns();
	TRY(c, "cuptiActivityDisable", switch_whole(false));
	TRY(c, "cuGraphLaunch", c->cu.replay(exec, c->stream));
	TRY(c, "cuptiActivityEnable", switch_whole(true));
	*sample = monotonic_ns() - begin;
	wait_for_them(c);
	c->wholes++;
	c->nodes += NODES;
}

static int switch_records(bool on)
{
	return on ? cupti.enable(CUPTI_CONCURRENT_KERNEL) : cupti.disable(CUPTI_CONCURRENT_KERNEL);
}

static int switch_callbacks(const struct calibration *c, bool on)
{
	return cupti.enable_callback(on, cupti.subscriber, CUPTI_DOMAIN_DRIVER, c->call.id);
}

static void time_way(struct calibration *c, enum way way)
{
	if (way == BARE)
		TRY(c, "cuptiActivityDisable", switch_records(false));
	if (way == QUIET)
		TRY(c, "cuptiEnableCallback", switch_callbacks(c, false));
	if (way == LIGHT && switch_whole(true) != CUPTI_FINE) {
		c->obstacle = "CUPTI refuses them";
		return;
	}
	struct calibration_times first = {.count = 0};
	void (*time)(struct calibration *, struct calibration_times *, void *) =
		way == LIGHT ? time_light : time_block;
	time(c, &first, c->exec);      /* what the switch left to do */
	if (way == LIGHT && !c->light) /* as the program's graphs will be made */
		TRY(c, "cuGraphInstantiate", c->cu.instantiate(&c->light, c->graph, 0));
	for (int i = 0; i < BLOCKS && !c->failed; i++)
		time(c, &c->times[way], way == LIGHT ? c->light : c->exec);
	if (way == TRACED || way == QUIET)
		c->nodes += (uint64_t)(BLOCKS + 1) * NODES;
	int error = way == BARE	   ? switch_records(true)
		    : way == QUIET ? switch_callbacks(c, true)
		    : way == LIGHT ? switch_whole(false)
				   : 0;
	if (error)
		calibration_noted(c, "switching on again", error);
}

/* CUPTI's documentation does not say if the kinds can be on together and be switched like this. */
static void look_at_records(struct calibration *c, struct replays_own before)
{
	if (cupti.flush_all(CUPTI_FLUSH_FORCED) != CUPTI_FINE)
		return;
	struct replays_own now = replays_own();
	if (now.wholes - before.wholes != c->wholes)
		c->obstacle = "not each brings one record";
	else if (now.nodes - before.nodes != c->nodes)
		c->obstacle = "records of kernels do not come back after them";
}

static void calibration_run(struct calibration *c)
{
	struct replays_own before = replays_own();
	int ways = replays_may_be_light() ? WAYS : LIGHT;

	for (int group = 0; group < GROUPS && !c->failed; group++) {
		if (group > 1 && monotonic_ns() - c->begin_ns > ENOUGH_MS * 1000000ull)
			break;
		for (int i = 0; i < ways; i++) {
			enum way way = (enum way)((i + group) % ways);
			if (!c->failed && (way != LIGHT || !c->obstacle))
				time_way(c, way);
		}
	}
	if (ways == WAYS && !c->failed && !c->obstacle)
		look_at_records(c, before);
}

/* A block in which the thread loses its CPU takes longer: only the lower half of them is used. */
struct calibrated calibrated_difference(
	uint64_t *with, uint32_t with_count, uint64_t *without, uint32_t without_count)
{
	qsort(with, with_count, sizeof(*with), order_u64);
	qsort(without, without_count, sizeof(*without), order_u64);
	return (struct calibrated){
		(int64_t)(with[with_count / 3] - without[without_count / 3]),
		(int64_t)(with[with_count / 8] - without[without_count / 2]),
		(int64_t)(with[with_count / 2] - without[without_count / 8]),
	};
}

/* `into` is negative nowhere: nothing costs less than nothing. */
static struct calibrated calibrated_part(struct calibrated c, int64_t of)
{
	c.low_ns = c.low_ns > 0 ? c.low_ns / of : 0;
	c.ns = c.ns > 0 ? c.ns / of : 0;
	c.high_ns = c.high_ns > 0 ? (c.high_ns + of - 1) / of : 0;
	return c;
}

/* A program has other data between its launches: less than no other, more than FAR_BYTES of it. */
static struct calibrated calibrated_between(struct calibrated near, struct calibrated far)
{
	return (struct calibrated){
		(near.ns + far.ns) / 2,
		near.low_ns < far.low_ns ? near.low_ns : far.low_ns,
		near.high_ns > far.high_ns ? near.high_ns : far.high_ns,
	};
}

#define DIFFERENCE(c, way, member, other)                                    \
	calibrated_difference((c)->times[way].member, (c)->times[way].count, \
		(c)->times[other].member, (c)->times[other].count)

static struct calibrated launch_cost(struct calibration *c, enum way without)
{
	return calibrated_between(
		calibrated_part(DIFFERENCE(c, TRACED, launches, without), LAUNCHES),
		calibrated_part(DIFFERENCE(c, TRACED, far, without), FAR_LAUNCHES));
}

/* The device's part of what replays took more; where it waited for the host, it has the host's. */
static struct calibrated device_cost(struct calibration *c, enum way way, struct calibrated call)
{
	struct calibration_times *times = &c->times[way];
	struct calibrated ended = DIFFERENCE(c, way, ended, BARE);

	if (times->ended[times->count / 2] < 2 * times->replays[times->count / 2])
		ended.low_ns -= call.high_ns;
	return ended;
}

#define EACH "%lld (%lld to %lld)"
#define TOLD(x) (long long)(x).ns, (long long)(x).low_ns, (long long)(x).high_ns

static void calibration_tell(struct calibration *c)
{
	struct calibrated record = launch_cost(c, BARE), callbacks = launch_cost(c, QUIET);
	struct calibrated call = DIFFERENCE(c, TRACED, replays, BARE);
	struct calibrated node = calibrated_part(call, NODES);
	struct calibrated device = calibrated_part(device_cost(c, TRACED, call), NODES);
	struct calibrated whole = {0}, whole_device = {0}, sample = {0};
	char light[256] = "";

	if (c->times[LIGHT].count) {
		sample = calibrated_part(
			calibrated_difference(c->times[LIGHT].samples, c->times[LIGHT].count,
				c->times[TRACED].replays, c->times[TRACED].count),
			1);
		call = DIFFERENCE(c, LIGHT, replays, BARE);
		whole = calibrated_part(call, 1);
		whole_device = calibrated_part(device_cost(c, LIGHT, call), 1);
		snprintf(light, sizeof(light),
			"; replay " EACH ", device " EACH ", sample " EACH " ns", TOLD(whole),
			TOLD(whole_device), TOLD(sample));
	}
	brick_note("cuda.calibration",
		"callbacks " EACH ", record " EACH ", node " EACH ", device " EACH
		" ns%s; %u blocks of %d launches in %.1f ms",
		TOLD(callbacks), TOLD(record), TOLD(node), TOLD(device), light,
		c->times[TRACED].count, LAUNCHES, (double)(monotonic_ns() - c->begin_ns) * 1e-6);
	int64_t each = node.ns > device.ns ? node.ns : device.ns;
	replays_decide(c->obstacle, &(struct replay_costs){NODES, (double)each * 1e-3,
					    (double)whole.ns * 1e-3, (double)sample.ns * 1e-3});
}

static void calibration_refuse(const char *why)
{
	brick_note("cuda.calibration", "none: %s", why);
	replays_decide("nothing was calibrated", &(struct replay_costs){0});
}

void cuda_calibrate(struct calibration_call call)
{
	int ready = brick_register(BRICK_READY_NAME, BRICK_CATEGORY_ENGINE);
	brick_span span = ready >= 0 ? brick_begin((uint32_t)ready) : 0;
	struct calibration *c = calloc(1, sizeof(*c));

	if (!c) {
		calibration_refuse("no memory");
		brick_end(span);
		return;
	}
	c->call = call;
	c->mode = CAPTURE_RELAXED;
	c->begin_ns = monotonic_ns();
	calibration_prepare(c);
	calibration_run(c);
	char why[128] = "";

	if (!c->failed) {
		calibration_tell(c);
	} else {
		snprintf(why, sizeof(why), "%s failed (%d)", c->failed, c->error);
		calibration_refuse(why);
	}
	calibration_clean(c);
	free(c);
	brick_end(span);
}
