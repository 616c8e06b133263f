/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading: the file, read in pieces, is cut into packets; compressed ones are inflated into more
 * packets. The first error ends it. Called by every command that takes a recording.
 */
#include "trace/load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "brick/error.h"
#include "trace/load_state.h"
#include "trace/prefetch.h"

enum { PIECE_BYTES = 1 << 20, MAX_PACKET_BYTES = 64 << 20 };

/* The bytes at hand of what is being read; `base` is where they stand in the file. */
struct window {
	const uint8_t *data;
	size_t size;
	uint64_t base;
	int last; /* nothing follows them */
};

int load_fail(struct load *l, int code, const char *format, ...)
{
	va_list args;

	if (l->build.result)
		return l->build.result;
	l->build.result = code;
	if (l->error) {
		l->error->offset = l->offset;
		va_start(args, format);
		vsnprintf(l->error->text, sizeof l->error->text, format, args);
		va_end(args);
	}
	return code;
}

/* What a packet of the file holds if it is a compressed one. */
static struct pb_reader compressed(struct pb_reader packet)
{
	struct pb_field f;

	if (pb_next(&packet, &f) > 0 && f.number == PACKET_COMPRESSED && f.wire == PB_LENGTH)
		return f.in;
	return (struct pb_reader){NULL, NULL};
}

/* Where the first packet was that could not be used. */
static void note_damage(struct load *l)
{
	struct run *run = l->build.run;

	if (run->bad_packets && !run->bad_packet_at)
		run->bad_packet_at = l->offset;
}

/* All packets of the oldest chunk that has been handed in. 0: there is none. */
static int read_chunk(struct load *l)
{
	struct pb_reader chunk;
	struct pb_field f;
	uint64_t offset = l->offset;
	int more = 0, inflated;

	if (!prefetch_take(l->prefetch, &chunk, &inflated, &l->offset))
		return 0;
	if (inflated < 0)
		build_no_memory(&l->build);
	while (!l->build.result && inflated > 0 &&
		(load_memo_packets(l, &chunk), more = pb_next(&chunk, &f)) > 0)
		if (f.number == TRACE_PACKET && f.wire == PB_LENGTH)
			load_packet(l, f.in);
	if (!inflated || more < 0)
		l->build.run->bad_packets++;
	note_damage(l);
	prefetch_release(l->prefetch);
	l->offset = offset;
	return !l->build.result;
}

static void read_packet(struct load *l, struct pb_reader packet)
{
	struct pb_reader packed = compressed(packet);

	if (!packed.at) {
		while (read_chunk(l))
			;
		if (!l->build.result)
			load_packet(l, packet);
		note_damage(l);
		return;
	}
	if (prefetch_is_full(l->prefetch))
		read_chunk(l);
	if (!l->build.result && !prefetch_add(l->prefetch, packed, l->offset))
		build_no_memory(&l->build);
}

/*
 * Read the whole packets of a window. Returns how many bytes they take. *wanted: how many bytes
 * the window should have to go on, 0 when what follows cannot be a packet.
 */
static size_t read_window(struct load *l, const struct window *w, size_t *wanted)
{
	const uint8_t *at = w->data, *end = w->data + w->size;

	*wanted = w->size + 1;
	while (at < end && !l->build.result) {
		uint64_t tag, size;
		const uint8_t *body = pb_read_varint(at, end, &tag);
		l->offset = w->base + (uint64_t)(at - w->data);
		if (body && tag != PB_TAG(TRACE_PACKET, PB_LENGTH)) {
			*wanted = 0;
			break;
		}
		body = body ? pb_read_varint(body, end, &size) : NULL;
		if (body && size > MAX_PACKET_BYTES) {
			*wanted = 0;
			break;
		}
		if (!body || size > (uint64_t)(end - body)) {
			*wanted = body ? (size_t)(body - at) + (size_t)size : 32;
			break;
		}
		read_packet(l, (struct pb_reader){body, body + size});
		at = body + size;
	}
	return (size_t)(at - w->data);
}

/* What is left when no further packet can be read. */
static void stop_at(struct load *l, uint64_t offset, uint64_t file_bytes)
{
	while (read_chunk(l))
		;
	l->offset = offset;
	l->build.run->truncated_bytes = file_bytes - offset;
	l->build.run->truncated_at = offset;
	if (l->build.run->truncated_bytes)
		l->build.run->complete = 0;
	if (!l->is_brick && !l->build.result)
		load_fail(l, BRICK_EFORMAT,
			!file_bytes			 ? "the file is empty"
			: offset < file_bytes && !offset ? "not a Perfetto trace"
							 : "a trace, but none of Brick's");
}

static int load_create(struct load *l, const char *name, struct load_error *error)
{
	memset(l, 0, sizeof *l);
	l->error = error;
	if (error)
		memset(error, 0, sizeof *error);
	if (build_init(&l->build, name))
		return l->build.result;
	l->prefetch = prefetch_create();
	return l->prefetch ? 0 : build_no_memory(&l->build);
}

