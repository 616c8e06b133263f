/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend for Vulkan: pairs of timestamps in the program's own command buffers, from one query
 * pool that is made when the device is opened. A pair's queries are reset where they are written;
 * until the device has come that far results of their last use are read, and passed over. What we
 * submit ourselves stands in the program's queue behind work that may take any time, or wait for
 * what the program does next: nothing here waits without a bound.
 */
#define VK_NO_PROTOTYPES
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>
#include "brick/abi/session.h"
#include "brick/error.h"
#include "brick/vulkan.h"
#include "lib/device/backend_call.h"
#include "lib/backends/backend_load.h"
#include "lib/device/wrapped_ticks.h"
#include "lib/sys/environment.h"
#include "lib/sys/functions.h"
#include "lib/sys/ticks.h"

#define VULKAN_FUNCTIONS(X)       \
	X(CreateQueryPool)        \
	X(DestroyQueryPool)       \
	X(GetQueryPoolResults)    \
	X(CmdResetQueryPool)      \
	X(CmdWriteTimestamp)      \
	X(CreateCommandPool)      \
	X(DestroyCommandPool)     \
	X(AllocateCommandBuffers) \
	X(BeginCommandBuffer)     \
	X(EndCommandBuffer)       \
	X(QueueSubmit)            \
	X(QueueWaitIdle)          \
	X(CreateFence)            \
	X(DestroyFence)           \
	X(ResetFences)            \
	X(GetFenceStatus)         \
	X(WaitForFences)

struct calls {
#define X(name) PFN_vk##name name;
	VULKAN_FUNCTIONS(X)
#undef X
	PFN_vkGetCalibratedTimestampsEXT
		GetCalibratedTimestampsEXT; /* or NULL: none, or not wanted */
	PFN_vkGetPhysicalDeviceProperties GetPhysicalDeviceProperties;
	PFN_vkGetPhysicalDeviceQueueFamilyProperties GetPhysicalDeviceQueueFamilyProperties;
};

/* A command buffer of ours, recorded once, with a fence that says when it is done. All zero: there
 * is none, and nothing is on its way. */
struct own {
	const struct calls *call;
	VkDevice device;
	VkCommandBuffer commands;
	VkFence fence;
	bool is_out; /* submitted, and not seen done */
};

enum { DEFAULT_PAIRS = 4096, MAX_PAIRS = 1 << 20, MAX_FAMILIES = 64, NONE = -1 };
enum {
	PATIENCE_NS = 1000000000, /* with submissions of ours, at open and close */
	FIRST_NS = 100000000,	  /* with each of the first readings of the clock, */
	SOON_NS = 200000,	  /* and with later ones */
	FIRST_READINGS = 16,
};

struct pair {
	uint64_t ticket;
	uint64_t last_begin; /* ticks of the use before; 0: there was none */
	int32_t next;	     /* of those in the same state */
};

struct brick_backend_device {
	struct calls call;
	struct brick_backend_host host;
	VkPhysicalDevice physical;
	VkDevice device;
	struct brick_vulkan_queue *queue; /* for what is ours to submit */
	VkQueryPool queries;
	VkCommandPool commands;
	struct own reset;  /* of all queries, once */
	struct own stamp;  /* a timestamp, to read the clock */
	uint64_t asked_ns; /* when that was submitted; 0: it has been read */
	bool has_reading;
	uint32_t patient; /* so many readings may still take long */
	struct wrapped_ticks counter;
	uint32_t pair_count;
	struct pair *pairs;
	int32_t free, begun, ended;	 /* begun: the newest first */
	void (*exclude)(void *commands); /* of `brick record`, or NULL */
};

/* The library. */

/* vkGetInstanceProcAddr, or NULL and a sentence. The library stays open. */
static PFN_vkGetInstanceProcAddr vulkan_backend_load(char *reason, size_t bytes)
{
	void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
	PFN_vkGetInstanceProcAddr get = NULL;

	if (!library || !sys_function_find(library, "vkGetInstanceProcAddr", &get))
		snprintf(reason, bytes, "there is no libvulkan.so.1");
	return get;
}

/* Of drivers whose calibration is wrong. */
static bool may_calibrate(void)
{
	const char *wanted = brick__environment("BRICK_VULKAN_CALIBRATION");
	return !wanted || strcmp(wanted, "off") != 0;
}

