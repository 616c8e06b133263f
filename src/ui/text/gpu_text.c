/* SPDX-License-Identifier: Apache-2.0 */
/* All views say the same words, which are in this file alone. */
#include "ui/text/gpu_text.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/unknown.h"
#include "base/number.h"
#include "ui/text/text.h"

enum { CAUSES_SHOWN = 3 };
static const double LEAST = 0.05; /* a smaller part of the idle time is not worth words */

static const char *const gpu_causes[GPU_IDLE_CAUSES] = {
	[GPU_IDLE_BETWEEN] = "the host between operators",
	[GPU_IDLE_WORK] = "the host's own work",
	[GPU_IDLE_ALLOCATION] = "allocation of memory",
	[GPU_IDLE_WAIT] = "the host waited",
	[GPU_IDLE_LOADER] = "the data loader",
	[GPU_IDLE_COMPILATION] = "compilation or loading of kernels",
	[GPU_IDLE_LOCK] = "another thread had the interpreter's lock",
	[GPU_IDLE_PREEMPTED] = "the host's thread was preempted",
	[GPU_IDLE_TRANSFER] = "transfers were set up",
	[GPU_IDLE_COLLECTIVE] = "collectives were set up",
	[GPU_IDLE_DEPENDENCY] = "another queue's work had to end",
	[GPU_IDLE_LAUNCH] = "launch latency",
	[GPU_IDLE_REPLAY] = "gaps inside of a graph's replay",
	[GPU_IDLE_NOTHING] = "nothing to do",
	[GPU_IDLE_UNKNOWN] = "launches that are not recorded",
};

const char *gpu_idle_words(enum gpu_idle_cause cause)
{
	return gpu_causes[cause];
}

char *gpu_label(const struct run *run, const struct gpu *gpu)
{
	const char *name = gpu_name(run, gpu);

	if (name)
		return text_copy(name);
	const char *backend = *gpu->backend ? gpu->backend : "GPU";
	return gpu->number ? text_format("%s device %u", backend, gpu->number - 1)
			   : text_copy(backend);
}

uint64_t gpu_bytes(const struct run *run, const struct gpu *gpu, const char *what)
{
	const char *note = gpu_note(run, gpu, what), *end;
	uint64_t bytes;

	return note && !number_leading_u64(note, &bytes, &end) && !*end ? bytes : ANALYSIS_UNKNOWN;
}

char *gpu_busy_text(const struct run *run, const struct gpu *gpu, const struct gpu_time *time)
{
	char share[UNITS_BYTES], wall[UNITS_BYTES], idle[UNITS_BYTES], part[UNITS_BYTES],
		bytes[UNITS_BYTES];
	uint64_t memory = gpu_bytes(run, gpu, "memory"), peak = gpu_bytes(run, gpu, "memory_peak");
	double wall_ns = (double)time->wall_ns;

	if (!time->wall_ns)
		return NULL;
	char *text =
		text_format("busy %s of %s", units_percent(share, (double)time->busy_ns / wall_ns),
			units_time(wall, time->wall_ns));
	char *between = " (";
	if ((double)time->alone_ns[GPU_COLLECTIVE] >= LEAST / 5 * wall_ns) {
		text_append(&text, between, "%s only collectives",
			units_percent(part, (double)time->alone_ns[GPU_COLLECTIVE] / wall_ns));
		between = ", ";
	}
	if ((double)time->alone_ns[GPU_TRANSFER] >= LEAST / 5 * wall_ns) {
		text_append(&text, between, "%s only transfers",
			units_percent(part, (double)time->alone_ns[GPU_TRANSFER] / wall_ns));
		between = ", ";
	}
	text_append(&text, "", "%s, idle %s", *between == ',' ? ")" : "",
		units_time(idle, time->idle_ns));
	if (peak != ANALYSIS_UNKNOWN)
		text_append(&text, "; ", "at most %s allocated", units_bytes(bytes, peak));
	if (memory != ANALYSIS_UNKNOWN)
		text_append(&text, peak != ANALYSIS_UNKNOWN ? " of " : "; ", "%s%s",
			units_bytes(bytes, memory), peak != ANALYSIS_UNKNOWN ? "" : " of memory");
	return text;
}

char *gpu_idle_text(const struct run *run, const struct gpu_time *time)
{
	bool told[GPU_IDLE_CAUSES] = {false};
	char share[UNITS_BYTES], *text = NULL;

	for (int i = 0; i < CAUSES_SHOWN && time->idle_ns; i++) {
		int most = 0;
		for (int cause = 1; cause < GPU_IDLE_CAUSES; cause++)
			if (told[most] ||
				(!told[cause] && time->idle_of_ns[cause] > time->idle_of_ns[most]))
				most = cause;
		double part = (double)time->idle_of_ns[most] / (double)time->idle_ns;
		if (part < LEAST || told[most])
			break;
		told[most] = true;
		text_append(&text, ", ", "%s %s", units_percent(share, part), gpu_causes[most]);
		if (time->most[most] != RUN_NONE &&
			time->most_ns[most] * 5 > time->idle_of_ns[most])
			text_append(&text, " ", "(most in %s)", run->bricks[time->most[most]].name);
	}
	return text;
}

char *collective_text(const struct run *run, const struct collective *c, uint64_t steps)
{
	char time[UNITS_BYTES], bytes[UNITS_BYTES], share[UNITS_BYTES], number[UNITS_BYTES],
		bus[UNITS_BYTES];
	char *text = text_copy(run->bricks[c->brick].name);

	if (c->group)
		text_append(&text, ", ", "%s", c->group);
	text_append(&text, ": ", "%s", units_count(number, c->count));
	if (steps > 1)
		text_append(&text, " ", "(%s a step)",
			units_number(number, (double)c->count / (double)steps));
	text_append(&text, " of ", "%s", units_time(time, c->time_ns / c->count));
	if (c->bytes)
		text_append(&text, ", ", "%s each, %s GB/s",
			units_bytes(bytes, c->bytes / c->count),
			units_number(number, c->bytes_per_s / 1e9));
	if (c->bus_bytes_per_s >= 0)
		text_append(&text, " ", "(bus %s)", units_number(bus, c->bus_bytes_per_s / 1e9));
	text_append(&text, "; ", "%s exposed",
		units_percent(share, known_ratio(c->exposed_ns, c->time_ns)));
	if (steps)
		text_append(&text, ", ", "%s a step", units_time(time, c->exposed_ns / steps));
	if (c->waiter != RUN_NONE)
		text_append(&text, ", ", "most before %s", run->bricks[c->waiter].name);
	return text;
}
