// SPDX-License-Identifier: Apache-2.0
//
// The reader. It goes over the bytes once, front to back; take() is the only place that moves, and
// never beyond the end. After the first failure it yields zeros and moves no more.
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

enum { ARRAY = 9, TYPES = 13, DIMS_MAX = 4, ENTRIES_MAX = 1 << 16, ALIGNMENT_MAX = 1 << 20 };
static const uint8_t value_bytes[TYPES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

struct gguf_pair {
	struct gguf_text key;
	uint32_t type; // of the value, or of the items of an array
	bool is_array;
	uint64_t count;
	const unsigned char *value;
};

int gguf_fail(struct gguf *file, uint64_t offset, const char *format, ...)
{
	char reason[160];
	va_list args;
	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	if (!file->failed)
		snprintf(file->why, sizeof(file->why), "%.70s: offset %llu: %s", file->path,
			(unsigned long long)offset, reason);
	file->failed = true;
	return -1;
}

static const void *take(struct gguf *file, uint64_t n)
{
	static const char zeros[8];
	if (!file->failed && n > file->size - file->at)
		gguf_fail(file, file->at, "%llu bytes should follow here", (unsigned long long)n);
	if (file->failed)
		return zeros;
	file->at += (size_t)n;
	return file->bytes + file->at - n;
}

static uint64_t load(const void *from, size_t n)
{
	const unsigned char *bytes = from;
	uint64_t value = 0;
	while (n-- > 0)
		value = value << 8 | bytes[n]; // little-endian
	return value;
}

static uint64_t take_number(struct gguf *file, size_t n)
{
	return load(take(file, n), n);
}

static struct gguf_text take_text(struct gguf *file)
{
	size_t size = (size_t)take_number(file, 8);
	const char *data = take(file, size);
	return (struct gguf_text){data, file->failed ? 0 : size};
}

// How many entries of at least `bytes` each follow; never more than there is room for.
static size_t take_count(struct gguf *file, size_t bytes, const char *what)
{
	uint64_t at = file->at, n = take_number(file, 8);
	if (n > (file->size - file->at) / bytes)
		gguf_fail(file, at, "no room for %llu %s", (unsigned long long)n, what);
	return file->failed ? 0 : (size_t)n;
}

static void take_pair(struct gguf *file, struct gguf_pair *pair)
{
	pair->key = take_text(file);
	pair->type = (uint32_t)take_number(file, 4);
	pair->is_array = pair->type == ARRAY;
	if (pair->is_array)
		pair->type = (uint32_t)take_number(file, 4);
	if (pair->type >= TYPES || pair->type == ARRAY)
		gguf_fail(file, file->at - 4, "unknown type of value %u", pair->type);
	size_t bytes = file->failed ? 0 : value_bytes[pair->type];
	pair->count = pair->is_array ? take_count(file, bytes ? bytes : 8, "items") : 1;
	pair->value = file->bytes + file->at;
	take(file, pair->count * bytes);
	for (uint64_t i = 0; pair->type == GGUF_STRING && !file->failed && i < pair->count; i++)
		take_text(file);
}

uint64_t gguf_row_bytes(uint32_t type, uint64_t cols)
{
	if (type == GGUF_Q8_0)
		return cols / BLOCK * sizeof(struct gguf_q8_0);
	return cols * (type == GGUF_F16 ? 2 : 4);
}

// Rows and columns stay below 2^32 each, so that no product of sizes leaves 64 bits.
static void take_tensor(struct gguf *file, struct gguf_tensor *tensor)
{
	tensor->at = file->at;
	tensor->name = take_text(file);
	tensor->cols = tensor->rows = 1;
	uint32_t n_dims = (uint32_t)take_number(file, 4);
	if (n_dims < 1 || n_dims > DIMS_MAX)
		gguf_fail(file, tensor->at, "a tensor of %u dimensions", n_dims);
	for (uint32_t i = 0; i < n_dims && !file->failed; i++) {
		uint64_t n = take_number(file, 8), *product = i ? &tensor->rows : &tensor->cols;
		if (!n || n > UINT32_MAX / *product)
			gguf_fail(file, tensor->at, "a tensor of an impossible shape");
		*product *= n;
	}
	tensor->type = (uint32_t)take_number(file, 4);
	tensor->offset = take_number(file, 8);
	if (tensor->type != GGUF_F32 && tensor->type != GGUF_F16 && tensor->type != GGUF_Q8_0)
		gguf_fail(file, tensor->at, "type %u, not F32, F16 or Q8_0", tensor->type);
	if (tensor->type == GGUF_Q8_0 && tensor->cols % BLOCK)
		gguf_fail(file, tensor->at, "a tensor with rows that are not whole blocks");
}

static void place_tensor(struct gguf *file, struct gguf_tensor *tensor, uint32_t alignment)
{
	uint64_t bytes = tensor->rows * gguf_row_bytes(tensor->type, tensor->cols);
	uint64_t left = file->size - file->at;
	if (tensor->offset % alignment || tensor->offset > left || bytes > left - tensor->offset)
		gguf_fail(file, tensor->at, "the data of this tensor are not inside of the file");
	else
		tensor->data = file->bytes + file->at + tensor->offset;
}

int gguf_parse(struct gguf *file, const char *name, const void *bytes, size_t size)
{
	*file = (struct gguf){.path = name, .bytes = bytes, .size = size};
	if (memcmp(take(file, 4), "GGUF", 4))
		gguf_fail(file, 0, "not a GGUF file");
	uint32_t version = (uint32_t)take_number(file, 4), alignment = 32;
	if (version != 2 && version != 3)
		gguf_fail(file, 4, "version %u of GGUF, not 2 or 3", version);
	size_t n_tensors = take_count(file, 24, "tensors"), n_pairs = take_count(file, 13, "pairs");
	if (n_tensors > ENTRIES_MAX || n_pairs > ENTRIES_MAX)
		gguf_fail(file, 8, "more than %d tensors or pairs", ENTRIES_MAX);
	if (file->failed)
		return -1;
	file->pairs = calloc(n_pairs + 1, sizeof(*file->pairs));
	file->tensors = calloc(n_tensors + 1, sizeof(*file->tensors));
	if (!file->pairs || !file->tensors)
		return gguf_fail(file, 8, "no memory for its tables");
	for (; file->n_pairs < n_pairs && !file->failed; file->n_pairs++)
		take_pair(file, &file->pairs[file->n_pairs]);
	gguf_get(file, "general.alignment", GGUF_UINT32, &alignment);
	if (alignment < 8 || alignment > ALIGNMENT_MAX || alignment & (alignment - 1))
		return gguf_fail(file, file->at, "impossible alignment %u", alignment);
	for (; file->n_tensors < n_tensors && !file->failed; file->n_tensors++)
		take_tensor(file, &file->tensors[file->n_tensors]);
	take(file, -(uint64_t)file->at % alignment);
	for (size_t i = 0; i < n_tensors && !file->failed; i++)
		place_tensor(file, &file->tensors[i], alignment);
	return file->failed ? -1 : 0;
}

int gguf_open(struct gguf *file, const char *path)
{
	struct stat status;
	void *bytes = MAP_FAILED;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && !fstat(fd, &status))
		bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	*file = (struct gguf){.path = path};
	if (bytes == MAP_FAILED)
		gguf_fail(file, 0, "cannot read it: %s", strerror(errno));
	else
		gguf_parse(file, path, bytes, (size_t)status.st_size);
	file->mapped = bytes != MAP_FAILED;
	if (fd >= 0)
		close(fd);
	return file->failed ? -1 : 0;
}