/* 0; -ENOTSUP: the device lacks a function that all should have. */
static int load_calls(struct calls *c, VkInstance instance, VkDevice device)
{
	char reason[64];
	PFN_vkGetInstanceProcAddr get = vulkan_backend_load(reason, sizeof(reason));
	PFN_vkGetDeviceProcAddr of_device =
		get ? (PFN_vkGetDeviceProcAddr)get(instance, "vkGetDeviceProcAddr") : NULL;

	if (!of_device)
		return -ENOTSUP;
#define X(name)                                                \
	c->name = (PFN_vk##name)of_device(device, "vk" #name); \
	if (!c->name)                                          \
		return -ENOTSUP;
	VULKAN_FUNCTIONS(X)
#undef X
#define GET(name) c->name = (PFN_vk##name)get(instance, "vk" #name)
	GET(GetPhysicalDeviceProperties);
	GET(GetPhysicalDeviceQueueFamilyProperties);
#undef GET
	if (may_calibrate())
		c->GetCalibratedTimestampsEXT = (PFN_vkGetCalibratedTimestampsEXT)of_device(
			device, "vkGetCalibratedTimestampsEXT");
	return c->GetPhysicalDeviceProperties && c->GetPhysicalDeviceQueueFamilyProperties
		       ? 0
		       : -ENOTSUP;
}

/* Submissions of ours. */

/* Make it and begin to record; 0 or BRICK_EDEVICE. `call` stays the caller's. */
static int own_begin(struct own *own, const struct calls *call, VkDevice device, VkCommandPool pool)
{
	const VkCommandBufferAllocateInfo allocate = {
		VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, NULL, pool,
		VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
	const VkCommandBufferBeginInfo begin = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
	const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};

	own->call = call;
	own->device = device;
	if (call->CreateFence(device, &fence, NULL, &own->fence) != VK_SUCCESS ||
		call->AllocateCommandBuffers(device, &allocate, &own->commands) != VK_SUCCESS)
		return BRICK_EDEVICE;
	return call->BeginCommandBuffer(own->commands, &begin) == VK_SUCCESS ? 0 : BRICK_EDEVICE;
}

static int own_end(struct own *own)
{
	return own->call->EndCommandBuffer(own->commands) == VK_SUCCESS ? 0 : BRICK_EDEVICE;
}

/* Nothing may be out. */
static int own_submit(struct own *own, VkQueue queue)
{
	const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		.commandBufferCount = 1,
		.pCommandBuffers = &own->commands};

	if (own->call->ResetFences(own->device, 1, &own->fence) != VK_SUCCESS ||
		own->call->QueueSubmit(queue, 1, &submit, own->fence) != VK_SUCCESS)
		return BRICK_EDEVICE;
	own->is_out = true;
	return 0;
}

/* 1: nothing is out; 0: it is; BRICK_EDEVICE. */
static int own_is_done(struct own *own)
{
	if (!own->is_out)
		return 1;
	VkResult result = own->call->GetFenceStatus(own->device, own->fence);
	own->is_out = result != VK_SUCCESS;
	return result == VK_SUCCESS ? 1 : result == VK_NOT_READY ? 0 : BRICK_EDEVICE;
}

/* The same after a wait of at most so long, asleep ... */
static int own_wait(struct own *own, uint64_t timeout_ns)
{
	if (own->is_out)
		own->call->WaitForFences(own->device, 1, &own->fence, VK_TRUE, timeout_ns);
	return own_is_done(own);
}

/* ... or looking all the time. */
static int own_watch(struct own *own, uint64_t timeout_ns)
{
	uint64_t begin = brick__monotonic_ns();
	int done;

	while (!(done = own_is_done(own)) && brick__monotonic_ns() - begin < timeout_ns)
		sched_yield();
	return done;
}

/* Nothing may be out. The command buffer goes with its pool. */
static void own_free(struct own *own)
{
	if (own->fence)
		own->call->DestroyFence(own->device, own->fence, NULL);
	own->fence = VK_NULL_HANDLE;
}

/* Open and close. */

