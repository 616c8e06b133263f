/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread reads all sources at its times; the recorder's thread takes the readings away. A
 * driver may never answer, so the recorder waits for a thread for a second at most: then the thread
 * owns the meter, and frees it if it ends.
 */
#include "record/energy_meter.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/clock_ns.h"
#include "base/lock.h"
#include "base/scope.h"
#include "base/thread.h"
#include "record/energy_nvml.h"
#include "record/energy_sources.h"

enum {
	EVERY_NS = 50000000,
	STOP_WAIT_NS = 1000000000,
	MOST_READINGS = 1 << 16, /* that wait: as many as a recorder that is stuck leaves */
};

struct energy_meter {
	struct energy_sources sources; /* the thread's while it runs */
	pthread_t thread;
	bool is_of_gpus;
	pthread_mutex_t lock;
	pthread_cond_t change; /* is_stopping or has_ended */
	/* under the lock */
	bool is_stopping, has_ended, is_abandoned;
	ARRAY(struct sink_energy) readings;
};

static void meter_note(struct energy_meter *m, const struct energy_source *source)
{
	struct sink_energy reading = {.ns = source->ns, .uj = (uint64_t)source->uj};

	strcpy(reading.source, source->name);
	pthread_mutex_lock(&m->lock);
	if (m->readings.count < MOST_READINGS)
		(void)array_push(&m->readings, reading);
	pthread_mutex_unlock(&m->lock);
}

/* A source that cannot be read any more is given up: its last reading stays its last. */
static void meter_read(struct energy_meter *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->sources.list.count; i++) {
		struct energy_source *source = &m->sources.list.items[i];
		if (!energy_source_read(source)) {
			energy_source_close(source);
			continue;
		}
		meter_note(m, source);
		m->sources.list.items[kept++] = *source;
	}
	m->sources.list.count = kept;
}

static void meter_free(struct energy_meter *m)
{
	energy_sources_close(&m->sources);
	pthread_cond_destroy(&m->change);
	pthread_mutex_destroy(&m->lock);
	array_fini(&m->readings);
	free(m);
}

/* Waits under the lock. False: the time has come, and nothing changed. */
static bool meter_wait(struct energy_meter *m, uint64_t until_ns)
{
	const struct timespec until = {
		(time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000)};

	return !pthread_cond_timedwait(&m->change, &m->lock, &until);
}

static void *meter_run(void *argument)
{
	struct energy_meter *m = argument;
	uint64_t next_ns = monotonic_ns();
	bool stops = false;

	pthread_setname_np(pthread_self(), "brick-energy");
	if (m->is_of_gpus)
		energy_nvml_add(&m->sources);
	for (size_t i = 0; i < m->sources.list.count; i++)
		meter_note(m, &m->sources.list.items[i]);
	while (!stops && m->sources.list.count) {
		next_ns += EVERY_NS;
		pthread_mutex_lock(&m->lock);
		while (!m->is_stopping && meter_wait(m, next_ns))
			;
		stops = m->is_stopping;
		pthread_mutex_unlock(&m->lock);
		meter_read(m);
		uint64_t now_ns =
			monotonic_ns(); /* after a pause of the machine, times begin anew */
		next_ns = now_ns > next_ns + EVERY_NS ? now_ns : next_ns;
	}
	pthread_mutex_lock(&m->lock);
	m->has_ended = true;
	pthread_cond_signal(&m->change);
	bool is_abandoned = m->is_abandoned;
	pthread_mutex_unlock(&m->lock);
	if (is_abandoned)
		meter_free(m);
	return NULL;
}

/* Takes the sources, also on failure. */
static int meter_start_with(
	struct energy_meter **out, const struct energy_sources *sources, bool is_of_gpus)
{
	struct energy_meter *m = calloc(1, sizeof(*m));
	struct energy_sources lost = *sources;
	pthread_condattr_t monotonic;

	if (!m) {
		energy_sources_close(&lost);
		return -ENOMEM;
	}
	m->sources = *sources;
	m->is_of_gpus = is_of_gpus;
	pthread_mutex_init(&m->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&m->change, &monotonic);
	pthread_condattr_destroy(&monotonic);
	int error = thread_start(&m->thread, NULL, 0, meter_run, m);
	if (error) {
		meter_free(m);
		return error;
	}
	*out = m;
	return 0;
}

int energy_meter_start(
	struct energy_meter **out, const char *root, char refused[SINK_ENERGY_REFUSED])
{
	struct energy_sources sources;
	int error = energy_sources_open(&sources, root);

	strcpy(refused, sources.refused);
	return error ? error : meter_start_with(out, &sources, false);
}

int energy_meter_start_gpus(struct energy_meter **out)
{
	return meter_start_with(out, &(struct energy_sources){0}, true);
}

/* Moves all readings; the caller frees them. */
static size_t meter_take(struct energy_meter *m, struct sink_energy **readings)
{
	pthread_mutex_lock(&m->lock);
	size_t count = m->readings.count;
	*readings = m->readings.items;
	m->readings.items = NULL;
	m->readings.count = m->readings.capacity = 0;
	pthread_mutex_unlock(&m->lock);
	return count;
}

void energy_meter_turn(struct energy_meter *m, struct encoder *e, bool is_off)
{
	SCOPED struct sink_energy *readings = NULL;
	size_t count = meter_take(m, &readings);

	for (size_t i = 0; i < count && !is_off; i++)
		(void)encoder_energy(e, &readings[i]);
}

/* Waits for the thread's last readings, once. */
static void meter_stop(struct energy_meter *m)
{
	uint64_t until_ns = monotonic_ns() + STOP_WAIT_NS;

	pthread_mutex_lock(&m->lock);
	bool waits = !m->is_stopping;
	m->is_stopping = true;
	pthread_cond_signal(&m->change);
	while (waits && !m->has_ended && meter_wait(m, until_ns))
		;
	pthread_mutex_unlock(&m->lock);
}

void energy_meter_finish(struct energy_meter *m, struct trace_writer *w)
{
	SCOPED struct sink_energy *readings = NULL;

	meter_stop(m);
	size_t count = meter_take(m, &readings);
	for (size_t i = 0; i < count; i++)
		sink_energy(w, &readings[i]);
}

void energy_meter_destroy(struct energy_meter *m)
{
	if (!m)
		return;
	meter_stop(m);
	pthread_mutex_lock(&m->lock);
	const pthread_t thread = m->thread;
	bool has_ended = m->has_ended;
	m->is_abandoned = !has_ended;
	pthread_mutex_unlock(&m->lock);
	if (!has_ended) {
		pthread_detach(thread);
		return;
	}
	pthread_join(thread, NULL);
	meter_free(m);
}