/* Hands the run over, or destroys it after an error. */
static int load_destroy(struct load *l, struct run **out)
{
	if (l->build.result && l->error && !l->error->text[0]) {
		l->error->offset = l->offset;
		snprintf(l->error->text, sizeof l->error->text, "%s",
			l->build.result == -ENOMEM ? "not enough memory"
						   : strerror(-l->build.result));
	}
	free(l->counters);
	free(l->flow_bases);
	load_packets_fini(l);
	load_values_fini(l);
	prefetch_destroy(l->prefetch);
	return build_fini(&l->build, out);
}

int run_load_memory(struct run **out, const void *data, size_t bytes, const char *name,
	struct load_error *error)
{
	struct load l;
	struct window window = {data, bytes, 0, 1};
	size_t wanted;

	if (!load_create(&l, name, error)) {
		stop_at(&l, read_window(&l, &window, &wanted), bytes);
		if (!l.build.result)
			build_finish(&l.build);
	}
	return load_destroy(&l, out);
}

/* A buffer over a file: what has been read and not been used yet. */
struct file {
	int descriptor;
	uint8_t *data;
	size_t size, capacity;
	uint64_t base;
	int ended;
};

static uint64_t read_bytes; /* of all files */

uint64_t run_load_read_bytes(void)
{
	return __atomic_load_n(&read_bytes, __ATOMIC_RELAXED);
}

/* Have at least `wanted` bytes, or all there are. */
static int file_fill(struct load *l, struct file *f, size_t wanted)
{
	if (wanted > f->capacity) {
		size_t capacity = wanted + PIECE_BYTES;
		uint8_t *data = realloc(f->data, capacity);
		if (!data)
			return build_no_memory(&l->build);
		f->data = data;
		f->capacity = capacity;
	}
	while (f->size < wanted && !f->ended) {
		ssize_t n = read(f->descriptor, f->data + f->size, f->capacity - f->size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return load_fail(l, -errno, "%s", strerror(errno));
		f->size += (size_t)n;
		f->ended = !n;
		__atomic_add_fetch(&read_bytes, (uint64_t)n, __ATOMIC_RELAXED);
	}
	return 0;
}

/* Count what lies behind the last packet that could be read. */
static uint64_t file_bytes(struct load *l, struct file *f)
{
	uint64_t rest = f->base + f->size;
	ssize_t n;

	while (!f->ended && (n = read(f->descriptor, f->data, f->capacity))) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			load_fail(l, -errno, "%s", strerror(errno));
			break;
		}
		rest += (uint64_t)n;
	}
	return rest;
}

static void load_file(struct load *l, struct file *f)
{
	size_t wanted = PIECE_BYTES;

	for (;;) {
		size_t had = f->size;
		if (file_fill(l, f, wanted) || (f->size == had && f->ended))
			break;
		struct window window = {f->data, f->size, f->base, f->ended};
		size_t used = read_window(l, &window, &wanted);
		memmove(f->data, f->data + used, f->size - used);
		f->size -= used;
		f->base += used;
		if (l->build.result || !wanted)
			break;
	}
	uint64_t offset = f->base;
	stop_at(l, offset, file_bytes(l, f));
	if (!l->build.result)
		build_finish(&l->build);
}

/* PATH, or PATH.part when only that exists. *name: which one; the caller frees it. */
static int open_either(const char *path, char **name, struct load_error *error)
{
	int descriptor = open(path, O_RDONLY | O_CLOEXEC), saved = errno;

	*name = malloc(strlen(path) + sizeof ".part");
	if (!*name) {
		if (descriptor >= 0)
			close(descriptor);
		return -ENOMEM;
	}
	strcpy(*name, path);
	if (descriptor < 0 && saved == ENOENT) {
		strcat(*name, ".part");
		descriptor = open(*name, O_RDONLY | O_CLOEXEC);
	}
	if (descriptor >= 0)
		return descriptor;
	if (error) {
		error->offset = 0;
		snprintf(error->text, sizeof error->text, "%s", strerror(saved));
	}
	return -saved;
}

int run_load(struct run **out, const char *path, struct load_error *error)
{
	return run_load_within(out, path, SAMPLE_STORE_BYTES, error);
}

int run_load_within(
	struct run **out, const char *path, size_t sample_bytes, struct load_error *error)
{
	struct load l;
	struct file file = {0};
	SCOPED char *name = NULL;

	file.descriptor = open_either(path, &name, error);
	if (file.descriptor < 0)
		return file.descriptor;
	if (!load_create(&l, name, error)) {
		l.build.store.budget = sample_bytes;
		load_file(&l, &file);
	}
	close(file.descriptor);
	free(file.data);
	return load_destroy(&l, out);
}
