/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where packets go: into the chunk, from there (compressed) to the file. The file always consists
 * of whole packets. The first error is kept; after it nothing is written any more.
 */
#include "trace/writer_state.h"

#include <errno.h>
#include <string.h>

int writer_fail(struct trace_writer *w, int error)
{
	if (!w->error)
		w->error = error;
	return w->error;
}

static int write_all(struct trace_writer *w, const uint8_t *data, size_t size)
{
	int error = w->output ? w->output(w->output_context, data, size)
			      : part_file_write(w->file, data, size);

	if (error < 0)
		return writer_fail(w, error);
	w->bytes += size;
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
	/* what was before is out of reach of what comes */
	w->chunk_place += w->chunk_size + DEFLATE_WINDOW;
	w->chunk_size = 0;
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
	uint32_t at = (uint32_t)w->chunk_size;
	memcpy(w->chunk + at, b->data, size);
	w->chunk_size += size;
	if (w->deflater)
		deflate_add(
			w->deflater, (uint32_t)w->chunk_size, at, DEFLATE_UNKNOWN, DEFLATE_UNKNOWN);
	return 0;
}

int writer_finish(struct trace_writer *w)
{
	int result = w->error;

	if (result)
		part_file_leave(w->file);
	else if (w->file)
		result = part_file_finish(w->file);
	w->file = NULL;
	return result;
}
