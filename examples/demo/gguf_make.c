// SPDX-License-Identifier: Apache-2.0
//
// brick-model: writes a model of architecture "llama" with random weights, for an engine to run
// where no trained model can be had. What it computes means nothing; what it costs is real. The
// weight at a place depends on the seed, the tensor and the place only, so the files of all types
// hold the same weights up to rounding. Norms are near 1 and products keep the size of what they
// multiply, so activations stay finite and differ from token to token. All passes over the model
// (counting, describing, writing) are walks of visit_all(), which is the one place that knows which
// tensors there are.
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "gguf_writer.h"

// --- the vocabulary ---

// Small but real, for the SentencePiece kind of tokenizer: control tokens, all 256 bytes, printable
// ASCII, then pieces of English. Any text can be tokenised with it, and common words take one
// token. A piece of more than one character can be made by joining two pieces of the vocabulary,
// because joining neighbours is all the tokenizer does. The same size always gives the same
// vocabulary.
enum {
	VOCAB_UNKNOWN = 0,
	VOCAB_BOS = 1,
	VOCAB_EOS = 2,
	VOCAB_CONTROLS = 3, // ids below it are never to be generated
	VOCAB_MIN_SIZE = 384,
};

struct vocab {
	uint32_t size;
	char **pieces;
	float *scores;	// the tokenizer merges the pair with the highest first
	int32_t *kinds; // as numbered in the file format
};

#define SPACE "\xe2\x96\x81" // U+2581, how this kind of tokenizer writes a space

enum kind {
	KIND_NORMAL = 1,
	KIND_UNKNOWN = 2,
	KIND_CONTROL = 3,
	KIND_UNUSED = 5,
	KIND_BYTE = 6,
};

static const char words[] =
	"the of and to in is that for it with as was on are this be at by from or have an "
	"they which one you had not were but all we when there can more if will each "
	"about how up out them then she many some time would into has two like other her "
	"could make than first been its who now people only did down made over after "
	"where back little work year came show every good give our under name very "
	"through just form great think say help low line before turn cause same mean "
	"differ move right old too does tell sentence set three want air well also play "
	"small end put home read hand large spell add even land here must big high such "
	"follow act why ask change light kind need house picture try again point mother "
	"world near build self earth father any new part take place live most token layer "
	"model engine measure clock kernel memory attention normal output input weight "
	"number letter question answer system program language machine learn train "
	"profile trace record report second minute speed slow fast brick wall science";

static const char vowels[] = "aeiouy";
static const char consonants[] = "tnshrdlcmwfgpbvk";

// Adds one piece unless it is there or the vocabulary is full. Quadratic in small numbers.
static int add_piece(struct vocab *v, enum kind kind, const char *piece)
{
	uint32_t id = v->size;

	for (uint32_t i = 0; i < id; i++) {
		if (!strcmp(v->pieces[i], piece))
			return 0;
	}
	v->pieces[id] = strdup(piece);
	if (!v->pieces[id])
		return -ENOMEM;
	v->kinds[id] = kind;
	v->scores[id] = kind == KIND_NORMAL ? -(float)id : 0;
	v->size++;
	return 0;
}

static int add_bytes(struct vocab *v)
{
	char piece[8];
	int error = 0;

	for (int i = 0; i < 256 && !error; i++) {
		snprintf(piece, sizeof(piece), "<0x%02X>", i);
		error = add_piece(v, KIND_BYTE, piece);
	}
	return error;
}

static int add_characters(struct vocab *v)
{
	int error = add_piece(v, KIND_NORMAL, SPACE);

	for (char c = '!'; c <= '~' && !error; c++)
		error = add_piece(v, KIND_NORMAL, (char[]){c, 0});
	return error;
}

// The word behind a space, and each beginning of it.
static int add_word(struct vocab *v, const char *word, int length, uint32_t capacity)
{
	char piece[32];
	int error = 0;

	for (int n = 1; n <= length && !error && v->size < capacity; n++) {
		snprintf(piece, sizeof(piece), SPACE "%.*s", n, word);
		error = add_piece(v, KIND_NORMAL, piece);
	}
	return error;
}

static int add_words(struct vocab *v, uint32_t capacity)
{
	const char *word = words;
	int error = 0;

	while (*word && !error) {
		int length = (int)strcspn(word, " ");

		error = add_word(v, word, length, capacity);
		word += length + (word[length] == ' ');
	}
	return error;
}

