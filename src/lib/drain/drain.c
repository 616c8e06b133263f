/* SPDX-License-Identifier: Apache-2.0 */
/* A consumer comes and goes (drain.h). */
#include "lib/drain/drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "lib/drain/drain_state.h"

static int open_session(
	struct drain **out, int fd, int view, const struct drain_guard *guard, const char **why)
{
	struct drain *d = calloc(1, sizeof *d);

	*why = "out of memory";
	if (!d)
		return -ENOMEM;
	d->process = -1;
	drain_tables_init(&d->tables);
	int error = drain_map_open(&d->map, fd, view, guard, why);
	if (error) {
		free(d);
		return error;
	}
	*out = d;
	return 0;
}

int drain_open(struct drain **out, int fd, const struct drain_guard *guard, const char **why)
{
	return open_session(out, fd, 0, guard, why);
}

int drain_open_view(struct drain **out, int fd, const struct drain_guard *guard, const char **why)
{
	return open_session(out, fd, 1, guard, why);
}

void drain_close(struct drain *d)
{
	if (!d)
		return;
	drain_histograms_fini(&d->histograms);
	drain_off_cpu_fini(&d->off_cpu);
	drain_schedule_fini(&d->schedule);
	drain_tables_fini(&d->tables);
	drain_map_close(&d->map);
	free(d);
}

const struct brick_session_header *drain_header(const struct drain *d)
{
	return &d->map.header;
}

struct trace_writer_options drain_title(
	const struct drain *d, struct drain_title *title, const char *path)
{
	const struct brick_session_header *h = &d->map.header;
	size_t count = 0, most = sizeof title->command / sizeof title->command[0] - 1;

	for (uint32_t at = 0; at < h->command_bytes && count < most;) {
		title->command[count++] = h->command + at;
		at += (uint32_t)strlen(h->command + at) + 1;
	}
	title->command[count] = NULL;
	file_field("/proc/cpuinfo", "model name", title->cpu, sizeof title->cpu);
	return (struct trace_writer_options){
		.path = path,
		.start_unix_ns = h->start_unix_ns,
		.start_ns = h->start_ns,
		.command = title->command,
		.host = h->host,
		.cpu = title->cpu[0] ? title->cpu : NULL,
	};
}

uint32_t drain_state(const struct drain *d, uint64_t *end_ticks)
{
	const struct brick_session_header *shared = d->map.shared;
	uint32_t state = __atomic_load_n(&shared->state, __ATOMIC_ACQUIRE);

	*end_ticks = __atomic_load_n(&shared->end_ticks, __ATOMIC_RELAXED);
	return state;
}

const char *drain_fault(const struct drain *d)
{
	return drain_map_fault(&d->map);
}

void drain_fault_set(struct drain *d, const char *text)
{
	drain_map_fault_set(&d->map, text);
}

uint64_t drain_ticks(const struct drain *d)
{
	const struct brick_clock *clock = &d->map.header.clock;

	return brick_ticks() - (clock->source == BRICK_CLOCK_MONOTONIC ? clock->base_ns : 0);
}

uint32_t drain_lanes(struct drain *d)
{
	return drain_map_lanes(&d->map);
}

int drain_lane_is_missing(const struct drain *d)
{
	return d->map.lane_is_missing;
}

uint32_t drain_digest_level(struct drain *d)
{
	return drain_digests_level(&d->digests, &d->map);
}

void drain_watch_threads(struct drain *d, uint32_t interval_ms)
{
	drain_schedule_look(&d->schedule, &d->map, interval_ms);
}

void drain_threads_account(const struct drain *d, struct off_cpu_account *account)
{
	drain_schedule_add(&d->schedule, account);
}
