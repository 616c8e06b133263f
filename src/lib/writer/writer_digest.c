/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Digests in the file: an instant of the run's own track for each. Numbers are annotations that
 * SQL can ask for; the sketch is text, the base64 of its values as little-endian doubles.
 */
#include <errno.h>
#include <string.h>
#include "base/base64.h"
#include "lib/writer/writer_state.h"

static void event_double(struct trace_writer *w, const char *name, double value)
{
	size_t opened = pb_open(&w->packets.scratch, EVENT_ANNOTATIONS);

	pb_string(&w->packets.scratch, ANNOTATION_NAME, name, strlen(name));
	pb_double(&w->packets.scratch, ANNOTATION_DOUBLE, value);
	pb_close(&w->packets.scratch, opened);
}

static void event_list(struct trace_writer *w, const char *name, const uint64_t *values, size_t n)
{
	size_t list = event_array(w, name);

	for (size_t i = 0; i < n; i++)
		event_uint(w, NULL, values[i]);
	event_end_nested(w, list);
}

static void event_sketch(struct trace_writer *w, const double *sketch)
{
	uint8_t bytes[BRICK_DIGEST_BUCKETS * 8];
	char text[(sizeof bytes + 2) / 3 * 4];

	for (size_t i = 0; i < BRICK_DIGEST_BUCKETS; i++) {
		uint64_t bits;
		memcpy(&bits, &sketch[i], sizeof bits);
		for (size_t k = 0; k < 8; k++)
			bytes[i * 8 + k] = (uint8_t)(bits >> (8 * k));
	}
	event_text(w, "sketch", text, (size_t)(base64_write(text, bytes, sizeof bytes) - text));
}

static void event_names(struct trace_writer *w, const struct writer_process *process,
	const struct brick_session_digest *d)
{
	const struct brick_session_site *site = d->site && d->site < process->tables.site_count
							? &process->tables.sites[d->site]
							: NULL;
	const char *label = site && site->label[0] ? site->label : d->label;

	event_text(w, "brick", process->tables.bricks[d->brick].name,
		sizeof process->tables.bricks->name);
	event_int(w, "layer", d->layer);
	if (site && site->operation[0])
		event_text(w, "op", site->operation, sizeof site->operation);
	if (label[0])
		event_text(w, "tensor", label, sizeof d->label);
}

static void event_values(struct trace_writer *w, const struct brick_digest *d)
{
	event_uint(w, "dtype", d->dtype);
	event_uint(w, "flags", d->flags);
	event_list(w, "ne", d->ne, 4);
	if (d->nan_count || d->plus_infinite_count || d->minus_infinite_count) {
		event_uint(w, "nan", d->nan_count);
		event_uint(w, "plus_infinite", d->plus_infinite_count);
		event_uint(w, "minus_infinite", d->minus_infinite_count);
		event_uint(w, "nonfinite", d->nonfinite);
	}
	event_double(w, "min", d->min);
	event_double(w, "max", d->max);
	event_double(w, "sum", d->sum);
	event_double(w, "square_sum", d->square_sum);
	event_uint(w, "fnv64", d->fnv64);
	event_sketch(w, d->sketch);
}

int writer_sink_digest(struct sink *sink, int number, const struct brick_session_digest *digest)
{
	struct trace_writer *w = writer_of(sink);

	const struct writer_process *process = w->processes[number];
	if (digest->brick >= process->tables.brick_count)
		return -EINVAL;
	event_open(w, FORMAT_DIGEST, w->last_ns);
	event_uint(w, "process", (uint64_t)number);
	event_uints(w, digest, ticks, step, tokens);
	event_uint(w, "decode", digest->flags & BRICK_SESSION_DIGEST_DECODE);
	event_names(w, process, digest);
	if (digest->output)
		event_uint(w, "output", digest->output);
	event_list(w, "inputs", digest->inputs, BRICK_DIGEST_INPUTS);
	event_values(w, &digest->digest);
	return event_close(w);
}