// Consonant and vowel, then consonant, vowel and consonant.
static int add_syllables(struct vocab *v, uint32_t capacity)
{
	int error = 0;

	for (const char *c = consonants; *c; c++) {
		for (const char *o = vowels; *o && !error && v->size < capacity; o++)
			error = add_piece(v, KIND_NORMAL, (char[]){*c, *o, 0});
	}
	for (size_t i = 0; i < 16 * 6 * 16 && !error && v->size < capacity; i++) {
		char piece[] = {consonants[i / 96], vowels[i / 16 % 6], consonants[i % 16], 0};

		error = add_piece(v, KIND_NORMAL, piece);
	}
	return error;
}

static int add_unused(struct vocab *v, uint32_t capacity)
{
	char piece[24];
	int error = 0;

	while (v->size < capacity && !error) {
		snprintf(piece, sizeof(piece), "<unused%u>", v->size);
		v->pieces[v->size] = strdup(piece);
		if (!v->pieces[v->size])
			return -ENOMEM;
		v->kinds[v->size++] = KIND_UNUSED;
	}
	return error;
}

static int add_all(struct vocab *v, uint32_t capacity)
{
	int error = add_piece(v, KIND_UNKNOWN, "<unk>");

	if (!error)
		error = add_piece(v, KIND_CONTROL, "<s>");
	if (!error)
		error = add_piece(v, KIND_CONTROL, "</s>");
	if (!error)
		error = add_bytes(v);
	if (!error)
		error = add_characters(v);
	if (!error)
		error = add_words(v, capacity);
	if (!error)
		error = add_syllables(v, capacity);
	if (!error)
		error = add_unused(v, capacity);
	return error;
}

static void vocab_fini(struct vocab *v)
{
	for (uint32_t i = 0; i < v->size; i++)
		free(v->pieces[i]);
	free(v->pieces);
	free(v->scores);
	free(v->kinds);
	*v = (struct vocab){0};
}

// VOCAB_MIN_SIZE at least. 0 or -ENOMEM.
static int vocab_init(struct vocab *v, uint32_t size)
{
	int error = -ENOMEM;

	*v = (struct vocab){0};
	v->pieces = calloc(size, sizeof(*v->pieces));
	v->scores = calloc(size, sizeof(*v->scores));
	v->kinds = calloc(size, sizeof(*v->kinds));
	if (v->pieces && v->scores && v->kinds)
		error = add_all(v, size);
	if (error)
		vocab_fini(v);
	return error;
}

// --- the model's shape ---

struct model_shape {
	enum gguf_type type; // of the matrices; norms are F32
	uint32_t n_layers;
	uint32_t n_embd;
	uint32_t n_heads;
	uint32_t n_kv_heads;
	uint32_t n_ff;
	uint32_t n_vocab;
	uint32_t n_ctx;
	uint64_t seed;
};

// One tensor: a vector where `n_rows` is 0. The weights are `mean` + `deviation` * noise.
struct tensor {
	char name[64];
	enum gguf_type type;
	uint32_t n_cols;
	uint32_t n_rows;
	uint32_t n_zero_rows; // leading rows that are all zero
	float mean;
	float deviation;
};

typedef void (*tensor_fn)(void *arg, const struct tensor *t);

// --- the model's tensors ---

static struct tensor make_norm(uint32_t n)
{
	return (struct tensor){.type = GGUF_TYPE_F32, .n_cols = n, .mean = 1, .deviation = 0.05f};
}

// Products keep the size of their input, whatever its length.
static struct tensor make_matrix(const struct model_shape *s, uint32_t n_cols, uint32_t n_rows)
{
	return (struct tensor){
		.type = s->type,
		.n_cols = n_cols,
		.n_rows = n_rows,
		.deviation = 1 / sqrtf((float)n_cols),
	};
}

// Products that are added to the residual stream: small enough that it stays near 1 to the end.
static struct tensor make_residual(const struct model_shape *s, uint32_t n_cols, uint32_t n_rows)
{
	struct tensor t = make_matrix(s, n_cols, n_rows);

	t.deviation /= sqrtf(2 * (float)s->n_layers);
	return t;
}

static void visit(tensor_fn fn, void *arg, struct tensor t, const char *name)
{
	snprintf(t.name, sizeof(t.name), "%s.weight", name);
	fn(arg, &t);
}

