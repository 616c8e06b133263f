// SPDX-License-Identifier: Apache-2.0
//
// brick-model: writes a llama model with random weights, for an engine to run where no trained
// model can be had. What it computes means nothing; what it costs is real. Owns the command line.
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "demo_model.h"

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

static uint32_t *number_of(struct model_shape *s, int option)
{
	switch (option) {
	case 'l':
		return &s->n_layers;
	case 'e':
		return &s->n_embd;
	case 'n':
		return &s->n_heads;
	case 'k':
		return &s->n_kv_heads;
	case 'f':
		return &s->n_ff;
	case 'v':
		return &s->n_vocab;
	case 'c':
		return &s->n_ctx;
	default:
		return NULL;
	}
}

static void parse_option(struct model_shape *s, int option, const char *name)
{
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
		if (!number_of(s, option)) // getopt_long() has said why
			exit(2);
		*number_of(s, option) = (uint32_t)parse_number(name, optarg, 1, 1 << 20);
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
	problem = model_check(s);
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
	int error = model_write(&shape, path, &n_params, &bytes);

	if (error)
		die(1, "%s: %s", path, strerror(-error));
	printf("%s: %.2f million parameters, %.1f MB\n", path, (double)n_params / 1e6,
		(double)bytes / 1e6);
	return 0;
}
