// SPDX-License-Identifier: Apache-2.0
//
// The reader. It goes over the bytes once, front to back; take() is the only place that moves, and
// never beyond the end. After the first error it yields zeros and moves no more.
#include "gguf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { U32 = 4, F32 = 6, STRING = 8, ARRAY = 9, TYPES = 13 };
static const uint8_t value_bytes[TYPES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

int gguf_fail(struct gguf *file, uint64_t offset, const char *format, ...)
{
	va_list args;
	int n;

	if (file->failed)
		return -1;
	file->failed = true;
	n = snprintf(file->why, sizeof(file->why), "%.100s: offset %llu: ", file->path,
		(unsigned long long)offset);
	va_start(args, format);
	vsnprintf(file->why + n, sizeof(file->why) - (size_t)n, format, args);
	va_end(args);
	return -1;
}

static const void *take(struct gguf *file, uint64_t n)
{
	static const char zeros[8];
	const void *bytes = file->bytes + file->at;

	if (file->failed)
		return zeros;
	if (n > file->size - file->at) {
		gguf_fail(file, file->at, "%llu bytes are needed here, the file ends after %zu",
			(unsigned long long)n, file->size - file->at);
		return zeros;
	}
	file->at += (size_t)n;
	return bytes;
}

static uint64_t load(const void *from, size_t n)
{
	const unsigned char *bytes = from;
	uint64_t value = 0;

	for (size_t i = n; i-- > 0;)
		value = value << 8 | bytes[i];
	return value;
}

static uint64_t take_number(struct gguf *file, size_t n)
{
	return load(take(file, n), n);
}

static struct gguf_text take_text(struct gguf *file)
{
	uint64_t size = take_number(file, 8);
	const char *data = take(file, size);

	return (struct gguf_text){data, file->failed ? 0 : (size_t)size};
}

// How many entries of at least `bytes` each follow; no more than there is room for.
static size_t take_count(struct gguf *file, size_t bytes, const char *what)
{
	uint64_t at = file->at, n = take_number(file, 8);

	if (n > (file->size - file->at) / bytes)
		gguf_fail(file, at, "%llu %s do not fit into the file", (unsigned long long)n, what);
	return file->failed ? 0 : (size_t)n;
}

static void take_value(struct gguf *file, struct gguf_pair *pair)
{
	uint64_t at = file->at;

	pair->count = 1;
	pair->type = (uint32_t)take_number(file, 4);
	pair->is_array = pair->type == ARRAY;
	if (pair->is_array)
		pair->type = (uint32_t)take_number(file, 4);
	if (pair->type >= TYPES || pair->type == ARRAY) {
		gguf_fail(file, at, "unknown type of value %u", pair->type);
		return;
	}
	if (pair->is_array)
		pair->count = take_count(
			file, pair->type == STRING ? 8 : value_bytes[pair->type], "items");
	pair->value = file->bytes + file->at;
	if (pair->type != STRING)
		take(file, pair->count * value_bytes[pair->type]);
	for (uint64_t i = 0; pair->type == STRING && i < pair->count && !file->failed; i++)
		take_text(file);
}

uint64_t gguf_row_bytes(uint32_t type, uint64_t cols)
{
	if (type == GGUF_Q8_0)
		return cols / GGUF_Q8_NUMBERS * sizeof(struct gguf_q8_0);
	return cols * (type == GGUF_F16 ? 2 : 4);
}

static int print_length(struct gguf_text text)
{
	return text.size < 64 ? (int)text.size : 64;
}

// Shape and type; the data must be placed when it is known where that begins.
static void take_tensor(struct gguf *file, struct gguf_tensor *tensor)
{
	uint32_t n_dims;

	tensor->entry = file->at;
	tensor->name = take_text(file);
	tensor->cols = tensor->rows = 1;
	n_dims = (uint32_t)take_number(file, 4);
	if (n_dims < 1 || n_dims > 4)
		gguf_fail(file, tensor->entry, "a tensor of %u dimensions", n_dims);
	for (uint32_t i = 0; i < n_dims && !file->failed; i++) {
		uint64_t n = take_number(file, 8);
		uint64_t *product = i ? &tensor->rows : &tensor->cols;

		if (!n || n > UINT32_MAX || *product > UINT32_MAX / n)
			gguf_fail(file, tensor->entry, "a tensor with an impossible shape");
		else
			*product *= n;
	}
	tensor->type = (uint32_t)take_number(file, 4);
	tensor->offset = take_number(file, 8);
	if (tensor->type != GGUF_F32 && tensor->type != GGUF_F16 && tensor->type != GGUF_Q8_0)
		gguf_fail(file, tensor->entry, "tensor %.*s has type %u; F32, F16 and Q8_0 are known",
			print_length(tensor->name), tensor->name.data, tensor->type);
	if (tensor->type == GGUF_Q8_0 && tensor->cols % GGUF_Q8_NUMBERS)
		gguf_fail(file, tensor->entry, "a row of Q8_0 that is not whole blocks");
}

static void place_tensor(struct gguf *file, struct gguf_tensor *tensor, uint32_t alignment)
{
	uint64_t row_bytes = gguf_row_bytes(tensor->type, tensor->cols);
	uint64_t room = file->size - file->at;

	if (tensor->offset % alignment || tensor->offset > room ||
		tensor->rows > (room - tensor->offset) / row_bytes)
		gguf_fail(file, tensor->entry, "the data of tensor %.*s lie outside of the file",
			print_length(tensor->name), tensor->name.data);
	else
		tensor->data = file->bytes + file->at + tensor->offset;
}

static void parse(struct gguf *file)
{
	uint32_t version, alignment = 32;
	size_t n_tensors, n_pairs;

	if (memcmp(take(file, 4), "GGUF", 4))
		gguf_fail(file, 0, "not a GGUF file");
	version = (uint32_t)take_number(file, 4);
	if (version != 2 && version != 3)
		gguf_fail(file, 4, "GGUF version %u; 2 and 3 are known", version);
	n_tensors = take_count(file, 24, "tensors");
	n_pairs = take_count(file, 13, "pairs");
	file->pairs = calloc(n_pairs + 1, sizeof(*file->pairs));
	file->tensors = calloc(n_tensors + 1, sizeof(*file->tensors));
	if (!file->pairs || !file->tensors)
		gguf_fail(file, file->at, "out of memory");
	for (; file->n_pairs < n_pairs && !file->failed; file->n_pairs++) {
		file->pairs[file->n_pairs].key = take_text(file);
		take_value(file, &file->pairs[file->n_pairs]);
	}
	gguf_get_u32(file, "general.alignment", &alignment);
	if (alignment < 8 || alignment > 1 << 20 || alignment & (alignment - 1))
		gguf_fail(file, file->at, "impossible alignment %u", alignment);
	for (; file->n_tensors < n_tensors && !file->failed; file->n_tensors++)
		take_tensor(file, &file->tensors[file->n_tensors]);
	take(file, -(uint64_t)file->at % alignment);
	for (size_t i = 0; i < n_tensors && !file->failed; i++)
		place_tensor(file, &file->tensors[i], alignment);
}

int gguf_parse(struct gguf *file, const char *name, const void *bytes, size_t size)
{
	*file = (struct gguf){.path = name, .bytes = bytes, .size = size};
	parse(file);
	return file->failed ? -1 : 0;
}

int gguf_open(struct gguf *file, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	void *bytes = MAP_FAILED;

	*file = (struct gguf){.path = path};
	if (fd >= 0 && !fstat(fd, &status))
		bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		gguf_fail(file, 0, "cannot read it: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	if (file->failed)
		return -1;
	gguf_parse(file, path, bytes, (size_t)status.st_size);
	file->mapped = true;
	return file->failed ? -1 : 0;
}

void gguf_close(struct gguf *file)
{
	free(file->pairs);
	free(file->tensors);
	if (file->mapped)
		munmap((void *)file->bytes, file->size);
}

static bool text_is(struct gguf_text text, const char *expected)
{
	return text.size == strlen(expected) && !memcmp(text.data, expected, text.size);
}

const struct gguf_pair *gguf_pair(const struct gguf *file, const char *key)
{
	for (size_t i = 0; i < file->n_pairs; i++)
		if (text_is(file->pairs[i].key, key))
			return &file->pairs[i];
	return NULL;
}

static void get_number(struct gguf *file, const char *key, uint32_t type, void *out)
{
	const struct gguf_pair *pair = gguf_pair(file, key);
	if (!pair)
		return;
	if (pair->type == type && !pair->is_array)
		memcpy(out, pair->value, 4);
	else
		gguf_fail(file, (uint64_t)((const unsigned char *)pair->value - file->bytes),
			"%s is not of type %s", key, type == U32 ? "uint32" : "float32");
}

void gguf_get_u32(struct gguf *file, const char *key, uint32_t *out)
{
	get_number(file, key, U32, out);
}

void gguf_get_f32(struct gguf *file, const char *key, float *out)
{
	get_number(file, key, F32, out);
}

struct gguf_text gguf_next_text(const void **at)
{
	const char *data = (const char *)*at + 8;
	size_t size = (size_t)load(*at, 8);

	*at = data + size;
	return (struct gguf_text){data, size};
}

bool gguf_is_text(const struct gguf *file, const char *key, const char *text)
{
	const struct gguf_pair *pair = gguf_pair(file, key);
	const void *at;

	if (!pair || pair->type != STRING || pair->is_array)
		return false;
	at = pair->value;
	return text_is(gguf_next_text(&at), text);
}

struct gguf_tensor *gguf_find(struct gguf *file, const char *name)
{
	for (size_t i = 0; i < file->n_tensors; i++) {
		if (text_is(file->tensors[i].name, name)) {
			file->tensors[i].used = true;
			return &file->tensors[i];
		}
	}
	return NULL;
}