static void visit_in_block(
	tensor_fn fn, void *arg, struct tensor t, uint32_t block, const char *name)
{
	snprintf(t.name, sizeof(t.name), "blk.%u.%s.weight", block, name);
	fn(arg, &t);
}

static void visit_block(const struct model_shape *s, uint32_t block, tensor_fn fn, void *arg)
{
	uint32_t n_kv = s->n_embd / s->n_heads * s->n_kv_heads;

	visit_in_block(fn, arg, make_norm(s->n_embd), block, "attn_norm");
	visit_in_block(fn, arg, make_matrix(s, s->n_embd, s->n_embd), block, "attn_q");
	visit_in_block(fn, arg, make_matrix(s, s->n_embd, n_kv), block, "attn_k");
	visit_in_block(fn, arg, make_matrix(s, s->n_embd, n_kv), block, "attn_v");
	visit_in_block(fn, arg, make_residual(s, s->n_embd, s->n_embd), block, "attn_output");
	visit_in_block(fn, arg, make_norm(s->n_embd), block, "ffn_norm");
	visit_in_block(fn, arg, make_matrix(s, s->n_embd, s->n_ff), block, "ffn_gate");
	visit_in_block(fn, arg, make_matrix(s, s->n_embd, s->n_ff), block, "ffn_up");
	visit_in_block(fn, arg, make_residual(s, s->n_ff, s->n_embd), block, "ffn_down");
}

static void visit_all(const struct model_shape *s, tensor_fn fn, void *arg)
{
	struct tensor embedding = make_matrix(s, s->n_embd, s->n_vocab);
	struct tensor output = make_matrix(s, s->n_embd, s->n_vocab);

	embedding.deviation = 1;
	output.n_zero_rows = VOCAB_CONTROLS; // logits of 0 never win, so no text ends by chance
	visit(fn, arg, embedding, "token_embd");
	for (uint32_t i = 0; i < s->n_layers; i++)
		visit_block(s, i, fn, arg);
	visit(fn, arg, make_norm(s->n_embd), "output_norm");
	visit(fn, arg, output, "output");
}

// --- random weights ---

// SplitMix64's output function.
static uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

// Mean 0, deviation 1, near enough to normal: the sum of four uniform numbers of 16 bits.
static float noise(uint64_t key, uint64_t place)
{
	uint64_t z = mix(key + (place + 1) * 0x9e3779b97f4a7c15);
	int32_t sum = (int32_t)((z & 0xffff) + (z >> 16 & 0xffff) + (z >> 32 & 0xffff) + (z >> 48));

	return (float)(sum - 2 * 0xffff) * (1.7320508f / 65536);
}

static uint64_t tensor_key(uint64_t seed, const char *name)
{
	uint64_t key = mix(seed);

	for (; *name; name++)
		key = mix(key + (unsigned char)*name);
	return key;
}

static void fill_row(const struct tensor *t, uint64_t key, uint32_t row, float *out)
{
	uint64_t place = (uint64_t)row * t->n_cols;

	for (uint32_t i = 0; i < t->n_cols; i++)
		out[i] = row < t->n_zero_rows ? 0 : t->mean + t->deviation * noise(key, place + i);
}

// --- the file ---

struct sink {
	struct gguf_writer *writer;
	uint64_t seed;
	float *row;
	void *encoded;
	uint64_t n_tensors;
	uint64_t n_params;
	uint32_t max_cols;
};

static void count_tensor(void *arg, const struct tensor *t)
{
	struct sink *sink = arg;

	sink->n_tensors++;
	sink->n_params += (uint64_t)t->n_cols * (t->n_rows ? t->n_rows : 1);
	sink->max_cols = t->n_cols > sink->max_cols ? t->n_cols : sink->max_cols;
}

static void describe_tensor(void *arg, const struct tensor *t)
{
	struct sink *sink = arg;

	gguf_put_tensor(sink->writer, t->name, t->type, t->n_cols, t->n_rows);
}

static void write_tensor(void *arg, const struct tensor *t)
{
	struct sink *sink = arg;
	uint64_t key = tensor_key(sink->seed, t->name);
	uint32_t n_rows = t->n_rows ? t->n_rows : 1;

	for (uint32_t i = 0; i < n_rows && !gguf_failed(sink->writer); i++) {
		fill_row(t, key, i, sink->row);
		gguf_encode_row(t->type, sink->row, t->n_cols, sink->encoded);
		gguf_write(sink->writer, sink->encoded, gguf_row_bytes(t->type, t->n_cols));
	}
	gguf_align(sink->writer);
}

