/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a device in use: opening its backend, reading its clock, taking home what has come
 * back, and closing it with an account of what has not.
 */
#include "base/members.h"
#include "brick/device.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "base/sized.h"
#include "lib/device/backend_load.h"
#include "lib/device/device_state.h"
#include "lib/sys/ticks.h"

enum {
	DEFAULT_PAIRS = 4096,
	MIN_PAIRS = 2,
	MAX_PAIRS = 1 << 20,
	READINGS_AT_OPEN = 16,
	READINGS = 4,
	CORRELATE_NS = 50000000,  /* between readings of the device's clock */
	PATIENCE_NS = 1000000000, /* with results that do not come */
	MAX_CLOCK_FAILURES = 3,	  /* in a row: then its clock has begun anew */
};

static int refuse(char *reason, size_t bytes, int error, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static int refuse(char *reason, size_t bytes, int error, const char *format, ...)
{
	va_list arguments;

	if (!reason || !bytes)
		return error;
	va_start(arguments, format);
	vsnprintf(reason, bytes, format, arguments);
	va_end(arguments);
	return error;
}

/* ---- notes ---- */

static void keep_note(void *context, const char *key, const char *value)
{
	struct brick_device *device = context;

	if (device->note_count == BRICK__DEVICE_NOTES)
		return;
	snprintf(device->notes[device->note_count].key, sizeof device->notes->key, "%.15s.%s",
		device->backend->name, key);
	snprintf(device->notes[device->note_count].value, sizeof device->notes->value, "%s", value);
	if (brick_enabled() && device->serial == brick__on)
		brick_note(device->notes[device->note_count].key, "%s", value);
	device->note_count++;
}

/* ---- its clock ---- */

static uint32_t read_clock(
	struct brick_device *device, struct brick_reading *readings, uint32_t count)
{
	uint32_t got = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct brick_reading *r = &readings[got];
		int error = brick__call_correlate(device, r);
		if (error == -ENOTSUP)
			return 0;
		got += !error && r->after_ns >= r->before_ns;
	}
	return got;
}

void brick__device_correlate(struct brick_device *device, uint32_t count)
{
	struct brick_reading readings[READINGS_AT_OPEN];

	count = read_clock(device, readings, count < READINGS_AT_OPEN ? count : READINGS_AT_OPEN);
	device->correlated_ns = brick__monotonic_ns();
	if (!count)
		return;
	if (!brick_correlation_add(&device->correlation, readings, count)) {
		device->clock_failures = 0;
	} else if (++device->clock_failures == MAX_CLOCK_FAILURES) {
		brick_correlation_init(&device->correlation);
		brick_correlation_add(&device->correlation, readings, count);
		device->clock_failures = 0;
		keep_note(device, "clock", "it ran back and was begun anew");
	}
}

static void correlate_now_and_then(struct brick_device *device)
{
	uint64_t age = brick__monotonic_ns() - device->correlated_ns;

	if (age >= brick_correlation_period_ns(&device->correlation, CORRELATE_NS))
		brick__device_correlate(device, READINGS);
}

/*
 * How far off its times may be, also those that a line placed which a better reading has replaced
 * since: told when they have come, and again when it has grown by half.
 */
static void note_residual(struct brick_device *device)
{
	uint64_t residual = device->correlation.residual_ns;

	if (device->placed_ns > residual)
		residual = device->placed_ns;
	char key[sizeof device->notes->key];

	if (!brick_enabled() || device->serial != brick__on || !device->correlation.count ||
		(device->noted_ns && residual < device->noted_ns + device->noted_ns / 2))
		return;
	snprintf(key, sizeof key, "%.15s.clock", device->backend->name);
	brick_note(key, "of the program's bricks: residual %llu ns", (unsigned long long)residual);
	device->noted_ns = residual;
}

/* ---- open and close ---- */

static void free_device(struct brick_device *device)
{
	if (!device)
		return;
	members_free(device, pairs, commands, depths);
	free(device);
}

static struct brick_device *make_device(const struct brick_backend *backend, uint32_t pairs)
{
	struct brick_device *device = calloc(1, sizeof *device);

	if (!device)
		return NULL;
	device->backend = backend;
	device->claim = backend->size >= BRICK__BACKEND_MIN_BYTES + sizeof backend->claim
				? backend->claim
				: NULL;
	device->pair_count = pairs;
	device->pairs = calloc(pairs, sizeof *device->pairs);
	device->commands = calloc(pairs, sizeof(struct brick_command *));
	device->depths = calloc(pairs, 1);
	if (!device->pairs || !device->commands || !device->depths) {
		free_device(device);
		return NULL;
	}
	device->free = 0;
	for (uint32_t i = 0; i < pairs; i++)
		device->pairs[i].next = i + 1 < pairs ? i + 1 : BRICK__NO_PAIR;
	brick_correlation_init(&device->correlation);
	return device;
}

static int open_backend(struct brick_device *device, const struct brick_backend_options *options,
	char *reason, size_t bytes)
{
	const struct brick_backend_host host = {
		.size = sizeof host,
		.context = device,
		.complete = brick__device_complete,
		.lost = brick__device_lost,
		.note = keep_note,
	};
	brick__backend_enter();
	int error = device->backend->open(&device->handle, &host, options);
	brick__backend_leave();
	if (error < 0)
		return refuse(reason, bytes, error, "%s: it cannot be opened: %s",
			device->backend->name, brick_strerror(error));
	return 0;
}

