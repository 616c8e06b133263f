/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressing and reading a recording of ten million samples (or as many as the argument says): the
 * writer's deflater against libdeflate's fastest level, on the same packets. Rounds take turns; the
 * bench prints medians of CPU time. libdeflate inflates both.
 */
#include <fcntl.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "bench/trace_demo.h"
#include "format/perfetto.h"
#include "base/pb_read.h"

enum { ROUNDS = 5, MAX_CHUNKS = 1 << 20, CHUNK_BYTES = 1 << 20 };

struct chunk {
	const uint8_t *packed;
	size_t packed_bytes;
	uint8_t *plain;
	size_t plain_bytes;
};

static struct chunk chunks[MAX_CHUNKS];
static size_t chunk_count;

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof *values, by_value);
	return values[ROUNDS / 2];
}

/* The compressed packets of the file at `path`, which stays mapped. */
static int find_chunks(const char *path)
{
	struct stat status;
	int descriptor = open(path, O_RDONLY);

	if (descriptor < 0 || fstat(descriptor, &status))
		return -1;
	const void *data =
		mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
	close(descriptor);
	if (data == MAP_FAILED)
		return -1;
	struct pb_reader file = pb_reader(data, (size_t)status.st_size);
	struct pb_field packet, field;
	while (pb_next(&file, &packet) > 0 && chunk_count < MAX_CHUNKS) {
		if (pb_next(&packet.in, &field) <= 0 || field.number != PACKET_COMPRESSED)
			continue;
		struct chunk *c = &chunks[chunk_count++];
		*c = (struct chunk){field.in.at, pb_size(field.in), malloc(CHUNK_BYTES), 0};
		if (!c->plain)
			return -1;
	}
	return 0;
}

static double inflate_all(struct libdeflate_decompressor *d)
{
	double start = demo_cpu_seconds();

	for (size_t i = 0; i < chunk_count; i++) {
		struct chunk *c = &chunks[i];
		if (libdeflate_zlib_decompress(
			    d, c->packed, c->packed_bytes, c->plain, CHUNK_BYTES, &c->plain_bytes))
			abort();
	}
	return demo_cpu_seconds() - start;
}

static double deflate_all(struct libdeflate_compressor *compressor, uint64_t *bytes)
{
	static uint8_t out[2 * CHUNK_BYTES];
	double start = demo_cpu_seconds();

	*bytes = 0;
	for (size_t i = 0; i < chunk_count; i++)
		*bytes += libdeflate_zlib_compress(
			compressor, chunks[i].plain, chunks[i].plain_bytes, out, sizeof out);
	return demo_cpu_seconds() - start;
}

static double write_demo(const char *path, uint64_t samples, int compress, struct demo_result *r)
{
	static struct demo demo;

	demo_init(&demo, DEMO_LAYERS);
	if (demo_write(&demo, path, 1, samples, 0, compress, r))
		abort();
	return r->cpu_seconds;
}

int main(int argc, char **argv)
{
	uint64_t samples = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000, bytes = 0;
	double own[ROUNDS], plain[ROUNDS], lib[ROUNDS], inflate[ROUNDS];
	struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(1);
	struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
	struct demo_result result, without;
	char path[64], plain_path[64];

	snprintf(path, sizeof path, "bench-deflate-%d.pftrace", (int)getpid());
	snprintf(plain_path, sizeof plain_path, "bench-plain-%d.pftrace", (int)getpid());
	write_demo(path, samples, 1, &result);
	if (!compressor || !decompressor || find_chunks(path))
		return 1;
	unlink(path);
	for (int i = 0; i < ROUNDS; i++) {
		own[i] = write_demo(path, samples, 1, &result);
		plain[i] = write_demo(plain_path, samples, 0, &without);
		inflate[i] = inflate_all(decompressor);
		lib[i] = deflate_all(compressor, &bytes);
		unlink(path);
		unlink(plain_path);
	}
	double pairs = (double)result.pairs, p = median(plain) / pairs * 1e9;
	double o = median(own) / pairs * 1e9;
	printf("encoding and writing, plain: %.1f ns, %.2f bytes a pair\n", p,
		(double)without.bytes / pairs);
	printf("with the writer's deflater:  %.1f ns (%.1f more), %.2f bytes a pair\n", o, o - p,
		(double)result.bytes / pairs);
	printf("libdeflate, level 1:         %.1f ns more, %.2f bytes a pair\n",
		median(lib) / pairs * 1e9, (double)bytes / pairs);
	printf("libdeflate inflates it in %.3f s\n", median(inflate));
	libdeflate_free_compressor(compressor);
	libdeflate_free_decompressor(decompressor);
	return 0;
}