enum { N_KV = 23 };

// general.file_type
static uint32_t file_type(enum gguf_type type)
{
	switch (type) {
	case GGUF_TYPE_F16:
		return 1;
	case GGUF_TYPE_Q4_0:
		return 2;
	case GGUF_TYPE_Q8_0:
		return 7;
	default:
		return 0;
	}
}

static void put_architecture(struct gguf_writer *w, const struct model_shape *s)
{
	gguf_put_string(w, "general.architecture", "llama");
	gguf_put_string(w, "general.name", "Brick random llama");
	gguf_put_u32(w, "general.file_type", file_type(s->type));
	gguf_put_u32(w, "general.quantization_version", 2);
	gguf_put_u32(w, "llama.block_count", s->n_layers);
	gguf_put_u32(w, "llama.context_length", s->n_ctx);
	gguf_put_u32(w, "llama.embedding_length", s->n_embd);
	gguf_put_u32(w, "llama.feed_forward_length", s->n_ff);
	gguf_put_u32(w, "llama.attention.head_count", s->n_heads);
	gguf_put_u32(w, "llama.attention.head_count_kv", s->n_kv_heads);
	gguf_put_f32(w, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
	gguf_put_u32(w, "llama.rope.dimension_count", s->n_embd / s->n_heads);
	gguf_put_f32(w, "llama.rope.freq_base", 10000);
	gguf_put_u32(w, "llama.vocab_size", s->n_vocab);
}

static void put_tokenizer(struct gguf_writer *w, const struct vocab *v)
{
	gguf_put_string(w, "tokenizer.ggml.model", "llama");
	gguf_put_strings(w, "tokenizer.ggml.tokens", v->pieces, v->size);
	gguf_put_f32s(w, "tokenizer.ggml.scores", v->scores, v->size);
	gguf_put_i32s(w, "tokenizer.ggml.token_type", v->kinds, v->size);
	gguf_put_u32(w, "tokenizer.ggml.unknown_token_id", VOCAB_UNKNOWN);
	gguf_put_u32(w, "tokenizer.ggml.bos_token_id", VOCAB_BOS);
	gguf_put_u32(w, "tokenizer.ggml.eos_token_id", VOCAB_EOS);
	gguf_put_bool(w, "tokenizer.ggml.add_bos_token", true);
	gguf_put_bool(w, "tokenizer.ggml.add_eos_token", false);
}

static int write_file(
	const struct model_shape *s, struct sink *sink, const char *path, uint64_t *bytes)
{
	struct vocab vocab;
	int error = vocab_init(&vocab, s->n_vocab);

	if (error)
		return error;
	error = gguf_open(&sink->writer, path, sink->n_tensors, N_KV);
	if (error)
		goto out;
	put_architecture(sink->writer, s);
	put_tokenizer(sink->writer, &vocab);
	visit_all(s, describe_tensor, sink);
	gguf_align(sink->writer);
	visit_all(s, write_tensor, sink);
	error = gguf_commit(sink->writer, bytes);
out:
	vocab_fini(&vocab);
	return error;
}

// Writes the model to `path`, whole or not at all, and says how large it became. 0 or -errno.
static int write_model(
	const struct model_shape *s, const char *path, uint64_t *n_params, uint64_t *bytes)
{
	struct sink sink = {.seed = s->seed};
	int error = -ENOMEM;

	visit_all(s, count_tensor, &sink);
	sink.row = malloc(sink.max_cols * sizeof(*sink.row));
	sink.encoded = malloc(sink.max_cols * sizeof(*sink.row)); // F32 is the largest type
	if (sink.row && sink.encoded)
		error = write_file(s, &sink, path, bytes);
	free(sink.row);
	free(sink.encoded);
	*n_params = sink.n_params;
	return error;
}

// NULL if such a model can be made, else what is wrong with the shape.
static const char *check_shape(const struct model_shape *s)
{
	uint64_t block = gguf_block_elements(s->type);

	if (s->n_embd % s->n_heads)
		return "the width must be a multiple of the heads";
	if (s->n_embd / s->n_heads % 2)
		return "the width of a head must be even";
	if (s->n_heads % s->n_kv_heads)
		return "the heads must be a multiple of the key and value heads";
	if (s->n_embd % block || s->n_ff % block)
		return "both widths must be multiples of 32 for this type";
	if (s->n_vocab < VOCAB_MIN_SIZE)
		return "the vocabulary is too small to hold every byte and character";
	return NULL;
}

// --- the command line ---

static const char usage[] = "usage: brick-model [OPTIONS] OUT\n"
			    "Writes a llama model with random weights to the GGUF file OUT.\n"
			    "  --type f32|f16|q8_0|q4_0  type of the matrices (f16)\n"
			    "  --layers N           blocks (7)\n"
			    "  --embd N             width (512)\n"
			    "  --heads N            attention heads (8)\n"
			    "  --kv-heads N         key and value heads (4)\n"
			    "  --ff N               width inside the feed-forward network (1408)\n"
			    "  --vocab N            tokens, 384 or more (2048)\n"
			    "  --ctx N              context length it claims (2048)\n"
			    "  --seed N             which weights (1)\n"
			    "  --help               show this\n";

static const struct {
	const char *name;
	enum gguf_type type;
} types[] = {
	{"f32", GGUF_TYPE_F32},
	{"f16", GGUF_TYPE_F16},
	{"q8_0", GGUF_TYPE_Q8_0},
	{"q4_0", GGUF_TYPE_Q4_0},
};

__attribute__((format(printf, 2, 3), noreturn)) static void die(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("brick-model: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(status);
}

static enum gguf_type parse_type(const char *name)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (!strcasecmp(name, types[i].name))
			return types[i].type;
	}
	die(2, "--type %s: not one of f32, f16, q8_0, q4_0", name);
}