static int vulkan_backend_probe(char *reason, size_t bytes)
{
	PFN_vkGetInstanceProcAddr get = vulkan_backend_load(reason, bytes);
	PFN_vkCreateInstance create =
		get ? (PFN_vkCreateInstance)get(NULL, "vkCreateInstance") : NULL;
	const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
	VkInstance instance;
	uint32_t count = 0;

	if (!create)
		return -ENOENT;
	if (create(&info, NULL, &instance) != VK_SUCCESS) {
		snprintf(reason, bytes, "Vulkan's loader finds no driver");
		return -ENODEV;
	}
	((PFN_vkEnumeratePhysicalDevices)get(instance, "vkEnumeratePhysicalDevices"))(
		instance, &count, NULL);
	((PFN_vkDestroyInstance)get(instance, "vkDestroyInstance"))(instance, NULL);
	if (!count)
		snprintf(reason, bytes, "Vulkan's drivers find no device");
	return count ? 0 : -ENODEV;
}

static int learn_clock(struct brick_backend_device *d)
{
	VkPhysicalDeviceProperties properties;
	VkQueueFamilyProperties families[MAX_FAMILIES];
	uint32_t count = MAX_FAMILIES;

	d->call.GetPhysicalDeviceProperties(d->physical, &properties);
	d->call.GetPhysicalDeviceQueueFamilyProperties(d->physical, &count, families);
	d->counter.period_ns = (double)properties.limits.timestampPeriod;
	uint32_t bits =
		d->queue->family < count ? families[d->queue->family].timestampValidBits : 0;
	d->counter.mask = bits >= 64 ? UINT64_MAX : (1ull << bits) - 1;
	if (d->host.note)
		d->host.note(d->host.context, "device", properties.deviceName);
	return d->counter.mask && d->counter.period_ns > 0 ? 0 : -ENOTSUP;
}

static int make_pools(struct brick_backend_device *d)
{
	const VkQueryPoolCreateInfo queries = {VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, NULL, 0,
		VK_QUERY_TYPE_TIMESTAMP, 2 * d->pair_count + 1, 0};
	const VkCommandPoolCreateInfo commands = {
		VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, NULL, 0, d->queue->family};
	uint32_t query = 2 * d->pair_count; /* the last one is for reading the clock */

	if (d->call.CreateQueryPool(d->device, &queries, NULL, &d->queries) != VK_SUCCESS ||
		d->call.CreateCommandPool(d->device, &commands, NULL, &d->commands) != VK_SUCCESS)
		return -ENOMEM;
	int error = own_begin(&d->reset, &d->call, d->device, d->commands);
	if (!error) {
		d->call.CmdResetQueryPool(d->reset.commands, d->queries, 0, query + 1);
		error = own_end(&d->reset);
	}
	if (!error)
		error = own_begin(&d->stamp, &d->call, d->device, d->commands);
	if (!error) {
		d->call.CmdResetQueryPool(d->stamp.commands, d->queries, query, 1);
		d->call.CmdWriteTimestamp(
			d->stamp.commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, d->queries, query);
		error = own_end(&d->stamp);
	}
	if (!error)
		error = own_submit(&d->reset, d->queue->queue);
	if (!error)
		/* If the queue is busy for longer, vulkan_backend_drain() will look again. */
		own_wait(&d->reset, PATIENCE_NS);
	return error;
}

/*
 * What the device may still come to stays as it is: our own submissions behind what lasts for more
 * than a second, and pairs in the program's command buffers that have not come back.
 */
static void vulkan_backend_close_device(struct brick_backend_device *d)
{
	if (!d)
		return;
	bool is_idle = own_wait(&d->reset, PATIENCE_NS) > 0 && own_wait(&d->stamp, PATIENCE_NS) > 0;
	if (is_idle) {
		own_free(&d->reset);
		own_free(&d->stamp);
	}
	if (is_idle && d->commands)
		d->call.DestroyCommandPool(d->device, d->commands, NULL);
	if (is_idle && d->queries && d->begun == NONE && d->ended == NONE)
		d->call.DestroyQueryPool(d->device, d->queries, NULL);
	free(d->pairs);
	free(d);
}