static int read_options(struct brick_backend_options *o, const struct brick_backend_options *given)
{
	int error = given ? sized_read(o, sizeof *o, given) : 0;

	if (error || o->reserved)
		return error ? error : -EINVAL;
	uint32_t pairs = o->pairs ? o->pairs : DEFAULT_PAIRS;
	o->pairs = pairs < MIN_PAIRS ? MIN_PAIRS : pairs > MAX_PAIRS ? MAX_PAIRS : pairs;
	return 0;
}

int brick_device_open(struct brick_device **out, const struct brick_backend *backend,
	const struct brick_backend_options *options, char *reason, size_t reason_bytes)
{
	struct brick_backend_options o = BRICK_BACKEND_OPTIONS_INIT;
	char why[256] = "";
	int saved = errno;

	if (!backend)
		return refuse(reason, reason_bytes, -EINVAL, "no backend");
	int error = read_options(&o, options);
	if (error)
		return refuse(reason, reason_bytes, error, "options that are not understood");
	if (brick__backend_check(backend, why, sizeof why))
		return refuse(reason, reason_bytes, BRICK_EVERSION, "%s", why);
	brick__backend_enter();
	error = backend->probe(why, sizeof why);
	brick__backend_leave();
	if (error < 0)
		return refuse(reason, reason_bytes, error, "%s: %s", backend->name, why);
	struct brick_device *device = make_device(backend, o.pairs);
	error = device ? open_backend(device, &o, reason, reason_bytes) : -ENOMEM;
	errno = saved;
	if (error) {
		free_device(device);
		return error;
	}
	brick__device_correlate(device, READINGS_AT_OPEN);
	*out = device;
	return 0;
}

struct brick_backend_device *brick_device_backend(struct brick_device *device)
{
	return device->handle;
}

int brick_device_mode_set(struct brick_device *device, enum brick_mode mode)
{
	if ((uint32_t)mode > BRICK_MODE_NONE)
		return -EINVAL;
	device->has_mode = 1;
	device->mode = mode;
	return 0;
}

/* ---- taking home ---- */

static int take_error(struct brick_device *device)
{
	int error = device->error;

	device->error = 0;
	return error;
}

int brick_device_drain(struct brick_device *device)
{
	int saved = errno;

	correlate_now_and_then(device);
	device->recorded = 0;
	int error = brick__call_drain(device);
	brick__device_flush(device);
	device->drained_in_use = device->in_use;
	int earlier = take_error(device);
	errno = saved;
	if (error < 0)
		return error;
	return earlier < 0 ? earlier : (int)device->recorded;
}

static void rest(void)
{
	const struct timespec pause = {.tv_nsec = 200000};
	nanosleep(&pause, NULL);
}

/* Drain until nothing is missing, the device fails or a second has gone. Adds up to *recorded. */
static int drain_patiently(struct brick_device *device, int *recorded)
{
	uint64_t deadline = brick__monotonic_ns() + PATIENCE_NS;

	for (;;) {
		int n = brick_device_drain(device);
		if (n < 0)
			return n;
		*recorded += n;
		uint32_t pending = brick__device_pending(device);
		if (pending <= device->lost || brick__monotonic_ns() >= deadline)
			return 0;
		rest();
	}
}

static uint64_t last_number(const struct brick_device *device)
{
	uint64_t number = 0;

	for (const struct brick__device_queue *q = device->queues; q; q = q->next)
		if (q->last != BRICK__NO_PAIR &&
			device->pairs[q->last].command.launch.number > number)
			number = device->pairs[q->last].command.launch.number;
	return number;
}

int brick_device_finish(struct brick_device *device)
{
	int saved = errno, recorded = 0;
	uint64_t number = last_number(device);
	int failure = number ? brick__device_wait(device, NULL, number)
			     : brick__call_synchronise(device, NULL);
	int error = drain_patiently(device, &recorded);
	brick__device_give_up(device);
	device->recorded = 0;
	brick__device_flush(device);
	note_residual(device);
	recorded += (int)device->recorded;
	errno = saved;
	if (failure < 0)
		return failure;
	return error < 0 ? error : recorded;
}

/* Spans that nobody ended: they were never complete. */
static void abandon_open(struct brick_device *device)
{
	for (struct brick__device_queue *q = device->queues; q; q = q->next)
		while (q->depth) {
			struct brick__pair *pair = &device->pairs[q->open[--q->depth]];
			brick_launch_end(&pair->command.launch);
			brick__queue_unmatched(q->queue, 1);
			pair->state = PAIR_FAILED;
		}
}

void brick_device_close(struct brick_device *device)
{
	int saved = errno, recorded = 0;

	if (!device)
		return;
	abandon_open(device);
	drain_patiently(device, &recorded);
	brick__device_give_up(device);
	brick__device_flush(device);
	note_residual(device);
	brick__backend_enter();
	device->backend->close(device->handle);
	brick__backend_leave();
	brick__timers_orphan(device);
	while (device->queues) {
		struct brick__device_queue *q = device->queues;
		device->queues = q->next;
		brick_queue_destroy(q->queue);
		free(q);
	}
	free_device(device);
	errno = saved;
}
