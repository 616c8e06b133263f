/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where packets go: into the chunk, from there (compressed) to PATH.part, at last renamed to PATH.
 * The file always consists of whole packets up to the last write that succeeded. The first error
 * is kept; after it nothing is written any args.
 */
#include "trace/writer_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int writer_fail(struct trace_writer *w, int error)
{
	if (!w->error)
		w->error = error;
	return w->error;
}

int writer_open(struct trace_writer *w, const char *path)
{
	size_t length = strlen(path);

	w->path = malloc(length + 1);
	w->part = malloc(length + sizeof ".part");
	if (!w->path || !w->part)
		return -ENOMEM;
	memcpy(w->path, path, length + 1);
	memcpy(w->part, path, length);
	memcpy(w->part + length, ".part", sizeof ".part");
	w->descriptor = open(w->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	return w->descriptor < 0 ? -errno : 0;
}

static int write_all(struct trace_writer *w, const uint8_t *data, size_t size)
{
	if (w->output) {
		int error = w->output(w->output_context, data, size);
		w->bytes += size;
		return error < 0 ? writer_fail(w, error) : 0;
	}
	while (size) {
		ssize_t n = write(w->descriptor, data, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return writer_fail(w, n < 0 ? -errno : -EIO);
		data += n;
		size -= (size_t)n;
		w->bytes += (uint64_t)n;
	}
	return 0;
}

static int write_compressed(struct trace_writer *w)
{
	struct pb_buffer *b = &w->packed;

	b->size = 0;
	size_t packet = pb_open(b, TRACE_PACKET);
	size_t field = pb_open(b, PACKET_COMPRESSED);
	deflate_finish(w->deflater, b);
	pb_close(b, field);
	pb_close(b, packet);
	if (b->failed)
		return writer_fail(w, -ENOMEM);
	return write_all(w, b->data, b->size);
}

int writer_chunk_out(struct trace_writer *w)
{
	if (w->error || !w->chunk_size)
		return w->error;
	int result = w->deflater ? write_compressed(w) : write_all(w, w->chunk, w->chunk_size);
	w->chunk_size = 0;
	w->chunk_number++;
	if (w->deflater)
		deflate_start(w->deflater, w->chunk);
	return result;
}

/* What does not fit into a chunk beside others goes to the file as it is. */
int writer_packet_out(struct trace_writer *w)
{
	struct pb_buffer *b = &w->scratch;
	size_t size = b->size;

	if (b->failed)
		writer_fail(w, -ENOMEM);
	b->size = 0;
	if (w->error)
		return w->error;
	if (w->chunk_size + size > CHUNK_BYTES && writer_chunk_out(w))
		return w->error;
	if (size > CHUNK_BYTES)
		return write_all(w, b->data, size);
	memcpy(w->chunk + w->chunk_size, b->data, size);
	w->chunk_size += size;
	if (w->deflater)
		deflate_packet(w->deflater, (uint32_t)w->chunk_size, DEFLATE_UNKNOWN, 0);
	return 0;
}

static void remove_part(struct trace_writer *w)
{
	if (w->part && w->descriptor >= 0)
		unlink(w->part);
}

/* keep: under the final name. */
int writer_close(struct trace_writer *w, int keep)
{
	int result = w->error;

	if (!keep || result)
		remove_part(w);
	if (w->descriptor >= 0 && close(w->descriptor) && keep && !result) {
		result = -errno;
		remove_part(w);
	}
	if (keep && !result && !w->output && rename(w->part, w->path)) {
		result = -errno;
		remove_part(w);
	}
	w->descriptor = -1;
	return result;
}
