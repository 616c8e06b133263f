// SPDX-License-Identifier: Apache-2.0
//
// example-decoder: generates greedily from a prompt of N tokens, with the options and the output of
// brick-llama (demo/), so that the two can be compared. What it takes to embed Brick is here and in
// the bricks of decode.c, attention.c, matmul.c and decoder_team.c.
#include <stdarg.h>
#include <time.h>
#include "brick/brick.h"
#include "decoder.h"
#include "decoder_memory.h"

static const char usage[] =
	"usage: example-decoder --model FILE [OPTIONS]\n"
	"  --model FILE        llama model to run (GGUF; F32, F16, Q8_0)\n"
	"  --prompt-tokens N   length of the prompt (256)\n"
	"  --predict M         tokens to generate (64)\n"
	"  --threads T         threads to compute with (1)\n"
	"  --isa ISA           scalar, avx2, avx512, neon or auto (auto)\n"
	"  --backend B         products with weights on: cpu, opencl (cpu)\n"
	"  --mode M            of the recording: deferred, per-layer, immediate, none (deferred)\n"
	"  --repeat R          do it all R times (1)\n"
	"  --timing            a line of JSON for each repetition on stderr\n"
	"  --record FILE       write a recording (Perfetto trace)\n"
	"  --tiles             record the tiles of products, too\n"
	"  --digest            record digests of results, for brick diverge\n"
	"  --modes             change the mode every two repetitions, there and back\n"
	"  --pause             do not record repetitions 0, 3, 4, 7, 8, ...\n"
	"  --mistake OF:L:P[:FEATURE[:TOKEN]]\n"
	"                      make results of a brick (or a buffer, Vcur) in layer L wrong by P "
	"percent, all\n"
	"                      of it or only one feature of all tokens or of one, to be found\n"
	"  --help              show this\n";

struct arguments {
	const char *model, *n_prompt, *n_predict, *n_threads, *isa, *backend, *mode, *n_repeat,
		*record, *mistake;
	bool timing, tiles, digest, modes, pause, help;
};

__attribute__((format(printf, 2, 3), noreturn)) static void die(int status, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fputs("example-decoder: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(status);
}

static void parse(struct arguments *a, char **argv)
{
	const struct option {
		const char *name, **text;
		bool *flag;
	} options[] = {
		{"--model", &a->model, NULL},
		{"--prompt-tokens", &a->n_prompt, NULL},
		{"--predict", &a->n_predict, NULL},
		{"--threads", &a->n_threads, NULL},
		{"--isa", &a->isa, NULL},
		{"--backend", &a->backend, NULL},
		{"--mode", &a->mode, NULL},
		{"--repeat", &a->n_repeat, NULL},
		{"--record", &a->record, NULL},
		{"--mistake", &a->mistake, NULL},
		{"--timing", NULL, &a->timing},
		{"--tiles", NULL, &a->tiles},
		{"--digest", NULL, &a->digest},
		{"--modes", NULL, &a->modes},
		{"--pause", NULL, &a->pause},
		{"--help", NULL, &a->help},
		{NULL, NULL, NULL},
	};
	while (*++argv) {
		const struct option *option = options;
		while (option->name && strcmp(option->name, *argv))
			option++;
		if (!option->name)
			die(2, "%s: not an option (see --help)", *argv);
		if (option->flag)
			*option->flag = true;
		else if (!(*option->text = *++argv))
			die(2, "%s: its value is missing", option->name);
	}
	if (a->help)
		exit(fputs(usage, stdout) < 0);
	if (!a->model)
		die(2, "--model is missing (see --help)");
}

static size_t number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);
	if (end == text || *end || *text == '-' || value < 1 || value > 1000000)
		die(2, "%s: not a number from 1 to 1000000", text);
	return value;
}

static unsigned long long now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000000000 + (unsigned long long)t.tv_nsec;
}

static int compare_ns(const void *a, const void *b)
{
	unsigned long long x = *(const unsigned long long *)a, y = *(const unsigned long long *)b;
	return (x > y) - (x < y);
}

static const char *const mode_names[] = {"deferred", "per-layer", "immediate", "none"};
enum { MODES = sizeof(mode_names) / sizeof(*mode_names) };

static uint32_t mode_number(const char *name)
{
	for (uint32_t i = 0; i < MODES; i++)
		if (!strcmp(mode_names[i], name))
			return i;
	die(2, "--mode %s: not deferred, per-layer, immediate or none", name);
}

// 0 1 2 3 3 2 1 0, and so on, each twice: the second time there is only its own left to do. In mode
// none the host's bricks are off, too.
static const char *change_mode(struct opencl *opencl, size_t repetition)
{
	size_t place = repetition / 2 % (2 * MODES);
	uint32_t mode = (uint32_t)(place < MODES ? place : 2 * MODES - 1 - place);
	if (opencl)
		opencl_mode_set(opencl, mode);
	if (mode == BRICK_MODE_NONE)
		brick_pause();
	return mode_names[mode];
}