static uint64_t parse_number(const char *option, const char *text, uint64_t min, uint64_t max)
{
	uint64_t value;

	if (number_u64(text, min, max, &value))
		die(2, "--%s %s: not a number from %llu to %llu", option, text,
			(unsigned long long)min, (unsigned long long)max);
	return value;
}

static const struct option options[] = {
	{"type", required_argument, NULL, 't'},
	{"layers", required_argument, NULL, 'l'},
	{"embd", required_argument, NULL, 'e'},
	{"heads", required_argument, NULL, 'n'},
	{"kv-heads", required_argument, NULL, 'k'},
	{"ff", required_argument, NULL, 'f'},
	{"vocab", required_argument, NULL, 'v'},
	{"ctx", required_argument, NULL, 'c'},
	{"seed", required_argument, NULL, 's'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static void parse_option(struct model_shape *s, int option, const char *name)
{
	uint32_t *const numbers[128] = {
		['l'] = &s->n_layers,
		['e'] = &s->n_embd,
		['n'] = &s->n_heads,
		['k'] = &s->n_kv_heads,
		['f'] = &s->n_ff,
		['v'] = &s->n_vocab,
		['c'] = &s->n_ctx,
	};

	switch (option) {
	case 't':
		s->type = parse_type(optarg);
		break;
	case 's':
		s->seed = parse_number(name, optarg, 0, UINT64_MAX);
		break;
	case 'h':
		fputs(usage, stdout);
		exit(0);
	default:
		if (!numbers[option]) // getopt_long() has said why
			exit(2);
		*numbers[option] = (uint32_t)parse_number(name, optarg, 1, 1 << 20);
	}
}

static const char *parse(struct model_shape *s, int argc, char **argv)
{
	const char *problem;
	int option, i = 0;

	while ((option = getopt_long(argc, argv, "h", options, &i)) != -1)
		parse_option(s, option, options[i].name);
	if (optind + 1 != argc)
		die(2, "one file to write is needed (see --help)");
	problem = check_shape(s);
	if (problem)
		die(2, "%s", problem);
	return argv[optind];
}

int main(int argc, char **argv)
{
	struct model_shape shape = {
		.type = GGUF_TYPE_F16,
		.n_layers = 7,
		.n_embd = 512,
		.n_heads = 8,
		.n_kv_heads = 4,
		.n_ff = 1408,
		.n_vocab = 2048,
		.n_ctx = 2048,
		.seed = 1,
	};
	const char *path = parse(&shape, argc, argv);
	uint64_t n_params, bytes;
	int error = write_model(&shape, path, &n_params, &bytes);

	if (error)
		die(1, "%s: %s", path, strerror(-error));
	printf("%s: %.2f million parameters, %.1f MB\n", path, (double)n_params / 1e6,
		(double)bytes / 1e6);
	return 0;
}
