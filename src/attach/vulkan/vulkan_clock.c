/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks of devices (vulkan_clock.h). A reading comes from the driver, or from a timestamp that is
 * submitted between two readings of the host's clock. The queue may hold submissions that we do not
 * know of, which may wait for the program's next call; so a timestamp is only waited for shortly. A
 * later timestamp is used if there is no other reading, with its wide interval.
 */
#include "attach/vulkan/vulkan_clock.h"

#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "attach/vulkan/readback.h"
#include "base/clock_ns.h"
#include "lib/sys/environment.h"

enum {
	READINGS = 5,		/* at a time */
	MAX_AGE_NS = 500000000, /* of a reading, after which the next is due */
	FIRST_NS = 100000000,	/* longest wait for the first timestamp */
	SOON_NS = 200000,	/* longest wait for a later timestamp */
};

bool clock_may_calibrate(void)
{
	const char *wanted = brick__environment("BRICK_VULKAN_CALIBRATION");
	return !wanted || strcmp(wanted, "off") != 0;
}

/* Some or none; the next ones are due a period later, or at once if there is no line yet. */
static void add_readings(
	struct vulkan_device *d, const struct brick_reading *readings, uint32_t count)
{
	if (count)
		brick_correlation_add(&d->clock.correlation, readings, count);
	d->clock.read_ns = monotonic_ns();
}

static uint32_t read_by_calibration(struct vulkan_device *d, struct brick_reading *readings)
{
	const VkCalibratedTimestampInfoEXT infos[2] = {
		{.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT,
			.timeDomain = VK_TIME_DOMAIN_DEVICE_EXT},
		{.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT,
			.timeDomain = VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT},
	};
	/* an error that tests plant into the readings, which are as wide as that */
	const char *wanted = brick__environment("BRICK_VULKAN_CALIBRATION");
	int64_t planted = wanted ? atoll(wanted) : 0;
	uint32_t count = 0;

	for (; count < READINGS; count++) {
		uint64_t stamps[2], off_ns;
		if (d->call.GetCalibratedTimestampsEXT(d->handle, 2, infos, stamps, &off_ns) !=
			VK_SUCCESS)
			break;
		stamps[1] += (uint64_t)planted;
		off_ns += (uint64_t)llabs(planted);
		uint64_t ticks = wrapped_ticks_read(&d->counter, stamps[0], stamps[1]);
		readings[count] = (struct brick_reading){stamps[1] - off_ns,
			wrapped_ticks_ns(&d->counter, ticks), stamps[1] + off_ns};
	}
	return count;
}

/* Reading by submission. */

static int vulkan_clock_ask(struct vulkan_device *d, struct vulkan_queue *queue)
{
	const VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
		.queryType = VK_QUERY_TYPE_TIMESTAMP,
		.queryCount = 1};

	if (!d->stamp.query &&
		d->call.CreateQueryPool(d->handle, &info, NULL, &d->stamp.query) != VK_SUCCESS)
		d->stamp.query = VK_NULL_HANDLE;
	if (!d->stamp.query)
		return 0;
	struct vulkan_slot *slot = slot_take(d, queue->family, 1);
	if (!slot)
		return 0;
	d->call.CmdResetQueryPool(slot->commands, d->stamp.query, 0, 1);
	d->call.CmdWriteTimestamp(
		slot->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, d->stamp.query, 0);
	slot_copy(slot, d->stamp.query, 1, 0);
	d->stamp.before_ns = monotonic_ns();
	if (slot_submit(slot, queue->handle) != VK_SUCCESS) {
		slot_give_back(slot);
		return 0;
	}
	d->stamp.slot = slot;
	d->stamp.queue = queue;
	return 1;
}

/* 0: it is still on its way. */
static int vulkan_clock_answer(struct vulkan_device *d, struct brick_reading *reading)
{
	struct vulkan_slot *slot = d->stamp.slot;

	if (slot_is_done(slot) <= 0)
		return 0;
	uint64_t ticks = wrapped_ticks_read(&d->counter, slot->results[0], d->stamp.before_ns);
	*reading = (struct brick_reading){
		d->stamp.before_ns, wrapped_ticks_ns(&d->counter, ticks), monotonic_ns()};
	slot_give_back(slot);
	d->stamp.slot = NULL;
	return 1;
}

static int answer_soon(struct vulkan_device *d, struct brick_reading *reading)
{
	uint64_t patience_ns = d->clock.correlation.count ? SOON_NS : FIRST_NS;

	while (!vulkan_clock_answer(d, reading)) {
		if (monotonic_ns() - d->stamp.before_ns >= patience_ns)
			return 0;
		sched_yield();
	}
	return 1;
}

/* Functions of vulkan_clock.h. */

void clock_take(struct vulkan_device *d)
{
	struct brick_reading reading;

	if (!d->stamp.slot || !vulkan_clock_answer(d, &reading) || d->clock.correlation.count)
		return;
	add_readings(d, &reading, 1);
	d->clock.read_ns = 0; /* a narrower one is due as soon as it can be had */
}

void clock_correlate(struct vulkan_device *d)
{
	struct brick_reading readings[READINGS];

	if (d->has_calibration && device_clock_is_due(&d->clock, MAX_AGE_NS))
		add_readings(d, readings, read_by_calibration(d, readings));
}

void clock_correlate_by(struct vulkan_device *d, struct vulkan_queue *queue)
{
	struct brick_reading readings[READINGS];
	uint32_t count = 0;

	if (d->stamp.slot || !device_clock_is_due(&d->clock, MAX_AGE_NS))
		return;
	while (count < READINGS && vulkan_clock_ask(d, queue) && answer_soon(d, &readings[count]))
		count++;
	add_readings(d, readings, count);
}

bool clock_is_awaited(const struct vulkan_device *d)
{
	return !d->clock.correlation.count && d->stamp.slot;
}

void clock_close(struct vulkan_device *d)
{
	if (d->stamp.slot)
		slot_give_back(d->stamp.slot);
	if (d->stamp.query)
		d->call.DestroyQueryPool(d->handle, d->stamp.query, NULL);
	d->stamp.slot = NULL;
	d->stamp.query = VK_NULL_HANDLE;
}
