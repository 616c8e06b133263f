/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks of OpenCL devices (clocks.h). If a device's timer is another clock than that of its
 * events, queued times lie outside of their calls; the timer is then not used.
 */
#include "attach/opencl/clocks.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include "attach/common/device_clock.h"
#include "attach/opencl/opencl_driver.h"
#include "base/clock_ns.h"
#include "base/scope.h"
#include "lib/device/correlation_residual.h"

enum {
	REFRESH_NS =
		200000000, /* between readings: far apart, so that an error hardly bends the rate */
	CHOICE_NS = 50000000,  /* time span of which the narrowest reading is used */
	HOLD_NS = 500000000,   /* longest time that commands are held back for their clock */
	PATIENCE_NS = 1000000, /* that a queued time may lie outside of its call */
	MAX_DOUBTS = 4,	       /* doubts that refute a timer, or trusts that confirm it */
};

enum method { METHOD_QUEUED = 0, METHOD_TIMER = 1 };

struct clock {
	struct clock *next;
	cl_device_id device;
	enum method method;
	uint32_t doubts, trusts; /* commands queued outside, inside of their call by the timer */
	struct device_clock line;
	uint64_t newest_ns;	   /* when the newest command was queued */
	struct brick_reading best; /* METHOD_QUEUED: narrowest reading since the last one used */
	bool has_best;
	bool is_decided;   /* commands are placed */
	uint64_t first_ns; /* when the first command was seen done */
	pthread_mutex_t lock;
};

static struct clock *clocks;
static pthread_mutex_t clocks_table = PTHREAD_MUTEX_INITIALIZER;

static bool ask_timer(void *device, uint64_t *device_ns)
{
	cl_ulong now = 0, host = 0;

	if (driver_get()->clGetDeviceAndHostTimer(device, &now, &host) != CL_SUCCESS || !now)
		return false;
	*device_ns = now;
	return true;
}

/* Reads the device's timer; 0, or negative when the device does not tell. Under its lock. */
static int clocks_read_timer(struct clock *c)
{
	if (!driver_get()->clGetDeviceAndHostTimer)
		return -ENOTSUP;
	return device_clock_read(&c->line, ask_timer, c->device);
}

struct clock *clocks_of(cl_device_id device)
{
	HOLD(&clocks_table);
	for (struct clock *c = clocks; c; c = c->next)
		if (c->device == device)
			return c;
	struct clock *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->device = device;
	pthread_mutex_init(&c->lock, NULL);
	device_clock_init(&c->line);
	c->method = clocks_read_timer(c) ? METHOD_QUEUED : METHOD_TIMER;
	c->next = clocks;
	__atomic_store_n(&clocks, c, __ATOMIC_RELEASE);
	return c;
}

/* The device's timer is not the clock of its events. Under its lock. */
static void refute_timer(struct clock *c)
{
	c->method = METHOD_QUEUED;
	device_clock_init(&c->line);
}

/* Under its lock. */
static void use_best(struct clock *c)
{
	if (c->method != METHOD_QUEUED || !c->has_best)
		return;
	brick_correlation_add(&c->line.correlation, &c->best, 1);
	c->line.read_ns = c->best.before_ns;
	c->has_best = false;
}

/* Decides that commands are placed from now on. Under its lock. */
static void decide(struct clock *c)
{
	if (c->method == METHOD_TIMER && c->doubts > c->trusts)
		refute_timer(c);
	if (!c->is_decided || !c->line.correlation.count)
		use_best(c);
	c->is_decided = true;
}

bool clocks_are_known(struct clock *c, bool is_full)
{
	if (!c)
		return true;
	HOLD(&c->lock);
	if (c->has_best && c->newest_ns >= c->best.before_ns + CHOICE_NS)
		use_best(c);
	bool is_late = c->first_ns && monotonic_ns() - c->first_ns >= HOLD_NS;
	/* two readings bear each other out, and it is the clock of the events */
	bool is_sure = c->line.correlation.count > 1 &&
		       (c->method == METHOD_QUEUED || c->trusts >= MAX_DOUBTS);
	if (!c->is_decided && (is_sure || is_full || is_late))
		decide(c);
	return c->is_decided;
}

void clocks_decide_all(void)
{
	for (struct clock *c = __atomic_load_n(&clocks, __ATOMIC_ACQUIRE); c; c = c->next) {
		pthread_mutex_lock(&c->lock);
		decide(c);
		use_best(c);
		pthread_mutex_unlock(&c->lock);
	}
}

void clocks_queued(struct clock *c, uint64_t before_ns, uint64_t queued, uint64_t after_ns)
{
	if (!c || (c->method == METHOD_TIMER && c->trusts >= MAX_DOUBTS))
		return;
	HOLD(&c->lock);
	if (!c->first_ns)
		c->first_ns = monotonic_ns();
	if (c->method == METHOD_TIMER && c->trusts < MAX_DOUBTS) {
		/* it may turn out to be another clock */
		uint64_t host = brick_correlation_host_ns(&c->line.correlation, queued);
		bool is_outside = host + PATIENCE_NS < before_ns || host > after_ns + PATIENCE_NS;
		c->trusts += !is_outside;
		c->doubts += is_outside;
		if (is_outside && c->doubts >= MAX_DOUBTS)
			refute_timer(c);
	}
	c->newest_ns = before_ns;
	if (after_ns <= before_ns || !queued ||
		(c->method == METHOD_QUEUED && c->line.correlation.count &&
			before_ns < c->line.read_ns + brick_correlation_period_ns(
							      &c->line.correlation, REFRESH_NS)))
		return;
	if (c->has_best && after_ns - before_ns >= c->best.after_ns - c->best.before_ns)
		return;
	c->best = (struct brick_reading){before_ns, queued, after_ns};
	c->has_best = true;
}

void clocks_refresh(void)
{
	for (struct clock *c = __atomic_load_n(&clocks, __ATOMIC_ACQUIRE); c; c = c->next) {
		pthread_mutex_lock(&c->lock);
		if (c->method == METHOD_TIMER && device_clock_is_due(&c->line, REFRESH_NS) &&
			clocks_read_timer(c))
			c->line.read_ns = monotonic_ns(); /* it fails now: in a while again */
		pthread_mutex_unlock(&c->lock);
	}
}

uint64_t clocks_host_ns(struct clock *c, uint64_t device_ns, uint64_t *residual_ns)
{
	*residual_ns = 0;
	if (!c)
		return 0;
	HOLD(&c->lock);
	uint64_t host = brick_correlation_host_ns(&c->line.correlation, device_ns);
	*residual_ns = brick__correlation_residual_ns(&c->line.correlation, device_ns);
	return host;
}

void clocks_placed(struct clock *c, uint64_t residual_ns)
{
	if (!c)
		return;
	HOLD(&c->lock);
	device_clock_recorded(&c->line, residual_ns);
}

void clocks_note(void)
{
	for (struct clock *c = __atomic_load_n(&clocks, __ATOMIC_ACQUIRE); c; c = c->next)
		notes_clock(c->device, c->method == METHOD_TIMER, c->line.correlation.count,
			c->line.residual_ns);
}

void clocks_forget_all(void)
{
	static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	clocks_table = fresh;
	__atomic_store_n(&clocks, NULL, __ATOMIC_RELEASE);
}
