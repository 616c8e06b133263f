// SPDX-License-Identifier: Apache-2.0
//
// example-decoder: generates greedily from a prompt of N tokens, with the options and the output of
// brick-llama (demo/), so that the two can be compared. What it takes to embed Brick is here and in
// the bricks of decode.c, attention.c, matmul.c and team.c.
#include <stdarg.h>
#include <time.h>
#include "brick/brick.h"
#include "decoder.h"
#include "memory.h"
#include "prompt.h"

static const char usage[] =
	"usage: example-decoder --model FILE [OPTIONS]\n"
	"  --model FILE        llama model to run (GGUF; F32, F16, Q8_0)\n"
	"  --prompt-tokens N   length of the prompt (256)\n"
	"  --predict M         tokens to generate (64)\n"
	"  --threads T         threads to compute with (1)\n"
	"  --isa ISA           scalar, avx2, avx512, neon or auto (auto)\n"
	"  --repeat R          do it all R times (1)\n"
	"  --timing            a line of JSON for each repetition on stderr\n"
	"  --record FILE       write a recording (Perfetto trace)\n"
	"  --pause             record repetitions 1, 2, 5, 6, ... only: with and without bricks, ABBA\n"
	"  --rope-error L:P    make RoPE of layer L wrong by P percent, to be found\n";

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

struct arguments {
	const char *model, *isa, *record, *rope_error;
	const char *n_prompt, *n_predict, *n_threads, *n_repeat;
	bool timing, pause, help;
};

static void parse(struct arguments *a, char **argv)
{
	const struct {
		const char *name, **text;
		bool *flag;
	} options[] = {
		{"--model", &a->model, NULL}, {"--isa", &a->isa, NULL},
		{"--record", &a->record, NULL}, {"--rope-error", &a->rope_error, NULL},
		{"--prompt-tokens", &a->n_prompt, NULL}, {"--predict", &a->n_predict, NULL},
		{"--threads", &a->n_threads, NULL}, {"--repeat", &a->n_repeat, NULL},
		{"--timing", NULL, &a->timing}, {"--pause", NULL, &a->pause},
		{"--help", NULL, &a->help}, {NULL, NULL, NULL},
	};
	for (size_t i = 0; *++argv; i = 0) {
		while (options[i].name && strcmp(options[i].name, *argv))
			i++;
		if (!options[i].name)
			die(2, "%s: not an option (see --help)", *argv);
		if (options[i].flag)
			*options[i].flag = true;
		else if (!(*options[i].text = *++argv))
			die(2, "%s: a value is missing", options[i].name);
	}
}

static size_t number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);
	if (end == text || *end || *text == '-' || value < 1 || value > 1000000)
		die(2, "%s: not a number from 1 to 1000000", text);
	return value;
}

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

struct run {
	const struct arguments *arguments;
	struct decoder *decoder;
	int32_t *prompt, *tokens;
	uint64_t *step_ns; // the prompt's is the first
	size_t n_prompt, n_predict;
};

// M tokens take one evaluation of the prompt and M - 1 of a single token.
static void generate(struct run *r)
{
	r->decoder->n_past = 0;
	for (size_t i = 0; i < r->n_predict; i++) {
		uint64_t start = now_ns();
		r->tokens[i] = i ? decoder_evaluate(r->decoder, &r->tokens[i - 1], 1)
				 : decoder_evaluate(r->decoder, r->prompt, r->n_prompt);
		r->step_ns[i] = now_ns() - start;
	}
	for (size_t i = 0; i < r->n_predict; i++)
		printf("%d%c", r->tokens[i], i + 1 < r->n_predict ? ' ' : '\n');
}

static int compare_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static void print_timing(struct run *r, size_t repeat)
{
	size_t n = r->n_predict - 1;
	uint64_t total = 0, *steps = r->step_ns + 1;
	for (size_t i = 0; i < n; i++)
		total += steps[i];
	qsort(steps, n, sizeof(*steps), compare_ns);
	fprintf(stderr,
		"{\"repeat\": %zu, \"threads\": %zu, \"isa\": \"%s\", \"bricks\": %s, "
		"\"prefill_tokens\": %zu, \"prefill_ns\": %llu, \"decode_steps\": %zu, "
		"\"decode_ns\": %llu, \"decode_min_ns\": %llu, \"decode_p50_ns\": %llu}\n",
		repeat, r->decoder->options.n_threads, r->decoder->options.kernels->isa,
		brick_enabled() ? "true" : "false", r->n_prompt,
		(unsigned long long)r->step_ns[0], n, (unsigned long long)total,
		(unsigned long long)(n ? steps[0] : 0), (unsigned long long)(n ? steps[n / 2] : 0));
}

static void start_recording(const char *path, const char *isa)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	options.output = path;
	int error = path ? brick_session_start(&options) : 0;
	if (error < 0)
		die(1, "%s: %s", path, brick_strerror(error));
	brick_thread_name("decoder 0");
	brick_note("backend", "cpu %s", isa); // also under `brick record`
}

int main(int argc, char **argv)
{
	struct arguments a = {.isa = "auto", .n_prompt = "256", .n_predict = "64", .n_threads = "1",
		.n_repeat = "1"};
	struct decoder_options options = {.wrong_layer = -1, .wrong_factor = 1};
	struct run r = {.arguments = &a};
	struct model model;

	parse(&a, argv);
	if (a.help)
		return fputs(usage, stdout) < 0;
	if (!a.model)
		die(2, "--model is missing (see --help)");
	r.n_prompt = number(a.n_prompt);
	r.n_predict = number(a.n_predict);
	options.n_context = r.n_prompt + r.n_predict;
	options.n_threads = number(a.n_threads);
	options.kernels = kernels_find(a.isa);
	if (!options.kernels)
		die(4, "--isa %s: not on this CPU (see --help)", a.isa);
	if (a.rope_error && sscanf(a.rope_error, "%d:%f", &options.wrong_layer, &options.wrong_factor) != 2)
		die(2, "--rope-error %s: not LAYER:PERCENT", a.rope_error);
	options.wrong_factor = a.rope_error ? 1 + options.wrong_factor / 100 : 1;
	if (model_open(&model, a.model) || !(r.prompt = prompt_create(&model, r.n_prompt)))
		die(3, "%s", model.file.why);

	start_recording(a.record, options.kernels->isa);
	...
}