void gguf_close(struct gguf *file)
{
	free(file->pairs);
	free(file->tensors);
	if (file->mapped)
		munmap((void *)file->bytes, file->size);
}

struct gguf_text gguf_text(const void **value)
{
	size_t size = (size_t)load(*value, 8);
	const char *data = (const char *)*value + 8;
	*value = data + size;
	return (struct gguf_text){data, size};
}

bool gguf_text_is(struct gguf_text text, const char *expected)
{
	return text.size == strlen(expected) && !memcmp(text.data, expected, text.size);
}

const void *gguf_value(struct gguf *file, const char *key, uint32_t type, uint64_t *count)
{
	const struct gguf_pair *pair = file->pairs, *end = pair + file->n_pairs;
	while (pair < end && !gguf_text_is(pair->key, key))
		pair++;
	if (pair < end && (pair->type != type || pair->is_array != !!count))
		gguf_fail(file, (uint64_t)(pair->value - file->bytes), "%s: not %s of type %u", key,
			count ? "an array" : "a single value", type);
	if (pair == end || file->failed)
		return NULL;
	if (count)
		*count = pair->count;
	return pair->value;
}

void gguf_get(struct gguf *file, const char *key, enum gguf_value_type type, void *out)
{
	const void *value = gguf_value(file, key, type, NULL);
	if (value)
		memcpy(out, value, 4);
}

struct gguf_tensor *gguf_find(struct gguf *file, const char *name)
{
	for (size_t i = 0; i < file->n_tensors; i++)
		if (gguf_text_is(file->tensors[i].name, name)) {
			file->tensors[i].used = true;
			return &file->tensors[i];
		}
	return NULL;
}