static int vulkan_backend_open_device(struct brick_backend_device **out,
	const struct brick_backend_host *host, const struct brick_backend_options *options)
{
	uint32_t pairs = options && options->pairs ? options->pairs : DEFAULT_PAIRS;

	if (!options || !options->native[0] || !options->native[1] || !options->native[2] ||
		!options->native[3] || pairs > MAX_PAIRS)
		return -EINVAL;
	struct brick_backend_device *d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->host = *host;
	d->physical = options->native[1];
	d->device = options->native[2];
	d->queue = options->native[3];
	d->pair_count = pairs;
	d->patient = FIRST_READINGS;
	brick__attached_function("libbrick-vulkan.so", "brick_vulkan_exclude", &d->exclude);
	d->pairs = calloc(pairs, sizeof(*d->pairs));
	d->begun = d->ended = NONE;
	for (uint32_t i = 0; d->pairs && i < pairs; i++)
		d->pairs[i].next = i + 1 < pairs ? (int32_t)i + 1 : NONE;
	int error = d->pairs ? load_calls(&d->call, options->native[0], d->device) : -ENOMEM;
	if (!error)
		error = learn_clock(d);
	if (!error)
		error = make_pools(d);
	if (error) {
		vulkan_backend_close_device(d);
		return error;
	}
	*out = d;
	return 0;
}

/* Pairs. */

/* Is it a queue as brick/vulkan.h has it, with commands to record into? */
static bool vulkan_backend_is_usable(const struct brick_vulkan_queue *queue)
{
	return queue && queue->size >= sizeof(*queue) && !queue->reserved && queue->commands;
}

static void stamp(struct brick_backend_device *d, const struct brick_vulkan_queue *queue,
	VkPipelineStageFlagBits stage, int32_t pair, uint32_t which)
{
	d->call.CmdWriteTimestamp(queue->commands, stage, d->queries, 2 * (uint32_t)pair + which);
}

/* For as long as this is recorded: there is nothing to give back. */
static void vulkan_backend_claim(struct brick_backend_device *d, void *native)
{
	const struct brick_vulkan_queue *queue = native;

	if (d->exclude && vulkan_backend_is_usable(queue))
		d->exclude(queue->commands);
}

static int vulkan_backend_begin(struct brick_backend_device *d, void *native, uint64_t ticket)
{
	const struct brick_vulkan_queue *queue = native;
	int32_t index = d->free;

	if (index == NONE)
		return -EAGAIN;
	if (!vulkan_backend_is_usable(queue))
		return -EINVAL;
	struct pair *pair = &d->pairs[index];
	d->free = pair->next;
	pair->ticket = ticket;
	pair->next = d->begun;
	d->begun = index;
	d->call.CmdResetQueryPool(queue->commands, d->queries, 2 * (uint32_t)index, 2);
	stamp(d, queue, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, index, 0);
	return 0;
}

static int vulkan_backend_end(struct brick_backend_device *d, void *native, uint64_t ticket)
{
	const struct brick_vulkan_queue *queue = native;

	if (!vulkan_backend_is_usable(queue))
		return -EINVAL;
	int32_t *link = &d->begun;
	while (*link != NONE && d->pairs[*link].ticket != ticket)
		link = &d->pairs[*link].next;
	if (*link == NONE)
		return -EINVAL;
	int32_t index = *link;
	*link = d->pairs[index].next;
	stamp(d, queue, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, index, 1);
	d->pairs[index].next = d->ended;
	d->ended = index;
	return 0;
}

/* 1: its times have come; 0: not yet; negative: they never will. */
static int take_results(struct brick_backend_device *d, int32_t index)
{
	struct pair *pair = &d->pairs[index];
	struct {
		uint64_t ticks, is_there;
	} results[2] = {{0, 0}, {0, 0}};
	VkResult result = d->call.GetQueryPoolResults(d->device, d->queries, 2 * (uint32_t)index, 2,
		sizeof(results), results, sizeof(results[0]),
		VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);

	if (result < 0) {
		const struct brick_completion lost = {
			.ticket = pair->ticket, .error = BRICK_EDEVICE};
		d->host.complete(d->host.context, &lost);
		return -1;
	}
	if (!results[0].is_there || !results[1].is_there || results[0].ticks == pair->last_begin)
		return 0;
	uint64_t now_ns = brick__monotonic_ns();
	const struct brick_completion done = {.ticket = pair->ticket,
		.begin_ns = wrapped_ticks_ns(
			&d->counter, wrapped_ticks_whole(&d->counter, results[0].ticks, now_ns)),
		.end_ns = wrapped_ticks_ns(
			&d->counter, wrapped_ticks_whole(&d->counter, results[1].ticks, now_ns))};
	pair->last_begin = results[0].ticks;
	d->host.complete(d->host.context, &done);
	return 1;
}