// Sorts the steps; the first is the prompt's.
static void print_timing(const struct decoder *d, const char *mode, size_t n_prompt,
	unsigned long long *ns, size_t n)
{
	unsigned long long total = 0, prefill = ns[0];
	for (size_t i = 1; i < n; i++)
		total += ns[i];
	qsort(ns + 1, n - 1, sizeof(*ns), compare_ns);
	fprintf(stderr,
		"{\"isa\": \"%s\", \"backend\": \"%s\", \"mode\": \"%s\", \"threads\": %zu, "
		"\"bricks\": %s, \"prefill_tokens\": %zu, \"prefill_ns\": %llu, \"decode_steps\": "
		"%zu, \"decode_ns\": %llu, "
		"\"decode_p50_ns\": %llu}\n",
		d->options.kernels->isa, d->options.opencl ? "opencl" : "cpu", mode,
		d->options.n_threads, brick_enabled() ? "true" : "false", n_prompt, prefill, n - 1,
		total, n > 1 ? ns[(n + 1) / 2] : 0);
}

// n tokens take one evaluation of the prompt and n - 1 of a single token.
static void generate(
	struct decoder *d, int32_t *prompt, size_t n_prompt, size_t n, const char *timing)
{
	unsigned long long *ns = allocate(n, sizeof(*ns));
	int32_t token = -1;
	d->n_past = 0;
	for (size_t i = 0; i < n; i++) {
		unsigned long long start = now_ns();
		token = i ? decoder_evaluate(d, &token, 1) : decoder_evaluate(d, prompt, n_prompt);
		ns[i] = now_ns() - start;
		printf("%d%c", token, i + 1 < n ? ' ' : '\n');
	}
	if (timing)
		print_timing(d, timing, n_prompt, ns, n);
	free(ns);
}

static void start_recording(const char *path, uint32_t mode)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	options.output = path;
	options.mode = mode;
	int error = path ? brick_session_start(&options) : 0;
	if (error < 0)
		die(1, "%s: %s", path, brick_strerror(error));
}

static void stop_recording(const char *path)
{
	int error = path ? brick_session_stop() : 0;
	if (error < 0)
		die(1, "%s: %s", path, brick_strerror(error));
}

static struct mistake mistake_of(const char *text)
{
	struct mistake m = {.feature = -1, .token = -1};
	if (text && sscanf(text, "%31[^:]:%d:%f:%d:%d", m.of, &m.layer, &m.factor, &m.feature,
			    &m.token) < 3)
		die(2, "--mistake %s: not OF:LAYER:PERCENT", text);
	m.factor = 1 + m.factor / 100;
	return m;
}

static struct decoder_options options_of(const struct arguments *a)
{
	struct decoder_options options = {
		.kernels = kernels_find(a->isa),
		.n_context = number(a->n_prompt) + number(a->n_predict),
		.n_threads = number(a->n_threads),
	};
	if (!options.kernels)
		die(4, "--isa %s: not known or not on this CPU", a->isa);
	options.mistake = mistake_of(a->mistake);
	if (strcmp(a->backend, "cpu") && strcmp(a->backend, "opencl"))
		die(2, "--backend %s: not cpu or opencl", a->backend);
	return options;
}

// The thread's name and the notes are heard by `brick record`, too.
static void describe_run(
	const struct arguments *a, const struct model *model, struct decoder_options *options)
{
	const char *why = "";
	if (a->digest)
		brick_digests_set(1);
	if (a->tiles)
		brick_tiles_set(1u << BRICK_TILE_LEVEL_MACRO | 1u << BRICK_TILE_LEVEL_MIDI);
	brick_thread_name("decoder 0");
	brick_note("backend", "cpu %s", options->kernels->isa);
	if (strcmp(a->backend, "opencl"))
		return;
	options->opencl = opencl_create(model, decoder_batch(options->n_context), &why);
	if (!options->opencl)
		die(4, "--backend opencl: %s", why);
	brick_note("backend", "opencl");
}

static void repeat(const struct arguments *a, struct decoder *decoder, int32_t *prompt)
{
	for (size_t i = 0; i < number(a->n_repeat); i++) {
		if (a->pause && (i + 1) / 2 % 2 == 0)
			brick_pause();
		const char *mode = a->modes ? change_mode(decoder->options.opencl, i) : a->mode;
		generate(decoder, prompt, number(a->n_prompt), number(a->n_predict),
			a->timing ? mode : NULL);
		brick_resume();
	}
}

int main(int argc, char **argv)
{
	struct arguments a = {.n_prompt = "256",
		.n_predict = "64",
		.n_threads = "1",
		.isa = "auto",
		.n_repeat = "1",
		.backend = "cpu",
		.mode = "deferred"};
	parse(&a, argv);
	struct decoder_options options = options_of(&a);
	struct model model;
	int32_t *prompt = model_open(&model, a.model)
				  ? NULL
				  : gguf_prompt(&model.file, model.n_vocab, number(a.n_prompt));
	if (!prompt)
		die(3, "%s", model.file.why);
	start_recording(a.record, mode_number(a.mode));
	describe_run(&a, &model, &options);
	struct decoder *decoder = decoder_create(&model, &options);
	repeat(&a, decoder, prompt);
	decoder_destroy(decoder);
	opencl_destroy(options.opencl);
	stop_recording(a.record);
	free(prompt);
	model_close(&model);
	return fflush(stdout) ? 1 : 0;
}