// --- prompts ---

// Tokens of a vocabulary of the SentencePiece kind ("llama"), word by word: of all neighbours that
// make a known piece together, those with the best score are joined, the leftmost first, until
// there are none. The text is that of examples/demo/llama_run.c, so that the prompts are the same.

static const char prompt_text[] =
	"The people who build an engine want to know where the time of every token went. "
	"They measure each layer and each part of it with a clock, and they show it as a line. "
	"A good answer is one that you could make again on the same machine and then on another. ";

enum { WORD_MAX = 64 };
#define SPACE "\xe2\x96\x81" // U+2581, with which every word begins

struct vocabulary {
	const void *pieces; // strings, one after the other
	const char *scores;
	uint32_t n, first; // how many; that with which a text begins
};

// The token that is this text, or -1.
static int find_piece(const struct vocabulary *v, const char *text, size_t size, float *score)
{
	const void *at = v->pieces;
	for (uint32_t i = 0; i < v->n; i++) {
		struct gguf_text piece = gguf_text(&at);
		if (piece.size == size && !memcmp(piece.data, text, size)) {
			memcpy(score, v->scores + 4 * (size_t)i, 4);
			return (int)i;
		}
	}
	return -1;
}

// Where the parts begin that a word falls into, and its end. Returns the number of parts.
static size_t cut_word(const struct vocabulary *v, const char *word, size_t size, size_t *cuts)
{
	size_t n = 0;
	for (size_t i = 0; i <= size; i += i ? 1 : strlen(SPACE))
		cuts[n++] = i;
	for (;;) {
		size_t best = SIZE_MAX;
		float best_score = 0, score = 0;
		for (size_t i = 0; i + 2 < n; i++) {
			if (find_piece(v, word + cuts[i], cuts[i + 2] - cuts[i], &score) < 0)
				continue;
			if (best == SIZE_MAX || score > best_score) {
				best = i;
				best_score = score;
			}
		}
		if (best == SIZE_MAX)
			return n - 1;
		n--;
		memmove(&cuts[best + 1], &cuts[best + 2], (n - best - 1) * sizeof(*cuts));
	}
}

static bool read_vocabulary(struct vocabulary *v, struct gguf *file, uint32_t n)
{
	uint64_t n_tokens = 0, n_scores = 0;
	const void *kind = gguf_value(file, "tokenizer.ggml.model", GGUF_STRING, NULL);
	v->pieces = gguf_value(file, "tokenizer.ggml.tokens", GGUF_STRING, &n_tokens);
	v->scores = gguf_value(file, "tokenizer.ggml.scores", GGUF_FLOAT32, &n_scores);
	v->n = n;
	gguf_get(file, "tokenizer.ggml.bos_token_id", GGUF_UINT32, &v->first);
	if (!kind || !gguf_text_is(gguf_text(&kind), "llama"))
		gguf_fail(file, 0, "tokenizer.ggml.model is not llama");
	if (n_tokens != n || n_scores != n)
		gguf_fail(file, 0, "%u embeddings, but not as many tokens and scores", n);
	if (v->first >= n)
		gguf_fail(file, 0, "texts begin with token %u of %u", v->first, n);
	return !file->failed;
}

int32_t *gguf_prompt(struct gguf *file, uint32_t n_vocab, size_t n)
{
	struct vocabulary v = {.first = 1};
	if (!read_vocabulary(&v, file, n_vocab))
		return NULL;
	int32_t *tokens = calloc(n, sizeof(*tokens));
	if (!tokens) {
		gguf_fail(file, 0, "no memory for a prompt of %zu tokens", n);
		return NULL;
	}
	size_t n_done = 1, cuts[WORD_MAX];
	tokens[0] = (int32_t)v.first;
	for (const char *at = prompt_text; n_done < n && *at; at += strcspn(at, " ") + 1) {
		char word[WORD_MAX];
		int size = snprintf(word, sizeof(word), SPACE "%.*s", (int)strcspn(at, " "), at);
		size_t n_parts = cut_word(&v, word, (size_t)size, cuts);
		for (size_t i = 0; i < n_parts && n_done < n; i++) {
			float score;
			int token = find_piece(&v, word + cuts[i], cuts[i + 1] - cuts[i], &score);
			tokens[n_done++] = token < 0 ? 0 : token; // 0: unknown
		}
	}
	for (size_t i = n_done; i < n; i++) // the text over and over
		tokens[i] = tokens[i - n_done + 1];
	return tokens;
}