static int vulkan_backend_drain(struct brick_backend_device *d)
{
	int32_t *link = &d->ended;
	int count = 0;

	if (!own_is_done(&d->reset))
		return 0; /* there is nothing in the queries yet */
	while (*link != NONE) {
		int32_t index = *link;
		struct pair *pair = &d->pairs[index];
		int done = take_results(d, index);
		count += done > 0;
		if (!done) {
			link = &pair->next;
			continue;
		}
		*link = pair->next;
		pair->next = d->free;
		d->free = index;
	}
	return count;
}

static int vulkan_backend_synchronise(struct brick_backend_device *d, void *native)
{
	struct brick_vulkan_queue *queue = native ? native : d->queue;

	/* What is still being recorded cannot be waited for. */
	if (native && !queue->submit)
		return -ENOTSUP;
	int error = 0;
	if (native) {
		uint32_t was = brick__program_enter();
		error = queue->submit(queue);
		brick__program_leave(was);
	}
	if (error)
		return error;
	return d->call.QueueWaitIdle(queue->queue) == VK_SUCCESS ? 0 : BRICK_EDEVICE;
}

/* The clock. */

static int correlate_calibrated(struct brick_backend_device *d, struct brick_reading *reading)
{
	const VkCalibratedTimestampInfoEXT infos[2] = {
		{VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT, NULL, VK_TIME_DOMAIN_DEVICE_EXT},
		{VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT, NULL,
			VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT},
	};
	uint64_t stamps[2], off_ns;

	if (d->call.GetCalibratedTimestampsEXT(d->device, 2, infos, stamps, &off_ns) != VK_SUCCESS)
		return BRICK_EDEVICE;
	uint64_t ticks = wrapped_ticks_read(&d->counter, stamps[0], stamps[1]);
	*reading = (struct brick_reading){
		stamps[1] - off_ns, wrapped_ticks_ns(&d->counter, ticks), stamps[1] + off_ns};
	return 0;
}

static int read_stamp(struct brick_backend_device *d, struct brick_reading *reading)
{
	uint64_t after_ns = brick__monotonic_ns(), ticks;

	if (d->call.GetQueryPoolResults(d->device, d->queries, 2 * d->pair_count, 1, sizeof(ticks),
		    &ticks, sizeof(ticks), VK_QUERY_RESULT_64_BIT) != VK_SUCCESS)
		return BRICK_EDEVICE;
	ticks = wrapped_ticks_read(&d->counter, ticks, after_ns);
	*reading =
		(struct brick_reading){d->asked_ns, wrapped_ticks_ns(&d->counter, ticks), after_ns};
	d->asked_ns = 0;
	d->has_reading = true;
	return 0;
}

/*
 * By a timestamp of ours in the program's queue, which comes at once if the queue is idle. One that
 * comes later would be wide: it is good only where there is none.
 */
static int correlate_by_stamp(struct brick_backend_device *d, struct brick_reading *reading)
{
	int done = own_is_done(&d->stamp);

	if (done > 0 && d->asked_ns && !d->has_reading)
		return read_stamp(d, reading);
	if (done > 0) {
		d->asked_ns = brick__monotonic_ns();
		int error = own_submit(&d->stamp, d->queue->queue);
		if (error)
			return error;
		done = own_watch(&d->stamp, d->patient ? FIRST_NS : SOON_NS);
		d->patient = done > 0 && d->patient ? d->patient - 1 : 0;
	}
	return done > 0 ? read_stamp(d, reading) : done ? done : -EAGAIN;
}

static int vulkan_backend_correlate(struct brick_backend_device *d, struct brick_reading *reading)
{
	return d->call.GetCalibratedTimestampsEXT ? correlate_calibrated(d, reading)
						  : correlate_by_stamp(d, reading);
}

const struct brick_backend brick__backend_vulkan = {
	.size = sizeof(struct brick_backend),
	.version = BRICK_BACKEND_VERSION,
	.source = BRICK_SOURCE_TIMESTAMP_QUERY,
	.name = "vulkan",
	.probe = vulkan_backend_probe,
	.open = vulkan_backend_open_device,
	.begin = vulkan_backend_begin,
	.end = vulkan_backend_end,
	.drain = vulkan_backend_drain,
	.synchronise = vulkan_backend_synchronise,
	.correlate = vulkan_backend_correlate,
	.close = vulkan_backend_close_device,
	.claim = vulkan_backend_claim,
};
